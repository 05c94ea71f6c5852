"""Interface of a kind of rounds; the rounds of a direction consist of such kinds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from hockeystick.pairs import RenyiCurve
from hockeystick.pairs.sides import Known
from hockeystick.values.adjacency import Direction

if TYPE_CHECKING:
    from hockeystick.pairs.exact import ExactRound


class Kind(Protocol):
    """Kind of rounds, with its pairs in each direction."""

    def known(self, direction: Direction) -> Known:
        """Return the pair or pairs of one round, each with its side of the truth.

        Raises:
            UnsupportedError: no dominating pair is proved."""
        ...

    def curve(self, direction: Direction) -> RenyiCurve:
        """Return the Renyi curve of one round: its pair's curve, or else an upper bound.

        Raises:
            UnsupportedError: nothing is proved."""
        ...

    def exact(self, direction: Direction) -> ExactRound:
        """Return one round in exact numbers, for a proof.

        Raises:
            UnsupportedError: no dominating pair is proven, or no proof is implemented.
        """
        ...
