"""What a row of a table may say, and one row of a table that is spread over many machines: its epsilon, or its fault.

A row says the arguments of :func:`hockeystick.dp_sgd`, by name, as a row of ``frames.epsilon`` does, and has the same
answer to the last bit: that of ``dp_sgd(...).epsilon(delta)``.
"""

from __future__ import annotations

import inspect
from collections.abc import Collection, Iterable, Mapping
from typing import Any, Literal

from hockeystick.plan.dp_sgd import MISPLACED, dp_sgd
from hockeystick.values import domains
from hockeystick.values.errors import HockeystickError, InvalidInputError

KEYS = tuple(inspect.signature(dp_sgd).parameters)
"""What a row may say: the arguments of :func:`hockeystick.dp_sgd`; delta is that of the question."""

ENDS = ("lower", "estimate", "upper")
"""The numbers of an answer."""

ERRORS = ("stop", "row")
"""What a wrong row does: it stops all, or it has no answer itself."""

Errors = Literal["stop", "row"]

MOST_SEEN = 1 << 16
"""Answers that a worker keeps for rows that say the same: some 10 MB of them."""

Ends = tuple[float | None, float | None, float | None]


class Row:
    """What answers rows, those that say the same once.

    Args:
        constants: keys with the same value in every row.
        gap: widest relative width wanted of the intervals.

    Raises:
        InvalidInputError: a key that no row has.

    >>> row = Row({"sample_rate": 0.01, "steps": 1000, "delta": 1e-5})
    >>> ends, reason = row.answer({"noise_multiplier": 1.0})
    >>> round(ends[2], 4), reason
    (1.8282, None)
    >>> row.refused({"noise_multiplier": 1.0, "steps": -5})
    'steps must be a whole number from 0 to 1e12 (number of optimiser steps); received -5'
    """

    def __init__(self, constants: Mapping[str, Any], gap: float | None = None) -> None:
        for key in constants:
            checked_key(key)
        self._constants, self._gap = dict(constants), gap
        self._seen: dict[str, tuple[Ends, str | None] | HockeystickError] = {}

    def answer(self, row: Mapping[str, Any]) -> tuple[Ends, str | None]:
        """The ends of a row's epsilon, and why one is infinite or the interval wide.

        Args:
            row: values by key; None where the row does not say one.

        Raises:
            InvalidInputError: the row is no plan, or has no delta.
            UnsupportedError: it is one that is not answered.
        """
        found = self._found(row)
        if isinstance(found, HockeystickError):
            raise found
        return found

    def refused(self, row: Mapping[str, Any]) -> str | None:
        """What is wrong with a row, in one line; ``None`` where it has an answer."""
        found = self._found(row)
        return str(found) if isinstance(found, HockeystickError) else None

    def _found(self, row: Mapping[str, Any]) -> tuple[Ends, str | None] | HockeystickError:
        given = {key: value for key, value in {**self._constants, **row}.items() if value is not None}
        said = repr(sorted(given.items()))
        if said not in self._seen:
            if len(self._seen) >= MOST_SEEN:
                self._seen.clear()
            found = self._computed(given)
            self._seen[said] = remedied(found, row) if isinstance(found, HockeystickError) else found
        return self._seen[said]

    def _computed(self, given: dict[str, Any]) -> tuple[Ends, str | None] | HockeystickError:
        noise, delta = given.pop("noise_multiplier", None), given.pop("delta", None)
        try:
            found = dp_sgd(noise, **given).epsilon(delta, gap=self._gap)
        except HockeystickError as error:
            return error
        return (found.ends.get("lower"), found.ends.get("estimate"), found.ends["upper"]), found.reason


def remedied(error: HockeystickError, columns: Collection[str]) -> HockeystickError:
    """The fault of a row, with what to do about a column that is called as a key and means something else.

    Args:
        error: the fault.
        columns: the keys that are read from columns.
    """
    key = getattr(error, "field", None)
    if key in columns and MISPLACED in str(error):
        error.args = (f"{error}; the column is read as that argument of dp_sgd: rename it, or leave it out",)
    return error


def checked_key(key: str) -> None:
    """Whether rows have a key of that name.

    Raises:
        InvalidInputError: they have not.
    """
    if key not in KEYS:
        raise InvalidInputError(f"a key must be one of {domains.listed(KEYS)}; received {key!r}", key)


def checked_errors(errors: str) -> None:
    """Whether it is a way to treat wrong rows.

    Raises:
        InvalidInputError: it is none.
    """
    if errors not in ERRORS:
        raise InvalidInputError(domains.choice("errors", errors, ERRORS), "errors")


def new_columns(user: str, prefix: str) -> list[str]:
    """The columns that stand beside the user's in an answer about users.

    Raises:
        InvalidInputError: the column of users is called as one of them.
    """
    new = ["steps", *(f"{prefix}_{end}" for end in (*ENDS, "reason"))]
    if user in new:
        raise InvalidInputError(
            f"user must not be called as one of the new columns, {domains.listed(new)}; received {user!r}", "user"
        )
    return new


def checked_cut(when: str | None, until: Any) -> None:
    """Whether a column of times and the cut on it are given together, or neither is.

    Raises:
        InvalidInputError: one of them is given alone.
    """
    if (when is None) != (until is None):
        given, other = ("when", "until") if until is None else ("until", "when")
        raise InvalidInputError(
            f"{given} needs {other}: rows are left out where the column when is later than until; received "
            f"{given} alone",
            given,
        )


def sources_of(known: Iterable[str], columns: Mapping[str, str], constants: Mapping[str, Any]) -> dict[str, str]:
    """Where each key of a row is read: the name of its column, or of its field.

    Args:
        known: the names that there are.
        columns: for keys that are called otherwise, the name.
        constants: keys with the same value in every row.

    Raises:
        InvalidInputError: columns that are no mapping, a key that no row has, a name that is not there or there twice,
            a key that comes from two places, or no noise multiplier.
    """
    if not isinstance(columns, Mapping):
        raise InvalidInputError(
            f'columns must be a dictionary, such as {{"steps": "name"}}; received {domains.shown(columns)}', "columns"
        )
    known = list(known)
    for key in (*columns, *constants):
        checked_key(key)
    for key, name in columns.items():
        if name not in known:
            raise InvalidInputError(f"columns names {name!r} for {key}; there is no such column", "columns")
    found = {key: name for key in KEYS if (name := columns.get(key, key)) in known}
    for key, name in found.items():
        if known.count(name) > 1:
            raise InvalidInputError(f"{key} must be one column; {known.count(name)} are called {name!r}", key)
    for key in constants:
        if key in found:
            raise InvalidInputError(f"{key} is both a column and an argument; leave one of them out", key)
    if "noise_multiplier" not in (*found, *constants):
        raise InvalidInputError(
            f"noise_multiplier must be a column or an argument; the columns are {domains.listed(map(str, known))}; "
            'where it is called otherwise, columns={"noise_multiplier": ...}',
            "noise_multiplier",
        )
    return found


__all__ = [
    "ENDS",
    "ERRORS",
    "KEYS",
    "Errors",
    "Row",
    "checked_cut",
    "checked_errors",
    "checked_key",
    "new_columns",
    "remedied",
    "sources_of",
]
