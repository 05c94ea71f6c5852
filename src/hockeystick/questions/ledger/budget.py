"""The budget of a ledger: a filter, whose limits and prices are counted in whole units.

A limit is rounded down to twelve significant digits, and the unit is 1 in the last of these digits. A price is rounded
up to whole units. Decimals add up exactly as written: ten prices of 0.1 fill a limit of 1. Whole numbers are compared
and added without rounding, also by the database.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Set
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any, NamedTuple

from hockeystick.plan.file import rounds_in_order, rounds_to_dicts
from hockeystick.plan.plan import Round
from hockeystick.questions.filters.additive import GdpFilter, PureDpFilter, RdpFilter, ZcdpFilter
from hockeystick.questions.filters.approximate import ApproximateDpFilter
from hockeystick.questions.filters.base import Amounts, PrivacyFilter
from hockeystick.questions.filters.currency import CurrencyFilter
from hockeystick.values.adjacency import Adjacency
from hockeystick.values.domains import POSITIVE, TARGET_DELTA, choice, unmet
from hockeystick.values.errors import InvalidInputError
from hockeystick.values.exact import decimal

FORMAT = 2
"""Format of the log."""

DIGITS = 12
"""Significant decimal digits of a limit."""

CEILING = 10 ** (DIGITS + 1)
"""Price, in whole units, in place of any larger one, such as an unbounded loss; every limit is below it."""

Whole = tuple[int, ...]
"""Amounts in whole units."""


class Kind(NamedTuple):
    """Kind of budget.

    Attributes:
        make: function that makes the filter from keys with an epsilon.
        required: alternative sets of keys; every key of one set must be given.
        optional: optional keys; a delta given with rho or mu is only the delta at which epsilon is stated.
    """

    make: Callable[..., PrivacyFilter]
    required: tuple[Set[str], ...]
    optional: Set[str] = frozenset()


KINDS: Mapping[str, Kind] = {
    PureDpFilter.name: Kind(PureDpFilter, ({"epsilon"},)),
    ApproximateDpFilter.name: Kind(ApproximateDpFilter, ({"epsilon", "delta"},), {"slack"}),
    ZcdpFilter.name: Kind(ZcdpFilter.reaching, ({"epsilon", "delta"}, {"rho"}), {"delta"}),
    GdpFilter.name: Kind(GdpFilter.reaching, ({"epsilon", "delta"}, {"mu"}), {"delta"}),
    RdpFilter.name: Kind(RdpFilter.reaching, ({"epsilon", "delta"},), {"order"}),
    CurrencyFilter.name: Kind(CurrencyFilter.reaching, ({"reference", "epsilon", "delta"},), {"slack"}),
}
"""Kinds of budgets, by the names of their filters."""


@dataclass(frozen=True)
class Budget:
    """Limit of a ledger.

    Args:
        filter: name of a privacy filter.
        keys: keys of the filter, see :data:`KINDS`; ``reference`` is a round, or the keys of a round in a plan file.
        adjacency: neighbouring relation.

    Raises:
        InvalidInputError: the filter is unknown, a key is missing or does not belong to it, or a value is outside its
            domain.

    >>> budget = Budget("zcdp", {"rho": 2.63})
    >>> budget.limits, budget.units
    ((263000000000,), (Fraction(1, 100000000000),))
    """

    filter: str
    keys: Mapping[str, Any]
    adjacency: Adjacency = Adjacency.ADD_OR_REMOVE

    def __post_init__(self) -> None:
        if self.filter not in tuple(KINDS):  # a file may hold anything, and a list has no hash
            raise InvalidInputError(choice("filter", self.filter, list(KINDS)), "filter")
        if not isinstance(self.keys, Mapping):
            raise unmet("budget", "must be a table of keys", self.keys)
        given, (_, sets, optional) = {str(key) for key in self.keys}, KINDS[self.filter]
        asked = ", or ".join(" with ".join(sorted(each, reverse=True)) for each in sets)
        optional_said = " and ".join(sorted(optional))
        if not any(each <= given <= each | optional for each in sets):
            raise InvalidInputError(
                f"filter {self.filter!r} takes {asked}{f' ({optional_said} may be added)' if optional else ''}; "
                f"received {', '.join(sorted(given)) or 'none'}",
                next(iter(sorted(given - optional - set().union(*sets))), "budget"),
            )
        if isinstance(self.keys.get("reference"), Round):
            (reference,) = rounds_to_dicts([self.keys["reference"]])
            object.__setattr__(self, "keys", {**self.keys, "reference": reference})
        self.made  # noqa: B018  # refuses values outside their domains
        for key, value in self.keys.items():
            if not isinstance(value, int | float | Mapping):
                raise unmet(key, "must be a plain number", value)

    @cached_property
    def made(self) -> PrivacyFilter:
        """The filter, with nothing spent."""
        keys = dict(self.keys)
        if "rho" in keys or "mu" in keys:
            if "delta" in keys:
                TARGET_DELTA.check(keys["delta"], "delta")
            if "rho" in keys:
                return ZcdpFilter(keys["rho"], self.adjacency)
            return GdpFilter(keys["mu"], self.adjacency)
        if "reference" in keys:
            keys["reference"] = rounds_in_order([keys["reference"]])[0]
        return KINDS[self.filter].make(**keys, adjacency=self.adjacency)

    @cached_property
    def units(self) -> Amounts:
        """Unit of each amount: 1 in the twelfth significant digit of the amount's limit."""
        exponents = ((Decimal(limit.numerator) / limit.denominator).adjusted() for limit in self.made.limits)
        return tuple(Fraction(10) ** (exponent - DIGITS + 1) for exponent in exponents)

    @cached_property
    def limits(self) -> Whole:
        """Limits in whole units, rounded down."""
        return tuple(math.floor(limit / unit) for limit, unit in zip(self.made.limits, self.units, strict=True))

    def whole(self, amounts: Amounts) -> Whole:
        """Return amounts in whole units, rounded up; an amount above every limit becomes :data:`CEILING`."""
        pairs = zip(amounts, self.units, strict=True)
        return tuple(min(math.ceil(amount / unit), CEILING) for amount, unit in pairs)

    def amounts(self, whole: Whole) -> Amounts:
        """Return the amounts that numbers of whole units stand for."""
        return tuple(number * unit for number, unit in zip(whole, self.units, strict=True))

    def spent_at(self, left: Whole) -> Amounts:
        """Return the amounts that the filter has spent when the given whole units are left."""
        return tuple(limit - each for limit, each in zip(self.made.limits, self.amounts(left), strict=True))

    def remaining(self, left: Whole) -> float:
        """Convert the amount left from whole units to the filter's currency, rounded down."""
        return self.made.remaining_of(self.spent_at(left))

    def part(self, value: float) -> Whole:
        """Return the limits of a part of the budget, rounded down; ``value`` is its size in the filter's currency.

        Raises:
            InvalidInputError: the value is not positive, or below one unit; or the filter is ``approximate-dp``,
                whose budget has no parts because either of two of its limits suffices.
        """
        if self.filter == ApproximateDpFilter.name:
            raise InvalidInputError(
                "a budget with filter 'approximate-dp' cannot be split into grants; create a ledger with filter "
                "'zcdp', 'gdp', 'rdp', 'pure' or 'currency' instead",
                "amount",
            )
        share = decimal(POSITIVE.of("amount of the budget").check(value, "amount")) / self.made.limits[0]
        found = tuple(math.floor(share * limit) for limit in self.limits)
        if not found[0]:
            raise unmet("amount", "must be at least one unit of the budget", value)
        return found

    @property
    def ordered(self) -> bool:
        """True if prices depend on the budget left, so that they hold only in the order of their recording."""
        return self.filter == CurrencyFilter.name

    @property
    def delta(self) -> float | None:
        """Delta at which the epsilon of the budget is stated; 0 for pure epsilon, None if only rho or mu is given."""
        return 0.0 if self.filter == PureDpFilter.name else self.keys.get("delta")

    @property
    def epsilon(self) -> float | None:
        """Epsilon of the whole budget at its delta, rounded up: it holds for all releases together."""
        if self.delta is None:
            return None
        return float(self.keys["epsilon"]) if "epsilon" in self.keys else self.made.budget_epsilon(self.delta)


@lru_cache(maxsize=8)
def begun_by(body: str) -> tuple[Mapping[str, Any], Budget]:
    """Return the keys of the first entry of a log, and its budget.

    Raises:
        InvalidInputError: another version wrote it, in a format or units that this version does not read.
    """
    begun: dict[str, Any] = json.loads(body)
    if begun.get("format") != FORMAT:
        raise unmet(
            "format", f"must be {FORMAT}", begun.get("format"), "another version of hockeystick wrote this ledger"
        )
    budget = Budget(begun["filter"], begun["budget"], Adjacency.parse(begun["adjacency"]))
    if [str(unit) for unit in budget.units] != begun["units"]:
        raise InvalidInputError("the ledger uses different units from this version of hockeystick", "units")
    return begun, budget
