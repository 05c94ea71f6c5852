"""Store the answers to random questions, and compare them with those of changed code.

``python tools/guard.py store FILE`` draws plans inside the declared domain, over all mechanisms, sampling schemes and
accountants, asks each a question, and writes one line of JSON for each: the question, the bits of the answer, and the
processor time. ``python tools/guard.py compare FILE`` asks the same questions again. Its status is 1 where there
is an offender, and offenders are printed:

- ``--mode moves`` (the default), for code that was only moved: an answer with other bits.
- ``--mode engine``, for changes of the arithmetic: an interval that does not meet the stored one, one that is wider
  than 1e-6 and twice the stored one, a bound or estimate that is no interval and moves by more than 1e-6, a refusal of
  what was answered; and, over all questions together, times with a median ratio above 1.2 or a 90th percentile above 2.

An answer is its ends, each as ``float.hex`` writes it, or the name of the exception that refuses. Only public names are
used, so that a file stored before modules were moved can be compared after it: with ``PYTHONPATH`` at another source
tree the same script asks that one. Questions that take more than a limit of processor time have no line in the file.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import signal
import statistics
import sys
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path
from types import FrameType
from typing import Any

from fuzz.cases.mechanisms import MAKERS
from fuzz.draws import Draw

import hockeystick as hs

Question = dict[str, Any]
"""The keys of a plan file (``plan``), the quantity asked (``asks``), its argument (``at``), who answers (``of``) and
the gap."""

SEED = 13
PLANS = 5000
SECONDS = 2.0
"""The processor time in seconds that a question may take when answers are stored."""

PATIENCE = 10.0
"""How many times that limit a question may take when answers are compared."""

PROFILE, PROOF, BATCH, CALIBRATE = "profile", "proof", "many", "calibrate"
"""Ways to an answer that are no accountants."""

WAYS = dict.fromkeys(hs.ACCOUNTANTS, 1.0) | {
    "auto": 8.0, "grid": 2.0, "contour": 2.0, PROFILE: 2.0, BATCH: 2.0, PROOF: 1.0, CALIBRATE: 0.7,
}  # fmt: skip
"""All ways, and how often each is drawn in comparison with the others."""

DEFAULT = ("auto", "contour")
"""The accountants that answer for a trillion rounds and a delta of 1e-300; others for a billion and 1e-100."""

SHARES = {"sgd": 0.35, "table": 0.35, "any": 0.3}
"""Shares of the plans: one kind of DP-SGD, a few kinds as ``make fuzz`` draws them, and any mechanism and scheme."""

WIDE, MOVED, MEDIAN, MOST = 1e-6, 1e-6, 1.2, 2.0
LEAST_SECONDS = 1e-3
"""Times below it are not compared: they are noise."""

SCHEMES: dict[str, Callable[[Draw], Any]] = {
    "none": lambda draw: hs.NoSampling(),
    "poisson": lambda draw: hs.Poisson(draw.rate()),
    "cyclic-poisson": lambda draw: hs.CyclicPoisson(int(draw.spread(1, 1e4)), draw.rate()),
    "truncated-poisson": lambda draw: hs.TruncatedPoisson(draw.spread(1e-4, 0.5), records := int(draw.spread(100, 1e6)),
                                                          int(draw.spread(10, records))),
    "with-replacement": lambda draw: hs.WithReplacement(int(draw.spread(1, 1e3)), int(draw.spread(1e2, 1e6))),
    "without-replacement": lambda draw: hs.WithoutReplacement(int(draw.spread(1, 100)), int(draw.spread(1e2, 1e6))),
    "random-allocation": lambda draw: hs.RandomAllocation(int(draw.spread(2, 1e5))),
    "random-allocation, uneven": lambda draw: hs.RandomAllocation(dataset_size=int(draw.spread(1e3, 1e5)),
                                                                  batch_size=int(draw.spread(10, 1e3))),
    "random-allocation, in part": lambda draw: hs.RandomAllocation(int(draw.spread(10, 1e4)), check_in=Fraction(1, 2),
                                                                   steps_taken=draw.random.randint(1, 10)),
    "shuffled": lambda draw: hs.Shuffled(batch_size=int(draw.spread(10, 1e3)), dataset_size=int(draw.spread(1e3, 1e6))),
}  # fmt: skip


class OverTimeError(BaseException):
    """A question took more than its share of processor time; no handler of the library may catch this."""


def _over(number: int, frame: FrameType | None) -> None:
    raise OverTimeError


def _anything(draw: Draw) -> hs.Plan:
    """One or two kinds of any mechanism and scheme, for records or users; drawn again until the two go together."""
    while True:
        rounds = []
        for _ in range(draw.of(1, 1, 2)):
            gaussian = draw.chance(0.4)
            mechanism = hs.Gaussian(draw.noise()) if gaussian else MAKERS[draw.of(*MAKERS)](draw)
            scheme = SCHEMES[draw.of(*SCHEMES) if gaussian or draw.chance(0.3) else "none"](draw)
            rounds.append(hs.Round(mechanism, scheme, draw.of(1, 2, 10, 100, 1000)))
        adjacency = draw.of("add-or-remove", "add-or-remove", "add", "remove", "replace-one", "zero-out")
        users = {"unit": "user", "records_per_unit": draw.random.randint(1, 5)} if draw.chance(0.2) else {}
        try:
            plan = hs.Plan(rounds, adjacency, **users)  # type: ignore[arg-type]
            plan.epsilon(0.5, accountant="rdp")
        except hs.UnsupportedError:
            continue
        return plan


def questions(plans: int, seed: int) -> Iterator[Question]:
    """A question about each random plan; none about a plan of too many rounds for the accountant that is drawn."""
    makers = {"sgd": Draw.sgd, "table": Draw.plan, "any": _anything}
    for index in range(plans):
        draw = Draw(f"guard {seed} {index}")
        plan = makers[draw.random.choices(list(SHARES), list(SHARES.values()))[0]](draw)
        way, asks = draw.random.choices(list(WAYS), list(WAYS.values()))[0], draw.of("epsilon", "epsilon", "delta")
        at = draw.delta() if asks == "epsilon" else draw.epsilon()
        gap = draw.gap() if way in ("auto", "grid", "contour") else None
        if way in hs.ACCOUNTANTS and way not in DEFAULT:
            at = max(at, 1e-100) if asks == "epsilon" else at
            if plan.steps > 10**9:
                continue
        yield {"plan": plan.to_dict(), "asks": asks, "at": at, "of": way, "gap": gap}


def _ends(found: Any) -> dict[str, str]:
    """The ends of an answer by name; of a delta also those of its logarithm."""
    if hasattr(found, "columns"):  # at one place
        ends = {name: float(getattr(found, name)[0]) for name in ("lower", "estimate", "upper")}
    elif isinstance(found, hs.Calibration):
        ends = {"value": found.value}
    elif isinstance(found, hs.Bound):
        ends = {"lower": found.lower, "estimate": found.estimate, "upper": found.upper}
    else:
        ends = dict(found.ends)
    log = getattr(found, "log_delta", None)
    named = {} if log is None else {f"log {key}": end for key, end in _ends(log).items()}
    return {key: float(end).hex() for key, end in ends.items()} | named


def answer(question: Question, seconds: float) -> tuple[dict[str, str] | str | None, float]:
    """The ends, or the name of the exception that refuses, or ``None`` where it takes too long; and the time taken."""
    way, asks, at = question["of"], question["asks"], question["at"]
    started = time.process_time()
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        plan = hs.Plan.from_dict(question["plan"])
        if way == PROFILE:
            profile = plan.profile()
            found: Any = profile.epsilon([at]) if asks == "epsilon" else profile.delta([at])
        elif way == BATCH:
            found = hs.epsilons([plan], at) if asks == "epsilon" else hs.deltas([plan], at)
        elif way == CALIBRATE:
            goal = hs.targets.Epsilon(1.0, at) if asks == "epsilon" else hs.targets.Delta(1e-6, at)
            found = hs.calibrate(plan, "noise", goal)
        else:
            how: dict[str, Any] = {"proof": True} if way == PROOF else {"accountant": way, "gap": question["gap"]}
            found = plan.epsilon(at, **how) if asks == "epsilon" else plan.delta(at, **how)
        return _ends(found), time.process_time() - started
    except OverTimeError:
        return None, seconds
    except Exception as error:  # what is raised is the answer, and compared as one
        return type(error).__name__, time.process_time() - started
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


def store(file: Path, plans: int, seed: int) -> None:
    """Write a line for each question that is answered in time; a file that is there is written anew."""
    left_out = 0
    with file.open("w", encoding="utf-8") as out:
        for question in questions(plans, seed):
            found, seconds = answer(question, SECONDS)
            if found is None:
                left_out += 1
                continue
            out.write(json.dumps(question | {"answer": found, "seconds": round(seconds, 6)}) + "\n")
            out.flush()
    print(f"stored; {left_out} questions left out, each longer than {SECONDS:g} s")


def _width(ends: dict[str, float], log: str) -> float:
    """Of an interval of epsilon relative to its upper end, of one of delta that of its logarithm."""
    low, high = ends[f"{log}lower"], ends[f"{log}upper"]
    if low == high:
        return 0.0
    return high - low if log else (high - low) / high if math.isfinite(high) else math.inf


def changed(old: dict[str, str] | str, new: dict[str, str] | str | None) -> str | None:
    """Why a new answer offends the engine mode, or ``None``."""
    if isinstance(old, str):
        return None if not isinstance(new, str) or hasattr(hs, new) else f"raises {new}"
    if new is None or isinstance(new, str):
        return "over time" if new is None else f"refused: {new}"
    one, two = ({key: float.fromhex(end) for key, end in ends.items()} for ends in (old, new))
    if one.keys() != two.keys():
        return f"other ends: {', '.join(two)}"
    if "lower" not in one or "upper" not in one:
        apart = [key for key, end in one.items() if not math.isclose(end, two[key], rel_tol=MOVED)]
        return f"moved: {', '.join(apart)}" if apart else None
    log = "log " if "log lower" in one else ""
    if two[f"{log}lower"] > one[f"{log}upper"] or one[f"{log}lower"] > two[f"{log}upper"]:
        return "disjoint"
    wide = _width(two, log)
    return f"wide: {wide:.2g}" if wide > max(WIDE, 2 * _width(one, log)) else None


def compare(file: Path, sample: int | None, seed: int, engine: bool) -> int:
    """Print each question with an offending answer; their number, with one more where times offend."""
    stored = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    if sample is not None and sample < len(stored):
        stored = random.Random(seed).sample(stored, sample)
    counts: Counter[str] = Counter()
    ratios = []
    for item in stored:
        found, seconds = answer(item, PATIENCE * SECONDS)
        same = found == item["answer"]
        why = changed(item["answer"], found) if engine else None if same else "different"
        counts["same" if same else "other bits"] += 1
        if item["seconds"] > LEAST_SECONDS:
            ratios.append(seconds / item["seconds"])
        if why is not None:
            counts[f"OFFENDS: {why.split(':')[0]}"] += 1
            print(json.dumps({"why": why} | item | {"now": found}), flush=True)
    print(", ".join(f"{number} {verdict}" for verdict, number in sorted(counts.items())))
    offenders = sum(number for verdict, number in counts.items() if verdict.startswith("OFFENDS"))
    if len(ratios) > 1:
        median, most = statistics.median(ratios), statistics.quantiles(ratios, n=10)[-1]
        print(f"times now: {median:.2f} of those stored by the median, {most:.2f} at the 90th percentile")
        offenders += engine and (median > MEDIAN or most > MOST)
    return offenders


def main() -> int:
    """Store or compare; the status of the command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("verb", choices=["store", "compare"])
    parser.add_argument("file", type=Path)
    parser.add_argument("--mode", choices=["moves", "engine"], default="moves", help="how answers are compared")
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
        status = int(compare(given.file, given.sample, given.seed, given.mode == "engine") > 0)
    print(f"{time.perf_counter() - started:.0f} s")
    return status


if __name__ == "__main__":
    sys.exit(main())
