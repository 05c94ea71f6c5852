"""Rounds without outcomes far out that are next to never seen: what they are short of, every charge, and the truth."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import cache
from typing import Any

import mpmath
import numpy as np
import pytest
from mpmath import mp, mpf

import hockeystick as hs
from capped_truths import Sharp
from core_lines import CoreEngine
from hockeystick.engines.auto import AutoEngine
from hockeystick.engines.auto import capped as engine_of
from hockeystick.engines.contour import seen as engine
from hockeystick.engines.contour.engine import ContourEngine
from hockeystick.numerics.boxes import Boxes
from hockeystick.pairs import Composition, GaussianPair
from hockeystick.pairs.capped import capped
from hockeystick.pairs.sampled import capped_law, capped_line
from hockeystick.pairs.sampled.capped_law import CappedLaw, CappedNodes, capped_at
from hockeystick.pairs.sampled.capped_line import CappedLine
from hockeystick.pairs.sampled.capped_transform import CappedTransform
from hockeystick.pairs.sampled.gaussian_transform import Kind, MixtureTransform
from hockeystick.pairs.sampled.poisson import PoissonAddPair, PoissonRemovePair
from hockeystick.values.errors import NotApplicableError

Number = Any

# of rounds and deltas; the line of each is long enough, and its period too, to be exact to a few parts in a billion
NEVER_TWICE = Sharp("3", "1e-6", 1000, 9.8, 3e5, "0.0003", 40), 1e-8
MANY = Sharp("1", "1e-8", 10**9, 12.5, 14000.0, "0.006", 20), 1e-12
FEW = Sharp("2", "1e-5", 100, 9.5, 3e4, "0.003", 60), 1e-8


@pytest.fixture(autouse=True)
def precision() -> Iterator[None]:
    with mpmath.workdps(30):
        yield


def composition(truth: Sharp) -> Composition:
    return Composition([(PoissonRemovePair(GaussianPair(1 / float(truth.noise)), float(truth.rate)), truth.rounds)])


@pytest.mark.parametrize(("truth", "delta"), [NEVER_TWICE, MANY, pytest.param(*FEW, marks=pytest.mark.slow)])
def test_epsilon_lies_within(truth: Sharp, delta: float) -> None:
    """Against a sum in mpmath of the law below a sharp end; and what the engine says of delta at both ends."""
    plan = hs.dp_sgd(float(truth.noise), sample_rate=float(truth.rate), steps=truth.rounds, adjacency="remove")
    found = plan.epsilon(delta=delta)
    assert found.upper - found.lower <= 1e-7 * found.upper
    (least, _), (_, most) = truth.ends([found.lower, found.upper])
    assert least >= mpf(repr(delta)) >= most
    middle = engine_of(composition(truth)).log_delta(found.estimate, None)
    assert middle.upper - middle.lower <= 1e-6
    assert middle.lower - 1e-6 <= math.log(delta) <= middle.upper + 1e-6


# The law --------------------------------------------------------------------------------------------------------------

LAW = MixtureTransform.sampled(1.0, 0.01, Kind.REMOVE)
CAPPED = CappedLaw(LAW, 3.0, 20.0)


@cache
def moment(law: CappedLaw, z: Number) -> Number:
    """``m_b(z)`` by a trapezoid rule so fine that its error is below 1e-15."""
    mu, q, z = mpf(law.law.mu), mpf(repr(law.law.rate)), mp.mpc(z)
    dx = mpf(1) / 160

    def value(x: Number) -> Number:
        kept = mp.exp(-mp.exp(law.steepness * (x - law.centre)))
        return mp.npdf(x) * kept * mp.exp((1 + z) * mp.log1p(q * mp.expm1(mu * x - mu * mu / 2)))

    return dx * mp.fsum(value(j * dx) for j in range(-10 * 160, int((law.centre + 0.5) * 160)))


@pytest.mark.parametrize(("rate", "centre"), [(0.01, 3.0), (0.9, 3.0), (1e-6, 9.0)])
def test_what_is_left_out(rate: float, centre: float) -> None:
    """The bound is above the mass that is missing, and by no more than a third."""
    law = CappedLaw(MixtureTransform.sampled(1.0, rate, Kind.REMOVE), centre, 20.0)
    q = mpf(repr(rate))

    def left_out(x: Number) -> Number:
        mixed = (1 - q) * mp.npdf(x) + q * mp.npdf(x - 1)
        return mixed * -mp.expm1(-mp.exp(20 * (x - centre)))

    missing = mp.quad(left_out, mp.linspace(centre - 5, centre + 5, 61))
    assert missing <= math.exp(law.log_lost) <= 1.35 * missing


def test_an_epsilon_that_no_seen_loss_reaches_is_left_to_others() -> None:
    """However deep its tail is looked at, none is found: the guide would go on for ever."""
    rare = Composition([(PoissonRemovePair(GaussianPair(1 / 0.373), 1.66e-95), 11)])
    with pytest.raises(NotApplicableError, match="do not add up to epsilon"):
        engine_of(rare).log_delta(1e-16, None)


def test_the_least_end_that_leaves_out_little_enough() -> None:
    found = capped_at(LAW, -40.0)
    assert found is not None
    assert -40.01 < found.log_lost <= -40.0
    assert capped_at(LAW, -1e5) is None
    rounds = Composition(
        [(PoissonRemovePair(GaussianPair(1.0), 1e-6), 1000), (PoissonRemovePair(GaussianPair(0.5), 1e-6), 10)]
    )
    short = capped(rounds, -40.0)
    assert short is not None
    masses = [math.log(count) + pair.capped.log_lost for pair, count in short[0].rounds]  # type: ignore[attr-defined]
    assert np.logaddexp(*masses) <= short[1] <= -39.9
    for pair in (PoissonAddPair(GaussianPair(1.0), 1e-6), PoissonRemovePair(GaussianPair(1.0), 1e-3)):
        with pytest.raises(NotApplicableError, match="are not small"):
            capped(Composition([(pair, 10)]), -40.0)


def test_losses_whose_odds_are_beyond_a_double() -> None:
    """At a rate of 1e-306 a loss of 400 has a likelihood ratio that no double holds: it is no small one."""
    law = CappedLaw(MixtureTransform.sampled(40.0, 1e-306, Kind.REMOVE), 48.0, 160.0)
    log_odds = math.log(1e-306) + 40 * (48 - 20)
    assert law.largest_loss == pytest.approx(log_odds, rel=1e-12)
    assert law.log_above(48.01, 10.0, 0.0, 0.0) == math.inf  # e^(160 * 0.01) is far below 11 losses
    at = law.log_above(48.2, 10.0, 0.0, 0.0)
    assert at >= 11 * (log_odds + 40 * 0.2) - math.exp(160 * 0.2)
    assert math.isfinite(at)


# The line -------------------------------------------------------------------------------------------------------------


def off(law: CappedLaw, line: CappedLine, step: float, count: int) -> list[float]:
    """The errors of ``m_b`` at the points, in units of what the bounds on those of K allow."""
    values, errors = line.cumulants(step, count)
    out = []
    for j, (value, error) in enumerate(zip(values.tolist(), errors.tolist(), strict=True)):
        true = moment(law, mp.mpc(line.t, j * step))
        out.append(float(abs(true / mp.exp(mp.mpc(value)) - 1) / mp.expm1(mpf(error))))
    return out


@pytest.mark.parametrize("t", [0.5, 20.0, 400.0])
def test_values_are_as_near_as_they_say(t: float) -> None:
    """Next to 1, and where the law leans so far that it is at its end; to a few digits less than all."""
    line = CappedLine(CAPPED, t, 40.0, 1e-15)
    assert max(off(CAPPED, line, 20.0, 3)) <= 1
    assert line.cumulants(20.0, 3)[1].max() < 1e-11
    assert line.large is (t > 100)


SLIP = 1e-6  # far above all roundings


def kept_more_often(at: CappedNodes) -> None:
    at.log_kept = at.log_kept + math.log1p(SLIP)
    at.doubt = at.doubt + SLIP


def lost_more_often(at: CappedNodes) -> None:
    at.lost = at.lost * (1 + SLIP)
    at.lost_doubt = at.lost_doubt + SLIP


def moved_losses(at: CappedNodes, by: Any) -> None:
    nodes, power = at.nodes, at.nodes.exponent[-1] / at.nodes.u[-1]
    care, slip = nodes.care() + power * SLIP, nodes.slip() + SLIP
    nodes.u = nodes.u + by
    nodes.exponent = nodes.exponent + power * by
    nodes.care, nodes.slip = lambda: care, lambda: slip  # type: ignore[method-assign]


def larger_losses(at: CappedNodes) -> None:
    moved_losses(at, SLIP)


def losses_of_larger_size(at: CappedNodes) -> None:
    moved_losses(at, SLIP * np.sign(at.nodes.u))


@pytest.mark.parametrize("t", [0.5, 400.0])
@pytest.mark.parametrize("wrong", [kept_more_often, lost_more_often, larger_losses, losses_of_larger_size])
def test_errors_of_nodes_are_charged(wrong: Any, t: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nodes that are off by what they say: values are off by no more than the line says, at its foot and farther up."""

    class Wrong(CappedNodes):
        def __init__(self, law: CappedLaw, x: Any, tilt: float) -> None:
            super().__init__(law, x, tilt)
            wrong(self)

    monkeypatch.setattr(capped_line, "CappedNodes", Wrong)
    ratios = off(CAPPED, CappedLine(CAPPED, t, 40.0, 1e-15), 20.0, 3)
    assert max(ratios) <= 1
    if wrong is not lost_more_often or t < 1:  # what is lost does not enter where the law leans on its end
        assert max(ratios) > 1e-2


@pytest.mark.parametrize("t", [0.5, 400.0])
@pytest.mark.parametrize("dx", [0.0625, 0.125, 0.25])
def test_a_coarse_step_is_charged(t: float, dx: float) -> None:
    """Nodes so far apart that the end of the law lies between them: the step is nearly all that it is off by."""
    line = CappedLine(CAPPED, t, 40.0, 1e-13)
    line.dx, line.low, line.nodes = dx, -9.0, math.ceil(14.0 / dx)
    assert max(off(CAPPED, line, 20.0, 3)) <= 1


@pytest.mark.parametrize("low", [-2.0, -3.0])
def test_nodes_that_begin_within_the_law_are_charged(low: float) -> None:
    line = CappedLine(CAPPED, 20.0, 40.0, 1e-13)
    line.low, line.nodes = low, math.ceil((4.0 - low) / line.dx)
    ratios = off(CAPPED, line, 20.0, 3)
    assert 1e-3 < max(ratios) <= 1


def test_nodes_that_end_within_the_law_are_charged() -> None:
    """Where the law has hardly any weight left, that is; else nothing is known."""
    law = CappedLaw(LAW, 1.5, 20.0)
    line = CappedLine(law, 2.0, 40.0, 1e-13)
    line.nodes = math.ceil((1.9 - line.low) / line.dx)
    ratios = off(law, line, 20.0, 3)
    assert 1e-2 < max(ratios) <= 1
    short = CappedLine(law, 400.0, 40.0, 1e-13)
    short.nodes = math.ceil((1.55 - short.low) / short.dx)
    assert np.isinf(short.cumulants(20.0, 3)[1]).all()


def test_the_bound_off_the_real_line() -> None:
    """Above the integral of the modulus, for every height, by less than a factor of three."""
    mu, q = mpf(1), mpf("0.01")
    for t, s in ((0.5, 40.0), (30.0, 200.0)):
        heights = np.array([0.004, 0.04])
        for a, bound in zip(heights.tolist(), CAPPED.log_size(t, s, heights).tolist(), strict=True):

            def size(x: Number, a: float = a, t: float = t, s: float = s) -> Number:
                z = mp.mpc(x, -a)
                g = 1 + q * mp.expm1(mu * z - mu * mu / 2)
                kept = mp.exp(-mp.exp(20 * (z - 3)))
                return abs(mp.npdf(z) * kept * mp.exp((1 + mp.mpc(t, s)) * mp.log(g)))

            true = mp.log(mp.quad(size, mp.linspace(-9, 4, 14)))
            assert true <= bound <= true + 1.1


def off_the_line(law: CappedLaw, x: Number, t: float, s: float) -> Number:
    """``log |b g^(1+z)|`` at an outcome, which may be complex, for heights of the worse sign."""
    g = 1 + mpf(repr(law.law.rate)) * mp.expm1(law.law.mu * x - mpf(law.law.mu) ** 2 / 2)
    fading = mp.exp(law.steepness * (x - law.centre))
    return -fading.real + (1 + t) * mp.log(abs(g)) + s * abs(mp.arg(g))


def size_off_the_line(law: CappedLaw, a: float, t: float, s: float) -> Number:
    """``int |b phi g^(1+z)|`` along Im x = a, by a trapezoid rule."""
    dx = mpf(1) / 64
    nodes = (mp.mpc(j * dx, a) for j in range(-9 * 64, int((law.centre + 0.5) * 64)))
    return dx * mp.fsum(abs(mp.npdf(x)) * mp.exp(off_the_line(law, x, t, s)) for x in nodes)


@pytest.mark.parametrize(("t", "s", "a"), [(10.0, 0.0, 0.0), (10.0, 300.0, 0.05), (0.0, 300.0, 0.05)])
def test_the_bound_beyond_an_outcome(t: float, s: float, a: float) -> None:
    """From the nearest outcome on at which there is a bound: above the truth, and near it there."""
    outcomes = [3 + j / 256 for j in range(256)]
    first = next(h for h in outcomes if CAPPED.log_above(h, t, s, a) <= 0)
    bound = CAPPED.log_above(first, t, s, a)
    assert bound <= off_the_line(CAPPED, mp.mpc(first, a), t, s) + 0.15
    assert all(off_the_line(CAPPED, mp.mpc(first + d, a), t, s) <= bound for d in (0.0, 0.001, 0.01, 0.1, 1.0))
    assert CAPPED.log_above(first, t, s, 0.06) == math.inf  # kappa a is above pi / 3


def test_the_size_off_the_real_line_on_fine_panels(monkeypatch: pytest.MonkeyPatch) -> None:
    """So near the truth that what phi grows by off the real line is seen."""
    monkeypatch.setattr(capped_law, "WIDTH", 2e-4)
    true = mp.log(size_off_the_line(CAPPED, 0.05, 0.5, 0.0))
    assert true <= CAPPED.log_size(0.5, 0.0, np.array([0.05]))[0] <= true + 1e-3


@pytest.mark.parametrize(("low", "high"), [(-0.5, 3.5), (-9.0, 1.75)])
def test_what_is_beyond_the_panels_is_charged(low: float, high: float, monkeypatch: pytest.MonkeyPatch) -> None:
    law = CappedLaw(LAW, 1.5, 20.0)
    true = mp.log(size_off_the_line(law, 0.0, 2.0, 0.0))
    monkeypatch.setattr(CappedLaw, "range_for", lambda *_: (low, high))
    assert true <= law.log_size(2.0, 0.0, np.array([0.0]))[0] <= true + 1.0


def test_the_turn_is_the_larger_one_of_a_panel(monkeypatch: pytest.MonkeyPatch) -> None:
    true = mp.log(size_off_the_line(CAPPED, 0.04, 0.5, 2e4))
    for width in (0.1, 0.3):
        monkeypatch.setattr(capped_law, "WIDTH", width)
        assert true <= CAPPED.log_size(0.5, 2e4, np.array([0.04]))[0]


def test_the_bound_off_the_real_line_on_wide_panels(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the law leans on its end: each factor is taken at the end of a panel at which it is larger."""
    true = mp.log(moment(CAPPED, 400).real)
    for width in (0.05, 0.2, 0.5):
        monkeypatch.setattr(capped_law, "WIDTH", width)
        assert true <= CAPPED.log_size(400.0, 0.0, np.array([0.0]))[0]


# How far it falls -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("t", [2.0, 60.0, 150.0])
def test_values_fall_as_far_as_is_said(t: float) -> None:
    edges = np.array([3.0, 10.0, 30.0, 100.0, 300.0, 1000.0])
    bounds = below(CAPPED, t).log_bound(edges)
    still = moment(CAPPED, t).real
    assert (np.diff(bounds) <= 0).all()
    falls = [float(mp.log(abs(moment(CAPPED, mp.mpc(t, s))) / still)) for s in edges.tolist()]
    assert all(fall <= bound for fall, bound in zip(falls, bounds.tolist(), strict=True))


def test_boxes_show_a_third_of_what_values_fall_by() -> None:
    """Of a rare round, at a tilt that the law itself does not have; the density is far from symmetric."""
    law, t = CappedLaw(MixtureTransform.sampled(1.0, 1e-6, Kind.REMOVE), 9.0, 20.0), 2000.0
    edges = np.array([2e4, 1e5, 4e5])
    bounds = below(law, t).log_bound(edges)
    still = moment(law, t).real
    for s, bound in zip(edges.tolist(), bounds.tolist(), strict=True):
        fall = float(mp.log(abs(moment(law, mp.mpc(t, s))) / still))
        assert fall <= bound <= fall / 3 < 0


def below(law: CappedLaw, t: float) -> Boxes:
    """Boxes below the density of the loss."""
    return CappedTransform(law.law, law.centre, law.steepness).envelope(t, 1)


# What is left out, of the answer --------------------------------------------------------------------------------------

LOG = math.log(NEVER_TWICE[1])
LARGE = Composition([(PoissonRemovePair(GaussianPair(2.0), 0.05), 200)])  # whose losses that are left out are large


@pytest.fixture
def much_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """A tenth of delta, of rounds that no one would ask for."""
    monkeypatch.setattr("hockeystick.pairs.capped.LARGEST_LOSS", math.inf)
    monkeypatch.setattr(engine, "SHARE", 1e5)
    monkeypatch.setattr(engine, "BELOW", 0.0)


@pytest.mark.usefixtures("much_left_out")
@pytest.mark.parametrize("delta", [1e-2, 1e-4])
def test_delta_lies_within_where_much_is_left_out(delta: float) -> None:
    """The upper end has all of what is left out, and the lower one nothing."""
    log = math.log(delta)
    epsilon = ContourEngine(LARGE).epsilon((log, log), None).estimate
    sharp, found = ContourEngine(LARGE).log_delta(epsilon, None), engine_of(LARGE).log_delta(epsilon, 1e-6)
    assert found.lower < sharp.lower
    assert sharp.upper < found.upper < sharp.upper + 0.7
    assert found.upper - found.lower > 0.01
    assert found.limited


@pytest.mark.usefixtures("much_left_out")
@pytest.mark.parametrize("delta", [1e-2, 1e-4])
def test_epsilon_lies_within_where_much_is_left_out(delta: float) -> None:
    log = math.log(delta)
    sharp, found = ContourEngine(LARGE).epsilon((log, log), None), engine_of(LARGE).epsilon((log, log), 1e-6)
    assert found.lower < sharp.lower
    assert sharp.upper < found.upper
    without = capped(LARGE, log + math.log(0.1))
    alone = ContourEngine(without[0]).epsilon((log, log), None)
    assert alone.upper < sharp.lower  # the mass left out decides


def test_more_than_half_of_delta_is_never_left_out() -> None:
    """A gap may be so wide that what it leaves out would be all of delta: that is refused."""
    rounds = composition(NEVER_TWICE[0])
    for gap in (60.0, 100.0, 1e4):
        with pytest.raises(NotApplicableError):
            engine_of(rounds).epsilon((LOG, LOG), gap)
    found = engine_of(rounds).epsilon((LOG, LOG), 40.0)
    sharp = engine_of(rounds).epsilon((LOG, LOG), None)
    assert found.lower <= sharp.upper
    assert sharp.lower <= found.upper


# Which engine answers -------------------------------------------------------------------------------------------------


def test_rarely_sampled_rounds_that_are_too_rare_for_the_core_leave_out_what_is_never_seen() -> None:
    """The core refuses, and the cascade asks the contour of the outcomes that are seen."""
    rounds = composition(FEW[0])
    log = math.log(FEW[1])
    with pytest.raises(NotApplicableError):
        CoreEngine(rounds).epsilon((log, log), None)
    assert AutoEngine(rounds).epsilon((log, log), None) == engine_of(rounds).epsilon((log, log), None)


def test_several_kinds() -> None:
    """Half of the rounds by a noise next to the other one: between the answers to either."""
    kinds = [PoissonRemovePair(GaussianPair(1 / noise), 1e-6) for noise in (3.0, 3.001)]
    mixed = engine_of(Composition([(pair, 500) for pair in kinds])).epsilon((LOG, LOG), None)
    first, second = (engine_of(Composition([(pair, 1000)])).epsilon((LOG, LOG), None) for pair in kinds)
    assert mixed.limited is None
    assert second.lower <= mixed.upper
    assert mixed.lower <= first.upper
    assert mixed.upper - mixed.lower <= 1e-6 * mixed.upper


def test_outcomes_far_below_are_not_stood_in_for_one_by_one() -> None:
    """No tilt above 0 lifts them: a floor of 1e-1e15 takes no more of them than one of 1e-350."""
    found = capped(Composition([(PoissonRemovePair(GaussianPair(1e-12), 0.09), 10**12)]), -20.0)
    assert found is not None
    pair = found.rounds.rounds[0][0]
    sizes = [len(stand_in[0]) for stand_in in (pair.standing_in(floor) for floor in (-800.0, -1e15)) if stand_in]
    assert sizes == [sizes[0], sizes[0]]
    assert sizes[0] < 10_000
