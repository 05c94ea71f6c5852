"""The operations of a ledger: begin, grant, price, spend, settle, renew, show and export."""

from __future__ import annotations

import getpass
import secrets
import uuid
from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from hockeystick.plan.file import rounds_to_dicts
from hockeystick.plan.plan import Round
from hockeystick.questions.filters.currency import CurrencyFilter
from hockeystick.questions.ledger.budget import FORMAT, Budget, begun_by
from hockeystick.questions.ledger.entries import (
    BEGIN,
    GRANT,
    RENEW,
    RUN,
    SPEND,
    VOID,
    Entry,
    chained,
    hashed,
    spelled,
    undamaged,
)
from hockeystick.questions.ledger.state import WHOLE, Prices, State
from hockeystick.questions.ledger.store import Transaction, store_of
from hockeystick.questions.ledger.verification import Verification, verified
from hockeystick.values.adjacency import Adjacency, Direction
from hockeystick.values.domains import MAX_COUNT, one_line, shown, unmet, whole_numbers
from hockeystick.values.errors import BudgetError, InvalidInputError
from hockeystick.values.outward import six_digits
from hockeystick.values.words import LONG

RESERVED = "reserved"
"""State of a reserved release before it is settled; the other states of a release are :data:`RUN` and :data:`VOID`."""


@dataclass(frozen=True)
class Receipt:
    """Receipt of a log entry; the writer of the entry keeps it as evidence.

    Attributes:
        number: number of the entry.
        hash: hash of the entry, which binds all entries before it.
        keys: the keys of the entry.
        token: secret with which a reserved release is confirmed or given back, returned only once; None for other
            entries.
    """

    number: int
    hash: str
    keys: Mapping[str, Any]
    token: str | None = None

    def json(self) -> dict[str, Any]:
        """Return the receipt in JSON values."""
        return {"number": self.number, "hash": self.hash, "entry": dict(self.keys), "token": self.token}


@dataclass(frozen=True)
class Price:
    """Price of releases at one moment; pricing them records nothing.

    Attributes:
        prices: whole units in each direction.
        fits: True if the releases fit now.
        more: number of such releases that would fit, up to 10^12; None for the currency filter, whose prices change.
    """

    prices: Prices
    fits: bool
    more: int | None


@dataclass(frozen=True)
class Standing:
    """The budget and the latest releases of a ledger at one moment.

    Attributes:
        begun: fields of the first entry, by name.
        state: accounts, and number and hash of the last entry.
        releases: number of releases recorded.
        voids: number of releases that were given back.
        last: fields of the latest releases, in order; the field ``state`` says what became of each.
    """

    begun: Mapping[str, Any]
    state: State
    releases: int
    voids: int
    last: Sequence[Mapping[str, Any]]


class Ledger:
    """Budget kept in a database, with a log of everything ever spent.

    Args:
        place: name of an SQLite file, or address of a PostgreSQL database.

    Raises:
        HockeystickError: the driver of PostgreSQL is not installed.
        InvalidInputError: the file name has the ending of a plan file.

    >>> import tempfile
    >>> from hockeystick import Laplace
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     ledger = Ledger.begin(f"{folder}/ledger.db", "pure", {"epsilon": 1.0})
    ...     first = ledger.spend(Round(Laplace(10.0), name="visits"), request="q1")
    ...     again = ledger.spend(Round(Laplace(10.0), name="visits"), request="q1")
    ...     ledger.price(Round(Laplace(10.0))).more, first == again, ledger.verify().sound
    (9, True, True)
    """

    def __init__(self, place: str | Path) -> None:
        self._store = store_of(place)

    def __repr__(self) -> str:
        return f"Ledger({self._store.place!r})"

    def __str__(self) -> str:
        return self._store.place

    @property
    def budget(self) -> Budget:
        """Limit of the ledger.

        Raises:
            InvalidInputError: the ledger cannot be read.
        """
        return self._store.look(_begun)[1]

    @classmethod
    def begin(
        cls,
        place: str | Path,
        kind: str,
        budget: Mapping[str, Any],
        *,
        adjacency: Adjacency | str = Adjacency.ADD_OR_REMOVE,
        dataset: str = "",
        unit: str = "record",
        regions: Sequence[str] = (),
        who: str | None = None,
    ) -> Ledger:
        """Begin a ledger, which must not exist.

        Args:
            place: name of a new file, or address of a database without a ledger.
            kind: name of a privacy filter.
            budget: keys of the filter; see :data:`hockeystick.questions.ledger.budget.KINDS`. The reference of a
                currency is a round.
            adjacency: neighbouring relation.
            dataset: name of the dataset, for readers.
            unit: unit in which neighbouring datasets differ, for readers.
            regions: names of disjoint parts of the dataset; no unit has data in two of them.
            who: person who begins it; by default the user of the system.

        Raises:
            InvalidInputError: a value is outside its domain, or the ledger exists or cannot be written.
        """
        relation = Adjacency.parse(adjacency)
        made = Budget(kind, budget, relation)
        if isinstance(regions, str) or not isinstance(regions, Sequence):
            raise unmet("regions", "must be a list of names", regions)
        for name in regions:
            _text(name, "region")
        if len(set(regions)) < len(regions):
            raise unmet("regions", "must have different names", list(regions))
        if regions and kind == CurrencyFilter.name and Direction.REPLACE_ONE in relation.directions:
            raise InvalidInputError(
                "filter 'currency' has no price for a record that moves between regions; use filter 'zcdp' or 'rdp'",
                "regions",
            )
        keys = {
            "format": FORMAT,
            "filter": kind,
            "budget": dict(made.keys),
            "adjacency": relation.value,
            "limits": list(made.limits),
            "units": [str(unit) for unit in made.units],
            "dataset": _text(dataset, "dataset", empty=True),
            "unit": _text(unit, "unit"),
            "regions": list(regions),
        }

        def work(transaction: Transaction) -> None:
            state = State(made, tuple(regions))
            transaction.keep(WHOLE, state.account(WHOLE), state.spent(WHOLE), new=True)
            _append(transaction, BEGIN, "", keys, who, state)

        store_of(place, new=True).create(work)
        return cls(place)

    def price(self, releases: Round | Iterable[Round], *, grant: str = WHOLE, region: str = WHOLE) -> Price:
        """Return the present price of releases, given what is left, and record nothing.

        Raises:
            InvalidInputError: the ledger cannot be read, or has no such grant or region.
            UnsupportedError: a release has no cost in this kind of budget.
        """
        rounds = _rounds(releases)
        _text(grant, "grant", empty=True)

        def work(transaction: Transaction) -> Price:
            _, state = _loaded(transaction)
            return priced(state, rounds, grant, region)

        return self._store.look(work)

    def spend(
        self,
        releases: Round | Iterable[Round],
        *,
        request: str | None = None,
        grant: str = WHOLE,
        region: str = WHOLE,
        who: str | None = None,
        reserve: bool = False,
    ) -> Receipt:
        """Record releases, all or none, before they are made.

        Args:
            releases: one round, or several.
            request: id of the request; by default a new one. If the id was recorded before with the same releases, the
                first receipt is returned and nothing is recorded.
            grant: grant to which the price is charged; by default the ungranted part of the budget.
            region: the region that the releases use; by default the whole dataset.
            who: person who makes them; by default the user of the system.
            reserve: True for a receipt with a token. With the token, :meth:`void` gives the price back if no noise was
                drawn, and :meth:`run` confirms the release.

        Raises:
            BudgetError: the releases do not fit; or the id was recorded for something else, was voided or run, or
                belongs to an earlier period. Nothing is recorded.
            InvalidInputError: the ledger cannot be read or written, or has no such grant or region.
            UnsupportedError: a release has no cost in this kind of budget.
        """
        rounds = _rounds(releases)
        name = uuid.uuid4().hex if request is None else _text(request, "id")
        token = secrets.token_hex(16) if reserve else None
        asked: dict[str, Any] = {"id": name, "grant": _text(grant, "grant", empty=True), "region": region}
        asked["rounds"] = rounds_to_dicts(rounds)  # a repetition of the request must give the same values

        def work(transaction: Transaction) -> Receipt:
            _, state = _loaded(transaction)
            old = transaction.entry(SPEND, name)
            if old is not None:
                return _repeated(old, asked, reserve, state.period, settling(transaction, name))
            prices = state.prices(rounds, grant, region)
            try:
                state.spend(grant, region, prices)
            except BudgetError:
                raise BudgetError(refusal(state, rounds, grant, region)) from None
            _keep(transaction, state, grant)
            kept = None if token is None else hashed(token)
            keys = {**asked, "prices": prices, "token": kept, "period": state.period}
            return _append(transaction, SPEND, name, keys, who, state, token)

        return self._store.write(work)

    def run(self, request: str, token: str, *, who: str | None = None) -> Receipt:
        """Confirm that noise was drawn for a reserved release, so that its price is never given back.

        Raises:
            BudgetError: the release was voided, or its period is over.
            InvalidInputError: there is no reserved release of that id, or the token is not that of its receipt.
        """
        return self._settle(RUN, request, token, who)

    def void(self, request: str, token: str, *, who: str | None = None) -> Receipt:
        """Give back the price of a reserved release; the holder of its token states thereby that no noise was drawn.

        Raises:
            BudgetError: the release was confirmed, its period is over, or, in a currency, a later release was recorded.
            InvalidInputError: there is no reserved release of that id, or the token is not that of its receipt.
        """
        return self._settle(VOID, request, token, who)

    def _settle(self, kind: str, request: str, token: str, who: str | None) -> Receipt:
        _text(request, "id")

        def work(transaction: Transaction) -> Receipt:
            spent, settled = transaction.entry(SPEND, request), settling(transaction, request)
            said = {} if spent is None else spent.keys
            if said.get("token") is None:
                raise unmet("id", "must be the ID of a reserved release", request)
            if not secrets.compare_digest(hashed(token), said["token"]):
                raise InvalidInputError("token must be the token on the reservation's receipt", "token")
            if settled is not None:
                if settled.kind != kind:
                    raise BudgetError(
                        f"id {shown(request)} was already settled by {settled.kind} (entry {settled.number})"
                    )
                return Receipt(settled.number, settled.hash, settled.keys)
            _, state = _loaded(transaction)
            if said["period"] != state.period:
                raise BudgetError(f"id {shown(request)} was reserved in an earlier period, where it counts")
            if kind == VOID:
                if state.budget.ordered and transaction.latest(SPEND, 1)[0].name != request:
                    raise BudgetError(
                        f"id {shown(request)} can be voided only before the next release is recorded, because prices "
                        "in a currency depend on what was left"
                    )
                state.give_back(said["grant"], said["region"], said["prices"])
                _keep(transaction, state, said["grant"])
            return _append(transaction, kind, request, {"id": request, "token": token}, who, state)

        return self._store.write(work)

    def grant(self, name: str, amount: float, *, who: str | None = None) -> Receipt:
        """Set a part of the budget aside for a team or a person.

        Args:
            name: name of the grant.
            amount: part of the budget, in the currency of its filter: rho of zcdp, mu squared of gdp, epsilon of pure,
                rounds of a currency, divergence of rdp.
            who: person who grants it; by default the user of the system.

        Raises:
            BudgetError: less than the amount is left.
            InvalidInputError: the name is taken, or the budget has no parts that add up.
        """
        _text(name, "name")

        def work(transaction: Transaction) -> Receipt:
            _, state = _loaded(transaction)
            limits = state.budget.part(amount)
            try:
                state.grant(name, limits)
            except BudgetError:
                left = six_digits(state.budget.remaining(state.left(WHOLE)))
                raise BudgetError(f"a grant of {amount:g} does not fit; {left} is left to grant") from None
            _keep(transaction, state, WHOLE)
            transaction.keep(name, state.account(name), state.spent(name), new=True)
            return _append(transaction, GRANT, name, {"grant": name, "limits": limits}, who, state)

        return self._store.write(work)

    def renew(self, name: str, *, who: str | None = None) -> Receipt:
        """Begin a new period, in which nothing is spent yet; grants stay as they are.

        The budget then holds for each period separately. A person whose data is in several periods has only the
        guarantee of the periods' composition, which is weaker.

        Raises:
            InvalidInputError: a period of that name began before.
        """
        _text(name, "name")

        def work(transaction: Transaction) -> Receipt:
            _, state = _loaded(transaction)
            if transaction.entry(RENEW, name) is not None:
                raise InvalidInputError(f"a period with this name already began; received {shown(name)}", "name")
            state.renew()
            for each in state.accounts:
                _keep(transaction, state, each)
            return _append(transaction, RENEW, name, {"period": name}, who, state)

        return self._store.write(work)

    def show(self, last: int = 20) -> Standing:
        """Return the ledger as it is now, with its latest releases.

        Args:
            last: number of the latest releases.

        Raises:
            InvalidInputError: the ledger cannot be read.
        """
        last = int(whole_numbers(0, 10**6).of("latest releases").check(last, "last"))

        def work(transaction: Transaction) -> Standing:
            begun, state = _loaded(transaction)
            latest = []
            for entry in transaction.latest(SPEND, last):
                settled = settling(transaction, entry.name)
                with undamaged():
                    reserved = RUN if entry.keys["token"] is None else RESERVED
                    latest.append({**entry.keys, "state": settled.kind if settled else reserved})
            releases, voids = transaction.count(SPEND), transaction.count(VOID)
            return Standing(begun, state, releases, voids, latest)

        return self._store.look(work)

    def entries(self) -> list[Entry]:
        """Return the log.

        Raises:
            InvalidInputError: the ledger cannot be read.
        """
        return self._store.look(lambda transaction: transaction.entries())

    def verify(self, receipts: Iterable[Any] = ()) -> Verification:
        """Recompute the state and every price from the log, and compare the state with the stored one.

        Args:
            receipts: receipts that must be in the log, as :meth:`Receipt.json` returns them.

        Raises:
            InvalidInputError: the ledger cannot be read.
        """

        def work(transaction: Transaction) -> Verification:
            return verified(transaction.entries(), transaction.head(), transaction.accounts(), receipts)

        return self._store.look(work)


def priced(state: State, rounds: Sequence[Round], grant: str, region: str) -> Price:
    """Return the price of rounds: the price in each direction, True if they fit, and how many times they fit."""
    prices = state.prices(rounds, grant, region)
    if state.budget.ordered:
        return Price(prices, state.affords(grant, region, prices), None)

    def times(count: int) -> Prices:
        return {direction: tuple(count * number for number in price) for direction, price in prices.items()}

    counts = range(1, MAX_COUNT + 1)
    more = bisect_left(counts, True, key=lambda count: not state.affords(grant, region, times(count)))
    return Price(prices, more > 0, more)


def refusal(state: State, rounds: Sequence[Round], grant: str, region: str) -> str:
    """Return the reason why rounds do not fit."""
    names = " and ".join(f"{item.count} x {item.mechanism.name}" for item in rounds[:3])
    left = six_digits(state.budget.remaining(state.left(grant, region)))
    where = "".join(f" in {key} {name}" for key, name in (("grant", grant), ("region", region)) if name)
    one = [item.changed(count=1) for item in rounds]
    room = priced(state, one, grant, region).more if len(rounds) == 1 else None
    more = f" ({room} x would)" if room else ""
    return f"{one_line(names)} does not fit{where}{more}; {left} {state.budget.made.currency} is left"


def _begun(transaction: Transaction) -> tuple[Mapping[str, Any], Budget]:
    first = transaction.entry(BEGIN, "")
    if first is None:
        raise InvalidInputError("the log has no first entry, so entries were removed")
    with undamaged():
        return begun_by(first.body)


def _loaded(transaction: Transaction) -> tuple[Mapping[str, Any], State]:
    begun, budget = _begun(transaction)
    return begun, State(budget, tuple(begun["regions"]), transaction.accounts(), *transaction.head())


def _repeated(old: Entry, asked: Mapping[str, Any], reserve: bool, period: int, settled: Entry | None) -> Receipt:
    """Return the receipt of a request that was recorded before, without the token of a reservation.

    Raises:
        BudgetError: the id was recorded for another release or in an earlier period, or the release is settled.
    """
    with undamaged():
        said = old.keys
        same = spelled({key: said[key] for key in asked}) == spelled(asked) and (said["token"] is None) != reserve
        earlier = said["period"] != period
    if not same:
        before = "for another release"
    elif earlier:
        before = "in an earlier period"
    elif settled is not None:
        before = {VOID: "and voided", RUN: "and run"}[settled.kind]
    else:
        return Receipt(old.number, old.hash, said)
    raise BudgetError(f"id {shown(asked['id'])} was already recorded {before} (entry {old.number}); use another id")


def settling(transaction: Transaction, request: str) -> Entry | None:
    """Return the entry that confirms or voids a release, or None."""
    return transaction.entry(RUN, request) or transaction.entry(VOID, request)


def _append(
    transaction: Transaction,
    kind: str,
    name: str,
    keys: Mapping[str, Any],
    who: str | None,
    state: State,
    token: str | None = None,
) -> Receipt:
    when, number = datetime.now(UTC).isoformat(timespec="seconds"), state.number + 1
    body = spelled({**keys, "kind": kind, "number": number, "when": when, "who": _person(who)})
    entry = Entry(number, kind, name, body, chained(state.hash, body))
    transaction.append(entry, state.period)
    state.number, state.hash = entry.number, entry.hash
    return Receipt(entry.number, entry.hash, entry.keys, token)


def _keep(transaction: Transaction, state: State, name: str) -> None:
    transaction.keep(name, state.account(name), state.spent(name))


def _rounds(releases: Round | Iterable[Round]) -> list[Round]:
    given: Any = [releases] if isinstance(releases, Round) else releases
    found = list(given) if isinstance(given, Iterable) else []
    if not found or not all(isinstance(item, Round) for item in found):
        raise unmet("releases", "must be one Round or several", releases)
    return found


def _text(value: Any, key: str, *, empty: bool = False) -> str:
    if not isinstance(value, str) or not (empty or value.strip()) or len(value) > LONG or not value.isprintable():
        raise unmet(key, f"must be a line of 1 to {LONG} characters", value)
    return value


def _person(who: str | None) -> str:
    if who is not None:
        return _text(who, "who")
    try:
        return getpass.getuser()
    except (KeyError, OSError, ImportError):  # no such user, or a system without users
        return "unknown"
