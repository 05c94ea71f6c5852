"""The interface of a kind of rounds, and two kinds outside plans: one without a lower bound, one given by its pairs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from hockeystick.pairs import RenyiCurve
from hockeystick.pairs.sides import Above, Known
from hockeystick.values.adjacency import Direction
from hockeystick.values.errors import UnsupportedError

if TYPE_CHECKING:
    from hockeystick.pairs.exact import ExactRound


class Kind(Protocol):
    """Kind of rounds, with its pairs in each direction."""

    def known(self, direction: Direction) -> Known:
        """Return the pair or pairs of one round, for upper and for lower bounds (``pairs/sides.py``).

        Raises:
            UnsupportedError: no dominating pair is proved.
        """
        ...

    def curve(self, direction: Direction) -> RenyiCurve:
        """Return a Renyi curve that bounds one round: its pair's curve, if it has a pair.

        Raises:
            UnsupportedError: no guarantee is proved.
        """
        ...

    def exact(self, direction: Direction) -> ExactRound:
        """Return one round in exact numbers, for a proof.

        Raises:
            UnsupportedError: no dominating pair is proven, or no proof is implemented.
        """
        ...


@dataclass(frozen=True)
class FromAbove:
    """Kind of rounds without its lower bounds, which need a record that takes part in all of the composed rounds.

    Attributes:
        kind: the kind with its lower bounds.
    """

    kind: Kind

    def known(self, direction: Direction) -> Known:
        """Return the dominating pair only.

        Raises:
            UnsupportedError: no pair is proved.
        """
        return Above(self.kind.known(direction).above)

    def curve(self, direction: Direction) -> RenyiCurve:
        """Return the Renyi curve of the kind, which is an upper bound anyway.

        Raises:
            UnsupportedError: nothing is proved.
        """
        return self.kind.curve(direction)

    def exact(self, direction: Direction) -> ExactRound:
        """Refuse, since a proof needs a lower end, too.

        Raises:
            UnsupportedError: always.
        """
        raise UnsupportedError("proofs are not implemented for plans whose answers are upper bounds only")


@dataclass(frozen=True)
class Given:
    """Kind of rounds given directly by its pairs, or by Renyi curves.

    Attributes:
        given: pairs or curve of one round in each direction.
    """

    given: Mapping[Direction, Known | RenyiCurve]

    def known(self, direction: Direction) -> Known:
        """Return the given pairs.

        Raises:
            UnsupportedError: only a Renyi curve is given.
        """
        found = self.given[direction]
        if isinstance(found, RenyiCurve):
            raise UnsupportedError(
                f"a round has only a Renyi curve under {direction.value!r}; use accountant 'rdp' or 'auto'"
            )
        return found

    def curve(self, direction: Direction) -> RenyiCurve:
        """Return the given dominating pair, or Renyi curve, of one round.

        Raises:
            KeyError: nothing is given in that direction.
        """
        found = self.given[direction]
        return found if isinstance(found, RenyiCurve) else found.above

    def exact(self, direction: Direction) -> ExactRound:
        """Refuse, since a pair given in doubles is not exact.

        Raises:
            UnsupportedError: always.
        """
        raise UnsupportedError("proofs are not implemented for pairs given in floating point; give a plan")
