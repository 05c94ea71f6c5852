"""The recursion over a trade-off function: against its published form, fractions, known laws and simulated runs."""

from __future__ import annotations

import math
from fractions import Fraction
from statistics import NormalDist

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hockeystick as hs
from hockeystick.plan.audit_recursion import WrongGuesses, impossible, p_value

NORMAL = NormalDist()


def gaussian_delta(mu: float, epsilon: float) -> float:
    return NORMAL.cdf(mu / 2 - epsilon / mu) - math.exp(epsilon) * NORMAL.cdf(-mu / 2 - epsilon / mu)


def gaussian_curve(mu: float, places: int = 257) -> WrongGuesses:
    epsilons = np.linspace(0.0, mu * mu / 2 + 7 * mu, places).tolist()
    return WrongGuesses((epsilon, max(gaussian_delta(mu, epsilon), 0.0) * (1 + 1e-9) + 1e-15) for epsilon in epsilons)


def published(canaries: int, guesses: int, correct: int, mu: float, beta: float) -> bool:
    """The published form of the recursion, for the exact trade-off function of a Gaussian: whether beta is excluded."""
    right, wrong = beta * correct / canaries, beta * (guesses - correct) / canaries
    for i in range(correct - 1, -1, -1):
        least = NORMAL.cdf(NORMAL.inv_cdf(right) - mu) if right < 1 else 1.0
        larger = max(wrong, least)
        right += i / (guesses - i) * (larger - wrong)
        wrong = larger
    return right + wrong > guesses / canaries


def bisected(excluded, low: float = 1e-12, high: float = 1.0) -> float:  # type: ignore[no-untyped-def]
    for _ in range(60):
        middle = math.sqrt(low * high)
        low, high = (low, middle) if excluded(middle) else (middle, high)
    return high


@pytest.mark.parametrize(
    ("mu", "canaries", "guesses", "correct"),
    [(1.0, 1000, 100, 92), (1.0, 1000, 1000, 720), (0.5, 2000, 300, 230), (1.0, 20_000, 1000, 980), (2.0, 50, 50, 48)],
)
def test_it_is_the_published_recursion(mu: float, canaries: int, guesses: int, correct: int) -> None:
    """At or above that of the exact curve, and within what 257 lines leave."""
    found = p_value(canaries, guesses, correct, gaussian_curve(mu))
    truth = bisected(lambda beta: published(canaries, guesses, correct, mu, beta))
    assert truth * (1 - 1e-6) <= found <= truth * 1.002 + 1e-6


def exact_excluded(
    guesses: int, correct: int, canaries: int, lines: list[tuple[Fraction, Fraction]], beta: Fraction
) -> bool:
    """The recursion of the docstring in fractions, every step taken."""
    reached, right, beyond = beta, correct * beta, Fraction(0)
    for i in range(correct - 1, -1, -1):
        beyond += reached
        wrong = canaries * max([Fraction(0), *(slope * (right / canaries - root) for slope, root in lines)])
        known = (i * wrong + guesses * beyond) / (guesses - i)
        reached, right = max(reached, (known + wrong) / guesses), max(right, known)
    return reached > 1


@settings(max_examples=40, deadline=None)
@given(
    st.integers(1, 40), st.data(), st.lists(st.tuples(st.floats(0.0, 4.0), st.floats(0.0, 0.5)), min_size=1, max_size=5)
)
def test_what_is_excluded_is_excluded_in_fractions(
    guesses: int, data: st.DataObject, points: list[tuple[float, float]]
) -> None:
    correct, canaries = data.draw(st.integers(1, guesses)), guesses + data.draw(st.integers(0, 40))
    g = WrongGuesses(points)
    found = p_value(canaries, guesses, correct, g)
    if found == 1.0:
        return
    lines = []
    for epsilon, delta in points:
        e, d = Fraction(math.exp(epsilon)), Fraction(delta)  # off by a rounding, which the margin of beta covers
        lines += [(1 / e, d), (e, d + (1 - d) * (1 - 1 / e))]
    assert exact_excluded(guesses, correct, canaries, lines, Fraction(found) * Fraction(1 + 1e-9))


def test_a_law_that_randomised_response_attains_is_never_excluded() -> None:
    """Guesses that are right independently with chance e^eps / (1 + e^eps): no probability of theirs is excluded."""
    for epsilon, guesses in ((0.5, 60), (1.5, 30)):
        chance = 1 / (1 + math.exp(-epsilon))
        g = WrongGuesses([(0.0, 2 * chance - 1), (epsilon, 0.0)])
        tail = 0.0
        for correct in range(guesses, 0, -1):
            tail += math.comb(guesses, correct) * chance**correct * (1 - chance) ** (guesses - correct)
            found = p_value(guesses, guesses, correct, g)
            assert tail <= found * (1 + 1e-9)
            if tail < 0.3:
                assert found <= 1.5 * tail


def test_longer_steps_lose_little() -> None:
    g = WrongGuesses([(0.0, math.tanh(0.5)), (1.0, 0.0)])
    right = 732_000
    chance = math.e / (1 + math.e)
    wide = NORMAL.cdf(-(right - 0.5 - 10**6 * chance) / math.sqrt(10**6 * chance * (1 - chance)))
    assert wide * 0.99 <= p_value(10**6, 10**6, right, g) <= 2.5 * wide
    assert p_value(10**9, 10**9, 7 * 10**8, g) == 1.0


def test_lines_bound_the_inverse_from_below() -> None:
    g = gaussian_curve(1.0)
    for rate in (1e-6, 1e-3, 0.05, 0.4, 0.9, 0.999):
        truth = NORMAL.cdf(NORMAL.inv_cdf(rate) - 1.0)
        assert truth * 0.999 - 1e-9 <= g(rate) <= truth * (1 + 1e-7) + 1e-12
    assert WrongGuesses([(0.0, 1.0)])(0.9) == 0.0


def attack(noise: float, canaries: int, guesses: int, drawn: np.random.Generator, answers: bool) -> int:
    """Right guesses of one run: randomised response of each canary (at epsilon ``noise``), or one noisy sum each."""
    there = drawn.integers(0, 2, canaries)
    if answers:
        right = drawn.random(guesses) < 1 / (1 + math.exp(-noise))
        return int(right.sum())
    seen = there + noise * drawn.standard_normal(canaries) - 0.5
    chosen = np.argsort(-np.abs(seen))[:guesses]
    return int(((seen[chosen] > 0) == (there[chosen] == 1)).sum())


@pytest.mark.parametrize(("answers", "parameter"), [(True, 1.0), (False, 2.0), (False, 0.7)])
def test_runs_of_the_plan_are_rejected_as_seldom_as_was_asked(answers: bool, parameter: float) -> None:
    """2,000 simulated runs of what was filed, at significance 0.1: at most 0.1, and some three deviations, rejected."""
    made = hs.ApproximateDP(parameter, 0.0) if answers else hs.Gaussian(parameter)
    filed = hs.Plan([hs.Round(made)])
    drawn = np.random.default_rng(16)
    counts = np.array([attack(parameter, 200, 40, drawn, answers) for _ in range(2000)])
    least = next((v for v in range(20, 41) if filed.audit(200, 40, v, 0.1).rejected), 41)
    assert (counts >= least).mean() <= 0.1 + 3 * math.sqrt(0.09 / 2000)
    if answers:
        assert least <= 35  # 29 are expected: it does reject


def test_it_is_sharper_than_single_points_where_delta_matters() -> None:
    plan = hs.Plan([hs.Round(hs.Gaussian(2.0))])
    assert plan.audit(1000, 100, 90).p_value < 0.02
    for epsilon in np.linspace(0.5, 2.0, 16).tolist():
        assert p_value(1000, 100, 90, WrongGuesses([(epsilon, plan.delta(epsilon).upper)])) > 0.02


def test_a_plan_of_little_noise_is_not_rejected_by_those_who_are_never_wrong() -> None:
    """Of right guesses alone no wrong ones follow at the start: a plan of any noise small enough is not rejected."""
    assert not impossible(10, 10, 10, gaussian_curve(8.0), 0.5)
    assert impossible(10, 10, 10, gaussian_curve(0.1), 0.05)
