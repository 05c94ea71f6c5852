"""Base of mechanisms whose two laws, with the record and without it, have finitely many outcomes."""

from __future__ import annotations

from abc import abstractmethod

from hockeystick.pairs.exact import ExactFinite, finite_law
from hockeystick.pairs.finite import FinitePair
from hockeystick.plan.mechanisms.base import Mechanism, Property, refused
from hockeystick.values.adjacency import Direction

LAWS_ALONE = refused(
    "distributions with and without a record say nothing about a zero contribution; if that equals the absence of the "
    "record, use adjacency 'add-or-remove'"
)
"""Claim under zero-out of a mechanism given by its laws with and without the record."""


class FiniteMechanism(Mechanism):
    """Mechanism given exactly by its laws with and without the record.

    Outcomes may be possible under only one of them. The two laws do not determine the effect of replacing a record.
    """

    properties = frozenset({Property.INFINITE_LOSS})

    @property
    @abstractmethod
    def _laws(self) -> FinitePair:
        """The law with the record against the law without it."""

    def with_against_without(self) -> FinitePair:
        """Return the law with the record against the law without it."""
        return self._laws

    def pair(self, direction: Direction) -> FinitePair:
        """Return the law with the record against the law without it, or the reverse."""
        return self._laws.mirror if direction is Direction.ADD else self._laws

    def exact(self, direction: Direction) -> ExactFinite:
        """Return the two laws themselves."""
        pair = self.pair(direction)
        return finite_law(pair.p, pair.q)
