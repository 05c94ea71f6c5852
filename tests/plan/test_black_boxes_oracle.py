"""Guarantees of moments, and random projections, against many digits; each black box against what it came from."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from mpmath import mp

import hockeystick as hs
import oracle
from oracle import closed_forms, moments, projections
from oracle.real import to_mpf

boxes: Any = hs
"""The package, whose constructors take lists of anything."""

CLOSE = 1e-6  # relative: what a search over orders leaves of a logarithm of delta, at the most

laws = st.lists(st.tuples(st.integers(1, 30), st.integers(1, 30)), min_size=2, max_size=4)
"""P- and Q-masses up to factors."""


def upper(mechanism: Any, count: int, epsilon: float, accountant: str = "auto") -> float:
    return hs.Plan([hs.Round(mechanism, count=count)]).delta(epsilon, accountant=accountant).ends["upper"]


def decimals(values: list[float]) -> list[float]:
    """Rounded up to six digits, so that the guarantee is one."""
    return [math.ceil(value * 1e6 + 1e-3) / 1e6 for value in values]


@settings(max_examples=10, deadline=None)
@given(st.floats(1e-4, 2.0), st.integers(1, 300), st.floats(0.05, 4.0))
@example(1.5, 154, 0.8125)  # the best order is 1 + 8e-9
@example(2.0, 119, 4.0)  # delta is 2e-321
def test_zero_concentrated_privacy(rho: float, count: int, times: float) -> None:
    """Between the noise that attains it and the best of all orders, which the method of moments finds."""
    rho = round(rho, 5)
    epsilon = round(times * (count * rho + math.sqrt(4 * count * rho)), 4)
    plan = hs.Plan([hs.Round(hs.ZCDP(rho), count=count)])
    # logarithms, as a delta below 1e-308 is a double of few digits
    found, by_moments = (plan.delta(epsilon, accountant=name).log_delta.ends["upper"] for name in ("auto", "rdp"))
    best = mp.log(moments.zcdp_delta(rho, count, epsilon))
    farthest = best + mp.log1p(CLOSE * (1 - best))
    assert best + mp.log1p(mp.mpf("-1e-12")) <= by_moments <= farthest
    assert found <= farthest
    attained = closed_forms.gaussian_delta(2 * count * to_mpf(rho), epsilon)
    assert mp.log(attained) <= found


@settings(max_examples=8, deadline=None)
@given(
    laws,
    st.lists(st.integers(11, 300), min_size=1, max_size=4, unique=True),
    st.integers(1, 4),
    st.floats(0.0, 1.0),
)
def test_renyi_privacy(weights: list[tuple[int, int]], tenths: list[int], count: int, share: float) -> None:
    """Above the law whose divergences were given, and the best that these orders allow."""
    p = [Fraction(a, sum(w for w, _ in weights)) for a, _ in weights]
    q = [Fraction(b, sum(w for _, w in weights)) for _, b in weights]
    orders = [tenth / 10 for tenth in sorted(tenths)]
    either = [max(moments.divergence(p, q, a), moments.divergence(q, p, a)) for a in orders]
    epsilons = decimals([float(value) for value in either])
    largest = max(abs(math.log(a / b)) for a, b in zip(p, q, strict=True))
    epsilon = round(share * count * largest, 4)
    table = {
        "adjacency": "add-or-remove",
        "round": [{"mechanism": "pmf", "p": [str(a) for a in p], "q": [str(b) for b in q], "count": count}],
    }
    truth = oracle.delta(table, epsilon, 30)
    best = moments.rdp_delta(orders, epsilons, count, epsilon)
    box = boxes.RDP(orders, epsilons)
    found, by_moments = upper(box, count, epsilon), upper(box, count, epsilon, "rdp")
    assert truth <= found
    assert found <= best * (1 + CLOSE * (1 - mp.log(best)))
    assert best * (1 - mp.mpf("1e-12")) <= by_moments <= best * (1 + CLOSE * (1 - mp.log(best)))


@settings(max_examples=4, deadline=None)
@given(st.floats(0.5, 8.0), st.integers(3, 300), st.floats(0.1, 2.0))
def test_one_step_with_random_projections(noise: float, r: int, times: float) -> None:
    noise = round(noise, 3)
    epsilon = round(times * (0.5 / noise**2 + 1 / noise), 4)
    truth = projections.delta(noise, r, 1, epsilon)
    assert truth <= upper(boxes.DPSGDJL(noise, r), 1, epsilon) <= truth * mp.mpf("1.1") + mp.mpf("1e-12")


@pytest.mark.slow
@pytest.mark.parametrize(("noise", "r", "epsilon"), [(1.0, 20, 0.1), (0.7, 100, 0.3)])
def test_one_sampled_step_with_random_projections(noise: float, r: int, epsilon: float) -> None:
    truth = projections.delta(noise, r, 1, epsilon, 0.1)
    plan = hs.Plan([hs.Round(boxes.DPSGDJL(noise, r), hs.Poisson(0.1))], adjacency="remove")
    assert truth <= plan.delta(epsilon).ends["upper"] <= truth * mp.mpf("1.1")


@pytest.mark.long
@pytest.mark.parametrize(("noise", "r", "epsilon"), [(2.0, 20, 1.0)])
def test_two_steps_with_random_projections(noise: float, r: int, epsilon: float) -> None:
    truth = projections.delta(noise, r, 2, epsilon)
    assert truth <= upper(boxes.DPSGDJL(noise, r), 2, epsilon) <= truth * mp.mpf("1.1")


@settings(max_examples=8, deadline=None)
@given(st.floats(0.05, 3.0), st.integers(1, 200), st.floats(0.1, 3.0))
def test_gaussian_privacy_is_lossless(mu: float, count: int, times: float) -> None:
    mu = round(mu, 4)
    epsilon = round(times * (count * mu * mu / 2 + mu * math.sqrt(count)), 4)
    truth = closed_forms.gaussian_delta(count * to_mpf(mu) ** 2, epsilon)
    found = hs.Plan([hs.Round(hs.GDP(mu), count=count)]).delta(epsilon)
    assert found.lower <= truth <= found.upper
    assert found.upper <= truth * (1 + mp.mpf("1e-9"))


@settings(max_examples=8, deadline=None)
@given(laws, st.integers(1, 4), st.floats(0.0, 1.0))
@example(weights=[(1, 1), (1, 1), (1, 1), (2, 1)], count=1, share=1.0)
def test_a_trade_off_function_is_lossless(weights: list[tuple[int, int]], count: int, share: float) -> None:
    """Of the law whose own it is; and the privacy curve of that law at some epsilons is at or above it."""
    ordered = sorted(weights, key=lambda w: Fraction(w[1], w[0]))
    p = [Fraction(a, sum(w for w, _ in ordered)) for a, _ in ordered]
    q = [Fraction(b, sum(w for _, w in ordered)) for _, b in ordered]
    alphas = [str(sum(q[:k], Fraction(0))) for k in range(len(q))]
    betas = [str(1 - sum(p[:k], Fraction(0))) for k in range(len(p))]
    losses = [math.log(a / b) for a, b in zip(p, q, strict=True)]
    epsilon = round(share * count * max(losses[0], 0.01), 4)

    def table(mechanism: dict[str, Any], adjacency: str) -> dict[str, Any]:
        return {"adjacency": adjacency, "round": [{**mechanism, "count": count}]}

    law = {"mechanism": "pmf", "p": [str(a) for a in p], "q": [str(b) for b in q]}
    truth = oracle.delta(table(law, "remove"), epsilon, 30)
    found = hs.Plan.from_dict(table({"mechanism": "tradeoff", "alphas": alphas, "betas": betas}, "remove")).delta(
        epsilon
    )
    assert found.lower <= truth <= found.upper
    allowed = 1e-15
    if abs(count * losses[0] - epsilon) < 1e-3:
        # next to the largest loss delta is its difference from epsilon; either has up to 64 roundings of its sum
        allowed = 2 * 64 * 2.0**-53 * (epsilon + count * losses[0])
    assert found.upper - found.lower <= 1e-9 * found.upper + allowed

    places = sorted({math.ceil(abs(loss) * 1e4) / 1e4 for loss in losses})
    one = {"adjacency": "add-or-remove", "round": [{**law, "count": 1}]}
    deltas = [min(float(oracle.delta(one, place, 30)) * (1 + 1e-12), 1.0) for place in places]
    box = {"mechanism": "privacy-curve", "epsilons": places, "deltas": deltas}
    above = hs.Plan.from_dict(table(box, "add-or-remove")).delta(epsilon)
    assert oracle.delta(table(law, "add-or-remove"), epsilon, 30) <= above.upper
