"""Parquet files that workers of Spark read and write directly.

Spark's reader turns every value into a field of a Java row, and every row back into Arrow for Python. A worker that
receives its own row groups reads them like a single process.
"""

from __future__ import annotations

import posixpath
import uuid
import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyarrow import fs

from hockeystick.integrations.blocks import Batches
from hockeystick.integrations.rows import ENDS
from hockeystick.integrations.users import dated
from hockeystick.values import domains
from hockeystick.values.errors import InvalidInputError

READ = 1 << 18
"""Number of rows read together: a column of them has 2 MB."""

OF_A_TASK = 1 << 22
"""Smallest number of rows for one task, if the files have as many: each task costs some hundredths of a second."""

SPREAD = np.uint64(0x9E3779B97F4A7C15)
"""Odd multiplier of a hash that spreads neighbouring numbers (2^64 over the golden ratio)."""

USERS = (
    pa.types.is_integer, pa.types.is_float32, pa.types.is_float64, pa.types.is_string, pa.types.is_large_string,
    pa.types.is_binary, pa.types.is_large_binary, pa.types.is_boolean, pa.types.is_decimal, pa.types.is_date,
    pa.types.is_timestamp,
)  # fmt: skip
"""Types allowed for users: equal users have equal bytes."""

RENAMED = ("local", "hdfs")
"""File systems on which renaming a folder is atomic."""


@dataclass(frozen=True, slots=True)
class Groups:
    """Some row groups of one file.

    Attributes:
        path: path of the file.
        first, end: range of row groups, without ``end``.
        rows: number of their rows.
    """

    path: str
    first: int
    end: int
    rows: int


@dataclass(frozen=True, slots=True)
class Columns:
    """Columns to read, and their roles.

    Attributes:
        user: name of the column of users.
        numbers: for noise multiplier, sample rate and steps, a column's name or one number for all rows.
        when, until: name of the column of times, and the cut; or None.
    """

    user: str
    numbers: dict[str, str | float]
    when: str | None
    until: Any

    @property
    def names(self) -> list[str]:
        """Names of all columns to read, each once."""
        named = [source for source in self.numbers.values() if isinstance(source, str)]
        return list(dict.fromkeys([self.user, *named, *([] if self.when is None else [self.when])]))


def opened(path: str) -> tuple[fs.FileSystem, str]:
    """Return the file system of a path or URI, and the path within it.

    Raises:
        InvalidInputError: pyarrow knows no file system for it.
    """
    try:
        found: tuple[fs.FileSystem, str] = fs.FileSystem.from_uri(path if "://" in path else str(Path(path).absolute()))
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, ValueError) as error:
        raise InvalidInputError(f"a path must be one that pyarrow opens; received {path!r}: {error}", "paths") from None
    return found


def groups(paths: str | Iterable[str], columns: Columns) -> tuple[list[list[Groups]], pa.DataType]:
    """Return the row groups of all files, shared among tasks, and the type of the users.

    Args:
        paths: files and folders; a folder stands for all files in its tree whose names end in ``.parquet`` and begin
            neither with ``_`` nor ``.``.
        columns: columns that every file must have.

    Raises:
        InvalidInputError: there is no file, a column is missing or of another type, users have two types, or the cut is
            not comparable.
    """
    found: list[list[Groups]] = []
    known: pa.DataType | None = None
    waiting, rows = [], 0
    for path in _files(paths):
        filesystem, inner = opened(path)
        with filesystem.open_input_file(inner) as file:
            said = pq.ParquetFile(file)
            kind = _checked(said.schema_arrow, path, columns)
            counts = [said.metadata.row_group(number).num_rows for number in range(said.metadata.num_row_groups)]
        if known not in (None, kind):
            raise InvalidInputError(f"user must be of one type in all files; {path} has {kind} after {known}", "user")
        known = kind
        first, own = 0, 0
        for number, count in enumerate(counts, start=1):
            own += count
            if rows + own >= OF_A_TASK or number == len(counts):
                waiting.append(Groups(path, first, number, own))
                first, rows, own = number, rows + own, 0
            if rows >= OF_A_TASK:
                found.append(waiting)
                waiting, rows = [], 0
    if known is None:
        raise InvalidInputError(f"paths must name Parquet files; there are none in {domains.shown(paths)}", "paths")
    return [*found, waiting] if waiting else found, known


def _files(paths: str | Iterable[str]) -> Iterator[str]:
    """Files named by paths.

    Raises:
        InvalidInputError: a path does not exist.
    """
    for path in [paths] if isinstance(paths, str | Path) else paths:
        filesystem, inner = opened(str(path))
        (info,) = filesystem.get_file_info([inner])
        if info.type == fs.FileType.NotFound:
            raise InvalidInputError(f"paths must be of Parquet files; there is nothing at {path}", "paths")
        if info.type == fs.FileType.File:
            yield str(path) if "://" in str(path) else inner
            continue
        for below in sorted(filesystem.get_file_info(fs.FileSelector(inner, recursive=True)), key=_path):
            hidden = any(part[:1] in ("_", ".") for part in below.path[len(inner) :].split("/"))
            if below.type == fs.FileType.File and below.path.endswith(".parquet") and not hidden:
                yield str(path).rstrip("/") + below.path[len(inner.rstrip("/")) :] if "://" in str(path) else below.path


def _path(info: fs.FileInfo) -> str:
    return str(info.path)


def _checked(schema: pa.Schema, path: str, columns: Columns) -> pa.DataType:
    """Type of the users of a file.

    Raises:
        InvalidInputError: a column is missing or of another type, or the cut is not comparable.
    """
    keys = {"user": columns.user, **columns.numbers} | ({} if columns.when is None else {"when": columns.when})
    for key, name in keys.items():
        if isinstance(name, str) and schema.names.count(name) != 1:
            raise InvalidInputError(
                f"{key} must be a column; received {name!r}, and the columns of {path} are "
                f"{domains.listed(schema.names)}",
                key,
            )
    for key, name in columns.numbers.items():
        if isinstance(name, str) and not _is_number(schema.field(name).type):
            raise InvalidInputError(
                f"{key} must be a column of numbers; {name!r} is of type {schema.field(name).type} in {path}", key
            )
    if columns.when is not None:
        _dated(pa.array([], type=schema.field(columns.when).type), columns)
    kind = _plain(schema.field(columns.user).type)
    if not any(is_one(kind) for is_one in USERS):
        raise InvalidInputError(
            f"user must be a column of numbers, text, bytes or dates; {columns.user!r} is of type {kind} in {path}",
            "user",
        )
    return kind


def _is_number(kind: pa.DataType) -> bool:
    return any(is_one(kind) for is_one in (pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal))


def of_spark(kind: pa.DataType) -> pa.DataType:
    """Return the type that Spark uses: microseconds for times, four bytes for days."""
    if pa.types.is_timestamp(kind):
        return pa.timestamp("us", tz=kind.tz)
    return pa.date32() if pa.types.is_date(kind) else kind


def _plain(kind: pa.DataType) -> pa.DataType:
    """Type of the values of a column."""
    return kind.value_type if pa.types.is_dictionary(kind) else kind


def reading(tasks: list[list[Groups]], columns: Columns) -> Callable[[Batches], Iterator[pa.RecordBatch]]:
    """Return a function that reads the rows of tasks for ``partitions.grouping``, with a hash of their users.

    Args:
        tasks: row groups of each task; the batches have one column, the indices of tasks.
        columns: columns to read.
    """

    def read(batches: Batches) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for number in batch.column(0).to_pylist():
                for part in tasks[number]:
                    yield from _rows(part, columns)

    return read


def _rows(part: Groups, columns: Columns) -> Iterator[pa.RecordBatch]:
    """Rows of some row groups.

    Raises:
        InvalidInputError: the number of rows has changed.
    """
    filesystem, inner = opened(part.path)
    found = 0
    with filesystem.open_input_file(inner) as file:
        chosen = list(range(part.first, part.end))
        for batch in pq.ParquetFile(file).iter_batches(READ, chosen, columns.names, use_threads=False):
            found += len(batch)
            yield _as_grouped(batch, columns)
    if found != part.rows:
        raise InvalidInputError(f"{part.path} has changed: {found} rows, and there were {part.rows}", "paths")


def _as_grouped(batch: pa.RecordBatch, columns: Columns) -> pa.RecordBatch:
    """The columns used for grouping."""
    users = batch.column(columns.user)
    users = users.cast(_plain(users.type))
    found = {"hash": pa.array(hashes(users)), "user": users}
    for key, source in columns.numbers.items():
        constant = not isinstance(source, str)
        found[key] = pa.array(np.full(len(batch), source)) if constant else _doubles(batch.column(source))
    if columns.when is not None:
        counted, undated = _dated(batch.column(columns.when), columns)
        found |= {"counted": pa.array(counted), "undated": pa.array(undated)}
    return pa.RecordBatch.from_arrays(list(found.values()), names=list(found))


def _dated(times: pa.Array, columns: Columns) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
    """Masks of the counted rows and of the rows without a time.

    Raises:
        InvalidInputError: the times cannot be compared with the cut.
    """
    assert columns.when is not None
    values = times.cast(_plain(times.type)).to_numpy(zero_copy_only=False)
    return dated({columns.when: values}, columns.when, columns.until)


def _doubles(column: pa.Array) -> pa.Array:
    return column if pa.types.is_float64(column.type) else column.cast(pa.float64(), safe=False)


def hashes(users: pa.Array) -> npt.NDArray[np.uint32]:
    """Return hashes, equal for equal users in every process, shape (users,).

    Args:
        users: users of an allowed type; missing ones share the hash of another user.
    """
    kind = users.type
    if pa.types.is_floating(kind):
        values = users.cast(pa.float64()).to_numpy(zero_copy_only=False) + 0.0  # turns -0.0 into 0.0
        bits = values.view(np.uint64)
    elif pa.types.is_integer(kind) or pa.types.is_temporal(kind):
        short = pa.int32() if kind.bit_width == 32 else pa.int64()
        whole = users if pa.types.is_integer(kind) else users.view(short)
        whole = pc.fill_null(whole, 0) if whole.null_count else whole
        bits = whole.to_numpy().astype(np.int64).view(np.uint64)
    else:
        listed = users.dictionary_encode(null_encoding="encode")
        distinct = listed.dictionary.to_pylist()
        said = [zlib.crc32(value if isinstance(value, bytes) else str(value).encode()) for value in distinct]
        return _of_distinct(said, listed.indices)
    bits *= SPREAD  # modulo 2^64
    found: npt.NDArray[np.uint32] = (bits >> np.uint64(32)).astype(np.uint32)
    return found


def _of_distinct(said: list[int], places: pa.Array) -> npt.NDArray[np.uint32]:
    found: npt.NDArray[np.uint32] = np.array(said, dtype=np.uint32)[places.to_numpy()]
    return found


def columns_of(user: str, kind: pa.DataType, names: list[str]) -> pa.Schema:
    """Return the columns of a file of answers.

    Args:
        user: name of the column of users.
        kind: type of the users.
        names: names of the others: steps, the three ends of epsilon, the reason.
    """
    kinds = [kind, pa.int64(), *(pa.float64() for _ in ENDS), pa.string()]
    return pa.schema(list(zip([user, *names], kinds, strict=True)))


class Folder:
    """Folder that appears with all answers or not at all.

    Tasks write to a temporary folder beside it, each to a temporary file until that is whole. The folder is renamed
    when all tasks are done.

    Args:
        to: path or URI of the folder.

    Raises:
        InvalidInputError: the path exists, or folders cannot be renamed there.
    """

    def __init__(self, to: str) -> None:
        filesystem, inner = opened(to)
        if filesystem.type_name not in RENAMED:
            raise InvalidInputError(
                f"to must be on a file system whose folders are renamed at once, {domains.listed(RENAMED)}; received "
                f"{to!r}: leave it out, and let Spark write the DataFrame",
                "to",
            )
        if filesystem.get_file_info([inner])[0].type != fs.FileType.NotFound:
            raise InvalidInputError(f"to must be the path of a folder that is not there yet; received {to!r}", "to")
        self._to, self._beside = inner.rstrip("/"), f"{inner.rstrip('/')}-unfinished-{uuid.uuid4().hex}"
        self._uri, self._filesystem = to, filesystem
        filesystem.create_dir(self._beside, recursive=True)

    def writing(self, number: Callable[[], int]) -> Callable[[Batches], Iterator[pa.RecordBatch]]:
        """Return a function that writes the batches of a task to a file and returns its name and number of rows.

        Args:
            number: index of the task, which is the same for a retry.
        """
        uri, beside = self._uri, self._beside

        def written(batches: Batches) -> Iterator[pa.RecordBatch]:
            filesystem, _ = opened(uri)
            name, rows = f"part-{number():05d}.parquet", 0
            unfinished = posixpath.join(beside, f".{name}-{uuid.uuid4().hex}")
            writer: pq.ParquetWriter | None = None
            try:
                for batch in batches:
                    if writer is None:
                        writer = pq.ParquetWriter(unfinished, batch.schema, filesystem=filesystem)
                    writer.write_batch(batch)
                    rows += len(batch)
            finally:
                if writer is not None:
                    writer.close()
            if writer is not None:
                filesystem.move(unfinished, posixpath.join(beside, name))
                yield pa.RecordBatch.from_pydict({"name": [name], "users": [rows]})

        return written

    def finish(self, names: set[str], empty: pa.Schema) -> list[str]:
        """Move the folder into place with the files of these names, and return their paths.

        Args:
            names: names of the files of all tasks with users.
            empty: columns of the empty file that is written if there are no users.
        """
        if not names:
            names = {"part-00000.parquet"}
            pq.write_table(empty.empty_table(), posixpath.join(self._beside, *names), filesystem=self._filesystem)
        for info in self._filesystem.get_file_info(fs.FileSelector(self._beside)):
            if info.base_name not in names:  # left over from a failed attempt
                self._filesystem.delete_file(info.path)
        self._filesystem.move(self._beside, self._to)
        return [posixpath.join(self._to, name) for name in sorted(names)]

    def discard(self) -> None:
        """Delete everything that tasks have written."""
        self._filesystem.delete_dir(self._beside)


__all__ = ["Columns", "Folder", "Groups", "columns_of", "groups", "hashes", "of_spark", "opened", "reading"]
