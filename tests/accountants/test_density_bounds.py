"""Step functions above and below the density of a loss: every cell, the peak, and the published program's numbers."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest
from mpmath import mp, mpf

import hockeystick as hs
from hockeystick.accountants.shared.density_errors import between, peak
from hockeystick.accountants.shared.loss_grid import LossGrid
from hockeystick.pairs import GaussianPair, LaplacePair, PoissonAddPair, PoissonRemovePair
from hockeystick.values.errors import NotApplicableError, UnsupportedError
from hockeystick.values.side import Side


def density(noise: float, rate: float, loss: mpmath.mpf) -> mpmath.mpf:
    """The density at a loss above ``log(1 - q)``: that of the outcome over the slope of the loss."""
    sigma, q = mpf(noise), mpf(rate)
    if loss <= mp.log1p(-q):
        return mpf(0)
    x = sigma**2 * mp.log((mp.exp(loss) - 1 + q) / q) + mpf(1) / 2
    p = (1 - q) * mp.npdf(x, 0, sigma) + q * mp.npdf(x, 1, sigma)
    return p * sigma**2 * mp.exp(loss) / (mp.exp(loss) - 1 + q)


@pytest.mark.parametrize("noise", [0.7072, 0.8, 1.0, 3.0])
@pytest.mark.parametrize("rate", [1e-4, 4e-3, 0.3, 0.9])
@pytest.mark.parametrize("points", [300, 20_000])
def test_each_cell_lies_between(noise: float, rate: float, points: int) -> None:
    """The mass of every cell, and the density at places within it, next to the edge and the peak above all."""
    grid = LossGrid(3.0, points)
    pair = PoissonRemovePair(GaussianPair(1 / noise), rate)
    above, below = between(pair, grid, Side.ABOVE), between(pair, grid, Side.BELOW)
    highest = int(np.argmax(above.mass))
    chosen = {*range(min(8, len(above.mass) - 1)), *range(max(highest - 3, 0), highest + 4), len(above.mass) - 2}
    with mp.workdps(30):
        for at in sorted(place for place in chosen if place < len(below.mass)):
            first = round(float(above.losses[at]) / grid.step)
            low, high, after = (mpf(grid.step) * (first + j) for j in (-1, 0, 1))
            low = max(low, mp.log1p(-mpf(rate))) if at == 0 else low
            for share in (0, 0.1, 0.5, 0.9, 1):
                there = density(noise, rate, low + share * (high - low)) * (high - low)
                assert there <= mpf(float(above.mass[at])) * (1 + mpf(10) ** -12)  # places are off by roundings
                there = density(noise, rate, high + share * (after - high)) * (after - high)
                assert mpf(float(below.mass[at])) <= there * (1 + mpf(10) ** -12)


@pytest.mark.parametrize(("noise", "rate"), [(0.7072, 1e-8), (0.8, 4e-3), (2.0, 0.5), (30.0, 0.999)])
def test_the_density_at_the_peak_is_just_below_its_bound(noise: float, rate: float) -> None:
    before, after, bound = peak(noise, rate)
    with mp.workdps(40):

        def at(x: mpmath.mpf) -> mpmath.mpf:
            return density(noise, rate, mp.log1p(mpf(rate) * mp.expm1((x - mpf(1) / 2) / mpf(noise) ** 2)))

        most = max(at(mpf(before) + share * (mpf(after) - mpf(before)) / 20) for share in range(21))
        assert at(mpf(before)) < most > at(mpf(after))
        assert most <= mpf(bound) <= most * (1 + mpf(10) ** -7)


def test_the_mass_above_the_window_is_at_infinity() -> None:
    noise, rate, grid = 1.0, 0.1, LossGrid(0.5, 1000)
    law = between(PoissonRemovePair(GaussianPair(1 / noise), rate), grid, Side.ABOVE)
    last = mpf(float(law.losses[-1]))
    x = mpf(noise) ** 2 * mp.log((mp.exp(last) - 1 + mpf(rate)) / mpf(rate)) + mpf(1) / 2
    beyond = (1 - mpf(rate)) * mp.ncdf(-x / noise) + mpf(rate) * mp.ncdf(-(x - 1) / noise)
    assert 1e-3 < beyond <= mpf(law.infinite) <= beyond * (1 + mpf(10) ** -6)


@pytest.mark.parametrize("rounds", [1, 40, 1000])
def test_the_truth_lies_between(rounds: int) -> None:
    plan = hs.Plan(hs.dp_sgd(0.8, 4e-3, rounds).rounds, adjacency="remove")
    for epsilon in (0.1, 1.5):
        truth = plan.delta(epsilon)
        found = plan.delta(epsilon, accountant="fourier", rounding=2, points=200_000, length=6.0)
        assert isinstance(found, hs.DeltaBound)
        assert found.lower <= truth.upper
        assert truth.lower <= found.upper


@pytest.mark.parametrize(
    ("noise", "rate", "rounds", "points", "length", "epsilon", "lower", "upper"),
    [
        (0.8, 4e-3, 100, 10**6, 7.47, 1.5, 4.208514e-8, 1.276271e-7),
        (0.8, 4e-3, 1000, 10**6, 7.47, 1.5, 9.440862e-9, 6.771756e-4),
        (1.0, 0.01, 50, 10**5, 10.0, 1.0, 7.218147e-8, 5.817669e-7),
    ],
)
def test_the_published_program_has_these_bounds(
    noise: float, rate: float, rounds: int, points: int, length: float, epsilon: float, lower: float, upper: float
) -> None:
    """fourier-accountant 0.12.11, `experimental/subsampled_gaussian_bounds.py`, with the peak of the density handed in.

    Its steps begin elsewhere by a part of a cell, which k rounds take to some thousandths.
    """
    plan = hs.Plan(hs.dp_sgd(noise, rate, rounds).rounds, adjacency="remove")
    found = plan.delta(epsilon, accountant="fourier", rounding=2, points=points, length=length)
    assert isinstance(found, hs.DeltaBound)
    assert found.lower == pytest.approx(lower, rel=0.01)
    assert found.upper == pytest.approx(upper, rel=0.01)


@pytest.mark.parametrize(
    "pair",
    [
        PoissonRemovePair(GaussianPair(1 / 0.7), 0.01),
        PoissonAddPair(GaussianPair(1.0), 0.01),
        PoissonRemovePair(LaplacePair(1.0, 1.0), 0.01),
        GaussianPair(1.0),
    ],
)
def test_other_rounds_are_refused(pair: GaussianPair) -> None:
    with pytest.raises(NotApplicableError, match="rounding=1"):
        between(pair, LossGrid(5.0, 1000), Side.ABOVE)


def test_a_window_that_ends_above_the_least_loss_is_refused() -> None:
    with pytest.raises(NotApplicableError, match="set length above"):
        between(PoissonRemovePair(GaussianPair(1.0), 0.99), LossGrid(2.0, 1000), Side.ABOVE)


def test_adding_a_record_is_refused_with_the_remedy() -> None:
    with pytest.raises(UnsupportedError, match="adjacency 'remove'"):
        hs.dp_sgd(1.0, 0.01, 100).epsilon(1e-5, accountant="fourier", rounding=2)


def test_bounds_of_more_rounds_grow_with_the_rounds_and_the_mesh() -> None:
    """The log of their quotient is about ``2 k h sup omega``."""
    noise, rate, rounds, points, length = 1.0, 0.05, 400, 1 << 18, 8.0
    plan = hs.Plan(hs.dp_sgd(noise, rate, rounds).rounds, adjacency="remove")
    found = plan.delta(1.0, accountant="fourier", rounding=2, points=points, length=length)
    assert isinstance(found, hs.DeltaBound)
    law = 2 * rounds * (2 * length / points) * peak(noise, rate)[2]
    assert 0.5 * law <= math.log(found.upper / found.lower) <= 2 * law
