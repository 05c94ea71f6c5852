"""A certified table against the engine at random points between its knots: ``python -m bench.tables``.

The table is over noise 0.7 to 3, rate 0.002 to 0.05, 50 to 5,000 rounds and delta 1e-7 to 1e-4, with knots that are
given; points are log-uniform over it, a tenth of the coordinates at an end. Each point is asked of the engine for many
plans by itself. Then how many rows are looked up in a second on one core, and how wide they are: of tables whose
rounds are fine, at their noise and rate and between them.
"""

from __future__ import annotations

import argparse
import math
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

import hockeystick as hs
from hockeystick.questions.tables.knots import asked

RANGES = {"noise": (0.7, 3.0), "rate": (0.002, 0.05), "rounds": (50.0, 5000.0), "delta": (1e-7, 1e-4)}
"""Of the table that is held against the engine."""

PART = 5000
"""Points that one process takes at a time."""

NARROW = 1e-5
"""Relative width of an interval of the engine that decides by itself."""


@dataclass(frozen=True)
class Held:
    """How many points were looked at, at how many the brackets contradict the engine, and at how many it decides."""

    points: int
    contradicted: int
    narrow: int


def drawn(many: int, seed: int) -> list[npt.NDArray[np.float64]]:
    """Points of the table: noise, rate, rounds and delta."""
    draw = np.random.default_rng(seed)
    columns = []
    for name, (low, high) in RANGES.items():
        column = np.exp(draw.uniform(math.log(low), math.log(high), many)).clip(low, high)
        column[draw.random(many) < 0.05] = low
        column[draw.random(many) < 0.05] = high
        columns.append(np.rint(column) if name == "rounds" else column)
    return columns


def coarse() -> hs.Table:
    """The table that is held against the engine."""
    noise, rate, rounds, delta = (np.geomspace(low, high, 5) for low, high in RANGES.values())
    for knots, ends in zip((noise, rate, rounds, delta), RANGES.values(), strict=True):
        knots[[0, -1]] = ends  # to the last bit
    return hs.Table(noise, rate, np.rint(rounds), delta, fine=())


def held(table: hs.Table, many: int, seed: int) -> Held:
    """The brackets of random points against the intervals of the engine there: no end beyond the other's."""
    columns = drawn(many, seed)
    found = table.epsilons(*columns)
    lower, upper = asked(columns, table.adjacency)
    narrow = upper - lower <= NARROW * upper
    against = (found.lower > upper) | (lower > found.upper)
    against |= narrow & ((found.lower > lower * (1 + NARROW)) | (upper > found.upper * (1 + NARROW)))
    return Held(many, int(against.sum()), int(narrow.sum()))


def _part(task: tuple[str, int, int]) -> Held:
    path, many, seed = task
    return held(hs.Table.load(path), many, seed)


def speed(table: hs.Table, rows: int, between: bool) -> tuple[float, float, float]:
    """Rows a second (the best of five), their mean and their largest relative width; at the noise and rate of knots."""
    draw = np.random.default_rng(0)
    columns = []
    for name in ("noise", "rate", "rounds"):
        knots = table.knots[name]
        if name == "rounds" or between:
            columns.append(
                np.exp(draw.uniform(math.log(knots[0]), math.log(knots[-1]), rows)).clip(knots[0], knots[-1])
            )
        else:
            columns.append(draw.choice(knots, rows))
    columns[2] = np.rint(columns[2])
    least = math.inf
    for _ in range(5):
        started = time.process_time()
        found = table.epsilons(*columns)
        least = min(least, time.process_time() - started)
    width = (found.upper - found.lower) / found.upper
    return rows / least, float(width.mean()), float(width.max())


def main() -> None:
    """Ask, and print what was found."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--points", type=int, default=1_000_000)
    parser.add_argument(
        "--first", type=int, default=0, help="seed of the first part, where points are held in portions"
    )
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--file", default="bench.table")
    arguments = parser.parse_args()
    coarse().save(arguments.file)
    tasks = [
        (arguments.file, PART, seed) for seed in range(arguments.first, arguments.first + arguments.points // PART)
    ]
    with ProcessPoolExecutor(arguments.processes) as pool:
        parts = list(pool.map(_part, tasks))
    points, against, narrow = (
        sum(getattr(part, key) for part in parts) for key in ("points", "contradicted", "narrow")
    )
    print(f"{points} points, {narrow} of them with an interval of {NARROW:g} or less: {against} contradicted")
    started = time.process_time()
    fine = hs.Table([0.8, 1.0, 1.2, 1.5, 2.0], [0.005, 0.01], [100, 100_000], 1e-6)
    print(f"{fine!r} built in {time.process_time() - started:.1f} s of processor time")
    for between, words in ((False, "at its noise and rates"), (True, "between them")):
        rate, mean, most = speed(fine, arguments.rows, between)
        print(
            f"{words}: {rate / 1e6:.1f} million rows a second, mean width {100 * mean:.2g} %, widest {100 * most:.2g} %"
        )


if __name__ == "__main__":
    main()
