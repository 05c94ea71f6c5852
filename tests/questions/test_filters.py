"""Filters: what they allow, what it costs, and what is not allowed to exist."""

from __future__ import annotations

import copy
import math
import pickle
import random
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hockeystick as hs
from hockeystick import filters
from hockeystick.plan.file import rounds_in_order
from hockeystick.plan.mechanisms.registry import MECHANISMS
from hockeystick.questions.filters.base import Spending
from oracle.definitions import DEFINITIONS, OTHER

EVERY: dict[str, dict[str, Any]] = {
    **{name: dict(each.keys) for name, each in DEFINITIONS.items()},
    **{name: keys for name, (_, keys) in OTHER.items()},
}
SAMPLED: tuple[dict[str, Any], ...] = (
    {},
    {"sampling": "poisson", "sample_rate": 0.1},
    {"sampling": "without-replacement", "dataset_size": 100, "batch_size": 10},
)
MAKERS: tuple[Callable[[hs.Adjacency], Spending], ...] = (
    lambda adjacency: filters.PureDpFilter(1.0, adjacency),
    lambda adjacency: filters.ApproximateDpFilter(1.0, 1e-6, adjacency=adjacency),
    lambda adjacency: filters.ZcdpFilter(1.0, adjacency),
    lambda adjacency: filters.GdpFilter(1.0, adjacency),
    lambda adjacency: filters.RdpFilter(order=8.0, budget=1.0, adjacency=adjacency),
    lambda adjacency: filters.Odometer(1e-6, 1.0, adjacency=adjacency),
)
Reaching = type[filters.RdpFilter] | type[filters.ZcdpFilter] | type[filters.GdpFilter]


def test_gaussian_budgets_are_used_up_to_the_last_digit() -> None:
    """A tenth, ten times: no rounding keeps the last one out, and nothing fits after it."""
    budget = filters.GdpFilter(1.0)
    for _ in range(100):
        budget.spend(hs.Round(hs.Gaussian(10.0)))
    assert not budget.allows(hs.Round(hs.Gaussian(1e6)))
    with pytest.raises(hs.BudgetError, match="1 of 1 spent"):
        budget.spend(hs.Round(hs.Gaussian(1e6)))
    assert len(budget.history) == 100
    assert budget.budget_epsilon(1e-6) == pytest.approx(hs.Plan(budget.history).epsilon(1e-6).upper, rel=1e-9)


def test_what_a_filter_allows_costs_no_more_than_it_says() -> None:
    """Of plans fixed beforehand, which are a special case, the certified epsilon is known."""
    rng = random.Random(3)
    budgets: list[filters.PrivacyFilter] = [
        filters.RdpFilter.reaching(epsilon=2.0, delta=1e-6),
        filters.ZcdpFilter(0.1),
        filters.GdpFilter(0.5),
    ]
    for budget in budgets:
        for _ in range(400):
            item = hs.Round(hs.Gaussian(rng.uniform(5, 60)), count=rng.randint(1, 5))
            if budget.allows(item):
                budget.spend(item)
        assert hs.Plan(budget.history).epsilon(1e-6).upper <= budget.budget_epsilon(1e-6)


@pytest.mark.parametrize("sizes", [(1.0, 0.4), (0.02, 0.05)])
def test_what_the_approximate_filter_allows_costs_no_more_than_it_says(sizes: tuple[float, float]) -> None:
    """Few large rounds, which are used up as a sum, and many small ones, of which the squares decide."""
    budget = filters.ApproximateDpFilter(2.0, 1e-6)
    for epsilon in sizes:
        item = hs.Round(hs.ApproximateDP(epsilon, 1e-10))
        while budget.allows(item):
            budget.spend(item)
    assert budget.spent > 1.9
    assert hs.Plan(budget.history).epsilon(1e-6).upper <= 2.0


def test_sampled_rounds_have_a_renyi_budget() -> None:
    budget = filters.RdpFilter.reaching(epsilon=3.0, delta=1e-6, order=7.0)
    item = hs.Round(hs.Gaussian(1.0), hs.Poisson(0.01), count=50)
    while budget.allows(item):
        budget.spend(item)
    plan = hs.Plan(budget.history)
    assert plan.steps > 500
    assert plan.epsilon(1e-6).upper <= 3.0
    assert budget.budget_epsilon(1e-6) <= 3.0
    assert plan.epsilon(1e-6, accountant="rdp").quoted <= 3.0


@settings(deadline=None, max_examples=30)
@given(st.lists(st.sampled_from([0.01, 0.02, 0.05, 0.11, 0.3]), min_size=1, max_size=60), st.floats(0.3, 3.0))
def test_the_approximate_filter_is_the_better_of_two_sums(epsilons: list[float], target: float) -> None:
    """The sum of the epsilons, or that of the rhos, of which a budget of zcdp is the limit: either will do."""
    budget = filters.ApproximateDpFilter(target, 1e-6)
    limit = filters.ZcdpFilter.reaching(target, 5e-7).budget
    total = rho = 0.0
    for epsilon in epsilons:
        item = hs.Round(hs.ApproximateDP(epsilon, 1e-10))
        with_it = rho + epsilon * math.tanh(epsilon / 2)
        if abs(total + epsilon - target) > 1e-9 and abs(with_it - limit) > 1e-9:
            assert budget.allows(item) == (total + epsilon <= target or with_it <= limit)
        if budget.allows(item):
            budget.spend(item)
            total, rho = total + epsilon, with_it
            assert 0 < budget.spent <= target
    assert budget.budget_epsilon(1e-6) == target
    assert budget.budget_epsilon(1e-7) == math.inf


def test_a_few_large_rounds_fit_as_their_sum_and_many_small_ones_as_their_rhos() -> None:
    """Three releases of epsilon 1 from a budget of 3, exactly; or 3453 of 0.01, which add up to 34."""
    budget = filters.ApproximateDpFilter(3, 1e-6)
    large, small = hs.Round(hs.Laplace(1.0)), hs.Round(hs.RandomizedResponse(0.01))
    assert budget.allows(3 * large)
    assert not budget.allows(4 * large)
    most = int(filters.ZcdpFilter.reaching(3.0, 5e-7).budget / (0.01 * math.tanh(0.005)))
    assert most > 3000
    assert budget.allows(most * small)
    assert not budget.allows((most + 1) * small)
    for _ in range(3):
        budget.spend(large)
    assert not budget.allows(small)


def test_the_default_filter_takes_normal_noise() -> None:
    """As a budget of zcdp at the slack does, beside what may fail."""
    budget, limit = filters.ApproximateDpFilter(3.0, 1e-6), filters.ZcdpFilter.reaching(3.0, 5e-7)
    for item in (hs.Round(hs.Gaussian(10.0)), hs.Round(hs.DiscreteGaussian(10.0)), hs.Round(hs.ZCDP(0.01))):
        assert budget.more_of(item) == limit.more_of(item) > 5
    threshold = hs.Round(hs.GaussianThreshold(noise_multiplier=10.0, threshold=60.0, keys=1))
    assert 5 < budget.more_of(threshold) < budget.more_of(hs.Round(hs.Gaussian(10.0))) + 1


def test_the_approximate_filter_counts_delta() -> None:
    budget = filters.ApproximateDpFilter(10.0, 1e-6, slack=4e-7)
    assert budget.allows(hs.Round(hs.ApproximateDP(0.01, 1e-7), count=6))
    assert not budget.allows(hs.Round(hs.ApproximateDP(0.01, 1e-7), count=7))


def test_the_odometer_is_the_line_through_the_formula_at_the_expected_epsilon() -> None:
    """It touches ``R + 2 sqrt(R log(1/delta'))`` where that is the expected epsilon, and lies above elsewhere.

    Before the line comes below it, it is the sum of the epsilons.
    """
    odometer = filters.Odometer(delta=1e-6, expected=1.0)
    log = math.log(2e6)
    touched = math.inf
    for _ in range(400):
        odometer.spend(hs.Round(hs.RandomizedResponse(0.01)))
        count = len(odometer.history)
        rho = 0.01 * math.tanh(0.005) * count
        best = rho + 2 * math.sqrt(rho * log)
        assert odometer.spent >= min(best, 0.01 * count) * (1 - 1e-12)
        assert odometer.spent <= 0.01 * count * (1 + 1e-15)
        touched = min(touched, abs(odometer.spent - best) if count > 100 else math.inf)
    assert touched < 1e-4
    assert hs.Plan(odometer.history).epsilon(1e-6).upper <= odometer.epsilon(1e-6)
    assert odometer.epsilon(9e-7) == math.inf


@pytest.mark.parametrize(
    ("budget", "item"),
    [
        (filters.GdpFilter(1.0), hs.Round(hs.Laplace(1.0))),
        (filters.GdpFilter(1.0), hs.Round(hs.Gaussian(1.0), hs.Poisson(0.1))),
        (filters.ZcdpFilter(1.0), hs.Round(hs.Gaussian(1.0), hs.Poisson(0.1))),
        (filters.ZcdpFilter(1.0), hs.Round(hs.ApproximateDP(0.1, 1e-6))),
        (filters.RdpFilter(order=8.0, budget=1.0), hs.Round(hs.ApproximateDP(0.1, 1e-6))),
        (filters.ApproximateDpFilter(1.0, 1e-6), hs.Round(hs.Gaussian(1.0), hs.Poisson(0.1))),
        (filters.ApproximateDpFilter(1.0, 1e-6), hs.Round(hs.RDP(orders=(2.0,), epsilons=(0.1,)))),
        (filters.PureDpFilter(1.0), hs.Round(hs.Gaussian(1.0))),
        (filters.PureDpFilter(1.0), hs.Round(hs.ApproximateDP(0.1, 1e-6))),
    ],
)
def test_rounds_without_a_proven_cost_are_refused(budget: filters.PrivacyFilter, item: hs.Round) -> None:
    with pytest.raises(hs.UnsupportedError):
        budget.spend(item)
    assert budget.history == ()


def rounds_of_every_mechanism() -> Iterator[hs.Round]:
    """One round of each, and one of each that is sampled, by either scheme."""
    for name, keys in EVERY.items():
        for sampling in SAMPLED:
            try:
                (item,) = rounds_in_order([{"mechanism": name, **keys, **sampling}])
            except hs.InvalidInputError:  # a mechanism that is not sampled
                assert sampling
                continue
            yield item


@pytest.mark.parametrize("adjacency", hs.Adjacency, ids=lambda each: each.value)
def test_a_round_has_a_price_or_a_refusal(adjacency: hs.Adjacency) -> None:
    """Of every mechanism, under each relation; the odometer takes what the default filter takes."""
    budgets = [make(adjacency) for make in MAKERS]
    prices = 0
    for item in rounds_of_every_mechanism():
        answers = {budget.name: answer(budget, item) for budget in budgets}
        assert (answers["odometer"] is None) is (answers["approximate-dp"] is None)
        prices += any(said is None for said in answers.values())
    assert prices >= 15


def test_every_mechanism_has_a_price_somewhere() -> None:
    """None of them, unsampled, is left to no filter under every relation."""
    taken = {
        item.mechanism.name
        for adjacency in hs.Adjacency
        for item in rounds_of_every_mechanism()
        if item.sampling.name == "none" and any(answer(make(adjacency), item) is None for make in MAKERS)
    }
    assert taken == {mechanism.name for mechanism in MECHANISMS}


def answer(budget: Spending, item: hs.Round) -> str | None:
    """The reason for which a round has no price, or none if it has one."""
    try:
        budget.allows(item)
    except hs.UnsupportedError as error:
        return str(error)
    return None


def test_bad_input() -> None:
    with pytest.raises(hs.InvalidInputError):
        filters.GdpFilter(-1.0)
    with pytest.raises(hs.InvalidInputError):
        filters.RdpFilter(order=1.0, budget=1.0)
    with pytest.raises(hs.InvalidInputError):
        filters.ApproximateDpFilter(1.0, 1e-6, slack=1e-5)
    with pytest.raises(hs.InvalidInputError):
        filters.GdpFilter(1.0).allows(3)  # type: ignore[arg-type]


def test_budgets_at_the_ends_of_the_range() -> None:
    """Tiny targets, and deltas whose inverse is no double."""
    item = hs.Round(hs.RandomizedResponse(0.1))
    odometer = filters.Odometer(delta=1e-6, expected=1e-6)
    assert odometer.spent == 0
    odometer = filters.Odometer(delta=2e-300, expected=40.0)
    odometer.spend(item)
    assert 0 < odometer.spent < math.inf
    assert filters.ApproximateDpFilter(100.0, 2e-300).allows(item)
    assert filters.RdpFilter.reaching(100.0, 1e-300).budget_epsilon(1e-300) <= 100.0
    with pytest.raises(hs.InvalidInputError, match="order"):
        filters.RdpFilter.reaching(1.0, 1e-6, order="two")  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", [filters.RdpFilter, filters.ZcdpFilter, filters.GdpFilter])
@pytest.mark.parametrize("delta", [1e-300, 1e-6, 0.5])
@pytest.mark.parametrize("epsilon", [1e-3, 1.0, 1e4])
def test_what_reaches_a_target_does_not_exceed_it(kind: Reaching, delta: float, epsilon: float) -> None:
    """Nor is it far below where the target is no trifle; order 1 + t has lost digits of a small t."""
    reached = kind.reaching(epsilon, delta).budget_epsilon(delta)
    assert reached <= epsilon
    if (epsilon, delta) != (1e-3, 0.5):  # there a budget has epsilon 0 already
        assert reached >= epsilon * (1 - 1e-6)


def test_a_target_that_leaves_no_budget_is_refused() -> None:
    """In one line, by the name of what was given."""
    with pytest.raises(hs.InvalidInputError, match="no mu of at least 1e-06 has epsilon 1e-06 at delta 1e-300"):
        filters.GdpFilter.reaching(1e-6, 1e-300)
    with pytest.raises(hs.InvalidInputError, match="epsilon must be a number from 1e-6 to 1e4"):
        filters.ZcdpFilter.reaching(0.0, 1e-6)
    with pytest.raises(hs.InvalidInputError, match=r"order 2 leaves no budget for epsilon 1\.0"):
        filters.RdpFilter.reaching(1.0, 1e-6, order=2.0)


EACH: list[filters.PrivacyFilter] = [
    filters.PureDpFilter(2.0),
    filters.RdpFilter(order=4.0, budget=2.0),
    filters.ZcdpFilter(2.0),
    filters.GdpFilter(math.sqrt(2)),
    filters.ApproximateDpFilter(2.0, 1e-6),
]


@pytest.mark.parametrize("budget", EACH, ids=lambda each: each.name)
def test_spent_budget_and_remaining_are_in_one_currency(budget: filters.PrivacyFilter) -> None:
    """Nothing is spent at first; then what is spent and what remains make up the budget, each on its safe side."""
    budget = copy.copy(budget)
    assert budget.spent == 0.0
    assert math.nextafter(budget.budget, 0.0) <= budget.remaining <= budget.budget
    gaussian = budget.name in ("rdp", "zcdp", "gdp")
    item = hs.Round(hs.Gaussian(3.0) if gaussian else hs.RandomizedResponse(0.1))
    while budget.allows(item):
        budget.spend(item)
        assert budget.spent + budget.remaining == pytest.approx(budget.budget, rel=1e-15)
    assert 0 < budget.spent <= budget.budget
    assert f"{budget.spent:.6g} of {budget.budget:.6g} spent" in budget.said()
    assert budget.said().startswith(budget.currency)


@pytest.mark.parametrize("budget", EACH, ids=lambda each: each.name)
def test_the_epsilon_of_a_budget_is_the_same_whatever_is_spent(budget: filters.PrivacyFilter) -> None:
    """An ``epsilon`` would be what was spent, as of an odometer, which a filter does not say."""
    assert not hasattr(budget, "epsilon")
    before = budget.budget_epsilon(1e-6)
    other = copy.copy(budget)
    other.spend(hs.Round(hs.RandomizedResponse(0.1) if budget.name != "gdp" else hs.Gaussian(10.0)))
    assert other.budget_epsilon(1e-6) == before


def test_two_numbers_in_a_row_are_no_renyi_budget() -> None:
    """They would read as (epsilon, delta), as they do elsewhere."""
    with pytest.raises(TypeError, match="positional"):
        filters.RdpFilter(3.0, 1e-6)  # type: ignore[call-arg]


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda each: pickle.loads(pickle.dumps(each))])
@pytest.mark.parametrize("each", [*EACH, filters.Odometer(delta=1e-6, expected=1.0)], ids=lambda each: each.name)
def test_a_copy_goes_on_by_itself(each: Spending, copied: Callable[[Spending], Spending]) -> None:
    """It has what was spent before; what is spent after on one of the two is not spent on the other."""
    item = hs.Round(hs.Gaussian(10.0) if each.name == "gdp" else hs.RandomizedResponse(0.1))
    first = copy.copy(each)
    first.spend(item)
    second = copied(first)
    assert list(second.history) == list(first.history) == [item]
    said = first.said()
    assert second.said() == said
    second.spend(2 * item)
    assert list(first.history) == [item]
    assert first.said() == said
    assert list(second.history) == [item, 2 * item]
    first.spend(2 * item)
    assert first.said() == second.said() != said
    assert each.history == ()


def test_a_budget_without_a_delta_is_refused() -> None:
    for delta in (0, -1):
        with pytest.raises(hs.InvalidInputError, match="delta must be a number, at least 1e-300"):
            filters.ApproximateDpFilter(3.0, delta)
