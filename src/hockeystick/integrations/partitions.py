"""Work of a Spark worker on its part of the rows, as Arrow batches, and on messages from the other parts.

All rows of a user are in one part, and are grouped as in a single process. Each part emits two things: a line for each
of its histories with a list of the users, and its distinct histories. The histories are shared among all tasks, each is
answered once, and the answers return to the parts that asked, where the lines wait for them.

Everything travels in blocks (``blocks.py``), of which Spark reads only the addresses. Lines and answers refer to a
history by its bytes, so a retried task gives the same result even if its rows arrive in another order.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from hockeystick.integrations.blocks import Batches, labels_of, pieces, rows_of, shared
from hockeystick.integrations.columns import Users
from hockeystick.integrations.packed import packed, unpacked
from hockeystick.integrations.rows import ENDS
from hockeystick.questions.histories.answers import Answers, History, answers
from hockeystick.questions.histories.entries import DOMAINS, Entries, Grouped, refusal, sound
from hockeystick.values import domains
from hockeystick.values.adjacency import Adjacency
from hockeystick.values.errors import InvalidInputError

KNOWN, WRONG = b"h", b"!"
"""First byte of a history's bytes, and of those of an error."""

PIECE = 1 << 20
"""Number of rows grouped together, some 60 MB of them; Spark's batches of ten thousand are too small for NumPy."""

MOST_LISTED = 1 << 12
"""Largest number of users in one line, which fits into a block: a history of many users becomes several lines."""

MOST_SENT = 1 << 18
"""Largest number of users in one batch, a few MB."""

MOST_ASKED = 1 << 16
"""Largest number of histories answered together, with arrays of some hundred MB."""

ADDRESSED = "part int, home int, schema binary, rows binary"
"""Columns of an addressed block: destination, part of origin or part answered, schema, and rows."""


def grouping(stop: bool, tasks: int) -> Callable[[Batches], Iterator[pa.RecordBatch]]:
    """Return a function that makes the lines of a part and the requests for its histories.

    Rows have the columns ``user``, ``noise_multiplier``, ``sample_rate`` and ``steps``, as doubles. With a cut in time
    they also have ``counted`` (the row is not later than the cut) and ``undated`` (it has no time).

    Args:
        stop: True if an invalid row raises an error; otherwise its user is listed under the error.
        tasks: number of tasks that share the histories.
    """
    labels = labels_of(tasks)

    def grouped(batches: Batches) -> Iterator[pa.RecordBatch]:
        known, entries = Users(), Entries()
        wrong: dict[int, str] = {}
        kind: pa.DataType | None = None
        homes: set[int] = set()

        def met() -> Iterator[pa.RecordBatch]:
            for batch in batches:
                homes.update(pc.unique(batch.column("part")).to_pylist())
                yield batch

        for piece in pieces(rows_of(met()), PIECE):
            kind = piece.schema.field("user").type
            _take(piece, known, entries, wrong, stop)
        if kind is None:
            return
        home = min(homes)  # several parts of one task become one
        found = entries.grouped()
        said = pa.array([*(KNOWN + packed(each) for each in found.histories), *_texts(wrong)], type=pa.binary())
        for lines in _lines(found, wrong, said, known, kind):
            yield _addressed(shared(lines, np.full(len(lines), home % tasks), labels), home)
        to = np.array([_digest(each.as_buffer()) % tasks for each in said], dtype=np.int64)
        yield _addressed(shared(pa.RecordBatch.from_arrays([said], names=["history"]), to, labels), home)

    return grouped


def _addressed(blocks: pa.RecordBatch, home: int) -> pa.RecordBatch:
    """Blocks addressed to a task, with the part they come from or answer."""
    homes = pa.array(np.full(len(blocks), home, dtype=np.int32))
    return pa.RecordBatch.from_arrays(
        [blocks.column("part"), homes, blocks.column("schema"), blocks.column("rows")],
        names=["part", "home", "schema", "rows"],
    )


def _digest(said: pa.Buffer) -> int:
    """Hash of a history that is the same in every process; it assigns histories to tasks."""
    return int.from_bytes(hashlib.blake2b(said, digest_size=4).digest(), "little")


def _texts(wrong: dict[int, str]) -> list[bytes]:
    """The distinct errors as bytes, which differ from those of any history."""
    return [WRONG + text.encode() for text in dict.fromkeys(wrong.values())]


def _take(piece: pa.Table, known: Users, entries: Entries, wrong: dict[int, str], stop: bool) -> None:
    """Add the rows of a piece, and record one error for each user with an invalid row: the alphabetically first.

    Raises:
        InvalidInputError: a row has no user, or is invalid and ``stop`` is set.
    """
    users = _numbered(piece.column("user"), known)
    noise, rate, steps = (piece.column(key).to_numpy() for key in DOMAINS)
    right = sound(noise, rate, steps)
    counted = np.ones(len(users), dtype=bool)
    if "counted" in piece.column_names:
        counted = piece.column("counted").to_numpy()
        right &= ~piece.column("undated").to_numpy()
    for row in np.flatnonzero(counted & ~right).tolist():
        said = refusal(*(piece.column(key)[row].as_py() for key in DOMAINS))
        text = said or "when must be comparable with until; received None"
        user = int(users[row])
        if stop:
            raise InvalidInputError(f"user {domains.shown(known.value(user))}: {text}", "df")
        wrong[user] = min(text, wrong.get(user, text))
    entries.add(users, noise, rate, steps, counted=counted & right)


def _numbered(column: pa.ChunkedArray, known: Users) -> npt.NDArray[np.int64]:
    """Number of each row's user.

    Raises:
        InvalidInputError: a row has no user.
    """
    if pc.any(pc.is_null(column, nan_is_null=True)).as_py():
        raise InvalidInputError(
            "a row has no user: its steps are those of some user, whose epsilon would be too small without them; say "
            "whose they are, or take the row out",
            "user",
        )
    if pa.types.is_integer(column.type):
        return known.numbers(column.to_numpy(), "user", 0)
    listed = column.combine_chunks().dictionary_encode()
    distinct = listed.dictionary.to_numpy(zero_copy_only=False)
    numbers: npt.NDArray[np.int64] = known.numbers(distinct, "user", 0)[listed.indices.to_numpy()]
    return numbers


def _lines(
    grouped: Grouped, wrong: dict[int, str], said: pa.Array, known: Users, kind: pa.DataType
) -> Iterator[pa.RecordBatch]:
    """Lines of all users, in batches.

    Args:
        grouped: grouped rows of the users.
        wrong: error of each user with an invalid row.
        said: bytes of all histories, then those of errors.
        known: values of the users.
        kind: type of the users.
    """
    line = grouped.history
    if wrong:
        texts = {text: number for number, text in enumerate(dict.fromkeys(wrong.values()), len(grouped.histories))}
        named = {user: texts[text] for user, text in wrong.items()}
        line = np.array(
            [named.get(user, own) for user, own in zip(grouped.users.tolist(), line.tolist(), strict=True)],
            dtype=np.int64,
        )
    short = line.astype(np.min_scalar_type(len(said)))  # sorted by radix at two bytes
    order = np.argsort(short, kind="stable")
    line, users = line[order], grouped.users[order]
    for first in range(0, len(line), MOST_SENT):
        own = line[first : first + MOST_SENT]
        new = np.flatnonzero(np.concatenate([[True], own[1:] != own[:-1]]))
        starts = np.union1d(new, np.arange(0, len(own), MOST_LISTED))
        listed = pa.ListArray.from_arrays(
            pa.array(np.append(starts, len(own)), type=pa.int32()),
            pa.array(known.values(users[first : first + MOST_SENT]), type=kind),
        )
        yield pa.RecordBatch.from_arrays([said.take(pa.array(own[starts])), listed], names=["history", "users"])


def answering(
    delta: float, adjacency: Adjacency | str, gap: float | None
) -> Callable[[Batches], Iterator[pa.RecordBatch]]:
    """Return a function that answers a task's histories for all the parts that asked, and forwards lines.

    Args:
        delta, adjacency, gap: arguments of the query.
    """

    def answered(batches: Batches) -> Iterator[pa.RecordBatch]:
        asked: list[tuple[int, pa.Array]] = []
        for batch in batches:
            lines = [pa.ipc.read_schema(said.as_buffer()).names != ["history"] for said in batch.column("schema")]
            yield batch.filter(pa.array(lines))
            rest = batch.filter(pa.array([not line for line in lines]))
            for number, home in enumerate(rest.column("home").to_pylist()):
                asked += [(home, rows.column(0)) for rows in rows_of([rest.slice(number, 1)])]
        if not asked:
            return
        distinct = pa.chunked_array([said for _, said in asked]).unique()
        columns = [
            _answers(part, lambda histories: answers(histories, delta, adjacency, gap, stop=False))
            for part in _parts(distinct)
        ]
        known = pa.Table.from_batches(columns).combine_chunks().to_batches()[0]
        labels = labels_of(1)
        for home, said in asked:
            own = known.take(pc.index_in(said, distinct))
            yield _addressed(shared(own, np.zeros(len(own), dtype=np.int64), labels), home)

    return answered


def _parts(said: pa.Array) -> Iterator[pa.Array]:
    """Histories in pieces of limited size."""
    for first in range(0, len(said), MOST_ASKED):
        yield said.slice(first, MOST_ASKED)


def _answers(said: pa.Array, ask: Callable[[Sequence[History]], Answers]) -> pa.RecordBatch:
    """Batch of histories, steps, the ends of epsilon, and the reason for missing, infinite or wide ones.

    Args:
        said: distinct histories, or errors.
        ask: function that answers histories.
    """
    listed = said.to_pylist()
    right = [number for number, each in enumerate(listed) if each[:1] == KNOWN]
    histories: list[History] = [unpacked(listed[number][1:]) for number in right]
    found = ask(histories)
    ends = np.full((len(ENDS), len(listed)), np.nan)
    ends[:, right] = [getattr(found, name) for name in ENDS]
    missing = np.isnan(ends[-1])
    totals = np.zeros(len(listed), dtype=np.int64)
    reasons = [None if each[:1] == KNOWN else each[1:].decode() for each in listed]
    for number, history, reason in zip(right, histories, found.reasons, strict=True):
        reasons[number] = reason
        if not missing[number]:
            totals[number] = sum(steps for *_, steps in history)
    return pa.RecordBatch.from_arrays(
        [said, *(pa.array(each, mask=missing) for each in (totals, *ends)), pa.array(reasons, type=pa.string())],
        names=["history", "steps", *ENDS, "reason"],
    )


def finishing(
    user: str, names: list[str], kind: pa.DataType | None, stop: bool
) -> Callable[[Batches], Iterator[pa.RecordBatch]]:
    """Return a function that joins the users of a part with their answers.

    Args:
        user: name of the column of users.
        names: names of the other columns: steps, the three ends of epsilon, the reason.
        kind: type of the users; by default that of the rows.
        stop: True if a history without an answer raises an error.
    """

    def finished(batches: Batches) -> Iterator[pa.RecordBatch]:
        lines: list[pa.RecordBatch] = []
        known: list[pa.RecordBatch] = []
        for rows in rows_of(batches):
            (lines if "users" in rows.schema.names else known).append(rows)
        if not lines:
            return
        answered = pa.Table.from_batches(known)
        if len(known) > 1:  # one answer for each part whose answers came to this task
            answered = answered.take(_firsts(answered.column("history"))).combine_chunks()
        histories = answered.column("history").combine_chunks()
        for piece in pieces(lines, MOST_SENT, lambda batch: len(batch.column("users").flatten())):
            (batch,) = piece.combine_chunks().to_batches()
            listed = batch.column("users")
            place = pc.index_in(batch.column("history"), histories)
            assert not place.null_count  # every history of a part was requested
            users = listed.flatten()
            own = answered.take(place)
            if stop and own.column("upper").null_count:
                wrong = pc.index(pc.is_null(own.column("upper")), True).as_py()
                said = f"user {domains.shown(listed[wrong].as_py()[0])}: {own.column('reason')[wrong].as_py()}"
                raise InvalidInputError(said, "df")
            counts = np.diff(listed.offsets.to_numpy())
            which = pa.array(np.repeat(place.to_numpy(), counts))
            columns = [answered.column(name).combine_chunks().take(which) for name in ("steps", *ENDS, "reason")]
            yield pa.RecordBatch.from_arrays(
                [users if kind is None else users.cast(kind), *columns], names=[user, *names]
            )

    return finished


def _firsts(said: pa.ChunkedArray) -> pa.Array:
    """Index of the first occurrence of each distinct value."""
    indices = said.combine_chunks().dictionary_encode().indices.to_numpy()
    return pa.array(np.unique(indices, return_index=True)[1])


__all__ = ["ADDRESSED", "answering", "finishing", "grouping"]
