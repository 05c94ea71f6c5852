"""Randomised response among any number of answers; with two it is the worst mechanism of its pure epsilon."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated

from hockeystick.pairs import BlackBoxPair
from hockeystick.pairs.exact import ExactFinite, black_box, exponential
from hockeystick.pairs.finite import SpacedPair, three_losses
from hockeystick.plan.mechanisms.base import Claim, Property, Status, SymmetricMechanism, claims_of, refused
from hockeystick.values.adjacency import Direction
from hockeystick.values.domains import ROUND_EPSILON, whole_numbers
from hockeystick.values.exact import decimal

BINARY = 2
"""Number of answers of the response that is the worst of all mechanisms with the same epsilon."""

_TIGHT = Claim(Status.TIGHT, "Kairouz, Oh, Viswanath 2015 [KOV15], Theorem 3.4; more answers: the pair itself")

_NO_ANSWER = refused(
    "randomized response does not define the answer of a person with a zero contribution; use adjacency 'replace-one' "
    "if it is a mixture of the true answers' responses, and mechanism 'approximate-dp' otherwise"
)
"""Refusal of zero-out: the law of the response to a zero contribution is not defined.

If that law is a mixture of the laws for the true answers, the pair of two answers is a bound, as ``H_b`` is jointly
convex. For other laws, and for no response at all, no bound is known.
"""


@dataclass(frozen=True)
class RandomizedResponse(SymmetricMechanism):
    """Response that gives the true one of several answers with odds e^epsilon to 1 against each of the others.

    The guarantee is for the plan's own adjacency, so the pair is the same under every adjacency, without a factor 2.
    The pair compares the laws of the response for two true answers, and by symmetry is the same for any two. Its masses
    are ``e^epsilon`` at loss epsilon, 1 at -epsilon, and 1 at 0 for each other answer, all divided by their sum.

    Args:
        epsilon: log of the odds; 0, or from 1e-6 to 100.
        categories: number of answers; with 2 of them the pair is the worst of all with this epsilon.

    Raises:
        InvalidInputError: a value is outside its domain.

    >>> RandomizedResponse(epsilon=0.5).pair(Direction.ADD).loss_range
    (-0.5, 0.5)
    """

    epsilon: Annotated[float, ROUND_EPSILON.of("log-odds of the true answer")]
    categories: Annotated[int, whole_numbers(least=BINARY).of("number of possible answers")] = BINARY

    name = "randomized-response"
    claims = claims_of(_TIGHT, _TIGHT)
    zeroed = _NO_ANSWER
    properties = frozenset({Property.GUARANTEE})

    @property
    def _binary(self) -> bool:
        return self.categories == BINARY or self.epsilon == 0

    def with_against_without(self) -> BlackBoxPair | SpacedPair:
        """Return the pair of any two answers, in either direction."""
        if self._binary:
            return BlackBoxPair(self.epsilon)
        log_total = math.log1p((self.categories - 1) * math.exp(-self.epsilon))
        log_rest = math.log(self.categories - BINARY) - self.epsilon - log_total
        return three_losses(decimal(self.epsilon), -log_total, log_rest)

    def exact(self, direction: Direction) -> ExactFinite:
        """Return the pair in exact numbers; for two answers it is the worst pair with this epsilon."""
        epsilon = decimal(self.epsilon)
        if self._binary:
            return black_box(epsilon)
        true, other = exponential((Fraction(1), Fraction(0))), exponential((Fraction(1), -epsilon))
        rest = exponential((Fraction(self.categories - BINARY), -epsilon))
        return ExactFinite((true, rest, other), (other, rest, true), epsilon)
