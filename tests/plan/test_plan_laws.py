"""Laws of plans as property tests: what must hold between answers whatever the numbers are."""

from __future__ import annotations

import math
import os
import subprocess
import sys
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, assume, given, settings
from hypothesis import strategies as st

import hockeystick as hs
from hockeystick import (
    Adjacency,
    ApproximateDP,
    Bound,
    Gaussian,
    Laplace,
    NoSampling,
    Plan,
    Poisson,
    RandomizedResponse,
    Round,
    dp_sgd,
)

PHASES = [Phase.explicit, Phase.reuse, Phase.generate]  # answers take long enough that shrinking would take minutes
few = settings(max_examples=12, deadline=None, phases=PHASES, suppress_health_check=[HealthCheck.too_slow])
fewer = settings(few, max_examples=6)

ratios = st.floats(1.001, 3.0)
failures = st.just(0.0) | st.floats(1e-90, 1e-6)
noises = st.floats(0.5, 20.0)
scales = st.floats(0.7, 50.0)
sample_rates = st.floats(1e-4, 0.9)
counts = st.integers(1, 2000)
deltas = st.floats(-10.0, -2.0).map(lambda x: 10.0**x)
targets = st.floats(0.0, 3.0)
gaps = st.sampled_from([1e-2, 3e-3, 1e-3, 2e-4])

gaussians = st.builds(
    Round, st.builds(Gaussian, noises), st.one_of(st.just(NoSampling()), st.builds(Poisson, sample_rates)), counts
)
laplaces = st.builds(
    Round,
    st.builds(Laplace, scales),
    st.one_of(st.just(NoSampling()), st.builds(Poisson, st.floats(0.01, 0.9))),
    st.integers(1, 10),
)
# Atoms whose losses share a divisor: other mixtures are sound too, but slow, and as wide as memory makes them.
tenths = st.sampled_from([0.1, 0.2, 0.5, 1.0])
boxes = st.builds(
    Round,
    st.one_of(st.builds(RandomizedResponse, tenths), st.builds(ApproximateDP, tenths, st.sampled_from([0.0, 1e-12]))),
    st.just(NoSampling()),
    st.integers(1, 30),
)
plain_laplaces = st.builds(
    Round, st.builds(Laplace, st.sampled_from([1.0, 2.0, 5.0, 10.0])), st.just(NoSampling()), st.integers(1, 30)
)
rounds = st.one_of(gaussians, gaussians, plain_laplaces, boxes)
plans = st.one_of(st.lists(rounds, min_size=1, max_size=3).map(Plan), laplaces.map(lambda item: Plan([item])))
pure_rounds = st.one_of(plain_laplaces, boxes.filter(lambda item: getattr(item.mechanism, "delta", 0.0) == 0.0))


def ordered(bound: Bound) -> None:
    assert 0 <= bound.lower <= bound.estimate <= bound.upper
    assert bound.upper < math.inf or bound.reason


def apart(bound: Bound) -> tuple[float, float, float]:
    return bound.lower, bound.estimate, bound.upper


# --- plans are canonical ---


@fewer
@given(st.lists(rounds, min_size=2, max_size=3), st.randoms(use_true_random=False), deltas, targets)
def test_order_and_folding_give_the_same_bits(items: list[Round], random: object, delta: float, epsilon: float) -> None:
    """Composition commutes, and n times a round is n rounds: plans are canonical, so answers agree to the bit."""
    split = [
        part
        for item in items
        for part in (replace(item, count=item.count // 2), replace(item, count=-(-item.count // 2)))
    ]
    shuffled = sorted(split, key=lambda item: hash((random, repr(item))))
    plain, other = Plan(items), Plan(shuffled)
    assert plain == other
    assert apart(plain.epsilon(delta)) == apart(other.epsilon(delta))
    assert apart(plain.delta(epsilon)) == apart(other.delta(epsilon))


@fewer
@given(rounds, st.integers(2, 6), deltas)
def test_composing_n_times_is_folding_n(item: Round, n: int, delta: float) -> None:
    """The n-fold sum of a plan with itself is the plan times n, to the bit."""
    added = Plan([item])
    for _ in range(n - 1):
        added = added + Plan([item])
    assert added == n * Plan([item]) == Plan([replace(item, count=n * item.count)])
    assert apart(added.epsilon(delta)) == apart((n * Plan([item])).epsilon(delta))


@few
@given(plans, rounds, deltas)
def test_rounds_that_are_never_run_cost_nothing(plan: Plan, item: Round, delta: float) -> None:
    """A round with count 0 is not there."""
    with_idle = plan + replace(item, count=0)
    assert with_idle == plan
    assert apart(with_idle.epsilon(delta)) == apart(plan.epsilon(delta))


@pytest.mark.parametrize("item", [Round(Gaussian(1.0), count=0), Round(ApproximateDP(1.0, 0.1), count=0)], ids=str)
def test_nothing_run_is_perfectly_private(item: Round) -> None:
    """Epsilon and delta of a plan that does nothing are 0."""
    plan = Plan([item])
    assert apart(plan.epsilon(1e-6)) == apart(plan.epsilon(0.0)) == apart(plan.delta(0.0)) == (0.0, 0.0, 0.0)


# --- answers ---


@few
@given(plans, deltas, targets, gaps)
def test_ends_are_in_order_and_as_near_as_asked(plan: Plan, delta: float, epsilon: float, gap: float) -> None:
    """``lower <= estimate <= upper``, and the relative width is what was asked or the bound says why not."""
    for bound in (plan.epsilon(delta, gap=gap), plan.delta(epsilon, gap=gap)):
        ordered(bound)
        assert bound.relative_gap <= gap * (1 + 1e-9) or bound.reason


@few
@given(plans, deltas, targets, gaps, gaps)
def test_bounds_of_any_width_intersect(plan: Plan, delta: float, epsilon: float, a: float, b: float) -> None:
    """Both intervals hold the truth, so they have a point in common."""
    for first, second in (
        (plan.epsilon(delta, gap=a), plan.epsilon(delta, gap=b)),
        (plan.delta(epsilon, gap=a), plan.delta(epsilon, gap=b)),
    ):
        assert first.lower <= second.upper
        assert second.lower <= first.upper


@pytest.mark.slow
@few
@given(plans, deltas)
def test_epsilon_and_delta_are_inverse(plan: Plan, delta: float) -> None:
    """``delta(eps)`` does not increase: at epsilon's upper end it is at most delta, at the lower end at least."""
    epsilon = plan.epsilon(delta)
    assume(epsilon.upper < math.inf)
    assert plan.delta(epsilon.upper).lower <= delta
    if epsilon.lower > 0:
        assert plan.delta(epsilon.lower).upper >= delta


@few
@given(plans, targets)
def test_log_delta_is_the_logarithm(plan: Plan, epsilon: float) -> None:
    """``log_delta`` and ``delta`` are the same interval on two scales, rounded outward."""
    delta = plan.delta(epsilon)
    log = delta.log_delta
    assert log.lower <= log.estimate <= log.upper
    if delta.lower > 0:
        assert math.log(delta.lower) <= log.lower + 1e-14 * abs(log.lower)
    if delta.upper < 1:
        assert math.log(delta.upper) >= log.upper - 1e-14 * abs(log.upper) if delta.upper else log.upper == -math.inf


# --- a weaker plan is never certified to be worse ---


def no_worse(stronger: Plan, weaker: Plan, delta: float, epsilon: float) -> None:
    """No lower end of the more private plan lies above an upper end of the less private one."""
    assert stronger.epsilon(delta).lower <= weaker.epsilon(delta).upper
    assert stronger.delta(epsilon).lower <= weaker.delta(epsilon).upper


@few
@given(plans, gaussians, ratios, deltas, targets)
def test_more_noise_is_more_private(plan: Plan, item: Round, ratio: float, delta: float, epsilon: float) -> None:
    """Noise can be added afterwards: post-processing."""
    assert isinstance(item.mechanism, Gaussian)
    quieter = replace(item, mechanism=Gaussian(item.mechanism.noise_multiplier * ratio))
    no_worse(plan + quieter, plan + item, delta, epsilon)


@few
@given(laplaces, ratios, deltas, targets)
def test_a_larger_scale_is_more_private(item: Round, ratio: float, delta: float, epsilon: float) -> None:
    """The loss of Laplace noise with a larger scale is dominated."""
    assert isinstance(item.mechanism, Laplace)
    wider = replace(item, mechanism=Laplace(item.mechanism.scale * ratio))
    no_worse(Plan([wider]), Plan([item]), delta, epsilon)


@few
@given(st.one_of(gaussians, laplaces), sample_rates, ratios, deltas, targets)
def test_a_smaller_rate_is_more_private(item: Round, rate: float, ratio: float, delta: float, epsilon: float) -> None:
    """Sampling the sample: amplification is monotone in the rate, and rate 1 is no sampling."""
    less, more, all_ = (
        replace(item, sampling=scheme) for scheme in (Poisson(rate / ratio), Poisson(rate), NoSampling())
    )
    no_worse(Plan([less]), Plan([more]), delta, epsilon)
    no_worse(Plan([more]), Plan([all_]), delta, epsilon)


@pytest.mark.slow
@few
@given(plans, rounds, st.integers(1, 100), deltas, targets)
def test_fewer_rounds_are_more_private(plan: Plan, item: Round, more: int, delta: float, epsilon: float) -> None:
    """Leaving a round's answer out is post-processing."""
    no_worse(plan, plan + item, delta, epsilon)
    no_worse(plan + item, plan + replace(item, count=item.count + more), delta, epsilon)


@few
@given(plans, deltas, ratios, targets, st.floats(0.0, 2.0))
def test_epsilon_falls_with_delta_and_delta_with_epsilon(
    plan: Plan, delta: float, ratio: float, epsilon: float, more: float
) -> None:
    """The privacy curve does not increase."""
    assert plan.epsilon(min(delta * ratio, 0.5)).lower <= plan.epsilon(delta).upper
    assert plan.delta(epsilon + more).lower <= plan.delta(epsilon).upper


@pytest.mark.slow
@few
@given(st.lists(gaussians, min_size=1, max_size=2), deltas, targets)
def test_replacing_is_no_easier_than_removing(items: list[Round], delta: float, epsilon: float) -> None:
    """Telling two records' presence apart is at least as easy as telling presence from absence, at the same noise."""
    one, two = Plan(items), Plan(items, adjacency=Adjacency.REPLACE_ONE)
    no_worse(one, two, delta, epsilon)


@pytest.mark.slow
@few
@given(plans, deltas, targets)
def test_both_directions_are_the_worse_of_the_two(plan: Plan, delta: float, epsilon: float) -> None:
    """``add-or-remove`` is the larger of ``add`` and ``remove``, composed apart."""
    add, remove = (Plan(plan.rounds, adjacency=adjacency) for adjacency in ("add", "remove"))
    assert plan.epsilon(delta).upper == max(add.epsilon(delta).upper, remove.epsilon(delta).upper)
    assert plan.epsilon(delta).lower == max(add.epsilon(delta).lower, remove.epsilon(delta).lower)
    assert plan.delta(epsilon).upper == max(add.delta(epsilon).upper, remove.delta(epsilon).upper)


@few
@given(st.lists(rounds, max_size=2).map(Plan), tenths, failures, st.integers(2, 3), deltas, targets)
def test_a_weaker_guarantee_is_worse(
    plan: Plan, epsilon_0: float, delta_0: float, ratio: int, delta: float, epsilon: float
) -> None:
    """A black box with larger epsilon or delta contains the one with smaller ones."""
    box = ApproximateDP(epsilon_0, delta_0)
    no_worse(plan + Round(box), plan + Round(ApproximateDP(round(epsilon_0 * ratio, 9), delta_0)), delta, epsilon)
    no_worse(plan + Round(box), plan + Round(ApproximateDP(epsilon_0, delta_0 * ratio)), delta, epsilon)


@few
@given(scales, st.integers(1, 30), deltas, targets)
def test_a_mechanism_is_no_worse_than_its_black_box(scale: float, count: int, delta: float, epsilon: float) -> None:
    """Laplace noise satisfies pure 1/scale, and randomised response is the worst that does."""
    box = RandomizedResponse(math.nextafter(1 / scale, math.inf))
    no_worse(Plan([Round(Laplace(scale), count=count)]), Plan([Round(box, count=count)]), delta, epsilon)


# --- ends of the curve ---


@few
@given(st.lists(pure_rounds, min_size=1, max_size=3))
def test_pure_epsilon_is_the_sum(items: list[Round]) -> None:
    """At delta 0, pure mechanisms compose by addition, exactly; the decimals are read as written."""
    plan = Plan(items)
    true = sum((item.count * pure_epsilon(item) for item in items), Fraction(0))
    found = plan.epsilon(0.0)
    assert Fraction(repr(found.lower)) <= true <= Fraction(repr(found.upper))
    assert found.upper <= math.nextafter(math.nextafter(found.lower, math.inf), math.inf)
    assert plan.epsilon(1e-9).lower <= found.upper


def pure_epsilon(item: Round) -> Fraction:
    mechanism = item.mechanism
    if isinstance(mechanism, Laplace):
        return 1 / Fraction(repr(mechanism.scale))
    assert isinstance(mechanism, RandomizedResponse | ApproximateDP)
    return Fraction(repr(mechanism.epsilon))


@few
@given(st.lists(pure_rounds, min_size=1, max_size=3), st.floats(1e-12, 1.0))
def test_delta_is_exactly_0_from_the_end_of_a_bounded_loss(items: list[Round], more: float) -> None:
    """``E (1 - e^(eps - L))_+`` has no mass beyond the supremum of L, and some before it."""
    plan = Plan(items)
    end = plan.epsilon(0.0)
    assert apart(plan.delta(end.upper * (1 + more))) == (0.0, 0.0, 0.0)
    assert plan.delta(end.upper).lower == 0.0
    assert plan.delta(0.5 * end.lower).lower > 0


@few
@given(st.floats(0.5, 5.0), st.floats(0.001, 0.9), st.integers(1, 1000))
def test_adding_a_sampled_record_has_bounded_loss(noise: float, rate: float, steps: int) -> None:
    """Under ``add`` the loss of one round is at most -log(1 - q): pure epsilon is finite, delta is 0 from there on."""
    plan = dp_sgd(noise, rate, steps, adjacency="add")
    end = -steps * math.log1p(-rate)
    assert plan.epsilon(0.0).lower == pytest.approx(end, rel=1e-12)
    assert plan.epsilon(0.0).upper == pytest.approx(end, rel=1e-12)
    assert apart(plan.delta(end * (1 + 1e-12))) == (0.0, 0.0, 0.0)


@few
@given(plans)
def test_unbounded_loss_has_no_pure_epsilon(plan: Plan) -> None:
    """Gaussian noise satisfies no pure epsilon: the answer is infinite and says why."""
    found = (plan + Round(Gaussian(3.0))).epsilon(0.0)
    assert found.lower == found.upper == math.inf
    assert found.reason


@pytest.mark.slow
@few
@given(plans, st.floats(1e-6, 0.1), st.integers(1, 20), st.floats(0.01, 0.99))
def test_below_the_failure_mass_epsilon_is_infinite(plan: Plan, delta_0: float, count: int, share: float) -> None:
    """Black boxes fail with probability ``1 - (1 - delta_0)^k``: no epsilon goes with a smaller delta."""
    failing = plan + Round(ApproximateDP(0.5, delta_0), count=count)
    mass = -math.expm1(count * math.log1p(-delta_0))
    below = failing.epsilon(share * mass)
    assert below.lower == below.upper == math.inf
    assert below.reason
    assert failing.epsilon(min(1.5 * mass + 1e-3, 0.999)).upper < math.inf
    assert failing.delta(50.0).upper >= mass * (1 - 1e-12)


# --- the machine ---

THREADED = """
import hockeystick as hs
plan = hs.Plan([
    hs.Round(hs.Gaussian(0.9), hs.Poisson(0.01), 5000),
    hs.Round(hs.Laplace(10.0), count=5),
    hs.Round(hs.Gaussian(20.0), count=3),
])
for bound in (plan.epsilon(1e-7), plan.delta(2.0), hs.dp_sgd(0.7, 0.003, 40000).epsilon(1e-9)):
    print(bound.lower.hex(), bound.estimate.hex(), bound.upper.hex())
"""


def test_the_number_of_threads_does_not_matter() -> None:
    """Sums are taken in a fixed order: the same bits whatever the linear algebra library does."""
    printed = set()
    for threads in ("1", "2", "7"):
        variables = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), threads)
        done = subprocess.run(
            [sys.executable, "-c", THREADED], env=os.environ | variables, check=True, capture_output=True, text=True
        )
        printed.add(done.stdout)
    assert len(printed) == 1
    assert printed.pop().count("0x") == 9


def test_plans_are_summed() -> None:
    """The sum of a list of plans is all of their rounds, one after the other."""
    one, other = hs.dp_sgd(1.0, 0.01, 100), hs.dp_sgd(2.0, 0.01, 50)
    plans: Any = [one, other, one]
    assert sum(plans) == one + other + one
    with pytest.raises(TypeError):
        _ = 1 + one  # type: ignore[operator]


def test_an_accountant_has_the_profile_of_its_plan() -> None:
    accountant = hs.Accountant()
    for _ in range(3):
        accountant.step(noise_multiplier=1.0, sample_rate=0.01)
    assert accountant.profile().advantage() == hs.dp_sgd(1.0, 0.01, 3).profile().advantage()
