"""Conversion of columns to NumPy arrays and back, for pandas and Polars frames and dicts of arrays.

The module never imports pandas.
"""

from __future__ import annotations

import numbers
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from hockeystick.values.domains import listed, shown
from hockeystick.values.errors import InvalidInputError

Column = npt.NDArray[Any]
Numbers = npt.NDArray[np.int64]

ACCEPTED = "a pandas or Polars DataFrame, or a dict of arrays"


def is_frame(value: object) -> bool:
    """Return True for a pandas or Polars frame, or a dict.

    Raises:
        InvalidInputError: the argument is a Polars ``LazyFrame``.
    """
    if hasattr(value, "collect"):
        raise InvalidInputError(f"frame must be {ACCEPTED}; received a lazy one; call collect() first", "frame")
    return isinstance(value, Mapping) or (hasattr(value, "columns") and hasattr(value, "__getitem__"))


def columns_of(frame: Any, names: Mapping[str, str]) -> dict[str, Column]:
    """Return columns of a frame as one-dimensional arrays of equal length.

    Args:
        frame: pandas or Polars frame, or dict.
        names: column name for each key of the result.

    Returns:
        For each key, an array of a NumPy type or of Python objects.

    Raises:
        InvalidInputError: the frame lacks a column, a column does not have one dimension, or the lengths differ.
    """
    known = list(frame if isinstance(frame, Mapping) else frame.columns)
    found: dict[str, Column] = {}
    for key, name in names.items():
        if name not in known:
            raise InvalidInputError(
                f"{key} must be a column; received {name!r}, but the columns are {listed(map(str, known))}", key
            )
        column = frame[name]
        # NumPy would convert the numbers of a mixed list to text
        array = column.to_numpy() if hasattr(column, "to_numpy") else np.asarray(column, getattr(column, "dtype", "O"))
        if array.ndim != 1:
            raise InvalidInputError(f"a column must have one dimension; {name!r} has shape {array.shape}", "frame")
        found[key] = array
    lengths = {names[key]: len(array) for key, array in found.items()}
    if len(set(lengths.values())) > 1:
        said = listed(f"{name} {length}" for name, length in lengths.items())
        raise InvalidInputError(f"the columns of a frame must have the same length; received {said}", "frame")
    return found


def as_doubles(column: Column) -> npt.NDArray[np.float64]:
    """Return a column as doubles, with NaN for text, booleans and missing values."""
    if column.dtype.kind in "iuf":
        return column.astype(np.float64, copy=False)
    return np.array([_double(value) for value in column.astype(object)], dtype=np.float64)


def _double(value: Any) -> float:
    """Return one value of an object column as a double; NaN for text, booleans and missing values."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, numbers.Real):
        return np.nan
    try:
        return float(value)
    except OverflowError:
        return np.inf


class Users:
    """Numbering of users, consistent over several frames.

    Users that are whole numbers keep their numbers; all others are numbered from 0 in order of first appearance.
    """

    def __init__(self) -> None:
        self._type: np.dtype[Any] | None = None
        self._named: dict[Any, int] = {}

    def numbers(self, column: Column, first_row: int) -> Numbers:
        """Return the number of each row's user, shape (rows,).

        Args:
            column: column of users of a frame.
            first_row: number of the frame's first row, for error messages.

        Raises:
            InvalidInputError: a row has no user, a user is a list, or two frames have users of different types.
        """
        if column.dtype.kind == "u" and len(column) and column.max() >= 1 << 63:
            column = column.astype(object)
        if self._type is None:
            self._type = column.dtype
        if _family(column.dtype) != _family(self._type):
            raise InvalidInputError(
                f"user must have the same type in all frames; received {column.dtype} after {self._type}", "user"
            )
        if _family(column.dtype) == "whole":
            return column.astype(np.int64, copy=False)
        out = np.empty(len(column), dtype=np.int64)
        values = column if column.dtype.kind in "mM" else column.astype(object)  # otherwise times would become numbers
        for row, value in enumerate(values):
            if is_missing(value):
                raise InvalidInputError(
                    f"row {first_row + row}: user is missing, so its steps cannot be assigned and some user's epsilon "
                    "would be too small; set it or remove the row",
                    "user",
                )
            try:
                out[row] = self._named.setdefault(value, len(self._named))
            except TypeError:
                raise InvalidInputError(
                    f"user must contain numbers, text or dates; received {shown(value)}", "user"
                ) from None
        return out

    def values(self, numbers: Numbers) -> Column:
        """Return the users with these numbers, in the type of the first frame's column; texts are objects."""
        if self._type is None or _family(self._type) == "whole":
            return numbers.astype(self._type or np.int64, copy=False)
        named = np.empty(len(self._named), dtype=object)
        named[:] = list(self._named)
        found = named[numbers]
        return found if _family(self._type) == "object" else found.astype(self._type)


def _family(kind: np.dtype[Any]) -> str:
    """Return the family of a type: ``"whole"``, ``"object"`` (texts and objects), or the type itself."""
    return {"i": "whole", "u": "whole", "O": "object", "U": "object", "S": "object"}.get(kind.kind, str(kind))


def is_missing(value: Any) -> bool:
    """Return True for a missing value: None, NaN, NaT, NA."""
    return value is None or type(value).__name__ in ("NAType", "NaTType") or value != value


def like(frame: Any, columns: Mapping[str, Column]) -> Any:
    """Return a frame of the same kind as ``frame``, with only these columns; in Polars, NaN becomes null."""
    if isinstance(frame, Mapping):
        return dict(columns)
    if hasattr(frame, "assign"):
        return type(frame)(dict(columns))
    import polars

    values = {name: column.tolist() if column.dtype == object else column for name, column in columns.items()}
    texts = {name: polars.String for name in columns if name.endswith("_reason")}  # also if all are null
    return polars.DataFrame(values, schema_overrides=texts).with_columns(polars.selectors.float().fill_nan(None))
