"""Rows packed into blocks of bytes, for the exchange between workers of Spark.

The cost of Spark's exchange grows with the number of rows. Rows for the same task are therefore packed beforehand, in
Arrow's columnar format, and numbers take the fewest bytes that hold them without loss.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

Batches = Iterable[pa.RecordBatch]

NAMES = ["part", "schema", "rows"]
"""Columns of a block: its destination, the schema of its rows, and the rows."""

SCHEMA = "part int, schema binary, rows binary"
"""Schema of a block in Spark's notation."""

PACKED = 1 << 18
"""Number of rows sorted together; a column of them has 2 MB, which stays in the cache and fills some hundred parts."""

MOST_BYTES = 1 << 16
"""Largest block in bytes, unless it is a single row: Spark hands ten thousand blocks, 0.7 GB, to Python at once."""

FEW = 256
"""Largest number of distinct doubles encoded by one byte; their table takes 2 kB."""

VALUES, DOUBLE, LEAST = b"values", b"double", b"least"
"""Metadata keys of a compressed column: the table of its doubles, the mark that it held doubles, or the offset of its
whole numbers.
"""


def blocks(parts: int) -> Callable[[Batches], Iterator[pa.RecordBatch]]:
    """Return a function that packs rows into blocks.

    Batches have a column ``hash`` of whole numbers, equal for equal users. It assigns rows to parts and is dropped.

    Args:
        parts: number of parts.
    """
    labels = labels_of(parts)
    kind = np.min_scalar_type(parts)  # at two bytes or fewer, numpy sorts by radix

    def made(batches: Batches) -> Iterator[pa.RecordBatch]:
        for piece in pieces(batches, PACKED):
            part = (piece.column("hash").to_numpy() % parts).astype(kind)
            yield shared(_whole(piece.drop_columns("hash")), part, labels)

    return made


def shared(rows: pa.RecordBatch, part: npt.NDArray[np.integer[Any]], labels: npt.NDArray[np.int32]) -> pa.RecordBatch:
    """Return rows as blocks, one part after the other.

    Args:
        rows: rows in any order.
        part: index of each row's part, shape (rows,).
        labels: label of each part, shape (parts,).
    """
    sorting = len(part) > 0 and bool((part[1:] < part[:-1]).any())
    order = pa.array(np.argsort(part, kind="stable")) if sorting else None
    columns, fields = [], []
    for field, column in zip(rows.schema, rows.columns, strict=True):
        narrow, said = _narrow(column)
        columns.append(narrow if order is None else narrow.take(order))
        fields.append(pa.field(field.name, narrow.type, metadata=said))
    ordered = part if order is None else part[order.to_numpy()]
    return _cut(pa.RecordBatch.from_arrays(columns, schema=pa.schema(fields)), ordered, labels)


def pieces(batches: Batches, rows: int, counted: Callable[[pa.RecordBatch], int] = len) -> Iterator[pa.Table]:
    """Yield batches merged into tables of about ``rows`` rows.

    Args:
        batches: batches of one schema.
        rows: number of rows of a table; it may have a few more.
        counted: number of rows that a batch counts for.
    """
    waiting: list[pa.RecordBatch] = []
    found = 0
    for batch in batches:
        waiting.append(batch)
        found += counted(batch)
        if found >= rows:
            yield pa.Table.from_batches(waiting)
            waiting, found = [], 0
    if found:
        yield pa.Table.from_batches(waiting)


def _whole(table: pa.Table) -> pa.RecordBatch:
    """The table as one batch."""
    columns = [column.combine_chunks() for column in table.columns]
    return pa.RecordBatch.from_arrays(columns, names=table.column_names)


def _narrow(column: pa.Array) -> tuple[pa.Array, dict[bytes, bytes] | None]:
    """A column in the fewest bytes that hold its numbers, and the metadata for decoding it; other columns unchanged."""
    if column.null_count or not len(column):
        return column, None
    if pa.types.is_list(column.type):
        values, said = _narrow(column.flatten())
        offsets = column.offsets.to_numpy()
        return pa.ListArray.from_arrays(pa.array(offsets - offsets[0]), values), said
    if pa.types.is_int64(column.type):
        return _counted(column)
    if not pa.types.is_float64(column.type):
        return column, None
    values = column.to_numpy()
    if values.min() >= 0 and values.max() < 1 << 32:  # false if one is NaN
        kind = np.min_scalar_type(int(values.max()))
        whole = values.astype(kind)
        if np.array_equal(whole, values) and not np.signbit(values).any():
            return pa.array(whole), {DOUBLE: b""}
    listed = column.dictionary_encode()
    if len(listed.dictionary) > FEW:
        return column, None
    return listed.indices.cast(pa.uint8()), {VALUES: listed.dictionary.to_numpy().tobytes()}


def _counted(column: pa.Array) -> tuple[pa.Array, dict[bytes, bytes] | None]:
    """Whole numbers of eight bytes as offsets from the smallest, if fewer bytes hold them."""
    values = column.to_numpy()
    least = int(values.min())
    kind = np.min_scalar_type(int(values.max()) - least)
    if kind.itemsize == values.itemsize:
        return column, None
    return pa.array((values - least).astype(kind)), {LEAST: str(least).encode()}


def _wide(column: pa.Array, said: dict[bytes, bytes] | None) -> pa.Array:
    """The decoded column."""
    if said is None:
        return column
    if pa.types.is_list(column.type):
        offsets = column.offsets.to_numpy()
        return pa.ListArray.from_arrays(pa.array(offsets - offsets[0]), _wide(column.flatten(), said))
    if LEAST in said:
        return pa.array(column.to_numpy().astype(np.int64) + int(said[LEAST]))
    if DOUBLE in said:
        return pa.array(column.to_numpy().astype(np.float64))
    return pa.array(np.frombuffer(said[VALUES])[column.to_numpy()])


def _cut(rows: pa.RecordBatch, part: npt.NDArray[np.integer[Any]], labels: npt.NDArray[np.int32]) -> pa.RecordBatch:
    """Blocks of rows that are sorted by part."""
    step = max(1, MOST_BYTES * rows.num_rows // max(1, rows.nbytes))
    ends = np.append(np.flatnonzero(part[1:] != part[:-1]) + 1, len(part)).tolist()
    starts, offsets, sink = [], [0], pa.BufferOutputStream()
    start = 0
    for end in ends:
        for first in range(start, end, step):
            starts.append(first)
            sink.write(rows.slice(first, min(step, end - first)).serialize())
            offsets.append(sink.tell())
        start = end
    many = len(starts)
    written = pa.Array.from_buffers(
        pa.binary(), many, [None, pa.py_buffer(np.array(offsets, dtype=np.int32)), sink.getvalue()]
    )
    said = pa.array([rows.schema.serialize().to_pybytes()] * many, type=pa.binary())
    return pa.RecordBatch.from_arrays([pa.array(labels[part[starts]]), said, written], names=NAMES)


def rows_of(batches: Batches) -> Iterator[pa.RecordBatch]:
    """Yield the rows of blocks."""
    for batch in batches:
        for said, rows in zip(batch.column("schema"), batch.column("rows"), strict=True):
            schema = pa.ipc.read_schema(said.as_buffer())
            found = pa.ipc.read_record_batch(rows.as_buffer(), schema)
            columns = [_wide(column, field.metadata) for column, field in zip(found.columns, schema, strict=True)]
            yield pa.RecordBatch.from_arrays(columns, names=schema.names)


def labels_of(parts: int) -> npt.NDArray[np.int32]:
    """Return, for each part, a number that Spark hashes to a task of its own, shape (parts,)."""
    labels = np.full(parts, -1, dtype=np.int32)
    first, many = 0, 4 * parts
    while (labels < 0).any():
        numbers = np.arange(first, first + many, dtype=np.int32)
        labels[murmur(numbers) % parts] = numbers
        first += many
    return labels


def murmur(numbers: npt.NDArray[np.int32]) -> npt.NDArray[np.int32]:
    """Return Spark's hash of whole numbers, Murmur3 of four bytes with seed 42, by which it sends rows to tasks.

    With another hash some tasks would have several parts and others none; answers would not change.
    """

    def turned(bits: npt.NDArray[np.uint32], by: int) -> npt.NDArray[np.uint32]:
        return (bits << np.uint32(by)) | (bits >> np.uint32(32 - by))

    mixed = turned(numbers.view(np.uint32) * np.uint32(0xCC9E2D51), 15) * np.uint32(0x1B873593)
    bits = turned(np.uint32(42) ^ mixed, 13) * np.uint32(5) + np.uint32(0xE6546B64)
    bits ^= np.uint32(4)
    for shift, factor in ((16, 0x85EBCA6B), (13, 0xC2B2AE35), (16, 1)):
        bits = (bits ^ (bits >> np.uint32(shift))) * np.uint32(factor)
    return bits.view(np.int32)


__all__ = ["SCHEMA", "Batches", "blocks", "labels_of", "pieces", "rows_of", "shared"]
