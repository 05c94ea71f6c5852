"""Accountants where doubles end, losses are tiny or nothing is lost: an answer that holds, or the reason for none."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from mpmath import mp

import hockeystick as hs
from hockeystick.accountants.edgeworth import tail
from hockeystick.accountants.shared.dots import commensurable_gap, knots_of, law_above, law_below
from hockeystick.accountants.shared.lattice import MAX_POINTS, Enclosed, LatticeLaw, compose
from hockeystick.numerics.exponential_sum import moved_sum
from hockeystick.numerics.lattice import Window
from hockeystick.numerics.summation import accurate_sum
from hockeystick.pairs import BlackBoxPair, PoissonRemovePair
from hockeystick.pairs.gaussian import GaussianPair
from hockeystick.pairs.gaussian_curve import log_delta_ends
from hockeystick.values.bounds import Bound
from hockeystick.values.errors import NotApplicableError
from hockeystick.values.side import Side


def held(found: object, truth: Bound) -> Bound:
    """A certified interval that has to meet that of the truth."""
    assert isinstance(found, Bound)
    assert found.lower <= truth.upper
    assert truth.lower <= found.upper
    return found


@pytest.mark.parametrize("delta", [1e-90, 1e-100])
def test_prv_at_the_smallest_deltas(delta: float) -> None:
    plan = hs.Plan([hs.Round(hs.Gaussian(1.0))])
    found = held(plan.epsilon(delta, accountant="prv"), plan.epsilon(delta))
    assert found.gap < 0.21


@pytest.mark.parametrize("tiny", [1e-6, 4e-6])
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
    with pytest.raises(NotApplicableError, match="cumulants cannot be evaluated"):
        plan.epsilon(delta, accountant="saddle-point", order=0)


@pytest.mark.parametrize("delta", [1e-14, 1e-30, 1e-100])
@pytest.mark.parametrize(
    ("accountant", "options", "width"),
    [
        ("prv", {}, 0.21),
        ("evolving", {}, 0.21),
        ("connect-the-dots", {"interval": 1e-4}, 1e-6),
        ("connect-the-dots", {}, 1e-5),
    ],
)
def test_small_deltas_have_both_ends(accountant: str, options: dict[str, float], width: float, delta: float) -> None:
    """Epsilons far below the tilt's are drowned by what lies outside the window: the search does not end there."""
    plan = hs.Plan([hs.Round(hs.Gaussian(10.0), count=100)])
    found = plan.epsilon(delta, accountant=accountant, gap=None, proof=False, **options)
    assert held(found, plan.epsilon(delta)).gap <= width


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


MANY_GAUSSIANS = hs.Plan([hs.Round(hs.Gaussian(1.0), count=10**6)])
MANY_RESPONSES = hs.Plan([hs.Round(hs.RandomizedResponse(0.016), count=330_000)])
LOST_BOXES = hs.Plan(
    [
        hs.Round(hs.ApproximateDP(57.6, 1e-5), hs.Poisson(1e-3), 10),
        hs.Round(hs.ApproximateDP(0.0017, 1.8e-4), count=454_715),
    ],
    "remove",
)
CERTAIN_LOSS = hs.Plan([hs.Round(hs.ApproximateDP(0.0, 1 - 2**-53), count=352)])


def test_chords_of_losses_that_are_all_large() -> None:
    """Far from 0 a curve is flat at 1, no knot near 0 is a corner, and alpha is more than a double holds.

    Under Q masses beyond a loss of 650 or so underflow: there are no tangents, and that is said.
    """
    truth = MANY_GAUSSIANS.epsilon(1e-6)
    found = held(MANY_GAUSSIANS.epsilon(1e-6, accountant="connect-the-dots"), truth)
    assert found.upper <= truth.upper * (1 + 1e-4)
    assert found.lower == 0.0
    assert found.reason is not None
    assert "tangents" in found.reason


def test_the_chord_across_0_has_its_slope_in_either_form() -> None:
    """All of P is near a loss of 5e5: no mass may be left at the knots beside 0, and none may be lost."""
    pair = GaussianPair(1000.0)
    law = law_above(pair, knots_of(pair, 50.0, -640.0))
    assert 1 <= float(law.mass.sum()) + law.infinite <= 1 + 1e-6
    assert float(law.mass[law.losses < 4.5e5].sum()) < 1e-6


@pytest.mark.parametrize("noise", [0.03, 0.02])
def test_tangents_where_q_is_beyond_the_range_of_a_double(noise: float) -> None:
    """``e^eps Q(L > eps)`` has no value there; it gave a warning, and the difference of two infinities."""
    plan = hs.dp_sgd(noise, 0.01, 10, adjacency="remove")
    held(plan.epsilon(1e-6, accountant="connect-the-dots", interval=0.05), plan.epsilon(1e-6))


def test_atoms_are_on_the_lattice_that_is_made_for_them() -> None:
    """Knots are off by roundings of the farthest of them, not of the atom: else the smaller atom's mass is lost."""
    pair = PoissonRemovePair(BlackBoxPair(47.0), 0.00159)
    gap = commensurable_gap([pair], 1.8e-4)
    for build in (law_above, law_below):
        assert float(build(pair, knots_of(pair, gap, -640.0)).mass.sum()) == pytest.approx(1.0, abs=1e-13)


@pytest.mark.parametrize("accountant", ["basic", "advanced", "optimal", "gdp", "edgeworth"])
def test_rounds_that_lose_all(accountant: str) -> None:
    """delta' is 1 but for a rounding: its logarithm, and what is left over, do not exist."""
    plan = CERTAIN_LOSS + hs.Plan([hs.Round(hs.RandomizedResponse(0.5), count=3)])
    found = plan.epsilon(1e-5, accountant=accountant)
    assert found.quoted == math.inf
    assert found.reason


def test_the_limit_of_sampled_rounds_of_little_noise() -> None:
    """``chi^2 = e^(1/s^2) - 1`` may leave the range of a double, and ``q^2 chi^2`` with it; from s = 0.0376 it does."""
    assert hs.dp_sgd(0.04, 0.01, 100).epsilon(1e-5, accountant="gdp").quoted > 1e100
    with pytest.raises(NotApplicableError, match="chi-squared"):
        hs.dp_sgd(0.03, 0.01, 100).epsilon(1e-5, accountant="gdp")


def test_an_expansion_that_is_no_number_is_refused() -> None:
    """Large losses may be so rare that standardised cumulants leave the range of a double, and nan is no estimate."""
    rare = np.array([1e-150, 1e-150, 1e-150, 1e-150])  # of a loss 1 with probability 1e-150
    assert np.isfinite(tail(rare, np.linspace(0.0, 1.0, 5))).all()
    with pytest.raises(NotApplicableError, match="cumulants"):
        tail(rare * 1e-140, np.linspace(0.0, 1.0, 5))
    found = hs.Plan([hs.Round(hs.Gaussian(0.015), hs.Poisson(0.001), 10)], "add")
    with pytest.raises(NotApplicableError, match=r"negative|more than 1|cumulants"):
        found.delta(1.0, accountant="edgeworth")


def test_an_expansion_above_1_is_refused() -> None:
    plan = hs.Plan([hs.Round(hs.Gaussian(0.0736), hs.Poisson(0.00768), 1000), hs.Round(hs.Gaussian(310.0), count=100)])
    with pytest.raises(NotApplicableError, match="more than 1"):
        plan.delta(1.44, accountant="edgeworth")


def test_an_expansion_far_from_0() -> None:
    """Epsilons beyond 700 are asked for as any other; Q's tail, below the range of a double there, counts as none."""
    plan = hs.Plan([hs.Round(hs.Gaussian(1.0), count=10_000)])
    assert plan.epsilon(1e-6, accountant="edgeworth").quoted == pytest.approx(plan.epsilon(1e-6).upper, rel=1e-3)


def test_black_boxes_that_lose_all_have_no_estimate() -> None:
    found = LOST_BOXES.epsilon(1e-4, accountant="edgeworth")
    assert found.quoted == math.inf
    assert found.reason


def test_characteristic_functions_beyond_an_exponential() -> None:
    """Sums reach further than 700; there both distribution functions are noise, and that is what the refusal says."""
    with pytest.raises(NotApplicableError, match="has an error of"):
        MANY_RESPONSES.epsilon(5e-5, accountant="characteristic-function")


def test_a_round_without_mass_leaves_none_to_the_sum() -> None:
    """A law from below may have lost all of its mass: what is left is the mass at infinity."""
    empty, other = LatticeLaw(0.0, 0.1, np.zeros(3), 0.25, 0.0), LatticeLaw(0.0, 0.1, np.array([0.5, 0.5]), 0.0, 0.0)
    laws = [(empty, 1), (other, 3)]
    found = Enclosed.of(laws, laws, 1.0, Window(-1.0, 1.0, 1.0, 1.0), "").log_delta(0.5, 0.5)
    assert found == pytest.approx((math.log(0.25), math.log(0.25)))


def test_sums_are_accurate_to_a_rounding() -> None:
    rng = np.random.default_rng(1)
    for n in (0, 1, 65, 10_001):
        x = np.exp(rng.uniform(-600.0, 300.0, n))
        assert accurate_sum(x) == pytest.approx(math.fsum(x.tolist()), rel=2.0**-51, abs=0.0)


def test_nothing_is_moved_at_s_0() -> None:
    """Bounds on the real line ask for ``sum w (e^0 - 1)``: 0 without a sum, and without an error."""
    found = moved_sum(np.linspace(-1.0, 1.0, 100_000), np.ones(100_000), 1.0, 1, 1e-16)
    assert found is not None
    assert (found[0] == 0).all()
    assert (found[1] == 0).all()


def test_work_is_counted_before_it_is_done() -> None:
    """By nodes, points and terms, whatever the clock says; the refusal says what to change."""
    with pytest.raises(NotApplicableError, match=r"make it [0-9]+ times as wide"):
        hs.dp_sgd(1.0, 0.01, 10).epsilon(1e-5, accountant="connect-the-dots", interval=1e-6)
    for accountant in ("prv", "evolving"):
        with pytest.raises(NotApplicableError, match="increase eps_error"):
            hs.dp_sgd(0.2, 0.01, 10_000).epsilon(1e-5, accountant=accountant, eps_error=1e-4)
    laws = [
        (LatticeLaw(0.0, 1e-6, np.ones(2), 0.0, 0.0), 1),
        (LatticeLaw(0.0, 1e-6, np.array([0.1, 0.2]), 0.0, 0.0), 1),
    ]
    with pytest.raises(NotApplicableError, match="lattice points"):
        compose(laws, 1.0, Window(0.0, 0.6e-6 * MAX_POINTS, 1.0, 1.0), Side.ABOVE, "change it")


@pytest.mark.parametrize(
    ("epsilon", "count", "delta"), [(2.0, 1000, 1.52e-3), (20.0, 100, 1.52e-3), (100.0, 1, 0.3), (2.0, 100, 1e-100)]
)
def test_optimal_composition_where_q_is_below_the_range_of_a_double(epsilon: float, count: int, delta: float) -> None:
    """Taken for none, Q's masses leave P's whole tail as delta: on the wrong side of the lower end.

    The truth is a sum of binomial masses, with 60 digits.
    """
    found = hs.Plan([hs.Round(hs.RandomizedResponse(epsilon), count=count)]).epsilon(delta, accountant="optimal")
    assert isinstance(found, hs.Bound)
    assert found.upper - found.lower < 1e-9 * found.upper
    with mp.workdps(60):
        likely = 1 / (1 + mp.exp(-mp.mpf(epsilon)))

        def true_delta(at: float) -> Any:
            terms = []
            for low in range(count + 1):
                loss = mp.mpf(epsilon) * (count - 2 * low)
                if loss > at:
                    mass = mp.binomial(count, low) * likely ** (count - low) * (1 - likely) ** low
                    terms.append(mass * -mp.expm1(mp.mpf(at) - loss))
            return mp.fsum(terms)

        assert true_delta(found.upper) <= delta <= true_delta(found.lower)


def test_buckets_below_the_range_of_a_double() -> None:
    """A small delta is a sum of masses of which little is left: its bound was an epsilon that is too small."""
    plan = hs.Plan([hs.Round(hs.Gaussian(2.11))], "remove")
    held(plan.epsilon(1e-100, accountant="privacy-buckets"), plan.epsilon(1e-100))
    epsilon = 18.2
    assert plan.delta(epsilon, accountant="privacy-buckets").log_delta.quoted >= plan.delta(epsilon).log_delta.lower
