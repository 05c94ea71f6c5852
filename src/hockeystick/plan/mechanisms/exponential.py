"""The exponential mechanism, by the range of its losses.

A candidate y is chosen with probability proportional to ``exp(epsilon u(y) / (2 D))``, where no utility u(y) changes by
more than D between neighbours. The logarithm of each weight changes by at most ``epsilon / 2`` either way, and the
logarithm of the sum of the weights changes by a number that is the same for all candidates. So all losses lie in an
interval of length epsilon, which is called bounded range (Durfee, Rogers 2019 [DR19]). The same holds for ``exp(epsilon
u(y) / D)`` if, between neighbours, all utilities rise or all fall. Report-noisy-max with Gumbel noise is the same
mechanism.

"The composition" of k such rounds may mean **three numbers** (Dong, Durfee, Rogers 2020 [DDR20]):

1. the largest delta if all rounds are fixed beforehand (the non-adaptive optimum, solved there): all k rounds are the
   same mechanism G_t, which has two losses (``pairs/bounded_range.py``), with the best t;
2. the largest delta if each round may depend on the answers before (the adaptive optimum): every round is a G_t, with
   the best t for that round;
3. the composition of the pair that dominates one round.

Each is at least as large as the one before. For 10 rounds of epsilon 0.5, the three deltas at epsilon 2.5 are 5.0e-4,
5.6e-4 and 1.8e-3.

**The answer** is between two ends. For up to 16 rounds the upper end is the second number, slightly enlarged by a grid
(``pairs/bounded_blocks.py``); for more rounds it is the composition of blocks of up to 16 rounds, or the bound from the
largest moments of bounded range if that is smaller. Both hold however the rounds depend on each other and on other
rounds of the plan. The lower end is a non-adaptive composition of G_t with t in sixteenths of epsilon. Each G_t is an
exponential mechanism with two candidates whose utilities change by D in opposite directions. That change multiplies the
odds between the two candidates by ``e^epsilon``, and every t is attained by suitable odds before the change. The lower
end is below the first number only because t is a multiple of a sixteenth. For one round both ends are ``epsilon + 2
log(1 - sqrt(delta (1 - e^-epsilon)))``, the closed form of the largest curve, which is attained by the best t for each
delta.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Annotated

from hockeystick.pairs import BlackBoxPair, RenyiCurve
from hockeystick.pairs.bounded_blocks import blocks
from hockeystick.pairs.bounded_range import BoundedRangeCurve, two_losses
from hockeystick.pairs.laplace_window import WindowPair
from hockeystick.pairs.sides import Between
from hockeystick.plan.mechanisms.base import AS_GIVEN, Claim, Property, Status, SymmetricMechanism, claims_of
from hockeystick.values.adjacency import Direction
from hockeystick.values.domains import ROUND_EPSILON
from hockeystick.values.exact import decimal

SIXTEENTHS = (1, 4, 6, 7, 8, 9, 10, 12, 15)
"""Values of t for the lower pairs G_t, in sixteenths of epsilon, each with its mirror image; any values are sound."""

WHY = (
    "the upper end lets each round depend on earlier answers, and the lower end uses one exponential mechanism with "
    "two candidates"
)

_BRACKET = Claim(Status.BRACKET, "Dong, Durfee, Rogers 2020 [DDR20]: bounded range; proofs in pairs/bounded_range.py")


@dataclass(frozen=True)
class Exponential(SymmetricMechanism):
    """Choice among candidates with probabilities proportional to ``exp(epsilon utility / (2 sensitivity))``.

    Any mechanism of bounded range has the same accounting. The sensitivity is the largest change of a utility under the
    plan's own adjacency, so the answer is the same under every adjacency, without a factor 2.

    Args:
        epsilon: range of the losses, which is also the pure epsilon of a round; 0 or greater.

    Raises:
        InvalidInputError: a value is outside its domain.

    >>> Exponential(epsilon=0.5).pair(Direction.ADD).loss_range
    (-0.5, 0.5)
    """

    epsilon: Annotated[float, ROUND_EPSILON.of("range of the losses: the exponent's epsilon")]

    name = "exponential"
    claims = claims_of(_BRACKET, _BRACKET)
    zeroed = AS_GIVEN
    properties = frozenset({Property.GUARANTEE})

    def with_against_without(self) -> WindowPair | BlackBoxPair:
        """Return the pair that dominates one round, which is its own mirror image."""
        return WindowPair.bounded_range(decimal(self.epsilon)) if self.epsilon else BlackBoxPair(0.0)

    def known(self, direction: Direction) -> Between:
        """Return the dominating pair of one round, its Renyi curve, and lower pairs with only two losses each."""
        if not self.epsilon:
            return Between(self.pair(direction), (self.pair(direction),), WHY)
        epsilon, shares = decimal(self.epsilon), [Fraction(number, 16) for number in SIXTEENTHS]
        if direction is Direction.ADD:
            shares.reverse()  # the same instances in the other direction
        below = tuple(two_losses(epsilon, share) for share in shares)
        # one round has the largest curve: its delta at each epsilon is that of some G_t (``pairs/bounded_range.py``)
        return Between(self.pair(direction), below, WHY, BoundedRangeCurve(epsilon), True, partial(blocks, epsilon))

    def curve(self, direction: Direction) -> RenyiCurve:
        """Return the largest moments that bounded range allows, which are below the moments of the dominating pair."""
        return BoundedRangeCurve(decimal(self.epsilon)) if self.epsilon else BlackBoxPair(0.0)
