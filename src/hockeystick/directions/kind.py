"""A kind of rounds, as directions are made of it: what is known of one of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from hockeystick.pairs import RenyiCurve
from hockeystick.pairs.sides import Known
from hockeystick.values.adjacency import Direction

if TYPE_CHECKING:
    from hockeystick.pairs.exact import ExactRound


class Kind(Protocol):
    """A kind of rounds: what is known of one of them in each direction."""

    def known(self, direction: Direction) -> Known:
        """The pair of one round, or the pairs, with the side of the truth that each is on.

        Raises:
            UnsupportedError: no dominating pair is proven.
        """
        ...

    def curve(self, direction: Direction) -> RenyiCurve:
        """The Renyi curve of one round: that of its pair, or a bound where there is no pair.

        Raises:
            UnsupportedError: nothing is proven.
        """
        ...

    def exact(self, direction: Direction) -> ExactRound:
        """One round in exact numbers, for a proof.

        Raises:
            UnsupportedError: no dominating pair is proven, or no proof is implemented.
        """
        ...
