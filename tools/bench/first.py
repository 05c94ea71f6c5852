"""The first answer of a process: ``python -m bench.first``.

Whole processes, from their start to their end, in processor time: what a script that asks once, a test or a shell
command pays. Each is run a few times in turn with the others, with compiled files at hand; the medians count.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.environments import HOME, PEERS, python_of
from bench.workers import THREADS

RUNS = 9
PLAN = "noise 1, rate 0.01, 1,000 rounds, delta 1e-5"
OURS = "import hockeystick as hs; hs.dp_sgd(1.0, sample_rate=0.01, steps=1000).epsilon(1e-5)"
THEIRS = """
from dp_accounting import GaussianDpEvent, PoissonSampledDpEvent
from dp_accounting.pld import PLDAccountant
PLDAccountant().compose(PoissonSampledDpEvent(0.01, GaussianDpEvent(1.0)), 1000).get_epsilon(1e-5)
"""
COMMAND = ("epsilon", "--noise-multiplier", "1", "--sample-rate", "0.01", "--steps", "1000", "--delta", "1e-5")


@dataclass(frozen=True)
class Process:
    """A process that is timed: what it is in words, and its command."""

    name: str
    command: tuple[str, ...]


def processes(theirs: Path | None) -> list[Process]:
    """What is timed.

    Args:
        theirs: the interpreter that has dp-accounting, if there is one.
    """
    ours = sys.executable
    found = [
        Process("`import numpy`", (ours, "-c", "import numpy")),
        Process("`import hockeystick`", (ours, "-c", "import hockeystick")),
        Process("`import hockeystick` and an epsilon", (ours, "-c", OURS)),
        Process("`hockeystick epsilon` in a shell", (ours, "-m", "hockeystick", *COMMAND)),
    ]
    if theirs is not None:
        found.append(Process("`import dp_accounting` and an epsilon by PLD", (str(theirs), "-c", THEIRS)))
    return found


def taken(process: Process) -> float:
    """Processor time of one run, in seconds.

    Raises:
        CalledProcessError: it fails.
    """
    environment = {**os.environ, **dict.fromkeys(THREADS, "1"), "PYTHONPYCACHEPREFIX": str(HOME / "compiled")}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # else each run would compile what it imports
    if process.command[0] != sys.executable:
        environment.pop("PYTHONPATH", None)
    with subprocess.Popen(process.command, env=environment, stdout=subprocess.DEVNULL) as started:
        _, status, used = os.wait4(started.pid, 0)
        started.returncode = os.waitstatus_to_exitcode(status)
    if started.returncode:
        raise subprocess.CalledProcessError(started.returncode, process.command)
    return used.ru_utime + used.ru_stime


def first(theirs: Path | None, runs: int = RUNS) -> list[dict[str, Any]]:
    """Median processor time of each process; one run of each before any counts."""
    timed = processes(theirs)
    times: dict[str, list[float]] = {process.name: [] for process in timed}
    for run in range(runs + 1):
        for process in timed:
            seconds = taken(process)
            if run:
                times[process.name].append(seconds)
    return [{"name": name, "seconds": statistics.median(each)} for name, each in times.items()]


def main(arguments: Sequence[str] | None = None) -> None:
    """Print each process with its time, and as a multiple of the first."""
    del arguments
    found = first(python_of(PEERS[0]))
    for cell in found:
        print(f"{cell['name']:45} {cell['seconds']:.3f} s  {cell['seconds'] / found[0]['seconds']:.2f}")


if __name__ == "__main__":
    main()
