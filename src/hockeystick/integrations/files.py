"""Rows that workers of Spark read from Parquet files themselves, and answers that they write to such.

Spark's own reader makes every value a field of a row in Java, and every row one of Arrow again for Python. A worker
that is told which row groups are its own reads them as one process does.
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
"""Rows that are read at once: a column of them has 2 MB."""

OF_A_TASK = 1 << 22
"""Rows that one task reads at least, where its files have as many: each task costs some hundredths of a second."""

SPREAD = np.uint64(0x9E3779B97F4A7C15)
"""An odd number, whose multiples have first digits that tell neighbours apart."""

USERS = (
    pa.types.is_integer, pa.types.is_float32, pa.types.is_float64, pa.types.is_string, pa.types.is_large_string,
    pa.types.is_binary, pa.types.is_large_binary, pa.types.is_boolean, pa.types.is_decimal, pa.types.is_date,
    pa.types.is_timestamp,
)  # fmt: skip
"""The types that users may have: equal ones have equal bytes."""

RENAMED = ("local", "hdfs")
"""The file systems on which a folder gets its name at once, whatever is in it."""


@dataclass(frozen=True, slots=True)
class Groups:
    """Some row groups of one file.

    Attributes:
        path: of the file.
        first, end: which row groups; the last is not among them.
        rows: how many they have.
    """

    path: str
    first: int
    end: int
    rows: int


@dataclass(frozen=True, slots=True)
class Columns:
    """Which columns are read, and what for.

    Attributes:
        user: the name of the one that says whose row it is.
        numbers: of noise multiplier, sample rate and steps: a name, or one number for all rows.
        when, until: the name of the one that says when, and the cut; or None.
    """

    user: str
    numbers: dict[str, str | float]
    when: str | None
    until: Any

    @property
    def names(self) -> list[str]:
        """The names of all that are read, each once."""
        named = [source for source in self.numbers.values() if isinstance(source, str)]
        return list(dict.fromkeys([self.user, *named, *([] if self.when is None else [self.when])]))


def opened(path: str) -> tuple[fs.FileSystem, str]:
    """The file system of a path or URI, and the path there.

    Raises:
        InvalidInputError: it is no path of a file system that pyarrow knows.
    """
    try:
        found: tuple[fs.FileSystem, str] = fs.FileSystem.from_uri(path if "://" in path else str(Path(path).absolute()))
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, ValueError) as error:
        raise InvalidInputError(f"a path must be one that pyarrow opens; received {path!r}: {error}", "paths") from None
    return found


def groups(paths: str | Iterable[str], columns: Columns) -> tuple[list[list[Groups]], pa.DataType]:
    """The row groups of all files, shared among tasks, and the type of the users.

    Args:
        paths: files, and folders, of which all files are meant whose names end in ``.parquet`` and begin neither with
            ``_`` nor ``.``, in folders below as well.
        columns: that every file has.

    Raises:
        InvalidInputError: no file, a column that is missing or of another type, users of two types, or a cut that is
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
        raise InvalidInputError(f"paths must be of Parquet files; there are none in {domains.shown(paths)}", "paths")
    return [*found, waiting] if waiting else found, known


def _files(paths: str | Iterable[str]) -> Iterator[str]:
    """The files that some paths name.

    Raises:
        InvalidInputError: there is nothing at a path.
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
    """The type of the users of a file.

    Raises:
        InvalidInputError: a column that is missing or of another type, or a cut that is not comparable.
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
    """The type in which Spark takes values: times in millionths of a second, days in four bytes."""
    if pa.types.is_timestamp(kind):
        return pa.timestamp("us", tz=kind.tz)
    return pa.date32() if pa.types.is_date(kind) else kind


def _plain(kind: pa.DataType) -> pa.DataType:
    """The type of the values of a column."""
    return kind.value_type if pa.types.is_dictionary(kind) else kind


def reading(tasks: list[list[Groups]], columns: Columns) -> Callable[[Batches], Iterator[pa.RecordBatch]]:
    """What reads the rows of tasks, as ``partitions.grouping`` takes them, with a hash of their users.

    Args:
        tasks: row groups of each; the batches have one column, the numbers of tasks.
        columns: which are read.
    """

    def read(batches: Batches) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for number in batch.column(0).to_pylist():
                for part in tasks[number]:
                    yield from _rows(part, columns)

    return read


def _rows(part: Groups, columns: Columns) -> Iterator[pa.RecordBatch]:
    """The rows of some row groups.

    Raises:
        InvalidInputError: there are more or fewer than there were.
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
    """The columns that are grouped."""
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
    """Which rows are counted, and which have no time.

    Raises:
        InvalidInputError: times that cannot be compared with the cut.
    """
    assert columns.when is not None
    values = times.cast(_plain(times.type)).to_numpy(zero_copy_only=False)
    return dated({columns.when: values}, columns.when, columns.until)


def _doubles(column: pa.Array) -> pa.Array:
    return column if pa.types.is_float64(column.type) else column.cast(pa.float64(), safe=False)


def hashes(users: pa.Array) -> npt.NDArray[np.uint32]:
    """Numbers that are equal where users are, the same in every process, shape (users,).

    Args:
        users: of one of the types that users may have; those that are missing have the number of some other.
    """
    kind = users.type
    if pa.types.is_floating(kind):
        values = users.cast(pa.float64()).to_numpy(zero_copy_only=False) + 0.0  # of -0.0, 0.0
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
    """The columns of a file of answers.

    Args:
        user: what the column of users is called.
        kind: its type.
        names: of the others: steps, the three ends of epsilon, the reason.
    """
    kinds = [kind, pa.int64(), *(pa.float64() for _ in ENDS), pa.string()]
    return pa.schema(list(zip([user, *names], kinds, strict=True)))


class Folder:
    """A folder of answers, which is there with all of them or not at all.

    Tasks write into a folder beside it, each a file of another name until it is whole, and the folder gets its name
    when all are done.

    Args:
        to: path or URI of the folder that is wanted.

    Raises:
        InvalidInputError: there is something at that path, or folders cannot be renamed there.
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
        """What writes the batches of a task to a file, and says its name and how many rows it has.

        Args:
            number: of the task; that of a task which is tried again is the same.
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
        """Put the folder in its place with the files of these names; returns their paths.

        Args:
            names: of the files of all tasks that had users.
            empty: the columns of a file without rows, which there is where nobody has any.
        """
        if not names:
            names = {"part-00000.parquet"}
            pq.write_table(empty.empty_table(), posixpath.join(self._beside, *names), filesystem=self._filesystem)
        for info in self._filesystem.get_file_info(fs.FileSelector(self._beside)):
            if info.base_name not in names:  # of a task that was tried again
                self._filesystem.delete_file(info.path)
        self._filesystem.move(self._beside, self._to)
        return [posixpath.join(self._to, name) for name in sorted(names)]

    def discard(self) -> None:
        """Leave nothing of what tasks have written."""
        self._filesystem.delete_dir(self._beside)


__all__ = ["Columns", "Folder", "Groups", "columns_of", "groups", "hashes", "of_spark", "opened", "reading"]
