"""Derivatives of epsilon and delta by a parameter, beside mpmath, closed forms and differences of certified answers."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from mpmath import mp
from scipy.special import log_ndtr

import hockeystick as hs
import oracle
from hockeystick.questions.gradient import gradient
from hockeystick.questions.parameters import of_plan

SGD = hs.dp_sgd(noise_multiplier=1.0, sample_rate=0.01, steps=1000)
BOXES = hs.Round(hs.ApproximateDP(0.1, 1e-7), count=2)


def difference(plan: hs.Plan, name: str, delta: float | None, epsilon: float | None, relative: float = 1e-3) -> float:
    """The derivative by five certified answers, each about 1e-9 wide."""
    parameter, build = of_plan(plan, name)
    value, step = parameter.start, relative

    def answer(share: float) -> float:
        moved = build(value * (1 + share))
        found = moved.epsilon(delta, gap=1e-9) if delta is not None else moved.delta(epsilon or 0.0, gap=1e-9)
        return found.estimate

    near, far = answer(step) - answer(-step), answer(2 * step) - answer(-2 * step)
    return (8 * near - far) / (12 * step * value)


def integrals(mu: float, rate: float, count: int, epsilon: float, tilt: float) -> dict[str, float]:
    """delta and its derivatives by epsilon, mu and the rate, a record being removed, by plain sums.

    ``m(z) = int phi g^(1 + z)`` with ``g = 1 - q + q e^l``, ``l = mu x - mu^2 / 2``, so that ``dm = (1 + z) int phi g^z
    dg`` with ``dg / dq = e^l - 1`` and ``dg / dmu = q e^l (x - mu)``: no difference is taken.
    """
    x = np.arange(-12.0, 18.0, 0.05)
    s = np.arange(0.0, 80.0, 0.04)
    log = mu * x - mu * mu / 2
    ratio = 1 - rate + rate * np.exp(log)
    phi = np.exp(-x * x / 2) / math.sqrt(2 * math.pi) * 0.05
    moved = {"rate": np.expm1(log), "mu": rate * np.exp(log) * (x - mu)}
    sums = dict.fromkeys(("delta", "epsilon", *moved), 0.0)
    for part in np.array_split(s, 10):
        z = tilt + 1j * part
        power = np.exp(z[:, None] * np.log(ratio)) * phi
        m = power @ ratio
        weight = np.exp(count * np.log(m) - epsilon * z) / (z * (1 + z)) * np.where(part == 0.0, 0.5, 1.0)
        sums["delta"] += float(weight.real.sum())
        sums["epsilon"] -= float((z * weight).real.sum())
        for name, change in moved.items():
            sums[name] += float((count * (1 + z) * (power @ change) / m * weight).real.sum())
    return {name: total * 0.04 / math.pi for name, total in sums.items()}


@pytest.mark.parametrize(
    ("mu", "rate", "count", "epsilon", "tilt"), [(0.8, 0.0625, 60, 1.0, 4.0), (1.0, 0.25, 30, 6.0, 2.5)]
)
def test_it_is_that_of_the_integrand_differentiated_by_hand(
    mu: float, rate: float, count: int, epsilon: float, tilt: float
) -> None:
    truth = integrals(mu, rate, count, epsilon, tilt)
    sampling = hs.Poisson(rate)
    plan = hs.Plan([hs.Round(hs.Gaussian(1 / mu), sampling=sampling, count=count)], adjacency="remove")
    assert plan.delta(epsilon, gap=1e-10).estimate == pytest.approx(truth["delta"], rel=1e-9)
    by_noise = -truth["mu"] * mu * mu
    assert gradient(plan, "noise-multiplier", epsilon=epsilon).value == pytest.approx(by_noise, rel=1e-8)
    assert gradient(plan, "sample-rate", epsilon=epsilon).value == pytest.approx(truth["rate"], rel=1e-8)
    at, fall = truth["delta"], -truth["epsilon"]
    assert gradient(plan, "noise-multiplier", delta=at).value == pytest.approx(by_noise / fall, rel=1e-7)
    assert gradient(plan, "sample_rate", delta=at).value == pytest.approx(truth["rate"] / fall, rel=1e-7)
    assert gradient(plan, "delta", delta=at).value == pytest.approx(-1 / fall, rel=1e-7)


@pytest.mark.slow
def test_it_is_what_mpmath_differentiates() -> None:
    """delta of the oracle, at 24 digits, differentiated there; and epsilon by the implicit function."""
    item: dict[str, Any] = {"mechanism": "gaussian", "sampling": "poisson", "sample_rate": 0.0625, "count": 20}

    def delta(noise: Any, at: Any) -> Any:
        rounds = [{**item, "noise_multiplier": Fraction(mp.nstr(noise, 24))}]
        return oracle.delta({"adjacency": "remove", "round": rounds}, Fraction(mp.nstr(at, 24)), 24)

    with mp.workdps(25):
        step, here, at = mp.mpf(10) ** -5, mp.mpf(1.25), mp.mpf(1)
        rise = (delta(here * (1 + step), at) - delta(here * (1 - step), at)) / (2 * step * here)
        fall = (delta(here, at * (1 + step)) - delta(here, at * (1 - step))) / (2 * step * at)
        target = delta(here, at)
    plan = hs.Plan([hs.Round(hs.Gaussian(1.25), sampling=hs.Poisson(0.0625), count=20)], adjacency="remove")
    assert gradient(plan, "noise-multiplier", epsilon=1.0).value == pytest.approx(float(rise), rel=1e-8)
    assert gradient(plan, "noise-multiplier", delta=float(target)).value == pytest.approx(float(-rise / fall), rel=1e-7)


@pytest.mark.parametrize("mu", [0.2, 1.0, 3.0])
def test_it_is_that_of_the_closed_form_of_gaussian_noise(mu: float) -> None:
    """``d delta / d mu = phi(mu / 2 - eps / mu)`` of one Gaussian, and ``-d delta / d eps = e^eps Q``."""
    plan, epsilon, noise = hs.Plan([hs.Round(hs.Gaussian(1 / mu))]), 0.7, 1 / mu
    density = math.exp(-0.5 * (mu / 2 - epsilon / mu) ** 2) / math.sqrt(2 * math.pi)
    fall = math.exp(epsilon + float(log_ndtr(-epsilon / mu - mu / 2)))
    found = plan.profile().gradient("noise-multiplier", epsilon=epsilon)
    assert found.value == pytest.approx(-density / noise**2, rel=1e-9)
    delta = plan.delta(epsilon).estimate
    found = plan.profile().gradient("noise-multiplier", delta=delta)
    assert found.value == pytest.approx(-density / noise**2 / fall, rel=1e-6 if mu == 0.2 else 1e-7)


@pytest.mark.parametrize(
    ("plan", "name", "delta", "epsilon"),
    [
        (SGD, "noise-multiplier", 1e-6, None),
        (SGD, "sample-rate", 1e-12, None),
        (SGD, "sample-rate", None, 1.0),
        (hs.dp_sgd(0.6, 1e-3, 3000), "noise-multiplier", 1e-6, None),
        (SGD + hs.Round(hs.Gaussian(30.0), count=3), "noise", 1e-6, None),
        (SGD + hs.Round(hs.Laplace(20.0)), "scale", 1e-6, None),
        (hs.Plan([hs.Round(hs.Laplace(1.0), count=100)]), "scale", 1e-5, None),
        (SGD + BOXES, "epsilon", 1e-6, None),
        (SGD + BOXES, "noise", None, 2.0),
        (hs.Plan(SGD.rounds, adjacency="add"), "noise", 1e-6, None),
    ],
)
def test_it_is_what_differences_of_certified_answers_tend_to(
    plan: hs.Plan, name: str, delta: float | None, epsilon: float | None
) -> None:
    found = plan.profile().gradient(name, delta=delta, epsilon=epsilon)
    assert found.value == pytest.approx(difference(plan, name, delta, epsilon), rel=1e-6)
    assert found.direction == (plan.epsilon(delta) if delta else plan.delta(epsilon or 0.0)).direction
    assert found.reason is None


@pytest.mark.parametrize(("name", "by"), [("steps", 1), ("epochs", 100)])
def test_one_more_step_costs_about_as_much(name: str, by: int) -> None:
    """Between what the last step cost and what the next one will."""
    plan = hs.dp_sgd(1.0, batch_size=200, dataset_size=20_000, epochs=30)
    steps, at = plan.steps, [plan.with_rounds([plan.rounds[0].changed(count=3000 + by * i)]) for i in (-1, 0, 1)]
    assert steps == 3000
    less, here, more = (each.epsilon(1e-6, gap=1e-10).estimate for each in at)
    assert more - here < gradient(plan, name, delta=1e-6).value < here - less


def test_mass_at_infinite_loss_moves_with_the_number_of_steps() -> None:
    """delta of keys that are published too often, with probability p each, rises by about ``-log(1 - p)`` a step."""
    keys = hs.Round(hs.GaussianThreshold(3.0, threshold=15.0, keys=2), count=40)
    plan = hs.Plan([keys])
    found = gradient(plan, "steps", epsilon=8.0).value
    less, more = (hs.Plan([keys.changed(count=n)]).delta(8.0, gap=1e-9).estimate for n in (39, 41))
    assert found == pytest.approx((more - less) / 2, rel=1e-3)


def test_where_two_directions_decide_together_both_are_told() -> None:
    """At epsilon 0 delta is the total variation, the same in both; what is told is that they decide together."""
    plan = hs.Plan([hs.Round(hs.Gaussian(1.0), sampling=hs.Poisson(0.5), count=20)])
    sides = [gradient(hs.Plan(plan.rounds, adjacency=way), "noise", epsilon=0.0).value for way in ("remove", "add")]
    assert sides[0] == pytest.approx(sides[1], rel=1e-8)
    found = gradient(plan, "noise", epsilon=0.0)
    assert found.value in sides
    assert found.reason is not None
    assert "decide together" in found.reason


def test_an_epsilon_of_0_stays_0() -> None:
    assert gradient(hs.Plan([hs.Round(hs.Gaussian(5.0))]), "noise", delta=0.5).value == 0.0


def test_of_two_pairs_it_is_that_of_the_upper_end() -> None:
    """Shuffled batches are answered from above by rounds that see all: that is what is differentiated, and said."""
    shuffled = hs.Round(hs.Gaussian(1.0), sampling=hs.Shuffled(batch_size=10, dataset_size=100), epochs=4)
    plan, whole = hs.Plan([shuffled], adjacency="zero-out"), hs.Plan([hs.Round(hs.Gaussian(1.0), count=4)])
    found = gradient(plan, "noise", delta=1e-5)
    assert found.value == pytest.approx(gradient(whole, "noise", delta=1e-5).value, rel=1e-9)
    assert found.reason is not None
    assert "upper end" in found.reason


@pytest.mark.parametrize(
    ("plan", "name", "arguments", "message"),
    [
        (SGD, "noise", {}, "one of delta .* received neither"),
        (SGD, "noise", {"delta": 1e-6, "epsilon": 1.0}, "received both"),
        (SGD, "noise", {"delta": 0.0}, "delta must be"),
        (SGD, "noise", {"epsilon": -1.0}, "epsilon must be"),
        (SGD, "colour", {"delta": 1e-6}, "parameter must be one of"),
        (SGD, "scale", {"delta": 1e-6}, "no round of the plan has the key 'scale'"),
        (SGD, "delta", {"epsilon": 1.0}, "take the reciprocal"),
        (hs.dp_sgd(1.0, batch_size=200, dataset_size=20_000, epochs=3), "batch-size", {"delta": 1e-6}, "in jumps"),
        (hs.dp_sgd(1.0, batch_size=200, dataset_size=20_000, epochs=3), "sample-rate", {"delta": 1e-6}, "in jumps"),
    ],
)
def test_what_is_refused_as_input(plan: hs.Plan, name: str, arguments: dict[str, float], message: str) -> None:
    with pytest.raises(hs.InvalidInputError, match=message):
        plan.profile().gradient(name, **arguments)


@pytest.mark.parametrize(
    ("plan", "name", "message"),
    [
        (hs.Plan([hs.Round(hs.Laplace(3.0), count=3)]), "scale", "take the difference of two answers"),
        (hs.dp_sgd(3.0, 1.0, 3), "sample-rate", "at the end of its range"),
        (SGD + hs.Round(hs.ApproximateDP(0.1, 1e-3)), "noise", "no epsilon has that delta"),
    ],
)
def test_what_has_no_derivative_says_what_to_do(plan: hs.Plan, name: str, message: str) -> None:
    with pytest.raises(hs.UnsupportedError, match=message):
        gradient(plan, name, delta=1e-6)


@pytest.mark.parametrize(
    ("noise", "rate", "steps", "delta"),
    [
        (2.5904991868224707, 0.009091604871268777, 6, 1e-24),
        (1.154881022269216, 0.0006893088635498389, 10, 1.9e-18),
    ],
)
def test_a_sum_that_rounding_leaves_little_of_says_nothing(noise: float, rate: float, steps: int, delta: float) -> None:
    """Few rounds and a tiny delta: the core of the law is all of K, and the derivative had a wrong sign."""
    plan = hs.Plan([hs.Round(hs.Gaussian(noise), hs.Poisson(rate), steps)], "remove")
    with pytest.raises(hs.UnsupportedError, match="too few digits"):
        plan.profile().gradient("noise-multiplier", delta=delta)
