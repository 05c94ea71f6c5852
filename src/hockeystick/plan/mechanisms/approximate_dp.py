"""A black box: a mechanism of which only an (epsilon, delta) guarantee is known."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from hockeystick.pairs import BlackBoxPair
from hockeystick.pairs.exact import ExactFinite, black_box
from hockeystick.plan.mechanisms.base import AS_GIVEN, Claim, Property, Status, SymmetricMechanism, claims_of
from hockeystick.values.adjacency import Direction
from hockeystick.values.domains import ROUND_DELTA, ROUND_EPSILON
from hockeystick.values.exact import decimal

_TIGHT = Claim(
    Status.TIGHT, "Kairouz, Oh, Viswanath 2015 [KOV15], Theorem 3.4: the worst mechanism with that guarantee"
)


@dataclass(frozen=True)
class ApproximateDP(SymmetricMechanism):
    """Black box that satisfies (epsilon, delta), accounted as the worst such mechanism.

    The guarantee is for the plan's own adjacency, so the pair is the same under every adjacency, without a factor 2.

    Args:
        epsilon: epsilon, 0 or greater.
        delta: probability of unbounded loss, 0 <= delta < 1.

    Raises:
        InvalidInputError: a value is outside its domain.

    >>> ApproximateDP(epsilon=0.1, delta=1e-8).pair(Direction.ADD).loss_range
    (-0.1, 0.1)
    """

    epsilon: Annotated[float, ROUND_EPSILON.of("the guarantee's epsilon")]
    delta: Annotated[float, ROUND_DELTA.of("the guarantee's delta")]

    name = "approximate-dp"
    claims = claims_of(_TIGHT, _TIGHT)
    zeroed = AS_GIVEN
    properties = frozenset({Property.GUARANTEE, Property.INFINITE_LOSS})

    def with_against_without(self) -> BlackBoxPair:
        """Return the worst pair with this guarantee, which does not depend on the direction."""
        return BlackBoxPair(self.epsilon, self.delta)

    def exact(self, direction: Direction) -> ExactFinite:
        """Return the guarantee as a round in exact numbers."""
        return black_box(decimal(self.epsilon), decimal(self.delta))
