"""Each comparison and each rounding of the filters, on inputs on which it decides.

Truths are rational numbers, or of 60 digits; parameters are the decimals they print as.
"""

from __future__ import annotations

import math
import random
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import mpmath
import pytest

import hockeystick as hs
from hockeystick import filters
from hockeystick.pairs import GaussianPair
from hockeystick.plan.mechanisms import Mechanism
from hockeystick.plan.mechanisms.base import Claim, Status
from hockeystick.questions.filters import conversion
from hockeystick.questions.filters.additive import _log
from hockeystick.questions.filters.base import rounded_down, rounded_up
from hockeystick.questions.filters.costs import BEYOND, Costs, costs_of, square_of
from hockeystick.values.adjacency import Direction
from hockeystick.values.exact import decimal

mpmath.mp.dps = 60
DRAWS = 200  # of which about half decide where one rounding does


def exactly(value: Fraction) -> mpmath.mpf:
    return mpmath.mpf(value.numerator) / value.denominator


def largest_rho(epsilon: mpmath.mpf, slack: mpmath.mpf) -> mpmath.mpf:
    """The largest rho with ``t (1 + t) rho - t eps + t log t - (1 + t) log(1 + t) <= log slack`` for some t."""

    def rho(t: mpmath.mpf) -> mpmath.mpf:
        return (mpmath.log(slack) + t * epsilon - t * mpmath.log(t) + (1 + t) * mpmath.log1p(t)) / (t * (1 + t))

    start = float(-2 * mpmath.log(slack) / epsilon)
    low, high = mpmath.mpf(start / 100), mpmath.mpf(start * 100)
    for _ in range(300):  # a golden section: rho has one maximum
        left, right = (
            high - (high - low) * mpmath.mpf("0.618033988749894848"),
            low + (high - low) * mpmath.mpf("0.618033988749894848"),
        )
        low, high = (low, right) if rho(left) > rho(right) else (left, high)
    return rho(low)


def below(truth: mpmath.mpf) -> float:
    """The largest double that is below a number."""
    near = float(truth)
    return near if mpmath.mpf(near) < truth else math.nextafter(near, -math.inf)


# sums


def test_decimals_are_rounded_to_the_side_that_is_asked() -> None:
    """The nearest double that prints as no less, and as no more; itself where it prints as the number."""
    rng = random.Random(1)
    for _ in range(DRAWS):
        value = Fraction(rng.randint(1, 10**9), rng.randint(1, 10**9))
        up, down = rounded_up(value), rounded_down(value)
        assert decimal(down) <= value <= decimal(up)
        assert decimal(math.nextafter(up, 0.0)) < value < decimal(math.nextafter(down, math.inf))
    assert rounded_up(decimal(0.1)) == rounded_down(decimal(0.1)) == 0.1
    assert rounded_up(Fraction(10) ** 400) == math.inf


def test_pure_epsilons_are_used_up_to_the_last_digit() -> None:
    """What remains is what one more round may have, and no double more; the sum of 0.1 thrice is 0.3."""
    budget = filters.PureDpFilter(0.3)
    assert budget.allows(hs.Round(hs.RandomizedResponse(0.1), count=3))
    assert filters.PureDpFilter(1.0).allows(hs.Round(hs.Laplace(3.0), count=3))
    rng = random.Random(2)
    for _ in range(30):
        budget = filters.PureDpFilter(rng.uniform(1.0, 2.0))
        for _ in range(5):
            budget.spend(hs.Round(hs.RandomizedResponse(rng.uniform(0.0, 0.2))))
        assert budget.allows(hs.Round(hs.RandomizedResponse(budget.remaining)))
        assert not budget.allows(hs.Round(hs.RandomizedResponse(math.nextafter(budget.remaining, 2.0))))


def test_the_worse_direction_decides() -> None:
    """A sampled round costs more where a record is removed; each direction has the budget for itself."""
    item = hs.Round(hs.Laplace(1.0), hs.Poisson(0.1))
    for make in (filters.PureDpFilter, lambda *args: filters.RdpFilter(order=5.0, budget=args[0], adjacency=args[1])):
        both, add, remove = (make(1.0, adjacency) for adjacency in ("add-or-remove", "add", "remove"))
        for each in (both, add, remove):
            each.spend(2 * item)
        assert add.spent < remove.spent == both.spent
        assert both.remaining == remove.remaining < add.remaining
        limit = make(both.spent, "add-or-remove")
        assert limit.allows(2 * item)
        assert not limit.allows(3 * item)


def test_the_renyi_divergences_of_rounds_add_up_exactly() -> None:
    """A tiny round after a large one is not lost in a rounding, however often, and the last one may fit exactly."""
    order, large, tiny = 5.0, hs.Round(hs.Gaussian(1.0)), hs.Round(hs.Gaussian(1e6))
    costs = [Fraction(item.pair(Direction.ADD).log_moment(order - 1)) / 4 for item in (large, tiny)]
    budget = filters.RdpFilter(order=order, budget=10.0)
    budget.spend(large)
    for count in range(1, 50):
        budget.spend(tiny)
        assert decimal(budget.spent) >= costs[0] + count * costs[1]
    assert budget.spent == rounded_up(costs[0] + 49 * costs[1])
    full = filters.RdpFilter(order=order, budget=rounded_up(costs[0]))
    assert full.allows(large)
    full.spend(large)
    room = decimal(full.budget) - costs[0]
    fit = int(room / costs[1])
    assert full.allows(fit * tiny)
    assert not full.allows((fit + 1) * tiny)
    assert not filters.RdpFilter(order=order, budget=math.nextafter(rounded_down(costs[0]), 0.0)).allows(large)


def test_a_count_multiplies_the_cost() -> None:
    """Of every sum."""
    item = hs.Round(hs.ApproximateDP(0.1, 1e-8))
    once, at_once = (filters.ApproximateDpFilter(5.0, 1e-6) for _ in range(2))
    for _ in range(7):
        once.spend(item)
    at_once.spend(7 * item)
    assert once.said() == at_once.said()
    assert (once.spent, once.spent_delta) == (0.7, 7e-8)


def test_an_infinite_bound_fits_no_budget_unless_it_is_never_run() -> None:
    """The moment of a round of little noise is beyond all doubles at a high order."""
    budget = filters.RdpFilter(order=1e160, budget=1.7e308)
    assert not budget.allows(hs.Round(hs.Gaussian(0.01)))
    assert budget.allows(hs.Round(hs.Gaussian(0.01), count=0))


# what a round satisfies


def test_losses_of_sampled_rounds_are_charged_with_their_roundings() -> None:
    """``log(1 + q (e^epsilon - 1))`` is never below the truth, and hardly above."""
    rng = random.Random(3)
    for _ in range(DRAWS):
        epsilon, rate = rng.uniform(0.01, 3.0), 10 ** rng.uniform(-6, -0.01)
        item = hs.Round(hs.RandomizedResponse(epsilon), hs.Poisson(rate))
        top = mpmath.log1p(exactly(decimal(rate)) * mpmath.expm1(exactly(decimal(epsilon))))
        pure = filters.PureDpFilter(10.0)
        pure.spend(item)
        assert 0 <= pure.spent - top <= 1e-12 * top
        lowest = -mpmath.log1p(exactly(decimal(rate)) * mpmath.expm1(-exactly(decimal(epsilon))))
        for direction, truth in ((Direction.REMOVE, top), (Direction.ADD, lowest)):
            assert 0 <= exactly(costs_of(item, direction).loss) - truth <= 1e-12 * truth


def test_a_sampled_black_box_is_found_out_by_its_losses_where_it_does_not_fail() -> None:
    """Without its record a sampled black box of (0, 0.9) is never found out, but it is likelier by log 2 to be so.

    Its losses are 0 and log 2 where a record is added, mostly log 2: 99 rounds exceed 61 more often than not. No mass
    fails in that order, and the rho is that of losses of log 2.
    """
    item = hs.Round(hs.ApproximateDP(0.0, 0.9), hs.Poisson(0.5))
    law = {i * math.log(2): math.comb(99, i) * 0.9**i * 0.1 ** (99 - i) for i in range(100)}
    assert sum(-mass * math.expm1(61 - loss) for loss, mass in law.items() if loss > 61) > 0.3
    for adjacency in ("add", "remove", "add-or-remove"):
        assert not filters.ApproximateDpFilter(61.0, 1e-6, adjacency=adjacency).allows(99 * item)
    added = costs_of(item, Direction.ADD)
    assert added.failing == 0
    assert float(added.loss) == pytest.approx(math.log(2))
    for t in (1e-3, 0.1, 1.0, 10.0, 100.0):  # K(t) <= t (1 + t) rho, for a law of two losses
        assert math.log(0.1 + 0.9 * 2.0**t) <= t * (1 + t) * float(added.rho) * (1 + 1e-12)
    assert float(costs_of(item, Direction.REMOVE).failing) == pytest.approx(0.45)


def test_the_mass_that_fails_is_charged_with_its_roundings() -> None:
    """Of a sampled black box, q delta as decimals: never below, though it comes out of logarithms."""
    rng = random.Random(4)
    for _ in range(DRAWS):
        delta, rate = 10 ** rng.uniform(-100, -1), 10 ** rng.uniform(-6, -0.01)
        box = hs.ApproximateDP(0.1, delta)
        lost = costs_of(hs.Round(box, hs.Poisson(rate)), Direction.REMOVE).failing
        truth = decimal(delta) * decimal(rate)
        assert 0 <= lost - truth <= truth / 10**11 + 1000 * Fraction(5e-324)
        assert costs_of(hs.Round(box), Direction.REMOVE).failing == decimal(delta)


def test_a_mass_that_fails_below_all_doubles_is_charged() -> None:
    """It is no double, and the nearest one may be less."""
    for numerator in (1, 3, 5, 7):
        mass = Fraction(numerator, 4 * 2**1074)
        item = hs.Round(hs.Pmf(p=(1 - mass, mass), q=(Fraction(1), Fraction(0))))
        assert mass <= costs_of(item, Direction.REMOVE).failing <= 10 * Fraction(5e-324)


def test_deltas_are_used_up_to_the_last_digit() -> None:
    """Ten times 1e-7 of 1e-6, and not a trifle more; all of delta may be slack, but no more."""
    item = hs.Round(hs.ApproximateDP(0.001, 1e-7))
    for make in (
        lambda slack: filters.ApproximateDpFilter(1.0, 2e-6, slack=slack),
        lambda slack: filters.Odometer(delta=2e-6, expected=1.0, slack=slack),
    ):
        budget = make(1e-6)
        assert budget.budget_delta == 1e-6
        for _ in range(10):
            budget.spend(item)
        assert budget.spent_delta == 1e-6
        assert not budget.allows(hs.Round(hs.ApproximateDP(0.0, 1e-100)))
        assert budget.allows(hs.Round(hs.ApproximateDP(0.0, 0.0)))
        assert make(2e-6).budget_delta == 0.0
        with pytest.raises(hs.InvalidInputError, match="slack must be at most delta"):
            make(math.nextafter(2e-6, 1.0))


# formulas


def test_the_rho_of_many_rounds_is_used_up_and_not_exceeded() -> None:
    """Against the best order in 60 digits, to 1e-8. Of 2000 rounds, so that the sum of their epsilons is no help."""
    rng = random.Random(5)
    for _ in range(20):
        epsilon, slack = rng.uniform(0.1, 3.0), 10 ** rng.uniform(-9, -3)
        rho = largest_rho(mpmath.mpf(epsilon), exactly(decimal(slack)))
        size = mpmath.findroot(lambda x, rho=rho: 2000 * x * mpmath.tanh(x / 2) - rho, mpmath.sqrt(rho / 1000))
        budget = filters.ApproximateDpFilter(epsilon, 0.5, slack=slack)
        assert budget.allows(hs.Round(hs.RandomizedResponse(float(size * (1 - mpmath.mpf("5e-9")))), count=2000))
        assert not budget.allows(hs.Round(hs.RandomizedResponse(float(size * (1 + mpmath.mpf("1e-12")))), count=2000))


def test_more_is_allowed_than_by_the_published_formula() -> None:
    """``sqrt(2 log(1/delta') S) + S/2``, S the sum of the squared epsilons [WRRW23]."""
    rng = random.Random(6)
    for _ in range(50):
        epsilon, slack = rng.uniform(0.001, 0.05), 10 ** rng.uniform(-9, -3)
        squares = 2000 * epsilon**2
        formula = math.sqrt(-2 * math.log(slack) * squares) + squares / 2
        item = hs.Round(hs.RandomizedResponse(epsilon), count=2000)
        assert filters.ApproximateDpFilter(formula, 0.5, slack=slack).allows(item)


def test_what_was_spent_is_a_target_that_allows_it() -> None:
    """Just: no double below it does if it is a sum of epsilons, nor does a millionth less if it is by rho."""
    for item, less in (
        (hs.Round(hs.Laplace(3.0), count=2), 1e-16),
        (hs.Round(hs.RandomizedResponse(0.01), count=1000), 1e-6),
    ):
        budget = filters.ApproximateDpFilter(3.0, 1e-6)
        budget.spend(item)
        assert filters.ApproximateDpFilter(budget.spent * (1 + less), 1e-6).allows(item)
        assert not filters.ApproximateDpFilter(math.nextafter(budget.spent * (1 - less), 0.0), 1e-6).allows(item)


def test_the_sum_of_epsilons_may_be_the_target_and_no_more() -> None:
    """Exactly: thirty of 0.1 are 3."""
    budget = filters.ApproximateDpFilter(3.0, 1e-100)
    for _ in range(30):
        budget.spend(hs.Round(hs.RandomizedResponse(0.1)))
    assert (budget.spent, budget.remaining) == (3.0, 0.0)
    assert not budget.allows(hs.Round(hs.RandomizedResponse(1e-6)))


def test_the_odometer_is_rounded_up() -> None:
    """Where its line touches ``R + 2 sqrt(R log(1/delta'))`` it is nowhere below it."""
    rng = random.Random(6)
    for _ in range(DRAWS):
        expected, slack = 10 ** rng.uniform(-2, 1), 10 ** rng.uniform(-9, -3)
        log = -mpmath.log(exactly(decimal(slack)))
        root = mpmath.mpf(expected) / (mpmath.sqrt(log + expected) + mpmath.sqrt(log))
        start = root * mpmath.sqrt(2) / 1000
        touching = mpmath.findroot(lambda x, rho=root**2: 10**6 * x * mpmath.tanh(x / 2) - rho, start)
        epsilon = float(touching)  # a million of these are where the line touches
        odometer = filters.Odometer(delta=0.5, expected=expected, slack=slack)
        odometer.spend(hs.Round(hs.RandomizedResponse(epsilon), count=10**6))
        size = exactly(decimal(epsilon))
        rho = 10**6 * size * mpmath.tanh(size / 2)
        formula = rho + 2 * mpmath.sqrt(rho * log)
        assert 0 <= odometer.spent - formula <= 1e-12 * formula
        tilt, rho_ = mpmath.mpf(odometer._tilt), Fraction(rng.uniform(0.1, 1.0))
        assert odometer._line(rho_) >= (1 + tilt) * exactly(rho_) + log / tilt


def test_renyi_divergences_become_epsilons_on_the_safe_side() -> None:
    """``D + (t log t - (1 + t) log(1 + t) - log delta) / t``, and back, so that either is the other's."""
    rng = random.Random(7)
    for _ in range(DRAWS):
        t, delta, divergence = 10 ** rng.uniform(-3, 3), 10 ** rng.uniform(-12, -2), 10 ** rng.uniform(-3, 2)
        exact = mpmath.mpf(t)
        rest = (exact * mpmath.log(exact) - (1 + exact) * mpmath.log1p(exact) - mpmath.log(mpmath.mpf(delta))) / exact
        epsilon = conversion.epsilon_of(divergence, t, delta)
        assert epsilon >= max(divergence + rest, 0)
        assert epsilon <= max(divergence + rest, 0) + 1e-11 * (divergence + abs(rest) + 10 / t)
        target = abs(float(rest)) + divergence
        back = conversion.divergence_within(target, t, delta)
        assert back + rest <= target
        assert conversion.epsilon_of(max(back, 0.0), t, delta) <= max(target, float(max(rest, 0)))


def test_the_epsilon_of_a_renyi_budget_is_that_of_the_conversion() -> None:
    """All of it, whatever was spent; likewise rho, at the best order."""
    budget = filters.RdpFilter(order=8.0, budget=0.7)
    assert budget.budget_epsilon(1e-6) == conversion.epsilon_of(0.7, 7.0, 1e-6)
    found = filters.ZcdpFilter(0.3).budget_epsilon(1e-6)
    each = [conversion.epsilon_of((1 + 0.01 * i) * 0.3, 0.01 * i, 1e-6) for i in range(1, 3000)]
    assert min(each) * (1 - 1e-6) <= found <= min(each)


def test_the_epsilon_of_a_gaussian_budget_is_that_of_its_curve() -> None:
    """``Phi(mu/2 - eps/mu) - e^eps Phi(-mu/2 - eps/mu)`` is at most delta there, and is not just below."""
    rng = random.Random(8)
    for _ in range(20):
        mu, delta = 10 ** rng.uniform(-1, 0.7), 10 ** rng.uniform(-12, -3)
        found = filters.GdpFilter(mu).budget_epsilon(delta)
        for epsilon, within in ((found, True), (found * (1 - 1e-10), False)):
            m, e = mpmath.mpf(mu), mpmath.mpf(epsilon)
            curve = mpmath.ncdf(m / 2 - e / m) - mpmath.exp(e) * mpmath.ncdf(-m / 2 - e / m)
            assert (curve <= mpmath.mpf(delta)) is within


def test_the_log_of_a_target_delta_is_rounded_down() -> None:
    """An epsilon at a log delta that is above that of the target would be too small."""
    rng = random.Random(9)
    for _ in range(DRAWS):
        delta = 10 ** rng.uniform(-300, -0.1)
        found, truth = mpmath.mpf(_log(delta)), mpmath.log(mpmath.mpf(delta))
        assert 0 <= truth - found <= -1e-15 * truth


@dataclass(frozen=True)
class Shift(Mechanism):
    """A Gaussian experiment whose distance was computed: it is known to some roundings."""

    mu: float = 0.1
    name: ClassVar[str] = "shift"
    claims: ClassVar[Mapping[Direction, Claim]] = dict.fromkeys(Direction, Claim(Status.TIGHT, "a test"))

    def pair(self, direction: Direction) -> GaussianPair:
        return GaussianPair(self.mu)

    def with_against_without(self) -> GaussianPair:
        return GaussianPair(self.mu)


def test_a_distance_that_was_computed_is_charged_with_its_roundings() -> None:
    """Two units in its last place: 0.1 ten times squared does not fit 0.1 as it would if it were written so."""
    budget = filters.GdpFilter(0.1)
    assert budget.allows(hs.Round(hs.Gaussian(10.0)))
    assert not budget.allows(hs.Round(Shift(0.1)))
    wide = filters.GdpFilter(1.0)
    wide.spend(hs.Round(Shift(0.1)))
    assert wide.spent >= (0.1 + 2 * math.ulp(0.1)) ** 2


def test_rho_of_noise_is_half_the_square_of_its_distance() -> None:
    """Exactly, as decimals: continuous or discrete, by its guarantee, and of keys above a threshold."""
    for item in (hs.Round(hs.Gaussian(10.0)), hs.Round(hs.DiscreteGaussian(10.0)), hs.Round(hs.ZCDP(0.005))):
        budget = filters.ZcdpFilter(0.05)
        budget.spend(10 * item)
        assert budget.spent == 0.05
        assert budget.remaining == 0.0
    for mechanism, rho in (
        (hs.DiscreteGaussian(2.0, sensitivity=7), Fraction(1, 8)),
        (hs.GDP(0.3), Fraction(45, 1000)),
        (hs.GaussianThreshold(noise_multiplier=4.0, threshold=40.0, keys=3), Fraction(3, 32)),
        (hs.GaussianThreshold(noise_multiplier=4.0, threshold=40.0, keys=3, noise="integer"), Fraction(3, 32)),
        (hs.Exponential(0.4), Fraction(16, 800)),
    ):
        found = costs_of(hs.Round(mechanism), Direction.REMOVE).rho
        assert rho <= found <= rho * (1 + Fraction(1, 10**14))
    replaced = costs_of(hs.Round(hs.DiscreteGaussian(2.0, sensitivity=7)), Direction.REPLACE_ONE).rho
    assert replaced == Fraction(4, 8)


def test_rho_of_a_largest_loss_is_the_least_one() -> None:
    """``epsilon tanh(epsilon / 2)``, and ``theta - 1 + e^-theta`` of Laplace noise: never below, hardly above."""
    rng = random.Random(10)
    for _ in range(DRAWS):
        epsilon = 10 ** rng.uniform(-3, 1)
        size, scale = exactly(decimal(epsilon)), 1 / epsilon
        theta = 1 / exactly(decimal(scale))
        for mechanism, truth in (
            (hs.RandomizedResponse(epsilon), size * mpmath.tanh(size / 2)),
            (hs.ApproximateDP(epsilon, 1e-9), size * mpmath.tanh(size / 2)),
            (hs.Laplace(scale), theta - 1 + mpmath.exp(-theta)),
            (hs.LaplaceThreshold(scale=scale, threshold=1 + 20 * scale, keys=3), 3 * (theta - 1 + mpmath.exp(-theta))),
        ):
            found = exactly(costs_of(hs.Round(mechanism), Direction.ADD).rho)
            assert 0 <= found - truth <= 1e-9 * truth


def test_divergences_that_are_given_are_charged() -> None:
    """At their own order, between two of them by the chord, and above the last not at all."""
    given = hs.Round(hs.RDP(orders=(2.0, 3.0), epsilons=(0.1, 0.2)))
    for order, cost in ((2.0, "1/10"), (3.0, "1/5"), (2.5, "1/6"), (1.5, "1/10")):
        budget = filters.RdpFilter(order=order, budget=1.0)
        budget.spend(given)
        assert 0 <= decimal(budget.spent) - Fraction(cost) <= Fraction(cost) / 10**12
    assert not filters.RdpFilter(order=4.0, budget=1e9).allows(given)
    discrete, continuous = (hs.Round(kind(5.0)) for kind in (hs.DiscreteGaussian, hs.Gaussian))
    budgets = [filters.RdpFilter(order=8.0, budget=1.0) for _ in range(2)]
    for budget, item in zip(budgets, (discrete, continuous), strict=True):
        budget.spend(item)
    assert budgets[0].spent == pytest.approx(8 / 50, rel=1e-12) == budgets[1].spent


def test_a_threshold_fails_where_a_key_is_one_s_own() -> None:
    """Of each of the keys with its probability, and half the square for each."""
    item = hs.Round(hs.GaussianThreshold(noise_multiplier=2.0, threshold=11.0, keys=3))
    own = mpmath.ncdf(-5)
    found = costs_of(item, Direction.REMOVE)
    assert 0 <= exactly(found.failing) - 3 * own <= 1e-9 * own
    assert found.loss >= BEYOND
    lower = costs_of(hs.Round(hs.LaplaceThreshold(scale=2.0, threshold=21.0, keys=3)), Direction.REMOVE)
    own = mpmath.exp(-10) / 2
    assert 0 <= exactly(lower.failing) - 3 * own <= 1e-9 * own
    assert lower.loss == Fraction(3, 2)


def test_sampled_noise_without_a_largest_loss_has_no_rho() -> None:
    """That of the round without sampling holds, and would charge a batch as the whole dataset."""
    assert costs_of(hs.Round(hs.Gaussian(1.0), hs.Poisson(0.1)), Direction.REMOVE) == Costs(BEYOND, BEYOND, Fraction(0))
    discrete = hs.Round(hs.DiscreteGaussian(2.0), hs.Poisson(0.1))
    assert min(costs_of(discrete, Direction.REMOVE)[:2]) >= BEYOND
    bounded = costs_of(hs.Round(hs.Laplace(1.0), hs.Poisson(0.1)), Direction.REMOVE)
    assert bounded.rho < costs_of(hs.Round(hs.Laplace(1.0)), Direction.REMOVE).rho


def test_a_replaced_record_costs_four_times_the_square_of_one_that_is_removed() -> None:
    """At its decimal, (2 / s)^2, and not at that of the double next to it."""
    item = hs.Round(hs.Gaussian(0.3))
    for direction, distance in ((Direction.REMOVE, 1), (Direction.REPLACE_ONE, 2)):
        pair = item.pair(direction)
        assert isinstance(pair, GaussianPair)
        assert square_of(pair, item) == (Fraction(distance) / Fraction("0.3")) ** 2
