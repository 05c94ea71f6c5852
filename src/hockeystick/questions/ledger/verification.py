"""Verification of a ledger: the state and every price are recomputed from the log, by this version of the library.

If an entry was changed, removed, moved or added, its hash or those of its neighbours no longer fit. If the log was
truncated or the state overwritten, the two no longer agree. A whole database restored to an earlier day is consistent:
only a receipt of a later day, whose number or hash is not found, reveals it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hockeystick.plan.file import rounds_in_order
from hockeystick.questions.ledger.budget import begun_by
from hockeystick.questions.ledger.entries import BEGIN, FIRST, GRANT, RENEW, RUN, SPEND, VOID, Entry, chained, hashed
from hockeystick.questions.ledger.state import Account, State, checked
from hockeystick.values.domains import cut
from hockeystick.values.errors import HockeystickError


@dataclass(frozen=True)
class Verification:
    """Result of a verification.

    Attributes:
        entries: number of entries.
        hash: hash of the last entry.
        state: accounts derived from the log; None if the log has no beginning.
        findings: discrepancies, one line each. Of discrepancies in the log only the first is listed, as it often causes
            others.
    """

    entries: int
    hash: str
    state: State | None
    findings: tuple[str, ...]

    @property
    def sound(self) -> bool:
        """True if no discrepancy was found."""
        return not self.findings


def verified(
    entries: Sequence[Entry],
    head: tuple[int, str, int] | None = None,
    accounts: Mapping[str, Account] | None = None,
    receipts: Iterable[Any] = (),
) -> Verification:
    """Recompute the state, and compare it with the stored state and with receipts.

    Args:
        entries: the log, in order.
        head: stored number and hash of the last entry, and stored period; None if only a log is given.
        accounts: stored accounts.
        receipts: receipts that must be in the log, each with its ``number`` and ``hash``.
    """
    findings: list[str] = []
    last, state = FIRST, None
    spends: dict[str, Mapping[str, Any]] = {}
    for number, entry in enumerate(entries):
        try:
            if entry.number != number:
                raise ValueError(f"missing; entry {entry.number} is in its place")
            if chained(last, entry.body) != entry.hash:
                raise ValueError("its hash does not match its text and the preceding entries")
            state = _after(state, entry, spends)
        except (HockeystickError, ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
            findings.append(f"entry {number}: {error}")
            break
        last = entry.hash
    if not entries:
        findings.append("the log is empty")
    if head is not None and entries and (head[0], head[1]) != (entries[-1].number, entries[-1].hash):
        findings.append(
            f"the log ends with entry {entries[-1].number} and hash {entries[-1].hash[:16]}..., but the state was "
            f"written after entry {head[0]} and hash {head[1][:16]}..."
        )
    if state is not None and not findings:
        if head is not None and head[2] != state.period:
            findings.append(f"the stored period is {head[2]}, but the log gives {state.period}")
        if accounts is not None:
            findings += _differences(state, accounts)
    known = {f"{entry.number} {entry.hash}" for entry in entries}
    for receipt in receipts:
        said = receipt if isinstance(receipt, Mapping) else {}
        if f"{said.get('number')} {said.get('hash')}" not in known:
            findings.append(f"the log has no entry {cut(str(said.get('number')))} with the hash of the receipt")
    return Verification(len(entries), entries[-1].hash if entries else FIRST, state, tuple(findings))


def _after(state: State | None, entry: Entry, spends: dict[str, Mapping[str, Any]]) -> State:
    """Return the state after one more entry.

    Raises:
        HockeystickError: the entry is not allowed at this place, or its prices are too low.
    """
    keys = entry.keys
    name = keys.get("id", keys.get("grant", keys.get("period", "")))
    if (keys["kind"], keys["number"], name) != (entry.kind, entry.number, entry.name):
        raise ValueError("its columns do not match its text")
    if state is None:
        if entry.kind != BEGIN:
            raise ValueError(f"the first entry of a log must be of kind {BEGIN}; received {entry.kind}")
        begun, budget = begun_by(entry.body)
        if list(budget.limits) != begun["limits"]:
            raise ValueError(f"its limits are {begun['limits']}, but this version computes {list(budget.limits)}")
        return State(budget, tuple(begun["regions"]))
    if entry.kind == SPEND:
        if keys["id"] in spends:
            raise ValueError(f"id {keys['id']} was already recorded")
        spends[keys["id"]] = keys
        prices = {direction: tuple(price) for direction, price in keys["prices"].items()}
        found = state.prices(rounds_in_order(keys["rounds"]), keys["grant"], keys["region"])
        if found.keys() != prices.keys() or any(max(map(int.__sub__, found[at], prices[at])) > 0 for at in found):
            raise ValueError(f"its prices are {prices}, but this version computes {found}")
        if keys["period"] != state.period:
            raise ValueError(f"it states period {keys['period']}, but the period is {state.period}")
        state.spend(keys["grant"], keys["region"], prices)
    elif entry.kind == GRANT:
        limits = tuple(keys["limits"])
        if len(limits) != len(state.budget.limits) or not all(type(each) is int and each >= 0 for each in limits):
            raise ValueError(f"its limits are {list(limits)}")
        state.grant(keys["grant"], limits)
    elif entry.kind == RENEW:
        state.renew()
    elif entry.kind in (RUN, VOID):
        spent = spends[keys["id"]]
        if spent.get("settled") or spent["token"] is None:
            raise ValueError(f"id {keys['id']} was not reserved, or is already settled")
        spends[keys["id"]] = {**spent, "settled": True}
        if hashed(keys["token"]) != spent["token"]:
            raise ValueError("its token does not match the reservation")
        if spent["period"] != state.period:
            raise ValueError("it settles a release of an earlier period")
        if entry.kind == VOID:
            if state.budget.ordered and next(reversed(spends)) != keys["id"]:
                raise ValueError("it voids a release priced in a currency after a later release")
            state.give_back(spent["grant"], spent["region"], spent["prices"])
    else:
        raise ValueError(f"unknown kind of entry {entry.kind}")
    return state


def _differences(state: State, accounts: Mapping[str, Account]) -> list[str]:
    """Return the accounts whose stored values differ from those derived from the log."""
    found = []
    for name in sorted({*state.accounts, *accounts}):
        mine, stored = state.accounts.get(name), accounts.get(name)
        if mine is None or stored is None or _content(state, mine) != _content(state, stored):
            found.append(f"the stored account {name or 'of the budget'} differs from the log")
    return found


def _content(state: State, account: Account) -> tuple[object, ...]:
    """Return an account's limits, its nonzero spent amounts, and the numbers that the database checks."""
    spent = {
        (region, direction): price
        for region, prices in account.spent.items()
        for direction, price in prices.items()
        if any(price)
    }
    found = checked(account.worst(state.budget.adjacency.directions), account.limits)
    return account.limits, spent, found if account.checked is None else account.checked
