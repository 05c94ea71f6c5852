"""Plans of many kinds of rounds: a hundred as a rule, rarely a hundred thousand."""

from __future__ import annotations

import random
from typing import Any

import hockeystick as hs
from fuzz.draws import KINDS, Draw
from fuzz.laws import SECONDS, Held
from fuzz.registry import case

GATHERED, MOST_ROUGH = 1.02, 500
"""Where rounds are gathered the Renyi bound of all of them is taken at a few orders, and not of more than that many."""

LARGE = 1000
"""From so many kinds on an answer may take four times as long."""


def _kinds(draw: Draw) -> hs.Plan:
    """A plan of n kinds, whose rounds come from a seed that is kept in their place."""
    size = draw.random.choices([100, 1000, 100_000], [20, 3, 1])[0]
    n = draw.note("kinds", int(draw.spread(5 if size == 100 else size // 10, size)))
    seed = draw.note("seed", draw.random.getrandbits(32))
    which = draw.note("mechanisms", draw.of(*((kind,) for kind in KINDS), KINDS))
    sampled, digits = draw.note("sampled", draw.chance(0.5)), draw.note("digits", draw.of(3, 17))
    counts = draw.note("most", draw.of(1, 10, 10**6))
    return hs.Plan(_rounds(n, seed, which, sampled, digits, counts))


def _rounds(n: int, seed: int, which: tuple[str, ...], sampled: bool, digits: int, most: int) -> list[hs.Round]:
    draw = random.Random(seed)

    def value(low: float, high: float) -> float:
        return float(f"{low * (high / low) ** draw.random():.{digits}g}")

    made = []
    for _ in range(n):
        kind = draw.choice(which)
        mechanism: Any
        if kind == "gaussian":
            mechanism = hs.Gaussian(value(0.5, 200.0) * n**0.5)
        elif kind == "laplace":
            mechanism = hs.Laplace(value(0.5, 200.0) * n**0.5)
        elif kind == "approximate-dp":
            mechanism = hs.ApproximateDP(value(1e-3, 2.0) / n**0.5, value(1e-12, 1e-5) / n)
        else:
            mechanism = hs.RandomizedResponse(value(1e-3, 2.0) / n**0.5)
        sampling = hs.Poisson(value(1e-4, 1.0)) if sampled else hs.NoSampling()
        made.append(hs.Round(mechanism, sampling, draw.randint(1, most)))
    return made


@case("many", "Plan.epsilon", "Plan.delta")
def answers(draw: Draw, held: Held) -> None:
    """Epsilon and delta, at or below the Renyi bound, and one the other's inverse."""
    plan = held.ask("plan", lambda: _kinds(draw), seconds=4 * SECONDS)
    if plan is None:
        return
    seconds = SECONDS if len(plan.rounds) < LARGE else 4 * SECONDS
    delta = draw.note("delta", draw.spread(1e-12, 1e-3))
    found = held.ask("epsilon", lambda: plan.epsilon(delta), seconds=seconds)
    if found is None:
        return
    held.answer("epsilon", found)
    rough = held.ask("epsilon by rdp", lambda: plan.epsilon(delta, accountant="rdp"), seconds=seconds)
    if rough is not None and not (found.reason and len(plan.rounds) > MOST_ROUGH):
        loose = GATHERED if found.reason else 1.0
        held.at_most(f"upper end against the Renyi bound ({found.reason})", found.upper, rough.quoted * loose)
    at = found.upper if found.upper < 1e4 else draw.epsilon()
    back = held.ask("delta", lambda: plan.delta(at), seconds=seconds)
    if back is not None:
        held.answer("delta", back, 1.0)
        held.at_most("delta at the upper end", back.lower, delta if at == found.upper else 1.0)


@case("many", "Plan.epsilon", "Profile.delta", "Profile.tpr")
def accountants(draw: Draw, held: Held) -> None:
    """Any accountant, and a profile."""
    plan = held.ask("plan", lambda: _kinds(draw), seconds=4 * SECONDS)
    if plan is None:
        return
    seconds = SECONDS if len(plan.rounds) < LARGE else 4 * SECONDS
    delta, name = draw.note("delta", draw.spread(1e-12, 1e-3)), draw.note("accountant", draw.of(*hs.ACCOUNTANTS))
    found = held.ask(f"epsilon by {name}", lambda: plan.epsilon(delta, accountant=name), seconds=seconds)
    certain = held.ask("epsilon", lambda: plan.epsilon(delta), seconds=seconds)
    if found is not None and certain is not None:
        held.answer(f"epsilon by {name}", found)
        held.meet(f"epsilon by {name}", certain, found, 1e-9)
    band = held.ask("profile.delta", lambda: plan.profile().delta([0.1, 1.0, 5.0]), seconds=seconds)
    if band is not None:
        held.band("profile.delta", band, 1.0)
        held.falling("profile.delta", band)
    rates = held.ask("profile.tpr", lambda: plan.profile().tpr([1e-3, 0.1]), seconds=seconds)
    if rates is not None:
        held.band("profile.tpr", rates, 1.0)
