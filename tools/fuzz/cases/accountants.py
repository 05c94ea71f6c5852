"""The accountants by name, with their options, on moderate and extreme plans."""

from __future__ import annotations

from dataclasses import fields
from fractions import Fraction
from typing import Any

import hockeystick as hs
from fuzz.draws import Draw
from fuzz.laws import Held
from fuzz.registry import case
from hockeystick.values import domains

OPTIONS = {
    "interval": (1e-12, 1e3), "order": (0, 4), "error": (1e-9, 1e3), "eps_error": (1e-9, 1e3),
    "delta_error": (1e-300, 1.0), "factor": (1 + 1e-9, 10.0), "buckets": (1, 1e6),
    "length": (1e-3, 1e6), "points": (16, 1e7), "rounding": (0, 1),
    "mesh": (1e-12, 1e3), "orders": (1, 200), "own_moments": (0, 1),
    "errors": (0, 2), "correction": (0, 1),
}  # fmt: skip
"""Between which values an option is drawn; what lies outside its domain is refused."""


METHODS = 5
"""How many accountants a plan is asked by; all of them take half a minute."""


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


def _scheme(draw: Draw) -> Any:
    """A sampling scheme of any kind, of few steps and moderate rates."""
    rate, records = draw.spread(1e-3, 0.9), draw.random.randint(2, 1000)
    batch = draw.random.randint(1, records)
    return draw.of(
        hs.NoSampling(), hs.Poisson(rate), hs.Poisson(rate), hs.WithoutReplacement(batch, records),
        hs.WithReplacement(draw.random.randint(1, 8), dataset_size=records), hs.TruncatedPoisson(rate, records, batch),
        hs.CyclicPoisson(draw.random.randint(1, 5), rate), hs.RandomAllocation(draw.random.randint(1, 30)),
        hs.Shuffled(draw.random.randint(1, 30)),
    )  # fmt: skip


@case("accountant", "ACCOUNTANTS")
def one_sided(draw: Draw, held: Held) -> None:
    """Rounds with outcomes that one dataset alone makes possible, under any sampling and relation: five methods by
    name against the certified answer. An argument from convexity or from moments has to say where these outcomes go."""
    made = held.ask("rounds", lambda: [_one_sided(draw) for _ in range(draw.of(1, 1, 2))], invalid=True)
    if made is None:
        return
    adjacency = draw.note("adjacency", draw.of(*hs.Adjacency))
    plan = held.ask("plan", lambda: hs.Plan(made, adjacency), invalid=True)
    if plan is None:
        return
    draw.note("rounds", repr(made))
    at, delta = draw.note("epsilon", draw.spread(1e-3, 20.0)), draw.note("delta", draw.spread(1e-12, 0.5))
    for name in draw.random.sample(list(hs.ACCOUNTANTS), METHODS):
        _compared(held, name, "delta", plan, at, {})
        _compared(held, name, "epsilon", plan, delta, {})


def _one_sided(draw: Draw) -> hs.Round:
    mechanism: Any = draw.of(
        hs.TruncatedLaplace(draw.spread(0.2, 20.0), draw.spread(1.05, 20.0)),
        hs.ApproximateDP(draw.spread(1e-3, 5.0), draw.spread(1e-9, 0.3)),
        hs.Binomial(draw.random.randint(1, 30), draw.of(0.2, 0.5)),
        _law(draw),
        hs.LaplaceThreshold(draw.spread(0.5, 5.0), draw.spread(1.0, 30.0), 1),
        hs.RandomizedResponse(draw.spread(0.01, 5.0)),
        hs.Laplace(draw.spread(0.2, 20.0)),
        hs.Gaussian(draw.spread(0.3, 20.0)),
    )
    return hs.Round(mechanism, _scheme(draw), int(draw.spread(1, 300)))


def _law(draw: Draw) -> hs.Pmf:
    """Two laws of four outcomes, some of them impossible under one."""
    p, q = (tuple(Fraction(part) for part in draw.law(4)) for _ in range(2))
    return hs.Pmf(p, q)


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
