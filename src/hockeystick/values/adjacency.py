"""Neighbouring relations of datasets, and their directions: the orders in which two neighbours are compared."""

from __future__ import annotations

from enum import StrEnum
from typing import Never

from hockeystick.values.errors import InvalidInputError
from hockeystick.values.words import choice


class Direction(StrEnum):
    """An ordered comparison of two neighbouring datasets: the output has law P on the first and law Q on the second.

    - ``remove``: P is the law with the record, and Q is the law without it. ``add``: P and Q are exchanged.
    - ``zero-out``: P is the law with the record, and Q is the law with its contribution set to zero and the same number
      of records. ``restore``: P and Q are exchanged.
    - ``replace-one``: P and Q are the laws with two different values of one record.

    Attributes:
        zeroes: True if a record's contribution is set to zero, or restored.
    """

    zeroes: bool

    REMOVE = "remove"
    ADD = "add"
    REPLACE_ONE = "replace-one"
    ZERO_OUT = "zero-out"
    RESTORE = "restore"

    __hash__ = str.__hash__  # the text's hash; the default is slower, since it is written in Python

    def __init__(self, value: str) -> None:
        self.zeroes = value in ("zero-out", "restore")

    @property
    def keeps_places(self) -> bool:
        """True if both datasets have equally many records, so that all other records keep their places."""
        return self.zeroes or self is Direction.REPLACE_ONE

    @property
    def reverse(self) -> Direction:
        """Return the direction in which P and Q are exchanged."""
        exchanged = {Direction.REMOVE: Direction.ADD, Direction.ZERO_OUT: Direction.RESTORE}
        exchanged |= {other: one for one, other in exchanged.items()}
        return exchanged.get(self, self)

    @property
    def order(self) -> Direction:
        """Return ``remove`` for ``zero-out`` and ``add`` for ``restore``; any other direction is returned unchanged.

        >>> Direction.RESTORE.order
        <Direction.ADD: 'add'>
        """
        if self is Direction.ZERO_OUT:
            return Direction.REMOVE
        return Direction.ADD if self is Direction.RESTORE else self

    @classmethod
    def _missing_(cls, value: object) -> None:
        raise InvalidInputError(choice("direction", value, [kind.value for kind in cls]), "direction")


class Adjacency(StrEnum):
    """The neighbouring relation of a plan; its directions are composed separately, and the worse answer counts.

    ``zero-out``: one record's contribution is set to zero, and the number of records is public and does not change.
    This relation has its own directions, distinct from those of ``add-or-remove``. A mechanism or a sampling scheme
    that does not mention ``zero-out`` is therefore refused, and an answer states which relation it is for.
    """

    ADD_OR_REMOVE = "add-or-remove"
    ADD = "add"
    REMOVE = "remove"
    REPLACE_ONE = "replace-one"
    ZERO_OUT = "zero-out"

    @property
    def directions(self) -> tuple[Direction, ...]:
        """Return the directions of the relation; each is composed separately."""
        if self in (Adjacency.ADD, Adjacency.REMOVE, Adjacency.REPLACE_ONE):
            return (Direction(self.value),)
        return self.both

    @property
    def both(self) -> tuple[Direction, Direction]:
        """Return both directions of two neighbours, even if the relation has only one.

        The first is the direction in which P is the law with the record.
        """
        first = Direction.REMOVE if self in (Adjacency.ADD, Adjacency.ADD_OR_REMOVE) else Direction(self.value)
        return first, first.reverse

    @classmethod
    def parse(cls, value: object) -> Adjacency:
        """Return the adjacency named by a string.

        Raises:
            InvalidInputError: the name is unknown.
        """
        return cls(value) if isinstance(value, str) else cls._missing_(value)  # arrays cannot be compared with names

    @classmethod
    def _missing_(cls, value: object) -> Never:
        raise InvalidInputError(choice("adjacency", value, [kind.value for kind in cls]), "adjacency")
