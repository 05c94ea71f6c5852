"""Filters: what they allow, what it costs, and what is not allowed to exist."""

from __future__ import annotations

import math
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hockeystick as hs
from hockeystick import filters


def test_gaussian_budgets_are_used_up_to_the_last_digit() -> None:
    """A tenth, ten times: no rounding keeps the last one out, and nothing fits after it."""
    budget = filters.GdpFilter(1.0)
    for _ in range(100):
        budget.spend(hs.Round(hs.Gaussian(10.0)))
    assert not budget.allows(hs.Round(hs.Gaussian(1e6)))
    with pytest.raises(hs.BudgetError, match="1 of 1 is spent"):
        budget.spend(hs.Round(hs.Gaussian(1e6)))
    assert len(budget.history) == 100
    assert budget.epsilon(1e-6) == pytest.approx(hs.Plan(budget.history).epsilon(1e-6).upper, rel=1e-9)


def test_what_a_filter_allows_costs_no_more_than_it_says() -> None:
    """Of plans fixed beforehand, which are a special case, the certified epsilon is known."""
    rng = random.Random(3)
    for budget in (
        filters.RdpFilter.reaching(epsilon=2.0, delta=1e-6),
        filters.ZcdpFilter(0.1),
        filters.GdpFilter(0.5),
    ):
        for _ in range(400):
            item = hs.Round(hs.Gaussian(rng.uniform(5, 60)), count=rng.randint(1, 5))
            if budget.allows(item):
                budget.spend(item)
        assert hs.Plan(budget.history).epsilon(1e-6).upper <= budget.epsilon(1e-6)


def test_sampled_rounds_have_a_renyi_budget() -> None:
    budget = filters.RdpFilter.reaching(epsilon=3.0, delta=1e-6, order=7.0)
    item = hs.Round(hs.Gaussian(1.0), hs.Poisson(0.01), count=50)
    while budget.allows(item):
        budget.spend(item)
    plan = hs.Plan(budget.history)
    assert plan.steps > 500
    assert plan.epsilon(1e-6).upper <= 3.0
    assert budget.epsilon(1e-6) <= 3.0
    assert plan.epsilon(1e-6, accountant="rdp").quoted <= 3.0


@settings(deadline=None, max_examples=30)
@given(st.lists(st.floats(0.01, 0.3), min_size=1, max_size=60), st.floats(0.3, 3.0))
def test_the_approximate_filter_is_the_published_formula(epsilons: list[float], target: float) -> None:
    budget = filters.ApproximateDpFilter(target, 1e-6)
    squares = 0.0
    for epsilon in epsilons:
        item = hs.Round(hs.ApproximateDP(epsilon, 1e-10))
        would = squares + epsilon**2
        spent = math.sqrt(2 * math.log(2e6) * would) + would / 2
        if abs(spent - target) > 1e-9:
            assert budget.allows(item) == (spent <= target)
        if budget.allows(item):
            budget.spend(item)
            squares = would
    if budget.history:
        assert hs.Plan(budget.history).epsilon(1e-6).upper <= target
    assert budget.epsilon(1e-6) == target
    assert budget.epsilon(1e-7) == math.inf


def test_the_approximate_filter_counts_delta() -> None:
    budget = filters.ApproximateDpFilter(10.0, 1e-6, slack=4e-7)
    assert budget.allows(hs.Round(hs.ApproximateDP(0.01, 1e-7), count=6))
    assert not budget.allows(hs.Round(hs.ApproximateDP(0.01, 1e-7), count=7))


def test_the_odometer_is_the_line_through_the_formula_at_the_expected_epsilon() -> None:
    """It touches sqrt(2 log(1/delta') S) + S/2 where that is the expected epsilon, and lies above elsewhere."""
    odometer = filters.Odometer(delta=1e-6, expected=1.0)
    log = math.log(2e6)
    touched = math.inf
    for _ in range(400):
        odometer.spend(hs.Round(hs.RandomizedResponse(0.01)))
        s = 1e-4 * len(odometer.history)
        best = math.sqrt(2 * log * s) + s / 2
        assert odometer.spent >= best * (1 - 1e-12)
        touched = min(touched, odometer.spent - best)
    assert touched < 1e-4
    assert hs.Plan(odometer.history).epsilon(1e-6).upper <= odometer.epsilon(1e-6)


@pytest.mark.parametrize("name", ["curve", "pld", "prv", "f-dp"])
def test_the_filter_on_realised_curves_is_refused_with_the_reason(name: str) -> None:
    with pytest.raises(hs.UnsupportedError, match=r"not valid when later parameters depend.*2602\.06756"):
        filters.privacy_filter(name, epsilon=1.0, delta=1e-6)


def test_filters_by_name() -> None:
    assert filters.privacy_filter("zcdp", budget=0.5).name == "zcdp"
    with pytest.raises(hs.InvalidInputError, match="filter must be one of"):
        filters.privacy_filter("gpd", budget=0.5)


@pytest.mark.parametrize(
    ("budget", "item"),
    [
        (filters.GdpFilter(1.0), hs.Round(hs.Laplace(1.0))),
        (filters.GdpFilter(1.0), hs.Round(hs.Gaussian(1.0), hs.Poisson(0.1))),
        (filters.ZcdpFilter(1.0), hs.Round(hs.Gaussian(1.0), hs.Poisson(0.1))),
        (filters.ZcdpFilter(1.0), hs.Round(hs.ApproximateDP(0.1, 1e-6))),
        (filters.RdpFilter(8.0, 1.0), hs.Round(hs.ApproximateDP(0.1, 1e-6))),
        (filters.ApproximateDpFilter(1.0, 1e-6), hs.Round(hs.Gaussian(1.0))),
    ],
)
def test_rounds_without_a_proven_cost_are_refused(budget: filters.PrivacyFilter, item: hs.Round) -> None:
    with pytest.raises(hs.UnsupportedError):
        budget.spend(item)
    assert budget.history == ()


def test_bad_input() -> None:
    with pytest.raises(hs.InvalidInputError):
        filters.GdpFilter(-1.0)
    with pytest.raises(hs.InvalidInputError):
        filters.RdpFilter(1.0, 1.0)
    with pytest.raises(hs.InvalidInputError):
        filters.ApproximateDpFilter(1.0, 1e-6, slack=1e-5)
    with pytest.raises(hs.InvalidInputError):
        filters.GdpFilter(1.0).allows(3)  # type: ignore[arg-type]


def test_budgets_at_the_ends_of_the_range() -> None:
    """Tiny targets, and deltas whose inverse is no double."""
    item = hs.Round(hs.RandomizedResponse(0.1))
    odometer = filters.Odometer(delta=1e-6, expected=1e-20)
    assert odometer.spent == 0
    odometer = filters.Odometer(delta=2e-310, expected=40.0)
    odometer.spend(item)
    assert 0 < odometer.spent < math.inf
    assert filters.ApproximateDpFilter(100.0, 2e-310).allows(item)
    assert filters.RdpFilter.reaching(100.0, 1e-310).epsilon(1e-310) <= 100.0
    with pytest.raises(hs.InvalidInputError, match="order"):
        filters.RdpFilter.reaching(1.0, 1e-6, order="two")  # type: ignore[arg-type]


@pytest.mark.parametrize("epsilon", [1e-3, 1.0, 1e6, 1e8, 1e10])
def test_what_reaches_a_target_does_not_exceed_it(epsilon: float) -> None:
    """The budget is that at the order as it is kept: 1 + t has lost digits of a small t."""
    assert filters.RdpFilter.reaching(epsilon, 1e-6).epsilon(1e-6) <= epsilon
