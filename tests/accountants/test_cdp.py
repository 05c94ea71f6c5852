"""``cdp``: every round's (mu, tau) holds of its loss by quadrature in many digits, and answers are above the truth."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any, cast

import mpmath
import pytest

import hockeystick as hs
from hockeystick.accountants.cdp import CdpAccountant, concentrated, of
from hockeystick.directions.directions import compositions
from hockeystick.pairs import (
    BlackBoxPair,
    Composition,
    DominatingPair,
    GaussianPair,
    LaplacePair,
    PoissonAddPair,
    PoissonRemovePair,
    PoissonSubstitutionPair,
)

ORDERS = (-4.0, -0.5, 0.1, 0.7, 2.0, 8.0)


def moments(mu: float, rate: float, way: str) -> tuple[float, list[float]]:
    """Mean of the loss, and the log of E e^(t (L - E L)) at each order, straight from normal densities."""
    m, q = mpmath.mpf(mu), mpmath.mpf(rate)

    def mixed(x: mpmath.mpf, centre: mpmath.mpf) -> mpmath.mpf:
        return (1 - q) * mpmath.npdf(x, 0, 1) + q * mpmath.npdf(x, centre, 1)

    def p(x: mpmath.mpf) -> mpmath.mpf:
        return mpmath.npdf(x, 0, 1) if way == "add" else mixed(x, m)

    def loss(x: mpmath.mpf) -> mpmath.mpf:
        other = mixed(x, m) if way == "add" else mpmath.npdf(x, 0, 1) if way == "remove" else mixed(x, -m)
        return mpmath.log(p(x) / other)

    with mpmath.workdps(15):
        ends = [mpmath.mpf(at) for at in (-24, -8, 0, 8, 24, 48)]
        mean = mpmath.quad(lambda x: p(x) * loss(x), ends)
        logs = [
            float(mpmath.log(mpmath.quad(lambda x, t=t: p(x) * mpmath.exp(t * (loss(x) - mean)), ends))) for t in ORDERS
        ]
    return float(mean), logs


SAMPLED: dict[str, type] = {"remove": PoissonRemovePair, "add": PoissonAddPair}


@pytest.mark.parametrize("way", ["remove", "add", "replace"])
@pytest.mark.parametrize(("mu", "rate"), [(0.5, 0.01), (1.0, 0.3), (2.0, 0.4)])
@pytest.mark.share(2)
def test_sampled_gaussian_losses_are_subgaussian(way: str, mu: float, rate: float) -> None:
    pair: DominatingPair = (
        PoissonSubstitutionPair(mu, rate) if way == "replace" else SAMPLED[way](GaussianPair(mu), rate)
    )
    found = of(pair)
    mean, logs = moments(mu, rate, way)
    assert 0 < mean <= found.mean <= 1.3 * mean
    for t, log in zip(ORDERS, logs, strict=True):
        assert log <= 0.5 * t * t * found.square + 1e-12, t


@pytest.mark.parametrize(
    "pair", [BlackBoxPair(0.7, 0.0), BlackBoxPair(2.0, 1e-3), PoissonRemovePair(BlackBoxPair(1.0, 1e-3), 0.2)]
)
def test_atoms_are_subgaussian(pair: DominatingPair) -> None:
    found, atoms = of(pair), pair.atoms.finite()
    mass = [math.exp(log) for log in atoms.log_p]
    mean = sum(p * x for p, x in zip(mass, atoms.loss, strict=True)) / sum(mass)
    assert found.mean == pytest.approx(mean, rel=1e-9)
    assert found.mean >= mean
    for t in ORDERS:
        log = math.log(sum(p * math.exp(t * (x - mean)) for p, x in zip(mass, atoms.loss, strict=True)) / sum(mass))
        assert log <= 0.5 * t * t * found.square


def test_what_is_known_in_closed_form() -> None:
    gaussian = of(GaussianPair(0.3))
    assert gaussian.mean == pytest.approx(0.045, rel=1e-12)
    assert gaussian.square == pytest.approx(0.09, rel=1e-12)
    response = of(BlackBoxPair(0.5, 0.0))
    assert response.mean == pytest.approx(0.5 * math.tanh(0.25), rel=1e-9)
    assert math.sqrt(response.square) == pytest.approx(0.5, rel=1e-9)
    assert response.mean < 0.5 * math.expm1(0.5) / 2  # as Dwork and Rothblum have it
    laplace = of(LaplacePair(0.5, 1.0))
    assert math.sqrt(laplace.square) == pytest.approx(LaplacePair(0.5, 1.0).theta, rel=1e-9)


def test_both_numbers_add_up() -> None:
    parts = [(GaussianPair(0.3), 4), (BlackBoxPair(0.5, 0.0), 7)]
    found, each = concentrated(Composition(parts)), [of(pair) for pair, _ in parts]
    assert found.mean == pytest.approx(4 * each[0].mean + 7 * each[1].mean, rel=1e-12)
    assert found.square == pytest.approx(4 * each[0].square + 7 * each[1].square, rel=1e-12)
    (bound,) = CdpAccountant().moments(Composition(parts))
    assert bound.moment(2.0) >= 2 * found.mean + 2 * found.square


PLANS = {
    "Gaussians": hs.Plan([hs.Round(hs.Gaussian(4.0), count=30)]),
    "Laplaces": hs.Plan([hs.Round(hs.Laplace(10.0), count=50)]),
    "responses": hs.Plan([hs.Round(hs.RandomizedResponse(0.2), count=40)]),
    "black boxes": hs.Plan([hs.Round(hs.ApproximateDP(0.1, 1e-8), count=20)]),
    "sampled Laplaces": hs.Plan([hs.Round(hs.Laplace(2.0), hs.Poisson(0.1), 100)]),
    "DP-SGD": hs.dp_sgd(2.0, 0.1, 100),
    "DP-SGD, replaced": hs.dp_sgd(2.0, 0.1, 100, adjacency="replace-one"),
}


@pytest.mark.parametrize("kind", PLANS)
def test_answers_are_above_the_truth_and_below_the_tail_bound(kind: str) -> None:
    """delta <= e^(-(eps - mu)^2 / (2 tau^2)) is the conversion of Dwork and Rothblum."""
    plan = PLANS[kind]
    for epsilon in (0.5, 2.0, 4.0):
        found, truth = plan.delta(epsilon, accountant="cdp"), plan.delta(epsilon)
        assert isinstance(found, hs.DeltaUpperBound)
        assert found.upper >= truth.lower
    for delta in (1e-3, 1e-6):
        bound, true = plan.epsilon(delta, accountant="cdp"), plan.epsilon(delta)
        assert isinstance(bound, hs.UpperBound)
        assert true.lower <= bound.upper
        worst = [concentrated(each) for _, each in compositions(plan.directions)]
        tail = max(part.mean + math.sqrt(2 * part.square * math.log(1 / (delta - 2.1e-7))) for part in worst)
        assert bound.upper <= tail


def test_gaussian_noise_is_as_under_zcdp_and_sampling_is_said_not_to_help() -> None:
    plan = PLANS["Gaussians"]
    assert plan.epsilon(1e-5, accountant="cdp").quoted == pytest.approx(
        plan.epsilon(1e-5, accountant="zcdp").quoted, rel=1e-9
    )
    assert plan.epsilon(1e-5, accountant="cdp").reason is None
    assert "amplifies only the mean" in str(PLANS["DP-SGD"].epsilon(1e-5, accountant="cdp").reason)


def test_losses_that_are_not_known_to_be_subgaussian_are_refused() -> None:
    unbounded = SimpleNamespace(loss_range=(-0.1, math.inf), infinite_mass=0.0, smooth=None)
    with pytest.raises(hs.NotApplicableError, match="subgaussian"):
        of(cast(Any, unbounded))


@pytest.mark.parametrize("name", ["zcdp", "cdp", "tcdp"])
def test_outcomes_that_the_record_takes_away_count_where_it_is_added(name: str) -> None:
    """Bounded noise of hardly more than half the distance: nearly every outcome shows that the record is missing."""
    plan = hs.Plan([hs.Round(hs.TruncatedLaplace(0.4, bound=0.51), hs.Poisson(0.4), 78)], "add")
    for epsilon in (0.0, 1.0, 10.0):
        assert plan.delta(epsilon, accountant=name).quoted >= plan.delta(epsilon).lower > 0.99
    boxes = hs.Plan([hs.Round(hs.ApproximateDP(1e-3, 0.5), hs.Poisson(0.5), 3)], "add")
    assert boxes.delta(0.1, accountant=name).quoted >= boxes.delta(0.1).lower > 0.1
