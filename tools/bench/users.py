"""Epsilon of each of many users: in one process, and on a local Spark, in processor time and memory.

``python -m bench.users --users 10000000`` writes a Parquet file with three rows for each user, in no order, of one of
``--histories`` histories of three kinds of step. Then one process reads it, piece by piece, groups it, answers, and
writes what it found to Parquet; with ``--spark CORES`` a local Spark does the same with the same file. Both do it
``--times`` times over: the first of Spark's times has what Java takes to compile what it runs. ``--without-answers``
leaves out the epsilons of the distinct histories. Processor time is that of all processes, those that have ended
among them, as the machine may have other guests; that of Spark is parted into Java's and Python's. It runs where
PySpark and pyarrow are installed (``make test-spark``), with ``OPENBLAS_NUM_THREADS=1``.
"""

from __future__ import annotations

import argparse
import os
import resource
import shutil
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from bench.environments import HOME
from hockeystick.integrations import users as module
from hockeystick.integrations.users import users
from hockeystick.questions.histories.answers import Answers, History

NOISES = (0.6, 0.8, 1.0, 1.2, 1.5, 2.0)
RATES = (0.001, 0.002, 0.005, 0.01, 0.02)
STEPS = (100, 5000)
ROWS = 3  # of each user
DELTA = 1e-6
SEED = 19
SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.shuffle.partitions": "4",
    "spark.driver.extraJavaOptions": "-XX:+UseParallelGC",
    "spark.driver.memory": "4g",
    "spark.sql.execution.arrow.maxBytesPerBatch": str(2**31 - 1),  # else it is held against each row, at great cost
    "spark.python.daemon.module": "bench.daemon",  # the time of workers that have ended is known to it
}
TASKS = 4  # that share the distinct histories
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
    """Write the rows to a Parquet file, where they are not there yet, which one process and Spark both read."""
    import pyarrow as pa
    import pyarrow.parquet

    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        pyarrow.parquet.write_table(pa.table(rows(many, of)), path, row_group_size=1 << 20)


def nothing_known(histories: Sequence[History], *_: Any, **__: Any) -> Answers:
    """What stands for answers where all else is measured."""
    ones = np.ones(len(histories))
    return Answers(ones, ones, ones, [None] * len(histories))


def none_asked(histories: Sequence[History], *_: Any) -> list[tuple[Any, ...]]:
    """The same for Spark."""
    return [(1, 1.0, 1.0, 1.0, None)] * len(histories)


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
        before = processor_time()
        found = users(pieces(path), DELTA)
        reasons = pa.array(found.pop("epsilon_reason"), type=pa.string())
        pyarrow.parquet.write_table(pa.table({**found, "epsilon_reason": reasons}), written)
        print(f"one process: {_said(before, len(found['user']))}", flush=True)
        del found, reasons
    before = processor_time()
    read = sum(len(piece["user"]) for piece in pieces(path))
    print(f"of which reading: {_said(before, read // ROWS)}")
    print(f"memory at most {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6:.2f} GB")


def on_spark(path: Path, written: Path, asked: bool, times: int, cores: int) -> None:
    """Print what a local Spark takes for the same; Java has started by then, which is printed before."""
    from pyspark.sql import SparkSession

    from hockeystick.integrations import spark

    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = SparkSession.builder.master(f"local[{cores}]")
    for key, value in SETTINGS.items():
        builder = builder.config(key, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    if not asked:
        vars(spark)["answered"] = none_asked  # what is sent to the workers refers to it
    started = processor_time()
    print(f"to start: {sum(started.values()):.1f} s of processor time", flush=True)
    table = session.read.parquet(str(path))
    many = table.count() // ROWS
    for _ in range(times):
        shutil.rmtree(written, ignore_errors=True)
        before, wall = processor_time(), time.perf_counter()
        spark.users(table, DELTA, tasks=TASKS).write.parquet(str(written))
        print(f"Spark, {cores} cores: {_said(before, many)}; {time.perf_counter() - wall:.1f} s in all", flush=True)
    found = session.read.parquet(str(written)).count()
    assert found == many, f"{found} users of {many}"
    session.stop()


def _said(before: dict[str, float], many: int) -> str:
    """The processor time since then, in all and of each program."""
    now = processor_time()
    each = {name: now[name] - before.get(name, 0.0) for name in now}
    total = sum(each.values())
    of = ", ".join(f"{name} {1e6 * seconds / many:.2f}" for name, seconds in each.items() if seconds > 0)
    return f"{total:.1f} s of processor time, {1e6 * total / many:.2f} us a user ({of})"


def processor_time() -> dict[str, float]:
    """Processor time of this process and of all that it has started, in seconds, by the name of the program.

    The time of what has ended is that of the process that waited for it; ``bench.daemon`` waits for Spark's workers.
    """
    children: dict[int, list[int]] = {}
    used: dict[int, tuple[str, float]] = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            start, said = path.read_text(encoding="utf-8").rsplit(")", 1)
        except (FileNotFoundError, ProcessLookupError):
            continue  # it has ended
        own, name = start.split(" (", 1)
        numbers = said.split()
        children.setdefault(int(numbers[1]), []).append(int(own))
        used[int(own)] = name, sum(map(int, numbers[11:15])) / os.sysconf("SC_CLK_TCK")
    found: dict[str, float] = {}
    ours = [os.getpid()]
    for number in ours:  # which grows meanwhile
        ours += children.get(number, [])
        name, seconds = used[number]
        found[name] = found.get(name, 0.0) + seconds
    return found


def main() -> None:
    """Measure what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--users", type=int, default=1_000_000)
    parser.add_argument("--histories", type=int, default=10_000)
    parser.add_argument("--spark", type=int, default=0, metavar="CORES", help="on a local Spark with so many cores")
    parser.add_argument("--without-answers", action="store_true", help="all but the answers")
    parser.add_argument("--times", type=int, default=3, help="how often it is done (%(default)s)")
    parser.add_argument("--rows", type=Path, default=HOME, help="the folder for the file of rows (%(default)s)")
    chosen = parser.parse_args()
    path = chosen.rows / f"users-{chosen.users}-{chosen.histories}.parquet"
    kept(chosen.users, chosen.histories, path)
    print(f"{chosen.users:,} users, {ROWS * chosen.users:,} rows, {chosen.histories:,} histories")
    arguments = path, path.with_suffix(".spark" if chosen.spark else ".found"), not chosen.without_answers, chosen.times
    if chosen.spark:
        on_spark(*arguments, chosen.spark)
    else:
        in_one_process(*arguments)


if __name__ == "__main__":
    main()
