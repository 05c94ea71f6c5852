"""A black box known by several (epsilon, delta) guarantees at once."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Annotated

from hockeystick.pairs.finite import FinitePair
from hockeystick.pairs.points import largest_curve
from hockeystick.plan.mechanisms.base import (
    AS_GIVEN,
    MOST_LISTED,
    Claim,
    Property,
    Status,
    SymmetricMechanism,
    claims_of,
)
from hockeystick.values.domains import EXACT_PROBABILITY, ROUND_EPSILON, ExactDomain, list_of

EPSILON = ExactDomain(0, 100)
"""Epsilon of a point, which is also 0 or from 1e-6 on, as that of any round."""

_TIGHT = Claim(Status.TIGHT, "proof in pairs/points.py: the worst mechanism with these guarantees")


@dataclass(frozen=True)
class PrivacyCurve(SymmetricMechanism):
    """Black box with several (epsilon, delta) guarantees under the plan's own adjacency, in both directions.

    It is accounted as the worst mechanism that has them all: the largest curve that the points allow.

    Args:
        epsilons: 0, or from 1e-6 to 100, as numbers or as text.
        deltas: the delta at each epsilon.

    Raises:
        InvalidInputError: a value is outside its domain, or the lists differ in length.

    >>> from hockeystick import Direction
    >>> PrivacyCurve(epsilons=[0.5, 1.0], deltas=[0.01, 1e-5]).pair(Direction.ADD).loss_range
    (-1.0, 1.0)
    """

    epsilons: Annotated[tuple[Fraction, ...], list_of(EPSILON, most=MOST_LISTED).of("epsilons of the guarantees")]
    deltas: Annotated[tuple[Fraction, ...], list_of(EXACT_PROBABILITY, most=MOST_LISTED).of("deltas of the guarantees")]

    name = "privacy-curve"
    claims = claims_of(_TIGHT, _TIGHT)
    zeroed = AS_GIVEN
    properties = frozenset({Property.GUARANTEE, Property.INFINITE_LOSS})

    def __post_init__(self) -> None:
        super().__post_init__()
        self._check_lengths("deltas", "epsilons")
        for number, epsilon in enumerate(self.epsilons, start=1):
            if epsilon:
                ROUND_EPSILON.check(float(epsilon), f"element {number} of epsilons")

    @cached_property
    def _pair(self) -> FinitePair:
        return largest_curve(self.epsilons, self.deltas)

    def with_against_without(self) -> FinitePair:
        """Return the pair of the largest curve, which is its own mirror image."""
        return self._pair
