"""Rows of frames: their keys, their plans, and the arguments that say how they are read."""

from __future__ import annotations

import inspect
from collections.abc import Collection, Iterable, Mapping
from typing import Any, Literal

from hockeystick.plan.dp_sgd import MISPLACED, dp_sgd
from hockeystick.plan.plan import Plan
from hockeystick.questions.histories.entries import DOMAINS
from hockeystick.values import domains
from hockeystick.values.errors import HockeystickError, InvalidInputError

KEYS = tuple(inspect.signature(dp_sgd).parameters)
"""Keys of a row: the arguments of :func:`hockeystick.dp_sgd`; delta is that of the question."""

ENDS = ("lower", "estimate", "upper")

ERRORS = ("stop", "row")
"""Treatments of an invalid row: an error for the whole table, or a reason in place of its answer."""

Errors = Literal["stop", "row"]


def plan_of(row: Mapping[str, Any]) -> Plan:
    """Return the plan of a row, without a delta.

    Raises:
        InvalidInputError: the row is no plan.
    """
    given = {key: value for key, value in row.items() if key != "delta" and value is not None}
    return dp_sgd(given.pop("noise_multiplier", None), **given)


def remedied(error: HockeystickError, columns: Collection[str]) -> HockeystickError:
    """Return the error of a row, with the remedy for a column that has a key's name but another meaning.

    Args:
        error: error of the row.
        columns: keys read from columns.
    """
    key = getattr(error, "field", None)
    if key in columns and MISPLACED in str(error):
        error.args = (f"{error}; the column is read as that argument of dp_sgd; rename the column or leave it out",)
    return error


def checked_key(key: str) -> None:
    """Refuse an unknown key.

    Raises:
        InvalidInputError: the key is unknown.
    """
    if key not in KEYS:
        raise InvalidInputError(f"a key must be one of {domains.listed(KEYS)}; received {key!r}", key)


def checked_errors(errors: str) -> None:
    """Refuse an unknown treatment of invalid rows.

    Raises:
        InvalidInputError: the treatment is unknown.
    """
    if errors not in ERRORS:
        raise InvalidInputError(domains.choice("errors", errors, ERRORS), "errors")


def constant(source: Any, key: str) -> float:
    """Return the number that a caller gives for all rows in place of a column.

    Raises:
        InvalidInputError: the number is outside its domain.
    """
    return float(DOMAINS[key].check(source, f"{key}, a number rather than the name of a column,"))


def new_columns(user: str, prefix: str) -> list[str]:
    """Return the columns of an answer about users, beside the user's own.

    Raises:
        InvalidInputError: the column of users has the name of one of the new columns.
    """
    new = ["steps", *(f"{prefix}_{end}" for end in (*ENDS, "reason"))]
    if user in new:
        raise InvalidInputError(
            f"user must not have the name of a new column ({domains.listed(new)}); received {user!r}", "user"
        )
    return new


def checked_cut(when: str | None, until: Any) -> None:
    """Refuse a column of times without a cut, and a cut without a column of times.

    Raises:
        InvalidInputError: only one of them is given.
    """
    if (when is None) != (until is None):
        given, other = ("when", "until") if until is None else ("until", "when")
        raise InvalidInputError(
            f"{given} needs {other}, because rows with when later than until are left out; received only {given}",
            given,
        )


def sources_of(known: Iterable[str], columns: Mapping[str, str], constants: Mapping[str, Any]) -> dict[str, str]:
    """Return the source of each key of a row: the name of its column or field.

    Args:
        known: existing names.
        columns: source of each key with another name.
        constants: keys with the same value in every row.

    Raises:
        InvalidInputError: columns are no mapping, a key is unknown or has two sources, a name is missing or repeated,
            or there is no noise multiplier.
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
            raise InvalidInputError(f"columns maps {key} to {name!r}, but there is no such column", "columns")
    found = {key: name for key in KEYS if (name := columns.get(key, key)) in known}
    for key, name in found.items():
        if known.count(name) > 1:
            raise InvalidInputError(
                f"{key} must be a single column; {known.count(name)} columns are named {name!r}", key
            )
    for key in constants:
        if key in found:
            raise InvalidInputError(f"{key} is both a column and an argument; leave one of them out", key)
    if "noise_multiplier" not in (*found, *constants):
        raise InvalidInputError(
            f"noise_multiplier must be a column or an argument; the columns are {domains.listed(map(str, known))}; "
            f'if it has another name, pass columns={{"noise_multiplier": ...}}',
            "noise_multiplier",
        )
    return found
