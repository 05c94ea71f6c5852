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
"""Treatments of an invalid row: an error for the whole table, or a reason instead of numbers for the row's user."""


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

    A row states that a user was in the population from which DP-SGD drew its batches. It gives the noise multiplier,
    the sample rate and the number of steps. A user may have any number of rows in any order: the rows are composed, and
    composition of parameters fixed beforehand does not depend on the order. Users with equal rows share one
    computation. The answer for a user does not depend on other users, to the last bit.

    List all steps of a user, even those for which sampling did not select the user. Numbers are too small if only the
    batches that contained the user are listed, with a rate below 1.

    Args:
        frame: pandas or Polars frame, or dict of arrays. For data larger than memory, give an iterable of such frames
            (pieces); rows are then counted from 0 through all pieces.
        delta: delta of all users.
        user: name of the column of users: numbers, text or dates.
        noise_multiplier: name of a column, or one number for all rows: standard deviation of the noise in units of the
            norm to which a user's contribution to one step is clipped.
        sample_rate: name of a column, or one number for all rows: probability that the user enters a batch (1: every
            step uses all users).
        steps: name of a column, or one number for all rows: number of steps. A user whose rows have 0 steps has an
            epsilon of 0.
        adjacency: neighbouring relation, with a user in the place of a record.
        gap: largest relative width of the intervals, as for :func:`hockeystick.epsilons`.
        prefix: prefix of the new columns.
        errors: treatment of an invalid row. ``"stop"`` raises an error. With ``"row"``, the user of this row gets no
            numbers, even if other rows of the user are valid, and the reason names the invalid row.

    Returns:
        A frame of the same kind as ``frame`` or its first piece, with one row for each user, in order of first
        appearance. Its columns are the user, ``steps``, ``epsilon_lower``, ``epsilon_estimate``, ``epsilon_upper`` and
        ``epsilon_reason``. Numbers are missing (NaN in a dict) if a row of the user is invalid. The reason explains a
        missing number, an infinite end or a wide interval; otherwise it is missing.

    Raises:
        InvalidInputError: there is no frame, a column is missing, an argument is outside its domain, or a row has no
            user. With ``errors="stop"``, also if a row is invalid; the message then names the row and its user.
        UnsupportedError: ``plan.epsilon`` has no answer for the rows of a user, and ``errors="stop"``.
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
    """Return the first frame, and an iterator over all frames including the first.

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
