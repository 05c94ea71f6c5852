"""Profiles: curves, error rates, one number, tables."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.special import ndtr, ndtri

import hockeystick as hs
from fuzz.draws import Draw
from fuzz.laws import Held
from fuzz.registry import case
from hockeystick.values.domains import LEAST_DELTA

WARM = 5
"""Calls after which a profile that is still short of work is left alone."""


def _profile(draw: Draw, held: Held, both: bool = False) -> hs.Profile | None:
    plan = draw.sgd() if draw.chance(0.2) else draw.plan(both=both)
    gap = draw.note("gap", draw.gap())
    return held.ask("profile", lambda: plan.profile(gap))


def _band(held: Held, said: str, call: Any, at: Any, most: float = 1.0) -> hs.Band | None:
    """A method at some places, of the shape of the places."""
    found: hs.Band | None = held.ask(f"{said}({at})"[:200], lambda: call(at))
    if found is not None:
        held.band(said, found, most)
        held.same(f"shape of {said}", np.shape(found.upper), np.shape(at))
        held.law(found.quoted is getattr(found, found.safe), f"{said}: {found.safe} is not what is quoted")
        held.law(len(found.columns()["upper"]) == np.size(at), f"{said}: columns")
        held.law(not (found.gap < 0).any(), f"{said}: a negative gap")
    return found


@case(
    "profile", "Profile", "Profile.delta", "Profile.epsilon", "Band.columns", "Band.quoted", "Band.gap", "Plan.profile"
)
def delta(draw: Draw, held: Held) -> None:
    """Delta falls along epsilon, meets the plan's own, and epsilon is its inverse, each within its ends."""
    profile = _profile(draw, held)
    if profile is None:
        return
    at = draw.note("epsilon", draw.several(draw.epsilon))
    found = _band(held, "delta", profile.delta, at)
    if found is None:
        return
    places = np.sort(np.ravel(at))
    order = np.argsort(np.ravel(at), kind="stable")
    held.falling("delta along epsilon", _ordered(found, order))
    place = int(draw.random.randrange(len(places)))
    lower, upper = (float(np.ravel(end)[order][place]) for end in (found.lower, found.upper))
    single = held.ask("plan.delta", lambda: profile.plan.delta(float(places[place])))
    if single is not None:
        held.meet("profile.delta and plan.delta", single, hs.Bound(lower, lower, upper))
    for end, delta in (("upper", upper), ("lower", lower)):
        if LEAST_DELTA <= delta < 1:
            back = held.ask(f"epsilon({delta!r})", lambda delta=delta: profile.epsilon(delta))  # type: ignore[misc]
            if back is not None and end == "upper":
                held.at_most("epsilon of the upper delta", float(back.lower), float(places[place]))
            elif back is not None:
                held.at_most("epsilon of the lower delta", float(places[place]), float(back.upper))


@case("profile", "Profile.log_delta")
def log_delta(draw: Draw, held: Held) -> None:
    """The logarithm is that of delta, and falls where delta is below the range of a double."""
    profile = _profile(draw, held)
    if profile is None:
        return
    at = draw.note("epsilon", sorted(draw.epsilon() for _ in range(3)))
    found = held.ask("log_delta", lambda: profile.log_delta(at))
    plain = held.ask("delta", lambda: profile.delta(at))
    if found is None or plain is None:
        return
    held.law(not np.isnan(np.stack([found.lower, found.estimate, found.upper])).any(), f"log_delta: {found}")
    held.law((found.lower <= found.upper).all() and (found.upper <= 1e-12).all(), f"log_delta out of order: {found}")
    held.falling("log_delta along epsilon", found)
    seen = plain.lower > 1e-300
    held.law((np.log(plain.lower[seen]) <= found.upper[seen] + 1e-9).all(), f"log_delta {found} is not of {plain}")
    held.law((found.lower[seen] <= np.log(plain.upper[seen]) + 1e-9).all(), f"log_delta {found} is not of {plain}")
    single = held.ask("plan.log_delta", lambda: profile.plan.log_delta(at[0]))
    if single is not None:
        held.at_most("lower end of log_delta", float(found.lower[0]), single.upper)
        held.at_most("upper end of log_delta", single.lower, float(found.upper[0]))


@case("profile", "Profile.epsilon")
def epsilon(draw: Draw, held: Held) -> None:
    """Epsilon falls along delta, meets the plan's own, and delta is its inverse."""
    profile = _profile(draw, held)
    if profile is None:
        return
    at = draw.note("delta", sorted(draw.delta(zero=True) for _ in range(3)))
    found = _band(held, "epsilon", profile.epsilon, at, math.inf)
    if found is None:
        return
    held.falling("epsilon along delta", found)
    place = draw.random.randrange(3)
    single = held.ask("plan.epsilon", lambda: profile.plan.epsilon(at[place]))
    lower, upper = float(found.lower[place]), float(found.upper[place])
    if single is not None:
        held.at_most("plan.epsilon and profile.epsilon", single.lower, upper)
        held.at_most("profile.epsilon and plan.epsilon", lower, single.upper)
    if upper <= 1e4:
        back = held.ask(f"delta({upper!r})", lambda: profile.delta(upper))
        if back is not None:
            held.at_most("delta at the upper epsilon", float(back.lower), at[place])


@case("profile", "Profile.advantage")
def advantage(draw: Draw, held: Held) -> None:
    """Delta at epsilon 0."""
    profile = _profile(draw, held)
    found = None if profile is None else held.ask("advantage", profile.advantage)
    if profile is None or found is None:
        return
    held.answer("advantage", found, 1.0)
    other = held.ask("delta(0)", lambda: profile.delta(0.0))
    if other is not None:
        held.meet("advantage and delta(0)", found, hs.Bound(float(other.lower), float(other.estimate),
                                                            float(other.upper)))  # fmt: skip


@case("profile", "Profile.trade_off", "Profile.tpr")
def trade_off(draw: Draw, held: Held) -> None:
    """Decreasing and convex within its ends, at or below 1 - alpha; the true-positive rate is its complement."""
    profile = _profile(draw, held, both=draw.chance(0.8))
    if profile is None:
        return
    at = draw.note("fpr", sorted(draw.probability() for _ in range(draw.random.randint(1, 4))))
    found = _band(held, "trade_off", profile.trade_off, at)
    if found is None:
        return
    held.falling("trade_off along fpr", found)
    held.law((found.lower <= 1 - np.array(at) + 1e-12).all(), f"a trade-off above guessing: {found}")
    for i in range(len(at) - 2):
        left, mid, right = at[i : i + 3]
        if left < mid < right:
            share = (mid - left) / (right - left)
            chord = (1 - share) * found.upper[i] + share * found.upper[i + 2]
            held.at_most("convexity", float(found.lower[i + 1]), float(chord) + 1e-15)
    tpr = _band(held, "tpr", profile.tpr, at)
    if tpr is not None:
        held.law((tpr.upper >= np.array(at) * (1 - 1e-12)).all(), f"tpr {tpr} below guessing at {at}")
        held.law((tpr.lower <= 1 - found.lower + 1e-12).all(), f"tpr {tpr} above 1 - trade_off {found}")
        held.law((1 - found.upper <= tpr.upper + 1e-12).all(), f"1 - trade_off {found} above tpr {tpr}")
        advantage = held.ask("advantage", profile.advantage)
        if advantage is not None:
            held.law((tpr.lower - at <= advantage.upper + 1e-12).all(), f"tpr {tpr} - fpr above {advantage}")


@case("profile", "Profile.tpr")
def tpr(draw: Draw, held: Held) -> None:
    """One rate alone: nodes are laid out for it."""
    profile = _profile(draw, held, both=True)
    if profile is not None:
        at = draw.note("fpr", draw.probability())
        found = _band(held, "tpr", profile.tpr, at)
        if found is not None:
            held.law(float(found.upper) >= at * (1 - 1e-12), f"tpr {found} below guessing at {at}")


@case("profile", "Profile.bayes_risk")
def bayes_risk(draw: Draw, held: Held) -> None:
    """At most the error of guessing by the prior alone; at even odds half of 1 - advantage."""
    profile = _profile(draw, held, both=draw.chance(0.9))
    if profile is None:
        return
    at = draw.note("prior", draw.several(lambda: draw.probability(inside=True)))
    found = _band(held, "bayes_risk", profile.bayes_risk, at, 0.5 + 1e-12)
    if found is None:
        return
    least = np.minimum(np.asarray(at), 1 - np.asarray(at))
    held.law((found.lower <= least * (1 + 1e-12)).all(), f"bayes_risk {found} above guessing {least}")
    even, advantage = held.ask("bayes_risk()", profile.bayes_risk), held.ask("advantage", profile.advantage)
    if even is not None and advantage is not None:
        held.at_most("risk at even odds", float(even.lower), 0.5 * (1 - advantage.lower) + 1e-15)
        held.at_most("advantage at even odds", 0.5 * (1 - advantage.upper) - 1e-15, float(even.upper))


@case("profile", "Profile.reconstruction")
def reconstruction(draw: Draw, held: Held) -> None:
    """The same number as the true-positive rate, at least the baseline."""
    profile = _profile(draw, held, both=True)
    if profile is None:
        return
    at = draw.note("baseline", draw.several(draw.probability))
    found = _band(held, "reconstruction", profile.reconstruction, at)
    if found is not None:
        held.law((found.upper >= np.asarray(at) * (1 - 1e-12)).all(), f"reconstruction {found} below guessing {at}")


@case("profile", "Profile.gdp", "Profile.mu")
def gdp(draw: Draw, held: Held) -> None:
    """mu puts the Gaussian trade-off function below the plan's; gdp and mu agree."""
    profile = _profile(draw, held, both=draw.chance(0.9))
    if profile is None:
        return
    least = draw.note("least_rate", min(draw.probability(inside=True), 0.49999) if draw.chance(0.5) else 1e-9)
    found = held.ask(f"mu({least!r})", lambda: profile.mu(least))
    if found is None:
        return
    held.answer("mu", found)
    alpha = np.array([rate for rate in (least, 2 * least, 1e-6, 0.01, 0.3, 0.5) if least <= rate <= 0.5])
    rates = held.ask("trade_off", lambda: profile.trade_off(alpha))
    if rates is not None and math.isfinite(found.upper):
        gaussian = ndtr(-ndtri(alpha) - found.upper)
        seen = gaussian >= 2 * least
        held.law((rates.upper[seen] >= gaussian[seen] * (1 - 1e-9)).all(), f"mu {found}: {gaussian} above {rates}")
    if draw.chance(0.5):
        fit = held.ask(f"gdp({least!r})", lambda: profile.gdp(least))
        if fit is not None:
            held.meet("mu and gdp().mu", fit.mu, found)
            held.answer("regret", fit.regret, 1.0)


@case("profile", "Profile.table")
def table(draw: Draw, held: Held) -> None:
    """Columns hold what delta says."""
    profile = _profile(draw, held)
    if profile is None:
        return
    at = draw.note("epsilon", draw.several(draw.epsilon))
    uppers: list[list[float]] = []
    for _ in range(WARM):  # what one call leaves out, for want of work or after a few failures, the next one adds
        band = held.ask("delta", lambda: profile.delta(at))
        if band is None:
            return
        uppers.append(np.ravel(band.upper).tolist())
        if band.reason is None and uppers.count(uppers[-1]) > 2:
            break
    columns = held.ask("table", lambda: profile.table(at))
    if columns is None or band is None or band.reason is not None:
        return
    held.same("table", columns["delta_upper"], uppers[-1])


def _ordered(found: hs.Band, order: Any) -> hs.Band:
    lower, estimate, upper = (np.ravel(end)[order] for end in (found.lower, found.estimate, found.upper))
    return hs.Band(lower, estimate, upper, found.safe)
