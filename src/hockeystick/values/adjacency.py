"""Which pairs of datasets count as neighbours, and the directions in which each is to be told from the other."""

from __future__ import annotations

from enum import StrEnum

from hockeystick.values.errors import InvalidInputError
from hockeystick.values.words import choice


class Direction(StrEnum):
    """An ordered comparison of two datasets, with P on the one and Q on the other.

    ``remove``: P is the law with the record, Q without; ``add``: the other way round.
    """

    REMOVE = "remove"
    ADD = "add"
    REPLACE_ONE = "replace-one"

    @classmethod
    def _missing_(cls, value: object) -> None:
        raise InvalidInputError(choice("direction", value, [kind.value for kind in cls]), "direction")


class Adjacency(StrEnum):
    """The neighbouring relation of a plan; ``add-or-remove`` is the worse of its two directions after composition."""

    ADD_OR_REMOVE = "add-or-remove"
    ADD = "add"
    REMOVE = "remove"
    REPLACE_ONE = "replace-one"

    @property
    def directions(self) -> tuple[Direction, ...]:
        """The directions that are composed apart."""
        if self is Adjacency.ADD_OR_REMOVE:
            return Direction.REMOVE, Direction.ADD
        return (Direction(self.value),)

    @classmethod
    def parse(cls, value: object) -> Adjacency:
        """The adjacency named by a string.

        Raises:
            InvalidInputError: the name is not one of ours.
        """
        return cls(value)  # type: ignore[arg-type]  # what is not one of ours is refused below

    @classmethod
    def _missing_(cls, value: object) -> None:
        raise InvalidInputError(choice("adjacency", value, [kind.value for kind in cls]), "adjacency")
