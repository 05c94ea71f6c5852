"""Many plans at once: what is said of each is what is said of it by itself, or overlaps it."""

from __future__ import annotations

from functools import partial
from typing import Any

import hockeystick as hs
from fuzz.draws import Draw
from fuzz.laws import SECONDS, Held
from fuzz.registry import case

BEYOND = 1e-300
"""A delta below which an end may be a rounding of 0."""


def _plans(draw: Draw) -> list[hs.Plan]:
    """Up to four plans, DP-SGD as a rule, some of them equal."""
    several = [draw.sgd() if draw.chance(0.7) else draw.plan() for _ in range(draw.random.randint(1, 3))]
    return several + several[:1] if draw.chance(0.5) else several


def _alike(held: Held, found: Any, alone: list[Any]) -> None:
    """Ends in order, and intervals that overlap: both contain the truth."""
    for number, one in enumerate(alone):
        low, middle, high = found.lower[number], found.estimate[number], found.upper[number]
        held.law(low <= middle <= high, f"plan {number}: ends in order")
        if one is not None and float(one) > BEYOND:
            least = getattr(one, "lower", 0.0)
            held.law(low <= float(one) and least <= high, f"plan {number}: {low!r} to {high!r} overlaps {one!r}")


def _asked(draw: Draw, held: Held, quantity: str, given: str) -> None:
    """One number for all plans, or one for each; together and one by one."""
    plans, drawn = _plans(draw), getattr(draw, given)
    at: Any = [drawn() for _ in plans] if draw.chance(0.5) else drawn()
    draw.note(given, at)
    found = held.ask(f"{quantity}s", lambda: getattr(hs, f"{quantity}s")(plans, at), seconds=SECONDS * len(plans))
    if found is None:
        return
    each = at if isinstance(at, list) else [at] * len(plans)
    alone = [
        held.ask(f"plan.{quantity}", partial(getattr(plan, quantity), value))
        for plan, value in zip(plans, each, strict=True)
    ]
    _alike(held, found, alone)


@case("at-once", "epsilons", "Band.quoted", "Band.gap")
def epsilons(draw: Draw, held: Held) -> None:
    """At one delta for all, or one for each."""
    _asked(draw, held, "epsilon", "delta")


@case("at-once", "deltas")
def deltas(draw: Draw, held: Held) -> None:
    """At one epsilon for all, or one for each."""
    _asked(draw, held, "delta", "epsilon")


@case("at-once", "epsilons", "deltas")
def malformed(draw: Draw, held: Held) -> None:
    """What is no plan, no number, or not as many numbers is refused."""
    plan = hs.dp_sgd(1.0, sample_rate=0.1, steps=10)
    value: Any = draw.note("value", draw.of(None, "x", -1.0, float("nan"), 10**400, True, [], [0.5], [[0.5, 0.5]], 3))
    held.ask("epsilons", lambda: hs.epsilons([plan, value], 1e-5), invalid=True)
    held.ask("epsilons", lambda: hs.epsilons(value, 1e-5), invalid=True)
    held.ask("epsilons", lambda: hs.epsilons([plan, plan], value), invalid=True)
    held.ask("deltas", lambda: hs.deltas([plan, plan], value), invalid=True)
