"""Files of tables: a header line of JSON, and the numbers, with a hash over both.

The first line is a JSON object with ``format``, ``version``, the properties of the table, the number of knots of each
axis, and ``sha256``, the hash of the object without this key, a line break, and all bytes after the line. The
bytes are little-endian doubles: the knots of each axis, the lower ends, the upper ends. Nothing in a file is unpacked
or run, and the first line determines its length.
"""

from __future__ import annotations

import hashlib
import json
import math
from pathlib import Path
from typing import Any

import numpy as np

from hockeystick.questions.tables.axes import SIGNS, Array, axis_of
from hockeystick.questions.tables.knots import Knots
from hockeystick.values.adjacency import Adjacency
from hockeystick.values.domains import place, shown
from hockeystick.values.errors import InvalidInputError
from hockeystick.values.files import cause, write_bytes

FORMAT, VERSION = "hockeystick table", 1
"""Name and version of the format in the first line."""

MOST_KNOTS = 20_000_000
"""Largest number of knots: 320 MB in a file, and an hour or more of computation."""

LONGEST_LINE = 4096
"""Longest first line in bytes; it has less than 500."""

KEYS = ("format", "version", "adjacency", "accuracy", "fine", "knots", "sha256")
"""Keys of the first line, in order."""


def head_of(adjacency: Adjacency, accuracy: float, fine: tuple[str, ...], knots: Knots) -> dict[str, Any]:
    """Return the first line without the hash."""
    return {
        "format": FORMAT,
        "version": VERSION,
        "adjacency": str(adjacency),
        "accuracy": accuracy,
        "fine": list(fine),
        "knots": {axis.name: len(axis) for axis in knots.axes},
    }


def body_of(knots: Knots) -> bytes:
    """Return the bytes after the first line."""
    parts = [*(axis.knots for axis in knots.axes), knots.lower.ravel(), knots.upper.ravel()]
    return b"".join(part.astype("<f8").tobytes() for part in parts)


def digest(head: dict[str, Any], body: bytes) -> str:
    """Return the hash of a file's content, in hexadecimal.

    >>> digest({}, b"")[:8]
    'ca3d163b'
    """
    said = hashlib.sha256(json.dumps(head).encode() + b"\n")
    said.update(body)
    return said.hexdigest()


def write(path: str | Path, head: dict[str, Any], body: bytes) -> None:
    """Write a table to one file atomically.

    Raises:
        InvalidInputError: the file cannot be written.
    """
    line = json.dumps({**head, "sha256": digest(head, body)})
    write_bytes(path, line.encode() + b"\n" + body)


def read(path: str | Path) -> tuple[dict[str, Any], Knots]:
    """Return the first line of a file, and its knots.

    Raises:
        InvalidInputError: the file is missing, not a table, damaged, or of another version of the format.
    """
    try:
        with Path(path).open("rb") as file:
            line = file.readline(LONGEST_LINE)
            head, shape = _head(line, path)
            length = 8 * (sum(shape) + 2 * math.prod(shape))
            body = file.read(length + 1)
    except (OSError, ValueError, TypeError) as error:
        if isinstance(error, InvalidInputError):
            raise
        raise InvalidInputError(f"{place(path)}: cannot be read: {cause(error)}") from None
    stated = head.pop("sha256")
    if len(body) != length or digest(head, body) != stated:
        raise InvalidInputError(
            f"{place(path)}: the table is damaged, because its numbers do not match its first line; copy or build it "
            "again"
        )
    return head, _knots(body, shape, path)


def _head(line: bytes, path: str | Path) -> tuple[dict[str, Any], tuple[int, ...]]:
    """Return the first line of a file, and the number of knots of each axis."""
    foreign = InvalidInputError(f"{place(path)}: not a table; use a file that Table.save wrote")
    try:
        head = json.loads(line) if line.endswith(b"\n") else None
    except (ValueError, RecursionError):
        raise foreign from None
    if not isinstance(head, dict) or head.get("format") != FORMAT:
        raise foreign
    if head.get("version") != VERSION:
        raise InvalidInputError(
            f"{place(path)}: version must be {VERSION}, the one that this release reads; "
            f"received {shown(head.get('version'))}; build the table again"
        )
    many = head.get("knots")
    if tuple(head) != KEYS or not isinstance(many, dict) or tuple(many) != tuple(SIGNS):
        raise foreign
    shape = tuple(many.values())
    if not all(type(one) is int and 1 <= one <= MOST_KNOTS for one in shape) or math.prod(shape) > MOST_KNOTS:
        raise InvalidInputError(
            f"{place(path)}: knots must be whole numbers from 1 whose product is at most {MOST_KNOTS}; received "
            f"{shown(many)}"
        )
    return head, shape


def _knots(body: bytes, shape: tuple[int, ...], path: str | Path) -> Knots:
    """Return the numbers of a file as knots, after checking their order."""
    numbers = np.frombuffer(body, dtype="<f8").astype(np.float64)
    *knots, lower, upper = np.split(numbers, np.cumsum([*shape, math.prod(shape)]))
    lower, upper = lower.reshape(shape), upper.reshape(shape)
    wrong = InvalidInputError(
        f"{place(path)}: not a table, because knots must increase within their domains and ends must be ordered and "
        "monotone"
    )
    try:
        axes = tuple(axis_of(name, along) for name, along in zip(SIGNS, knots, strict=True))
    except InvalidInputError:
        raise wrong from None
    ordered = all(np.array_equal(axis.knots, along) for axis, along in zip(axes, knots, strict=True))
    if not (ordered and np.all((lower >= 0) & (lower <= upper)) and _monotone(lower) and _monotone(upper)):
        raise wrong
    return Knots(axes, lower, upper)


def _monotone(ends: Array) -> bool:
    """Return True if ends are monotone along each axis in the direction of epsilon."""
    return all(
        bool(np.all(sign * np.sign(np.diff(ends, axis=number)) >= 0)) for number, sign in enumerate(SIGNS.values())
    )
