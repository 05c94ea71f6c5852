"""Lists of a plan that stand in files beside it: ``p = "laws.csv"`` in place of the numbers.

The path is relative to the folder of the plan file and may not leave it: no absolute path, no ``..``, no link to
elsewhere, so that whoever is handed a plan reads nothing but what came with it. A ``.csv`` file has a column with the
name of the key in its first line, or one column of nothing but numbers; a ``.npy`` file has an array of one dimension,
and none that would run code (``allow_pickle=False``). Plans are saved with the numbers themselves.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from hockeystick.plan.mechanisms import MECHANISMS
from hockeystick.values.domains import ExactDomain, ListDomain, cut, domains_of, listed, place, shown
from hockeystick.values.errors import InvalidInputError
from hockeystick.values.files import cause

MAX_BYTES = 10_000_000
"""Longest file of a list, in bytes: as long as a plan may be that has the numbers in it."""

MAX_NUMBERS = 100_000
"""Most numbers of a file: more than any list may have, so that the list itself says how many it takes."""

ENDINGS = (".csv", ".npy")
"""How a path of a list ends."""


def with_lists(data: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """The parsed plan with the numbers of its lists in place of the paths of files.

    Args:
        data: what the plan file says; what is no plan is left to whoever reads its keys.
        folder: that of the plan file.

    Raises:
        InvalidInputError: a path that leaves the folder, or a file that cannot be read or has no such numbers; one line
            that names round, key and file.
    """
    rounds = data.get("round")
    if not isinstance(rounds, list):
        return dict(data)
    return {**data, "round": [_read_round(item, number, folder) for number, item in enumerate(rounds, start=1)]}


def _read_round(item: Any, number: int, folder: Path) -> Any:
    if not isinstance(item, dict):
        return item
    mechanism = next((kind for kind in MECHANISMS if kind.name == item.get("mechanism")), None)
    own = {} if mechanism is None else domains_of(mechanism)
    found = dict(item)
    for key, value in item.items():
        domain = own.get(key)
        if isinstance(value, str) and isinstance(domain, ListDomain) and not isinstance(domain.item, ListDomain):
            try:
                found[key] = _numbers(value, key, folder, isinstance(domain.item, ExactDomain))
            except InvalidInputError as error:
                raise InvalidInputError(f"round {number}: {error}", key) from None
    return found


def _numbers(name: str, key: str, folder: Path, exact: bool) -> list[Any]:
    """The numbers of the file; those of text as they are written where they are kept exactly."""
    ending = Path(name).suffix.lower()
    if ending not in ENDINGS:
        raise InvalidInputError(
            f"{key} must be a list of numbers, or the name of a .csv or .npy file beside the plan; received "
            f"{shown(name)}",
            key,
        )
    try:
        path = _inside(name, folder)
        values = _of_array(path) if ending == ".npy" else _of_csv(path, key, exact)
        if len(values) > MAX_NUMBERS:
            raise InvalidInputError(f"it has {len(values)} numbers; at most {MAX_NUMBERS} are read")
    except InvalidInputError as error:
        raise InvalidInputError(f"{key}: {place(name)}: {error}", key) from None
    except OSError as error:
        raise InvalidInputError(f"{key}: {place(name)}: it cannot be read: {cause(error)}", key) from None
    return values


def _inside(name: str, folder: Path) -> Path:
    """The file of that name, which lies in the folder or below it."""
    path = Path(name)
    if path.is_absolute() or path.drive or ".." in path.parts:
        raise InvalidInputError("it must lie beside the plan or in a folder there: give a relative path without '..'")
    try:
        there = (folder / path).resolve()
    except ValueError:  # a name that no file can have
        raise InvalidInputError("it cannot be read: it is no name of a file") from None
    if not there.is_relative_to(folder.resolve()):
        raise InvalidInputError("the file is a link to outside the plan's folder; copy it there")
    if there.exists() and not there.is_file():
        raise InvalidInputError("it is no regular file")
    if there.stat().st_size > MAX_BYTES:
        raise InvalidInputError(f"it is longer than {MAX_BYTES // 10**6} MB")
    return there


def _of_array(path: Path) -> list[Any]:
    """The numbers of a .npy file, which is mapped and not read: its header may promise more than it has."""
    try:
        found = np.lib.format.open_memmap(path, mode="r")
    except (ValueError, EOFError):
        raise InvalidInputError("it is no .npy file of numbers, or cut off") from None
    if found.ndim != 1 or found.dtype.kind not in "fiu":
        raise InvalidInputError(f"it must hold numbers in one dimension; received {found.dtype} of shape {found.shape}")
    numbers: list[Any] = found.tolist()
    return numbers


def _of_csv(path: Path, key: str, exact: bool) -> list[Any]:
    """The numbers of the column with the name of the key, or of the only column."""
    try:
        text = path.read_text(encoding="utf-8-sig")
        rows = [row for row in csv.reader(io.StringIO(text, newline=""), strict=True) if row]
    except (UnicodeDecodeError, csv.Error) as error:
        raise InvalidInputError(f"it is no CSV file in UTF-8: {error}") from None
    heads = [cell.strip() for cell in rows[0]] if rows else []
    if heads.count(key) == 1:
        column, first = heads.index(key), 1
    elif len(heads) == 1 and _number(heads[0]) is not None:
        column, first = 0, 0
    else:
        raise InvalidInputError(
            f"it must have one column {key!r}; its first line has {listed([cut(head, 40) for head in heads[:20]])}"
        )
    found: list[Any] = []
    for line, row in enumerate(rows[first:], start=first + 1):
        cell = row[column].strip() if len(row) == len(heads) else ""
        value = cell if exact else _number(cell)
        if value is None or value == "":
            raise InvalidInputError(f"row {line} has no number in that column; received {shown(row)}")
        found.append(value)
    return found


def _number(cell: str) -> float | None:
    try:
        return float(cell)
    except ValueError:
        return None
