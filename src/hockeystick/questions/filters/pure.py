"""Pure differential privacy: epsilons add up."""

from __future__ import annotations

from typing import ClassVar

from hockeystick.numerics.decimals import decimal
from hockeystick.plan.plan import Round
from hockeystick.questions.filters.base import AdditiveFilter, Amounts
from hockeystick.questions.filters.costs import charged
from hockeystick.values import domains
from hockeystick.values.adjacency import Adjacency, Direction


class PureDpFilter(AdditiveFilter):
    """Filter of rounds of pure epsilon: the sum of the largest losses is at most epsilon, and delta is 0.

    The loss of all rounds is the sum of their losses, and so at most the sum of their largest losses, however each was
    chosen and whenever they stop. Sums are exact.

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

    def __init__(self, epsilon: float, adjacency: Adjacency | str = Adjacency.ADD_OR_REMOVE) -> None:
        budget = domains.POSITIVE.of("the target epsilon").check(epsilon, "epsilon")
        super().__init__(decimal(budget), adjacency)

    @property
    def currency(self) -> str:
        """Unit of the budget: pure epsilon."""
        return "pure epsilon"

    def costs(self, item: Round, direction: Direction) -> Amounts:
        """Return the largest loss of one round."""
        return (charged(self.name, item, direction).loss,)

    def budget_epsilon(self, delta: float = 0.0) -> float:
        """Return the target, at every delta."""
        domains.delta(delta)
        return self.budget
