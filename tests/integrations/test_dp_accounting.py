"""dp_accounting: their own abstract test on our accountant, events to plans, and where theirs are wrong."""

from __future__ import annotations

import dataclasses
import math
import random
import subprocess
import sys
from fractions import Fraction
from typing import Any

import dp_accounting as dp
import mpmath
import pytest
from dp_accounting import NeighboringRelation as Relation
from dp_accounting import dp_event as events
from dp_accounting import privacy_accountant_test
from dp_accounting.pld import PLDAccountant
from dp_accounting.rdp import RdpAccountant

import hockeystick as hs
from hockeystick.integrations.dp_accounting import HockeystickAccountant, UnsupportedEventError, to_plan

ADD_OR_REMOVE, REPLACE, SPECIAL = Relation.ADD_OR_REMOVE_ONE, Relation.REPLACE_ONE, Relation.REPLACE_SPECIAL

NAMES = {ADD_OR_REMOVE: "add-or-remove", REPLACE: "replace-one", SPECIAL: "zero-out"}


@dataclasses.dataclass(frozen=True)
class RandomAllocationDpEvent(dp.DpEvent):  # type: ignore[misc, unused-ignore]
    """What later versions of dp_accounting have under this name: so many of the steps of an epoch see a record."""

    event: Any
    num_selected: int
    num_steps: int


GAUSSIAN = dp.GaussianDpEvent(1.5)
LAPLACE = dp.LaplaceDpEvent(3.0)
NEGATIVE = events.MixtureOfGaussiansDpEvent(3.0, [-2.0], [1.0])
DP_SGD = dp.SelfComposedDpEvent(dp.PoissonSampledDpEvent(0.01, dp.GaussianDpEvent(1.0)), 1000)


def only_round(plan: hs.Plan) -> Any:
    (item,) = plan.rounds
    return item


def sampled(rate: float, event: Any) -> Any:
    return dp.PoissonSampledDpEvent(rate, event)


class TestTheirs(privacy_accountant_test.PrivacyAccountantTest):  # type: ignore[misc, unused-ignore]
    """What dp_accounting asks of every accountant, as it is installed."""

    def _make_test_accountants(self) -> list[HockeystickAccountant]:
        return [HockeystickAccountant(), *(HockeystickAccountant(relation) for relation in Relation)]


# Roundings, which go to the side that costs more.


@pytest.mark.parametrize("sensitivity", [3.0, 7.0, 0.7, 11.0, 1.3])
def test_noise_of_one_sensitivity_is_at_most_the_quotient(sensitivity: float) -> None:
    """By the decimals that the two numbers are written as; the double above is more."""
    mechanism = only_round(to_plan(events.MixtureOfGaussiansDpEvent(1.0, [sensitivity], [1.0]))).mechanism
    quotient = 1 / Fraction(repr(sensitivity))
    assert Fraction(mechanism.noise_multiplier) <= quotient < Fraction(math.nextafter(mechanism.noise_multiplier, 9.0))


@pytest.mark.parametrize("noise", [0.999998, 0.999997])
def test_an_answer_that_is_nearly_uniform_has_the_larger_odds_of_two_readings(noise: float) -> None:
    """The decimal and the double tell different odds."""
    mechanism = only_round(to_plan(events.RandomizedResponseDpEvent(noise, 2), REPLACE)).mechanism
    with mpmath.workdps(40):
        for reading in (mpmath.mpf(noise), mpmath.mpf(repr(noise))):
            assert mpmath.log1p(2 * (1 - reading) / reading) <= mechanism.epsilon
        assert mechanism.epsilon <= mpmath.log1p(2 * (1 - reading) / reading) * (1 + mpmath.mpf(1e-9))


# Where theirs are wrong. The truths are closed forms, in 30 digits.


def gaussian_delta(mu: float, epsilon: float) -> Any:
    """Balle, Wang 2018 [BW18], Theorem 8."""
    with mpmath.workdps(30):
        low, high = mpmath.mpf(mu) / 2 - epsilon / mpmath.mpf(mu), -mpmath.mpf(mu) / 2 - epsilon / mpmath.mpf(mu)
        return mpmath.ncdf(low) - mpmath.exp(epsilon) * mpmath.ncdf(high)


def response_delta(odds: int, rounds: int, epsilon: float) -> Any:
    """Randomised response, true with odds to 1: a binomial number of losses log(odds), the others of -log(odds)."""
    with mpmath.workdps(30):
        p, loss = mpmath.mpf(odds) / (odds + 1), mpmath.log(odds)
        terms = (
            mpmath.binomial(rounds, k)
            * p**k
            * (1 - p) ** (rounds - k)
            * max(0, 1 - mpmath.exp(epsilon - (2 * k - rounds) * loss))
            for k in range(rounds + 1)
        )
        return mpmath.fsum(terms)


def test_their_pld_accountant_drops_the_count_of_randomised_response() -> None:
    event, delta = dp.RandomizedResponseDpEvent(0.5, 2), 1e-6  # true with odds 3 to 1
    theirs = PLDAccountant(REPLACE).compose(event, 10).get_epsilon(delta)
    ours = HockeystickAccountant(REPLACE).compose(event, 10).get_epsilon(delta)
    assert theirs < 1.1
    assert response_delta(3, 10, theirs) > 0.8
    assert response_delta(3, 10, ours) <= delta < response_delta(3, 10, ours * (1 - 1e-5))
    assert ours == pytest.approx(10.9861, abs=1e-4)


@pytest.mark.parametrize("noise", [1.0, 2.0])
def test_their_rdp_accountant_forgets_that_replacing_moves_a_sum_by_twice_the_bound(noise: float) -> None:
    event, delta = dp.GaussianDpEvent(noise), 1e-5
    kinds = (RdpAccountant, PLDAccountant, HockeystickAccountant)
    found = [kind(neighboring_relation=REPLACE).compose(event).get_epsilon(delta) for kind in kinds]
    assert found[1] > 1.9 * found[0]
    assert gaussian_delta(2 / noise, found[0]) > 100 * delta
    assert gaussian_delta(2 / noise, found[2]) <= delta < gaussian_delta(2 / noise, found[2] * (1 - 1e-5))
    assert found[2] == pytest.approx(found[1], rel=1e-4)


def test_their_rdp_accountant_forgets_it_for_laplace_noise_as_well() -> None:
    theirs = RdpAccountant(neighboring_relation=REPLACE).compose(dp.LaplaceDpEvent(1.0)).get_epsilon(1e-9)
    ours = HockeystickAccountant(REPLACE).compose(dp.LaplaceDpEvent(1.0))
    assert theirs < 1.02
    assert ours.get_epsilon(0) == 2.0
    assert ours.get_delta(theirs) == pytest.approx(1 - math.exp((theirs - 2) / 2), rel=1e-6)  # 1 - e^((epsilon - 2)/2)


def test_their_pld_accountant_is_too_small_at_tiny_deltas() -> None:
    """Its Fourier transforms round by about 1e-16 of the largest value, and that is not charged."""
    event = sampled(0.01, dp.GaussianDpEvent(1.0))
    theirs, ours = (accountant.compose(event, 10_000) for accountant in (PLDAccountant(), HockeystickAccountant()))
    bounds = {delta: ours.plan.epsilon(delta) for delta in (1e-11, 1e-12, 1e-13)}
    assert all(bound.relative_gap < 1e-6 for bound in bounds.values())
    assert any(theirs.get_epsilon(delta) < bound.lower for delta, bound in bounds.items())


def test_their_pld_accountant_is_too_small_on_a_fine_grid() -> None:
    theirs = PLDAccountant(value_discretization_interval=1e-5)
    event = sampled(2e-5, dp.GaussianDpEvent(0.5))
    bound = to_plan(dp.SelfComposedDpEvent(event, 10_000)).epsilon(1e-8)
    assert bound.lower <= 1.579392235266380 <= bound.upper
    assert theirs.compose(event, 10_000).get_epsilon(1e-8) < 1.57938 < bound.lower


def test_their_pld_accountant_ends_at_its_truncation() -> None:
    event, delta = dp.GaussianDpEvent(1.0), 1e-16
    assert PLDAccountant().compose(event).get_epsilon(delta) == math.inf
    ours = HockeystickAccountant().compose(event).get_epsilon(delta)
    assert gaussian_delta(1.0, ours) <= delta < gaussian_delta(1.0, ours * (1 - 1e-5))
    assert PLDAccountant().compose(dp.LaplaceDpEvent(2.0), 3).get_epsilon(0) == math.inf
    assert HockeystickAccountant().compose(dp.LaplaceDpEvent(2.0), 3).get_epsilon(0) == 1.5


def test_it_can_be_given_to_their_calibration() -> None:
    def training(noise: float) -> Any:
        return dp.SelfComposedDpEvent(sampled(0.01, dp.GaussianDpEvent(noise)), 1000)

    noise = dp.calibrate_dp_mechanism(HockeystickAccountant, training, 1.0, 1e-6, tol=1e-5)
    assert to_plan(training(noise)).epsilon(1e-6).upper <= 1.0
    assert to_plan(training(noise - 2e-5)).epsilon(1e-6).lower > 1.0


# Events to plans.

CONVERTED = [
    (dp.NoOpDpEvent(), ADD_OR_REMOVE, []),
    (GAUSSIAN, ADD_OR_REMOVE, [hs.Round(hs.Gaussian(1.5))]),
    (GAUSSIAN, REPLACE, [hs.Round(hs.Gaussian(1.5))]),
    (LAPLACE, SPECIAL, [hs.Round(hs.Laplace(3.0))]),
    (sampled(0.01, LAPLACE), ADD_OR_REMOVE, [hs.Round(hs.Laplace(3.0), hs.Poisson(0.01))]),
    (sampled(0.01, GAUSSIAN), REPLACE, [hs.Round(hs.Gaussian(1.5), hs.Poisson(0.01))]),
    (sampled(1.0, dp.ComposedDpEvent([GAUSSIAN, LAPLACE])), ADD_OR_REMOVE, [hs.Gaussian(1.5), hs.Laplace(3.0)]),
    (sampled(0.0, GAUSSIAN), ADD_OR_REMOVE, []),
    (sampled(0.5, sampled(0.25, GAUSSIAN)), ADD_OR_REMOVE, [hs.Round(hs.Gaussian(1.5), hs.Poisson(0.125))]),
    (
        sampled(0.5, dp.SelfComposedDpEvent(dp.GaussianDpEvent(2.0), 4)),
        ADD_OR_REMOVE,
        [hs.Round(hs.Gaussian(1.0), hs.Poisson(0.5))],
    ),
    (events.DiscreteLaplaceDpEvent(0.25, 1), ADD_OR_REMOVE, [hs.DiscreteLaplace(4.0)]),
    (events.DiscreteLaplaceDpEvent(0.1, 3), ADD_OR_REMOVE, [hs.DiscreteLaplace(10.0, 3)]),
    (events.DiscreteLaplaceDpEvent(0.1, 3), SPECIAL, [hs.DiscreteLaplace(10.0, 3)]),
    (
        sampled(0.5, events.DiscreteLaplaceDpEvent(0.25, 1)),
        SPECIAL,
        [hs.Round(hs.DiscreteLaplace(4.0), hs.Poisson(0.5))],
    ),
    (events.DiscreteLaplaceDpEvent(0.25, 0), SPECIAL, []),
    (dp.RandomizedResponseDpEvent(1.0, 5), REPLACE, []),
    (dp.RandomizedResponseDpEvent(0.5, 1), REPLACE, []),
    (
        events.MixtureOfGaussiansDpEvent(3.0, [0.0, 2.0], [0.75, 0.25]),
        ADD_OR_REMOVE,
        [hs.Round(hs.Gaussian(1.5), hs.Poisson(0.25))],
    ),
    (NEGATIVE, SPECIAL, [hs.Gaussian(1.5)]),
    *(
        (
            events.MixtureOfGaussiansDpEvent(3.0, [0.0, sign * 1.0, sign * 2.0], [0.5, 0.25, 0.25]),
            relation,
            [hs.MixtureGaussian((0, 1, 2), (0.5, 0.25, 0.25), 3.0)],
        )
        for sign in (1, -1)
        for relation in (ADD_OR_REMOVE, SPECIAL)
    ),
    (dp.ZCDpEvent(0.5), ADD_OR_REMOVE, [hs.ZCDP(0.5)]),
    (dp.ZCDpEvent(0.0), ADD_OR_REMOVE, []),
    (events.MixtureOfGaussiansDpEvent(3.0, [0.0], [1.0]), SPECIAL, []),
    (dp.SampledWithoutReplacementDpEvent(100, 0, GAUSSIAN), REPLACE, []),
    *(
        (kind(100, 5, GAUSSIAN), relation, [hs.Round(hs.Gaussian(1.5), sampling)])
        for kind, sampling in (
            (dp.SampledWithoutReplacementDpEvent, hs.WithoutReplacement(5, 100)),
            (dp.SampledWithReplacementDpEvent, hs.WithReplacement(5, 100)),
        )
        for relation in Relation
    ),
    (dp.SampledWithReplacementDpEvent(100, 0, GAUSSIAN), SPECIAL, []),
    (RandomAllocationDpEvent(GAUSSIAN, 1, 20), SPECIAL, [hs.Round(hs.Gaussian(1.5), hs.RandomAllocation(20))]),
    (RandomAllocationDpEvent(GAUSSIAN, 3, 20), ADD_OR_REMOVE, [hs.Round(hs.Gaussian(1.5), hs.RandomAllocation(20, 3))]),
    (
        dp.SelfComposedDpEvent(RandomAllocationDpEvent(GAUSSIAN, 1, 20), 4),
        ADD_OR_REMOVE,
        [hs.Round(hs.Gaussian(1.5), hs.RandomAllocation(20), 4)],
    ),
    (
        dp.TruncatedSubsampledGaussianDpEvent(100, 0.25, 30, 1.5),
        SPECIAL,
        [hs.Round(hs.Gaussian(1.5), hs.TruncatedPoisson(0.25, 100, 30))],
    ),
    (
        dp.TruncatedSubsampledGaussianDpEvent(100, 0.25, 100, 1.5),
        SPECIAL,
        [hs.Round(hs.Gaussian(1.5), hs.Poisson(0.25))],
    ),
    (dp.SingleEpochTreeAggregationDpEvent(3.0, [2, 15]), SPECIAL, [hs.Gaussian(1.5)]),
    (dp.SingleEpochTreeAggregationDpEvent(3.0, 0), SPECIAL, []),
    (
        dp.TruncatedSubsampledGaussianDpEvent(100, 0.25, 101, 1.5),
        ADD_OR_REMOVE,
        [hs.Round(hs.Gaussian(1.5), hs.Poisson(0.25))],
    ),
    (dp.TruncatedSubsampledGaussianDpEvent(100, 0.25, 0, 1.5), ADD_OR_REMOVE, []),
    (DP_SGD, ADD_OR_REMOVE, [hs.Round(hs.Gaussian(1.0), hs.Poisson(0.01), 1000)]),
    (dp.SelfComposedDpEvent(dp.ComposedDpEvent([GAUSSIAN, LAPLACE]), 0), ADD_OR_REMOVE, []),
    (
        dp.SelfComposedDpEvent(dp.ComposedDpEvent([GAUSSIAN, LAPLACE, GAUSSIAN]), 3),
        ADD_OR_REMOVE,
        [hs.Round(hs.Gaussian(1.5), count=6), hs.Round(hs.Laplace(3.0), count=3)],
    ),
]


@pytest.mark.parametrize(("event", "relation", "parts"), CONVERTED)
def test_an_event_is_the_plan_of_its_rounds(event: Any, relation: Relation, parts: list[Any]) -> None:
    rounds = [part if isinstance(part, hs.Round) else hs.Round(part) for part in parts]
    plan = to_plan(event, relation, delta=1e-5)
    assert plan == hs.Plan(rounds, NAMES[relation], delta=1e-5)
    accountant = HockeystickAccountant(relation)
    assert accountant.supports(event)
    if getattr(event, "count", None) != 0:  # their ledger takes no count of 0
        assert accountant.compose(event, 2).plan == hs.Plan([2 * part for part in rounds], plan.adjacency)
        assert accountant.get_epsilon(1e-5) == (2 * plan).epsilon(1e-5).upper


def test_a_concentrated_guarantee_costs_no_more_than_their_moments_say() -> None:
    event = dp.ComposedDpEvent([dp.ZCDpEvent(0.1), dp.GaussianDpEvent(4.0)])
    ours, theirs = HockeystickAccountant().compose(event), RdpAccountant().compose(event)
    assert 0.9 * theirs.get_epsilon(1e-6) <= ours.get_epsilon(1e-6) <= theirs.get_epsilon(1e-6)
    assert ours.get_delta(1.0) >= HockeystickAccountant().compose(event.events[1]).get_delta(1.0)


@pytest.mark.parametrize(
    ("event", "relation", "odds"),
    [
        (dp.RandomizedResponseDpEvent(0.5, 2), REPLACE, ("3", "1")),
        (dp.RandomizedResponseDpEvent(0.1, 2), REPLACE, ("19", "1")),
        (dp.RandomizedResponseDpEvent(0.5, 10), REPLACE, ("11", "1")),
        (dp.RandomizedResponseDpEvent(0.5, 10), SPECIAL, ("5.5", "1")),
        (dp.RandomizedResponseDpEvent(0.125, 2), SPECIAL, ("8", "1")),
        (dp.RandomizedResponseDpEvent(0.999999, 2), REPLACE, ("1.000001", "0.999999")),
    ],
)
def test_the_epsilon_of_randomised_response_is_rounded_up(event: Any, relation: Relation, odds: Any) -> None:
    found = only_round(to_plan(event, relation)).mechanism.epsilon
    with mpmath.workdps(40):
        truth = mpmath.log(mpmath.mpf(odds[0]) / mpmath.mpf(odds[1]))
        assert truth <= found <= truth * (1 + mpmath.mpf(1e-9))


def test_products_and_roots_are_rounded_to_what_costs_more() -> None:
    draw = random.Random(6)
    for _ in range(200):
        outer, inner, noise = draw.random(), draw.random(), draw.uniform(0.3, 5)
        item = only_round(to_plan(sampled(outer, sampled(inner, dp.GaussianDpEvent(noise)))))
        with mpmath.workdps(60):
            truth = mpmath.mpf(repr(outer)) * mpmath.mpf(repr(inner))
            assert truth <= mpmath.mpf(repr(item.sampling.sample_rate)) <= truth * (1 + 1e-15)
        count = draw.randrange(2, 9)
        item = only_round(to_plan(sampled(outer, dp.SelfComposedDpEvent(dp.GaussianDpEvent(noise), count))))
        with mpmath.workdps(60):
            truth = mpmath.mpf(repr(noise)) / mpmath.sqrt(count)
            assert truth * (1 - 1e-15) <= mpmath.mpf(repr(item.mechanism.noise_multiplier)) <= truth


def nested(draw: random.Random, depth: int) -> tuple[Any, list[hs.Round]]:
    """A random event, and the rounds it stands for, collected apart from the conversion."""
    kind = draw.randrange(5 if depth else 3)
    noise, rate, count = draw.choice([0.5, 1.0, 2.0]), draw.choice([0.25, 0.5]), draw.randrange(4)
    if kind == 0:
        return dp.GaussianDpEvent(noise), [hs.Round(hs.Gaussian(noise))]
    if kind == 1:
        return dp.LaplaceDpEvent(noise), [hs.Round(hs.Laplace(noise))]
    if kind == 2:
        return sampled(rate, dp.LaplaceDpEvent(noise)), [hs.Round(hs.Laplace(noise), hs.Poisson(rate))]
    parts = [nested(draw, depth - 1) for _ in range(1 if kind == 3 else count)]
    rounds = [item for _, inner in parts for item in inner]
    if kind == 3:
        return dp.SelfComposedDpEvent(parts[0][0], count), rounds * count
    return dp.ComposedDpEvent([event for event, _ in parts]), rounds


def test_compositions_of_compositions_are_one_plan() -> None:
    draw = random.Random(5)
    for _ in range(300):
        event, rounds = nested(draw, 4)
        plan = to_plan(event)
        assert plan == hs.Plan(rounds)


NON_PRIVATE = [
    dp.GaussianDpEvent(0),
    dp.LaplaceDpEvent(0.0),
    sampled(0.5, dp.GaussianDpEvent(0)),
    sampled(0.5, dp.NonPrivateDpEvent()),
    events.DiscreteLaplaceDpEvent(0.0, 1),
    dp.RandomizedResponseDpEvent(0.0, 3),
    events.MixtureOfGaussiansDpEvent(0.0, [1.0], [1.0]),
    dp.SingleEpochTreeAggregationDpEvent(0.0, 7),
]


@pytest.mark.parametrize("event", NON_PRIVATE)
def test_what_hides_nothing_costs_everything(event: Any) -> None:
    accountant = HockeystickAccountant(SPECIAL).compose(GAUSSIAN).compose(event)
    assert accountant.get_epsilon(0.5) == math.inf
    assert accountant.get_delta(1e6) == 1.0
    with pytest.raises(UnsupportedEventError, match="not private has no plan"):
        to_plan(event, SPECIAL)


REFUSED = [
    (dp.UnsupportedDpEvent(), ADD_OR_REMOVE, "no description"),
    (dp.SampledWithReplacementDpEvent(100, 5, LAPLACE), REPLACE, "supported for Gaussian noise on a sum only"),
    (dp.SampledWithReplacementDpEvent(1, 5, GAUSSIAN), REPLACE, "dataset_size must be"),
    (dp.SampledWithoutReplacementDpEvent(9, 9, GAUSSIAN), ADD_OR_REMOVE, "could not fill a batch"),
    (
        dp.SampledWithoutReplacementDpEvent(9, 3, dp.RandomizedResponseDpEvent(0.5, 2)),
        SPECIAL,
        "for a zero contribution says",
    ),
    (RandomAllocationDpEvent(GAUSSIAN, 1, 20), REPLACE, "no pair is known for replacing a record"),
    (RandomAllocationDpEvent(GAUSSIAN, 21, 20), SPECIAL, "must be at most steps_per_epoch"),
    (RandomAllocationDpEvent(GAUSSIAN, 0, 20), SPECIAL, "num_selected must be"),
    (RandomAllocationDpEvent(sampled(0.5, GAUSSIAN), 1, 20), SPECIAL, "a single unsampled mechanism"),
    (sampled(0.1, RandomAllocationDpEvent(GAUSSIAN, 1, 20)), SPECIAL, "with sampling"),
    (dp.TruncatedSubsampledGaussianDpEvent(100, 0.1, 20, 1.0), REPLACE, "must be REPLACE_SPECIAL"),
    (
        dp.SampledWithoutReplacementDpEvent(100, 5, dp.SelfComposedDpEvent(GAUSSIAN, 2)),
        REPLACE,
        "a single unsampled mechanism",
    ),
    (dp.SampledWithoutReplacementDpEvent(100, 5, sampled(0.5, GAUSSIAN)), REPLACE, "a single unsampled mechanism"),
    (dp.SampledWithoutReplacementDpEvent(5, 100, GAUSSIAN), REPLACE, "batch_size must be at most dataset_size"),
    (events.RepeatAndSelectDpEvent(GAUSSIAN, 3.0, 1.0), ADD_OR_REMOVE, r"the best of several runs; .*selection"),
    (dp.ZCDpEvent(0.5, xi=0.1), ADD_OR_REMOVE, "xi must be 0; received 0.1"),
    (dp.ZCDpEvent(-0.5), ADD_OR_REMOVE, "rho must be"),
    (sampled(0.1, dp.ZCDpEvent(0.5)), ADD_OR_REMOVE, "with sampling"),
    (dp.RandomizedResponseDpEvent(0.5, 2), ADD_OR_REMOVE, "REPLACE_ONE or REPLACE_SPECIAL"),
    (dp.RandomizedResponseDpEvent(1.5, 2), REPLACE, "noise_parameter must be a number from 0 to 1; received 1.5"),
    (events.DiscreteLaplaceDpEvent(0.5, 1), REPLACE, "received REPLACE_ONE"),
    (events.MixtureOfGaussiansDpEvent(1.0, [1.0, -2.0], [0.5, 0.5]), ADD_OR_REMOVE, "the same sign"),
    (events.MixtureOfGaussiansDpEvent(1.0, [1.0, 2.0], [0.5, 0.5]), REPLACE, "received REPLACE_ONE"),
    (events.MixtureOfGaussiansDpEvent(1.0, [1.0, 2.0], [0.5]), ADD_OR_REMOVE, "same length"),
    (events.MixtureOfGaussiansDpEvent(1.0, [0.0, 2.0], [0.5, 0.2]), ADD_OR_REMOVE, "must add up to 1"),
    (
        events.MixtureOfGaussiansDpEvent(1.0, [0.0, math.inf], [0.5, 0.5]),
        ADD_OR_REMOVE,
        "sensitivities must be a finite",
    ),
    (events.MixtureOfGaussiansDpEvent(-1.0, [2.0], [1.0]), ADD_OR_REMOVE, "standard_deviation must be"),
    (dp.RandomizedResponseDpEvent(5e-324, 2), REPLACE, "epsilon must be .*; received inf"),
    (events.SingleEpochTreeAggregationDpEvent(1e200, 3), SPECIAL, "outside the range"),
    (events.MixtureOfGaussiansDpEvent(1.0, [0.0, 1.0], [0.5, 0.5]), REPLACE, "received REPLACE_ONE"),
    (dp.SingleEpochTreeAggregationDpEvent(1.0, 8), ADD_OR_REMOVE, "must be REPLACE_SPECIAL"),
    (dp.TruncatedSubsampledGaussianDpEvent(100, 0.1, 20, 1.0), ADD_OR_REMOVE, "which dataset has that size"),
    (dp.TruncatedSubsampledGaussianDpEvent(100, 0.1, 100, 1.0), ADD_OR_REMOVE, "must exceed dataset_size"),
    (sampled(0.1, LAPLACE), REPLACE, "no dominating pair is proven"),
    (sampled(0.1, dp.RandomizedResponseDpEvent(0.5, 2)), SPECIAL, "with sampling"),
    (sampled(0.1, dp.SingleEpochTreeAggregationDpEvent(1.0, 8)), SPECIAL, "with sampling"),
    (sampled(0.1, dp.ComposedDpEvent([GAUSSIAN, LAPLACE])), ADD_OR_REMOVE, "a single mechanism"),
    (sampled(0.1, dp.SelfComposedDpEvent(GAUSSIAN, 2)), REPLACE, "a single mechanism"),
    (sampled(1.5, GAUSSIAN), ADD_OR_REMOVE, "sampling_probability must be a number from 0 to 1; received 1.5"),
    (dp.GaussianDpEvent(-1.0), ADD_OR_REMOVE, "noise_multiplier must be .*from 0.01 to 1e6.*received -1.0"),
    (dp.SelfComposedDpEvent(GAUSSIAN, 2.5), ADD_OR_REMOVE, "count must be a whole number"),
]


@pytest.mark.parametrize(("event", "relation", "message"), REFUSED)
def test_other_events_are_refused_by_name(event: Any, relation: Relation, message: str) -> None:
    accountant = HockeystickAccountant(relation)
    for outer in (event, dp.ComposedDpEvent([GAUSSIAN, dp.SelfComposedDpEvent(event, 2)])):
        assert not accountant.supports(outer)
        with pytest.raises(dp.UnsupportedEventError, match="caused by subevent"):
            accountant.compose(outer)
        with pytest.raises(UnsupportedEventError, match=message) as caught:
            to_plan(outer, relation)
        assert isinstance(caught.value, hs.UnsupportedError)
        assert isinstance(caught.value, dp.UnsupportedEventError)
        assert str(caught.value).startswith(type(caught.value.event).__name__)
        assert "\n" not in str(caught.value)
    assert accountant.plan == hs.Plan([], accountant.plan.adjacency)
    assert isinstance(accountant.ledger, dp.NoOpDpEvent)


def test_every_kind_of_event_has_been_decided() -> None:
    kinds = {value for value in vars(events).values() if isinstance(value, type) and issubclass(value, dp.DpEvent)}
    tried = {type(event) for event, *_ in [*CONVERTED, *REFUSED]} | {type(event) for event in NON_PRIVATE}
    inside_others = {dp.DpEvent, dp.NonPrivateDpEvent, dp.ComposedDpEvent}
    assert kinds - inside_others <= tried


def test_batches_without_replacement_have_a_bound_by_moments() -> None:
    event = dp.SampledWithoutReplacementDpEvent(1000, 10, GAUSSIAN)
    plan = hs.Plan([hs.Round(hs.Gaussian(1.5), hs.WithoutReplacement(10, 1000))], "replace-one")
    assert to_plan(event, REPLACE) == plan
    both = HockeystickAccountant(REPLACE).compose(event, 50).compose(GAUSSIAN)
    assert both.get_epsilon(1e-6) <= (50 * plan + both.plan.rounds[0]).epsilon(1e-6, accountant="rdp").quoted
    everything = dp.SampledWithoutReplacementDpEvent(10, 10, GAUSSIAN)
    unsampled = HockeystickAccountant(REPLACE).compose(GAUSSIAN).get_epsilon(1e-6)
    assert HockeystickAccountant(REPLACE).compose(everything).get_epsilon(1e-6) == unsampled


def test_a_class_of_that_name_that_is_no_event_is_refused() -> None:
    class RandomAllocationDpEvent:
        event, num_selected, num_steps = GAUSSIAN, 1, 20

    with pytest.raises(UnsupportedEventError, match="this event is not supported"):
        to_plan(RandomAllocationDpEvent(), SPECIAL)


def test_noise_is_relative_to_one_record_so_that_their_bound_on_fixed_batches_is_below_the_truth() -> None:
    """A replaced record moves the sum by twice the norm bound: their moments take it for once (beside a lower end)."""
    event = dp.SelfComposedDpEvent(dp.SampledWithoutReplacementDpEvent(100, 1, dp.GaussianDpEvent(1.0)), 1000)
    theirs = RdpAccountant(neighboring_relation=REPLACE).compose(event).get_epsilon(1e-5)
    replaced, zeroed = (to_plan(event, relation).epsilon(1e-5) for relation in (REPLACE, SPECIAL))
    assert theirs < 3.6
    assert zeroed.lower > 10
    assert zeroed.upper < replaced.lower


def test_truncated_batches_cost_no_more_than_in_their_accountant() -> None:
    event = dp.SelfComposedDpEvent(dp.TruncatedSubsampledGaussianDpEvent(10_000, 0.02, 200, 4.0), 500)
    theirs = PLDAccountant(SPECIAL).compose(event).get_epsilon(1e-5)
    ours = to_plan(event, SPECIAL).epsilon(1e-5)
    assert ours.upper == pytest.approx(theirs, rel=1e-3)
    assert ours.lower < theirs


# Beside theirs, where both have an answer and theirs are right.


BOTH = [
    (event, relation)
    for event in [
        *(event for event, _, parts in CONVERTED if parts),
        dp.RandomizedResponseDpEvent(0.3, 2),
        dp.RandomizedResponseDpEvent(0.3, 5),
    ]
    for relation in Relation
    if not any(item < 0 for item in getattr(event, "sensitivities", ()))  # theirs breaks there
    and all(kind(relation).supports(event) for kind in (HockeystickAccountant, PLDAccountant))
]


@pytest.mark.parametrize(("event", "relation"), BOTH)
def test_it_agrees_with_their_upper_bounds(event: Any, relation: Relation) -> None:
    ours, pld = HockeystickAccountant(relation), PLDAccountant(relation)
    bound = to_plan(event, relation).epsilon(1e-5)
    theirs = pld.compose(event).get_epsilon(1e-5)
    assert ours.compose(event).get_epsilon(1e-5) == bound.upper
    assert theirs >= bound.lower * (1 - 1e-9)
    assert bound.upper == pytest.approx(theirs, rel=1e-2)


def test_a_tree_is_the_gaussian_round_that_theirs_take_it_for() -> None:
    tree, gaussian = dp.SingleEpochTreeAggregationDpEvent(4.0, [3, 1000]), dp.GaussianDpEvent(4.0 / math.sqrt(10))
    theirs = [RdpAccountant(None, SPECIAL).compose(event).get_epsilon(1e-6) for event in (tree, gaussian)]
    assert theirs[0] == pytest.approx(theirs[1], rel=1e-12)
    assert HockeystickAccountant(SPECIAL).compose(tree).get_epsilon(1e-6) <= theirs[0]


def test_steps_one_by_one_are_the_plan() -> None:
    accountant = HockeystickAccountant()
    for _ in range(100):
        accountant.compose(sampled(0.01, dp.GaussianDpEvent(1.0)))
    assert accountant.get_epsilon(1e-5) == hs.dp_sgd(1.0, 0.01, 100).epsilon(1e-5).upper
    assert accountant.get_delta(0.5) == hs.dp_sgd(1.0, 0.01, 100).delta(0.5).upper
    assert accountant.ledger == dp.SelfComposedDpEvent(sampled(0.01, dp.GaussianDpEvent(1.0)), 100)
    assert (accountant.get_epsilon(1), accountant.get_delta(math.inf)) == (0.0, 0.0)


def test_what_is_installed_here_goes_together() -> None:
    """dp_accounting wants attrs below 24 and mpmath 1.3; our own requirements stand beside that."""
    done = subprocess.run([sys.executable, "-m", "pip", "check"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_bad_input_is_named() -> None:
    accountant = HockeystickAccountant()
    with pytest.raises(hs.InvalidInputError, match=r"target_delta must be a number from 0 to 1 .*received -0\.1"):
        accountant.get_epsilon(-0.1)
    with pytest.raises(hs.InvalidInputError, match="target_epsilon must be a number from 0 to 1e4"):
        accountant.get_delta(-1.0)
    with pytest.raises(hs.InvalidInputError, match=r"neighboring_relation must be one of .*received 'replace'"):
        HockeystickAccountant("replace")
    with pytest.raises(TypeError, match="must be `DpEvent`"):
        accountant.compose("gaussian")
