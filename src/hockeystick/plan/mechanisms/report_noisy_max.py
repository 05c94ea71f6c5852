"""Report-noisy-max, which releases the candidate with the largest noisy utility, accounted by its pure epsilon.

Candidates have utilities of which each changes by at most D between neighbours. Independent noise Z is added to each,
the candidate with the largest sum is chosen, and only its name is released.

**Lemma** (after Dwork, Roth 2014 [DR14], Claim 3.9). Let ``P(Z >= r + c) >= e^(-c/b) P(Z >= r)`` for all r and all
``c >= 0``, as of Laplace, exponential and Gumbel noise of scale b. Then the choice satisfies ``epsilon = 2 D / b``;
where all utilities change in one direction at a time, ``epsilon = D / b``.

Proof. Fix the noise of all candidates but y. On one dataset y wins if its noise is at least some r; on the neighbour,
if it is at least some r', and ``r' <= r + 2 D``, as y's own utility and the best of the others change by at most D each
(in one direction at a time: by D together). So the chance on the neighbour is at least ``e^(-2D/b)`` of that on the
first; average over the noise of the others. Gumbel noise of scale b: with ``u = e^(-r/b)`` the ratio is ``(1 - e^(-u
q)) / (1 - e^-u)``, ``q = e^(-c/b) <= 1``, and ``1 - e^(-uq) >= q (1 - e^-u)`` as ``1 - e^-x`` is concave and 0 at 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from hockeystick.pairs import BlackBoxPair
from hockeystick.plan.mechanisms.base import AS_GIVEN, Claim, Property, Status, SymmetricMechanism, claims_of
from hockeystick.values.domains import ROUND_EPSILON

_ABOVE = Claim(
    Status.UPPER, "Dwork, Roth 2014 [DR14], Claim 3.9: pure epsilon; proof in plan/mechanisms/report_noisy_max.py"
)


@dataclass(frozen=True)
class ReportNoisyMax(SymmetricMechanism):
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

    epsilon: Annotated[float, ROUND_EPSILON.of("pure epsilon of one selection")]

    name = "report-noisy-max"
    claims = claims_of(_ABOVE, _ABOVE)
    zeroed = AS_GIVEN
    properties = frozenset({Property.GUARANTEE})

    def with_against_without(self) -> BlackBoxPair:
        """Return the worst pair with this epsilon, which does not depend on the direction."""
        return BlackBoxPair(self.epsilon)
