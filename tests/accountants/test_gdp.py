"""Gaussian differential privacy: the enclosed curve against many digits, and the central limit where it is wrong."""

from __future__ import annotations

import math

import mpmath
import pytest

import hockeystick as hs
from hockeystick.pairs.gaussian_curve import epsilon_ends, log_delta_ends

EPSILONS = (0.0, 1e-6, 0.01, 0.5, 3.0, 20.0, 100.0)


def true_log_delta(epsilon: float, mu: float) -> mpmath.mpf:
    """The closed form, with more digits than it cancels."""
    with mpmath.workdps(100):
        e, m = mpmath.mpf(epsilon), mpmath.mpf(mu)
        return +mpmath.log(mpmath.ncdf(-e / m + m / 2) - mpmath.exp(e) * mpmath.ncdf(-e / m - m / 2))


@pytest.mark.parametrize("mu", [1e-9, 1e-3, 0.1, 1.0, 3.0, 7.99, 8.01, 20.0, 300.0])
def test_the_curve_is_enclosed(mu: float) -> None:
    """Down to delta e^-5000, and to a relative width near that of the inputs' rounding."""
    for epsilon in EPSILONS:
        if epsilon / mu > 100:
            continue
        low, high = log_delta_ends(epsilon, mu)
        assert low <= true_log_delta(epsilon, mu) <= high
        assert high - low < 1e-12 * (1 + (epsilon / mu) ** 2 + mu)


@pytest.mark.parametrize("mu", [81.0, 1e6, 1e8])
def test_a_mean_that_leaves_no_digits_to_its_deviations(mu: float) -> None:
    """delta is 1 up to ``mu^2/2 - 40 mu``, also where a unit is below a rounding of the mean (of mu 1e8, say)."""
    low, high = log_delta_ends(0.0, mu)
    assert -1e-299 < low < high == 0.0
    low, high = log_delta_ends(0.5 * mu * mu, mu)
    assert low <= true_log_delta(0.5 * mu * mu, mu) <= high
    low, high = epsilon_ends((math.log(1e-6), math.log(1e-6)), mu)
    assert true_log_delta(high, mu) <= math.log(1e-6) <= true_log_delta(low, mu)
    assert high <= 0.5 * mu * mu * (1 + 1e-12) + 5 * mu


def test_epsilon_is_the_dual_bracketed_outward() -> None:
    for mu in (0.01, 1.0, 12.0):
        for log_delta in (-1.0, -10.0, -1000.0):
            low, high = epsilon_ends((log_delta, log_delta), mu)
            assert low <= high <= low * (1 + 1e-10)
            if high > 0:
                assert log_delta_ends(high, mu)[1] <= log_delta
                assert log_delta_ends(low, mu)[0] >= log_delta or low == 0


def test_gaussian_rounds_are_one_experiment_and_certified() -> None:
    """mu^2 adds up; the interval agrees with that of the library's own engine."""
    plan = hs.Plan([hs.Round(hs.Gaussian(4.0), count=30), hs.Round(hs.Gaussian(2.0), count=5)])
    single = hs.Plan([hs.Round(hs.Gaussian(1 / math.sqrt(30 / 16 + 5 / 4)))])
    found, other, truth = plan.epsilon(1e-6, accountant="gdp"), single.epsilon(1e-6), plan.epsilon(1e-6)
    assert isinstance(found, hs.Bound)
    assert found.guarantee == "certified"
    assert found.relative_gap < 1e-12
    assert found.lower <= min(truth.upper, other.upper)
    assert found.upper >= max(truth.lower, other.lower)


def test_deltas_below_the_range_of_a_double_have_logarithms() -> None:
    plan = hs.Plan([hs.Round(hs.Gaussian(1.0))])
    found = plan.delta(60.0, accountant="gdp")
    assert isinstance(found, hs.DeltaBound)
    assert found.upper == 5e-324
    assert found.log_delta.lower <= true_log_delta(60.0, 1.0) <= found.log_delta.upper
    assert plan.epsilon(0.0, accountant="gdp").reason is not None


@pytest.mark.parametrize(("noise", "rate", "steps"), [(1.0, 0.01, 1000), (1.3, 256 / 60_000, 14_070)])
def test_the_limit_of_dp_sgd_is_the_published_formula(noise: float, rate: float, steps: int) -> None:
    """``mu = q sqrt(T (e^(1/s^2) - 1))`` (Bu, Dong, Long, Su 2020)."""
    mu = rate * math.sqrt(steps * math.expm1(1 / noise**2))
    found = hs.dp_sgd(noise, rate, steps).epsilon(1e-5, accountant="gdp")
    assert isinstance(found, hs.Estimate)
    log_delta = math.log(1e-5)
    assert found.value == pytest.approx(epsilon_ends((log_delta, log_delta), mu)[1], rel=1e-10)


def test_it_reproduces_the_published_mnist_run() -> None:
    """Bu, Dong, Long, Su 2020, Table: noise 1.3, batch 256 of 60,000, 15 epochs, mu 0.23, epsilon 0.83 at 1e-5."""
    plan = hs.dp_sgd(1.3, batch_size=256, dataset_size=60_000, epochs=15)
    assert plan.epsilon(1e-5, accountant="gdp").quoted == pytest.approx(0.83, abs=0.015)


@pytest.mark.parametrize(("noise", "rate", "steps", "delta"), [(0.8, 0.004, 1000, 1e-6), (1.0, 0.01, 1000, 1e-6)])
def test_the_limit_under_reports(noise: float, rate: float, steps: int, delta: float) -> None:
    """Gopi, Lee, Wutschitz 2021, Figure 1: below the certified lower end, and the result says what it is."""
    plan = hs.dp_sgd(noise, rate, steps)
    found = plan.epsilon(delta, accountant="gdp")
    assert found.quoted < 0.9 * plan.epsilon(delta).lower
    assert found.reason is not None
    assert "Berry-Esseen" in found.reason


def test_the_limit_comes_near_as_rounds_grow() -> None:
    """With ``q sqrt(T)`` held, the error falls."""
    errors = []
    for steps in (100, 1600, 25_600):
        plan = hs.dp_sgd(1.0, 1 / math.sqrt(steps), steps)
        errors.append(abs(plan.epsilon(1e-5, accountant="gdp").quoted / plan.epsilon(1e-5).upper - 1))
    assert errors == sorted(errors, reverse=True)
    assert errors[-1] < 0.02


def test_unsampled_rounds_tend_to_their_moments() -> None:
    """Laplace noise, many small rounds: ``mu^2`` near ``k theta^2``; and a black box's failure counts in full."""
    plan = hs.Plan([hs.Round(hs.Laplace(100.0), count=10_000)])
    assert plan.epsilon(1e-5, accountant="gdp").quoted == pytest.approx(plan.epsilon(1e-5).upper, rel=2e-3)
    boxes = hs.Plan([hs.Round(hs.ApproximateDP(0.1, 1e-8), count=20)])
    assert boxes.delta(40.0, accountant="gdp").quoted == pytest.approx(2e-7, rel=1e-6)
    assert math.isinf(boxes.epsilon(1e-7, accountant="gdp").quoted)


def test_the_normal_law_of_the_losses_own_moments() -> None:
    """Against quadrature over that law; and it is another estimate than the Gaussian experiment's."""
    plan = hs.dp_sgd(1.0, 0.01, 1000, adjacency="remove")
    rate, rounds = mpmath.mpf("0.01"), 1000

    def expected(power: int, about: mpmath.mpf) -> mpmath.mpf:
        def term(x: mpmath.mpf) -> mpmath.mpf:
            ratio = 1 - rate + rate * mpmath.exp(x - mpmath.mpf(1) / 2)
            return mpmath.npdf(x) * ratio * (mpmath.log(ratio) - about) ** power

        return mpmath.quad(term, [-12, -4, 0, 4, 8, 14])

    own = expected(1, mpmath.mpf(0))
    mean, variance = rounds * own, rounds * expected(2, own)

    def delta(epsilon: float) -> mpmath.mpf:
        return mpmath.quad(
            lambda s: (1 - mpmath.exp(epsilon - s)) * mpmath.npdf(s, mean, mpmath.sqrt(variance)),
            [epsilon, epsilon + 0.3, epsilon + 1, epsilon + 5],
        )

    for epsilon in (0.0, 0.5, 1.0):
        found = plan.delta(epsilon, accountant="gdp", own_moments=1)
        assert found.guarantee == "estimate"
        assert found.quoted == pytest.approx(float(delta(epsilon)), rel=1e-7)
    at = plan.epsilon(1e-3, accountant="gdp", own_moments=1).quoted
    assert float(delta(at)) == pytest.approx(1e-3, rel=1e-7)
    assert at != pytest.approx(plan.epsilon(1e-3, accountant="gdp").quoted, rel=1e-3)
    assert plan.epsilon(0.9, accountant="gdp", own_moments=1).quoted == 0
    assert math.isinf(
        hs.Plan([hs.Round(hs.ApproximateDP(0.1, 1e-3))]).epsilon(1e-4, accountant="gdp", own_moments=1).quoted
    )
    exact = hs.Plan([hs.Round(hs.Gaussian(2.0), count=3)])
    assert exact.epsilon(1e-5, accountant="gdp", own_moments=1) == exact.epsilon(1e-5, accountant="gdp")
