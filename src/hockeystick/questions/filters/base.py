"""What filters and the odometer have in common: rounds are declared before they are run, and their costs add up.

A round costs a few rational numbers (one for each direction, or its epsilon, its square and its delta); what was
declared is the list of rounds and the exact sums of their costs. Whether a round fits is asked of the sums that there
would be with it, and these are kept if it does: what is asked and what is recorded cannot differ.
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
"""Relative: pays for the roundings of a formula of a few operations, each of which errs by at most some 1e-15."""


MOST_ROWS = 20  # of a table in a notebook, which holds no more at a glance
ROW = 200  # characters of one of them


class Spending(ABC):
    """Rounds that are declared before they are run.

    Attributes:
        name: for people, and for :func:`hockeystick.filters.privacy_filter`.
    """

    name: ClassVar[str]

    def __init__(self, adjacency: Adjacency | str, sums: int) -> None:
        self._adjacency = Adjacency.parse(adjacency)
        self._history: list[Round] = []
        self._sums = (Fraction(0),) * sums

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.said()})"

    def _repr_html_(self) -> str:
        """What was declared, as notebooks show it: a row for each round, under what was spent."""
        rows = [(str(number), cut(repr(item), ROW)) for number, item in enumerate(self._history, start=1)]
        left = len(rows) - MOST_ROWS
        if left > 0:
            rows = [*rows[:MOST_ROWS], (f"and {left} more", "")]
        return html_table(self.said(), rows, ("", "round") if rows else ())

    def __copy__(self) -> Self:
        """A copy that goes on by itself: what is spent on either is not spent on the other."""
        other = self.__class__.__new__(self.__class__)
        other.__dict__.update({key: copy.copy(value) for key, value in self.__dict__.items()})
        return other

    @property
    def history(self) -> tuple[Round, ...]:
        """The rounds that were spent, in order."""
        return tuple(self._history)

    def allows(self, item: Round) -> bool:
        """Whether a round (with its count) still fits.

        Raises:
            UnsupportedError: a round for which this kind of budget has no proven cost.
        """
        return self._fits(self._sums_with(item))

    def spend(self, item: Round) -> None:
        """Record a round, before it is run.

        Raises:
            BudgetError: it does not fit; nothing is recorded.
            UnsupportedError: a round for which this kind of budget has no proven cost.
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
        """What one run of the round adds to the sums: each number exact, or an upper bound."""

    @abstractmethod
    def _fits(self, sums: tuple[Fraction, ...]) -> bool: ...

    @abstractmethod
    def said(self) -> str:
        """What was spent of what, for people."""


class PrivacyFilter(Spending):
    """A budget that adaptively chosen rounds are held to."""

    @property
    @abstractmethod
    def currency(self) -> str:
        """What the budget is counted in, the unit of ``spent``, ``budget`` and ``remaining``."""

    @property
    @abstractmethod
    def spent(self) -> float:
        """What was spent so far, in the filter's currency, rounded up. It is no statement about privacy by itself."""

    @property
    @abstractmethod
    def budget(self) -> float:
        """What may be spent in all, in the filter's currency."""

    @property
    def remaining(self) -> float:
        """Budget less spent, in the filter's currency, rounded down."""
        return rounded_down(decimal(self.budget) - decimal(self.spent))

    @abstractmethod
    def budget_epsilon(self, delta: float) -> float:
        """An epsilon at a delta that everything the filter allows together has, whatever is chosen, spent or not."""

    def epsilon(self, delta: float) -> NoReturn:
        """Filters have none: ``epsilon`` is what was spent, elsewhere, and a filter proves what its budget is.

        Raises:
            UnsupportedError: always; the message names what to ask for.
        """
        raise UnsupportedError(
            f"a filter has no epsilon({domains.shown(delta)}): budget_epsilon is that of all that it allows together, "
            f"spent and remaining are in its currency ({self.currency}); an Odometer has the epsilon spent so far"
        )

    def said(self) -> str:
        """Spent and budget, in the filter's currency."""
        return f"{self.currency}: {six_digits(self.spent)} of {six_digits(self.budget)} is spent"


class AdditiveFilter(PrivacyFilter):
    """A budget of one number a round that adds up; each direction has the budget for itself.

    The theorems are about an ordered pair of neighbouring datasets, hence hold in each direction by itself.
    """

    def __init__(self, budget: Fraction, adjacency: Adjacency | str) -> None:
        super().__init__(adjacency, len(Adjacency.parse(adjacency).directions))
        self._budget = budget

    def _fits(self, sums: tuple[Fraction, ...]) -> bool:
        return max(sums) <= self._budget

    @property
    def spent(self) -> float:
        """What was spent so far in the worse direction, in the filter's currency, rounded up."""
        return rounded_up(max(self._sums))

    @property
    def budget(self) -> float:
        """What may be spent in all, in the filter's currency, rounded up so that no sum that is allowed exceeds it."""
        return rounded_up(self._budget)

    @property
    def remaining(self) -> float:
        """What may still be spent in every direction, in the filter's currency, rounded down."""
        return rounded_down(self._budget - max(self._sums))
