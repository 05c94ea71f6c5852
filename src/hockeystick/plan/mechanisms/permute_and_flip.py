"""Permute-and-flip: candidates are tried in random order, and each is chosen with its own probability.

McKenna, Sheldon 2020 [MS20]: in a uniformly random order each candidate y is chosen, and the search ended, with
probability ``exp(-epsilon (u* - u(y)) / (2 D))``, u* being the largest utility; the best one is chosen for sure when
its turn comes. It is epsilon-differentially private, as shown there. It is also the same as report-noisy-max with
exponential noise (Ding, Kifer, Saghaian, Steinke, Wang, Xiao, Zhang 2021 [DKS+21]), so the proof in
``report_noisy_max.py`` covers it, too.

It is **not of bounded range** epsilon, so the bounds for the exponential mechanism do not hold. Let two candidates be
equally good on one dataset; on its neighbour, let the first candidate be worse than the second by 2 D. Then the choice
has the law (1/2, 1/2) on the one dataset and ``(e^-epsilon / 2, 1 - e^-epsilon / 2)`` on the neighbour, where the worse
candidate is chosen if it comes first and its coin shows heads. The losses are epsilon and ``-log(2 - e^-epsilon)``: a
range of 1.49 for epsilon 1.

In that instance the two utilities change by D in opposite directions. It gives the lower end of every answer, in either
direction; the upper end follows from the pure epsilon alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from hockeystick.pairs.finite import FinitePair
from hockeystick.pairs.points import exponential
from hockeystick.pairs.sides import Between
from hockeystick.plan.mechanisms.base import AS_GIVEN, Claim, Status, claims_of
from hockeystick.plan.mechanisms.report_noisy_max import ReportNoisyMax
from hockeystick.values.adjacency import Direction
from hockeystick.values.exact import decimal

WHY = "the upper end uses only the pure epsilon of a selection, and the lower end has two candidates, one getting worse"

_BRACKET = Claim(
    Status.BRACKET, "McKenna, Sheldon 2020 [MS20], Theorem 1; proof in plan/mechanisms/permute_and_flip.py"
)


@dataclass(frozen=True)
class PermuteAndFlip(ReportNoisyMax):
    """Permute-and-flip with the acceptance probability ``exp(-epsilon (best - utility) / (2 sensitivity))``.

    The sensitivity is the largest change of a utility under the plan's own adjacency.

    Args:
        epsilon: pure epsilon of one choice; 0 or greater.

    Raises:
        InvalidInputError: a value is outside its domain.

    >>> PermuteAndFlip(epsilon=0.5).pair(Direction.ADD)
    BlackBoxPair(epsilon=0.5, delta=0.0)
    """

    name = "permute-and-flip"
    claims = claims_of(_BRACKET, _BRACKET)
    zeroed = AS_GIVEN

    def known(self, direction: Direction) -> Between:
        """Return the worst pair with this epsilon above, and below the pair of two candidates in both orders."""
        half = Fraction(1, 2)
        worse = half * exponential(-decimal(self.epsilon))
        one = FinitePair((half, half), (worse, 1 - worse))
        below = (one.mirror, one) if direction is Direction.ADD else (one, one.mirror)
        return Between(self.pair(direction), below, WHY)
