"""Renyi differential privacy: divergences of one order add up."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import ClassVar, Self

from hockeystick.numerics.decimals import decimal
from hockeystick.plan.plan import Round
from hockeystick.questions.filters.base import AdditiveFilter, Amounts
from hockeystick.questions.filters.conversion import TARGET, divergence_within, epsilon_of
from hockeystick.questions.filters.costs import BEYOND, charged
from hockeystick.values import domains
from hockeystick.values.adjacency import Adjacency, Direction
from hockeystick.values.errors import InvalidInputError

ORDER = domains.Domain("a finite number greater than 1", {"exclusiveMinimum": 1}, "Renyi order")
"""Domain of the order at which a filter counts."""


class RdpFilter(AdditiveFilter):
    """Filter by Renyi divergences of one order, fixed beforehand; each direction has the full budget of its own.

    Divergences of rounds are certified upper bounds, and their sums are exact.

    Args:
        order: order alpha > 1; by keyword.
        budget: Renyi divergence of that order; by keyword.
        adjacency: neighbouring relation; by keyword.

    Raises:
        InvalidInputError: a value is outside its domain, or given without its keyword: two numbers in a row would look
            like the (epsilon, delta) of :meth:`reaching`.

    >>> budget = RdpFilter.reaching(epsilon=2.0, delta=1e-6)
    >>> from hockeystick import Gaussian
    >>> budget.allows(Round(Gaussian(10.0), count=5)), round(budget.budget_epsilon(1e-6), 6)
    (True, 2.0)
    """

    name: ClassVar[str] = "rdp"

    def __init__(
        self,
        *given: object,
        order: float | None = None,
        budget: float | None = None,
        adjacency: Adjacency | str = Adjacency.ADD_OR_REMOVE,
    ) -> None:
        if given:
            raise InvalidInputError(
                "RdpFilter takes order= and budget= by keyword; for a target use RdpFilter.reaching(epsilon=, delta=); "
                f"received {domains.shown(given)}",
                "order",
            )
        self.order = ORDER.check(order, "order")
        budget = domains.POSITIVE.of("budget of the Renyi divergence").check(budget, "budget")
        super().__init__(decimal(budget), adjacency)

    @classmethod
    def reaching(
        cls,
        epsilon: float,
        delta: float,
        order: float | None = None,
        adjacency: Adjacency | str = Adjacency.ADD_OR_REMOVE,
    ) -> Self:
        """Return the filter whose budget implies (epsilon, delta), by default at the best order for Gaussian noise.

        Sampled rounds need a smaller order: the ``order`` of ``plan.epsilon(delta, accountant="rdp")`` for a similar
        plan.

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

    @property
    def currency(self) -> str:
        """Unit of the budget: Renyi divergence of the filter's order."""
        return f"Renyi divergence of order {self.order:.6g}"

    def costs(self, item: Round, direction: Direction) -> Amounts:
        """Return a certified divergence of the filter's order."""
        charged(self.name, item, direction)  # refuses a round that may fail
        t = self.order - 1
        moment = max(item.curve(direction).log_moment(t), 0.0)
        return (Fraction(moment) / Fraction(t) if moment < math.inf else BEYOND,)

    def budget_epsilon(self, delta: float) -> float:
        """Return the epsilon of the whole budget, by Canonne, Kamath, Steinke 2020 [CKS20], Proposition 12."""
        delta = domains.TARGET_DELTA.check(delta, "delta")
        return epsilon_of(self.budget, self.order - 1, delta)
