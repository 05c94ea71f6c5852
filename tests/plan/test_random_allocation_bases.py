"""Random allocation of mechanisms with bounded likelihood ratios: claims, widths, limits, files and other surfaces."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import pytest

import hockeystick as hs
from hockeystick.pairs.sides import Above, Between
from hockeystick.plan.mechanisms.base import Status
from oracle.epochs import delta, epoch_law, product, ratio_law

REMOVE, ADD = hs.Direction.REMOVE, hs.Direction.ADD


def plan(mechanism: Any, count: int = 1, adjacency: str = "add-or-remove", **keys: Any) -> hs.Plan:
    return hs.Plan([hs.Round(mechanism, hs.RandomAllocation(**keys), count)], adjacency)


def test_the_claim_is_a_bracket_that_says_whose_width_it_has() -> None:
    scheme = hs.RandomAllocation(100)
    assert scheme.claim(hs.Laplace, REMOVE).status is Status.BRACKET
    assert isinstance(scheme.known(hs.Laplace(1.0), ADD), Between)
    found = plan(hs.Laplace(1.0), 10, steps_per_epoch=100).epsilon(1e-6)
    assert found.guarantee == "certified"
    assert found.reason is not None
    assert found.reason.startswith("the width is that of a lattice")


@pytest.mark.parametrize(
    ("mechanism", "steps", "epochs"),
    [
        (hs.Laplace(1.0), 8, 1),
        (hs.Laplace(1.0), 100, 10),
        (hs.Laplace(10.0), 1000, 100),
        (hs.Laplace(0.5), 1000, 10),
        (hs.RandomizedResponse(1.0), 100, 10),
        (hs.RandomizedResponse(1.0, categories=5), 100, 10),
    ],
)
@pytest.mark.share(5)
def test_answers_are_narrow(mechanism: Any, steps: int, epochs: int) -> None:
    found = plan(mechanism, epochs, steps_per_epoch=steps).epsilon(1e-6)
    assert 0 < found.lower < found.upper < found.lower * (1 + WIDEST)


WIDEST = 1e-3
"""Relative width of an answer that is asked for by default."""


@pytest.mark.parametrize("adjacency", ["remove", "add"])
def test_exact_fractions_of_several_epochs(adjacency: str) -> None:
    p, q = [Fraction(2, 3), Fraction(1, 3)], [Fraction(1, 3), Fraction(2, 3)]
    mechanism = hs.Pmf(tuple(p), tuple(q))
    ratios = product(epoch_law(ratio_law(p, q)[0], [Fraction(1, 6)] * 6), 3)
    plans = plan(mechanism, 3, adjacency, steps_per_epoch=6)
    for epsilon in (0.0, 0.3, 0.9):
        truth = float(delta(ratios, Fraction(math.exp(epsilon)), adjacency == "add"))
        found = plans.delta(epsilon)
        assert found.lower <= truth * (1 + 1e-9)
        assert found.upper >= truth * (1 - 1e-9)
        assert found.upper - found.lower < 1e-4 * truth  # isolated sums, which the contour joins by a little noise


def test_one_step_an_epoch_is_no_sampling() -> None:
    for mechanism in (hs.Laplace(2.0), hs.RandomizedResponse(0.5), hs.PermuteAndFlip(0.5)):
        unsampled = hs.Plan([hs.Round(mechanism, count=4)]).epsilon(1e-6)
        assert plan(mechanism, 4, steps_per_epoch=1).epsilon(1e-6).ends == unsampled.ends


def test_more_steps_and_less_check_in_cost_less() -> None:
    values = [plan(hs.Laplace(1.0), 1, steps_per_epoch=steps).epsilon(1e-5).upper for steps in (2, 20)]
    assert values == sorted(values, reverse=True)
    assert values[0] < hs.Plan([hs.Round(hs.Laplace(1.0), count=1)]).epsilon(1e-5).lower
    rare, whole = (plan(hs.Laplace(1.0), 1, steps_per_epoch=20, check_in=p).epsilon(1e-5) for p in ("1/10", 1))
    assert rare.upper < whole.lower


def test_a_smaller_last_batch_and_an_epoch_that_is_broken_off() -> None:
    even, uneven, more, broken = (
        plan(hs.Laplace(1.0), 1, "remove", **keys).epsilon(1e-5)
        for keys in (
            {"batch_size": 10, "dataset_size": 100},
            {"batch_size": 10, "dataset_size": 105},
            {"steps_per_epoch": 11},
            {"steps_per_epoch": 11, "steps_taken": 4},
        )
    )
    assert broken.upper < more.lower < more.upper < uneven.lower < uneven.upper < even.lower


def test_the_limit_of_many_steps_is_gaussian() -> None:
    """mu^2 = epochs (E_Q W^2 - 1) / steps, for randomised response (e^eps - 1)^2 / e^eps."""
    epsilon, steps, epochs = 1.0, 4000, 100
    mu = math.sqrt(epochs / steps * (math.exp(epsilon) - 1) ** 2 / math.exp(epsilon))
    found = plan(hs.RandomizedResponse(epsilon), epochs, steps_per_epoch=steps).epsilon(1e-5)
    limit = hs.Plan([hs.Round(hs.Gaussian(1 / mu))]).epsilon(1e-5)
    assert found.upper == pytest.approx(limit.upper, rel=0.02)


def test_what_is_known_from_above_alone_stays_so() -> None:
    missing = hs.Pmf((Fraction(3, 5), Fraction(2, 5) - Fraction(1, 10**13)), (Fraction(2, 5), Fraction(3, 5)))
    for mechanism in (hs.PermuteAndFlip(0.5), missing):
        known = hs.Round(mechanism, hs.RandomAllocation(10)).known(REMOVE)
        assert isinstance(known, Above)
    assert plan(missing, steps_per_epoch=10).epsilon(1e-5).upper > 0


def test_infinite_losses_are_kept() -> None:
    """Of (0.5, 1e-4) a record shows itself in one of ten steps: once an epoch."""
    found = plan(hs.ApproximateDP(0.5, 1e-4), 3, "remove", steps_per_epoch=10).delta(5.0)
    assert found.lower <= 1 - (1 - 1e-4) ** 3 <= found.upper
    assert found.upper == pytest.approx(3e-4, rel=1e-3)


def test_zero_out_is_adding_and_removing() -> None:
    ends = [plan(hs.Laplace(1.0), 1, adjacency, steps_per_epoch=20).epsilon(1e-5).ends for adjacency in
            ("add-or-remove", "zero-out")]  # fmt: skip
    assert ends[0] == ends[1]
    with pytest.raises(hs.UnsupportedError, match="still answers"):
        plan(hs.RandomizedResponse(1.0), 5, "zero-out", steps_per_epoch=20).epsilon(1e-5)


def test_with_other_rounds_by_moments_and_by_other_engines() -> None:
    one = hs.Round(hs.Laplace(1.0), hs.RandomAllocation(50), 4)
    both = hs.Plan([one, hs.Round(hs.Gaussian(3.0))])
    found = both.epsilon(1e-6)
    assert hs.Plan([hs.Round(hs.Gaussian(3.0))]).epsilon(1e-6).upper < found.lower < found.upper < found.lower * 1.01
    alone = hs.Plan([one]).epsilon(1e-6)
    for accountant in ("grid", "rdp"):
        assert hs.Plan([one]).epsilon(1e-6, accountant=accountant).ends["upper"] >= alone.lower


def test_plan_files_and_calibration() -> None:
    made = plan(hs.Laplace(1.5), 10, steps_per_epoch=50)
    assert hs.Plan.from_dict(made.to_dict()) == made


def test_an_epoch_of_which_no_finite_loss_is_known_from_below_is_answered() -> None:
    """Boxes of epsilon 9e-6 in one of half a million steps: from below there is nothing left but their failing."""
    plan = hs.Plan([hs.Round(hs.ApproximateDP(9e-6, 1e-4), hs.RandomAllocation(steps_per_epoch=537_634))], "remove")
    found = plan.delta(0.1)
    assert found.lower == pytest.approx(1e-4, rel=1e-6)
    assert found.lower <= 1e-4 <= found.upper
