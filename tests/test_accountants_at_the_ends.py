"""Accountants where doubles end, losses are tiny or nothing is lost: an answer that holds, or the reason for none."""

from __future__ import annotations

import math

import numpy as np
import pytest

import hockeystick as hs
from hockeystick.accountants.dots import knots_of, law_below
from hockeystick.bounds import Bound
from hockeystick.errors import NotApplicableError
from hockeystick.pairs.gaussian import GaussianPair
from hockeystick.pairs.gaussian_curve import log_delta_ends

WEAK = hs.Round(hs.Gaussian(1.46), hs.Poisson(1e-3), count=5)
SLIGHT = hs.Round(hs.RandomizedResponse(5e-7))


def held(found: object, truth: Bound) -> Bound:
    """A certified interval that has to meet that of the truth."""
    assert isinstance(found, Bound)
    assert found.lower <= truth.upper
    assert truth.lower <= found.upper
    return found


@pytest.mark.parametrize("delta", [1e-280, 1e-290])
def test_prv_at_the_smallest_deltas(delta: float) -> None:
    plan = hs.Plan([hs.Round(hs.Gaussian(1.0))])
    found = held(plan.epsilon(delta, accountant="prv"), plan.epsilon(delta))
    assert found.gap < 0.21


def test_prv_says_when_delta_is_too_small() -> None:
    with pytest.raises(NotApplicableError, match="larger delta"):
        hs.Plan([WEAK, SLIGHT]).epsilon(1e-300, accountant="prv")


def test_optimal_composition_at_the_smallest_deltas() -> None:
    plan = hs.Plan([WEAK, SLIGHT], adjacency="remove")
    found = plan.epsilon(1e-300, accountant="optimal")
    assert isinstance(found, hs.UpperBound)
    assert plan.epsilon(1e-300).lower <= found.upper


@pytest.mark.parametrize("tiny", [1.7e-12, 2e-8, 4e-6])
def test_atoms_nearer_than_the_lattice(tiny: float) -> None:
    """A pair of almost equal losses does not make the lattice fine."""
    plan = hs.Plan([hs.Round(hs.Gaussian(2.0), count=3), hs.Round(hs.RandomizedResponse(tiny), count=2)])
    found = held(plan.delta(1.0, accountant="connect-the-dots"), plan.delta(1.0, accountant="contour"))
    assert found.relative_gap < 1e-2


def test_no_loss_at_all_by_fourier_transform() -> None:
    plan = hs.Plan([hs.Round(hs.RandomizedResponse(0.0), hs.Poisson(0.1), count=5)])
    assert held(plan.epsilon(0.3, accountant="fourier"), plan.epsilon(0.3)).upper == 0


@pytest.mark.parametrize(
    ("plan", "delta"),
    [
        (hs.Plan([hs.Round(hs.ApproximateDP(2.5897, 0.0), count=1000)]), 2.75e-45),
        (hs.Plan([hs.Round(hs.Gaussian(21.6), hs.Poisson(0.0055), count=5)]), 4.15e-31),
        (hs.Plan([hs.Round(hs.Gaussian(40.6), hs.Poisson(8.8e-4), count=5)]), 1e-3),
    ],
)
def test_a_normal_law_beyond_its_range(plan: hs.Plan, delta: float) -> None:
    with pytest.raises(NotApplicableError, match="out of reach"):
        plan.epsilon(delta, accountant="saddle-point", order=0)


@pytest.mark.parametrize("delta", [1e-14, 1e-30, 1e-120])
@pytest.mark.parametrize(("accountant", "width"), [("prv", 0.21), ("evolving", 0.21), ("connect-the-dots", 1e-6)])
def test_small_deltas_have_both_ends(accountant: str, width: float, delta: float) -> None:
    """Epsilons far below the tilt's are drowned by what lies outside the window: the search does not end there."""
    plan = hs.Plan([hs.Round(hs.Gaussian(10.0), count=100)])
    assert held(plan.epsilon(delta, accountant=accountant), plan.epsilon(delta)).gap <= width


def test_masses_below_the_range_of_a_double_are_not_taken_for_none() -> None:
    """Q(L > eps) is subtracted: where it underflows, the lower law would have seventeen times the delta."""
    pair = GaussianPair(2.28)
    law = law_below(pair, knots_of(pair, 4e-4, -640.0))
    for epsilon in (70.0, 80.0, 83.0, 84.0, 84.1):
        beyond = np.maximum(law.losses - epsilon, 0.0)
        delta = float((law.mass * -np.expm1(-beyond)).sum()) + law.infinite
        assert delta <= math.exp(log_delta_ends(epsilon, pair.mu)[1])


def test_a_normal_law_below_the_range_of_a_double() -> None:
    """delta is 4.95e-700 there: positive, so its upper end is, too."""
    found = hs.dp_sgd(0.8, 1e-3, 100, adjacency="add").delta(0.1, accountant="saddle-point", order=0)
    assert isinstance(found, hs.Bound)
    assert found.lower == 0
    assert found.upper == 5e-324
