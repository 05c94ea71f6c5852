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

PARQUET = ("pyarrow", "polars")  # packages that write Parquet, in order of preference

FRAMES = ("pandas", "polars")  # packages with data frames, in order of preference


def checked_ending(path: str | Path) -> str:
    """Return the suffix of a sweep's file, if its folder exists and the package that writes it is installed.

    Raises:
        InvalidInputError: another ending, or a folder that does not exist.
        HockeystickError: nothing that writes Parquet is installed.
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
        _one_of(PARQUET, "a Parquet file", "pyarrow", " (a .csv file needs nothing)")
    return ending


def written(columns: Mapping[str, Sequence[Any]], path: str | Path) -> bytes:
    """Return the content of a file with these columns, in the format of its suffix.

    Raises:
        InvalidInputError: the suffix is another.
        HockeystickError: no package that writes Parquet is installed.
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
    out = io.BytesIO()
    values = {name: [None if value != value else value for value in column] for name, column in columns.items()}
    if _one_of(PARQUET, "a Parquet file", "pyarrow") == "pyarrow":
        import pyarrow
        import pyarrow.parquet

        kinds = {float: pyarrow.float64(), int: pyarrow.int64(), str: pyarrow.string()}
        arrays = [pyarrow.array(column, kinds[_kind(columns[name])]) for name, column in values.items()]
        pyarrow.parquet.write_table(pyarrow.table(arrays, names=list(values)), out)
    else:
        import polars

        types = {float: polars.Float64, int: polars.Int64, str: polars.String}
        series = [polars.Series(name, column, dtype=types[_kind(columns[name])]) for name, column in values.items()]
        polars.DataFrame(series).write_parquet(out)
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
    name = _one_of(FRAMES if kind is None else (kind,), "a data frame", kind or FRAMES[0])
    module = importlib.import_module(name)
    return module.DataFrame({key: list(values) for key, values in columns.items()})


def _kind(values: Sequence[Any]) -> type:
    """Type of a column: doubles if one value is a double."""
    kinds = {type(value) for value in values}
    return next(kind for kind in (str, float, int) if kind in kinds)


def _one_of(names: Sequence[str], what: str, remedy: str, otherwise: str = "") -> str:
    """The first installed one of these packages.

    Raises:
        HockeystickError: none is installed.
    """
    for name in names:
        try:
            importlib.import_module(name)
        except ImportError:
            continue
        return name
    missing = " or ".join(names)
    raise HockeystickError(
        f"{what} needs {missing}, which {'is' if len(names) == 1 else 'are both'} missing: install it with "
        f"`pip install {remedy}`{otherwise}"
    )
