"""Base classes of filters and the odometer: rounds are declared before they are run, and their costs add up.

A round costs a few rational numbers in each direction (its epsilon, or its rho and its delta), exact or rounded up. The
state is the list of declared rounds and, in each direction, the exact sums of their costs; the theorems concern one
order of two neighbouring datasets. Parameters are read as the decimals they print as, so that ten times 0.1 fits
exactly into a budget of 1. Each number is compared with its limit in the direction where its sum is largest. To test if
a round fits, the sums that include it are computed. When the round is recorded, these sums become the state, so tested
and recorded costs cannot differ.
"""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from bisect import bisect_left
from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import ClassVar, Self

from hockeystick.plan.plan import Round
from hockeystick.values import domains
from hockeystick.values.adjacency import Adjacency, Direction
from hockeystick.values.domains import unmet
from hockeystick.values.errors import BudgetError
from hockeystick.values.exact import towards
from hockeystick.values.outward import six_digits

SLACK = 1e-13
"""Relative slack for the roundings of a formula of a few operations, each with an error of at most some 1e-15."""

Amounts = tuple[Fraction, ...]
"""Costs, sums or limits of the numbers that a filter counts, such as (rho,) or (delta, epsilon, rho)."""


def rounded_up(value: Fraction) -> float:
    """Return the smallest double whose printed decimal is at least ``value``; infinity if there is none."""
    return towards(value, True)


def rounded_down(value: Fraction) -> float:
    """Return the largest double whose printed decimal is at most ``value``.

    >>> rounded_up(Fraction(3, 10)) == rounded_down(Fraction(3, 10)) == 0.3
    True
    """
    return towards(value, False)


def added(first: Amounts, second: Amounts) -> Amounts:
    """Return the sums of two lists of amounts, position by position."""
    return tuple(a + b for a, b in zip(first, second, strict=True))


def worst(amounts: Iterable[Amounts]) -> Amounts:
    """Return the largest amount at each position of several lists."""
    return tuple(map(max, zip(*amounts, strict=True)))


class Spending(ABC):
    """Record of rounds, each declared before it is run, with the exact sums of their costs.

    Attributes:
        name: name in messages and in ledgers.
        adjacency: neighbouring relation.
        limits: limit of each sum; :meth:`fits` defines which of the limits must hold.
    """

    name: ClassVar[str]
    adjacency: Adjacency
    limits: Amounts

    def __init__(self, adjacency: Adjacency | str, limits: Amounts) -> None:
        self.adjacency = Adjacency.parse(adjacency)
        self.limits = limits
        self._history: list[Round] = []
        self._sums: Mapping[Direction, Amounts] = {
            direction: (Fraction(0),) * len(limits) for direction in self.adjacency.directions
        }

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.said()})"

    def __copy__(self) -> Self:
        """Return an independent copy."""
        other = self.__class__.__new__(self.__class__)
        other.__dict__.update({key: copy.copy(value) for key, value in self.__dict__.items()})
        return other

    @property
    def history(self) -> tuple[Round, ...]:
        """Declared rounds, in order."""
        return tuple(self._history)

    def allows(self, item: Round) -> bool:
        """Return True if a round (with its count) still fits.

        Raises:
            UnsupportedError: the round has no proved cost in this kind of budget.
        """
        return self.fits(worst(self._sums_with(item).values()))

    def more_of(self, item: Round) -> int:
        """Return the number of times that one round still fits, up to 10^12; its own count is ignored."""
        counts = range(1, domains.MAX_COUNT + 1)
        return bisect_left(counts, True, key=lambda count: not self.allows(item.changed(count=count)))

    def spend(self, item: Round) -> None:
        """Record a round before it is run.

        Raises:
            BudgetError: the round does not fit; nothing is recorded.
            UnsupportedError: the round has no proved cost in this kind of budget.
        """
        sums = self._sums_with(item)
        if not self.fits(worst(sums.values())):
            raise BudgetError(f"the {self.name} filter does not allow this round: {self.said()}")
        self._sums = sums
        self._history.append(item)

    def _sums_with(self, item: Round) -> Mapping[Direction, Amounts]:
        if not isinstance(item, Round):
            raise unmet("item", "must be a Round", item)
        return {direction: added(sums, self.price(item, direction, sums)) for direction, sums in self._sums.items()}

    @property
    def _spent(self) -> Amounts:
        return worst(self._sums.values())

    def price(self, item: Round, direction: Direction, spent: Amounts) -> Amounts:
        """Return the cost of a round, with its count, in one direction: exact numbers, or upper bounds.

        Args:
            item: the round.
            direction: the direction.
            spent: sums spent before this round; only the prices of a currency depend on them.

        Raises:
            UnsupportedError: the round has no proved cost in this kind of budget.
        """
        return tuple(item.count * cost for cost in self.costs(item, direction))

    @abstractmethod
    def costs(self, item: Round, direction: Direction) -> Amounts:
        """Return the cost of one run of a round in one direction.

        Raises:
            UnsupportedError: no cost is proved in this kind of budget.
        """

    def fits(self, sums: Amounts) -> bool:
        """Return True if ``sums``, each the largest over the directions, are within the limits."""
        return all(spent <= limit for spent, limit in zip(sums, self.limits, strict=True))

    @abstractmethod
    def said(self) -> str:
        """Return the spent budget as text."""


class PrivacyFilter(Spending):
    """Budget that limits adaptively chosen rounds.

    Attributes:
        currency: unit of ``spent``, ``budget`` and ``remaining``.
    """

    currency: str

    @property
    def spent(self) -> float:
        """Amount spent so far in the filter's currency, rounded up. This number alone is not a privacy guarantee."""
        return self.spent_of(self._spent)

    def spent_of(self, sums: Amounts) -> float:
        """Return ``sums``, each the largest over the directions, as one amount in the filter's currency, rounded up."""
        return rounded_up(sums[0])

    @property
    def budget(self) -> float:
        """Total that may be spent, in the filter's currency, rounded up so that no allowed sum exceeds it."""
        return rounded_up(self.limits[0])

    @property
    def remaining(self) -> float:
        """Amount that may still be spent in every direction, in the filter's currency, rounded down."""
        return self.remaining_of(self._spent)

    def remaining_of(self, sums: Amounts) -> float:
        """Return the budget that is left after ``sums``, each the largest over the directions, rounded down."""
        return rounded_down(self.limits[0] - sums[0])

    @abstractmethod
    def budget_epsilon(self, delta: float) -> float:
        """Return an epsilon at delta for all rounds together that the filter allows, spent or not."""

    def said(self) -> str:
        """Return spent and budget in the filter's currency, as text."""
        return f"{self.currency}: {six_digits(self.spent)} of {six_digits(self.budget)} spent"
