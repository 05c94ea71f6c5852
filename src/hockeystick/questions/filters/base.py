"""Base classes of filters and the odometer: rounds are declared before they are run, and their costs add up.

A round costs a few rational numbers (one for each direction, or its epsilon, its square and its delta). The state is
the list of declared rounds and the exact sums of their costs. The test if a round fits computes the sums with it, and
these are kept if it does, so the tested and the recorded costs cannot differ.
"""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from fractions import Fraction
from typing import ClassVar, NoReturn, Self

from hockeystick.numerics.decimals import decimal
from hockeystick.plan.plan import Round
from hockeystick.questions.filters.decimals import rounded_down, rounded_up
from hockeystick.values import domains
from hockeystick.values.adjacency import Adjacency
from hockeystick.values.domains import cut
from hockeystick.values.errors import BudgetError, InvalidInputError, UnsupportedError
from hockeystick.values.outward import html_table, six_digits

SLACK = 1e-13
"""Relative slack for the roundings of a formula of a few operations, each with an error of at most some 1e-15."""


MOST_ROWS = 20  # rows shown in a notebook
ROW = 200  # longest row in characters


class Spending(ABC):
    """Collection of rounds declared before they are run.

    Attributes:
        name: name for people and for :func:`hockeystick.filters.privacy_filter`.
    """

    name: ClassVar[str]

    def __init__(self, adjacency: Adjacency | str, sums: int) -> None:
        self._adjacency = Adjacency.parse(adjacency)
        self._history: list[Round] = []
        self._sums = (Fraction(0),) * sums

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.said()})"

    def _repr_html_(self) -> str:
        """Return the declared rounds as a table under the spent budget, as notebooks show them."""
        rows = [(str(number), cut(repr(item), ROW)) for number, item in enumerate(self._history, start=1)]
        left = len(rows) - MOST_ROWS
        if left > 0:
            rows = [*rows[:MOST_ROWS], (f"and {left} more", "")]
        return html_table(self.said(), rows, ("", "round") if rows else ())

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
        return self._fits(self._sums_with(item))

    def spend(self, item: Round) -> None:
        """Record a round before it is run.

        Raises:
            BudgetError: it does not fit; nothing is recorded.
            UnsupportedError: the round has no proved cost in this kind of budget.
        """
        sums = self._sums_with(item)
        if not self._fits(sums):
            raise BudgetError(f"the {self.name} filter does not allow this round: {self.said()}")
        self._sums = sums
        self._history.append(item)

    def _sums_with(self, item: Round) -> tuple[Fraction, ...]:
        if not isinstance(item, Round):
            raise InvalidInputError(f"a filter is asked about a Round; received {domains.shown(item)}", "item")
        costs = self._costs(item)
        return tuple(spent + item.count * cost for spent, cost in zip(self._sums, costs, strict=True))

    @abstractmethod
    def _costs(self, item: Round) -> tuple[Fraction, ...]:
        """Cost of one run of the round, as it is added to the sums: each number exact, or an upper bound."""

    @abstractmethod
    def _fits(self, sums: tuple[Fraction, ...]) -> bool: ...

    @abstractmethod
    def said(self) -> str:
        """Return the spent budget as text."""


class PrivacyFilter(Spending):
    """Budget that limits adaptively chosen rounds."""

    @property
    @abstractmethod
    def currency(self) -> str:
        """Unit of ``spent``, ``budget`` and ``remaining``."""

    @property
    @abstractmethod
    def spent(self) -> float:
        """Amount spent so far in the filter's currency, rounded up. By itself it is no statement about privacy."""

    @property
    @abstractmethod
    def budget(self) -> float:
        """Total that may be spent, in the filter's currency."""

    @property
    def remaining(self) -> float:
        """Budget less spent, in the filter's currency, rounded down."""
        return rounded_down(decimal(self.budget) - decimal(self.spent))

    @abstractmethod
    def budget_epsilon(self, delta: float) -> float:
        """Return an epsilon at a delta for everything the filter allows together, whatever is chosen, spent or not."""

    def epsilon(self, delta: float) -> NoReturn:
        """Refuse: filters guarantee the epsilon of their budget, not that of the part spent.

        Raises:
            UnsupportedError: always; the message names the alternatives.
        """
        raise UnsupportedError(
            f"a filter has no epsilon({domains.shown(delta)}): budget_epsilon is that of all that it allows together, "
            f"spent and remaining are in its currency ({self.currency}); an Odometer has the epsilon spent so far"
        )

    def said(self) -> str:
        """Return spent and budget in the filter's currency, as text."""
        return f"{self.currency}: {six_digits(self.spent)} of {six_digits(self.budget)} is spent"


class AdditiveFilter(PrivacyFilter):
    """Filter by one additive number a round; each direction has the budget to itself.

    The theorems concern an ordered pair of neighbouring datasets, so they hold in each direction separately.
    """

    def __init__(self, budget: Fraction, adjacency: Adjacency | str) -> None:
        super().__init__(adjacency, len(Adjacency.parse(adjacency).directions))
        self._budget = budget

    def _fits(self, sums: tuple[Fraction, ...]) -> bool:
        return max(sums) <= self._budget

    @property
    def spent(self) -> float:
        """Amount spent so far in the worse direction, in the filter's currency, rounded up."""
        return rounded_up(max(self._sums))

    @property
    def budget(self) -> float:
        """Total that may be spent, in the filter's currency, rounded up so that no allowed sum exceeds it."""
        return rounded_up(self._budget)

    @property
    def remaining(self) -> float:
        """Amount left in every direction, in the filter's currency, rounded down."""
        return rounded_down(self._budget - max(self._sums))
