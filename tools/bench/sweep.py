"""Thousands of different DP-SGD plans in one call: ``python -m bench.sweep``.

Noise 0.5 to 8, rate 1e-4 to 0.2, 100 to 30,000 rounds and delta 1e-8 to 1e-5, log-uniform: what an everyday sweep is
made of, with its hard plans among the easy ones. Processor time of this process; making the plans is counted apart.
"""

from __future__ import annotations

import argparse
import math
import random
import time
from dataclasses import dataclass

import numpy as np

import hockeystick as hs

RANGES = ((0.5, 8.0), (1e-4, 0.2), (100.0, 30_000.0), (1e-8, 1e-5))
"""Of the noise multiplier, the sample rate, the number of rounds and delta."""

WARM = 64
"""Plans that are asked before, so that what is loaded and kept once is there; they are others."""


@dataclass(frozen=True)
class Swept:
    """What a sweep took, in seconds of processor time for each plan, and how wide its intervals are.

    Attributes:
        plans: how many there were.
        making: making a plan.
        asking: asking it with all others, the least of the runs.
        wide: share of the intervals that are wider than 1e-6.
        widest: the largest relative width.
    """

    plans: int
    making: float
    asking: float
    wide: float
    widest: float


def drawn(number: int, seed: int = 0) -> tuple[list[tuple[float, float, int]], list[float]]:
    """Noise multiplier, rate and rounds of each plan, and the deltas."""
    draw = random.Random(seed)
    rows = [[math.exp(draw.uniform(math.log(low), math.log(high))) for low, high in RANGES] for _ in range(number)]
    return [(noise, rate, round(steps)) for noise, rate, steps, _ in rows], [delta for *_, delta in rows]


def swept(number: int, runs: int = 1, seed: int = 0) -> Swept:
    """A sweep over that many plans, asked that many times."""
    before, at = drawn(WARM, seed + 1)
    hs.epsilons([hs.dp_sgd(*each) for each in before], at)
    parameters, delta = drawn(number, seed)
    started = time.process_time()
    plans = [hs.dp_sgd(noise, sample_rate=rate, steps=steps) for noise, rate, steps in parameters]
    making = time.process_time() - started
    times = []
    for _ in range(runs):
        started = time.process_time()
        found = hs.epsilons(plans, delta)
        times.append(time.process_time() - started)
    width = found.gap / found.upper
    return Swept(number, making / number, min(times) / number, float(np.mean(width > 1e-6)), float(width.max()))


def main() -> None:
    """Ask, and print what it took."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--plans", type=int, default=10_000)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    found = swept(arguments.plans, arguments.runs, arguments.seed)
    print(f"{found.plans} plans at once: {1e6 * found.asking:.0f} us a plan, {1 / found.asking:.0f} plans a second")
    print(f"making a plan: {1e6 * found.making:.0f} us")
    print(f"wider than 1e-6: {100 * found.wide:.2f} %; widest: {found.widest:.1e}")


if __name__ == "__main__":
    main()
