"""Ledgers: whatever is asked, nothing exceeds its limit, a request is recorded once, and the log adds up."""

from __future__ import annotations

import tempfile
from fractions import Fraction
from functools import partial
from pathlib import Path

import hockeystick as hs
from fuzz.draws import Draw
from fuzz.laws import Held
from fuzz.registry import case

VERBS = ("begin", "price", "spend", "run", "void", "grant", "renew", "show", "entries", "verify", "budget")
BUDGETS: tuple[tuple[str, dict[str, float]], ...] = (
    ("pure", {"epsilon": 1.0}),
    ("approximate-dp", {"epsilon": 2.0, "delta": 1e-6}),
    ("zcdp", {"rho": 0.3}),
    ("zcdp", {"epsilon": 1.0, "delta": 1e-9}),
    ("gdp", {"mu": 0.7}),
    ("rdp", {"epsilon": 3.0, "delta": 1e-6, "order": 8.0}),
)


@case("ledger", "Ledger", *(f"Ledger.{verb}" for verb in VERBS))
def team(draw: Draw, held: Held) -> None:
    """A team grants, spends, repeats, voids and renews in any order."""
    kind, budget = draw.note("budget", draw.of(*BUDGETS))
    adjacency = draw.note("adjacency", draw.of("add-or-remove", "add", "replace-one"))
    regions = draw.note("regions", draw.of((), ("north", "south")))
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "ledger.db"
        ledger = held.ask("begin", partial(hs.Ledger.begin, place, kind, budget, adjacency=adjacency, regions=regions))
        if ledger is None:
            return
        held.same("adjacency", ledger.budget.adjacency.value, adjacency)
        tokens: dict[str, str] = {}
        for number in range(draw.note("steps", draw.random.randint(1, 8))):
            _step(draw, held, ledger, f"q{number}", regions, tokens)
            _within(held, ledger)
        found = held.ask("verify", ledger.verify)
        held.law(found is not None and found.sound, f"it does not add up: {found}")
        held.same("entries", len(ledger.entries()), ledger.show().state.number + 1)


def _step(
    draw: Draw, held: Held, ledger: hs.Ledger, name: str, regions: tuple[str, ...], tokens: dict[str, str]
) -> None:
    move = draw.note(name, draw.of("spend", "spend", "spend", "grant", "settle", "renew"))
    if move == "grant":
        held.ask("grant", partial(ledger.grant, draw.of("a", "b"), draw.of(0.05, 0.2, 5.0)), invalid=True)
    elif move == "renew":
        held.ask("renew", partial(ledger.renew, name))
    elif move == "settle" and tokens:
        request = draw.of(*tokens)
        settle = draw.of(ledger.void, ledger.run)
        held.ask("settle", partial(settle, request, draw.of(tokens[request], "x")), invalid=True)
    else:
        item = hs.Plan.from_dict(
            {"round": [draw.round(False, draw.of("gaussian", "laplace", "approximate-dp"))]}
        ).rounds[0]
        draw.note(f"{name}: round", repr(item))
        grant, region, reserve = draw.of("", "", "a"), draw.of("", *regions), draw.chance(0.4)
        price = held.ask("price", partial(ledger.price, item, grant=grant, region=region), invalid=True)
        spend = partial(ledger.spend, item, request=name, grant=grant, region=region, reserve=reserve)
        found = held.ask("spend", spend, invalid=True)
        held.same("a price says what a release gets", price is not None and price.fits, found is not None)
        if found is not None:
            again = held.ask("spend again", spend)
            held.same("the same request", again and (again.number, again.hash), (found.number, found.hash))
            if found.token is not None:
                tokens[name] = found.token


def _within(held: Held, ledger: hs.Ledger) -> None:
    standing = held.ask("show", ledger.show)
    if standing is None:
        return
    state = standing.state
    for name, account in state.accounts.items():
        worst = account.worst(state.budget.adjacency.directions)
        sums = state.budget.amounts(worst)
        limits = state.budget.amounts(account.limits)
        held.law(min(worst) >= 0, f"account {name!r} is below nothing: {worst}")
        fits = sums[0] <= limits[0] and (
            len(sums) == 1 or any(a <= b for a, b in zip(sums[1:], limits[1:], strict=True))
        )
        held.law(fits, f"account {name!r} exceeds its limits: {worst} of {account.limits}")
        held.law(all(isinstance(each, Fraction) for each in sums), "amounts are exact")
