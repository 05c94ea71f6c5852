"""The accountants by name, with their options, on moderate and extreme plans."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import hockeystick as hs
from fuzz.draws import Draw
from fuzz.laws import Held
from fuzz.registry import case
from hockeystick.values import domains

OPTIONS = {
    "interval": (1e-12, 1e3), "order": (0, 4), "error": (1e-9, 1e3), "eps_error": (1e-9, 1e3),
    "delta_error": (1e-300, 1.0), "stages": (1, 40), "factor": (1 + 1e-9, 10.0), "buckets": (1, 1e6),
    "sharper": (0, 1), "length": (1e-3, 1e6), "points": (16, 1e7), "rounding": (0, 1),
    "mesh": (1e-12, 1e3), "orders": (1, 200), "conversion": (0, 1), "own_moments": (0, 1),
    "errors": (0, 2), "start": (1e-3, 1e2), "correction": (0, 1),
}  # fmt: skip
"""Between which values an option is drawn; what lies outside its domain is refused."""


def _options(draw: Draw, name: str) -> dict[str, float]:
    made: dict[str, float] = {}
    for item in fields(hs.ACCOUNTANTS[name]):
        if draw.chance(0.3):
            low, high = OPTIONS[item.name]
            domain = domains.domains_of(type(hs.ACCOUNTANTS[name]))[item.name]
            assert isinstance(domain, domains.Domain)  # no accountant takes a list
            whole = domain.whole or isinstance(low, int)
            made[item.name] = draw.random.randint(int(low), int(high)) if whole and high < 100 else (
                int(draw.spread(low, high)) if whole else draw.spread(low, high))  # fmt: skip
    return draw.note("options", made)


def _plan(draw: Draw) -> hs.Plan:
    return draw.sgd() if draw.chance(0.4) else draw.plan()


@case("accountant", "ACCOUNTANTS", "Plan.epsilon")
def epsilon(draw: Draw, held: Held) -> None:
    """Epsilon: a number, at least the certified lower end where it is an upper bound, infinite only with a reason."""
    name, plan = draw.note("accountant", draw.of(*hs.ACCOUNTANTS)), _plan(draw)
    delta, options = draw.note("delta", draw.delta(zero=True)), _options(draw, name)
    _compared(held, name, "epsilon", plan, delta, options)


@case("accountant", "ACCOUNTANTS", "Plan.delta")
def delta(draw: Draw, held: Held) -> None:
    """Delta likewise, with its logarithm."""
    name, plan = draw.note("accountant", draw.of(*hs.ACCOUNTANTS)), _plan(draw)
    at, options = draw.note("epsilon", draw.epsilon()), _options(draw, name)
    _compared(held, name, "delta", plan, at, options)


def _compared(held: Held, name: str, quantity: str, plan: hs.Plan, at: float, options: dict[str, float]) -> None:
    ask: Any = getattr(plan, quantity)
    said = f"{quantity} by {name}"
    found = held.ask(said, lambda: ask(at, accountant=name, **options), invalid=bool(options))
    if found is None:
        return
    held.answer(said, found, 1.0 if quantity == "delta" else float("inf"))
    if quantity == "delta":
        log = found.log_delta
        held.law(all(end == end and end <= 1e-9 for end in log.ends.values()), f"{said}: logarithm {log}")
    certain = held.ask(quantity, lambda: ask(at))
    if certain is not None:
        # an accountant in ordinary floating point answers for the roundings of its own sums only
        held.meet(said, certain, found, 1e-12 if found.guarantee == "certified" else 1e-9)
        if quantity == "delta":
            held.meet(f"logarithm of {said}", certain.log_delta, found.log_delta, 1e-9)
