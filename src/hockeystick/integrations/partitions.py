"""What a worker of Spark does with a part of the rows, as batches of Arrow: users with one history, and its answer.

All rows of a user are in one part. They are grouped as one process groups a frame, and what goes on is one line for
each history of the part, with a list of its users: most tables have far fewer of the former, so that what is sorted,
compared and joined afterwards is little beside the users themselves.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from hockeystick.integrations.blocks import Batches, pieces, rows_of
from hockeystick.integrations.columns import Users
from hockeystick.integrations.packed import ENTRY, MOST_STEPS, unpacked
from hockeystick.integrations.rows import ENDS
from hockeystick.questions.histories.answers import History, answers
from hockeystick.questions.histories.entries import DOMAINS, Entries, Grouped, refusal, sound
from hockeystick.values import domains
from hockeystick.values.adjacency import Adjacency
from hockeystick.values.errors import InvalidInputError

KNOWN, WRONG = b"h", b"!"
"""What the bytes of a history begin with, and those of what is wrong with a row."""

PIECE = 1 << 20
"""Rows that are grouped at once, some 60 MB of them; Spark sends ten thousand at a time, too few for whole arrays."""

MOST_LISTED = 1 << 12
"""Users of one line: a history that most users have becomes many lines, which Spark may spread over its tasks."""

MOST_SENT = 1 << 18
"""Users of one batch: a few MB."""


def grouping(stop: bool) -> Callable[[Batches], Iterator[pa.RecordBatch]]:
    """What makes one line for each history of a part: its bytes, and a list of users who have it.

    The batches have the columns ``user``, ``noise_multiplier``, ``sample_rate`` and ``steps``, doubles; and, where
    there is a cut in time, ``counted`` and ``undated``: whether a row is to be looked at, and whether it has no time.

    Args:
        stop: whether a wrong row stops all; else its user is listed under what is wrong with it.
    """

    def grouped(batches: Batches) -> Iterator[pa.RecordBatch]:
        known, entries = Users(), Entries(ordered=False)
        wrong: dict[int, str] = {}
        kind: pa.DataType | None = None
        for piece in pieces(rows_of(batches), PIECE):
            kind = piece.schema.field("user").type
            _take(piece, known, entries, wrong, stop)
        if kind is not None:
            yield from _lines(entries.grouped(), wrong, known, kind)

    return grouped


def _take(piece: pa.Table, known: Users, entries: Entries, wrong: dict[int, str], stop: bool) -> None:
    """Add the rows of a piece, and put down what is wrong with one of a user's rows: what comes first as text.

    Raises:
        InvalidInputError: a row without a user; a wrong row, where that stops all.
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
    """The number of each row's user.

    Raises:
        InvalidInputError: a row has none.
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


def _lines(grouped: Grouped, wrong: dict[int, str], known: Users, kind: pa.DataType) -> Iterator[pa.RecordBatch]:
    """The lines of all users, in batches."""
    said = _packed(grouped)
    texts = {text: number for number, text in enumerate(dict.fromkeys(wrong.values()), len(said))}
    line = grouped.history
    if wrong:
        named = {user: texts[text] for user, text in wrong.items()}
        line = np.array(
            [named.get(user, own) for user, own in zip(grouped.users.tolist(), line.tolist(), strict=True)],
            dtype=np.int64,
        )
    said = pa.concat_arrays([said, pa.array([WRONG + text.encode() for text in texts], type=pa.binary())])
    short = line.astype(np.min_scalar_type(len(said)))  # which takes no comparisons to sort where it has two bytes
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


def _packed(grouped: Grouped) -> pa.Array:
    """The bytes of all histories, as ``packed.py`` makes those of one."""
    entries = np.empty(len(grouped.noise), dtype=[("noise", "<f8"), ("rate", "<f8"), ("steps", "<i8")])
    assert entries.itemsize == ENTRY.size
    entries["noise"], entries["rate"] = grouped.noise, grouped.rate
    fit = grouped.steps < MOST_STEPS  # of doubles these are the ones that a whole number of eight bytes says
    entries["steps"] = np.where(fit, grouped.steps, 0.0)
    entries["steps"][~fit] = MOST_STEPS
    offsets = pa.py_buffer((grouped.starts * ENTRY.size).astype(np.int32))
    said = pa.Array.from_buffers(pa.binary(), len(grouped.starts) - 1, [None, offsets, pa.py_buffer(entries)])
    return pc.binary_join_element_wise(pa.scalar(KNOWN), said, pa.scalar(b""))


def answering(
    delta: float, adjacency: Adjacency | str, gap: float | None, names: list[str]
) -> Callable[[Batches], Iterator[pa.RecordBatch]]:
    """What adds answers to the bytes of distinct histories; without numbers, and with the reason, where there is none.

    Args:
        delta, adjacency, gap: the question.
        names: of the new columns: steps, the three ends of epsilon, the reason.
    """

    def answered(batches: Batches) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            said = batch.column(0).to_pylist()
            histories: list[History] = [unpacked(each[1:]) if each[:1] == KNOWN else () for each in said]
            found = answers(histories, delta, adjacency, gap, stop=False)
            missing = np.isnan(found.upper)
            reasons = list(found.reasons)
            for number, each in enumerate(said):
                if each[:1] == WRONG:
                    missing[number], reasons[number] = True, each[1:].decode()
            totals = [
                None if gone else sum(steps for *_, steps in history)
                for history, gone in zip(histories, missing.tolist(), strict=True)
            ]
            ends = [pa.array(getattr(found, name), mask=missing) for name in ENDS]
            columns = [batch.column(0), pa.array(totals, type=pa.int64()), *ends, pa.array(reasons, type=pa.string())]
            yield pa.RecordBatch.from_arrays(columns, names=["history", *names])

    return answered


__all__ = ["answering", "grouping"]
