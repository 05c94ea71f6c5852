"""Report-noisy-max, which releases the candidate with the largest noisy utility, accounted by its pure epsilon.

The utility of each candidate changes by at most D between neighbours. Independent noise Z is added to each utility, the
candidate with the largest noisy utility is chosen, and only its name is released.

**Lemma** (after Dwork, Roth 2014 [DR14], Claim 3.9). Let ``P(Z >= r + c) >= e^(-c/b) P(Z >= r)`` for all r and all ``c
>= 0``, as is the case for Laplace, exponential and Gumbel noise of scale b. Then the choice satisfies pure ``epsilon =
2 D / b``. If, between neighbours, all utilities rise or all fall, it satisfies ``epsilon = D / b``.

Proof. Fix the noise of all candidates but y. On one dataset y wins if its noise is at least some r, and on the
neighbour if it is at least some r'. Here ``r' <= r + 2 D``, as y's own utility and the best noisy utility of the others
change by at most D each (by D together if all utilities rise or all fall). So the probability that y wins on the
neighbour is at least ``e^(-2D/b)`` times the probability that it wins on the first dataset. Averaging over the noise of
the others completes the proof. For Gumbel noise of scale b, ``P(Z >= r + c) / P(Z >= r)`` is ``(1 - e^(-u q)) / (1 -
e^-u)`` with ``u = e^(-r/b)`` and ``q = e^(-c/b) <= 1``. It is at least q, since ``1 - e^(-uq) >= q (1 - e^-u)``, as ``1
- e^-x`` is concave and 0 at 0.
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
    """Release of the candidate with the largest noisy utility, for noise of scale ``2 sensitivity / epsilon``.

    The noise is Laplace, exponential or Gumbel. Half that scale suffices if, between neighbours, all utilities rise or
    all fall. With Gumbel noise this is the exponential mechanism, for which tighter bounds are known
    (:class:`Exponential`); with exponential noise it is :class:`PermuteAndFlip`. The sensitivity is the largest change
    of a utility under the plan's own adjacency.

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
