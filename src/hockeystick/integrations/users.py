"""One certified epsilon for each user, from rows of participations in a pandas or Polars frame or a dict of arrays.

>>> import numpy as np
>>> rows = {
...     "user": np.array([1, 2, 1, 3]),
...     "noise_multiplier": np.array([1.0, 1.0, 2.0, 1.0]),
...     "sample_rate": np.array([0.01, 0.01, 0.02, 0.01]),
...     "steps": np.array([500, 1000, 300, 1000]),
... }
>>> found = users(rows, delta=1e-6)
>>> found["user"].tolist(), found["steps"].tolist(), (np.ceil(found["epsilon_upper"] * 1e4) / 1e4).tolist()
([1, 2, 3], [800.0, 1000.0, 1000.0], [1.7607, 2.1246, 2.1246])
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from hockeystick.integrations import columns as cols
from hockeystick.integrations.rows import Errors, checked_cut, checked_errors, constant, new_columns
from hockeystick.questions.histories.answers import answers
from hockeystick.questions.histories.entries import Entries, refusal
from hockeystick.values import domains
from hockeystick.values.adjacency import Adjacency
from hockeystick.values.errors import InvalidInputError

Column = str | float
"""Source of a number: the name of a column, or one number for all rows."""


def users(
    frame: Any,
    delta: float,
    *,
    user: str = "user",
    noise_multiplier: Column = "noise_multiplier",
    sample_rate: Column = "sample_rate",
    steps: Column = "steps",
    when: str | None = None,
    until: Any = None,
    adjacency: Adjacency | str = Adjacency.ADD_OR_REMOVE,
    gap: float | None = None,
    prefix: str = "epsilon",
    errors: Errors = "stop",
) -> Any:
    """Return the epsilon of each user of a frame whose rows list participations.

    A row states that a user was in the population from which steps of DP-SGD drew their batches: with which noise, at
    which rate, in how many steps. A user may have any number of rows in any order. The rows of a user are added up,
    since composition of parameters fixed beforehand does not depend on the order. Each distinct history is answered
    once, and its answer does not depend on other histories, to the last bit. List a row whether or not sampling
    selected the user: listing only the batches that contained the user, with a rate below 1, gives numbers that are too
    small.

    Args:
        frame: pandas or Polars frame, or dict of arrays; or an iterable of such pieces, for data larger than memory.
            Rows are counted from 0 through all pieces.
        delta: delta of all users.
        user: name of the column of users: numbers, text or dates.
        noise_multiplier: name of a column, or one number for all rows: standard deviation of the noise in units of the
            norm to which a user's contribution to one step is clipped.
        sample_rate: likewise, probability that the user enters a batch (1: every step uses all users).
        steps: likewise, number of steps.
        when: name of the column of times, of any ordered type; needed only for ``until``.
        until: rows later than this are ignored, but their users still get an answer. Dates may be given as text.
        adjacency: neighbouring relation between data with and without a user (or with another one).
        gap: largest relative width of the intervals, as for :func:`hockeystick.epsilons`.
        prefix: prefix of the new columns.
        errors: treatment of an invalid row: ``"stop"`` raises an error; with ``"row"`` the user has no number, not even
            from other rows, and the reason names the row.

    Returns:
        A frame of the same kind (as the first piece) with one row for each user, in order of first appearance: the
        user, ``steps``, ``epsilon_lower``, ``epsilon_estimate``, ``epsilon_upper`` (missing, or NaN in a dict, if a row
        is invalid), and ``epsilon_reason``: the reason for a missing number, an infinite end or a wide interval; else
        missing.

    Raises:
        InvalidInputError: there is no frame, a column is missing, an argument is outside its domain, a row has no user,
            whatever ``errors`` is, or a row is invalid with ``errors="stop"``; the message names the row and its user.
        UnsupportedError: ``plan.epsilon`` does not answer a history, and ``errors="stop"``.
    """
    checked_errors(errors)
    checked_cut(when, until)
    new = new_columns(user, prefix)
    answers([], delta, adjacency, gap)  # refuses invalid arguments before the rows are read
    sources = {"noise_multiplier": noise_multiplier, "sample_rate": sample_rate, "steps": steps}
    first, pieces = _pieces(frame)
    known, entries = cols.Users(), Entries()
    rows = 0
    for piece in pieces:
        rows += _take(piece, rows, user, sources, when, until, errors == "stop", known, entries)
    grouped = entries.grouped()
    del entries  # frees 24 bytes for each row
    found = answers(grouped.histories, delta, adjacency, gap, stop=errors == "stop")
    reasons = np.array(found.reasons, dtype=object)
    totals = np.array([sum(steps for _, _, steps in history) for history in grouped.histories], dtype=np.float64)
    totals[np.isnan(found.upper)] = np.nan
    known_of = (totals, found.lower, found.estimate, found.upper, reasons)
    made = {name: column[grouped.history] for name, column in zip(new, known_of, strict=True)}
    places = np.flatnonzero(np.isin(grouped.users, list(grouped.wrong)))  # users with an invalid row
    texts = [grouped.wrong[number] for number in grouped.users[places].tolist()]
    for column in made.values():
        column[places] = texts if column.dtype == object else np.nan
    return cols.like(first, {user: known.values(grouped.users), **made})


def _pieces(frame: Any) -> tuple[Any, Iterator[Any]]:
    """The first piece and all pieces; a frame is its own only piece.

    Raises:
        InvalidInputError: the argument is neither a frame nor an iterable of frames.
    """
    if hasattr(frame, "collect"):
        raise InvalidInputError(f"frame must be {cols.ACCEPTED}; received a lazy one; call collect() first", "frame")
    if cols.is_frame(frame):
        return frame, iter((frame,))
    if isinstance(frame, Iterable) and not isinstance(frame, str | bytes):
        pieces = iter(frame)
        first = next(pieces, None)
        if first is None:
            raise InvalidInputError(f"frame must be {cols.ACCEPTED}, or some of them; received none", "frame")
        return first, itertools.chain((first,), pieces)
    raise InvalidInputError(
        f"frame must be {cols.ACCEPTED}, or an iterable of such; received {domains.shown(frame)}", "frame"
    )


def _take(
    piece: Any,
    first_row: int,
    user: str,
    sources: dict[str, Column],
    when: str | None,
    until: Any,
    stop: bool,
    known: cols.Users,
    entries: Entries,
) -> int:
    """Add the rows of a piece and return their number."""
    if not cols.is_frame(piece):
        raise InvalidInputError(f"a piece must be {cols.ACCEPTED}; received {domains.shown(piece)}", "frame")
    rows = cols.rows_of(piece)
    numbers = known.numbers(cols.column_of(piece, user, "user"), "user", first_row)
    raw = {
        key: cols.column_of(piece, source, key) if isinstance(source, str) else constant(source, key)
        for key, source in sources.items()
    }
    doubles = [
        np.broadcast_to(column, rows) if isinstance(column, float) else cols.as_doubles(column)
        for column in raw.values()
    ]
    counted, undated = (None, None) if when is None else dated(piece, when, until)

    def said(row: int) -> str:
        values = [column if isinstance(column, float) else _value(column, row) for column in raw.values()]
        text = refusal(*values)
        if text is None:
            assert when is not None  # otherwise the row would be valid
            text = f"when must be comparable with until; received {domains.shown(_value(piece[when], row))}"
        place = f"row {first_row + row}"
        if stop:
            raise InvalidInputError(
                f"{place}, user {domains.shown(known.values(numbers[[row]]).tolist()[0])}: {text}", "frame"
            )
        return f"{place}: {text}"

    entries.add(numbers, *doubles, counted=counted, wrong=undated, said=said)
    return rows


def _value(column: Any, row: int) -> Any:
    """Value of a column in a row, as a Python object."""
    found = column.iloc[row] if hasattr(column, "iloc") else column[row]
    return found.item() if isinstance(found, np.generic) else found


def dated(piece: Any, when: str, until: Any) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
    """Return two masks: of the rows that are not later than the cut or have no time, and of the rows without a time.

    Rows without a time are invalid.

    Raises:
        InvalidInputError: the times cannot be compared with the cut.
    """
    found = cols.as_array(cols.column_of(piece, when, "when"))
    undated = np.array([cols.is_missing(value) for value in found]) if found.dtype == object else found != found
    try:
        limit = np.datetime64(until) if found.dtype.kind == "M" else until
        if limit != limit:
            raise TypeError
        earlier = np.zeros(len(found), dtype=bool)
        earlier[~undated] = found[~undated] <= limit
    except (TypeError, ValueError):
        raise InvalidInputError(
            f"until must be comparable with the column {when!r}, of type {found.dtype}; received "
            f"{domains.shown(until)}",
            "until",
        ) from None
    return earlier | undated, undated
