"""No sampling: every round uses every record.

**Setting a record's contribution to zero.** With and without the contribution, the batch is all of the data. For noise
on a sum, a record that adds zero gives the law of the data without it, so both orders of the laws have the pairs of
``remove`` and ``add``. A guarantee for zero-out is composed as it is (``plan/mechanisms/base.py``).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from hockeystick.pairs import RenyiCurve
from hockeystick.pairs.sides import Known
from hockeystick.plan.mechanisms.base import Claim, Mechanism
from hockeystick.plan.sampling.base import Sampling, Zeroed, own_known
from hockeystick.values.adjacency import Direction

if TYPE_CHECKING:
    from hockeystick.pairs.exact import ExactRound


@dataclass(frozen=True)
class NoSampling(Sampling):
    """No sampling: the mechanism's own pair."""

    name = "none"
    zeroed = Zeroed.AS_ABSENT
    assumption = "every round sees the whole dataset; no amplification is claimed"
    distance_suffices = True

    @classmethod
    def claim(cls, mechanism: type[Mechanism], direction: Direction) -> Claim:
        """Return the mechanism's own claim."""
        return mechanism.claims[direction]

    def known(self, mechanism: Mechanism, direction: Direction) -> Known:
        """Return the mechanism's own pair, marked as tight or as an upper pair, with any lower pairs."""
        return own_known(mechanism, direction)

    def of_many(self, mechanism: Mechanism, direction: Direction, records: int) -> Known | RenyiCurve | None:
        """Return the mechanism's own pair or curve; a contribution set to zero counts as an absent record."""
        return mechanism.of_many(direction.order, records)

    def curve(self, mechanism: Mechanism, direction: Direction) -> RenyiCurve:
        """Return the mechanism's own Renyi curve."""
        return mechanism.curve(direction)

    def exact(self, mechanism: Mechanism, direction: Direction) -> ExactRound | None:
        """Return the mechanism's own round in exact numbers."""
        return mechanism.exact(direction)


NO_SAMPLING = NoSampling()
"""Default of rounds."""
