"""Whether a change of the code left every answer as it was, to the last bit.

``python tools/guard.py store FILE`` asks random plans, and every reference value of the tests, of accountants drawn at
random, and writes each question with its answer as one line of JSON. ``python tools/guard.py compare FILE`` asks the
questions of such a file again and prints those whose answer is another one now; its status is 1 where there are any.

An answer is the lower end, the estimate and the upper end, each as ``float.hex`` writes it, or the name of the
exception that refuses. Only the public names of the library are used, so that a file that was stored before modules
were moved can be compared after it. Questions that take more than a limit of processor time have no answer in the file.
"""

from __future__ import annotations

import argparse
import json
import random
import signal
import sys
import time
import warnings
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import Any

from fuzz.draws import Draw

import hockeystick as hs

Question = dict[str, Any]
"""What is asked: the keys of a plan file (``plan``), the quantity (``asks``), its argument (``at``), the accountant
(``of``) and the gap."""

SEED = 13
PLANS = 5000
SECONDS = 2.0
"""The processor time in seconds that a question may take when answers are stored."""

PATIENCE = 10.0
"""How many times that limit a question may take when answers are compared, as a machine is not always as fast."""

SHARE_OF_DP_SGD = 0.4
"""The share of plans that are one kind of DP-SGD with moderate values; the others are drawn as by ``make fuzz``."""

PROFILE = "profile"
PROOF = "proof"
"""Ways to an answer that are no accountants: the profile of the plan, and the interval proved by ball arithmetic."""

REFERENCE_VALUES = Path(__file__).parents[1] / "tests" / "data" / "reference_values.json"


class OverTimeError(BaseException):
    """A question took more than its share of processor time; no handler of the library may catch this."""


def _over(number: int, frame: FrameType | None) -> None:
    raise OverTimeError


def ways() -> tuple[list[str], list[float]]:
    """All ways to an answer, and how often each is drawn in comparison with the others."""
    weights = dict.fromkeys(hs.ACCOUNTANTS, 1.0) | {"auto": 8.0, "grid": 2.0, "contour": 2.0}
    weights |= {PROFILE: 2.0, PROOF: 0.5}
    return list(weights), list(weights.values())


def questions(plans: int, seed: int) -> Iterator[Question]:
    """The reference values under ``auto``, ``grid`` and ``profile``, then some questions about each random plan."""
    for record in json.loads(REFERENCE_VALUES.read_text(encoding="utf-8"))["records"]:
        given = "delta" if record["quantity"] == "epsilon" else "epsilon"
        for way in ("auto", "grid", PROFILE):
            at = float(record[given])
            yield {"plan": record["plan"], "asks": record["quantity"], "at": at, "of": way, "gap": None}
    names, weights = ways()
    for index in range(plans):
        draw = Draw(f"guard {seed} {index}")
        choice = random.Random(f"guard {seed} {index} of")
        plan = draw.sgd() if draw.chance(SHARE_OF_DP_SGD) else draw.plan()
        for way in dict.fromkeys(choice.choices(names, weights, k=3)):
            asks = draw.of("epsilon", "epsilon", "delta")
            at = draw.delta() if asks == "epsilon" else draw.epsilon()
            gap = draw.gap() if way in ("auto", "grid", "contour") else None
            yield {"plan": plan.to_dict(), "asks": asks, "at": at, "of": way, "gap": gap}


def _bits(value: Any) -> list[Any]:
    ends = [None if end is None else float(end).hex() for end in (value.lower, value.estimate, value.upper)]
    return [*ends, getattr(value, "accountant", None)]


def _ends(found: Any) -> list[Any]:
    if isinstance(found, hs.Band):
        return [float(end[0]).hex() for end in (found.lower, found.estimate, found.upper)]
    log = getattr(found, "log_delta", None)
    if isinstance(found, hs.Bound):
        bits = _bits(found)
    elif isinstance(found, hs.UpperBound | hs.DeltaUpperBound):
        bits = [float(found.upper).hex(), found.accountant]
    else:
        bits = [float(found.value).hex(), found.accountant]
    return bits if log is None else bits + _ends(log)


def answer(question: Question, seconds: float) -> list[Any] | None:
    """The bits of the answer, or the name of the exception that refuses it; ``None`` where it takes too long."""
    way, asks, at = question["of"], question["asks"], question["at"]
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        plan = hs.Plan.from_dict(question["plan"])
        if way == PROFILE:
            profile = plan.profile()
            found: Any = profile.epsilon([at]) if asks == "epsilon" else profile.delta([at])
        else:
            how: dict[str, Any] = {"proof": True} if way == PROOF else {"accountant": way, "gap": question["gap"]}
            found = plan.epsilon(at, **how) if asks == "epsilon" else plan.delta(at, **how)
        return _ends(found)
    except OverTimeError:
        return None
    except Exception as error:  # what is raised is the answer, and compared as one
        return [type(error).__name__]
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


def store(file: Path, plans: int, seed: int) -> None:
    """Write a line for each question that is answered in time; a file that is there is written anew."""
    left_out = 0
    with file.open("w", encoding="utf-8") as out:
        for question in questions(plans, seed):
            found = answer(question, SECONDS)
            if found is None:
                left_out += 1
                continue
            out.write(json.dumps(question | {"answer": found}) + "\n")
            out.flush()
    print(f"stored; {left_out} questions left out, each longer than {SECONDS:g} s")


def compare(file: Path, sample: int | None, seed: int) -> int:
    """Print each question whose answer is another one now; their number."""
    stored = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    if sample is not None and sample < len(stored):
        stored = random.Random(seed).sample(stored, sample)
    counts: Counter[str] = Counter()
    for item in stored:
        found = answer(item, PATIENCE * SECONDS)
        verdict = "over time" if found is None else "same" if found == item["answer"] else "different"
        counts[verdict] += 1
        if verdict != "same":
            print(json.dumps(item | {"now": found}))
    print(", ".join(f"{number} {verdict}" for verdict, number in sorted(counts.items())))
    return counts["different"]


def main() -> int:
    """Store or compare; the status of the command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("verb", choices=["store", "compare"])
    parser.add_argument("file", type=Path)
    parser.add_argument("--plans", type=int, default=PLANS, help="random plans to store (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=SEED, help="of the plans stored, or of the sample compared")
    parser.add_argument("--sample", type=int, help="compare so many questions of the file; all by default")
    given = parser.parse_args()
    signal.signal(signal.SIGPROF, _over)
    warnings.simplefilter("ignore")
    started = time.perf_counter()
    status = 0
    if given.verb == "store":
        store(given.file, given.plans, given.seed)
    else:
        status = int(compare(given.file, given.sample, given.seed) > 0)
    print(f"{time.perf_counter() - started:.0f} s")
    return status


if __name__ == "__main__":
    sys.exit(main())
