"""The state of a ledger: amounts spent of the budget and of its grants, as they follow from the log.

**Accounts.** The account named ``""`` is the budget itself. Each grant is a part of the budget, with an account of its
own. A grant is charged to the budget in full when it is made, and its releases are then limited by the grant alone. The
total spent over all accounts is therefore at most the budget, whoever spends first: prices add up in these filters, in
the order in which they were recorded. Each account has the filter of the budget, with the amount left in the account.

**Regions** are disjoint parts of the dataset, named when the ledger begins. A release of a region uses only the records
of that region. Let W be the amount spent on the whole dataset, in one direction, and ``S_r`` the amount spent on region
r. A record that is added or removed is in one region, so all releases together cost at most ``W + max_r S_r``. A record
that is replaced either stays in its region, which costs ``W + max_r S_r``, or moves. A move is a removal from one
region and an addition to another, and costs ``W + max_(r != s) (removal_r + addition_s)``, as the releases of both
regions use the record. The larger of the two costs counts. A guarantee for replaced records alone does not cover a
record that moves: a region's number of records must stay private under replacement, since it reveals the move. So
regions accept only rounds that declare to cover moves (``Round.null_record``).

**Reservations.** A reserved release counts as run until it is given back. In additive budgets, giving back after later
results are seen spends no more than the sum of the releases that were run. The prices of a currency hold for the amount
left when they were made. There, a release can be given back only while no later release is recorded, which restores the
amount before it.

**Periods.** A renewal begins a period in which nothing is spent. Each period is as private as the budget states; a
person whose data is in several periods has the guarantee of their composition. Noise is drawn in the period in which
its release was declared.
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
"""Account of the budget itself, and region of releases that use the whole dataset."""

LARGEST = 2**62
"""Number stored in the database in place of a larger one."""

Prices = Mapping[str, Whole]
"""Price in each direction."""


@dataclass
class Account:
    """Part of a budget, or all of it.

    Attributes:
        limits: whole units that may be spent.
        spent: whole units by region and direction; the key :data:`WHOLE` is for the whole dataset.
        checked: numbers stored in the columns that the database checks; None if the account is not stored.
    """

    limits: Whole
    spent: dict[str, dict[str, Whole]] = field(default_factory=dict)
    checked: Whole | None = None

    def total(self, direction: Direction, region: str = WHOLE) -> Whole:
        """Return the sum spent in a direction on the whole dataset and on one region, by default the costliest one."""
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
        """Return the largest cost of a move for each amount: a removal from one region plus an addition to another."""
        zero, regions = (0,) * len(self.limits), [name for name in self.spent if name != WHOLE]

        def dearest(direction: Direction, number: int) -> list[tuple[int, str]]:
            prices = [(self.spent[name].get(direction.value, zero)[number], name) for name in regions]
            return sorted([*prices, (0, WHOLE)])[-2:]  # also a region without releases

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
        """Return, for each amount, the largest of the directions' totals (see :meth:`total`)."""
        return _most([self.total(direction, region) for direction in directions])

    def add(self, region: str, prices: Prices, sign: int) -> None:
        """Add ``sign`` times prices to the amounts spent on a region."""
        zero = (0,) * len(self.limits)
        mine = self.spent.setdefault(region, {})
        for direction, price in prices.items():
            mine[direction] = _sum(mine.get(direction, zero), price, sign)


@dataclass
class State:
    """Accounts of a ledger after the last entry of its log.

    Attributes:
        budget: limit of the ledger.
        regions: names of the disjoint parts of the dataset.
        accounts: accounts by name.
        number: number of the last entry of the log.
        hash: hash of that entry.
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
        """Return the account of a name.

        Raises:
            InvalidInputError: there is no account of that name.
        """
        if name not in self.accounts:
            grants = [each for each in self.accounts if each != WHOLE]
            reason = choice("grant", name, grants) if grants else f"grant: the ledger has no grants; received {name!r}"
            raise InvalidInputError(reason, "grant")
        return self.accounts[name]

    def prices(self, rounds: Sequence[Round], account: str, region: str) -> Prices:
        """Return the price of rounds in each direction, at the amount that is left in an account.

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
                # the budget's own filter, with the amount left in the account
                price = made.price(item, direction, self.budget.spent_at(left))
                left = _sum(left, self.budget.whole(price), -1)
            found[direction.value] = _sum(first, left, -1)
        return found

    def spend(self, account: str, region: str, prices: Prices) -> None:
        """Add prices to the amounts that an account has spent.

        Raises:
            BudgetError: the prices exceed the account; nothing is recorded.
        """
        mine = self.account(account)
        mine.add(region, prices, 1)
        if not within(mine.worst(self.budget.adjacency.directions), mine.limits):
            mine.add(region, prices, -1)
            raise BudgetError("the release does not fit")

    def give_back(self, account: str, region: str, prices: Prices) -> None:
        """Subtract recorded prices."""
        self.account(account).add(region, prices, -1)

    def grant(self, name: str, limits: Whole) -> None:
        """Set a part of the budget aside.

        Raises:
            InvalidInputError: there is a grant of that name.
            BudgetError: less than the part is left.
        """
        if name in self.accounts:
            raise InvalidInputError(f"grant: this name is already taken; received {name!r}", "name")
        self.spend(WHOLE, WHOLE, self.of_all_directions(limits))
        self.accounts[name] = Account(limits)

    def renew(self) -> None:
        """Begin a new period, in which nothing is spent yet; grants stay."""
        for account in self.accounts.values():
            account.spent.clear()
        for name, account in self.accounts.items():
            if name != WHOLE:
                self.spend(WHOLE, WHOLE, self.of_all_directions(account.limits))
        self.period += 1

    def affords(self, name: str, region: str, prices: Prices) -> bool:
        """Return True if prices fit an account now."""
        try:
            self.spend(name, region, prices)
        except BudgetError:
            return False
        self.give_back(name, region, prices)
        return True

    def spent(self, name: str, region: str = WHOLE) -> Whole:
        """Return the amount that an account has spent in its worst direction (see :meth:`Account.total`)."""
        return self.account(name).worst(self.budget.adjacency.directions, region)

    def left(self, name: str, region: str = WHOLE) -> Whole:
        """Return the amount left of an account in its worst direction, for the whole dataset or for one region."""
        return _sum(self.account(name).limits, self.spent(name, region), -1)

    def of_all_directions(self, limits: Whole) -> Prices:
        """Return prices that equal ``limits`` in every direction."""
        return {direction.value: limits for direction in self.budget.adjacency.directions}


def columns(numbers: Whole, pad: Sequence[int]) -> Whole:
    """Return one to three numbers as three, for the columns that the database checks.

    The database requires that the first is within its limit, and so is the second or the third. A single number becomes
    the first. Two numbers become the first two, with a third that is never within its limit.
    """
    return (*numbers, *pad[len(numbers) - 1 :])[:3]


def within(spent: Whole, limits: Whole) -> bool:
    """Return True if the first amount is within its limit, and so is at least one of the others, if there are any."""
    first, second, third = (a <= b for a, b in zip(columns(spent, SPENT), columns(limits, LIMITS), strict=True))
    return first and (second or third)


def checked(spent: Whole, limits: Whole) -> Whole:
    """Return the values that the database checks: three spent amounts and their limits, each at most ``LARGEST``."""
    return tuple(min(each, LARGEST) for each in (*columns(spent, SPENT), *columns(limits, LIMITS)))


SPENT, LIMITS = (0, 1), (0, 0)
"""Amounts and limits in place of a missing second and third: 0 of 0 is within its limit, 1 of 0 is not."""


def _sum(first: Whole, second: Whole, sign: int = 1) -> Whole:
    return tuple(a + sign * b for a, b in zip(first, second, strict=True))


def _most(amounts: Iterable[Whole]) -> Whole:
    return tuple(map(max, zip(*amounts, strict=True)))
