"""Epsilon of each of many users: in one process, and on a local Spark, in processor time and memory.

``python -m bench.users --users 10000000`` writes a Parquet file with three rows for each user, in no order, of one of
``--histories`` histories of three kinds of step, and asks for all users at once, in one process; with ``--spark CORES``
a local Spark reads the same file. ``--without-answers`` leaves out the epsilons of the distinct histories, which take
the same on both; with ``--written`` both write what they found to Parquet, else one process has it in arrays and Spark
has made its rows. Processor time is that of all processes, as the machine may have other guests. It runs where PySpark
and pyarrow are installed (``make test-spark``), with ``OPENBLAS_NUM_THREADS=1``.
"""

from __future__ import annotations

import argparse
import os
import resource
import sys
import time
from collections.abc import Sequence
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
    "spark.sql.shuffle.partitions": "16",
    "spark.driver.memory": "4g",
    "spark.sql.execution.arrow.maxBytesPerBatch": str(2**31 - 1),  # else it is held against each row, at great cost
}
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


def in_one_process(path: Path, asked: bool, written: Path | None) -> None:
    """Print what one process takes to read the rows and to answer; without answers, to read and to group them."""
    import pyarrow as pa
    import pyarrow.parquet

    users(rows(FEW, 10), DELTA)
    if not asked:
        vars(module)["answers"] = nothing_known  # which takes no time
    before = processor_time()
    table = {name: column.to_numpy() for name, column in zip(*_columns(pyarrow.parquet.read_table(path)), strict=True)}
    middle = processor_time()
    found = users(table, DELTA)
    if written:
        texts = pa.array(found.pop("epsilon_reason"), type=pa.string())
        pyarrow.parquet.write_table(pa.table({**found, "epsilon_reason": texts}), written)
    after = processor_time()
    many = len(found["user"])
    print(f"one process: {_said(after - before, many)}, of which reading {_said(middle - before, many)}")
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    print(f"memory at most {most:.2f} GB; {many:,} users")


def _columns(table: Any) -> tuple[list[str], list[Any]]:
    return table.column_names, table.columns


def _said(seconds: float, many: int) -> str:
    return f"{seconds:.1f} s of processor time ({1e6 * seconds / many:.2f} us a user)"


def on_spark(path: Path, many: int, asked: bool, cores: int, written: Path | None) -> None:
    """Print what a local Spark takes for the same file, the first time and the second; Java has started by then."""
    from pyspark.sql import SparkSession

    from hockeystick.integrations import partitions, spark

    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = SparkSession.builder.master(f"local[{cores}]")
    for key, value in SETTINGS.items():
        builder = builder.config(key, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    if not asked:
        vars(partitions)["answers"] = nothing_known  # what is sent to the workers refers to it
    table = session.read.parquet(str(path))

    def run(part: Any) -> tuple[float, float]:
        before, wall = processor_time(), time.perf_counter()
        if written:
            part.write.mode("overwrite").parquet(str(written))
        else:
            part.write.format("noop").mode("overwrite").save()
        return processor_time() - before, time.perf_counter() - wall

    for which in ("the first time", "the second time"):  # meanwhile Java compiles what it runs often
        total, wall = run(spark.users(table, DELTA, tasks=4))
        print(f"Spark, {cores} cores, {which}: {_said(total, many)}; {wall:.1f} s in all", flush=True)
    session.stop()


def processor_time() -> float:
    """Processor time of this process and of all that it has started, in seconds."""
    parents: dict[int, int] = {}
    used: dict[int, float] = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            said = path.read_text(encoding="utf-8").rsplit(")", 1)[1].split()
        except (FileNotFoundError, ProcessLookupError):
            continue  # it has ended
        number = int(path.parent.name)
        parents[number] = int(said[1])
        used[number] = sum(map(int, said[11:15])) / os.sysconf("SC_CLK_TCK")
    ours = {os.getpid()}
    while more := {number for number, parent in parents.items() if parent in ours} - ours:
        ours |= more
    return sum(used[number] for number in ours)


def main() -> None:
    """Measure what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--users", type=int, default=1_000_000)
    parser.add_argument("--histories", type=int, default=10_000)
    parser.add_argument("--spark", type=int, default=0, metavar="CORES", help="on a local Spark with so many cores")
    parser.add_argument("--without-answers", action="store_true", help="all but the answers")
    parser.add_argument("--written", action="store_true", help="write what is found to Parquet")
    parser.add_argument("--rows", type=Path, default=HOME, help="the folder for the file of rows (%(default)s)")
    chosen = parser.parse_args()
    path = chosen.rows / f"users-{chosen.users}-{chosen.histories}.parquet"
    kept(chosen.users, chosen.histories, path)
    print(f"{chosen.users:,} users, {ROWS * chosen.users:,} rows, {chosen.histories:,} histories")
    written = path.with_suffix(".found") if chosen.written else None
    if chosen.spark:
        on_spark(path, chosen.users, not chosen.without_answers, chosen.spark, written)
    else:
        in_one_process(path, not chosen.without_answers, written)


if __name__ == "__main__":
    main()
