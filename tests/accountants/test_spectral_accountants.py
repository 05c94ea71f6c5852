"""``fourier``, ``saddle-point`` and ``characteristic-function``: published numbers, error laws, brute force."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import binom, norm

import hockeystick as hs
from hockeystick.accountants.fourier import FourierAccountant
from hockeystick.accountants.saddle_point import NormalForm
from hockeystick.accountants.shared.loss_grid import LossGrid, rounded, sampled
from hockeystick.accountants.shared.tilted import Cumulants, TiltedComposition, reach_of
from hockeystick.accountants.shared.tilted_moments import moments_of, representable
from hockeystick.directions.directions import compositions
from hockeystick.pairs import Composition, DominatingPair
from hockeystick.pairs.gaussian import GaussianPair
from hockeystick.values.side import Side

DP_SGD = hs.dp_sgd(noise_multiplier=1.0, sample_rate=0.01, steps=1000)
RESPONSE = hs.Plan([hs.Round(hs.RandomizedResponse(0.2), count=40)])
TABLE_1 = hs.dp_sgd(1.0, 0.01, 10_000, adjacency="remove")
TRUE_TABLE_1 = 6.907384495045  # epsilon at delta 1e-6, by independent quadrature


def gaussian_delta(mu: float, epsilon: float) -> float:
    return float(norm.cdf(mu / 2 - epsilon / mu) - math.exp(epsilon) * norm.cdf(-mu / 2 - epsilon / mu))


def the_pair(plan: hs.Plan, direction: int = 0) -> DominatingPair:
    return compositions(plan.directions)[direction][1].rounds[0][0]


def cumulants_of(pair: DominatingPair, t: float) -> Cumulants:
    return TiltedComposition(Composition([(pair, 1)])).at(t)


# fourier


def test_fourier_estimate_at_the_settings_of_its_table_1() -> None:
    """q 0.01, noise 1, 10,000 rounds, delta 1e-6, L = 20: error falls with n (6.90738305 published at n = 8e6)."""
    found = [
        TABLE_1.epsilon(1e-6, accountant="fourier", rounding=0, length=20.0, points=n) for n in (250_000, 1_000_000)
    ]
    errors = [abs(each.quoted - TRUE_TABLE_1) for each in found]
    assert all(each.guarantee == "estimate" for each in found)
    assert errors[1] < 5e-5
    assert errors[1] < 0.1 * errors[0]


def test_fourier_interval_is_as_wide_as_the_rounding_says() -> None:
    """Each of k losses is rounded by up to h either way: 2 L k / n in epsilon, and the truth between."""
    plan = hs.dp_sgd(1.0, 0.01, 100)
    truth = plan.epsilon(1e-5)
    for points in (1 << 14, 1 << 16):
        found = plan.epsilon(1e-5, accountant="fourier", length=10.0, points=points)
        assert isinstance(found, hs.Bound)
        assert found.lower <= truth.lower
        assert truth.upper <= found.upper
        assert found.gap == pytest.approx(20.0 * 100 / points, rel=0.3)


def test_fourier_chooses_no_more_points_than_a_sum_of_all_kinds_may_have() -> None:
    """Three kinds of a million points each would be refused, without a word on what to do."""
    rounds = [hs.Round(hs.Laplace(scale), hs.NoSampling(), 1500) for scale in (40.0, 50.0, 60.0)]
    plan = hs.Plan(rounds, "remove")
    found, truth = plan.epsilon(1e-5, accountant="fourier"), plan.epsilon(1e-5)
    assert truth.lower <= found.quoted < math.inf


def test_fourier_charges_a_window_that_is_too_short() -> None:
    """What the circle wraps around is added to the upper end and taken off the lower one."""
    mu, epsilon = 1.0, 0.5
    plan = hs.Plan([hs.Round(hs.Gaussian(10.0), count=100)])
    truth = gaussian_delta(mu, epsilon)
    gaps = []
    for length in (1.5, 3.0, 6.0, 12.0):
        found = plan.delta(epsilon, accountant="fourier", length=length, points=1 << 14)
        assert isinstance(found, hs.DeltaBound)
        assert found.lower <= truth <= found.upper
        gaps.append(found.relative_gap)
    assert gaps[0] > 0.1
    assert gaps[-1] < 0.01


def test_fourier_refuses_what_takes_too_long_and_is_wide_where_rounding_drowns_delta() -> None:
    with pytest.raises(hs.NotApplicableError, match="set points to"):
        DP_SGD.epsilon(1e-5, accountant="fourier", points=50_000_000)
    wide, true = DP_SGD.epsilon(1e-15, accountant="fourier", points=1 << 14, length=30.0), DP_SGD.epsilon(1e-15)
    assert isinstance(wide, hs.Bound)
    assert wide.lower <= true.lower <= true.upper <= wide.upper
    with pytest.raises(hs.NotApplicableError, match="too few"):
        hs.dp_sgd(1.0, 1e-4, 10_000_000).epsilon(1e-5, accountant="fourier")


@pytest.mark.parametrize("direction", [0, 1])
def test_rounding_to_the_grid_moves_every_distribution_function_one_way(direction: int) -> None:
    """P(L > s) of the law rounded up is at least the true one just above each grid point, and less below."""
    from hockeystick.accountants.shared.privacy_curve import PrivacyCurve

    pair, grid = the_pair(DP_SGD, direction), LossGrid(6.0, 4096)
    for side in Side:
        law = rounded(pair, grid, side)
        at = law.losses
        true, _ = PrivacyCurve(pair).above(at)
        above = np.cumsum(law.mass[::-1])[::-1] - law.mass + law.infinite  # P(s > at)
        including = above + law.mass
        assert law.slip < 1e-13
        assert law.mass.min() >= 0
        if side is Side.ABOVE:
            assert np.all(above >= true * (1 - 1e-12) - 1e-15)
        else:
            assert np.all(including <= true * (1 + 1e-12) + 1e-15)


def test_the_sampled_density_adds_up_to_one() -> None:
    law = sampled(the_pair(DP_SGD), LossGrid(10.0, 1 << 18))
    assert law.mass.sum() == pytest.approx(1.0, abs=1e-5)


def test_the_reach_of_a_gaussian_is_its_tail() -> None:
    """Mean 1/2, variance 1: exp(-50) lies 10 standard deviations from the mean, on the far side."""
    assert reach_of(Composition([(GaussianPair(1.0), 1)]), 50.0) == pytest.approx(10.5, rel=1e-2)


# saddle-point


def test_saddle_point_as_its_authors_program_has_it() -> None:
    """Order 1 of their program gives 1.802 on this plan."""
    found = DP_SGD.epsilon(1e-5, accountant="saddle-point", order=1)
    assert found.quoted == pytest.approx(1.802, abs=5e-4)


def test_saddle_point_terms_shrink_with_the_rounds() -> None:
    """Relative error of delta about 1/k at order 1, less at order 2: far from normal at 100 rounds, near at 10,000."""
    for rounds, worst in ((10_000, 0.05), (100_000, 0.02)):
        plan = hs.dp_sgd(1.0, 0.01, rounds, adjacency="remove")
        epsilon = plan.epsilon(1e-6).estimate
        errors = [
            abs(plan.delta(epsilon, accountant="saddle-point", order=order).quoted / 1e-6 - 1) for order in (1, 2)
        ]
        assert errors[0] < worst
        assert errors[1] < errors[0]


def test_the_normal_form_is_exact_for_gaussian_noise() -> None:
    composition = Composition([(GaussianPair(1.0), 1)])
    for epsilon in (0.1, 1.0, 4.0):
        for t in (0.5, 2.0, 5.0):
            form = NormalForm(TiltedComposition(composition), t)
            truth = gaussian_delta(1.0, epsilon)
            assert math.exp(form.log_value(epsilon)) == pytest.approx(truth, rel=1e-4)
            ends = form.log_delta(epsilon)
            assert ends.lower <= math.log(truth) <= ends.upper


@pytest.mark.parametrize("t", [0.01, 0.5, 3.0, 20.0])
def test_certified_moments_enclose_those_by_quadrature(t: float) -> None:
    """Tilted mean, variance and K lie between their ends; the third moment is at least Lyapunov's."""
    t = representable(t)
    plans = (DP_SGD, hs.Plan([hs.Round(hs.Laplace(10.0))]), hs.Plan([hs.Round(hs.RandomizedResponse(0.2))]))
    for pair in [the_pair(plan) for plan in plans] + [the_pair(DP_SGD, 1)]:
        about = cumulants_of(pair, t)
        found = moments_of(pair, t, about)
        deviation = math.sqrt(about.variance)
        assert found.log.low - 1e-14 <= about.log <= found.log.high + 1e-14
        assert found.mean.low - 1e-9 * deviation <= about.mean <= found.mean.high + 1e-9 * deviation
        assert found.variance.low <= about.variance * (1 + 1e-9)
        assert found.variance.high >= about.variance * (1 - 1e-9)
        assert found.variance.high - found.variance.low < 1e-3 * about.variance
        assert found.third >= about.variance**1.5
        assert found.third <= 1.1 * math.sqrt(about.variance * (about.fourth + 3 * about.variance**2))


def test_third_absolute_moment_of_the_gaussian() -> None:
    """E |N(0, 1)|^3 = 4 / sqrt(2 pi), at any tilt, from above."""
    pair, t = GaussianPair(0.7), representable(2.0)
    found = moments_of(pair, t, cumulants_of(pair, t)).third / 0.7**3
    assert 0 <= found / (4 / math.sqrt(2 * math.pi)) - 1 < 0.02


def test_the_normal_form_brackets() -> None:
    removed, added = (hs.dp_sgd(1.0, 0.01, rounds, adjacency=way) for rounds, way in ((1000, "remove"), (30, "add")))
    for plan, delta in ((removed, 1e-6), (added, 1e-4), (RESPONSE, 1e-3), (RESPONSE, 1e-6)):
        found, truth = plan.epsilon(delta, accountant="saddle-point", order=0), plan.epsilon(delta)
        assert isinstance(found, hs.Bound)
        assert found.accountant == "saddle-point"
        assert found.lower <= truth.upper
        assert found.upper >= truth.lower
        back = plan.delta(truth.estimate, accountant="saddle-point", order=0)
        assert isinstance(back, hs.DeltaBound)
        assert back.lower <= delta * (1 + 1e-3)
        assert back.upper >= delta * (1 - 1e-3)


def test_the_normal_form_of_sampled_laplace_noise() -> None:
    """Its characteristic function is known, so that moments are certified; the interval holds the sharper one."""
    plan = hs.Plan([hs.Round(hs.Laplace(2.0), hs.Poisson(sample_rate=0.02), 100)])
    found, truth = plan.epsilon(1e-5, accountant="saddle-point", order=0), plan.epsilon(1e-5)
    assert isinstance(found, hs.Bound)
    assert isinstance(truth, hs.Bound)
    assert found.lower <= truth.upper
    assert found.upper >= truth.lower


# characteristic-function


@pytest.mark.parametrize("adjacency", ["remove", "add", "replace-one"])
def test_characteristic_function_agrees_with_the_contour(adjacency: str) -> None:
    plan = hs.dp_sgd(1.0, 0.01, 2000, adjacency=adjacency)
    for epsilon in (0.0, 1.0):
        found, truth = (plan.delta(epsilon, accountant=name) for name in ("characteristic-function", "contour"))
        assert isinstance(truth, hs.DeltaBound)
        assert found.quoted == pytest.approx(truth.estimate, rel=1e-7)


def test_characteristic_function_of_a_lattice_is_the_binomial_sum() -> None:
    """k randomised responses of epsilon 0.2: losses 0.2 (2j - k), j binomial."""
    j = np.arange(41)
    loss, p = 0.2 * (2 * j - 40), binom.pmf(j, 40, 1 / (1 + math.exp(-0.2)))
    for epsilon in (0.5, 2.0):
        truth = float((p * -np.expm1(np.minimum(epsilon - loss, 0.0))).sum())
        found = RESPONSE.delta(epsilon, accountant="characteristic-function")
        assert found.quoted == pytest.approx(truth, rel=1e-11)


def test_characteristic_function_refuses_what_it_cannot_tell_from_noise() -> None:
    with pytest.raises(hs.NotApplicableError, match="has an error of"):
        DP_SGD.epsilon(1e-14, accountant="characteristic-function")
    with pytest.raises(hs.NotApplicableError, match="has an error of"):
        DP_SGD.delta(5.0, accountant="characteristic-function")


def test_the_noise_of_a_transform_counts_as_often_as_it_is_multiplied() -> None:
    """Of 330,000 rounds no delta is told from noise beyond epsilon 20: differences of 1e15 are no delta of 1."""
    plan = hs.Plan([hs.Round(hs.RandomizedResponse(0.016), count=330_000)])
    for epsilon in (20.0, 60.0, 77.0):
        with pytest.raises(hs.NotApplicableError, match=r"at epsilon \d\d, too much for a delta of 1e\+00"):
            plan.delta(epsilon, accountant="characteristic-function")
    with pytest.raises(hs.NotApplicableError, match=r"at epsilon 9\.52, too much for a delta of 5e-05"):
        plan.epsilon(5e-5, accountant="characteristic-function")
    for epsilon in (0.0, 5.0, 10.0):
        found = plan.delta(epsilon, accountant="characteristic-function")
        assert isinstance(found, hs.DeltaEstimate)
        assert found.value == pytest.approx(plan.delta(epsilon).upper, rel=1e-6)


def test_characteristic_function_refuses_atoms_off_a_lattice() -> None:
    with pytest.raises(hs.NotApplicableError, match="does not decay"):
        hs.Plan([hs.Round(hs.Laplace(10.0), count=50)]).epsilon(1e-5, accountant="characteristic-function")
    responses = [hs.Round(hs.RandomizedResponse(epsilon), count=3) for epsilon in (0.2, math.sqrt(0.05))]
    with pytest.raises(hs.NotApplicableError, match="lattice"):
        hs.Plan(responses).epsilon(1e-5, accountant="characteristic-function")


def test_options_are_checked() -> None:
    for options in ({"rounding": 3}, {"points": 3.5}, {"length": 0.0}):
        with pytest.raises(hs.InvalidInputError, match=next(iter(options))):
            DP_SGD.epsilon(1e-5, accountant="fourier", **options)
    assert FourierAccountant(points=4096).points == 4096


@pytest.mark.parametrize("rounds", [2048, 8192])
def test_the_window_of_many_rounds_is_seen_to_hold_the_sum(rounds: int) -> None:
    """The parameter of Chernoff's bound comes from a coarser law; its blocks must not move the mean of the sum."""
    plan = hs.dp_sgd(0.8, 4e-3, rounds, adjacency="remove")
    mesh = 0.2 / rounds
    length = plan.epsilon(1e-10, accountant="rdp").quoted + 2
    found = plan.epsilon(1e-7, accountant="fourier", length=length, points=round(2 * length / mesh))
    assert isinstance(found, hs.Bound)
    assert found.gap == pytest.approx(0.2, rel=0.05)
