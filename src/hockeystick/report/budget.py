"""Answers about a ledger, the record of a privacy budget: what remains, what was released, and the total guarantee."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hockeystick.plan.file import rounds_in_order, rounds_to_dicts
from hockeystick.plan.plan import Plan, Round
from hockeystick.questions.filters.approximate import ApproximateDpFilter
from hockeystick.questions.ledger.budget import Budget, Whole
from hockeystick.questions.ledger.entries import RUN, VOID
from hockeystick.questions.ledger.ledger import RESERVED, Price, Receipt, Standing
from hockeystick.questions.ledger.state import WHOLE, State, within
from hockeystick.questions.ledger.verification import Verification
from hockeystick.report.answer import MAX_CLAUSE, Answer, caveat_lines, caveats_json, settings_said
from hockeystick.report.document.wording import settings_of
from hockeystick.report.rounding import SHOWN_DIGITS, exact, round_down, round_up
from hockeystick.values.domains import MAX_COUNT, cut, one_line
from hockeystick.values.version import __version__

LEDGER = ("ledger", "log")  # kinds of answers about a ledger, which `budget verify` verifies

MAX_UNROUNDED = 8  # longest number in characters that is shown unrounded, since filters keep the decimals they receive


def standing_answer(standing: Standing) -> Answer:
    """Return the text about a ledger: how much of the budget remains, and the latest releases."""
    state, budget = standing.state, standing.state.budget
    grants = [name for name in state.accounts if name != WHOLE]
    spent = "spent or granted" if grants else "spent"
    lines = [("proven", _guarantee_said(standing)), (spent, _amount_said(budget, state.spent(WHOLE)))]
    lines += [_grant_line(state, name) for name in grants]
    if state.regions:
        left = ", ".join(f"{name} {_down(budget.remaining(state.left(WHOLE, name)))}" for name in state.regions)
        lines.append(("regions", f"{left} remains"))
    given_back = f", {standing.voids} voided" if standing.voids else ""
    unit = one_line(standing.begun["unit"])
    lines += [
        ("adjacency", f"{budget.adjacency.value}, of a {unit}"),
        ("releases", f"{standing.releases}{given_back}"),
        ("last entry", f"{state.number}, hash {state.hash}"),
    ]
    if unit != "record":  # prices are computed for one record, and a ledger does not see the data
        lines.append(("condition", f"the noise of each release is relative to everything that one {unit} contributes"))
    plan = _plan(standing)
    if plan is not None:
        lines += caveat_lines(plan, budget.delta or None)
    lines += [(str(keys["id"])[:20], _release_said(keys, STATES[keys["state"]])) for keys in standing.last]
    return Answer(_headline(state), tuple(lines))


def standing_json(standing: Standing) -> dict[str, Any]:
    """Return the state of a ledger and its latest releases in JSON values."""
    state, budget, plan = standing.state, standing.state.budget, _plan(standing)
    accounts = {
        name: {
            "spent": budget.made.spent_of(budget.amounts(state.spent(name))),
            "remaining": budget.remaining(state.left(name)),
            "units_spent": list(state.spent(name)),
            "units_of": list(account.limits),
        }
        for name, account in state.accounts.items()
    }
    return {
        "answer": "ledger",
        "begun": dict(standing.begun),
        "currency": budget.made.currency,
        "of": budget.made.budget,
        **accounts[WHOLE],
        "grants": {name: keys for name, keys in accounts.items() if name != WHOLE},
        "period": state.period,
        "epsilon": {"upper": budget.epsilon},
        "delta": budget.delta,
        "adjacency": budget.adjacency.value,
        "releases": standing.releases,
        "voids": standing.voids,
        "latest": [dict(keys) for keys in standing.last],
        "number": state.number,
        "hash": state.hash,
        **({"assumptions": [], "warnings": []} if plan is None else caveats_json(plan, budget.delta or None)),
        "version": __version__,
    }


def _headline(state: State) -> str:
    budget = state.budget
    left = _down(budget.remaining(state.left(WHOLE)))
    return f"{left} of {_down(budget.made.budget)} remains ({budget.made.currency})"


def _grant_line(state: State, name: str) -> tuple[str, str]:
    """Return the line that states how much of a grant remains."""
    left, limit = state.budget.remaining(state.left(name)), state.budget.remaining(state.account(name).limits)
    return f"grant {name}", f"{_down(left)} of {_down(limit)} remains"


def price_answer(budget: Budget, price: Price) -> Answer:
    """Return the text about the price of a release: its amount, and whether and how often it fits."""
    beyond = _beyond(budget, price)
    cost = "more than the whole budget" if beyond else _amount_said(budget, _dearest(price))
    lines = []
    if price.more is not None:
        times = {1: "once", MAX_COUNT: "any number of times"}.get(price.more, f"{price.more} times")
        lines.append(("fits", times))
    return Answer(f"{cost}: {'it fits' if price.fits else 'it does not fit'}; nothing was recorded", tuple(lines))


def price_json(budget: Budget, price: Price) -> dict[str, Any]:
    """Return the price of a release in JSON values."""
    return {
        "currency": budget.made.currency,
        "price": None if _beyond(budget, price) else budget.made.spent_of(budget.amounts(_dearest(price))),
        "units": {direction: list(units) for direction, units in price.prices.items()},
        "fits": price.fits,
        "more": price.more,
    }


def _beyond(budget: Budget, price: Price) -> bool:
    """True if a price exceeds the whole budget and its exact amount is unknown."""
    simple = not budget.ordered and budget.filter != ApproximateDpFilter.name
    return not (simple or within(_dearest(price), budget.limits))


def receipt_answer(state: State, receipt: Receipt) -> Answer:
    """Return the text about a receipt; its headline states how much of the budget remains."""
    lines = [("entry", f"{receipt.number}, hash {receipt.hash}")]
    if "id" in receipt.keys:
        lines.append(("id", str(receipt.keys["id"])))
    if receipt.token is not None:
        lines.append(("token", f"{receipt.token} (shown only once; `budget void` and `budget run` need it)"))
    if receipt.keys.get("grant"):
        lines.append(_grant_line(state, str(receipt.keys["grant"])))
    return Answer(_headline(state), tuple(lines))


def verification_answer(found: Verification, receipts: int) -> Answer:
    """Return the text about the verification of a ledger.

    ``receipts`` is the number of receipts that were compared with the ledger.
    """
    headline = (
        f"{found.entries} entries agree with the log, the prices and the stored state"
        if found.sound
        else f"the ledger is inconsistent: {len(found.findings)} findings"
    )
    lines = [("last entry", f"{found.entries - 1}, hash {found.hash}")]
    lines += [("finding", one_line(finding)) for finding in found.findings]
    if found.sound and receipts:
        lines.append(("receipts", f"{receipts} found"))
    elif found.sound:
        lines.append(("not detected", "a restored older copy of the database; checking a later --receipt reveals one"))
    return Answer(headline, tuple(lines))


def _guarantee_said(standing: Standing) -> str:
    """Return a clause that states the guarantee of all releases together if the whole budget is spent."""
    budget = standing.state.budget
    limit = budget.made
    if budget.epsilon is None:
        name = "zero-concentrated" if "rho" in budget.keys else "Gaussian"
        number = budget.keys.get("rho", budget.keys.get("mu"))
        said = f"{exact(number)}-{name} differentially private"
    else:
        said = f"({_up(budget.epsilon)}, {exact(budget.delta or 0.0)})-differentially private"
    periods = f", in each of {standing.state.period + 1} periods" if standing.state.period else ""
    return (
        f"everything the budget allows together is {said}{periods}, even if releases depend on earlier results "
        f"(filter {limit.name})"
    )


def _dearest(price: Price) -> Whole:
    """Return the componentwise maximum of a price over the directions of adjacency."""
    return tuple(map(max, zip(*price.prices.values(), strict=True)))


def _amount_said(budget: Budget, units: Whole) -> str:
    """Return the text of an amount in the filter's currency, rounded up, and of its delta if the filter has one.

    ``units`` is the amount in the whole units in which a ledger counts.
    """
    amounts, limit = budget.amounts(units), budget.made
    said = f"{limit.currency} {_up(limit.spent_of(amounts))}"
    if isinstance(limit, ApproximateDpFilter):
        return f"{said}, delta {_up(float(amounts[0]))} of {_down(limit.budget_delta)}"
    return said


STATES = {RUN: "", VOID: "voided", RESERVED: RESERVED}
"""Word for each state of a release; empty for a release that was made."""


def _release_said(keys: Mapping[str, Any], state: str = "") -> str:
    """Return one line for a release in the log: day, author, grant, region, rounds and state."""
    where = [f"{key} {keys[key]}" for key in ("grant", "region") if keys[key]]
    rounds = "; ".join(_round_said(item) for item in rounds_in_order(keys["rounds"])[:3])
    parts = [str(keys["when"])[:10], one_line(keys["who"]), *where, cut(rounds, MAX_CLAUSE), state]
    return ", ".join(part for part in parts if part)


def _round_said(item: Round) -> str:
    """Return one line for a round: date, name, count and mechanism."""
    keys = rounds_to_dicts([item])[0]
    called = ", ".join(one_line(text) for key in ("date", "name") if (text := item.labels.get(key)))
    parts = [item.mechanism.name, settings_said(settings_of(keys))]
    if "sampling" in keys:
        parts.append(f"sampling {keys['sampling']}")
    said = f"{item.count} x {cut(', '.join(filter(None, parts)), MAX_CLAUSE)}"
    return f"{called}: {said}" if called else said


def _plan(standing: Standing) -> Plan | None:
    """The latest releases that were not voided, as a plan; ``None`` if there are none.

    The plan serves only to find assumptions and warnings, since a ledger states no epsilon of its releases together.
    """
    rounds = [item for keys in standing.last if keys["state"] != VOID for item in rounds_in_order(keys["rounds"])]
    return Plan(rounds, standing.state.budget.adjacency) if rounds else None


def _up(value: float) -> str:
    """Return a number as text, rounded up if it has more than :data:`MAX_UNROUNDED` characters, else unchanged."""
    return text if len(text := exact(value)) <= MAX_UNROUNDED else round_up(value, SHOWN_DIGITS)


def _down(value: float) -> str:
    """Return a number as text, rounded down if it has more than :data:`MAX_UNROUNDED` characters, else unchanged."""
    return text if len(text := exact(value)) <= MAX_UNROUNDED else round_down(value, SHOWN_DIGITS)
