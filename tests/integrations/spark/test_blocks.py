"""Rows that were put into blocks are the same rows, in every type, and all rows of a user go to one part."""

from __future__ import annotations

import datetime
import decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import functions as F  # noqa: N812

from hockeystick.integrations import blocks, spark
from hockeystick.integrations.users import users

DAY = datetime.date(2026, 1, 1)

NUMBERS = ("steps", "epsilon_lower", "epsilon_estimate", "epsilon_upper")
SETTINGS = ("spark.sql.shuffle.partitions", "spark.sql.execution.arrow.maxRecordsPerBatch")

KEYS = {
    "whole numbers": pa.array([3, -5, 2**63 - 1, -(2**63), 3]),
    "short ones": pa.array([3, -5, 127, -128, 3], type=pa.int8()),
    "doubles": pa.array([0.5, -0.0, 1e300, 5e-324, 0.5]),
    "text": pa.array(["", "ada", "b\u00f6b", "x" * 100_000, "ada"]),
    "long text": pa.array(["", "ada", "cleo", "b", "ada"], type=pa.large_string()),
    "bytes": pa.array([b"", b"\0", b"\0\0", b"\xff" * 16, b"\0"]),
    "days": pa.array([DAY, DAY + datetime.timedelta(1), DAY, DAY, DAY]),
    "times": pa.array([1, 2, 3, -1, 1], type=pa.timestamp("us", tz="Europe/Berlin")),
    "truth values": pa.array([True, False, True, True, False]),
    "decimals": pa.array([decimal.Decimal("1.50"), decimal.Decimal("-3.25")] * 2 + [decimal.Decimal("0.00")]),
    "nobody": pa.array([None, 1, None, 2, 1]),
}


def table(users_of: pa.Array, hashes: list[int], **numbers: Any) -> pa.Table:
    many = len(users_of)
    said = {"noise_multiplier": np.ones(many), "sample_rate": np.full(many, 0.1), "steps": np.ones(many)} | numbers
    return pa.table({"user": users_of, "hash": pa.array(hashes, type=pa.int32()), **said})


def through(rows_of_all: pa.Table, parts: int, chunk: int) -> dict[int, pa.Table]:
    """The rows of each part, after they were put into blocks."""
    found: dict[int, list[pa.RecordBatch]] = {}
    for batch in blocks.blocks(parts)(rows_of_all.to_batches(max_chunksize=chunk)):
        for number in range(len(batch)):
            one = batch.slice(number, 1)
            found.setdefault(one.column("part")[0].as_py(), []).extend(blocks.rows_of([one]))
    return {label: pa.Table.from_batches(batches) for label, batches in found.items()}


@pytest.mark.parametrize("name", KEYS)
@pytest.mark.parametrize("chunk", [1, 2, 5])
def test_rows_come_back_as_they_were(monkeypatch: pytest.MonkeyPatch, name: str, chunk: int) -> None:
    monkeypatch.setattr(blocks, "PACKED", 2)
    all_rows = table(KEYS[name], [7, -1, 7, 4, 7], steps=np.array([5.0, 2.0**31, 7.0, 1e15, 0.0]))
    found = through(all_rows, 3, chunk)
    hashes = all_rows.column("hash").to_numpy() % 3
    labels = blocks.labels_of(3)
    for part in set(hashes.tolist()):
        own = all_rows.drop_columns("hash").filter(pa.array(hashes == part)).combine_chunks()
        assert found.pop(int(labels[part])).combine_chunks().equals(own)
    assert not found


@pytest.mark.parametrize(
    "steps",
    [
        [1.0, 255.0, 0.0], [1.0, 256.0, 65535.0], [65536.0, 1.0, 2.0], [2.0**32 - 1, 1.0, 0.0], [2.0**32, 1.0, 0.0],
        [-0.0, 1.0, 2.0], [-1.0, 1.0, 2.0], [0.5, 1.0, 2.0], [np.nan, 1.0, -0.0], [np.inf, 5e-324, -np.inf],
    ],
)  # fmt: skip
def test_doubles_in_fewer_bytes_are_the_same_to_the_last_bit(steps: list[float]) -> None:
    given = np.array(steps)
    (found,) = through(table(pa.array([1, 2, 3]), [0, 0, 0], steps=given), 1, 3).values()
    assert found.column("steps").to_numpy().view(np.int64).tolist() == given.view(np.int64).tolist()


def test_many_distinct_doubles_and_missing_ones() -> None:
    draw = np.random.default_rng(3)
    for distinct in (blocks.FEW, blocks.FEW + 1):
        noise = draw.permutation(np.tile(draw.uniform(0.5, 2.0, distinct), 3))
        many = len(noise)
        all_rows = table(pa.array(np.arange(many)), [0] * many, noise_multiplier=noise)
        (batch,) = blocks.blocks(1)(all_rows.to_batches())
        kept = pa.ipc.read_schema(batch.column("schema")[0].as_buffer()).field("noise_multiplier").type
        assert kept == (pa.uint8() if distinct == blocks.FEW else pa.float64())
        assert pa.Table.from_batches(blocks.rows_of([batch])).equals(all_rows.drop_columns("hash"))
    some = pa.array([1.0, None, 0.0])
    (found,) = through(table(pa.array([1, 2, 3]), [0, 0, 0], steps=some), 1, 3).values()
    assert found.column("steps").to_pylist() == [1.0, None, 0.0]


def test_blocks_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where all users are in one part; a row that is longer alone has a block of its own."""
    monkeypatch.setattr(blocks, "MOST_BYTES", 4096)
    draw = np.random.default_rng(4)
    all_rows = table(pa.array(np.arange(10_000)), [0] * 10_000, noise_multiplier=draw.uniform(1, 2, 10_000))
    (batch,) = blocks.blocks(16)(all_rows.to_batches())
    lengths = [len(rows_of_block.as_buffer()) for rows_of_block in batch.column("rows")]
    assert len(lengths) > 20
    assert max(lengths) <= 4096 + 1024  # what Arrow says of the columns is beside them
    assert set(batch.column("part").to_pylist()) == {int(blocks.labels_of(16)[0])}
    names = pa.array(["y" * 10_000] * 3)
    (batch,) = blocks.blocks(1)(table(names, [0] * 3).to_batches())
    assert len(batch) == 3


def test_no_rows_are_no_blocks() -> None:
    empty = table(pa.array([], type=pa.int64()), [])
    assert list(blocks.blocks(4)([])) == []
    assert list(blocks.blocks(4)(empty.to_batches() or [pa.RecordBatch.from_pylist([], schema=empty.schema)])) == []


def test_parts_go_to_tasks_of_their_own(session: Any) -> None:
    numbers = np.array([0, 1, -1, 42, 2**31 - 1, -(2**31)], dtype=np.int32)
    df = session.createDataFrame([(int(number),) for number in numbers], "number int")
    assert blocks.murmur(numbers).tolist() == [row[0] for row in df.select(F.hash("number")).collect()]
    for parts in (1, 2, 5, 200):
        assert (blocks.murmur(blocks.labels_of(parts)) % parts).tolist() == list(range(parts))


@pytest.mark.parametrize("parts", [1, 7])
def test_users_of_few_parts_in_many_batches(session: Any, parts: int) -> None:
    """One user has most rows, some partitions have none, and a batch has three rows."""
    draw = np.random.default_rng(5)
    table_of = {
        "user": np.where(draw.random(200) < 0.7, 5, draw.integers(0, 40, 200)),
        "noise_multiplier": draw.choice([0.7, 1.1], 200),
        "sample_rate": np.full(200, 0.1),
        "steps": draw.choice([1, 30], 200),
    }
    here = users(table_of, 1e-6)
    kept = {name: session.conf.get(name) for name in SETTINGS}
    try:
        for name, value in zip(SETTINGS, (parts, 3), strict=True):
            session.conf.set(name, value)
        df = session.createDataFrame(
            list(zip(*(column.tolist() for column in table_of.values()), strict=True)), list(table_of)
        )
        found = spark.users(df.repartition(5, "user"), 1e-6, tasks=1).collect()
    finally:
        for name, value in kept.items():
            session.conf.set(name, value)
    said = {row["user"]: tuple(row[name] for name in NUMBERS) for row in found}
    assert said == {
        user: tuple(here[name][place] for name in NUMBERS) for place, user in enumerate(here["user"].tolist())
    }


def test_no_users(session: Any) -> None:
    df = session.createDataFrame([], "user string, noise_multiplier double, sample_rate double, steps long")
    assert spark.users(df, 1e-6, tasks=1).collect() == []
