"""A black box known by Renyi divergences of some orders.

Let ``D_a <= e_a`` at the given orders a, and ``K(t) = t D_(1+t)``. K is convex, so between two orders it lies below the
chord of ``t e_(1+t)``. D_a does not decrease in a, so it is at most its bound at the next larger given order. Above the
largest order, no bound is known.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import Annotated, ClassVar

from hockeystick.pairs import RenyiCurve, moment
from hockeystick.plan.mechanisms.base import AS_GIVEN, MOST_LISTED, Claim, Mechanism, Property, Status, claims_of
from hockeystick.values.adjacency import Direction
from hockeystick.values.domains import ROUND_EPSILON, Domain, list_of
from hockeystick.values.errors import InvalidInputError

ORDER = Domain("a number greater than 1 and at most 1e9", {"exclusiveMinimum": 1, "maximum": 1e9})
"""Domain of an order."""

_RENYI = Claim(Status.RENYI, "Mironov 2017 [Mir17], Definition 4: the guarantee is one of Renyi divergences")


@dataclass(frozen=True, slots=True)
class ListedCurve(RenyiCurve):
    """Largest moments that bounds on the Renyi divergences of some orders allow; see the module docstring.

    Attributes:
        orders: increasing orders greater than 1.
        epsilons: bounds on the divergences.
    """

    orders: tuple[float, ...]
    epsilons: tuple[float, ...]

    loss_range: ClassVar[tuple[float, float]] = -math.inf, math.inf
    """The loss is unbounded."""

    def log_moment(self, t: float) -> float:
        """Return an upper bound on K(t), rounded up: from the chord between two orders or from the next order."""
        points = [(order - 1, epsilon) for order, epsilon in zip(self.orders, self.epsilons, strict=True)]
        best = min((t * epsilon for at, epsilon in points if at >= t), default=math.inf)
        for (low, first), (high, second) in pairwise(points):
            if low <= t <= high:
                share = (t - low) / (high - low)
                best = min(best, (1 - share) * low * first + share * high * second)
        return moment.rounded_up(best, best)


@dataclass(frozen=True)
class RDP(Mechanism):
    """Black box known by bounds on its Renyi divergences of some orders, under the plan's own adjacency.

    Args:
        orders: increasing orders greater than 1.
        epsilons: bound on the divergence of each order.

    Raises:
        InvalidInputError: a value is outside its domain, the lists differ in length, or orders do not increase.

    >>> round(RDP(orders=[2.0, 3.0], epsilons=[0.1, 0.2]).curve(Direction.ADD).log_moment(1.5), 12)
    0.25
    """

    orders: Annotated[tuple[float, ...], list_of(ORDER, most=MOST_LISTED).of("orders of the divergences")]
    epsilons: Annotated[
        tuple[float, ...], list_of(ROUND_EPSILON, most=MOST_LISTED).of("bounds on the divergences of these orders")
    ]

    name = "rdp"
    claims = claims_of(_RENYI, _RENYI)
    zeroed = AS_GIVEN
    properties = frozenset({Property.GUARANTEE})

    def __post_init__(self) -> None:
        super().__post_init__()
        self._check_lengths("epsilons", "orders")
        if any(low >= high for low, high in pairwise(self.orders)):
            raise InvalidInputError("orders must increase", "orders")

    def curve(self, direction: Direction) -> ListedCurve:
        """Return the largest moments that the guarantee allows."""
        return ListedCurve(self.orders, self.epsilons)
