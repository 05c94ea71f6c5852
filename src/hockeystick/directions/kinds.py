"""Kinds of rounds that are not rounds of a plan as they stand: seen from above alone, or given by their pairs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from hockeystick.directions.kind import Kind
from hockeystick.pairs import DominatingPair, RenyiCurve
from hockeystick.pairs.exact import ExactRound
from hockeystick.pairs.sides import Above, Known
from hockeystick.values.adjacency import Direction
from hockeystick.values.errors import UnsupportedError


@dataclass(frozen=True)
class FromAbove:
    """A kind of rounds of which nothing is used from below: no record need be in as many of them as are composed.

    Attributes:
        kind: what is known of one round.
    """

    kind: Kind

    def known(self, direction: Direction) -> Known:
        """The pair above, and no more.

        Raises:
            UnsupportedError: none is proven.
        """
        return Above(self.kind.known(direction).above)

    def pair(self, direction: Direction) -> DominatingPair:
        """The pair above.

        Raises:
            UnsupportedError: none is proven.
        """
        return self.known(direction).above

    def curve(self, direction: Direction) -> RenyiCurve:
        """The Renyi curve of the kind, which is from above anyway.

        Raises:
            UnsupportedError: nothing is proven.
        """
        return self.kind.curve(direction)

    def exact(self, direction: Direction) -> ExactRound:
        """Refused, as a proof is of both ends.

        Raises:
            UnsupportedError: always.
        """
        raise UnsupportedError("no proof is implemented where answers are from above only")


@dataclass(frozen=True)
class Given:
    """A kind of rounds of which the pairs are given, or Renyi curves where there are none.

    Attributes:
        given: what is known of one round in each direction.
    """

    given: Mapping[Direction, Known | RenyiCurve]

    def known(self, direction: Direction) -> Known:
        """The pairs, where they are given.

        Raises:
            UnsupportedError: only a Renyi curve was given.
        """
        found = self.given[direction]
        if isinstance(found, RenyiCurve):
            raise UnsupportedError(
                f'only a Renyi curve is given of a round under {direction.value!r}: use accountant="rdp" or "auto"'
            )
        return found

    def curve(self, direction: Direction) -> RenyiCurve:
        """What was given of one round: the pair that dominates it, or a Renyi curve.

        Raises:
            KeyError: nothing was given in that direction.
        """
        found = self.given[direction]
        return found if isinstance(found, RenyiCurve) else found.above

    def exact(self, direction: Direction) -> ExactRound:
        """Never known.

        Raises:
            UnsupportedError: always; a proof begins with exact numbers, which a pair in doubles is not.
        """
        raise UnsupportedError("no proof is implemented for pairs that are given in doubles; give a plan")
