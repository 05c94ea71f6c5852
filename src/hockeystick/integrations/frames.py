"""Epsilon of every row of a data frame, pandas or Polars; neither is imported before a frame comes in.

Rows that say the same are computed once.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hockeystick.integrations.history import plan_from_history
from hockeystick.plan.dp_sgd import dp_sgd
from hockeystick.values.bounds import Answer
from hockeystick.values.domains import listed, shown
from hockeystick.values.errors import HockeystickError, InvalidInputError

__all__ = ["epsilon", "plan_from_history"]

KEYS = (
    "noise_multiplier", "sample_rate", "steps", "batch_size", "dataset_size", "steps_per_epoch", "last_batch_size",
    "check_in", "epochs", "sampling", "delta", "adjacency", "unit", "records_per_unit",
)  # fmt: skip
"""What a row may say: the arguments of :func:`hockeystick.dp_sgd`."""


def epsilon(
    frame: Any,
    *,
    columns: Mapping[str, str] | None = None,
    prefix: str = "epsilon",
    accountant: str = "auto",
    gap: float | None = None,
    **constants: Any,
) -> Any:
    """The frame with columns for the ends of each row's epsilon.

    Args:
        frame: a pandas or Polars frame; its columns among ``noise_multiplier``, ``sample_rate``, ``steps``,
            ``batch_size``, ``dataset_size``, ``steps_per_epoch``, ``last_batch_size``, ``check_in``, ``epochs``,
            ``sampling``, ``delta``, ``adjacency``, ``unit`` and ``records_per_unit`` are read, with the meaning they
            have for :func:`hockeystick.dp_sgd`; all others are left alone.
        columns: for keys that are called otherwise, the name of their column: ``{"noise_multiplier": "sigma"}``.
        prefix: of the new columns.
        accountant: a name that ``hockeystick accountants`` lists.
        gap: widest relative width wanted of the intervals.
        constants: keys with the same value in every row.

    Returns:
        A new frame of the same kind with ``epsilon_lower``, ``epsilon_estimate`` and ``epsilon_upper`` (from an
        accountant that only has an upper bound: ``epsilon_upper``; without any: ``epsilon_value``), and
        ``epsilon_reason``: why an end is infinite or the interval wide, else missing.

    Raises:
        InvalidInputError: no frame, an unknown key, or a row that is no plan; the message says which row, from 0.
        UnsupportedError: a row that the accountant cannot treat.
    """
    answers = _answers(_rows(frame, columns or {}, constants), accountant, gap)
    names = list(answers[0].ends) if answers else ["lower", "estimate", "upper"]
    new: dict[str, list[Any]] = {f"{prefix}_{name}": [answer.ends[name] for answer in answers] for name in names}
    return _with_columns(frame, new, {f"{prefix}_reason": [answer.reason for answer in answers]})


def _rows(frame: Any, columns: Mapping[str, str], constants: Mapping[str, Any]) -> list[dict[str, Any]]:
    """What each row says, by key."""
    if hasattr(frame, "collect"):
        raise InvalidInputError("frame must be a DataFrame; received a lazy one, collect() it first", "frame")
    if not (hasattr(frame, "columns") and (_is_pandas(frame) or hasattr(frame, "with_columns"))):
        raise InvalidInputError(f"frame must be a pandas or Polars DataFrame; received {shown(frame)}", "frame")
    known = list(frame.columns)
    for key in (*columns, *constants):
        if key not in KEYS:
            raise InvalidInputError(f"a key must be one of {listed(KEYS)}; received {key!r}", key)
    for key, name in columns.items():
        if name not in known:
            raise InvalidInputError(f"columns names {name!r} for {key}; the frame has no such column", "columns")
    sources = {key: columns.get(key, key) for key in KEYS}
    found = {key: _values(frame[name]) for key, name in sources.items() if name in known}
    if "noise_multiplier" not in (*found, *constants):
        raise InvalidInputError(
            f"noise_multiplier must be a column or an argument; the frame has the columns {listed(map(str, known))}; "
            'where it is called otherwise, columns={"noise_multiplier": ...}',
            "noise_multiplier",
        )
    for key in constants:
        if key in found:
            raise InvalidInputError(f"{key} is both a column and an argument; leave one of them out", key)
    return [
        {**constants, **dict(zip(found, values, strict=True))}
        for values in (zip(*found.values(), strict=True) if found else [()] * len(frame))
    ]


def _answers(rows: list[dict[str, Any]], accountant: str, gap: float | None) -> list[Answer]:
    """Epsilon of each row; of equal rows once."""
    seen: dict[str, Answer] = {}
    out = []
    for index, row in enumerate(rows):
        said = repr(row)
        if said not in seen:
            try:
                noise, delta = row.pop("noise_multiplier"), row.pop("delta", None)
                given = {key: value for key, value in row.items() if value is not None}
                seen[said] = dp_sgd(noise, **given).epsilon(delta, accountant=accountant, gap=gap)
            except HockeystickError as error:
                error.args = (f"row {index}: {error}",)
                raise
        out.append(seen[said])
    return out


def _values(column: Any) -> list[Any]:
    """The values of a column, ``None`` where one is missing."""
    if hasattr(column, "notna"):
        column = column.astype(object).where(column.notna(), None)
    return list(column.to_list())


def _is_pandas(frame: Any) -> bool:
    return hasattr(frame, "assign")


def _with_columns(frame: Any, numbers: Mapping[str, list[Any]], texts: Mapping[str, list[Any]]) -> Any:
    """A copy of the frame with more columns, numbers as doubles."""
    if _is_pandas(frame):
        import numpy as np

        return frame.assign(
            **{name: np.array(values, dtype=float) for name, values in numbers.items()},
            **{name: np.array(values, dtype=object) for name, values in texts.items()},
        )
    import polars

    series = [polars.Series(name, values, dtype=polars.Float64) for name, values in numbers.items()]
    series += [polars.Series(name, values, dtype=polars.String) for name, values in texts.items()]
    return frame.with_columns(series)
