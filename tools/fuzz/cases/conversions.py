"""Conversions between curves, loss distributions and trade-off functions, in ordinary floating point."""

from __future__ import annotations

import copy
import math
import pickle
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr, ndtri

from fuzz.draws import Draw
from fuzz.laws import Held
from fuzz.registry import case
from hockeystick import conversions

Array = npt.NDArray[np.float64]
ROUNDING = 1e-9


def _loss(draw: Draw, held: Held) -> conversions.LossDistribution | None:
    """A loss distribution of a few masses, some of them tiny, some at infinite loss."""
    n = draw.random.randint(1, 8)
    infinite = 0.0 if draw.chance(0.5) else draw.probability()
    weights = np.array([draw.edge((5e-324, 1e-300, 1e-17, 1.0), 1e-6, 1.0) for _ in range(n)])
    p = np.minimum((1 - infinite) * weights / weights.sum(), 1.0)
    low = draw.of(-1.0, -5.0, -30.0, -700.0)
    losses = np.unique([draw.random.uniform(low, -low) if draw.chance(0.9) else 0.0 for _ in range(n)])
    p = p[: len(losses)]
    p[-1] += max(1 - infinite - p.sum(), 0.0)
    mean = float((p * np.exp(-losses)).sum())
    if mean > 1:  # losses moved up until Q has no more than mass 1
        losses = losses + math.log(mean) * (1 + 1e-15) + draw.of(0.0, 1e-9, 1.0)
    draw.note("masses", (losses.tolist(), p.tolist(), infinite))
    return held.ask("of_masses", lambda: conversions.LossDistribution.of_masses(losses, p, infinite), invalid=True)


def _epsilons(draw: Draw) -> Array:
    return np.unique(draw.note("at", [draw.random.uniform(-30, 30) for _ in range(6)] + [0.0, -700.0, 700.0]))


def _curve(held: Held, said: str, delta: Array, at: Array) -> None:
    """A privacy curve: decreasing, between (1 - e^eps)_+ and 1."""
    held.law(not np.isnan(delta).any(), f"{said}: not a number: {delta}")
    held.law((np.diff(delta) <= ROUNDING).all(), f"{said}: rises: {delta}")
    held.law((delta <= 1 + ROUNDING).all(), f"{said}: above 1: {delta}")
    held.law((delta >= np.maximum(-np.expm1(at), 0) - ROUNDING).all(), f"{said}: below (1 - e^eps)_+: {delta}")


def _near(held: Held, said: str, one: Array, other: Array, slack: float = 1e-8) -> None:
    held.law(bool(np.all(np.abs(one - other) <= slack)), f"{said}: {one} is not {other}")


@case("conversion", "conversions.LossDistribution", "conversions.LossDistribution.of_masses",
      "conversions.LossDistribution.delta", "conversions.LossDistribution.mirrored")  # fmt: skip
def loss(draw: Draw, held: Held) -> None:
    """Its curve, and that of its mirror image: ``delta'(eps) = 1 - e^eps + e^eps delta(-eps)``."""
    made = _loss(draw, held)
    if made is None:
        return
    at = _epsilons(draw)
    delta = held.ask("delta", lambda: made.delta(at))
    twice = held.ask("mirrored", lambda: made.mirrored().mirrored())
    back = held.ask("delta of the mirror image", lambda: made.mirrored().delta(at))
    if delta is None or twice is None or back is None:
        return
    _curve(held, "delta", delta, at)
    _curve(held, "delta of the mirror image", back, at)
    held.same("mirrored twice", twice.losses.tolist(), made.losses.tolist())
    seen = at < 5
    mirror = 1 - np.exp(at) + np.exp(at) * np.asarray(made.delta(-at))
    _near(held, "the mirror image", back[seen], mirror[seen], 1e-6)
    for twin in (pickle.loads(pickle.dumps(made)), copy.deepcopy(made)):
        held.same("a copy", twin.p.tolist(), made.p.tolist())


@case("conversion", "conversions.trade_off", "conversions.loss_of_trade_off", "conversions.TradeOff",
      "conversions.curve_of_trade_off")  # fmt: skip
def trade_off(draw: Draw, held: Held) -> None:
    """Convex and decreasing; back again it has the same curve."""
    made = _loss(draw, held)
    f = None if made is None else held.ask("trade_off", lambda: conversions.trade_off(made))
    if made is None or f is None:
        return
    levels = np.linspace(0, 1, 21)
    errors = f(levels)
    held.law(((errors >= -ROUNDING) & (errors <= 1 - levels + ROUNDING)).all(), f"a trade-off above guessing: {errors}")
    held.law((np.diff(errors) <= ROUNDING).all(), f"a trade-off rises: {errors}")
    held.law((np.diff(errors, 2) >= -ROUNDING).all(), f"a trade-off is not convex: {errors}")
    at = _epsilons(draw)[1:-1]
    back = held.ask("loss_of_trade_off", lambda: conversions.loss_of_trade_off(f))
    if back is not None:
        slack = 1e-8 * np.maximum(np.exp(at), 1)  # of masses of Q, which e^eps multiplies
        held.law((np.abs(back.delta(at) - made.delta(at)) <= slack).all(),
                 f"there and back: {back.delta(at)} is not {made.delta(at)}")  # fmt: skip
    curve = held.ask("curve_of_trade_off", lambda: conversions.curve_of_trade_off(f, f.alpha)(at))
    if curve is not None:
        slack = 1e-8 * np.maximum(np.exp(at), 1)
        held.law((np.abs(curve - made.delta(at)) <= slack).all(), f"its curve: {curve} is not {made.delta(at)}")


@case("conversion", "conversions.subsampled")
def subsampled(draw: Draw, held: Held) -> None:
    """Removing, with eps > 0: ``q delta(log(1 + (e^eps - 1) / q))``."""
    made, rate = _loss(draw, held), draw.note("rate", draw.rate())
    if made is None:
        return
    at = np.abs(_epsilons(draw))
    at = np.unique(at[at < 30])
    direction = draw.note("direction", draw.of("remove", "add"))
    found = held.ask("subsampled", lambda: conversions.subsampled(made, rate, direction))
    if found is None:
        return
    delta = found.delta(at)
    _curve(held, "delta", delta, at)
    if direction == "remove":
        with np.errstate(over="ignore"):
            inner = np.log1p(np.expm1(at) / rate)  # infinite at rates below the range of a double: delta is 0 there
        _near(held, "the sampled curve", delta, rate * made.delta(inner), 1e-7)


@case("conversion", "conversions.dominating_pair", "conversions.curve_of_tails", "conversions.tails_of_curve")
def dominating(draw: Draw, held: Held) -> None:
    """A pair on any epsilons: above the curve everywhere, equal to it at the epsilons."""
    mu = draw.note("mu", draw.spread(1e-3, 20.0))

    def p_above(e: Array) -> Array:
        return np.asarray(ndtr(mu / 2 - e / mu))

    def q_above(e: Array) -> Array:
        return np.asarray(ndtr(-mu / 2 - e / mu))

    def gaussian(e: Array) -> Array:
        # the difference of the tails loses digits where e^eps is large: bounded by 0 below
        return np.maximum(p_above(e) - np.exp(e) * q_above(e), np.maximum(-np.expm1(e), 0.0))

    reach = draw.note("reach", draw.spread(0.1, 25.0))
    nodes = np.linspace(-reach, reach, draw.note("nodes", draw.random.randint(1, 200)))
    pair = held.ask("dominating_pair", lambda: conversions.dominating_pair(gaussian, nodes), invalid=mu > 5)
    at = np.linspace(-reach - 1, reach + 1, 50)
    if pair is not None:
        held.law((pair.delta(at) >= gaussian(at) - ROUNDING).all(), "a pair below the curve")
        _near(held, "at the epsilons", pair.delta(nodes), gaussian(nodes), ROUNDING)
    curve = held.ask("curve_of_tails", lambda: conversions.curve_of_tails(p_above, q_above)(at))
    if curve is not None:
        _near(held, "curve_of_tails", curve, gaussian(at), 1e-6)
    tails = held.ask("tails_of_curve", lambda: conversions.tails_of_curve(gaussian, lambda e: -np.exp(e) * q_above(e)))
    if tails is not None:
        _near(held, "tails_of_curve", tails[1](at), q_above(at))
    levels = np.linspace(0, 1, 1001)
    from_f = held.ask("curve_of_trade_off", lambda: conversions.curve_of_trade_off(
        lambda a: ndtr(ndtri(1 - a) - mu), levels)(at))  # fmt: skip
    if from_f is not None:
        held.law((from_f <= gaussian(at) + 1e-6).all(), "a supremum over levels above the curve")


@case("conversion", "conversions.LossDistribution", "conversions.TradeOff", "conversions.LossDistribution.of_masses",
      "conversions.trade_off", "conversions.loss_of_trade_off", "conversions.subsampled",
      "conversions.dominating_pair")  # fmt: skip
def malformed(draw: Draw, held: Held) -> None:
    """Arrays, and lists, that are no distribution: refused in one line."""
    numbers = (0.0, 1.0, -1.0, 0.5, math.nan, math.inf, -math.inf, 5e-324, 1e308, 2.0)
    one, two, three = ([draw.of(*numbers) for _ in range(draw.random.randint(0, 4))] for _ in range(3))
    draw.note("arrays", (one, two, three))
    wrap: Any = draw.of(np.array, list)
    a, b, c = (wrap(each) for each in (one, two, three))
    held.ask("LossDistribution", lambda: conversions.LossDistribution(a, b, c), invalid=True)
    held.ask("of_masses", lambda: conversions.LossDistribution.of_masses(a, b), invalid=True)
    f = held.ask("TradeOff", lambda: conversions.TradeOff(a, b), invalid=True)
    if f is not None:
        back = held.ask("loss_of_trade_off", lambda: conversions.loss_of_trade_off(f), invalid=True)
        if back is not None:
            held.ask("trade_off", lambda: conversions.trade_off(back), invalid=True)
    held.ask(
        "dominating_pair",
        lambda: conversions.dominating_pair(lambda e: np.resize(np.array(two or [0.0]), e.shape), a),
        invalid=True,
    )
    good = conversions.LossDistribution.of_masses(np.array([1.0]), np.array([1.0]))
    rate, direction = draw.of(*numbers, None, "x"), draw.of("remove", "add", "replace-one", None, 3)
    draw.note("sampling", (rate, direction))
    held.ask("subsampled", lambda: conversions.subsampled(good, rate, direction), invalid=True)  # type: ignore[arg-type]
