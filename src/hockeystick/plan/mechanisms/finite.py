"""What mechanisms share whose two laws, with the record and without it, have finitely many outcomes."""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar

from hockeystick.pairs.exact import ExactFinite, constant
from hockeystick.pairs.finite import FinitePair
from hockeystick.plan.mechanisms.base import Mechanism, Property
from hockeystick.values.adjacency import Direction


class FiniteMechanism(Mechanism):
    """A mechanism that is known by its law with the record and its law without it, exactly.

    Outcomes may be possible under one of them alone. What a replaced record does the two laws do not say.
    """

    properties: ClassVar[frozenset[Property]] = frozenset({Property.INFINITE_LOSS})

    @abstractmethod
    def with_against_without(self) -> FinitePair:
        """The law with the record against the law without it."""

    def pair(self, direction: Direction) -> FinitePair:
        """The law with the record against the law without it, or the other way round."""
        found = self.with_against_without()
        return found.mirrored if direction is Direction.ADD else found

    def exact(self, direction: Direction) -> ExactFinite:
        """The two laws themselves."""
        pair = self.pair(direction)
        return ExactFinite(constant(pair.p), constant(pair.q))
