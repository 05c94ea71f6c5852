"""Schedules: many different sampled Gaussian rounds, and what a question takes as their kinds grow.

``python -m bench.schedules`` prints two tables: seconds and relative width of the core's answer, and for as many as
1,000 kinds of a contour's, which takes them one by one beside a Laplace release; and an accountant that is stepped and
asked in turn, with another noise each time or with one throughout. One core: set ``OPENBLAS_NUM_THREADS=1``.
"""

from __future__ import annotations

import statistics
import time
from typing import Any

from bench.cases import STEP
from hockeystick import Accountant, Gaussian, Laplace, Plan, Poisson, Round

KINDS = (10, 30, 100, 300, 1_000, 3_000, 10_000)
ONE_BY_ONE = 1_000  # kinds up to which they are asked one by one too
LEAST_NOISE, RANGE, RATE, DELTA = 0.8, 1.2, 0.01, 1e-6
STEPS = (30, 100, 300, 1_000, 3_000, 10_000)
REPETITIONS = 5
LARGE = 100.0  # scale of a Laplace release, which only a contour takes


def plan(kinds: int, i: int = 0) -> Plan:
    """A round of each noise from 0.8 to 2; a little more from one repetition to the next, so that no cache answers."""
    least = LEAST_NOISE * (1 + i * STEP)
    return Plan([Round(Gaussian(least + RANGE * number / kinds), Poisson(RATE)) for number in range(kinds)])


def kinds_question(kinds: int, i: int = 0) -> dict[str, Any]:
    """The same plan, as a worker is asked about it."""
    least = LEAST_NOISE * (1 + i * STEP)
    releases = [_release(least + RANGE * number / kinds) for number in range(kinds)]
    return {"quantity": "epsilon", "at": DELTA, "rounds": releases}


def steps_question(steps: int, different: bool, i: int = 0) -> dict[str, Any]:
    """So many steps with a question after each, with another noise each time or with one throughout."""
    least = LEAST_NOISE * (1 + i * STEP)
    if different:
        releases = [_release(least + RANGE * number / steps) for number in range(steps)]
    else:
        releases = [_release(least, steps)]
    return {"quantity": "stepwise", "at": DELTA, "rounds": releases}


def _release(noise: float, count: int = 1) -> dict[str, Any]:
    return {"mechanism": "gaussian", "noise": noise, "rate": RATE, "count": count}


def asked(one: Plan) -> tuple[float, float]:
    """Seconds of processor time of a question, and the relative width of its answer."""
    before = time.process_time()
    found = one.epsilon(DELTA)
    return time.process_time() - before, found.relative_gap


def stepped(steps: int, different: bool) -> tuple[float, float]:
    """Seconds of processor time of so many steps with a question after each, and the largest width of an answer."""
    accountant, widest = Accountant(), 0.0
    before = time.process_time()
    for number in range(steps):
        noise = LEAST_NOISE + (RANGE * number / steps if different else 0.0)
        accountant.step(noise_multiplier=noise, sample_rate=RATE)
        widest = max(widest, accountant.epsilon(DELTA).relative_gap)
    return time.process_time() - before, widest


def main() -> None:
    """The tables."""
    kinds_table()
    steps_table()


def steps_table() -> None:
    """An accountant that is stepped and asked in turn."""
    stepped(STEPS[0], True)
    print("steps      different: s   width    all alike: s   width")
    for steps in STEPS:
        found = [stepped(steps, different) for different in (True, False)]
        cells = [f"{seconds:13.3f}   {width:.1e}" for seconds, width in found]
        print(f"{steps:<6,}" + "".join(cells), flush=True)


def kinds_table() -> None:
    """Whole plans."""
    asked(plan(KINDS[1]))
    print("kinds      together: s   width    beside Laplace: s   width")
    for kinds in KINDS:
        repetitions = REPETITIONS if kinds <= ONE_BY_ONE else 2
        together, alone = [], []
        for i in range(1, repetitions + 1):
            together.append(asked(plan(kinds, i)))
            if kinds <= ONE_BY_ONE:
                alone.append(asked(plan(kinds, i + REPETITIONS) + Round(Laplace(LARGE))))
        cells = [
            f"{statistics.median(seconds for seconds, _ in each):13.4f}   {max(width for _, width in each):.1e}"
            for each in (together, alone)
            if each
        ]
        print(f"{kinds:<6,}" + "".join(cells), flush=True)


if __name__ == "__main__":
    main()
