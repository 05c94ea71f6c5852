"""Relations of neighbouring datasets, and the directions in which each is to be told from the other."""

from __future__ import annotations

from enum import StrEnum
from typing import Never

from hockeystick.values.errors import InvalidInputError
from hockeystick.values.words import choice


class Direction(StrEnum):
    """An ordered comparison of two datasets, with P on the one and Q on the other.

    ``remove``: P is the law with the record, Q without; ``add``: the other way round. ``zero-out``: P is the law with
    the record, Q that with its contribution set to nothing, of as many records; ``restore``: the other way round.

    Attributes:
        zeroes: whether a record's contribution is set to nothing, or put back.
    """

    zeroes: bool

    REMOVE = "remove"
    ADD = "add"
    REPLACE_ONE = "replace-one"
    ZERO_OUT = "zero-out"
    RESTORE = "restore"

    __hash__ = str.__hash__  # as of the text it is equal to; that of other enumerations is a call of Python's own

    def __init__(self, value: str) -> None:
        self.zeroes = value in ("zero-out", "restore")

    @property
    def keeps_places(self) -> bool:
        """True if both datasets have as many records, so that all others stay where they are."""
        return self.zeroes or self is Direction.REPLACE_ONE

    @property
    def reverse(self) -> Direction:
        """The direction with both laws exchanged."""
        exchanged = {Direction.REMOVE: Direction.ADD, Direction.ZERO_OUT: Direction.RESTORE}
        exchanged |= {other: one for one, other in exchanged.items()}
        return exchanged.get(self, self)

    @property
    def order(self) -> Direction:
        """The direction of ``add-or-remove`` whose laws come in the same order; of any other relation itself.

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
    """The neighbouring relation of a plan; of two directions the worse one counts, each composed by itself.

    ``zero-out``: one record's contribution is set to nothing, and the number of records is public and does not change.
    It has directions of its own, and not those of ``add-or-remove``, so that a mechanism or a sampling scheme which
    says nothing of it is refused, and an answer tells which of the two was asked about.
    """

    ADD_OR_REMOVE = "add-or-remove"
    ADD = "add"
    REMOVE = "remove"
    REPLACE_ONE = "replace-one"
    ZERO_OUT = "zero-out"

    @property
    def directions(self) -> tuple[Direction, ...]:
        """The directions that are composed apart."""
        if self is Adjacency.ADD_OR_REMOVE:
            return Direction.REMOVE, Direction.ADD
        if self is Adjacency.ZERO_OUT:
            return Direction.ZERO_OUT, Direction.RESTORE
        return (Direction(self.value),)

    @property
    def both(self) -> tuple[Direction, Direction]:
        """Both orderings of two neighbouring datasets, also where the relation has but one, with the record first."""
        if self is Adjacency.REPLACE_ONE:
            return Direction.REPLACE_ONE, Direction.REPLACE_ONE
        if self is Adjacency.ZERO_OUT:
            return Direction.ZERO_OUT, Direction.RESTORE
        return Direction.REMOVE, Direction.ADD

    @classmethod
    def parse(cls, value: object) -> Adjacency:
        """The adjacency named by a string.

        Raises:
            InvalidInputError: the name is not one of ours.
        """
        return cls(value) if isinstance(value, str) else cls._missing_(value)  # arrays cannot be compared with names

    @classmethod
    def _missing_(cls, value: object) -> Never:
        raise InvalidInputError(choice("adjacency", value, [kind.value for kind in cls]), "adjacency")
