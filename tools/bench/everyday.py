"""What an everyday user sees: a sweep, schedules, calibrations and the first answer of a process.

``python -m bench.everyday`` measures all of it and prints it; ``--parts sweep,first`` a part; ``--write`` puts what was
measured into the page of the benchmark, and leaves the rest of the page as it is. ``make bench`` does so with all.

Times are processor time of the process that answers, as the machine has other work; both sides run on the same core
with one thread, each in an environment of its own, and their calls alternate where single plans are asked.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import statistics
import sys
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from bench.environments import HOME, OURS, PEERS, PLOT, python_of
from bench.everyday_table import markdown
from bench.first import first
from bench.page import DATA, write_docs
from bench.schedules import kinds_question, steps_question
from bench.sweep import drawn
from bench.workers import Reply, Worker

PLANS = (100, 1_000, 10_000, 100_000)
"""Plans of the sweeps, of which the largest is the one that is compared."""

OF_THEM = 50
"""Plans of the largest sweep that the peer is asked about one by one, and so are we; its time is extrapolated."""

CALIBRATED = 12
"""Plans whose noise is looked for: the peer takes some seconds for each."""

KINDS = (10, 100, 1_000, 10_000)
STEPS = (30, 100, 300, 1_000, 3_000, 10_000)
REPETITIONS = 3

THEIR_MOST = 100
"""Kinds, and steps, that the peer is asked about: it takes tens of seconds for so many, and minutes beyond."""

LIMIT = 600.0
"""Seconds for one call, by the clock: many times what any takes on a machine that has nothing else to do."""

LONG_LIMIT = 3_600.0
"""Seconds for a call of our own that is many questions."""

Parts = dict[str, Any]


def sweep(ours: Worker, theirs: Worker) -> Parts:
    """Sweeps of several sizes, and some plans of the largest one by one, here and there."""
    sizes = [
        ours.ask({"route": "sweep", "plans": plans, "seed": number}, LONG_LIMIT) for number, plans in enumerate(PLANS)
    ]
    plans, deltas = drawn(PLANS[-1], len(PLANS) - 1)
    each = []
    for at in range(0, PLANS[-1], PLANS[-1] // OF_THEM):
        noise, rate, steps = plans[at]
        question = _question({"noise": noise, "rate": rate, "count": steps}, deltas[at])
        each.append({"ours": _reply(ours.ask(question, LIMIT)), "theirs": _reply(theirs.ask(_pld(question), LIMIT))})
    return {"sizes": sizes, "each": each}


def schedules(ours: Worker, theirs: Worker) -> Parts:
    """More and more kinds of rounds, and an accountant that is stepped and asked more and more often."""
    return {
        "kinds": _series(KINDS, kinds_question, ours, theirs, REPETITIONS),
        "different": _series(STEPS, lambda steps, i: steps_question(steps, True, i), ours, theirs),
        "alike": _series(STEPS, lambda steps, i: steps_question(steps, False, i), ours, theirs),
    }


def calibrations(ours: Worker, theirs: Worker) -> list[Parts]:
    """The noise that meets an epsilon, of everyday plans: the epsilon that some noise of the sweep has."""
    found = []
    plans, deltas = drawn(CALIBRATED, len(PLANS))
    for (noise, rate, steps), delta in zip(plans, deltas, strict=True):
        question = _question({"noise": noise, "rate": rate, "count": steps}, delta)
        target = float(f"{ours.ask(question, LIMIT)['value']:.2g}")
        question |= {"route": "calibrate", "target": target}
        found.append(
            {
                "rate": rate,
                "steps": steps,
                "delta": delta,
                "target": target,
                "ours": _reply(ours.ask(question, LIMIT)),
                "theirs": _reply(theirs.ask(question, LIMIT)),
            }
        )
    return found


def _series(
    sizes: Sequence[int],
    question: Callable[[int, int], Reply],
    ours: Worker,
    theirs: Worker,
    repetitions: int = 1,
) -> list[Parts]:
    """The median of some calls of each size, and one call of the peer for the smaller ones."""
    found = []
    ours.ask({**question(sizes[0], repetitions + 1), "route": "default"}, LIMIT)
    for size in sizes:
        mine = [
            _reply(ours.ask({**question(size, i), "route": "default"}, LONG_LIMIT)) for i in range(1, repetitions + 1)
        ]
        cell = {**mine[0], "seconds": statistics.median(reply["seconds"] for reply in mine)}
        other = _reply(theirs.ask(_pld(question(size, 1)), LIMIT)) if size <= THEIR_MOST else None
        found.append({"size": size, "ours": cell, "theirs": other})
    return found


def _question(release: dict[str, Any], delta: float) -> Reply:
    return {"route": "default", "quantity": "epsilon", "at": delta, "rounds": [{"mechanism": "gaussian", **release}]}


def _pld(question: Reply) -> Reply:
    return {**question, "route": "pld"}


def _reply(reply: Reply) -> Parts:
    """Seconds of processor time, value and width; or what went wrong, and the seconds until then."""
    if "value" not in reply or not math.isfinite(reply["value"]):
        said = reply.get("error") or f"answers {reply.get('value')}"
        return {"seconds": reply["seconds"], "value": None, "width": None, "error": said}
    lower = reply.get("lower")
    width = None if lower is None else (reply["value"] - lower) / reply["value"]
    return {"seconds": reply["processor_seconds"], "value": reply["value"], "width": width, "error": None}


PARTS: dict[str, Callable[[Worker, Worker], Any]] = {
    "sweep": sweep,
    "schedules": schedules,
    "calibrations": calibrations,
    "first": lambda ours, theirs: first(theirs.python),
}


def measured(ours: Worker, theirs: Worker, parts: Sequence[str] = tuple(PARTS)) -> Parts:
    """The parts that are asked for, by name."""
    found = {}
    for part in parts:
        print(f"everyday: {part}", file=sys.stderr, flush=True)
        found[part] = PARTS[part](ours, theirs)
    return found


def main() -> None:
    """Measure, print and, where that is wanted, write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--parts", default=",".join(PARTS), help="some of them, separated by commas (%(default)s)")
    parser.add_argument("--write", action="store_true", help="put the parts into the page of the benchmark")
    arguments = parser.parse_args()
    parts = arguments.parts.split(",")
    core = max(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else None
    with ExitStack() as stack:
        ours, theirs = (
            stack.enter_context(Worker(python_of(peer), peer.module, HOME / "logs" / f"{peer.name}.log", core))
            for peer in (OURS, PEERS[0])
        )
        found = measured(ours, theirs, parts)
    results = json.loads(Path(DATA).read_text(encoding="utf-8"))
    results["everyday"] = {**results.get("everyday", {}), **found}
    print(markdown({part: results["everyday"][part] for part in parts}))
    if arguments.write:
        for path in write_docs(results, python_of(PLOT)):
            print(f"written: {path}")


if __name__ == "__main__":
    main()
