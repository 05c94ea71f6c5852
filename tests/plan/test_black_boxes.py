"""Mechanisms known by a guarantee, each against what it says and against the mechanism that it may have come from."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate
from scipy.stats import chi2, norm

import hockeystick as hs
from hockeystick.pairs.finite import FinitePair
from hockeystick.pairs.points import exponential, largest_curve, of_trade_off

boxes: Any = hs
"""The package, whose constructors take lists of anything."""


def one(mechanism: Any, count: int = 1, adjacency: str = "add-or-remove", sampling: Any = None) -> hs.Plan:
    return hs.Plan([hs.Round(mechanism, sampling or hs.NoSampling(), count)], adjacency)


def curve(pair: FinitePair, alpha: Fraction) -> Fraction:
    return sum((max(p - alpha * q, Fraction(0)) for p, q in zip(pair.p, pair.q, strict=True)), Fraction(0))


# --- gdp, zcdp, rdp ---


@pytest.mark.parametrize("adjacency", ["add-or-remove", "replace-one"])
def test_gaussian_privacy_is_gaussian_noise(adjacency: str) -> None:
    assert one(hs.GDP(0.1), 50, adjacency).epsilon(1e-6) == one(hs.Gaussian(10.0), 50).epsilon(1e-6)
    assert (
        one(hs.GDP(0.1), 50).epsilon(1e-6, proof=True).lower
        == one(hs.Gaussian(10.0), 50).epsilon(1e-6, proof=True).lower
    )
    with pytest.raises(hs.UnsupportedError, match="guarantee for replacing a record"):
        one(hs.GDP(0.1), 5, "replace-one", hs.Poisson(0.1)).epsilon(1e-6)


def test_concentrated_privacy_is_at_or_above_the_noise_it_came_from() -> None:
    """rho = mu^2 / 2, and the moments are those of the noise: the Renyi bound is the same."""
    box, noise = one(boxes.ZCDP(0.005), 50), one(hs.Gaussian(10.0), 50)
    found = box.epsilon(1e-6)
    assert isinstance(found, hs.UpperBound)
    assert found.upper >= noise.epsilon(1e-6).lower
    assert found.upper <= noise.epsilon(1e-6, accountant="rdp").ends["upper"] * (1 + 1e-6)
    by_moments = [plan.epsilon(1e-6, accountant="rdp").ends["upper"] for plan in (box, noise)]
    assert by_moments[0] == pytest.approx(by_moments[1])


def test_divergences_at_many_orders_are_at_or_above_the_noise_they_came_from() -> None:
    orders = [1 + 0.1 * k for k in range(1, 400)]
    box = one(boxes.RDP(orders, [order * 0.005 for order in orders]), 50)
    noise = one(hs.Gaussian(10.0), 50)
    found = box.epsilon(1e-6, accountant="rdp").ends["upper"]
    best = noise.epsilon(1e-6, accountant="rdp").ends["upper"]
    assert best * (1 - 1e-12) <= found <= best * 1.001
    assert box.epsilon(1e-6).ends["upper"] <= found * (1 + 1e-9)


def test_between_orders_and_below_the_first_the_moments_are_bounded() -> None:
    """Of binary randomised response, whose moments are known: the curve of some orders lies above them all."""
    true = hs.RandomizedResponse(1.0).pair(hs.Direction.ADD)
    orders = [1.5, 2.0, 4.0, 9.0]
    listed = boxes.RDP(orders, [true.log_moment(a - 1) / (a - 1) for a in orders]).curve(hs.Direction.ADD)
    for t in np.linspace(0.01, 8.0, 300).tolist():
        assert listed.log_moment(t) >= true.log_moment(t) * (1 - 1e-12)
    assert listed.log_moment(8.01) == math.inf
    assert listed.log_moment(3.0) == pytest.approx(true.log_moment(3.0))


@pytest.mark.parametrize(
    ("made", "said"),
    [
        (lambda: boxes.RDP([2.0], [0.1, 0.2]), "epsilons must have as many elements as orders"),
        (lambda: boxes.RDP([3.0, 2.0], [0.1, 0.2]), "orders must increase"),
        (lambda: boxes.RDP([1.0], [0.1]), "element 1 of orders must be a number greater than 1"),
        (lambda: boxes.PrivacyCurve([0.1], [0.1, 0.2]), "deltas must have as many elements as epsilons"),
        (lambda: boxes.Tradeoff([0, 0.5], [1]), "betas must have as many elements as alphas"),
        (lambda: boxes.Tradeoff([0.1], [0.5]), "alphas must start with 0"),
        (lambda: boxes.Tradeoff([0, 0.5], [0.5, 0.6]), "convex"),
        (lambda: boxes.Tradeoff([0, 0.5, 0.6], [1, 0.9, 0.2]), "convex"),
        (lambda: boxes.ZCDP(0.0), "rho must be"),
        (lambda: boxes.DPSGDJL(1.0, 0), "projections must be a whole number"),
    ],
)  # fmt: skip
def test_what_is_no_guarantee_is_refused(made: Any, said: str) -> None:
    with pytest.raises(hs.InvalidInputError, match=said):
        made()


# --- privacy curves and trade-off functions ---


@settings(max_examples=100, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 30), st.integers(0, 40)), min_size=1, max_size=5))
def test_the_curve_of_points_is_the_largest_that_they_allow(points: list[tuple[int, int]]) -> None:
    """It satisfies every point in both directions, is convex, and no larger convex function does."""
    epsilons, deltas = [Fraction(e, 10) for e, _ in points], [Fraction(d, 40) for _, d in points]
    pair = largest_curve(epsilons, deltas)
    assert sum(pair.p) == sum(pair.q) == 1
    assert min(*pair.p, *pair.q) >= 0
    constraints = {Fraction(0): Fraction(1)}
    for epsilon, delta in zip(epsilons, deltas, strict=True):
        alpha = exponential(epsilon)
        assert curve(pair, alpha) <= delta
        assert curve(FinitePair(pair.q, pair.p), alpha) <= delta
        for at, value in ((alpha, delta), (1 / alpha, 1 - (1 - delta) / alpha)):
            constraints[at] = min(constraints.get(at, Fraction(1)), value)
    # at every alpha some chord of two constraints, or the least to the left of it, is met
    places = sorted(constraints)
    for at in [*places, *((a + b) / 2 for a, b in itertools.pairwise(places)), places[-1] * 2]:
        known = [constraints[place] for place in places if place <= at]
        best = min([*known, Fraction(1)])
        for low, high in itertools.product(places, places):
            if low < at < high:
                share = (at - low) / (high - low)
                best = min(
                    best, (1 - share) * min(v for a, v in constraints.items() if a <= low) + share * constraints[high]
                )
        assert curve(pair, at) == best


def test_one_point_is_the_worst_mechanism_with_that_guarantee() -> None:
    box, known = one(boxes.PrivacyCurve([0.3], [1e-4]), 20), one(hs.ApproximateDP(0.3, 1e-4), 20)
    for epsilon in (0.0, 1.0, 3.0):
        assert box.delta(epsilon).upper == pytest.approx(known.delta(epsilon).upper, rel=1e-10)


def test_many_points_come_near_the_noise_they_are_of() -> None:
    noise = one(hs.Gaussian(2.0))
    epsilons = [k / 50 for k in range(150)]
    box = boxes.PrivacyCurve(epsilons, [noise.delta(epsilon).upper for epsilon in epsilons])
    truth, found = one(hs.Gaussian(2.0), 10).epsilon(1e-2), one(box, 10).epsilon(1e-2)
    assert truth.lower <= found.upper <= 1.005 * truth.upper


@settings(max_examples=100, deadline=None)
@given(st.lists(st.tuples(st.integers(1, 9), st.integers(0, 9)), min_size=1, max_size=5), st.integers(0, 3))
def test_a_trade_off_function_is_that_of_its_pair(steps: list[tuple[int, int]], certain: int) -> None:
    """The Neyman-Pearson errors of the pair at every corner, in exact rationals."""
    ordered = sorted(steps, key=lambda step: Fraction(-step[1], step[0]))
    wide, high = sum(a for a, _ in ordered), sum(b for _, b in ordered) + certain
    if not high:
        return
    alphas, betas = [Fraction(0)], [1 - Fraction(certain, high)]
    for a, b in ordered:
        alphas.append(alphas[-1] + Fraction(a, wide))
        betas.append(betas[-1] - Fraction(b, high))
    pair = of_trade_off(alphas, betas)
    assert pair is not None
    assert sum(pair.p) == sum(pair.q) == 1
    outcomes = [(p, q) for p, q in zip(pair.p, pair.q, strict=True) if p or q]
    outcomes.sort(key=lambda pq: (pq[1] > 0, -pq[0] / pq[1] if pq[1] else 0))
    for alpha, beta in zip(alphas, betas, strict=True):
        power = sum(p for p, q in outcomes if not q)
        left = alpha
        for p, q in outcomes:
            if q:
                share = min(left / q, Fraction(1))
                power, left = power + share * p, left - share * q
        assert 1 - power == beta


def test_a_trade_off_function_is_composed_as_the_law_that_it_is_of() -> None:
    law: Any = boxes.Pmf(["1/2", "1/3", "1/6"], ["1/6", "1/3", "1/2"])
    f: Any = boxes.Tradeoff([0, "1/6", "1/2"], [1, "1/2", "1/6"])
    for epsilon in (0.0, 0.5, 2.0):
        assert one(f, 6).delta(epsilon).upper == pytest.approx(one(law, 6).delta(epsilon).upper, rel=1e-12)


# --- random projections ---


def jl_delta(noise: float, r: int, epsilon: float) -> float:
    """delta of one step, by quadrature over chi-squared of the closed form given the projections."""

    def inside(x: float) -> float:
        mu = math.sqrt(r / x) / noise
        return float(
            (norm.cdf(mu / 2 - epsilon / mu) - math.exp(epsilon) * norm.cdf(-mu / 2 - epsilon / mu)) * chi2.pdf(x, r)
        )

    edges = [1e-12, r / 50, r / 4, r, 4 * r, 40 * r + 400]
    return float(sum(integrate.quad(inside, a, b, limit=200)[0] for a, b in itertools.pairwise(edges)))


@pytest.mark.parametrize(("noise", "r"), [(1.0, 20), (2.0, 100), (5.0, 10), (0.7, 3)])
@pytest.mark.parametrize("epsilon", [0.3, 1.5])
def test_one_step_is_the_mixture_over_projections(noise: float, r: int, epsilon: float) -> None:
    found = one(boxes.DPSGDJL(noise, r)).delta(epsilon)
    assert isinstance(found, hs.DeltaUpperBound)
    truth = jl_delta(noise, r, epsilon)
    assert truth <= found.upper <= truth * 1.05


def test_many_projections_cost_what_exact_norms_cost() -> None:
    """From above, and falling with the number of projections."""
    costs = [one(boxes.DPSGDJL(2.0, r), 10).epsilon(1e-5).ends["upper"] for r in (20, 200, 20_000)]
    exact = one(hs.Gaussian(2.0), 10).epsilon(1e-5)
    assert costs[0] > costs[1] > costs[2] > exact.lower
    assert costs[2] < 1.02 * exact.upper


def test_there_are_no_moments() -> None:
    """Of order 1 + t, ``E e^(t (1 + t) m^2 / 2)`` over m^2 = r / (noise^2 X) does not converge at X = 0."""
    for start in (1e-2, 1e-3, 1e-4):
        near = chi2.pdf(start, 20) * math.exp(min(20 / start / 2 * 0.02, 700.0))
        assert near > 1e6 or start > 1e-3
