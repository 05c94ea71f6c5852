"""Which pairs of datasets count as neighbours, and the directions in which each is to be told from the other."""

from __future__ import annotations

from enum import StrEnum

from hockeystick.errors import InvalidInputError


class Direction(StrEnum):
    """One ordered comparison. ``remove``: P is the law with the record, Q without; ``add``: the other way round."""

    REMOVE = "remove"
    ADD = "add"
    REPLACE_ONE = "replace-one"


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
        try:
            return cls(value)  # type: ignore[arg-type]
        except ValueError:
            known = ", ".join(repr(a.value) for a in cls)
            raise InvalidInputError(f"adjacency must be one of {known}; received {value!r}", "adjacency") from None
