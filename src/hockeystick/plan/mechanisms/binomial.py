"""Binomial noise on a count: the number of heads among many coins."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Annotated

from hockeystick.pairs.finite import FinitePair
from hockeystick.plan.mechanisms.base import AS_ABSENT, MOST_LISTED, Claim, Status, claims_of, refused
from hockeystick.plan.mechanisms.finite import FiniteMechanism
from hockeystick.values.domains import Domain, whole_numbers
from hockeystick.values.exact import decimal

_TIGHT = Claim(Status.TIGHT, "binomial laws are log-concave: proof in pairs/discrete.py")

_REPLACED = refused("no dominating pair is proven for asymmetric noise when a record is replaced")


@dataclass(frozen=True)
class Binomial(FiniteMechanism):
    """Binomial noise on a count to which one record adds a whole number.

    With the record the count is larger by up to ``sensitivity``, so the largest outcomes are possible only with it, and
    the smallest only without it.

    Args:
        trials: number of coins.
        probability: probability of heads.
        sensitivity: largest amount that one record adds to the count, a whole number.

    Raises:
        InvalidInputError: a value is outside its domain.

    >>> from hockeystick import Direction
    >>> Binomial(trials=10, probability=0.5).pair(Direction.REMOVE).infinite_mass == 2**-10
    True
    """

    trials: Annotated[int, whole_numbers(1, MOST_LISTED).of("number of coin flips")]
    probability: Annotated[
        float,
        Domain("a number from 1e-6 to 0.999999", {"minimum": 1e-6, "maximum": 0.999999}, "probability of heads"),
    ] = 0.5
    sensitivity: Annotated[int, whole_numbers(1, MOST_LISTED).of("maximum increase in the count due to one record")] = 1

    name = "binomial"
    claims = claims_of(_TIGHT, _REPLACED)
    zeroed = AS_ABSENT

    @cached_property
    def _laws(self) -> FinitePair:
        """The law with the record against the law without it."""
        heads, n = decimal(self.probability), self.trials
        above, below, whole = heads.numerator, heads.denominator - heads.numerator, heads.denominator**n
        law = [Fraction(math.comb(n, k) * above**k * below ** (n - k), whole) for k in range(n + 1)]
        more = [Fraction(0)] * self.sensitivity
        return FinitePair((*more, *law), (*law, *more))
