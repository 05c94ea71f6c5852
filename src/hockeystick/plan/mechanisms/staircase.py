"""The staircase mechanism, the noise of smallest expected size that satisfies pure epsilon.

The mechanism of Geng, Viswanath 2016 [GV16] adds noise to a number that changes by at most D between neighbours. Write
e for ``e^-epsilon``. On either side of 0, the density of the noise falls by the factor e once in every interval of
length D, first at ``gamma D``. It is ``a e^k`` for ``k D <= |x| < (k + gamma) D`` and ``a e^(k+1)`` for ``(k + gamma) D
<= |x| < (k + 1) D``, where a is such that ``2 a D (gamma + e (1 - gamma)) = 1 - e``.

**The pair.** Let the numbers differ by d, ``0 <= d <= D``. A density falls at most once over a length D, so the loss is
epsilon, 0 or -epsilon. Let A be the P-mass where the loss is epsilon. The law is symmetric, so the Q-mass where the
loss is -epsilon is A, too, and ``delta = A (1 - e^(eps - epsilon))`` for ``0 <= eps <= epsilon``. So of two such pairs
the one with the larger A dominates, at every eps of either sign. Now ``A (1 - e)`` is the total variation distance. The
density f is symmetric and does not increase in |x|, so ``f(x - d) > f(x)`` only beyond ``x = d / 2``. The distance is
therefore ``P(|Z| <= d / 2)``, which grows with d. So d = D is the worst, and is attained: the pair is tight, with

    A = P(|Z| <= D/2) / (1 - e) = (min(gamma, 1/2) + e max(1/2 - gamma, 0)) / (gamma + e (1 - gamma)),

and the mass at loss 0 is ``1 - A (1 + e) = |gamma - 1/2| (1 - e) / (gamma + e (1 - gamma))``, times e where gamma is
below 1/2. At the gamma of least expected size, ``1 / (1 + e^(epsilon/2))``, these are ``A = 1 - h / 2`` and ``h (1 -
h)^2 / 2`` with ``h = e^(-epsilon/2)``.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Annotated

from hockeystick.pairs import BlackBoxPair
from hockeystick.pairs.exact import ExactFinite, black_box, exponential
from hockeystick.pairs.finite import SpacedPair, three_losses
from hockeystick.plan.mechanisms.base import AS_GIVEN, Claim, Property, Status, SymmetricMechanism, claims_of
from hockeystick.values.adjacency import Direction
from hockeystick.values.domains import ROUND_EPSILON, SENSITIVITY, Domain
from hockeystick.values.exact import PRECISE, decimal

HALF = Fraction(1, 2)
"""Step at which the mechanism is binary randomised response for the adversary."""

_TIGHT = Claim(Status.TIGHT, "Geng, Viswanath 2016 [GV16]; proof of the pair in plan/mechanisms/staircase.py")


@dataclass(frozen=True)
class Staircase(SymmetricMechanism):
    """Staircase-shaped noise on a number that changes by at most ``sensitivity`` between neighbours.

    The sensitivity is taken under the plan's own adjacency, so the pair is the same under every adjacency, without a
    factor 2. The noise is proportional to the sensitivity, which therefore does not affect the answer.

    Args:
        epsilon: pure epsilon of the mechanism; 0 or greater.
        sensitivity: largest change of the number between neighbours.
        gamma: share of each stair at its higher level, from 0 to 1; by default the share with the smallest expected
            noise, ``1 / (1 + e^(epsilon / 2))``.

    Raises:
        InvalidInputError: a value is outside its domain.

    >>> Staircase(epsilon=0.5).pair(Direction.ADD).loss_range
    (-0.5, 0.5)
    """

    epsilon: Annotated[float, ROUND_EPSILON.of("pure epsilon of the mechanism")]
    sensitivity: Annotated[float, SENSITIVITY.of("maximum change in the number between neighbours")] = 1.0
    gamma: Annotated[
        float | None,
        Domain("a number from 0 to 1", {"minimum": 0, "maximum": 1}, "fraction of each stair at the higher level"),
    ] = None

    name = "staircase"
    claims = claims_of(_TIGHT, _TIGHT)
    zeroed = AS_GIVEN
    properties = frozenset({Property.GUARANTEE})

    @property
    def _binary(self) -> bool:
        return self.epsilon == 0 or (self.gamma is not None and decimal(self.gamma) == HALF)

    def with_against_without(self) -> BlackBoxPair | SpacedPair:
        """Return the pair at the largest difference, in either direction."""
        if self._binary:
            return BlackBoxPair(self.epsilon)
        with localcontext(PRECISE):
            epsilon, half = Decimal(repr(self.epsilon)), Decimal("0.5")
            fall = (-epsilon).exp()
            gamma = 1 / (1 + (epsilon / 2).exp()) if self.gamma is None else Decimal(repr(self.gamma))
            total = gamma + fall * (1 - gamma)
            share = (half if gamma > half else gamma + fall * (half - gamma)) / total
            rest = abs(gamma - half) * (1 - fall) / total * (1 if gamma > half else fall)
            return three_losses(decimal(self.epsilon), float(share.ln()), float(rest.ln()))

    def exact(self, direction: Direction) -> ExactFinite:
        """Return the masses of the three losses in exact numbers, up to a common factor."""
        epsilon = decimal(self.epsilon)
        if self._binary:
            return black_box(epsilon)
        one, zero = Fraction(1), Fraction(0)
        if self.gamma is None:
            high, rest = [(one, zero), (-HALF, -epsilon / 2)], [(HALF, -epsilon / 2), (-one, -epsilon)]
            rest.append((HALF, -3 * epsilon / 2))
        elif (gamma := decimal(self.gamma)) > HALF:
            high, rest = [(HALF, zero)], [(gamma - HALF, zero), (HALF - gamma, -epsilon)]
        else:
            high = [(gamma, zero), (HALF - gamma, -epsilon)]
            rest = [(HALF - gamma, -epsilon), (gamma - HALF, -2 * epsilon)]
        low = [(factor, power - epsilon) for factor, power in high]
        masses = exponential(*high), exponential(*rest), exponential(*low)
        return ExactFinite(masses, masses[::-1], epsilon)
