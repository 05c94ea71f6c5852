"""A kind of rounds as a user with several records sees it: what is known of their records together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from hockeystick.pairs import DominatingPair, RenyiCurve
from hockeystick.pairs.exact import ExactRound
from hockeystick.pairs.sides import Known
from hockeystick.values.adjacency import Direction
from hockeystick.values.errors import UnsupportedError

if TYPE_CHECKING:
    from hockeystick.plan.round import Round


@dataclass(frozen=True)
class OfUnit:
    """A kind of rounds as a user with several records sees it.

    Attributes:
        round: what is run.
        records: most records of one user; at least 2.
    """

    round: Round
    records: int

    def known(self, direction: Direction) -> Known:
        """The pair of one round for a user, with its side.

        Raises:
            UnsupportedError: none is proven, or only Renyi divergences are known.
        """
        found = self._found(direction)
        if isinstance(found, RenyiCurve):
            raise UnsupportedError(
                f"of mechanism {self.round.mechanism.name!r} only the Renyi divergence for users is bounded: use "
                'accountant="rdp" or "auto"'
            )
        return found

    def pair(self, direction: Direction) -> DominatingPair:
        """The dominating pair of one round for a user.

        Raises:
            UnsupportedError: none is proven.
        """
        return self.known(direction).above

    def curve(self, direction: Direction) -> RenyiCurve:
        """The Renyi curve of one round for a user.

        Raises:
            UnsupportedError: none is proven.
        """
        found = self._found(direction)
        return found if isinstance(found, RenyiCurve) else found.above

    def exact(self, direction: Direction) -> ExactRound:
        """Refused: proofs know rounds of single records.

        Raises:
            UnsupportedError: always.
        """
        raise UnsupportedError("no proof is implemented for users with several records; leave proof out")

    def _found(self, direction: Direction) -> Known | RenyiCurve:
        found = self.round.of_many(direction, self.records)
        if found is None:
            raise UnsupportedError(
                f"mechanism {self.round.mechanism.name!r} with sampling {self.round.sampling.name!r} under "
                f"{direction.value!r}: no pair is proven for users with several records"
            )
        return found
