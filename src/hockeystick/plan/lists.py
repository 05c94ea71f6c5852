"""Lists of a plan that stand in files beside it: ``p = "laws.csv"`` in place of the numbers.

The path is relative to the folder of the plan file and may not leave it: no absolute path, no ``..``, no link to
elsewhere, so that whoever is handed a plan reads nothing but what came with it. A ``.csv`` file has a column with the
name of the key in its first line, or one column of nothing but numbers; a ``.npy`` file has an array of one dimension,
and none that would run code (``allow_pickle=False``). Plans are saved with the numbers themselves.
"""

from __future__ import annotations

import csv
import io
import os
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
    content = _content(name, key, folder)
    values = _of_array(content, name, key) if ending == ".npy" else _of_csv(content, name, key, exact)
    if len(values) > MAX_NUMBERS:
        raise _refused(name, key, f"it has {len(values)} numbers; at most {MAX_NUMBERS} are read")
    return values


def _content(name: str, key: str, folder: Path) -> bytes:
    path = Path(name)
    if path.is_absolute() or path.drive or ".." in path.parts:
        raise _refused(name, key, "it must lie beside the plan or in a folder there: give a relative path without '..'")
    try:
        here, there = Path(os.path.realpath(folder)), Path(os.path.realpath(folder / path))
        if not there.is_relative_to(here):
            raise _refused(name, key, "the file is a link to outside the plan's folder; copy it there")
        if there.exists() and not there.is_file():
            raise _refused(name, key, "it is no regular file")
        with there.open("rb") as file:
            content = file.read(MAX_BYTES + 1)
    except (OSError, ValueError) as error:
        raise _refused(name, key, f"it cannot be read: {cause(error)}") from None
    if len(content) > MAX_BYTES:
        raise _refused(name, key, f"it is longer than {MAX_BYTES // 10**6} MB")
    return content


def _of_array(content: bytes, name: str, key: str) -> list[Any]:
    """The numbers of a .npy file; its header is looked at first, as it may promise an array larger than the file."""
    try:
        stream = io.BytesIO(content)
        version = np.lib.format.read_magic(stream)
        header = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}[version]
        shape, _, kind = header(stream)
        if len(shape) != 1 or kind.kind not in "fiu":
            raise _refused(name, key, f"it must hold numbers in one dimension; received {kind} of shape {shape}")
        if shape[0] * kind.itemsize > len(content):
            raise _refused(name, key, "it is cut off: its header promises more numbers than it has")
        found: list[Any] = np.load(io.BytesIO(content), allow_pickle=False).tolist()
    except (ValueError, KeyError, EOFError, OSError, SyntaxError) as error:
        if isinstance(error, InvalidInputError):
            raise
        raise _refused(name, key, "it is no .npy file of numbers") from None
    return found


def _of_csv(content: bytes, name: str, key: str, exact: bool) -> list[Any]:
    """The numbers of the column with the name of the key, or of the only column."""
    try:
        rows = [row for row in csv.reader(io.StringIO(content.decode("utf-8-sig"), newline=""), strict=True) if row]
    except (UnicodeDecodeError, csv.Error) as error:
        raise _refused(name, key, f"it is no CSV file in UTF-8: {error}") from None
    if not rows:
        raise _refused(name, key, "it is empty")
    heads = [cell.strip() for cell in rows[0]]
    if key in heads:
        if heads.count(key) > 1:
            raise _refused(name, key, f"it has several columns {key!r}")
        column, body, first = heads.index(key), rows[1:], 2
    elif len(heads) == 1 and _number(heads[0]) is not None:
        column, body, first = 0, rows, 1
    else:
        raise _refused(
            name, key, f"it has no column {key!r}; its first line has {listed([cut(head, 40) for head in heads[:20]])}"
        )
    found: list[Any] = []
    for line, row in enumerate(body, start=first):
        if len(row) != len(heads):
            raise _refused(name, key, f"row {line} has {len(row)} cells where the first has {len(heads)}")
        cell = row[column].strip()
        value = cell if exact else _number(cell)
        if value is None or value == "":
            raise _refused(name, key, f"row {line} has no number in that column; received {shown(cell)}")
        found.append(value)
    return found


def _number(cell: str) -> float | None:
    try:
        return float(cell)
    except ValueError:
        return None


def _refused(name: str, key: str, why: str) -> InvalidInputError:
    return InvalidInputError(f"{key}: {place(name)}: {why}", key)
