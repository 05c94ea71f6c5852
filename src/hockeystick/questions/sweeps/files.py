"""Sweeps as CSV or Parquet files; equal rows give equal bytes."""

from __future__ import annotations

import csv
import importlib
import io
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from hockeystick.values.domains import place, shown
from hockeystick.values.errors import HockeystickError, InvalidInputError

ENDINGS = (".csv", ".parquet")  # suffixes of sweep files

FRAMES = ("pandas", "polars")  # packages with data frames, in order of preference


def checked_ending(path: str | Path) -> str:
    """Return the suffix of a sweep's file, if its folder exists and what writes it is installed.

    Raises:
        InvalidInputError: another ending, or a folder that does not exist.
        HockeystickError: pyarrow is not installed, which writes Parquet.
    """
    try:
        ending = Path(path).suffix.lower()
    except TypeError:
        raise InvalidInputError(f"a sweep's file is named by a path; received {shown(path)}", "output") from None
    if ending not in ENDINGS:
        raise InvalidInputError(
            f"{place(path)}: a sweep's file ends in {' or '.join(ENDINGS)}; received {shown(ending or 'no ending')}",
            "output",
        )
    if not Path(path).absolute().parent.is_dir():
        raise InvalidInputError(f"{place(path)}: its folder does not exist: make it, or name another file", "output")
    if ending == ".parquet":
        _one_of(("pyarrow",), "a Parquet file")
    return ending


def written(columns: Mapping[str, Sequence[Any]], path: str | Path) -> bytes:
    """Return the content of a file with these columns, in the format of its suffix.

    Raises:
        InvalidInputError: the suffix is another.
        HockeystickError: pyarrow is not installed, which writes Parquet.
    """
    return as_csv(columns).encode() if checked_ending(path) == ".csv" else _as_parquet(columns)


def as_csv(columns: Mapping[str, Sequence[Any]]) -> str:
    r"""Return columns as CSV, each number as the shortest text of its double, missing ones empty.

    >>> as_csv({"noise": [0.5, 1.0], "upper": [0.1, float("nan")], "reason": ["", "a, b"]})
    'noise,upper,reason\n0.5,0.1,\n1.0,,"a, b"\n'
    """
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(columns)
    for row in zip(*columns.values(), strict=True):
        writer.writerow([_cell(value) for value in row])
    return out.getvalue()


def _cell(value: Any) -> str:
    if isinstance(value, float):
        return "" if math.isnan(value) else repr(value)
    return str(value)


def _as_parquet(columns: Mapping[str, Sequence[Any]]) -> bytes:
    """Columns as a Parquet file of doubles, whole numbers and texts, with ``null`` for missing numbers."""
    import pyarrow
    import pyarrow.parquet

    types = {float: pyarrow.float64(), int: pyarrow.int64(), str: pyarrow.string()}
    arrays = {}
    for name, column in columns.items():
        kinds = {type(value) for value in column}
        kind = float if float in kinds else kinds.pop()  # doubles if one value is a double
        arrays[name] = pyarrow.array([None if value != value else value for value in column], types[kind])
    out = io.BytesIO()
    pyarrow.parquet.write_table(pyarrow.table(arrays), out)
    return out.getvalue()


def frame_of(columns: Mapping[str, Sequence[Any]], kind: str | None) -> Any:
    """Return columns as a data frame of pandas or Polars.

    Args:
        columns: lists by name.
        kind: ``"pandas"`` or ``"polars"``; by default the installed one, pandas first.

    Raises:
        InvalidInputError: the kind is unknown.
        HockeystickError: the package is not installed.
    """
    if kind is not None and kind not in FRAMES:
        raise InvalidInputError(f"kind must be 'pandas' or 'polars'; received {shown(kind)}", "kind")
    module = _one_of(FRAMES if kind is None else (kind,), "a data frame")
    return module.DataFrame({key: list(values) for key, values in columns.items()})


def _one_of(names: Sequence[str], what: str) -> Any:
    """The first of these packages that is installed.

    Raises:
        HockeystickError: none is installed.
    """
    for name in names:
        try:
            return importlib.import_module(name)
        except ImportError:
            continue
    raise HockeystickError(f"{what} needs {' or '.join(names)}: install it with `pip install {names[0]}`")
