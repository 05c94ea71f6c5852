"""Report-noisy-max, which releases the candidate with the largest noisy utility, accounted by its pure epsilon."""

from __future__ import annotations

from dataclasses import dataclass

from hockeystick.plan.mechanisms.base import AS_GIVEN, Claim, Status, claims_of
from hockeystick.plan.mechanisms.noisy_selection import NoisySelection

_ABOVE = Claim(
    Status.UPPER, "Dwork, Roth 2014 [DR14], Claim 3.9: pure epsilon; proof in plan/mechanisms/noisy_selection.py"
)


@dataclass(frozen=True)
class ReportNoisyMax(NoisySelection):
    """Release of the candidate whose utility with noise of scale ``2 sensitivity / epsilon`` is the largest.

    Laplace, exponential or Gumbel noise; half that scale suffices if all utilities change in one direction at a time.
    With Gumbel noise it is the exponential mechanism, for which more is known (:class:`Exponential`); with exponential
    noise it is :class:`PermuteAndFlip`. The sensitivity is that under the plan's own adjacency.

    Args:
        epsilon: pure epsilon of one choice; 0 or greater.

    Raises:
        InvalidInputError: a value is outside its domain.

    >>> from hockeystick import Direction
    >>> ReportNoisyMax(epsilon=0.5).pair(Direction.ADD)
    BlackBoxPair(epsilon=0.5, delta=0.0)
    """

    name = "report-noisy-max"
    claims = claims_of(_ABOVE, _ABOVE)
    zeroed = AS_GIVEN
