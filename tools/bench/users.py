"""Epsilon of each of many users: in one process, and on a local Spark, in processor time and memory.

``python -m bench.users --users 10000000`` makes three rows for each user, of one of ``--histories`` histories of three
kinds of step, and asks for all users at once, in one process; with ``--spark`` Spark makes the same rows and answers,
on one core, where it is installed. Processor time is that of all processes, as the machine may have other guests. One
core: set ``OPENBLAS_NUM_THREADS=1``.
"""

from __future__ import annotations

import argparse
import os
import resource
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from hockeystick.integrations.users import users
from hockeystick.questions.histories.answers import answers
from hockeystick.questions.histories.entries import Entries

NOISES = (0.6, 0.8, 1.0, 1.2, 1.5, 2.0)
RATES = (0.001, 0.002, 0.005, 0.01, 0.02)
STEPS = (100, 5000)
ROWS = 3  # of each user
DELTA = 1e-6
SEED = 19
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


def in_one_process(many: int, of: int) -> None:
    """Print what it takes, and of that the grouping and the answers."""
    users(rows(FEW, 10), DELTA)
    table = rows(many, of)
    began = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    wall, processor = time.perf_counter(), time.process_time()
    found = users(table, DELTA)
    processor, wall = time.process_time() - processor, time.perf_counter() - wall
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    print(f"{many:,} users, {of:,} histories, one process: {processor:.1f} s of processor time, {wall:.1f} s")
    print(f"memory: {most:.2f} GB at most, {began:.2f} GB with the rows alone; {len(found['user']):,} answers")
    del found
    before = time.process_time()
    entries = Entries()
    entries.add(*(table[name] if name == "user" else table[name].astype(float) for name in table))
    grouped = entries.grouped()
    middle = time.process_time()
    answers(grouped.histories, DELTA)
    print(
        f"grouping {middle - before:.1f} s, {len(grouped.histories):,} histories {time.process_time() - middle:.1f} s"
    )


def on_spark(many: int, of: int) -> None:
    """Print what it takes on one core of a local Spark."""
    from pyspark.sql import SparkSession
    from pyspark.sql import functions as F  # noqa: N812

    from hockeystick.integrations import spark

    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = SparkSession.builder.master("local[1]").config("spark.driver.memory", "4g")
    for key, value in {"spark.ui.enabled": "false", "spark.sql.shuffle.partitions": "16"}.items():
        builder = builder.config(key, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    known = histories(of)
    listed = [
        (history, *(column[history, row].item() for column in known.values()))
        for history in range(of)
        for row in range(ROWS)
    ]
    kinds = session.createDataFrame(listed, "history long, noise_multiplier double, sample_rate double, steps long")
    drawn = session.range(many).select(F.col("id").alias("user"), F.pmod(F.xxhash64("id"), F.lit(of)).alias("history"))
    table = drawn.join(F.broadcast(kinds), "history").drop("history")
    asked = spark.users(table, DELTA, tasks=4)
    spark.users(table.where("user < 1000"), DELTA, tasks=1).write.format("noop").mode("overwrite").save()
    before, wall = processor_time(), time.perf_counter()
    table.write.format("noop").mode("overwrite").save()
    middle = processor_time()
    asked.write.format("noop").mode("overwrite").save()
    print(f"{many:,} users, {of:,} histories, Spark on one core: {processor_time() - middle:.1f} s of processor time, ")
    print(f"of which {2 * (middle - before):.1f} s make the rows, twice; {time.perf_counter() - wall:.1f} s in all")
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
    parser.add_argument("--spark", action="store_true")
    chosen = parser.parse_args()
    (on_spark if chosen.spark else in_one_process)(chosen.users, chosen.histories)


if __name__ == "__main__":
    main()
