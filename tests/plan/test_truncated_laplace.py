"""Truncated Laplace noise against integrals over its density, and against sums of its losses in closed form."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hockeystick as hs
from oracle.windows import truncated_laplace_delta, truncated_laplace_rounds

CASES = [
    (2.0, 20.0, 1.0),  # a bound far out
    (1.0, 1.0, 1.0),  # the window has no atoms
    (0.7, 1.0, 1.5),  # the two centres are beyond each other's noise
    (3.0, 4.5, 2.5),
    (50.0, 1.0, 0.3),  # all but uniform
]


def plan(scale: float, bound: float, sensitivity: float, count: int = 1, adjacency: str = "remove") -> hs.Plan:
    return hs.Plan([hs.Round(hs.TruncatedLaplace(scale, bound, sensitivity), count=count)], adjacency)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_one_round_is_the_integral_over_its_outcomes(case: tuple[float, float, float]) -> None:
    scale, bound, sensitivity = case
    for epsilon in (0.0, 0.05, 0.4):
        truth = truncated_laplace_delta(scale, bound, sensitivity, epsilon)
        for adjacency in ("remove", "add", "add-or-remove"):
            found = plan(*case, adjacency=adjacency).delta(epsilon)
            assert found.lower <= truth <= found.upper
            assert found.upper - found.lower <= 1e-11 * found.upper


@pytest.mark.parametrize("case", CASES[:4], ids=str)
@pytest.mark.parametrize("add", [False, True])
def test_sampled_it_is_the_mixture(case: tuple[float, float, float], add: bool) -> None:
    for epsilon in (0.0, 0.02, 0.2):
        made = hs.Round(hs.TruncatedLaplace(*case), hs.Poisson(0.1))
        found = hs.Plan([made], "add" if add else "remove").delta(epsilon)
        truth = truncated_laplace_delta(*case, epsilon, 0.1, add)
        assert found.lower <= truth <= found.upper
        assert found.upper - found.lower <= 1e-11 * found.upper


@pytest.mark.parametrize("case", CASES[:4], ids=str)
@pytest.mark.parametrize("rounds", [1, 2, 3, 8])
def test_several_rounds_are_sums_of_losses(case: tuple[float, float, float], rounds: int) -> None:
    for epsilon in (0.1, 0.9):
        truth = truncated_laplace_rounds(*case, rounds, epsilon)
        if rounds == 1:
            assert abs(truth - truncated_laplace_delta(*case, epsilon)) < 1e-30
        found = plan(*case, rounds).delta(epsilon)
        assert found.lower <= truth <= found.upper
        assert found.upper - found.lower <= 1e-3 * found.upper


def test_many_rounds_are_answered_by_the_contour() -> None:
    """To 1e-6, like Laplace noise; the grid, which shares no transform with it, agrees to its own width."""
    found = plan(20.0, 500.0, 1.0, 1000).epsilon(1e-6)
    assert found.accountant == "contour"
    assert found.upper - found.lower <= 1e-6 * found.upper
    grid = plan(20.0, 500.0, 1.0, 1000).epsilon(1e-6, accountant="grid")
    assert grid.lower <= found.upper
    assert found.lower <= grid.upper
    truth = truncated_laplace_rounds(2.0, 30.0, 1.0, 16, 2.0)
    sixteen = plan(2.0, 30.0, 1.0, 16).delta(2.0)
    assert sixteen.accountant == "contour"
    assert sixteen.lower <= truth <= sixteen.upper
    assert sixteen.upper - sixteen.lower <= 1e-5 * sixteen.upper


@settings(max_examples=20, deadline=None)
@given(st.floats(0.2, 30.0), st.floats(0.6, 80.0), st.floats(0.05, 1.1), st.floats(0.0, 2.0), st.sampled_from([1, 3]))
def test_any_noise(scale: float, bound: float, sensitivity: float, epsilon: float, rounds: int) -> None:
    truth = truncated_laplace_rounds(scale, bound, sensitivity, rounds, epsilon)
    found = plan(scale, bound, sensitivity, rounds).delta(epsilon)
    assert found.lower * (1 - 1e-12) <= truth <= found.upper * (1 + 1e-12)


@pytest.mark.parametrize("smaller", [0.2, 1.0])
def test_a_smaller_difference_is_dominated(smaller: float) -> None:
    """The lemma of the proof: also a difference at which the window has atoms against one at which it has none."""
    for epsilon in (0.0, 0.1, 0.5):
        assert truncated_laplace_delta(1.0, 1.0, smaller, epsilon) <= truncated_laplace_delta(1.0, 1.0, 1.3, epsilon)


def test_two_coordinates_share_the_sensitivity() -> None:
    """A vector that moves by 0.4 and 0.6 is dominated by one coordinate that moves by 1, with the truth of both."""
    together = hs.Plan(
        [hs.Round(hs.TruncatedLaplace(2.0, 6.0, 0.4)), hs.Round(hs.TruncatedLaplace(2.0, 6.0, 0.6))], "remove"
    )
    for epsilon in (0.0, 0.1, 0.3):
        assert together.delta(epsilon).upper <= truncated_laplace_delta(2.0, 6.0, 1.0, epsilon) * (1 + 1e-9)


def test_replacing_a_record_moves_twice_as_far() -> None:
    found = plan(2.0, 20.0, 1.0, adjacency="replace-one").delta(0.3)
    truth = truncated_laplace_delta(2.0, 20.0, 2.0, 0.3)
    assert found.lower <= truth <= found.upper
    given = hs.Plan([hs.Round(hs.TruncatedLaplace(2.0, 20.0, 1.0, replace_one_distance=1))], "replace-one").delta(0.3)
    once = plan(2.0, 20.0, 1.0).delta(0.3)
    assert (given.lower, given.upper) == (once.lower, once.upper)


def test_the_mass_at_either_end_is_infinite_loss() -> None:
    """No delta below it; without a bound to speak of it is Laplace noise."""
    infinite = (math.exp(1 - 10) - math.exp(-10)) / (2 * (1 - math.exp(-10)))
    found = plan(1.0, 10.0, 1.0)
    assert found.epsilon(0.99 * infinite).lower == math.inf
    assert found.delta(50.0).upper == pytest.approx(infinite, rel=1e-11)
    far, whole = plan(20.0, 1e6, 1.0, 100).epsilon(1e-6), hs.Plan([hs.Round(hs.Laplace(20.0), count=100)], "remove")
    assert far.upper == pytest.approx(whole.epsilon(1e-6).upper, rel=2e-6)


def test_laws_without_a_common_outcome_are_refused_or_tell_everything() -> None:
    with pytest.raises(hs.InvalidInputError, match="bound must be more than half the sensitivity; received"):
        hs.TruncatedLaplace(1.0, 1.0, 2.0)
    with pytest.raises(hs.UnsupportedError, match="more than half the change by a replaced record"):
        plan(1.0, 1.0, 1.0, adjacency="replace-one").epsilon(1e-6)
    apart = hs.Plan([hs.Round(hs.Pmf((Fraction(1), Fraction(0)), (Fraction(0), Fraction(1))), count=3)], "remove")
    assert apart.delta(2.0).upper == 1.0
    assert apart.epsilon(0.1).lower == math.inf


def test_its_scale_is_not_calibrated() -> None:
    """More noise within the same bound is a smaller loss and a larger mass at infinity."""
    little, much = (truncated_laplace_delta(scale, 5.0, 1.0, 1.0) for scale in (0.8, 5.0))
    assert truncated_laplace_delta(1.5, 5.0, 1.0, 1.0) < min(little, much)
    for parameter in ("scale", "noise"):
        with pytest.raises(hs.InvalidInputError, match="not monotone"):
            hs.calibrate(plan(1.0, 5.0, 1.0), parameter, hs.targets.Epsilon(1.0, delta=0.1))
    assert hs.calibrate(plan(1.0, 40.0, 1.0), "steps", hs.targets.Epsilon(5.0, delta=1e-12)).value == 5


def test_plan_files_know_it() -> None:
    made = hs.Plan([hs.Round(hs.TruncatedLaplace(2.0, 20.0), hs.Poisson(0.01), 10)])
    table = made.to_dict()["round"][0]
    assert table["mechanism"] == "truncated-laplace"
    assert (table["scale"], table["bound"]) == (2.0, 20.0)
    assert hs.Plan.from_dict(made.to_dict()) == made
