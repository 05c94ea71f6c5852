"""Zero-concentrated differential privacy: rho adds up."""

from __future__ import annotations

import math
from typing import ClassVar, Self

from hockeystick.numerics.decimals import decimal
from hockeystick.plan.plan import Round
from hockeystick.questions.filters.base import SLACK, AdditiveFilter, Amounts
from hockeystick.questions.filters.conversion import (
    TARGET,
    balanced_tilt,
    divergence_within,
    epsilon_of,
    least,
    settled,
)
from hockeystick.questions.filters.costs import charged
from hockeystick.values import domains
from hockeystick.values.adjacency import Adjacency, Direction


class ZcdpFilter(AdditiveFilter):
    """Filter by zero-concentrated differential privacy: the rhos of the rounds add up to at most the budget.

    Noise of distance mu, normal or discrete, has ``rho = mu^2 / 2`` (Bun, Steinke 2016 [BS16], Proposition 1.6;
    Canonne, Kamath, Steinke 2020 [CKS20]), a round of pure epsilon at most ``epsilon tanh(epsilon / 2)``, below the
    ``epsilon^2 / 2`` of [BS16] (``pairs/concentrated.py``). Sampled noise without a largest loss is refused: the
    only rho known for it is that of a round without sampling.

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

    def __init__(self, budget: float, adjacency: Adjacency | str = Adjacency.ADD_OR_REMOVE) -> None:
        rho = domains.POSITIVE.of("rho budget").check(budget, "budget")
        super().__init__(decimal(rho), adjacency)

    @classmethod
    def reaching(cls, epsilon: float, delta: float, adjacency: Adjacency | str = Adjacency.ADD_OR_REMOVE) -> Self:
        """Return the filter with the largest rho that implies (epsilon, delta), to about 1e-9, on the safe side.

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

    @property
    def currency(self) -> str:
        """Unit of the budget: rho of zero-concentrated privacy."""
        return "rho"

    def costs(self, item: Round, direction: Direction) -> Amounts:
        """Return rho of one round."""
        return (charged(self.name, item, direction).rho,)

    def budget_epsilon(self, delta: float) -> float:
        """Return the epsilon of the whole budget, at the best order of [CKS20], Proposition 12, that a search finds."""
        delta = domains.TARGET_DELTA.check(delta, "delta")
        rho = self.budget
        start = math.sqrt(-math.log(delta)) / math.sqrt(rho)
        return least(lambda t: epsilon_of((1 + t) * rho, t, delta), start)
