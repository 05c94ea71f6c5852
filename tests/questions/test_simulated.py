"""Confidence intervals from samples of a privacy loss: their ends against exact tails, and how often they hold."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest

import hockeystick as hs
from hockeystick.questions.simulated import _divergence, _lower, _upper

MU = 1.0
PLAN = hs.Plan([hs.Round(hs.Gaussian(1 / MU))])


def gaussian(seed: int, n: int) -> np.ndarray:
    """Losses of Gaussian noise, which are normal with mean mu^2 / 2 and variance mu^2."""
    return np.random.default_rng(seed).normal(MU**2 / 2, MU, n)


def test_the_divergence_of_two_coins() -> None:
    with mpmath.workdps(50):
        for mean, chance in [(0.0, 0.3), (1.0, 0.3), (1e-9, 1e-5), (0.5, 0.5 + 1e-6), (1e-5, 1e-300), (0.999, 0.2)]:
            m, c = mpmath.mpf(mean), mpmath.mpf(chance)
            true = (m * mpmath.log(m / c) if m else 0) + ((1 - m) * mpmath.log((1 - m) / (1 - c)) if m < 1 else 0)
            found = _divergence(mean, chance)
            assert found <= true
            assert found == pytest.approx(float(true), rel=1e-8)


def test_the_ends_without_a_single_loss_in_reach() -> None:
    """Of n numbers that are all 0 the upper end is ``1 - alpha^(1/n)``: exactly that chance gives them."""
    divergence = math.log(200) / 1000
    assert _upper(0.0, divergence) == pytest.approx(-math.expm1(-divergence), rel=1e-9)
    assert _lower(0.0, divergence) == 0.0
    assert _upper(1.0, divergence) == 1.0
    assert _lower(1.0, divergence) == pytest.approx(math.exp(-divergence), rel=1e-9)


def test_the_ends_are_wrong_no_more_often_than_they_say() -> None:
    """Of 400 simulations each end of confidence 0.8 may be wrong in 40, and is less often: the bound is not tight."""
    epsilon, delta = PLAN.epsilon(1e-2), PLAN.delta(1.5)
    wrong = np.zeros(4)
    for seed in range(400):
        loss = hs.SampledLoss(gaussian(seed, 2000))
        at, by = loss.epsilon(1e-2, confidence=0.8), loss.delta(1.5, confidence=0.8)
        wrong += [at.lower > epsilon.upper, at.upper < epsilon.lower, by.lower > delta.upper, by.upper < delta.lower]
    assert (wrong <= 40).all()
    coin = math.sqrt(by.estimate * (1 - by.estimate) * math.log(10) / 1000)  # with the variance of a coin
    assert by.upper - by.lower < 2.1 * coin


def test_of_coins_the_ends_are_wrong_about_as_often_as_they_say() -> None:
    """A loss that is infinite or none is a coin, for which Hoeffding's bound is near the tail itself."""
    rng, chance, n = np.random.default_rng(7), 0.05, 1000
    wrong = np.zeros(2)
    for _ in range(2000):
        found = hs.SampledLoss(np.where(rng.random(n) < chance, np.inf, 0.0)).delta(1.0, confidence=0.9)
        wrong += [found.lower > chance, found.upper < chance]
    assert (wrong <= 100).all()
    assert (wrong >= 10).all()


def test_epsilon_and_delta_are_one_another_s_inverse() -> None:
    loss = hs.SampledLoss(gaussian(1, 100_000))
    found = loss.epsilon(1e-2)
    assert loss.delta(found.upper).upper == pytest.approx(1e-2, rel=1e-6)
    assert loss.delta(found.lower).lower == pytest.approx(1e-2, rel=1e-6)
    assert loss.delta(found.upper).upper <= 1e-2 <= loss.delta(found.lower).lower * (1 + 1e-6)
    assert found.lower < PLAN.epsilon(1e-2).lower < found.upper


def test_the_truth_of_many_sampled_steps() -> None:
    """Two hundred steps of DP-SGD, a record being removed: losses are drawn under the mixture and added up."""
    rng, rate, noise, steps, n = np.random.default_rng(5), 0.05, 0.8, 200, 20_000
    total = np.zeros(n)
    for _ in range(steps):
        x = noise * rng.normal(size=n) + (rng.random(n) < rate)
        total += np.log1p(rate * np.expm1((2 * x - 1) / (2 * noise**2)))
    found = hs.SampledLoss(total).epsilon(1e-2)
    truth = hs.dp_sgd(noise, rate, steps, adjacency="remove").epsilon(1e-2)
    assert found.lower < truth.lower
    assert truth.upper < found.upper
    assert found.upper - found.lower < 0.15 * truth.upper


def test_of_two_directions_the_worse_one_counts_with_half_of_the_chance_each() -> None:
    small, large = gaussian(1, 5000) / 2, gaussian(2, 5000)
    both, one = hs.SampledLoss(small, large).delta(1.0), hs.SampledLoss(large).delta(1.0)
    assert both.estimate == one.estimate
    assert both.upper > one.upper
    assert both.upper == pytest.approx(hs.SampledLoss(large).delta(1.0, confidence=0.995).upper, rel=1e-9)


def test_infinite_losses_and_too_few_samples() -> None:
    lost = np.concatenate([np.full(100, np.inf), np.zeros(9900)])
    assert hs.SampledLoss(lost).delta(50.0).estimate == 0.01
    found = hs.SampledLoss(lost).epsilon(1e-3)
    assert found.lower == found.upper == math.inf
    assert found.reason is not None
    assert "infinite or extreme losses" in found.reason
    few = hs.SampledLoss(np.zeros(100)).epsilon(1e-3)
    assert few.lower == few.estimate == 0.0
    assert few.upper == math.inf
    assert few.reason is not None
    assert few.reason.startswith("fewer than 5,296 samples say nothing")
    assert hs.SampledLoss(np.zeros(5296)).epsilon(1e-3).upper == 0.0
    assert hs.SampledLoss([-math.inf, 1.0]).delta(0.0).estimate == pytest.approx(-math.expm1(-1.0) / 2)


def test_it_is_never_called_certified() -> None:
    found = hs.SampledLoss(gaussian(1, 1000)).epsilon(0.1)
    assert str(found).endswith("(with confidence 0.99)")
    assert "certified" not in str(found) + found._repr_html_()
    with pytest.raises(TypeError, match=r"take \.upper, and say its \.confidence"):
        float(found)  # type: ignore[arg-type]  # which readers of types refuse, too


@pytest.mark.parametrize("given", [[], [[1.0]], [math.nan], ["a"], None, object(), 1.0])
def test_what_is_no_sample_is_refused_in_one_line(given: object) -> None:
    with pytest.raises(hs.InvalidInputError, match="losses must be an array of one dimension"):
        hs.SampledLoss(given)  # type: ignore[arg-type]
    with pytest.raises(hs.InvalidInputError, match="an array for each direction; received none"):
        hs.SampledLoss()


def test_numbers_beyond_the_range_of_a_double_are_refused() -> None:
    with pytest.raises(hs.InvalidInputError, match="losses must be an array"):
        hs.SampledLoss([-(10**580), 1])
