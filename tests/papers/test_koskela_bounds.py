"""Bounds of the error analysis of Koskela, Jalko, Honkela 2020 [KJH20]: where they hold, and how loose they are."""

from __future__ import annotations

import math

import numpy as np
import pytest

from hockeystick.papers import koskela_bounds as bounds


def log_density(noise: float, rate: float, above: np.ndarray) -> np.ndarray:
    """log of the density of the loss, so much above its lower edge."""
    u = np.expm1(above) * (1 - rate) / rate
    x = noise**2 * np.log(u) + 0.5
    mixture = np.logaddexp(math.log(rate) - (x - 1) ** 2 / (2 * noise**2), math.log1p(-rate) - x**2 / (2 * noise**2))
    step = math.log(noise**2) + above + math.log1p(-rate) - math.log(rate) - np.log(u)
    return np.asarray(mixture - 0.5 * math.log(2 * math.pi * noise**2) + step)


@pytest.mark.parametrize("noise", [0.5, 1.0, 2.0, 3.0])
@pytest.mark.parametrize("rate", [1e-4, 0.01, 0.3])
def test_lemmas_12_and_13(noise: float, rate: float) -> None:
    above = np.geomspace(1e-13, 60.0, 100_001)
    density = log_density(noise, rate, above)
    assert density.max() <= bounds.log_density_bound(noise, rate)
    losses = above + math.log1p(-rate)
    for at in np.flatnonzero(losses >= 2)[::100]:
        if noise**2 * (losses[at] - math.log(2 * rate)) >= 0.5:
            assert density[at] <= bounds.log_tail_bound(noise, rate, float(losses[at])) + 1e-9


def test_lemma_13_has_a_domain() -> None:
    with pytest.raises(ValueError, match="losses of 2 or more"):
        bounds.log_tail_bound(1.0, 0.01, 1.9)
    with pytest.raises(ValueError, match="losses of 2 or more"):
        bounds.log_tail_bound(0.2, 0.45, 2.0)


def test_the_printed_bound_is_of_use_for_few_rounds_only() -> None:
    rounds = bounds.most_rounds(1.0, 0.01, 20.0, math.log(1e-6))
    assert bounds.log_truncation(1.0, 0.01, 20.0, rounds) <= math.log(1e-6)
    assert bounds.log_truncation(1.0, 0.01, 20.0, rounds + 1) > math.log(1e-6)
    assert bounds.most_rounds(1.0, 0.01, 2.0, -1e4) == 1
    more = bounds.log_truncation(1.0, 0.01, 20.0, 3) - bounds.log_truncation(1.0, 0.01, 20.0, 2)
    assert math.exp(more) == pytest.approx(2277, abs=1)
    assert bounds.log_periodisation(1.0, 0.01, 20.0, 10_000) > 30_000


def test_the_linear_bound_on_the_truncation_holds() -> None:
    """Densities on a grid, whose discrete convolutions have the same recursion: cut off at L and whole."""
    noise, rate, length, step = 0.8, 0.2, 3.0, 1 / 256
    low = math.log1p(-rate)
    above = step * (np.arange(round(9.0 / step)) + 0.5)
    whole = np.exp(log_density(noise, rate, above))
    whole /= whole.sum() * step
    cut = np.where(above + low <= length, whole, 0.0)
    exact, truncated = whole, whole
    for rounds in (2, 3, 4):
        exact, truncated = (np.convolve(one, part) * step for one, part in ((whole, exact), (cut, truncated)))
        error = np.abs(exact - truncated).max()
        assert 0 < error <= math.exp(bounds.log_truncation_linear(noise, rate, length, rounds))
        assert bounds.log_truncation_linear(noise, rate, length, rounds) <= bounds.log_truncation(
            noise, rate, length, rounds
        )
