"""Columns of a pandas or Polars frame, or of a dict of arrays, as arrays; neither package is imported here."""

from __future__ import annotations

import itertools
import numbers
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from hockeystick.values.domains import listed, shown
from hockeystick.values.errors import InvalidInputError

Numbers = npt.NDArray[np.int64]

TIMES = "mM"
"""NumPy's kinds of times and time spans, which are whole numbers of a unit."""

ACCEPTED = "a pandas or Polars DataFrame, or a dict of arrays"


def is_frame(value: object) -> bool:
    """Return True for a pandas or Polars frame, or a dict."""
    return isinstance(value, Mapping) or (hasattr(value, "columns") and hasattr(value, "__getitem__"))


def rows_of(frame: Any) -> int:
    """Return the number of rows.

    Raises:
        InvalidInputError: columns of a dict differ in length.
    """
    if not isinstance(frame, Mapping):
        return len(frame)
    lengths = {str(name): len(column) for name, column in frame.items()}
    if len(set(lengths.values())) > 1:
        said = listed(f"{name} {length}" for name, length in lengths.items())
        raise InvalidInputError(f"the columns of a frame must have the same length; received {said}", "frame")
    return next(iter(lengths.values()), 0)


def column_of(frame: Any, name: str, key: str) -> Any:
    """Return the column of this name.

    Raises:
        InvalidInputError: there is no such column; the message names the key that needs it.
    """
    known = list(frame if isinstance(frame, Mapping) else frame.columns)
    if name not in known:
        raise InvalidInputError(
            f"{key} must be a column; received {name!r}, but the frame has the columns {listed(map(str, known))}", key
        )
    return frame[name]


def as_array(column: Any) -> npt.NDArray[Any]:
    """Return a column as an array, shape (rows,), of a NumPy type, or of objects if none fits.

    Raises:
        InvalidInputError: the column has more than one dimension.
    """
    found = column.to_numpy() if hasattr(column, "to_numpy") else np.asarray(column)
    if found.ndim != 1:
        raise InvalidInputError(f"a column must have one dimension; received shape {found.shape}", "frame")
    return found


def as_doubles(column: Any) -> npt.NDArray[np.float64]:
    """Return a column as doubles, shape (rows,), with NaN for text, booleans and missing values."""
    kind = getattr(column.dtype, "kind", "") if hasattr(column, "dtype") else ""
    if hasattr(column, "notna") and kind in ("i", "u", "f"):  # pandas, with or without missing values
        return np.asarray(column.to_numpy(dtype=np.float64, na_value=np.nan))
    found = as_array(column)
    if found.dtype.kind in "iuf":
        return found.astype(np.float64, copy=False)
    return np.array([_double(value) for value in found.astype(object)], dtype=np.float64)


def _double(value: Any) -> float:
    """One value of an object column."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, numbers.Real):
        return np.nan
    try:
        return float(value)
    except OverflowError:
        return np.inf


class Users:
    """Assignment of a whole number to each user, for frames that come one after the other.

    A user that is a whole number has that number; for times and floats the number is their bits; all other users are
    numbered in order of appearance.
    """

    def __init__(self) -> None:
        self._type: np.dtype[Any] | None = None
        self._named: dict[Any, int] = {}

    def numbers(self, column: Any, key: str, first_row: int) -> Numbers:
        """Return the number of each row's user, shape (rows,).

        Args:
            column: column of a frame.
            key: name of the column in messages.
            first_row: number of its first row.

        Raises:
            InvalidInputError: a row has no user, or users cannot be compared: lists, or types that differ between
                frames.
        """
        found = as_array(column)
        if found.dtype.kind == "u" and len(found) and found.max() >= 1 << 63:
            found = found.astype(object)
        if self._type is None:
            self._type = found.dtype
        family, known = _family(found.dtype), _family(self._type)
        if family != known:
            raise InvalidInputError(
                f"{key} must have the same type in all frames; received {found.dtype} after {self._type}", key
            )
        if family == "whole":
            return found.astype(np.int64, copy=False)
        if family == "float":
            found = found.astype(np.float64, copy=False) + 0.0  # turns -0.0 into 0.0
        if family != "object":
            self._refuse_missing(found != found, key, first_row)
            return found.view(np.int64)
        named, before = self._named, len(self._named)

        def number_of(value: Any) -> int:
            try:
                return named.setdefault(value, len(named))
            except TypeError:
                raise InvalidInputError(
                    f"{key} must contain numbers, text or dates; received {shown(value)}", key
                ) from None

        out = np.fromiter(map(number_of, found.astype(object)), dtype=np.int64, count=len(found))
        missing = [named[value] for value in itertools.islice(named, before, None) if is_missing(value)]
        self._refuse_missing(np.isin(out, missing), key, first_row)
        return out

    def values(self, numbers: Numbers) -> npt.NDArray[Any]:
        """Return the users of these numbers, in the type of the first frame, in the given shape."""
        if self._type is None:
            return numbers
        if self._type.kind in TIMES:
            return numbers.view(self._type)
        if _family(self._type) == "whole":
            return numbers.astype(self._type, copy=False)
        if _family(self._type) == "float":
            return numbers.view(np.float64).astype(self._type, copy=False)
        named = np.empty(len(self._named), dtype=object)
        named[:] = list(self._named)
        return named[numbers]

    @staticmethod
    def _refuse_missing(gone: npt.NDArray[np.bool_], key: str, first_row: int) -> None:
        if gone.any():
            raise InvalidInputError(
                f"row {first_row + int(np.argmax(gone))}: {key} is missing, so its steps cannot be assigned and some "
                "user's epsilon would be too small; set it or remove the row",
                key,
            )


def _family(kind: np.dtype[Any]) -> str:
    """Family of comparable types: whole numbers, floats, times of one unit, and everything else."""
    if kind.kind in TIMES:
        return str(kind)
    return "whole" if kind.kind in "iu" else "float" if kind.kind == "f" else "object"


def is_missing(value: Any) -> bool:
    """Return True for a missing value: None, NaN, NaT, NA."""
    return value is None or type(value).__name__ in ("NAType", "NaTType") or value != value


def like(frame: Any, columns: Mapping[str, npt.NDArray[Any]]) -> Any:
    """Return a new frame with these columns, of the same kind as ``frame``; NaN doubles become missing values.

    Args:
        frame: pandas or Polars frame, or dict.
        columns: arrays of equal length.
    """
    if isinstance(frame, Mapping):
        return dict(columns)
    if hasattr(frame, "assign"):
        import pandas

        return pandas.DataFrame(dict(columns))
    import polars

    return polars.DataFrame(polars_series(columns)).with_columns(polars.selectors.float().fill_nan(None))


def polars_series(columns: Mapping[str, npt.NDArray[Any]]) -> list[Any]:
    """Return the columns as series of Polars, reasons as text even if all of them are missing."""
    import polars

    return [
        polars.Series(name, values.tolist(), dtype=polars.String)
        if name.endswith("_reason")
        else polars.Series(name, values.tolist() if values.dtype == object else values)
        for name, values in columns.items()
    ]
