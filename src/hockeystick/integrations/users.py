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
from typing import Any, Literal

import numpy as np

from hockeystick.integrations import columns as cols
from hockeystick.questions.histories.answers import answers
from hockeystick.questions.histories.entries import DOMAINS, Entries, refusal, sound
from hockeystick.values import domains
from hockeystick.values.adjacency import Adjacency
from hockeystick.values.errors import InvalidInputError

Source = str | float
"""Source of a number: the name of a column, or one number for all rows."""

ERRORS = ("stop", "row")
"""Treatments of an invalid row: an error for the whole table, or a reason in place of its user's number."""


def users(
    frame: Any,
    delta: float,
    *,
    user: str = "user",
    noise_multiplier: Source = "noise_multiplier",
    sample_rate: Source = "sample_rate",
    steps: Source = "steps",
    adjacency: Adjacency | str = Adjacency.ADD_OR_REMOVE,
    gap: float | None = None,
    prefix: str = "epsilon",
    errors: Literal["stop", "row"] = "stop",
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
        steps: likewise, number of steps; a user whose rows have 0 steps has an epsilon of 0.
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
    if errors not in ERRORS:
        raise InvalidInputError(domains.choice("errors", errors, ERRORS), "errors")
    new = ["steps", *(f"{prefix}_{name}" for name in ("lower", "estimate", "upper", "reason"))]
    if user in new:
        raise InvalidInputError(
            f"user must not have the name of a new column ({domains.listed(new)}); received {user!r}", "user"
        )
    answers([], delta, adjacency, gap)  # refuses invalid arguments before the rows are read
    sources = {"noise_multiplier": noise_multiplier, "sample_rate": sample_rate, "steps": steps}
    names = {"user": user, **{key: source for key, source in sources.items() if isinstance(source, str)}}
    constants = {
        key: float(DOMAINS[key].check(source, f"{key}, a number rather than the name of a column,"))
        for key, source in sources.items()
        if not isinstance(source, str)
    }
    first, pieces = _pieces(frame)
    known, entries = cols.Users(), Entries()
    wrong: dict[int, str] = {}  # error in a row of a user, by the user's number
    rows = 0
    for piece in pieces:
        if not cols.is_frame(piece):
            raise InvalidInputError(f"a piece must be {cols.ACCEPTED}; received {domains.shown(piece)}", "frame")
        columns = cols.columns_of(piece, names)
        numbers = known.numbers(columns["user"], rows)
        raw = [columns[key] if key in columns else np.full(len(numbers), constants[key]) for key in DOMAINS]
        noise, rate, count = map(cols.as_doubles, raw)
        good = sound(noise, rate, count)
        for row in np.flatnonzero(~good).tolist():
            text = refusal(*(column[[row]].tolist()[0] for column in raw))
            if errors == "stop":
                named = domains.shown(known.values(numbers[[row]]).tolist()[0])
                raise InvalidInputError(f"row {rows + row}, user {named}: {text}", "frame")
            wrong.setdefault(int(numbers[row]), f"row {rows + row}: {text}")
        entries.add(numbers, noise, rate, np.where(good, count, 0.0))
        rows += len(numbers)
    grouped = entries.grouped()
    del entries  # frees 24 bytes for each row
    found = answers(grouped.histories, delta, adjacency, gap, stop=errors == "stop")
    totals = np.array([sum(steps for _, _, steps in history) for history in grouped.histories], dtype=np.float64)
    totals[np.isnan(found.upper)] = np.nan
    known_of = (totals, found.lower, found.estimate, found.upper, np.array(found.reasons, dtype=object))
    made = {name: column[grouped.history] for name, column in zip(new, known_of, strict=True)}
    places = np.flatnonzero(np.isin(grouped.users, list(wrong)))  # users with an invalid row
    texts = [wrong[number] for number in grouped.users[places].tolist()]
    for column in made.values():
        column[places] = texts if column.dtype == object else np.nan
    return cols.like(first, {user: known.values(grouped.users), **made})


def _pieces(frame: Any) -> tuple[Any, Iterator[Any]]:
    """The first piece and all pieces; a frame is its own only piece.

    Raises:
        InvalidInputError: the argument is neither a frame nor an iterable of frames.
    """
    if cols.is_frame(frame):
        return frame, iter((frame,))
    pieces = iter(frame) if isinstance(frame, Iterable) and not isinstance(frame, str | bytes) else iter(())
    first = next(pieces, None)
    if first is None:
        raise InvalidInputError(
            f"frame must be {cols.ACCEPTED}, or an iterable of such; received {domains.shown(frame)}", "frame"
        )
    return first, itertools.chain((first,), pieces)
