"""Random plans over the whole domain, held to laws that need no true value: ``make fuzz N=10000 SEED=1``.

Each case is a plan of one to four kinds of rounds and a question, both drawn from (seed, index). Checked, in a process
of its own:

- ``lower <= upper``, nothing is NaN, the upper end is finite where the Renyi bound is, and not above it;
- no contradiction: the interval meets that of every other engine that answers;
- monotone: a weaker plan's lower end is at most the plan's upper end;
- at most 5 s and 2 GB.

What has been run is kept in ``.fuzz/SEED.json``, so that a run that was stopped goes on where it was.
"""

from __future__ import annotations

import argparse
import json
import math
import multiprocessing
import os
import random
import resource
import sys
import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import hockeystick as hs
from hockeystick.bounds import Answer
from hockeystick.errors import NotApplicableError

SECONDS, BYTES = 5.0, 2 << 30
PATIENCE = 25.0  # seconds after which a case is given up
SLACK = 1e-12  # relative: what comparing rounded doubles may cost
ENGINES = ("grid", "contour")


@dataclass(frozen=True)
class Case:
    """A plan as its dictionary, and what is asked of it: epsilon at a delta, or delta at an epsilon."""

    plan: dict[str, Any]
    quantity: str
    at: float

    def ask(self, accountant: str = "auto") -> Answer:
        """The answer of one accountant."""
        plan = hs.Plan.from_dict(self.plan)
        if self.quantity == "epsilon":
            return plan.epsilon(self.at, accountant=accountant)
        return plan.delta(self.at, accountant=accountant)


def drawn(seed: int, index: int) -> Case:
    """The case of that number."""
    draw = random.Random(f"{seed}:{index}")

    def spread(low: float, high: float) -> float:
        return float(f"{math.exp(draw.uniform(math.log(low), math.log(high))):.3g}")

    def entry(sampled: bool) -> dict[str, Any]:
        kind = draw.choices(["gaussian", "laplace", "randomized-response", "approximate-dp"], [6, 2, 1, 1])[0]
        made: dict[str, Any] = {"mechanism": kind, "count": int(spread(1, 1e9))}
        if kind == "gaussian":
            made["noise_multiplier"] = spread(0.02, 1e4)
        elif kind == "laplace":
            made["scale"] = spread(1e-2, 1e5)
        else:
            made["epsilon"] = spread(1e-7, 10)
        if kind == "approximate-dp":
            made["delta"] = spread(1e-15, 1e-3)
        if sampled and draw.random() < 0.8:
            made |= {"sampling": "poisson", "sample_rate": spread(1e-9, 1)}
        return made

    adjacency = draw.choices(["add-or-remove", "add", "remove", "replace-one"], [5, 1, 1, 1])[0]
    kinds = draw.choices([1, 2, 3, 4], [5, 3, 1, 1])[0]
    rounds = [entry(adjacency != "replace-one") for _ in range(kinds)]
    plan = {"adjacency": adjacency, "round": rounds}
    if draw.random() < 0.5:
        return Case(plan, "epsilon", spread(1e-100, 0.5))
    return Case(plan, "delta", draw.choice([0.0, spread(1e-3, 30), spread(1e-6, 1e6)]))


def weaker(case: Case, draw: random.Random) -> Case:
    """A plan that is at least as private, or an easier question."""
    rounds = [dict(item) for item in case.plan["round"]]
    item = draw.choice(rounds)
    factor = draw.choice([1.0001, 1.1, 3.0])
    change = draw.choice(["noise", "rate", "count", "target"])
    if change == "noise" and "epsilon" in item:
        item["epsilon"] /= factor
    elif change == "noise":
        key = "scale" if "scale" in item else "noise_multiplier"
        item[key] *= factor
    elif change == "rate" and "sample_rate" in item:
        item["sample_rate"] /= factor
    elif change == "count":
        item["count"] = int(item["count"] / factor)
    else:
        return replace(case, at=min(case.at * factor, 0.9) if case.quantity == "epsilon" else case.at * factor)
    return replace(case, plan={**case.plan, "round": rounds})


def problems(case: Case, engines: tuple[str, ...] = ENGINES) -> Iterator[str]:
    """Every law that does not hold for the case, in words."""
    found = case.ask()
    assert isinstance(found, hs.Bound)
    rough = case.ask("rdp")
    if not 0 <= found.lower <= found.estimate <= found.upper:
        yield f"ends out of order: {found}"
    if found.upper > rough.quoted * (1 + SLACK):
        yield f"upper {found.upper!r} is above the Renyi bound {rough.quoted!r} ({found.accountant}: {found.reason})"
    if math.isinf(found.upper) and math.isfinite(rough.quoted):
        yield f"infinite ({found.reason})"
    for name in engines:
        try:
            other = case.ask(name)
        except NotApplicableError:
            continue
        assert isinstance(other, hs.Bound)
        if found.lower > other.upper * (1 + SLACK) or other.lower > found.upper * (1 + SLACK):
            ours, theirs = (f"{one.lower!r} .. {one.upper!r}" for one in (found, other))
            yield f"contradiction: {found.accountant} {ours}, {name} {theirs}"
    easier = weaker(case, random.Random(repr(case)))
    bound = easier.ask()
    if bound.ends["lower"] > found.upper * (1 + SLACK):
        yield f"not monotone: lower {bound.ends['lower']!r} of {easier} is above the upper end {found.upper!r}"


def _answer(case: Case, pipe: Connection) -> None:
    """In the child: how long one answer takes, then the laws; a warning counts as an error."""
    warnings.simplefilter("error")
    started = time.perf_counter()
    found = case.ask()
    seconds = time.perf_counter() - started
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    wrong = list(problems(case))
    if seconds > SECONDS:
        wrong.append(f"took {seconds:.1f} s ({found.accountant})")
    if peak > BYTES:
        wrong.append(f"took {peak / 2**30:.1f} GB ({found.accountant})")
    pipe.send((wrong, seconds, peak, found.accountant, getattr(found, "relative_gap", 1.0)))


def run(case: Case) -> tuple[list[str], float, float, str, float]:
    """Problems, seconds, bytes, engine and relative gap of one case, from a process of its own."""
    here, there = multiprocessing.Pipe(duplex=False)
    child = multiprocessing.get_context("fork").Process(target=_answer, args=(case, there))
    child.start()
    there.close()
    try:
        if here.poll(PATIENCE):
            result: tuple[list[str], float, float, str, float] = here.recv()
            return result
        return [f"no answer within {PATIENCE:.0f} s"], PATIENCE, 0.0, "none", 1.0
    except EOFError:
        return ["died (see the traceback above)"], 0.0, 0.0, "none", 1.0
    finally:
        child.kill()
        child.join()


def main() -> int:
    """Run cases up to number N; 0 if every law holds."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("cases", type=int)
    parser.add_argument("seed", type=int)
    parser.add_argument("--only", type=int, help="run one case again, by its number")
    options = parser.parse_args()
    if options.only is not None:
        case = drawn(options.seed, options.only)
        print(json.dumps(case.plan), case.quantity, case.at)
        print(*run(case))
        return 0
    path = Path(".fuzz") / f"{options.seed}.json"
    path.parent.mkdir(exist_ok=True)
    state: dict[str, Any] = {"next": 0, "failed": {}, "slowest": 0.0, "largest": 0.0, "engines": {}}
    if path.exists():
        state = json.loads(path.read_text())
    started = time.perf_counter()
    for index in range(state["next"], options.cases):
        wrong, seconds, peak, engine, gap = run(drawn(options.seed, index))
        state["slowest"], state["largest"] = max(state["slowest"], seconds), max(state["largest"], peak)
        count, wide = state["engines"].get(engine, (0, 0))
        state["engines"][engine] = (count + 1, wide + (gap > 0.1))
        if wrong:
            state["failed"][str(index)] = wrong
            print(f"{index}: {'; '.join(wrong)}", flush=True)
        state["next"] = index + 1
        written = path.with_suffix(".part")
        written.write_text(json.dumps(state))
        written.replace(path)
        if (index + 1) % 100 == 0 and os.isatty(1):
            print(f"{index + 1} of {options.cases}, {time.perf_counter() - started:.0f} s", flush=True)
    times = f"slowest {state['slowest']:.2f} s, largest {state['largest'] / 2**20:.0f} MB"
    print(f"{state['next']} cases, {len(state['failed'])} failed; {times}")
    counts = ", ".join(f"{name} {cases} ({wide})" for name, (cases, wide) in state["engines"].items())
    print("answered by engine (of these wider than 10 %):", counts)
    return 1 if state["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
