"""The exponential mechanism, by the range of its losses.

A candidate y is chosen with probability proportional to ``exp(epsilon u(y) / (2 D))``, where no utility u(y) changes by
more than D between neighbours: the logarithm of each weight changes by ``epsilon / 2`` either way, and that of their
sum by one number, so that all losses lie in an interval of length epsilon: bounded range (Durfee, Rogers 2019 [DR19]).
The same holds for ``exp(epsilon u(y) / D)`` if all utilities change in one direction at a time. Report-noisy-max with
Gumbel noise is the same mechanism.

"The composition" of k such rounds may mean **three numbers** (Dong, Durfee, Rogers 2020 [DDR20]):

1. the largest delta if all rounds are fixed beforehand (the non-adaptive optimum, solved there): the best t of k
   rounds G_t of two losses (``pairs/bounded_range.py``), all with one t;
2. the largest delta if each round may depend on the answers before (the adaptive optimum): the best t of every next
   round;
3. the composition of the pair that dominates one round.

Each is at least as large as the one before. For epsilon 0.5 and 10 rounds they are 5.0e-4, 5.6e-4 and 1.8e-3 at 2.5.

**The answer** is between two ends. For up to 16 rounds the upper end is the second number, slightly enlarged by a grid
(``pairs/bounded_blocks.py``); for more rounds it is the composition of such blocks, or the bound from the moments of
bounded range if that is smaller. Both hold however rounds depend on each other, and on others. The lower end is a
non-adaptive composition of G_t with t in sixteenths of epsilon. Each G_t is an exponential mechanism with two
candidates whose utilities change by D in opposite directions. That change multiplies the odds between the two by
``e^epsilon``, and suitable odds before it give any t. The first number exceeds the lower end by the error of the
sixteenths. For one round both ends are the closed form ``epsilon + 2 log(1 - sqrt(delta (1 - e^-epsilon)))`` of the
largest curve, which the best t of each delta attains.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Annotated

from hockeystick.pairs import BlackBoxPair, RenyiCurve
from hockeystick.pairs.bounded_blocks import blocks
from hockeystick.pairs.bounded_range import BoundedRangeCurve, TwoLossPair
from hockeystick.pairs.laplace_window import WindowPair
from hockeystick.pairs.sides import Between
from hockeystick.plan.mechanisms.base import AS_GIVEN, Claim, Property, Status, SymmetricMechanism, claims_of
from hockeystick.values.adjacency import Direction
from hockeystick.values.domains import ROUND_EPSILON
from hockeystick.values.exact import decimal

SIXTEENTHS = (1, 4, 6, 7, 8, 9, 10, 12, 15)
"""Shares t / epsilon of the tried rounds of two losses, each with its mirror image; any of them is sound."""

WHY = (
    "the upper end lets each round depend on earlier answers, and the lower end uses one exponential mechanism with "
    "two candidates"
)

_BRACKET = Claim(Status.BRACKET, "Dong, Durfee, Rogers 2020 [DDR20]: bounded range; proofs in pairs/bounded_range.py")


@dataclass(frozen=True)
class Exponential(SymmetricMechanism):
    """Choice among candidates with probabilities proportional to ``exp(epsilon utility / (2 sensitivity))``.

    Any mechanism of bounded range has the same accounting. The sensitivity is that of the utilities under the plan's
    own adjacency, so the answer is the same under every adjacency, without a factor 2.

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
        """Return the dominating pair of one round, its moments, and lower pairs, each of which has only two losses."""
        if not self.epsilon:
            return Between(self.pair(direction), (self.pair(direction),), WHY)
        epsilon, shares = decimal(self.epsilon), [Fraction(number, 16) for number in SIXTEENTHS]
        if direction is Direction.ADD:
            shares.reverse()  # the same instances in the other direction
        below = tuple(TwoLossPair(epsilon, share) for share in shares)
        # one round has the largest curve: its delta at each epsilon is that of some G_t (``pairs/bounded_range.py``)
        return Between(self.pair(direction), below, WHY, BoundedRangeCurve(epsilon), True, partial(blocks, epsilon))

    def curve(self, direction: Direction) -> RenyiCurve:
        """Return the largest moments of bounded range, which are below those of the pair."""
        return BoundedRangeCurve(decimal(self.epsilon)) if self.epsilon else BlackBoxPair(0.0)
