"""Filters that add up one number of each round: its largest loss, its rho, its squared mu, or a Renyi divergence."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import ClassVar, Self

from hockeystick.numerics.rounding import next_down
from hockeystick.pairs import GaussianPair
from hockeystick.pairs.gaussian_curve import epsilon_ends, log_delta_ends
from hockeystick.plan.plan import Round
from hockeystick.questions.filters.base import SLACK, Amounts, PrivacyFilter
from hockeystick.questions.filters.conversion import (
    TARGET,
    balanced_tilt,
    divergence_within,
    epsilon_of,
    least,
    settled,
)
from hockeystick.questions.filters.costs import BEYOND, charged, square_of
from hockeystick.values import domains
from hockeystick.values.adjacency import Adjacency, Direction
from hockeystick.values.errors import InvalidInputError, UnsupportedError
from hockeystick.values.exact import decimal

MU = domains.Domain("a number from 1e-6 to 1000", {"minimum": 1e-6, "maximum": 1000}, "mu budget")
"""Domain of a budget in Gaussian differential privacy."""

ORDER = domains.Domain("a finite number greater than 1", {"exclusiveMinimum": 1}, "Renyi order")
"""Domain of the order at which a filter counts."""


class PureDpFilter(PrivacyFilter):
    """Filter of rounds of pure epsilon: the sum of the largest losses is at most epsilon, and delta is 0.

    The loss of all rounds is the sum of their losses, and so at most the sum of their largest losses. This holds
    however each round was chosen and whenever they stop. Sums are exact.

    Args:
        epsilon: budget.
        adjacency: neighbouring relation.

    >>> from hockeystick import Laplace
    >>> budget = PureDpFilter(3.0)
    >>> budget.spend(Round(Laplace(1.0), count=2))
    >>> budget.allows(Round(Laplace(1.0))), budget.allows(Round(Laplace(0.9))), budget.remaining
    (True, False, 1.0)
    """

    name: ClassVar[str] = "pure"
    currency = "pure epsilon"

    def __init__(self, epsilon: float, adjacency: Adjacency | str = Adjacency.ADD_OR_REMOVE) -> None:
        budget = domains.POSITIVE.of("the target epsilon").check(epsilon, "epsilon")
        super().__init__(adjacency, (decimal(budget),))

    def costs(self, item: Round, direction: Direction) -> Amounts:
        """Return the largest loss of one round."""
        return (charged(self.name, item, direction).loss,)

    def budget_epsilon(self, delta: float = 0.0) -> float:
        """Return the target epsilon, which holds at every delta."""
        domains.delta(delta)
        return self.budget


class ZcdpFilter(PrivacyFilter):
    """Filter by zero-concentrated differential privacy: the rhos of the rounds add up to at most the budget.

    Normal or discrete noise of distance mu has ``rho = mu^2 / 2`` (Bun, Steinke 2016 [BS16], Proposition 1.6; Canonne,
    Kamath, Steinke 2020 [CKS20]). A round of pure epsilon has a rho of at most ``epsilon tanh(epsilon / 2)``, below the
    ``epsilon^2 / 2`` of [BS16] (``pairs/concentrated.py``). Sampled noise without a largest loss is refused, as its
    only known rho is that of the same round without sampling.

    Args:
        budget: rho.
        adjacency: neighbouring relation.

    >>> from hockeystick import Gaussian
    >>> budget = ZcdpFilter(0.05)
    >>> budget.spend(Round(Gaussian(10.0), count=10))
    >>> budget.allows(Round(Gaussian(10.0)))
    False
    """

    name: ClassVar[str] = "zcdp"
    currency = "rho"

    def __init__(self, budget: float, adjacency: Adjacency | str = Adjacency.ADD_OR_REMOVE) -> None:
        rho = domains.POSITIVE.of("rho budget").check(budget, "budget")
        super().__init__(adjacency, (decimal(rho),))

    @classmethod
    def reaching(cls, epsilon: float, delta: float, adjacency: Adjacency | str = Adjacency.ADD_OR_REMOVE) -> Self:
        """Return the filter with the largest rho that implies (epsilon, delta), within about 1e-9, rounded down.

        Raises:
            InvalidInputError: a value is outside its domain.

        >>> budget = ZcdpFilter.reaching(epsilon=1.0, delta=1e-6)
        >>> print(f"{budget.budget_epsilon(1e-6):.6f}")
        1.000000
        """
        epsilon = TARGET.check(epsilon, "epsilon")
        delta = domains.TARGET_DELTA.check(delta, "delta")
        rho = -least(
            lambda t: -divergence_within(epsilon, t, delta) / (1 + t), balanced_tilt(epsilon, -math.log(delta))
        )
        return settled(lambda value: cls(value, adjacency), rho * (1 - SLACK), epsilon, delta)

    def costs(self, item: Round, direction: Direction) -> Amounts:
        """Return rho of one round."""
        return (charged(self.name, item, direction).rho,)

    def budget_epsilon(self, delta: float) -> float:
        """Return the epsilon of the whole budget by [CKS20], Proposition 12, at the best order that a search finds."""
        delta = domains.TARGET_DELTA.check(delta, "delta")
        rho = self.budget
        start = math.sqrt(-math.log(delta)) / math.sqrt(rho)
        return least(lambda t: epsilon_of((1 + t) * rho, t, delta), start)


class RdpFilter(PrivacyFilter):
    """Filter by Renyi divergences of one order, fixed beforehand; the budget limits each direction separately.

    Divergences of rounds are certified upper bounds, and their sums are exact.

    Args:
        order: order alpha > 1; by keyword.
        budget: Renyi divergence of that order; by keyword.
        adjacency: neighbouring relation; by keyword.

    Raises:
        InvalidInputError: a value is outside its domain.

    >>> budget = RdpFilter.reaching(epsilon=2.0, delta=1e-6)
    >>> from hockeystick import Gaussian
    >>> budget.allows(Round(Gaussian(10.0), count=5)), round(budget.budget_epsilon(1e-6), 6)
    (True, 2.0)
    """

    name: ClassVar[str] = "rdp"

    def __init__(
        self,
        *,  # two numbers in a row would look like the (epsilon, delta) of ``reaching``
        order: float,
        budget: float,
        adjacency: Adjacency | str = Adjacency.ADD_OR_REMOVE,
    ) -> None:
        self.order = ORDER.check(order, "order")
        self.currency = f"Renyi divergence of order {self.order:.6g}"
        budget = domains.POSITIVE.of("budget of the Renyi divergence").check(budget, "budget")
        super().__init__(adjacency, (decimal(budget),))

    @classmethod
    def reaching(
        cls,
        epsilon: float,
        delta: float,
        order: float | None = None,
        adjacency: Adjacency | str = Adjacency.ADD_OR_REMOVE,
    ) -> Self:
        """Return the filter whose budget implies (epsilon, delta); the default order is the best for Gaussian noise.

        Sampled rounds need a smaller order. A good one is the ``order`` of ``plan.epsilon(delta, accountant="rdp")``
        for a similar plan.

        Raises:
            InvalidInputError: a value is outside its domain, or the order leaves no budget.
        """
        epsilon = TARGET.check(epsilon, "epsilon")
        delta = domains.TARGET_DELTA.check(delta, "delta")
        t = -2 * math.log(delta) / epsilon if order is None else ORDER.check(order, "order") - 1
        t = (1 + t) - 1  # the t of the order once it is rounded to a double
        budget = divergence_within(epsilon, t, delta) if t > 0 else -1.0
        if not budget > 0:
            raise InvalidInputError(
                f"order {1 + t:.6g} leaves no budget for epsilon {epsilon!r}; use another order", "order"
            )
        return cls(order=1 + t, budget=budget, adjacency=adjacency)

    def costs(self, item: Round, direction: Direction) -> Amounts:
        """Return an upper bound on the round's Renyi divergence of the filter's order."""
        charged(self.name, item, direction)  # refuses a round that may fail
        t = self.order - 1
        moment = max(item.curve(direction).log_moment(t), 0.0)
        return (Fraction(moment) / Fraction(t) if moment < math.inf else BEYOND,)

    def budget_epsilon(self, delta: float) -> float:
        """Return the epsilon of the whole budget, by Canonne, Kamath, Steinke 2020 [CKS20], Proposition 12."""
        delta = domains.TARGET_DELTA.check(delta, "delta")
        return epsilon_of(self.budget, self.order - 1, delta)


class GdpFilter(PrivacyFilter):
    """Filter by Gaussian differential privacy: ``sum mu_i^2 <= mu^2``, for unsampled Gaussian rounds.

    The filter counts in squares of mu: a budget of mu = 2 is 4 units.

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
    currency = "mu squared"

    def __init__(self, budget: float, adjacency: Adjacency | str = Adjacency.ADD_OR_REMOVE) -> None:
        self.mu = MU.check(budget, "budget")
        super().__init__(adjacency, (decimal(self.mu) ** 2,))

    @classmethod
    def reaching(cls, epsilon: float, delta: float, adjacency: Adjacency | str = Adjacency.ADD_OR_REMOVE) -> Self:
        """Return the filter with the largest mu that implies (epsilon, delta), within about 1e-12, rounded down.

        Raises:
            InvalidInputError: a value is outside its domain, or only a mu below 1e-6 meets the target.

        >>> budget = GdpFilter.reaching(epsilon=1.0, delta=1e-6)
        >>> print(f"{budget.budget_epsilon(1e-6):.6f}")
        1.000000
        """
        epsilon = TARGET.check(epsilon, "epsilon")
        delta = domains.TARGET_DELTA.check(delta, "delta")
        target, low, high = _log(delta), MU.keywords["minimum"], MU.keywords["maximum"]
        if log_delta_ends(epsilon, low)[1] > target:
            raise InvalidInputError(
                f"no mu of at least {low:g} has epsilon {epsilon!r} at delta {delta!r}; use a larger epsilon or delta",
                "epsilon",
            )
        while low < (middle := math.sqrt(low) * math.sqrt(high)) < high:
            low, high = (middle, high) if log_delta_ends(epsilon, middle)[1] <= target else (low, middle)
        return settled(lambda value: cls(value, adjacency), low, epsilon, delta)

    def costs(self, item: Round, direction: Direction) -> Amounts:
        """Return mu^2 of one round."""
        curve = item.curve(direction)
        if not isinstance(curve, GaussianPair):
            raise UnsupportedError("the gdp filter accepts only unsampled Gaussian rounds")
        return (square_of(curve, item),)

    def budget_epsilon(self, delta: float) -> float:
        """Return the certified epsilon of one Gaussian round of distance mu, to which the whole budget is equal."""
        log_delta = _log(domains.TARGET_DELTA.check(delta, "delta"))
        return epsilon_ends((log_delta, log_delta), self.mu)[1]


def _log(delta: float) -> float:
    """Return log delta, rounded down: a number whose log is at most the result is at most delta."""
    return next_down(math.log(delta), 2)
