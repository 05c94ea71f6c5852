"""Gaussian differential privacy: squared distances add up."""

from __future__ import annotations

import math
from typing import ClassVar, Self

from hockeystick.accountants.shared.gaussian_curve import epsilon_ends, log_delta_ends
from hockeystick.numerics.decimals import decimal
from hockeystick.numerics.rounding import next_down
from hockeystick.pairs import GaussianPair
from hockeystick.plan.plan import Round
from hockeystick.questions.filters.base import AdditiveFilter, Amounts
from hockeystick.questions.filters.conversion import TARGET, settled
from hockeystick.questions.filters.costs import square_of
from hockeystick.values import domains
from hockeystick.values.adjacency import Adjacency, Direction
from hockeystick.values.errors import InvalidInputError, UnsupportedError

DISTANCES = (1e-6, 1000.0)  # range of a budget

BUDGET = domains.Domain("a number from 1e-6 to 1000", {"minimum": 1e-6, "maximum": 1000}, "mu budget")
"""Domain of a budget in Gaussian differential privacy."""


class GdpFilter(AdditiveFilter):
    """Filter by Gaussian differential privacy: ``sum mu_i^2 <= mu^2``, for unsampled Gaussian rounds.

    The filter counts in squares of mu: a budget of mu = 2 allows 4.

    Args:
        budget: mu, from 1e-6 to 1000.
        adjacency: neighbouring relation.

    >>> from hockeystick import Gaussian
    >>> budget = GdpFilter(2.0)
    >>> budget.spend(Round(Gaussian(1.0), count=3))
    >>> budget.said(), budget.allows(Round(Gaussian(0.9)))
    ('mu squared: 3 of 4 spent', False)
    """

    name: ClassVar[str] = "gdp"

    def __init__(self, budget: float, adjacency: Adjacency | str = Adjacency.ADD_OR_REMOVE) -> None:
        self.mu = BUDGET.check(budget, "budget")
        super().__init__(decimal(self.mu) ** 2, adjacency)

    @classmethod
    def reaching(cls, epsilon: float, delta: float, adjacency: Adjacency | str = Adjacency.ADD_OR_REMOVE) -> Self:
        """Return the filter with the largest mu that implies (epsilon, delta), to about 1e-12, on the safe side.

        Raises:
            InvalidInputError: a value outside its domain, or a target that only a mu below 1e-6 meets.

        >>> budget = GdpFilter.reaching(epsilon=1.0, delta=1e-6)
        >>> print(f"{budget.budget_epsilon(1e-6):.6f}")
        1.000000
        """
        epsilon = TARGET.check(epsilon, "epsilon")
        delta = domains.TARGET_DELTA.check(delta, "delta")
        target, (low, high) = _log(delta), DISTANCES
        if log_delta_ends(epsilon, low)[1] > target:
            raise InvalidInputError(
                f"no mu of at least {low:g} has epsilon {epsilon!r} at delta {delta!r}; use a larger epsilon or delta",
                "epsilon",
            )
        while low < (middle := math.sqrt(low) * math.sqrt(high)) < high:
            low, high = (middle, high) if log_delta_ends(epsilon, middle)[1] <= target else (low, middle)
        return settled(lambda value: cls(value, adjacency), low, epsilon, delta)

    @property
    def currency(self) -> str:
        """Unit of the budget: squares of mu."""
        return "mu squared"

    def costs(self, item: Round, direction: Direction) -> Amounts:
        """Return mu^2 of one round."""
        curve = item.curve(direction)
        if not isinstance(curve, GaussianPair):
            raise UnsupportedError("Gaussian DP is proven only for unsampled Gaussian rounds")
        return (square_of(curve, item),)

    def budget_epsilon(self, delta: float) -> float:
        """Return the exact, certified epsilon of the whole budget, one Gaussian round of distance mu."""
        log_delta = _log(domains.TARGET_DELTA.check(delta, "delta"))
        return epsilon_ends((log_delta, log_delta), self.mu)[1]


def _log(delta: float) -> float:
    """Return log delta, rounded down, the safe side of a target."""
    return next_down(math.log(delta), 2)
