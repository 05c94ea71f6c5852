"""The best of a random number of runs: every order of few outputs enumerated, and published bounds beside it."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import permutations
from typing import Any

import numpy as np
import pytest
from mpmath import mp, workdps
from scipy.optimize import minimize, minimize_scalar
from scipy.stats import norm

from hockeystick import (
    ApproximateDP,
    Bound,
    DeltaBound,
    Gaussian,
    InvalidInputError,
    Plan,
    Poisson,
    RandomizedResponse,
    Round,
    UpperBound,
)
from hockeystick.plan.selection import FIRST, BestOf, _gathered, _hinges

LAWS: list[tuple[Any, float, float | None]] = [
    ("geometric", 5.0, None),
    ("geometric", 40.0, None),
    ("logarithmic", 12.0, None),
    ("negative-binomial", 8.0, 3.0),
    ("negative-binomial", 3.0, -0.4),
    ("poisson", 0.5, None),
    ("poisson", 10.0, None),
]


def weights(runs: str, mean: float, shape: float | None, most: int = 6000) -> np.ndarray:
    """The probabilities of 0, 1, ... runs, from their definitions, with the mean by bisection."""
    k = np.arange(1, most)
    if runs == "poisson":
        logs = np.concatenate([[-mean], k * math.log(mean) - mean - np.cumsum(np.log(k))])
        return np.asarray(np.exp(logs), dtype=np.float64)
    eta = {"geometric": 1.0, "logarithmic": 0.0}.get(runs, shape)
    assert eta is not None

    def law(g: float) -> np.ndarray:
        # P(K = k) is proportional to (1 - g)^k / k! times the product of (l + eta) over l < k, at eta = 0 without l = 0
        steps = np.log(np.where(k > 1, k - 1 + eta, 1.0)) - np.log(k)
        logs = k * math.log1p(-g) + np.cumsum(steps)
        found = np.exp(logs - logs.max())
        return np.asarray(found / found.sum(), dtype=np.float64)

    low, high = 1e-3, 1 - 1e-12
    for _ in range(200):
        middle = math.sqrt(low * high)
        low, high = (middle, high) if (k * law(middle)).sum() > mean else (low, middle)
    found = np.concatenate([[0.0], law(low)])
    return found[: 1 + np.flatnonzero(found > 1e-17)[-1]]


def generating(law: np.ndarray, x: Any) -> np.ndarray:
    return np.asarray(np.asarray(x, dtype=np.float64)[..., None] ** np.arange(len(law)) @ law, dtype=np.float64)


@pytest.mark.parametrize(("runs", "mean", "shape"), LAWS)
def test_laws_are_what_they_are_called(runs: Any, mean: float, shape: float | None) -> None:
    """Weight and release against the generating function that the probabilities of 0, 1, 2, ... runs make."""
    made = BestOf(runs, mean, shape)
    law = weights(runs, mean, shape)
    assert (np.arange(len(law)) * law).sum() == pytest.approx(mean, rel=1e-6)
    u = np.array([0.0, 1e-3, 0.1, 0.5, 0.99])
    slope = np.polynomial.polynomial.polyval(1 - u, np.arange(1, len(law)) * law[1:])
    assert np.exp(made._log_weight(u)) == pytest.approx(slope, rel=1e-5)
    then = np.array([1e-3, 0.2, 0.3, 0.5, 0.01])
    assert made._released(u, then) == pytest.approx(generating(law, 1 - u) - generating(law, 1 - u - then), rel=1e-5)


def delta_of_orders(p: np.ndarray, q: np.ndarray, law: np.ndarray, epsilons: list[float], parts: int) -> np.ndarray:
    """The largest delta over all orders of the outputs, each of which is cut into equal parts."""
    outputs = [(a / parts, b / parts) for a, b in zip(p, q, strict=True) for _ in range(parts)]
    best = np.zeros(len(epsilons))
    for order in set(permutations(outputs)):
        above = np.cumsum([(0.0, 0.0), *order], axis=0)  # masses that are better
        laws = [-np.diff(generating(law, 1 - np.minimum(column, 1.0))) for column in above.T]
        for first, second in (laws, laws[::-1]):
            found = [np.maximum(first - math.exp(e) * second, 0.0).sum() for e in epsilons]
            best = np.maximum(best, found)
    return best


@pytest.mark.parametrize(("runs", "mean", "shape"), LAWS)
def test_every_order_of_few_outputs_lies_below_the_upper_end(runs: Any, mean: float, shape: float | None) -> None:
    """Randomised response twice: three likelihood ratios, each in two parts for the orders to choose from."""
    keep = 1 / (1 + math.exp(-0.7))
    one = np.array([keep, 1 - keep])
    p, q = np.outer(one, one).ravel(), np.outer(one[::-1], one[::-1]).ravel()
    p, q = np.array([p[0], p[1] + p[2], p[3]]), np.array([q[0], q[1] + q[2], q[3]])
    epsilons = [0.0, 0.3, 1.0, 1.8, 2.5, 4.0]
    truth = delta_of_orders(p, q, weights(runs, mean, shape), epsilons, 2)
    selection = Plan([Round(RandomizedResponse(0.7), count=2)]).selection(runs, mean, shape)
    for epsilon, largest in zip(epsilons, truth, strict=True):
        found = selection.delta(epsilon)
        assert largest <= found.upper * (1 + 1e-6)
        assert isinstance(found, DeltaBound)
        assert found.lower <= found.upper


@pytest.mark.parametrize(("runs", "mean", "shape"), LAWS)
@pytest.mark.share(2)
def test_the_lower_end_is_that_of_an_order(runs: Any, mean: float, shape: float | None) -> None:
    """Two half-lines of one Gaussian output first and second: the probabilities from the law of the runs itself."""
    mu, epsilon, law = 0.5, 2.5, weights(runs, mean, shape)

    def of(ends: Any) -> float:
        if not ends[0] < ends[1]:
            return 0.0
        found = []
        for a, b in ((norm.cdf(ends[0] - mu), norm.sf(ends[1] - mu)), (norm.cdf(ends[0]), norm.sf(ends[1]))):
            found.append(float(generating(law, 1 - a) - generating(law, 1 - a - b)))
        return math.exp(epsilon) * found[1] - found[0]

    starts = [(x, y) for x in (-3.0, -1.0, 0.0) for y in (2.0, 4.0)]
    found_at = [minimize(of, np.array(start), method="Nelder-Mead", options={"maxiter": 120}) for start in starts]
    largest = -min(float(one.fun) for one in found_at)
    found = Plan([Round(Gaussian(1 / mu))]).selection(runs, mean, shape).delta(epsilon)
    assert isinstance(found, DeltaBound)
    assert largest * 0.9 <= found.lower <= largest * (1 + 1e-6)
    assert largest <= found.upper


def published(mu: float, delta: float, eta: float, mean: float) -> float:
    """Papernot and Steinke 2022, Theorem 2, for one Gaussian round: both orders by search, converted at the first."""
    g = 1 / (1 + BestOf("negative-binomial", mean, eta)._odds)
    rho = mu * mu / 2

    def shift(t: float) -> float:  # (1 - 1/l) D_l + log(1/g) / l at l = 1 + t
        return t * rho + math.log(1 / g) / (1 + t)

    least = minimize_scalar(lambda x: shift(math.exp(x)), bounds=(-8, 8), method="bounded").fun

    def epsilon(t: float) -> float:
        peak = t * math.log(t) - (1 + t) * math.log1p(t)
        return (t * (1 + t) * rho + math.log(mean) - math.log(delta) + peak) / t

    return minimize_scalar(lambda x: epsilon(math.exp(x)), bounds=(-6, 8), method="bounded").fun + (1 + eta) * least


@pytest.mark.parametrize("mean", [1.5, 5.0, 20.0, 100.0, 1e4])
@pytest.mark.parametrize(("runs", "eta"), [("geometric", 1.0), ("logarithmic", 0.0)])
@pytest.mark.parametrize("mu", [0.05, 0.5, 2.0])
@pytest.mark.share(7)
def test_never_above_the_published_bounds(runs: Any, eta: float, mean: float, mu: float) -> None:
    """And the two ends are near each other: what is proven leaves little to be gained."""
    found = Plan([Round(Gaussian(1 / mu))]).selection(runs, mean).epsilon(1e-6)
    assert isinstance(found, Bound)
    assert found.upper <= published(mu, 1e-6, eta, mean)
    assert found.upper - found.lower <= 0.05 * found.upper + 0.01


@pytest.mark.parametrize(("mean", "single"), [(5, 3.0509), (20, 3.7045), (100, 4.4107)])
def test_below_the_bound_with_one_shift(mean: float, single: float) -> None:
    """m delta(e - max s), from closed forms, for a geometric number of runs of a Gaussian round with mu = 1/2."""
    mu, g = 0.5, 1 / mean

    def delta(e: float) -> float:
        return float(norm.cdf(mu / 2 - e / mu) - math.exp(e) * norm.cdf(-mu / 2 - e / mu))

    low, high = 0.0, 20.0
    for _ in range(100):
        a = 0.5 * (low + high)
        low, high = (low, a) if delta(a) <= g * math.expm1(a) / (1 - g) else (a, high)
    least, most = 0.0, 50.0
    for _ in range(100):
        e = 0.5 * (least + most)
        least, most = (least, e) if mean * delta(e) <= 1e-6 else (e, most)
    assert 2 * high + most == pytest.approx(single, abs=1e-4)
    found = Plan([Round(Gaussian(2.0))]).selection("geometric", mean).epsilon(1e-6)
    assert found.upper < 2 * high + most - 0.05


def test_hinges_are_the_maximum_of_lines() -> None:
    """At every r; and where they are moved they lie above it, by little."""
    random = np.random.default_rng(3)
    logs, shifts = -random.exponential(3.0, 400), random.exponential(1.0, 400)
    r = np.exp(np.linspace(-6, 6, 300))
    lines = np.maximum((np.exp(logs)[:, None] * (1 - np.exp(-shifts)[:, None] * r)).max(axis=0), 0.0)
    k, log_r = _hinges(logs, shifts)
    assert (k >= 0).all()
    assert (k[:, None] * np.maximum(1 - r / np.exp(log_r)[:, None], 0.0)).sum(axis=0) == pytest.approx(lines, abs=1e-12)
    more = np.linspace(log_r.min(), log_r.max(), 500)
    many = np.full(500, k.sum() / 500)
    moved, places = _gathered(many, more)
    before = (many[:, None] * np.maximum(1 - r / np.exp(more)[:, None], 0.0)).sum(axis=0)
    after = (moved[:, None] * np.maximum(1 - r / np.exp(places)[:, None], 0.0)).sum(axis=0)
    assert (after >= before - 1e-15).all()
    assert (after <= before + 1e-3 * k.sum()).all()


def test_hinges_far_beyond_the_range_of_a_double_still_cover_their_lines() -> None:
    # e^-5000 is no double: the line is flat there, and its hinge is where it crosses zero all the same
    log_weights, shifts = np.array([2.0, 0.5, -3.0, -900.0]), np.array([1e-6, 720.0, 5000.0, 5300.0])
    found, log_breaks = _hinges(log_weights, shifts)
    assert np.isfinite(log_breaks).all()
    with workdps(60):
        for log_r in (-5.0, 0.0, 1.0, 600.0, 719.0, 730.0, 4990.0, 4999.9, 5010.0, 5299.9):
            r = mp.exp(log_r)
            hinges = mp.fsum(k * max(1 - r * mp.exp(-s), 0) for k, s in zip(found.tolist(), log_breaks, strict=True))
            lines = [
                mp.exp(w) * (1 - r * mp.exp(-s)) for w, s in zip(log_weights.tolist(), shifts.tolist(), strict=True)
            ]
            assert hinges * (1 + mp.mpf(1e-9)) >= max(lines)
    places, moved = _gathered(found, log_breaks)
    assert places.sum() >= found.sum()
    assert moved.max() >= log_breaks.max()


@pytest.mark.filterwarnings("error")
def test_a_probability_below_the_range_of_a_double_proves_no_epsilon() -> None:
    # of 10,000 runs that next to all beat it, a test is the best with probability e^-9990, which is no double: the
    # lower end was at the upper one, 21,680, since a true positive rate was divided by 0
    one = Plan([Round(Gaussian(0.4087672399284974), Poisson(0.373), 14723)])
    found = one.selection("poisson", 10_000.0).epsilon(4.32440576732437e-05)
    assert isinstance(found, Bound)
    assert found.lower < one.epsilon(4.32440576732437e-05).lower < found.upper  # pure luck apart, tuning costs more


@pytest.mark.slow
def test_one_run_or_hardly_more_costs_as_much_as_the_plan() -> None:
    plan = Plan([Round(Gaussian(2.0), Poisson(0.1), 10)])
    once = plan.epsilon(1e-6).upper
    assert plan.selection("geometric", 1.0001).epsilon(1e-6).upper == pytest.approx(once, rel=2e-3)
    assert plan.selection("geometric", 3.0).epsilon(1e-6).upper > once


@pytest.mark.slow
@pytest.mark.parametrize("adjacency", ["add", "remove"])
def test_one_ordering_has_an_upper_end_alone(adjacency: str) -> None:
    rounds = [Round(Gaussian(2.0), Poisson(0.1), 10)]
    both = Plan(rounds).selection("poisson", 5.0)
    one = Plan(rounds, adjacency).selection("poisson", 5.0)
    epsilon, delta = one.epsilon(1e-6), one.delta(1.0)
    assert isinstance(epsilon, UpperBound)
    assert epsilon.upper <= both.epsilon(1e-6).upper * (1 + 1e-9)
    assert delta.upper <= both.delta(1.0).upper * (1 + 1e-9)


def test_what_an_answer_says() -> None:
    plan = Plan([Round(ApproximateDP(0.5, 1e-9), count=3)], "replace-one", delta=1e-6)
    found = plan.selection("logarithmic", 10.0).epsilon()
    assert found.reason is not None
    assert "the interval is as narrow as current theory allows" in found.reason
    assert any("number of runs" in line for line in found.assumptions)
    assert found.upper <= 3 * 1.5  # pure: (2 + eta) times epsilon, and what black boxes fail by, times the mean
    assert plan.selection("logarithmic", 10.0).delta(5.0).upper == pytest.approx(10 * 3e-9, rel=1e-6)
    assert plan.selection("logarithmic", 1e6).epsilon(1e-9).upper == math.inf


@pytest.mark.parametrize(
    ("runs", "mean", "shape", "key"),
    [
        ("geometrical", 5.0, None, "runs"),
        ("geometric", 1.0, None, "mean"),
        ("geometric", math.nan, None, "mean"),
        ("poisson", 0.0, None, "mean"),
        ("poisson", 5.0, 1.0, "shape"),
        ("negative-binomial", 5.0, None, "shape"),
        ("negative-binomial", 5.0, -1.0, "shape"),
    ],
)
def test_refusals_name_the_key(runs: Any, mean: float, shape: float | None, key: str) -> None:
    with pytest.raises(InvalidInputError, match=key):
        Plan([Round(Gaussian(2.0))]).selection(runs, mean, shape)


def test_what_is_put_first_and_what_is_not_are_doubles() -> None:
    """The level of a test is 1 less the mass that it leaves, to the last bit."""
    for mass in FIRST.tolist():
        assert Fraction(1 - mass) == 1 - Fraction(mass)
