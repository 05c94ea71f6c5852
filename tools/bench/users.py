"""Epsilon of each of many users, in processor time and memory.

``python -m bench.users --users 10000000`` writes a Parquet file with three rows for each user, in no order, of one of
``--histories`` histories of three kinds of step. Then the process reads it, piece by piece, groups it, answers, and
writes what it found to Parquet, ``--times`` times over. ``--without-answers`` leaves out the epsilons of the distinct
histories. It runs where pyarrow is installed (``make test-spark``), with ``OPENBLAS_NUM_THREADS=1``.
"""

from __future__ import annotations

import argparse
import resource
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from bench.environments import HOME
from hockeystick.integrations import users as module
from hockeystick.integrations.users import users
from hockeystick.questions.histories.answers import History
from hockeystick.values.band import PlanBand

NOISES = (0.6, 0.8, 1.0, 1.2, 1.5, 2.0)
RATES = (0.001, 0.002, 0.005, 0.01, 0.02)
STEPS = (100, 5000)
ROWS = 3  # of each user
DELTA = 1e-6
SEED = 19
PIECE = 1 << 20  # rows that one process reads at once
FEW = 1000  # users whose rows are answered before, so that what is loaded late is loaded


def histories(many: int) -> dict[str, Any]:
    """Noise, rate and steps of the rows of each history, shape (many, ROWS)."""
    draw = np.random.default_rng(SEED)
    return {
        "noise_multiplier": draw.choice(NOISES, (many, ROWS)),
        "sample_rate": draw.choice(RATES, (many, ROWS)),
        "steps": draw.integers(*STEPS, (many, ROWS)),
    }


def rows(many: int, of: int) -> dict[str, Any]:
    """The rows of so many users with so many histories, in no order."""
    draw = np.random.default_rng(SEED + 1)
    order = draw.permutation(many * ROWS).astype(np.int32)
    history = draw.integers(0, of, many, dtype=np.int32)
    made: dict[str, Any] = {"user": (order // ROWS).astype(np.int64)}
    place = history[order // ROWS] * ROWS + order % ROWS
    return made | {name: column.ravel()[place] for name, column in histories(of).items()}


def kept(many: int, of: int, path: Path) -> None:
    """Write the rows to a Parquet file, where they are not there yet."""
    import pyarrow as pa
    import pyarrow.parquet

    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        pyarrow.parquet.write_table(pa.table(rows(many, of)), path, row_group_size=1 << 20)


def nothing_known(histories: Sequence[History], *_: Any, **__: Any) -> PlanBand:
    """What stands for answers where all else is measured."""
    ones = np.ones(len(histories))
    return PlanBand(ones, ones, ones, "upper", reasons=(None,) * len(histories))


def pieces(path: Path) -> Iterator[dict[str, Any]]:
    """The rows of a Parquet file, some at a time."""
    import pyarrow.parquet

    with pyarrow.parquet.ParquetFile(path) as file:
        for batch in file.iter_batches(PIECE):
            yield {name: column.to_numpy() for name, column in zip(batch.schema.names, batch.columns, strict=True)}


def in_one_process(path: Path, written: Path, asked: bool, times: int) -> None:
    """Print what one process takes to read the rows, to group them, to answer, and to write what it found."""
    import pyarrow as pa
    import pyarrow.parquet

    users(rows(FEW, 10), DELTA)
    if not asked:
        vars(module)["answers"] = nothing_known  # which takes no time
    for _ in range(times):
        before = time.process_time()
        found = users(pieces(path), DELTA)
        reasons = pa.array(found.pop("epsilon_reason"), type=pa.string())
        pyarrow.parquet.write_table(pa.table({**found, "epsilon_reason": reasons}), written)
        print(f"one process: {_said(before, len(found['user']))}", flush=True)
        del found, reasons
    before = time.process_time()
    read = sum(len(piece["user"]) for piece in pieces(path))
    print(f"of which reading: {_said(before, read // ROWS)}")
    print(f"memory at most {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6:.2f} GB")


def _said(started: float, many: int) -> str:
    """The processor time since then."""
    total = time.process_time() - started
    return f"{total:.1f} s of processor time, {1e6 * total / many:.2f} us a user"


def main() -> None:
    """Measure what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--users", type=int, default=1_000_000)
    parser.add_argument("--histories", type=int, default=10_000)
    parser.add_argument("--without-answers", action="store_true", help="all but the answers")
    parser.add_argument("--times", type=int, default=3, help="how often it is done (%(default)s)")
    parser.add_argument("--rows", type=Path, default=HOME, help="the folder for the file of rows (%(default)s)")
    chosen = parser.parse_args()
    path = chosen.rows / f"users-{chosen.users}-{chosen.histories}.parquet"
    kept(chosen.users, chosen.histories, path)
    print(f"{chosen.users:,} users, {ROWS * chosen.users:,} rows, {chosen.histories:,} histories")
    in_one_process(path, path.with_suffix(".found"), not chosen.without_answers, chosen.times)


if __name__ == "__main__":
    main()
