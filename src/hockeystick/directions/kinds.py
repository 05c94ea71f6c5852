"""Interface of a kind of rounds, and two implementations: a kind without lower bounds, and a kind given by its pairs.

A kind is all rounds with the same mechanism and the same sampling scheme. Plans have their own implementations.
"""

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
    """Interface of a kind of rounds, which gives the pairs of one round in each direction."""

    def known(self, direction: Direction) -> Known:
        """Return the pair or pairs of one round, for upper and for lower bounds (``pairs/sides.py``).

        Raises:
            UnsupportedError: no dominating pair is proved.
        """
        ...

    def curve(self, direction: Direction) -> RenyiCurve:
        """Return a Renyi curve that is an upper bound for one round: the curve of its dominating pair, if it has one.

        Raises:
            UnsupportedError: no guarantee is proved.
        """
        ...

    def exact(self, direction: Direction) -> ExactRound:
        """Return one round in exact numbers, for a proof.

        Raises:
            UnsupportedError: no dominating pair is proved, or a proof in exact numbers is not implemented.
        """
        ...


@dataclass(frozen=True)
class FromAbove:
    """A kind of rounds with its upper bounds only.

    Lower bounds assume a single record that is in the data of all composed rounds. This class is for compositions
    in which such a record may not exist.

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
            UnsupportedError: no guarantee is proved.
        """
        return self.kind.curve(direction)

    def exact(self, direction: Direction) -> ExactRound:
        """Raise an error, since a proof also needs a lower end.

        Raises:
            UnsupportedError: always.
        """
        raise UnsupportedError("proofs are not implemented for plans whose answers are upper bounds only")


@dataclass(frozen=True)
class Given:
    """A kind of rounds that is given directly by its pairs, or by Renyi curves.

    Attributes:
        given: pairs or Renyi curve of one round in each direction.
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
        """Return the Renyi curve given for one round, or else the dominating pair given, which is also a Renyi curve.

        Raises:
            KeyError: nothing is given in that direction.
        """
        found = self.given[direction]
        return found if isinstance(found, RenyiCurve) else found.above

    def exact(self, direction: Direction) -> ExactRound:
        """Raise an error, since a pair given in doubles is not exact.

        Raises:
            UnsupportedError: always.
        """
        raise UnsupportedError("proofs are not implemented for pairs given in floating point; give a plan")
