"""Epsilon of every row of a data frame, pandas or Polars; neither is imported before a frame comes in.

Equal rows are computed once.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from hockeystick.integrations.columns import polars_series
from hockeystick.integrations.history import plan_from_history
from hockeystick.integrations.rows import plan_of, remedied, sources_of
from hockeystick.questions.many import epsilons
from hockeystick.questions.tables.table import checked_accuracy
from hockeystick.values.domains import DELTA, shown
from hockeystick.values.errors import HockeystickError, InvalidInputError

__all__ = ["epsilon", "plan_from_history"]

Places = npt.NDArray[np.intp]


def epsilon(
    frame: Any,
    *,
    columns: Mapping[str, str] | None = None,
    prefix: str = "epsilon",
    accountant: str = "auto",
    gap: float | None = None,
    accuracy: float | None = None,
    **constants: Any,
) -> Any:
    """Return the frame with columns for the ends of each row's epsilon.

    Args:
        frame: pandas or Polars frame. Columns named like an argument of :func:`hockeystick.dp_sgd`
            (``noise_multiplier``, ``sample_rate``, ``steps``, ``delta`` and so on) are read with its meaning; all
            others are ignored.
        columns: column of each key with another name: ``{"noise_multiplier": "sigma"}``.
        prefix: prefix of the new columns.
        accountant: name listed by ``hockeystick accountants``.
        gap: largest relative width of the intervals.
        accuracy: largest relative width, (upper - lower) / upper, in exchange for speed: rows are then answered
            together (:func:`hockeystick.epsilons`). Without it each row gets exactly the interval of its own plan.
        constants: keys with the same value in every row.

    Returns:
        A new frame of the same kind with ``epsilon_lower``, ``epsilon_estimate`` and ``epsilon_upper`` (only
        ``epsilon_upper`` for an upper bound, only ``epsilon_value`` for an estimate), and ``epsilon_reason``: the
        reason for an infinite end or a wide interval, else missing.

    Raises:
        InvalidInputError: the frame or a key is invalid, or a row does not describe a plan; the message names the row.
        UnsupportedError: the accountant cannot treat a row.
    """
    if accuracy is not None and (accountant != "auto" or gap is not None):
        raise InvalidInputError(
            f"accuracy cannot be combined with accountant or gap; received {shown(accuracy)}", "accuracy"
        )
    rows, of = _rows(frame, columns or {}, constants)
    if accuracy is not None:
        return _with_columns(frame, *_together(rows, checked_accuracy(accuracy), prefix), of)
    answers = []
    for row in rows:
        with row.named():
            answers.append(plan_of(row.said).epsilon(row.said.get("delta"), accountant=accountant, gap=gap))
    names = list(answers[0].ends) if answers else ["lower", "estimate", "upper"]
    new: dict[str, list[Any]] = {f"{prefix}_{name}": [answer.ends[name] for answer in answers] for name in names}
    return _with_columns(frame, new, {f"{prefix}_reason": [answer.reason for answer in answers]}, of)


class Row(NamedTuple):
    """Row of a frame: its content, its number (counted from 0), and the keys read from columns."""

    number: int
    said: Mapping[str, Any]
    columns: Collection[str]

    @contextmanager
    def named(self) -> Iterator[None]:
        """Context manager that prefixes errors raised in its block with the number of the row."""
        try:
            yield
        except HockeystickError as error:
            error.args = (f"row {self.number}: {remedied(error, self.columns)}",)
            raise


def _together(rows: list[Row], accuracy: float, prefix: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """New columns of numbers and new columns of texts, by name, for distinct rows answered together.

    Raises:
        InvalidInputError: a row is no plan, or has no delta; the message names the first one.
        UnsupportedError: no engine treats a row.
    """
    plans, deltas = [], []
    for row in rows:
        with row.named():
            plans.append(plan_of(row.said))
            if row.said.get("delta") is None:
                raise InvalidInputError("no delta: give a column or the argument delta", "delta")
            deltas.append(DELTA.of("the target delta").check(row.said["delta"], "delta"))
    try:
        band = epsilons(plans, deltas, gap=accuracy)
    except HockeystickError as error:
        number, _, said = str(error).removeprefix("plan ").partition(": ")
        error.args = (f"row {rows[int(number)].number}: {said}",)
        raise
    ends = {"lower": band.lower, "estimate": band.estimate, "upper": band.upper}
    return {f"{prefix}_{name}": values for name, values in ends.items()}, {f"{prefix}_reason": band.reasons}


def _rows(frame: Any, columns: Mapping[str, str], constants: Mapping[str, Any]) -> tuple[list[Row], Places]:
    """The distinct rows in order of appearance, and for each row of the frame its index among them."""
    if hasattr(frame, "collect"):
        raise InvalidInputError("frame must be a DataFrame; received a lazy one; call collect() first", "frame")
    if not (hasattr(frame, "columns") and (hasattr(frame, "assign") or hasattr(frame, "with_columns"))):
        raise InvalidInputError(f"frame must be a pandas or Polars DataFrame; received {shown(frame)}", "frame")
    sources = sources_of(frame.columns, columns, constants)
    values = [_values(frame[name]) for name in sources.values()]
    distinct: list[Row] = []
    places: dict[str, int] = {}  # by the text of a row, because 1 and True are equal but have different meanings here
    of = np.empty(len(frame), dtype=np.intp)
    for number, said in enumerate(zip(*values, strict=True) if values else [()] * len(frame)):
        of[number] = places.setdefault(repr(said), len(distinct))
        if of[number] == len(distinct):
            distinct.append(Row(number, {**constants, **dict(zip(sources, said, strict=True))}, tuple(sources)))
    return distinct, of


def _values(column: Any) -> list[Any]:
    """Values of a column, with ``None`` for missing ones."""
    if hasattr(column, "notna"):
        column = column.astype(object).where(column.notna(), None)
    return list(column.to_list())


def _with_columns(frame: Any, numbers: Mapping[str, Any], texts: Mapping[str, Any], of: Places) -> Any:
    """A copy of the frame with new columns (numbers as doubles), expanded from the values of the distinct rows."""
    new = {name: np.array(values, dtype=float)[of] for name, values in numbers.items()}
    new |= {name: np.array(values, dtype=object)[of] for name, values in texts.items()}
    return frame.assign(**new) if hasattr(frame, "assign") else frame.with_columns(polars_series(new))
