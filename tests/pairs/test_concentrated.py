"""Concentrated privacy: rho of every pair against its moments, and published conversions."""

from __future__ import annotations

import math

import numpy as np
import pytest

import hockeystick as hs
from hockeystick.accountants.zcdp import UNAMPLIFIED
from hockeystick.pairs import (
    BlackBoxPair,
    DominatingPair,
    GaussianPair,
    LaplacePair,
    PoissonAddPair,
    PoissonRemovePair,
    PoissonSubstitutionPair,
)

PAIRS: list[DominatingPair] = [
    GaussianPair(0.7),
    LaplacePair(1.0, 100.0),
    LaplacePair(1.0, 1.0),
    LaplacePair(1.0, 0.1),
    BlackBoxPair(0.01),
    BlackBoxPair(3.0),
    BlackBoxPair(1.0, 1e-3),
    PoissonRemovePair(GaussianPair(1.0), 0.1),
    PoissonAddPair(GaussianPair(1.0), 0.1),
    PoissonRemovePair(LaplacePair(1.0, 1.0), 0.3),
    PoissonAddPair(LaplacePair(1.0, 1.0), 0.3),
    PoissonRemovePair(BlackBoxPair(1.0, 1e-3), 0.3),
    PoissonAddPair(BlackBoxPair(1.0, 1e-3), 0.3),
    PoissonSubstitutionPair(0.5, 0.1),
]
ORDERS = np.geomspace(1e-4, 1e4, 60)


@pytest.mark.parametrize("pair", PAIRS, ids=repr)
def test_rho_bounds_the_moments_at_every_order(pair: DominatingPair) -> None:
    """``K(t) <= t (1 + t) rho``; the moments are upper bounds themselves, by some roundings of 1."""
    rho = pair.rho
    assert math.isfinite(rho)
    for t in ORDERS:
        assert pair.log_moment(float(t)) <= t * (1 + t) * rho * (1 + 1e-9) + 1e-12


@pytest.mark.parametrize(
    ("pair", "rho"),
    [
        (GaussianPair(0.7), 0.245),
        (BlackBoxPair(2.0), 2 * math.tanh(1.0)),
        (LaplacePair(1.0, 0.5), 1 + math.exp(-2.0)),
    ],
    ids=repr,
)
def test_rho_is_the_divergence_of_order_one_and_so_the_least(pair: DominatingPair, rho: float) -> None:
    """K(t)/t tends to K'(0) = KL: no smaller rho is good. Below the ``epsilon^2/2`` of Bun, Steinke 2016."""
    assert pair.rho == pytest.approx(rho, rel=1e-13)
    assert pair.log_moment(1e-6) / 1e-6 == pytest.approx(rho, rel=1e-4)
    if pair.loss_range[1] < math.inf:
        assert rho < pair.loss_range[1] ** 2 / 2


def test_a_gaussian_plan_is_what_rdp_says() -> None:
    """For Gaussian noise rho keeps everything that the Renyi moments know."""
    plan = hs.Plan([hs.Round(hs.Gaussian(4.0), count=30)])
    for delta in (1e-3, 1e-6, 1e-12):
        assert plan.epsilon(delta, accountant="zcdp").quoted == pytest.approx(
            plan.epsilon(delta, accountant="rdp").quoted, rel=1e-9
        )


def test_the_conversion_beats_that_of_the_paper() -> None:
    """Bun, Steinke 2016, Proposition 1.3: ``epsilon = rho + 2 sqrt(rho log(1/delta))``."""
    plan = hs.Plan([hs.Round(hs.Gaussian(math.sqrt(0.5)))])  # rho = 1
    for delta in (1e-2, 1e-5, 1e-9):
        paper = 1 + 2 * math.sqrt(math.log(1 / delta))
        found = plan.epsilon(delta, accountant="zcdp").quoted
        assert plan.epsilon(delta).upper < found < paper
        assert found > paper - math.log(1 / delta)  # the gain is of lower order


def test_black_boxes_fail_with_their_own_probability() -> None:
    plan = hs.Plan([hs.Round(hs.ApproximateDP(0.1, 1e-7), count=10)])
    assert math.isinf(plan.epsilon(1e-6 * (1 - 1e-6), accountant="zcdp").quoted)
    assert plan.delta(50.0, accountant="zcdp").quoted == pytest.approx(1e-6, rel=1e-6)
    assert plan.epsilon(0.0, accountant="zcdp").reason is not None


def test_sampling_does_not_amplify_zcdp_and_it_says_so() -> None:
    sampled, whole = hs.dp_sgd(2.0, 0.01, 50), hs.Plan([hs.Round(hs.Gaussian(2.0), count=50)])
    found = sampled.epsilon(1e-5, accountant="zcdp")
    assert found.quoted == pytest.approx(whole.epsilon(1e-5, accountant="zcdp").quoted, rel=1e-12)
    assert found.reason == UNAMPLIFIED
    assert whole.epsilon(1e-5, accountant="zcdp").reason is None


def test_a_bounded_loss_is_amplified() -> None:
    """Sampled pure mechanisms have a smaller pure epsilon, hence a smaller rho."""
    plan = hs.Plan([hs.Round(hs.RandomizedResponse(0.5), hs.Poisson(0.1), 20)])
    found = plan.epsilon(1e-5, accountant="zcdp")
    assert found.reason is None
    assert found.quoted < 0.3 * hs.Plan([hs.Round(hs.RandomizedResponse(0.5), count=20)]).epsilon(1e-5).upper


def test_outcomes_that_the_record_takes_away_count_where_it_is_added() -> None:
    """Bounded noise of hardly more than half the distance: nearly every outcome shows that the record is missing."""
    plan = hs.Plan([hs.Round(hs.TruncatedLaplace(0.4, bound=0.51), hs.Poisson(0.4), 78)], "add")
    for epsilon in (0.0, 1.0, 10.0):
        assert plan.delta(epsilon, accountant="zcdp").quoted >= plan.delta(epsilon).lower > 0.99
    boxes = hs.Plan([hs.Round(hs.ApproximateDP(1e-3, 0.5), hs.Poisson(0.5), 3)], "add")
    assert boxes.delta(0.1, accountant="zcdp").quoted >= boxes.delta(0.1).lower > 0.1
