"""The currency filter: prices against closed forms, and adversaries against the theorem."""

from __future__ import annotations

import copy
import math
import random
from collections.abc import Iterator
from fractions import Fraction

import numpy as np
import numpy.typing as npt
import pytest
from scipy.special import ndtr

import hockeystick as hs
from hockeystick.filters import CurrencyFilter
from hockeystick.questions.filters.currency import SHARES, covered, dominated, least_price

BOTH = hs.Adjacency.ADD_OR_REMOVE
RATIOS = np.exp(np.linspace(0.0, 6.0, 20_001))
Array = npt.NDArray[np.float64]


def gaussian(mu: float, a: Array) -> Array:
    """``H_a`` of normal noise at distance mu."""
    epsilon = np.log(a)
    found: Array = ndtr(mu / 2 - epsilon / mu) - a * ndtr(-mu / 2 - epsilon / mu)
    return found


# the inequality


def test_the_referee_s_prices() -> None:
    """Randomised response of 0.5 in rounds of mu 0.1: a price holds at what is left, and not at less."""
    reference, item = hs.Round(hs.Gaussian(10.0)), hs.Round(hs.RandomizedResponse(0.5))
    found = [least_price(reference, item, left, 1e-9, BOTH) for left in (400, 100, 45, 39, 30)]
    assert found == [26, 27, 30, 36, None]


def test_normal_noise_in_rounds_of_normal_noise_costs_its_square() -> None:
    """The least price, on a grid of 20,000 ratios, is found to one round; without slack it is the quotient."""
    rng = random.Random(1)
    reference, mu = hs.Round(hs.Gaussian(20.0)), 1 / 20
    for _ in range(12):
        sigma, left, share = rng.uniform(4.0, 18.0), rng.randint(60, 400), 10 ** rng.uniform(-9, -6)
        whole = gaussian(mu * math.sqrt(left), RATIOS)

        def worst(price: int, sigma: float = sigma, left: int = left, whole: Array = whole) -> float:
            together = math.sqrt(1 / sigma**2 + (left - price) * mu**2)
            return float((gaussian(together, RATIOS) - whole).max())

        least = next(price for price in range(left) if worst(price) <= share)
        found = least_price(reference, hs.Round(hs.Gaussian(sigma)), left, share, BOTH)
        assert found is not None
        assert least <= found <= least + 1
        assert found <= math.ceil(400 / sigma**2) + 1


def test_a_curve_is_covered_only_if_it_is_everywhere() -> None:
    """On nodes where all seems well the curve between them may not be."""
    rng, refused = random.Random(2), 0
    for _ in range(300):
        low = rng.uniform(0.2, 1.0)
        high, share = low * rng.uniform(0.97, 1.03), 10 ** rng.uniform(-8, -3)
        nodes = np.exp(np.linspace(0.0, rng.uniform(2.0, 8.0), rng.randint(5, 400)))
        doubt = 10 ** rng.uniform(-9, -4)
        g = gaussian(high, nodes)
        found = covered(nodes, gaussian(low, nodes) * (1 + doubt), g * (1 - doubt), g * (1 + doubt), share)
        truth = float((gaussian(low, RATIOS) - gaussian(high, RATIOS)).max())
        assert not found or truth <= share
        refused += not found and truth <= share
    assert refused < 250  # it is no constant
    nodes = np.array([1.0, 2.0, 3.0, 4.0, 5.0])
    kinked = np.maximum(2.5 - nodes, 0.0) / 2.5
    straight = np.array([0.6, 0.3, 0.1, 0.0, 0.0])  # below at nodes, above between the second and the third
    assert (straight - kinked <= 0.11).all()
    assert not covered(nodes, straight, kinked, kinked, 0.11)


def test_what_is_not_known_of_a_curve_is_on_its_lower_side() -> None:
    """Between the second and the third node it may be 0.15, through 0.6 and 0.3, where the other one is 0.2."""
    nodes = np.array([1.0, 2.0, 3.0, 4.0, 5.0])
    lower = np.array([0.5, 0.3, 0.1, 0.05, 0.0])
    above = np.array([0.4, 0.3, 0.1, 0.05, 0.0])
    assert not covered(nodes, above, lower, lower + 0.1, 0.04)
    assert covered(nodes, above, lower, lower + 0.1, 0.08)


def test_what_lies_beyond_the_last_node_counts() -> None:
    nodes = np.exp(np.linspace(0.0, 1.0, 50))
    g = gaussian(1.0, nodes)
    assert not covered(nodes, 0.9 * g, g, g, 0.01)
    assert covered(nodes, 0.9 * g, g, g, float(g[-1]))


# prices


def test_the_reference_costs_one_and_so_does_more_noise() -> None:
    reference = hs.Round(hs.Gaussian(1.0), hs.Poisson(0.01))
    budget = CurrencyFilter(reference, 100, 1e-8)
    for item in (5 * reference, hs.Round(hs.Gaussian(1.0), hs.Poisson(batch_size=1, dataset_size=100), count=7)):
        budget.spend(item)
    assert (budget.spent, budget.spent_slack) == (12.0, 0.0)
    budget.spend(hs.Round(hs.Gaussian(1.0 + 1e-9), hs.Poisson(0.01)))
    assert budget.spent == 13.0
    assert budget.allows(87 * reference)
    assert not budget.allows(88 * reference)
    assert budget.allows(hs.Round(hs.Gaussian(0.1), count=0))
    assert not dominated(hs.Round(hs.Gaussian(0.99), hs.Poisson(0.01)), reference)
    assert not dominated(hs.Round(hs.Gaussian(1.0), hs.Poisson(0.011)), reference)
    assert not dominated(hs.Round(hs.Gaussian(1.0)), reference)
    assert not dominated(hs.Round(hs.Gaussian(1.0), hs.Shuffled(steps_per_epoch=100)), reference)
    assert not dominated(hs.Round(hs.Laplace(9.0), hs.Poisson(0.01)), reference)
    assert not dominated(hs.Round(hs.Gaussian(2.0, replace_one_distance=1.0)), hs.Round(hs.Gaussian(1.0)))
    assert dominated(hs.Round(hs.Laplace(2.0), hs.Poisson(0.01)), hs.Round(hs.Laplace(1.0)))


def test_a_price_is_that_at_what_is_left() -> None:
    """The figures of the referee, whose rounds were spent before."""
    budget = CurrencyFilter(hs.Round(hs.Gaussian(10.0)), 400, 1e-6)
    item, prices = hs.Round(hs.RandomizedResponse(0.5)), []
    for left in (400, 100, 45, 39, 30):
        spent = (Fraction(400 - left), Fraction(0))
        prices.append(budget.price(item, hs.Direction.ADD, spent)[0])
    assert prices == [26, 27, 30, 36, 401]


def test_a_budget_of_training_rounds_is_that_of_the_plan_less_the_slack() -> None:
    """874 rounds are allowed where they are fixed beforehand; the moments of one order allow 530."""
    reference = hs.Round(hs.Gaussian(1.0), hs.Poisson(0.01))
    found = CurrencyFilter.reaching(reference, epsilon=2.0, delta=1e-6)
    assert found.limits[0] == 873
    assert CurrencyFilter.reaching(reference, epsilon=2.0, delta=1e-6, slack=1e-12).limits[0] == 874
    assert hs.Plan([874 * reference]).delta(2.0).upper <= 1e-6 < hs.Plan([875 * reference]).delta(2.0).lower
    assert 1.999 < found.budget_epsilon(1e-6) <= 2.0
    assert found.budget_epsilon(1e-8) == math.inf
    kinds = [hs.filters.RdpFilter.reaching(2.0, 1e-6, order=0.25 * order) for order in range(29, 40)]
    assert max(kind.more_of(reference) for kind in kinds) == 530


def test_rounds_without_a_price_are_refused() -> None:
    budget = CurrencyFilter(hs.Round(hs.Gaussian(10.0)), 50, 1e-6)
    with pytest.raises(hs.UnsupportedError, match="does not accept this zcdp round"):
        budget.allows(hs.Round(hs.ZCDP(0.001)))
    assert not budget.allows(hs.Round(hs.ApproximateDP(0.1, 1e-8)))  # it may fail more often than a share of the slack
    assert budget.allows(hs.Round(hs.ApproximateDP(0.1, 1e-11)))
    assert not budget.allows(hs.Round(hs.Gaussian(0.5)))
    # of a run of cyclic batches a record is in a quarter, of single ones it may be in all
    cyclic = hs.Round(hs.Gaussian(1.0), hs.CyclicPoisson(groups=4, sample_rate=0.01))
    for wrong in (hs.Round(hs.RandomizedResponse(0.1)), hs.Round(hs.SparseVector(0.1, 3)), cyclic):
        with pytest.raises(hs.UnsupportedError, match="cannot be a reference"):
            CurrencyFilter(wrong, 10, 1e-6)
    with pytest.raises(hs.InvalidInputError, match="even one round of the reference"):
        CurrencyFilter.reaching(hs.Round(hs.Gaussian(0.1)), 1.0, 1e-6)
    with pytest.raises(hs.InvalidInputError, match="rounds must be"):
        CurrencyFilter(hs.Round(hs.Gaussian(1.0)), 0, 1e-6)


def test_the_slack_is_used_up_by_a_thousand_rounds_of_another_kind() -> None:
    budget = CurrencyFilter(hs.Round(hs.Gaussian(10.0)), 1000, 1e-6)
    small = hs.Round(hs.RandomizedResponse(1e-3))
    budget.spend(small)
    assert budget.spent_slack == pytest.approx(1e-6 / SHARES)
    budget._sums = {direction: (amounts[0], budget.limits[1]) for direction, amounts in budget._sums.items()}
    assert not budget.allows(small)
    assert budget.allows(hs.Round(hs.Gaussian(10.0)))


# the theorem


ITEMS = (
    hs.Round(hs.RandomizedResponse(0.5)),
    hs.Round(hs.RandomizedResponse(0.3)),
    hs.Round(hs.ApproximateDP(0.2, 2e-6)),
)
CHANCES = dict(zip(ITEMS, (0.5, 0.3, 0.2), strict=True))


def outcomes(item: hs.Round) -> Iterator[tuple[float, float]]:
    """Probabilities of the outcomes of a round, with the record and without it."""
    epsilon, delta = CHANCES[item], 2e-6 if item is ITEMS[2] else 0.0
    more = (1 - delta) / (1 + math.exp(-epsilon))
    yield from ((more, 1 - delta - more), (1 - delta - more, more))
    if delta:
        yield from ((delta, 0.0), (0.0, delta))


@pytest.mark.share(25)
@pytest.mark.parametrize("seed", range(500))
def test_whoever_chooses_by_what_was_seen_stays_within_the_budget(seed: int) -> None:
    """All paths of a random adversary: the sum over them of ``(p - a q)_+`` is at most ``H_a(R^N)`` and the slack."""
    rng = random.Random(seed)
    start = CurrencyFilter(hs.Round(hs.Gaussian(10.0)), 90, slack := 5e-3)
    paths: list[tuple[float, float]] = []

    def go(budget: CurrencyFilter, p: float, q: float, depth: int) -> None:
        fitting = [item for item in ITEMS if depth < 6 and budget.allows(item)]
        if not fitting or (depth and rng.random() < 0.05):
            paths.append((p, q))
            return
        item = rng.choice(fitting)
        after = copy.copy(budget)
        after.spend(item)
        for more, less in outcomes(item):
            go(after, p * more, q * less, depth + 1)

    go(start, 1.0, 1.0, 0)
    p, q = np.array(paths).T
    assert p.sum() == pytest.approx(1.0)
    for a in np.exp(np.linspace(-3.0, 3.0, 61)):
        whole = gaussian(math.sqrt(0.9), np.array([a]))[0]
        assert np.maximum(p - a * q, 0.0).sum() <= whole + slack
    assert len(paths) > 1


@pytest.mark.share(25)
@pytest.mark.parametrize("seed", range(100))
def test_what_a_currency_allowed_costs_no_more_than_it_says(seed: int) -> None:
    """Sampled rounds, normal and Laplace noise in any order, of which the certified curve is known."""
    rng = random.Random(seed)
    reference = hs.Round(hs.Gaussian(1.0), hs.Poisson(0.02))
    budget = CurrencyFilter(reference, 200, 1e-6)
    for _ in range(6):
        item = rng.choice(
            [
                hs.Round(
                    hs.Gaussian(rng.uniform(0.8, 1.5)), hs.Poisson(rng.uniform(0.005, 0.02)), count=rng.randint(1, 80)
                ),
                hs.Round(hs.Gaussian(rng.uniform(15.0, 40.0))),
                hs.Round(hs.Laplace(rng.uniform(30.0, 80.0))),
                rng.randint(1, 60) * reference,
            ]
        )
        if budget.allows(item):
            budget.spend(item)
    epsilon = np.linspace(0.0, 2.5, 26)
    found = hs.Plan(budget.history).profile().delta(epsilon)
    whole = hs.Plan([200 * reference]).profile().delta(epsilon)
    assert (found.lower <= whole.upper + 1e-6).all()
