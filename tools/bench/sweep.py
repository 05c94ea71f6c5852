"""Thousands of different DP-SGD plans in one call: ``python -m bench.sweep``.

Noise 0.5 to 8, rate 1e-4 to 0.2, 100 to 30,000 rounds and delta 1e-8 to 1e-5, log-uniform. Processor time of this
process, the best of a few runs, which is what the least disturbed of them took; making the plans is counted apart. Some
of the plans are asked one by one, too.
"""

from __future__ import annotations

import argparse
import math
import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

import hockeystick as hs

RANGES = ((0.5, 8.0), (1e-4, 0.2), (100.0, 30_000.0), (1e-8, 1e-5))
"""Of the noise multiplier, the sample rate, the number of rounds and delta."""

ONE_BY_ONE = 50
"""Plans that are asked by themselves, for comparison."""


@dataclass(frozen=True)
class Swept:
    """What a sweep took, in seconds of processor time for each plan, and how wide its intervals are.

    Attributes:
        plans: how many there were.
        making: making a plan.
        at_once: asking it with all others.
        alone: asking it by itself, the mean of a few.
        wide: share of the intervals that are wider than 1e-6.
        widest: the largest relative width.
    """

    plans: int
    making: float
    at_once: float
    alone: float
    wide: float
    widest: float


def drawn(number: int, seed: int = 0) -> tuple[list[tuple[float, float, int]], list[float]]:
    """Noise multiplier, rate and rounds of each plan, and the deltas."""
    draw = random.Random(seed)
    rows = [[math.exp(draw.uniform(math.log(low), math.log(high))) for low, high in RANGES] for _ in range(number)]
    return [(noise, rate, round(steps)) for noise, rate, steps, _ in rows], [delta for *_, delta in rows]


def swept(number: int, runs: int, seed: int = 0) -> Swept:
    """A sweep over that many plans, asked that many times."""
    drawn_plans, delta = drawn(number, seed)
    plans: list[hs.Plan] = []

    def make() -> None:
        plans[:] = [hs.dp_sgd(noise, sample_rate=rate, steps=steps) for noise, rate, steps in drawn_plans]

    making = _least([make])
    at_once = _least([lambda: hs.epsilons(plans, delta)] * runs)
    found = hs.epsilons(plans, delta)
    few = range(0, number, max(1, number // ONE_BY_ONE))
    alone = _least([lambda: [plans[at].epsilon(delta[at]) for at in few]])
    width = found.gap / found.upper
    return Swept(
        number, making / number, at_once / number, alone / len(few), float(np.mean(width > 1e-6)), float(width.max())
    )


def _least(calls: Sequence[Callable[[], object]]) -> float:
    """The least processor time that one of some calls took."""
    times = []
    for call in calls:
        started = time.process_time()
        call()
        times.append(time.process_time() - started)
    return min(times)


def main() -> None:
    """Ask, and print what it took."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--plans", type=int, default=10_000)
    parser.add_argument("--runs", type=int, default=3)
    arguments = parser.parse_args()
    found = swept(arguments.plans, arguments.runs)
    print(f"{found.plans} plans at once: {1e6 * found.at_once:.0f} us a plan, {1 / found.at_once:.0f} plans a second")
    print(f"one by one: {1e3 * found.alone:.2f} ms a plan; making a plan: {1e6 * found.making:.0f} us")
    print(f"wider than 1e-6: {100 * found.wide:.2f} %; widest: {found.widest:.1e}")


if __name__ == "__main__":
    main()
