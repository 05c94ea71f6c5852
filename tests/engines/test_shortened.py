"""Rounds without large losses that are next to never seen: what they are short of, and ends against listed sums."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

from hockeystick import Plan
from hockeystick.engines.auto import smoothed as engine_of
from hockeystick.engines.contour import seen as engine
from hockeystick.engines.contour.engine import ContourEngine
from hockeystick.engines.contour.smoothed import Smoothing
from hockeystick.engines.direct import DirectEngine
from hockeystick.pairs import Composition, GaussianPair
from hockeystick.pairs.discrete import DiscreteGaussianPair
from hockeystick.pairs.finite import FinitePair
from hockeystick.pairs.sampled.poisson import PoissonRemovePair
from hockeystick.pairs.shortened import ShortenedPair, shortened


def pair(p: list[str], q: list[str]) -> FinitePair:
    return FinitePair(tuple(map(Fraction, p)), tuple(map(Fraction, q)))


# a narrow bulk, and two losses of 6.2 and 9.4 that are rarely seen
JUMPS = pair(["0.4", "0.25", "0.3488", "0.001", "0.0002"], ["0.46", "0.25", "0.289997983", "0.000002", "0.000000017"])
BULK = pair(["0.4", "0.27", "0.33"], ["0.45", "0.27", "0.28"])


def test_what_is_left_out_and_what_is_kept() -> None:
    """Losses above 0 of a small mass: not the small losses, whatever their mass, nor what is infinite."""
    short = ShortenedPair(JUMPS, math.log(0.0005))
    assert len(short.atoms.loss) == 4
    assert math.exp(short.log_lost) == pytest.approx(0.0002, rel=1e-8)
    assert math.exp(short.log_lost) > 0.0002
    assert short.loss_range[1] == pytest.approx(math.log(500))
    assert ShortenedPair(JUMPS, math.log(1e-5)).log_lost == -math.inf
    assert len(ShortenedPair(JUMPS, 0.0).atoms.loss) == 2  # of losses above 0 none is left, all others are
    assert short.log_moment(1.0) == pytest.approx(math.log(0.4**2 / 0.46 + 0.25 + 0.3488**2 / 0.289997983 + 0.5))
    noise = PoissonRemovePair(DiscreteGaussianPair(1, Fraction(4)), 0.1)
    both = ShortenedPair(noise, -50.0).atoms.finite().loss
    assert 0 < len(both) < len(noise.atoms.finite().loss)


def test_the_mass_of_all_rounds_counts() -> None:
    """As often as there are rounds; rounds that have more than atoms, and those with nothing to leave out, stay."""
    rounds = Composition([(JUMPS, 30), (BULK, 5), (GaussianPair(0.1), 1)])
    short, log_lost, _ = shortened(rounds, math.log(0.1))
    assert math.exp(log_lost) == pytest.approx(30 * 0.0002, rel=1e-7)
    assert math.exp(log_lost) > 30 * 0.0002
    assert [type(one).__name__ for one, _ in short.rounds] == ["ShortenedPair", "FinitePair", "GaussianPair"]
    assert shortened(rounds, math.log(1e-9))[:2] == (rounds, -math.inf)


ROUNDS = Composition([(JUMPS, 8)])


@pytest.mark.parametrize(("epsilon", "share"), [(1.0, 450.0), (2.0, 900.0)])
def test_delta_lies_within_where_much_is_left_out(
    epsilon: float, share: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A good part of delta is what is left out: the upper end has all of it, and the lower one nothing."""
    monkeypatch.setattr(engine, "SHARE", share)
    monkeypatch.setattr(engine, "BELOW", 0.0)
    sums = DirectEngine(ROUNDS).log_delta(epsilon, None)
    found = engine_of(ROUNDS).log_delta(epsilon, 1e-4)
    assert found.lower < sums.lower
    assert sums.upper < found.upper < sums.upper + 0.3
    assert found.upper - found.lower > 0.05  # what is left out decides
    assert found.limited


@pytest.mark.parametrize("delta", [1e-2, 5e-3])
def test_epsilon_lies_within_where_much_is_left_out(delta: float, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "SHARE", 2e4)
    log = math.log(delta)
    sums = DirectEngine(ROUNDS).epsilon((log, log), None)
    found = engine_of(ROUNDS).epsilon((log, log), 1e-4)
    assert found.lower <= sums.lower
    assert sums.upper <= found.upper
    without = shortened(ROUNDS, log + math.log(2.0))[0]
    assert ContourEngine(without, Smoothing).epsilon((log, log), 1e-4).upper < sums.lower  # the mass left out decides


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 3.0, 20.0])
def test_the_sum_over_all_losses_is_within(epsilon: float) -> None:
    """The sums are listed one by one; and where nothing may be left out, the contours of all rounds answer."""
    sums = DirectEngine(ROUNDS).log_delta(epsilon, None)
    found = engine_of(ROUNDS).log_delta(epsilon, 1e-3)
    assert found.lower <= sums.upper
    assert sums.lower <= found.upper
    log = sums.estimate
    back = engine_of(ROUNDS).epsilon((log, log), 1e-3)
    truth = DirectEngine(ROUNDS).epsilon((log, log), None)
    assert back.lower <= truth.upper
    assert truth.lower <= back.upper


def test_jumps_that_hide_the_rest_are_left_out() -> None:
    """At its saddle point the law tilted by e^(tL) keeps to losses that are never seen: without them it is short."""
    noise = PoissonRemovePair(DiscreteGaussianPair(1, Fraction(25)), 0.01)
    rounds, log = Composition([(noise, 100)]), math.log(1e-40)
    found = engine_of(rounds).epsilon((log, log), 1e-6)
    assert found.limited is None
    assert found.upper - found.lower <= 1e-6 * found.upper
    back = engine_of(rounds).log_delta(found.estimate, 1e-5)
    assert back.lower <= log + 1e-4
    assert back.upper >= log - 1e-4
    assert back.upper - back.lower <= 1e-4


def test_the_least_gap_is_one() -> None:
    """A hundredth of the least double is none; its logarithm is."""
    plan = Plan.from_dict(
        {"adjacency": "remove", "round": [{"mechanism": "binomial", "count": 3550, "trials": 11, "probability": 0.395}]}
    )
    assert 0 <= plan.delta(0.5, gap=5e-324).lower <= plan.delta(0.5, gap=5e-324).upper <= 1
    assert plan.epsilon(1e-6, gap=5e-324).lower <= plan.epsilon(1e-6).upper
