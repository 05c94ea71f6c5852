"""Where an answer once was lost: atoms far up, contours that are too dear, sums beyond the range of a double."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

import hockeystick as hs
from hockeystick.engines.grid.cells import Reach, reached
from hockeystick.engines.guide import Guide
from hockeystick.numerics.arrays import BLOCK, by_blocks
from hockeystick.pairs import Composition
from hockeystick.pairs.product import ProductPair, product
from hockeystick.values.adjacency import Direction
from hockeystick.values.errors import NotApplicableError


def _block(rounds: int) -> ProductPair:
    """So many rounds, with three losses each, one of them far above the others and rare."""
    p = Fraction(1, 10**4), Fraction(4999, 10**4), Fraction(1, 2)
    q = Fraction(1, 10**9), Fraction(499_999_999, 10**9), Fraction(1, 2)
    pair = hs.Pmf(p, q).pair(Direction.REMOVE)
    return product(((pair, rounds),))


@pytest.mark.parametrize("log_floor", [-20.0, -60.0, -200.0])
def test_atoms_that_are_left_out_weigh_no_more_than_is_charged(log_floor: float) -> None:
    """By the exact sum of what is missing, and no atom more might have been left out."""
    pair = _block(30)
    held = reached(pair, Reach(log_floor, -math.inf))
    left_out = sorted(set(pair.atoms.loss.tolist()) - set(held.loss.tolist()))
    assert left_out
    assert min(left_out) > held.loss.max()
    mass = dict(zip(pair.atoms.loss.tolist(), pair.atoms.log_p.tolist(), strict=True))
    total = sum(Fraction(math.exp(mass[loss] - log_floor)) for loss in left_out)
    assert total <= 1
    assert total + Fraction(math.exp(mass[float(held.loss.max())] - log_floor)) > Fraction(999, 1000)


def test_isolated_atoms_far_up_do_not_widen_the_grid() -> None:
    """Sums of many rounds have atoms hundreds of units up that weigh e^-5000, and a grid that holds them is coarse."""
    rounds = hs.Round(hs.ApproximateDP(1.1971073506258573e-06, 1.17e-09), hs.Poisson(0.682), 1020)
    found = hs.Plan([rounds], adjacency="add").delta(0.0128, accountant="grid")
    assert found.upper - found.lower < 1e-3 * found.upper


@pytest.mark.parametrize(
    ("noise", "rate", "count", "epsilon", "gap", "at_most"),
    [
        (1.33, 3.32e-05, 22, 0.00613, None, 5.57e-15),
        (0.336, 0.000284, 12, 0.017, 9.968592154017785e-08, 0.00138724),
    ],
)
def test_a_contour_that_is_too_dear_leaves_work_for_the_grid(
    noise: float, rate: float, count: int, epsilon: float, gap: float | None, at_most: float
) -> None:
    """Few rounds at a small rate: the upper ends are those of the grid before work was counted."""
    plan = hs.dp_sgd(noise, sample_rate=rate, steps=count)
    found = plan.delta(epsilon, gap=gap)
    assert found.upper <= at_most


def test_a_round_without_a_finite_loss_has_no_guide() -> None:
    """All its mass is at infinity: groups of such records tell everything."""
    plan = hs.Plan([hs.Round(hs.ApproximateDP(7.46, 0.9999999999999999), hs.Poisson(0.9), 1000)])
    assert plan.profile().group(793).epsilon(1e-9).upper == math.inf
    pair = hs.Pmf((Fraction(1), Fraction(0)), (Fraction(0), Fraction(1))).pair(Direction.REMOVE)
    with pytest.raises(NotApplicableError, match="no finite loss"):
        Guide(Composition(((pair, 1),)), -50.0)


def test_blocks_are_the_whole() -> None:
    """An elementwise function gives the same numbers, whatever the blocks."""
    x = np.linspace(-30.0, 30.0, 3 * BLOCK + 17)
    assert np.array_equal(by_blocks(np.exp, x), np.exp(x))


@pytest.mark.parametrize("noise", [1e4, 1e6])
def test_random_allocation_with_much_noise_takes_little_memory(noise: float) -> None:
    """The places of a lattice of v and x would be millions of millions: steps of v are large beside mu."""
    plan = hs.Plan([hs.Round(hs.Gaussian(noise), hs.RandomAllocation(steps_per_epoch=1000), 3)])
    unsampled = hs.Plan([hs.Round(hs.Gaussian(noise), count=3)])
    # by moments, which are a little above what is known of a Gaussian alone
    assert 0 < plan.epsilon(1e-12).upper <= 1.1 * unsampled.epsilon(1e-12).upper + 1e-13
