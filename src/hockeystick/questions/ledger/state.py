"""The state of a ledger: what is spent of the budget and of its grants, as it follows from the log.

**Accounts.** The account named ``""`` is the budget itself; each grant is a part of it, with an account of its own. A
grant is paid for when it is made, by its whole limit, and its releases are then limited by it alone. What is spent of
all accounts together is therefore at most the budget, whoever spends first: prices add up in these filters, in the
order in which they were recorded. The filter of an account is that of the budget with as much left as the account has.

**Regions** are parts of the dataset that no record shares, named when the ledger begins. A release of a region looks at
its records only. Let W be what was spent on the whole dataset, in one direction, and ``S_r`` on region r. A record that
is added or removed is in one region, so that all releases cost at most ``W + max_r S_r``. A record that is replaced
either stays in its region, which costs ``W + max_r S_r``, or moves: it is removed from a region and added to another,
which costs ``W + max_(r != s) (removal_r + addition_s)``, as the releases of both regions see it. The larger of the two
counts. A guarantee for replaced records alone says nothing of one that moves (a region's number of records is private
under replacement, and tells the move), so that regions take rounds that say it (``Round.null_record``).

**Reservations.** What is reserved counts as run until it is given back. In budgets that add up, whoever looks at later
results before giving back has spent no more than the sum of what was run. The prices of a currency hold at what was
left when they were made: one is given back only while no later release was recorded, when it leaves what it found.

**Periods.** A renewal begins a period in which nothing is spent. Each period is private as the budget says; a person
whose data is in several periods has the guarantee of their composition. Noise is drawn in the period in which it was
declared.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from hockeystick.plan.plan import Round
from hockeystick.questions.ledger.budget import Budget, Whole
from hockeystick.questions.ledger.entries import FIRST
from hockeystick.values.adjacency import Direction
from hockeystick.values.domains import choice
from hockeystick.values.errors import BudgetError, InvalidInputError, UnsupportedError

WHOLE = ""
"""Account of the budget itself, and region of releases that look at the whole dataset."""

LARGEST = 2**62
"""Number that the database is shown in place of a larger one."""

Prices = Mapping[str, Whole]
"""Price in each direction."""


@dataclass
class Account:
    """Part of a budget, or all of it.

    Attributes:
        limits: whole units that may be spent.
        spent: whole units by region and direction; :data:`WHOLE` for the whole dataset.
        checked: numbers of the columns that the database checks, as they are stored; None if they are not.
    """

    limits: Whole
    spent: dict[str, dict[str, Whole]] = field(default_factory=dict)
    checked: Whole | None = None

    def total(self, direction: Direction, region: str = WHOLE) -> Whole:
        """Return what is spent in a direction, with the dearest region, or with one region."""
        zero = (0,) * len(self.limits)
        parts = [
            prices.get(direction.value, zero)
            for name, prices in self.spent.items()
            if name != WHOLE and region in (WHOLE, name)
        ]
        if direction is Direction.REPLACE_ONE:
            parts.append(self._move())
        return _sum(self.spent.get(WHOLE, {}).get(direction.value, zero), _most([zero, *parts]))

    def _move(self) -> Whole:
        """Largest sum of a removal from one region and an addition to another one, number by number."""
        zero, regions = (0,) * len(self.limits), [name for name in self.spent if name != WHOLE]

        def dearest(direction: Direction, number: int) -> list[tuple[int, str]]:
            prices = [(self.spent[name].get(direction.value, zero)[number], name) for name in regions]
            return sorted([*prices, (0, WHOLE)])[-2:]  # or to a region without releases

        return tuple(
            max(
                (
                    removal + addition
                    for removal, left in dearest(Direction.REMOVE, number)
                    for addition, entered in dearest(Direction.ADD, number)
                    if left != entered
                ),
                default=0,
            )
            for number in range(len(self.limits))
        )

    def worst(self, directions: Iterable[Direction], region: str = WHOLE) -> Whole:
        """Return the largest total of the directions, number by number, with the dearest region or with one region."""
        return _most([self.total(direction, region) for direction in directions])

    def add(self, region: str, prices: Prices, sign: int) -> None:
        """Add prices to a region, or take them back."""
        zero = (0,) * len(self.limits)
        mine = self.spent.setdefault(region, {})
        for direction, price in prices.items():
            mine[direction] = _sum(mine.get(direction, zero), price, sign)


@dataclass
class State:
    """Accounts of a ledger.

    Attributes:
        budget: limit of the ledger.
        regions: names of the disjoint parts of the dataset.
        accounts: by name.
        number: number of the last entry of the log.
        hash: its hash.
        period: number of renewals so far.
    """

    budget: Budget
    regions: tuple[str, ...] = ()
    accounts: dict[str, Account] = field(default_factory=dict)
    number: int = -1
    hash: str = FIRST
    period: int = 0

    def __post_init__(self) -> None:
        self.accounts = self.accounts or {WHOLE: Account(self.budget.limits)}

    def account(self, name: str) -> Account:
        """Return an account.

        Raises:
            InvalidInputError: there is none of that name.
        """
        if name not in self.accounts:
            grants = [each for each in self.accounts if each != WHOLE]
            reason = choice("grant", name, grants) if grants else f"grant: the ledger has no grants; received {name!r}"
            raise InvalidInputError(reason, "grant")
        return self.accounts[name]

    def prices(self, rounds: Sequence[Round], account: str, region: str) -> Prices:
        """Return the price of rounds in each direction that counts, at what is left now.

        Raises:
            InvalidInputError: there is no such account or region.
            UnsupportedError: a round has no cost in this kind of budget.
        """
        mine, made = self.account(account), self.budget.made
        if region != WHOLE and region not in self.regions:
            known = list(self.regions)
            reason = choice("region", region, known) if known else "region: the ledger was created without regions"
            raise InvalidInputError(reason, "region")
        moved = region != WHOLE and Direction.REPLACE_ONE in self.budget.adjacency.directions
        for item in rounds:
            if moved and not item.null_record:
                raise UnsupportedError(
                    "a release from one region under 'replace-one' must cover a record that moves to another region; "
                    f"{item.mechanism.name} with sampling {item.sampling.name} does not; use noise on a sum with "
                    "replace_one_distance 2, or no region"
                )
        directions = tuple(self.budget.adjacency.directions)
        found: dict[str, Whole] = {}
        for direction in (*directions, Direction.REMOVE, Direction.ADD) if moved else directions:
            left = first = _sum(mine.limits, mine.total(direction, region), -1)
            for item in rounds:
                # the budget's own filter, with as much left as the account has
                price = made.price(item, direction, self.budget.spent_at(left))
                left = _sum(left, self.budget.whole(price), -1)
            found[direction.value] = _sum(first, left, -1)
        return found

    def spend(self, account: str, region: str, prices: Prices) -> None:
        """Record prices.

        Raises:
            BudgetError: they exceed the account; nothing is recorded.
        """
        mine = self.account(account)
        mine.add(region, prices, 1)
        if not self.fits(mine):
            mine.add(region, prices, -1)
            raise BudgetError("the release does not fit")

    def give_back(self, account: str, region: str, prices: Prices) -> None:
        """Take back prices that were recorded."""
        self.account(account).add(region, prices, -1)

    def grant(self, name: str, limits: Whole) -> None:
        """Set a part of the budget aside.

        Raises:
            InvalidInputError: there is a grant of that name.
            BudgetError: as much is not left.
        """
        if name in self.accounts:
            raise InvalidInputError(f"grant: this name is already taken; received {name!r}", "name")
        self.spend(WHOLE, WHOLE, self.of_all_directions(limits))
        self.accounts[name] = Account(limits)

    def renew(self) -> None:
        """Begin a period in which nothing is spent; grants stay."""
        for account in self.accounts.values():
            account.spent.clear()
        for name, account in self.accounts.items():
            if name != WHOLE:
                self.spend(WHOLE, WHOLE, self.of_all_directions(account.limits))
        self.period += 1

    def fits(self, account: Account) -> bool:
        """Return True if what is spent of an account is within its limits."""
        return within(account.worst(self.budget.adjacency.directions), account.limits)

    def affords(self, name: str, region: str, prices: Prices) -> bool:
        """Return True if prices fit an account now."""
        try:
            self.spend(name, region, prices)
        except BudgetError:
            return False
        self.give_back(name, region, prices)
        return True

    def spent(self, name: str, region: str = WHOLE) -> Whole:
        """Return what is spent of an account in its worst direction, with the dearest region or with one region."""
        return self.account(name).worst(self.budget.adjacency.directions, region)

    def left(self, name: str, region: str = WHOLE) -> Whole:
        """Return what is left of an account in its worst direction, for the whole dataset or for one region."""
        return _sum(self.account(name).limits, self.spent(name, region), -1)

    def of_all_directions(self, limits: Whole) -> Prices:
        """Return the same price in every direction."""
        return {direction.value: limits for direction in self.budget.adjacency.directions}


def columns(numbers: Whole, pad: Sequence[int]) -> Whole:
    """Return three numbers of which the database checks that the first, and the second or the third, is in its limit.

    One number is the first of them. Two numbers are the first two, beside a third that never is within its limit.
    """
    return (*numbers, *pad[len(numbers) - 1 :])[:3]


def within(spent: Whole, limits: Whole) -> bool:
    """Return True if the first number is within its limit, and the second or the third, as far as there are any."""
    first, second, third = (a <= b for a, b in zip(columns(spent, SPENT), columns(limits, LIMITS), strict=True))
    return first and (second or third)


def checked(spent: Whole, limits: Whole) -> Whole:
    """Return the numbers of the columns that the database checks: three spent ones, and their limits."""
    return tuple(min(each, LARGEST) for each in (*columns(spent, SPENT), *columns(limits, LIMITS)))


SPENT, LIMITS = (0, 1), (0, 0)
"""Numbers that stand in place of a second and a third one: 0 of 0, which is in its limit, and 1 of 0, which is not."""


def _sum(first: Whole, second: Whole, sign: int = 1) -> Whole:
    return tuple(a + sign * b for a, b in zip(first, second, strict=True))


def _most(amounts: Iterable[Whole]) -> Whole:
    return tuple(map(max, zip(*amounts, strict=True)))
