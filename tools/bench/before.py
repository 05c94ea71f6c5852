"""One tree of this library against another one: ``python -m bench.before OTHER`` with the ``src`` of the other tree.

Both are asked every case of the benchmark in turn, each with fresh noise, in processes of their own on one and the same
core; what counts is the ratio of the medians of each case, and the geometric mean of all, and their median.
"""

from __future__ import annotations

import argparse
import math
import os
import statistics
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from bench.cases import Case, all_cases
from bench.environments import ROOT
from bench.workers import Worker

REPETITIONS = 15
"""Calls of each tree for one case: the median of so many is steady to a few per cent on a machine with other work."""

LONG, FEW = 1.0, 3
"""Seconds from which on a call is repeated that few times."""


@contextmanager
def one_core() -> Iterator[None]:
    """Keep the processes that are started within on one core, where the system can.

    Cores differ in speed, by their neighbours if by nothing else: left to the system, two processes stay each on its
    own for a whole run, and the same two trees had geometric means from 0.96 to 1.21. They are never asked at once.
    """
    if not hasattr(os, "sched_setaffinity"):
        yield
        return
    allowed = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {max(allowed)})  # which processes started from here on inherit
    try:
        yield
    finally:
        os.sched_setaffinity(0, allowed)


def ratio(case: Case, trees: Sequence[Worker]) -> tuple[float, float]:
    """Median seconds of this tree, and of the other one."""
    seconds: tuple[list[float], list[float]] = ([], [])
    for i in range(REPETITIONS):
        for worker, times in zip(trees, seconds, strict=True):
            reply = worker.ask({**case.question(i + 1), "route": "default"}, case.limit)
            times.append(float(reply.get("seconds", case.limit)))
        if i + 1 >= FEW and min(min(times) for times in seconds) > LONG:
            break
    return statistics.median(seconds[0]), statistics.median(seconds[1])


def main(arguments: Sequence[str] | None = None) -> int:
    """Print every case and the geometric mean; 0 unless this tree is slower by more than was allowed."""
    parser = argparse.ArgumentParser(prog="python -m bench.before", description="This tree against another one.")
    parser.add_argument("other", type=Path, help="the src folder of the other tree")
    parser.add_argument("--slower", type=float, default=1.05, help="the geometric mean that is allowed (%(default)s)")
    options = parser.parse_args(arguments)
    if not (options.other / "hockeystick").is_dir():
        parser.error(f"{options.other} holds no package hockeystick; name the src folder of another tree")
    python, log = Path(sys.executable), ROOT / ".bench" / "logs" / "before.log"
    logs = []
    with (
        one_core(),
        Worker(python, "bench.peers.ask_hockeystick", log, None, ROOT / "src") as here,
        Worker(python, "bench.peers.ask_hockeystick", log, None, options.other.resolve()) as there,
    ):
        for case in all_cases():
            mine, other = ratio(case, (here, there))
            logs.append(math.log(mine / other))
            print(f"{case.name:40} {1e3 * mine:9.2f} ms  {1e3 * other:9.2f} ms  {mine / other:5.2f}", flush=True)
    mean = math.exp(statistics.fmean(logs))
    print(f"geometric mean {mean:.3f}, median {math.exp(statistics.median(logs)):.3f}")
    return int(mean > options.slower)


if __name__ == "__main__":
    sys.exit(main())
