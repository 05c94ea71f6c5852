"""Optimal composition: all outcomes enumerated with many digits, the published formula, the grid of epsilons."""

from __future__ import annotations

import itertools
import math

import mpmath
import numpy as np
import pytest

import hockeystick as hs
from hockeystick.accountants.optimal import MAX_WORK
from hockeystick.accountants.shared.worst_case_law import (
    WorstCase,
    _log_sums_above,
    binomial_law,
    rounded_law,
    rounding_step,
    rounding_work,
)
from hockeystick.values.side import Side


def responses(*kinds: tuple[float, int]) -> hs.Plan:
    return hs.Plan([hs.Round(hs.RandomizedResponse(epsilon), count=count) for epsilon, count in kinds])


def enumerated(epsilons: list[str], at: str, deltas: list[str]) -> mpmath.mpf:
    """``1 - (1 - sum over outcomes of (P - e^eps Q)_+) prod (1 - delta_i)``, over all ``2^n`` outcomes."""
    each = [mpmath.mpf(epsilon) for epsilon in epsilons]
    norm = mpmath.fprod(1 + mpmath.exp(epsilon) for epsilon in each)
    total = mpmath.mpf(0)
    for signs in itertools.product((0, 1), repeat=len(each)):
        p = mpmath.exp(mpmath.fsum(epsilon for epsilon, sign in zip(each, signs, strict=True) if sign))
        q = mpmath.exp(mpmath.fsum(epsilon for epsilon, sign in zip(each, signs, strict=True) if not sign))
        total += max(p - mpmath.exp(mpmath.mpf(at)) * q, mpmath.mpf(0))
    lost = mpmath.fprod(1 - mpmath.mpf(delta) for delta in deltas)
    return 1 - (1 - total / norm) * lost


@pytest.mark.parametrize("at", ["0", "0.05", "0.3", "1.1", "2.2"])
def test_all_outcomes_enumerated(at: str) -> None:
    """Unequal epsilons and deltas: the truth lies in a narrow interval."""
    epsilons, deltas = ["0.1"] * 3 + ["0.25"] * 4 + ["0.9"], ["1e-6"] * 3 + ["1e-9"] * 4 + ["0"]
    boxes = zip(epsilons, deltas, strict=True)
    plan = hs.Plan([hs.Round(hs.ApproximateDP(float(epsilon), float(delta))) for epsilon, delta in boxes])
    with mpmath.workdps(40):
        truth = enumerated(epsilons, at, deltas)
        found = plan.delta(float(at), accountant="optimal")
        assert isinstance(found, hs.DeltaBound)
        assert found.lower <= truth <= found.upper
        assert found.relative_gap < 1e-10
        assert found.log_delta.lower <= mpmath.log(truth) <= found.log_delta.upper


@pytest.mark.parametrize(("epsilon", "delta", "k"), [("0.1", "1e-4", 10), ("0.5", "0", 7), ("1", "1e-3", 30)])
def test_the_published_formula(epsilon: str, delta: str, k: int) -> None:
    """Kairouz, Oh, Viswanath 2015, Theorem 3.3: at ``(k - 2i) epsilon``, ``delta_i`` as a sum over binomials."""
    plan = hs.Plan([hs.Round(hs.ApproximateDP(float(epsilon), float(delta)), count=k)])
    with mpmath.workdps(40):
        e = mpmath.mpf(epsilon)
        for i in range(k // 2 + 1):
            terms = (
                mpmath.binomial(k, m) * (mpmath.exp((k - m) * e) - mpmath.exp((k - 2 * i + m) * e)) for m in range(i)
            )
            inner = mpmath.fsum(terms) / (1 + mpmath.exp(e)) ** k
            truth = 1 - (1 - mpmath.mpf(delta)) ** k * (1 - inner)
            found = plan.delta((k - 2 * i) * float(epsilon), accountant="optimal")
            assert isinstance(found, hs.DeltaBound)
            assert found.lower <= truth * (1 + mpmath.mpf(10) ** -12) + mpmath.mpf(10) ** -17
            assert found.upper >= truth * (1 - mpmath.mpf(10) ** -12) - mpmath.mpf(10) ** -17


@pytest.mark.parametrize("plan", [responses((0.2, 40)), responses((0.01, 100_000)), responses((0.2, 30), (0.05, 900))])
def test_epsilon_is_certified_and_agrees_with_the_engines(plan: hs.Plan) -> None:
    for delta in (0.5, 1e-5, 1e-30):
        found, other = plan.epsilon(delta, accountant="optimal"), plan.epsilon(delta)
        assert isinstance(found, hs.Bound)
        assert found.guarantee == "certified"
        assert found.relative_gap < 1e-10
        assert found.lower <= other.upper
        assert found.upper >= other.lower


def test_masses_are_those_of_the_binomial_law() -> None:
    """To the error that is claimed, from end to end and with the tails cut off."""
    for epsilon, count in ((0.3, 50), (3.0, 200), (0.001, 10_000)):
        law = binomial_law(epsilon, count)
        odds = 1 / (1 + mpmath.exp(-mpmath.mpf(epsilon)))
        for place in np.linspace(0, len(law.loss) - 1, 7).astype(int):
            high = round((law.loss[place] / epsilon + count) / 2)
            truth = mpmath.binomial(count, high) * odds**high * (1 - odds) ** (count - high)
            assert abs(law.p[place] / truth - 1) <= law.error + 1e-13
    assert binomial_law(1000.0, 5).loss[-1] == 5000.0


def test_many_different_epsilons_are_rounded_to_a_grid_both_ways() -> None:
    """Up and down enclose the exact lattice, and the error is the one asked."""
    kinds = [(0.011, 9), (0.0234, 9), (0.107, 9)]
    exact = responses(*kinds).epsilon(1e-4, accountant="optimal")
    size = sum(epsilon * count for epsilon, count in kinds) * 1.1
    for error in (0.1, 0.01):
        step = rounding_step(kinds, error)
        low, high = (WorstCase([rounded_law(kinds, step, side)], size).epsilon(1e-4, 1e-4) for side in Side)
        assert low[0] <= exact.ends["lower"] <= exact.quoted <= high[1]
        assert high[1] - low[0] <= 2 * error


def test_a_grid_too_fine_is_refused_with_the_error_that_would_do() -> None:
    plan = responses(*((0.001 * k, 20) for k in range(1, 60)))
    with pytest.raises(hs.UnsupportedError, match="raise the option error to") as refused:
        plan.epsilon(1e-5, accountant="optimal")
    error = float(str(refused.value).split("error to at least ")[1].split()[0])
    boxes = [(0.001 * k, 20) for k in range(1, 60)]
    assert rounding_work(boxes, rounding_step(boxes, error)) <= MAX_WORK


def test_black_boxes_at_and_below_their_failure_probability() -> None:
    plan = hs.Plan([hs.Round(hs.ApproximateDP(0.1, 1e-6), count=10)])
    found = plan.epsilon(1e-7, accountant="optimal")
    assert found.ends["lower"] == math.inf
    assert found.reason is not None
    assert responses((0.1, 10)).epsilon(0.0, accountant="optimal").quoted == 1.0
    assert responses((0.1, 10)).delta(1.0, accountant="optimal").quoted == 0.0


def test_it_is_never_above_advanced_composition() -> None:
    """It is optimal among what is known by guarantees of the rounds; the split of delta is searched by both."""
    for plan in (hs.dp_sgd(2.0, 0.05, 50), hs.Plan([hs.Round(hs.Laplace(5.0), count=30)])):
        found = plan.epsilon(1e-5, accountant="optimal").quoted
        assert plan.epsilon(1e-5).upper <= found <= plan.epsilon(1e-5, accountant="advanced").quoted * (1 + 1e-6)


@pytest.mark.parametrize(("epsilon", "count"), [(0.05, 4000), (0.5, 2000), (1.9, 900), (2.1, 900), (40.0, 60)])
def test_sums_of_masses_beyond_a_double_are_those_of_many_digits(epsilon: float, count: int) -> None:
    """Losses up to 2,400: Q-masses are added up in blocks, relative to the first loss of each."""
    law = binomial_law(epsilon, count)
    found = _log_sums_above(np.log(law.p) - law.loss, law)
    with mpmath.workdps(40):
        total, truth = mpmath.mpf(0), []
        for loss, p in zip(law.loss[::-1].tolist(), law.p[::-1].tolist(), strict=True):
            total += mpmath.mpf(p) * mpmath.exp(-mpmath.mpf(loss))
            truth.append(mpmath.log(total))
        for value, exact in zip(found.tolist(), truth[::-1], strict=True):
            assert abs(value - exact) <= 4e-16 * (len(law.p) + 2 * abs(exact))


def test_rounds_that_cost_nothing_have_an_upper_bound_where_no_lower_end_follows() -> None:
    """The lower pairs of permute-and-flip are no black boxes, so the method bounds them only from above."""
    plan = hs.Plan([hs.Round(hs.PermuteAndFlip(0.0), count=100)])
    assert plan.epsilon(1e-6, accountant="optimal").quoted == 0.0
    assert plan.delta(0.0, accountant="optimal").quoted == 0.0
