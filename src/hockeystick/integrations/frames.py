"""Epsilon of every row of a pandas or Polars frame, or of a dict of arrays.

Equal rows are computed once.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from hockeystick.integrations import columns as cols
from hockeystick.integrations.history import plan_from_history
from hockeystick.plan.dp_sgd import dp_sgd
from hockeystick.values.domains import listed, shown
from hockeystick.values.errors import HockeystickError, InvalidInputError

__all__ = ["epsilon", "plan_from_history"]

KEYS = tuple(inspect.signature(dp_sgd).parameters)
"""Keys of a row: the arguments of :func:`hockeystick.dp_sgd`; delta is that of the question."""


def epsilon(
    frame: Any,
    *,
    columns: Mapping[str, str] | None = None,
    prefix: str = "epsilon",
    accountant: str = "auto",
    gap: float | None = None,
    **constants: Any,
) -> Any:
    """Return a copy of the frame with new columns: the certified ends of each row's epsilon.

    A row has the same interval as if its plan had been asked alone.

    Args:
        frame: pandas or Polars frame, or dict of arrays. Columns named like an argument of :func:`hockeystick.dp_sgd`
            (``noise_multiplier``, ``sample_rate``, ``steps``, ``delta`` and so on) are read as this argument; all
            other columns are ignored.
        columns: name of the column for each argument whose column has another name, for example
            ``{"noise_multiplier": "sigma"}``.
        prefix: prefix of the new columns.
        accountant: name listed by ``hockeystick accountants``.
        gap: largest relative width of the intervals.
        constants: arguments with the same value in every row.

    Returns:
        A new frame of the same kind. Its new columns are ``epsilon_lower``, ``epsilon_estimate`` and
        ``epsilon_upper``; only ``epsilon_upper`` if the accountant gives an upper bound, and only ``epsilon_value`` if
        it gives an estimate. ``epsilon_reason`` is the reason for an infinite end or a wide interval, else missing.

    Raises:
        InvalidInputError: the frame or a key is invalid, or a row does not describe a plan; the message names the row.
        UnsupportedError: the accountant cannot treat a row.

    >>> found = epsilon({"noise_multiplier": np.array([1.0, 2.0])}, sample_rate=0.01, steps=1000, delta=1e-5)
    >>> (np.ceil(found["epsilon_upper"] * 1e4) / 1e4).tolist()
    [1.8283, 0.6221]
    """
    if not cols.is_frame(frame):
        raise InvalidInputError(f"frame must be {cols.ACCEPTED}; received {shown(frame)}", "frame")
    known = cols.names_of(frame)
    sources = _sources(known, columns or {}, constants)
    read = cols.columns_of(frame, sources or {name: name for name in known[:1]})
    answers: list[Any] = []
    places: dict[str, int] = {}  # by the text of a row, because 1 and True are equal but have different meanings here
    of: list[int] = []
    for number, values in enumerate(zip(*(column.tolist() for column in read.values()), strict=True)):
        row = {key: value for key, value in zip(read, values, strict=True) if key in sources}
        place = places.setdefault(repr(row), len(answers))
        of.append(place)
        if place == len(answers):
            given = constants | {key: value for key, value in row.items() if not cols.is_missing(value)}
            delta = given.pop("delta", None)
            try:
                plan = dp_sgd(given.pop("noise_multiplier", None), **given)
                answers.append(plan.epsilon(delta, accountant=accountant, gap=gap))
            except HockeystickError as error:
                error.args = (f"row {number}: {error}",)
                raise
    names = list(answers[0].ends) if answers else ["lower", "estimate", "upper"]
    new = {f"{prefix}_{name}": np.array([answer.ends[name] for answer in answers])[of] for name in names}
    new[f"{prefix}_reason"] = np.array([answer.reason for answer in answers], dtype=object)[of]
    return cols.with_columns(frame, new)


def _sources(known: Iterable[str], columns: Mapping[str, str], constants: Mapping[str, Any]) -> dict[str, str]:
    """Return the column name of each argument that is read from a column.

    Args:
        known: names of all columns.
        columns: name of the column for each argument whose column has another name.
        constants: arguments with the same value in every row.

    Raises:
        InvalidInputError: an argument is unknown or has two sources, or there is no noise multiplier.
    """
    for key in (*columns, *constants):
        if key not in KEYS:
            raise InvalidInputError(f"a key must be one of {listed(KEYS)}; received {key!r}", key)
    found = {key: key for key in KEYS if key in known} | dict(columns)
    for key in constants:
        if key in found:
            raise InvalidInputError(f"{key} is both a column and an argument; leave one of them out", key)
    if "noise_multiplier" not in (*found, *constants):
        raise InvalidInputError(
            f"noise_multiplier must be a column or an argument; the columns are {listed(map(str, known))}; "
            f'if it has another name, pass columns={{"noise_multiplier": ...}}',
            "noise_multiplier",
        )
    return found
