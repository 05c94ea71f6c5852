"""Every charge between a certified log delta and an answer: profiles, error rates, targets, guarantees of rounds.

The curve that stands for a plan is given by hand: exact, so that roundings are all that is left, or with ends that lie
far apart, so that only the one on its side will do.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from types import SimpleNamespace
from typing import Any, ClassVar, cast

import mpmath
import numpy as np
import numpy.typing as npt
import pytest
from mpmath import mp, mpf
from scipy.special import ndtr, ndtri
from scipy.stats import binom

import hockeystick as hs
from hockeystick import targets
from hockeystick.directions import one_sided
from hockeystick.directions.curve import DirectionCurve
from hockeystick.directions.epsilons import _searched
from hockeystick.directions.gaussian_fit import tight_mu
from hockeystick.directions.one_sided import log_delta_of
from hockeystick.directions.tradeoff import Nodes, TradeOff, TradeOffs
from hockeystick.directions.two_sided import delta_of
from hockeystick.numerics.budget import Budget
from hockeystick.pairs import (
    BlackBoxPair,
    Composition,
)
from hockeystick.plan.profile import Profile
from hockeystick.targets import Target
from hockeystick.values.adjacency import Direction
from hockeystick.values.bounds import Bound
from hockeystick.values.interval import Ends

Array = npt.NDArray[np.float64]
Number = Any


@pytest.fixture(autouse=True)
def precision() -> Iterator[None]:
    with mpmath.workdps(50):
        yield


def profile_of(log_delta: Callable[[Array], Array], apart: float = 0.0) -> Profile:
    """A profile on a curve that is given: its ends are as far apart."""

    def ends(epsilon: Array, enough: Array | None = None) -> Ends:
        middle = log_delta(epsilon)
        return Ends(middle - apart, middle, middle + apart)

    profile = hs.Plan([]).profile()
    profile._curve = cast(Any, SimpleNamespace(log_delta=ends))
    return profile


# Deltas, risks and groups ---------------------------------------------------------------------------------------------


def test_deltas_are_rounded_outward() -> None:
    """The exponential of an exact logarithm, and the ends of one that is not."""
    at = np.linspace(0.0, 8.0, 200)
    band = profile_of(lambda epsilon: -0.1 - epsilon).delta(at)
    for x, low, high in zip(at.tolist(), band.lower.tolist(), band.upper.tolist(), strict=True):
        true = mp.exp(mpf(-0.1 - x))
        assert low <= true <= high
    wide = profile_of(lambda epsilon: -1.0 - epsilon, 0.5).delta(at)
    assert (wide.lower <= np.exp(-1.49 - at)).all()
    assert (wide.upper >= np.exp(-0.51 - at)).all()


def test_the_risk_of_an_attacker_is_rounded_outward() -> None:
    """``min(pi, 1 - pi) (1 - delta(|log odds|))``, at priors that are doubles; and each end from the other of delta."""
    prior = np.concatenate([np.linspace(0.003, 0.997, 150), [1e-9, 1 - 1e-9, 0.5]])
    band = profile_of(lambda epsilon: -1e-3 - 0.3 * epsilon).bayes_risk(prior)
    wide = profile_of(lambda epsilon: -1.0 - 0.3 * epsilon, 0.5).bayes_risk(prior)
    for i, pi in enumerate(prior.tolist()):
        odds, least = abs(mp.log(mpf(pi) / (1 - mpf(pi)))), min(mpf(pi), 1 - mpf(pi))
        assert band.lower[i] <= least * (1 - mp.exp(-mpf(1e-3) - mpf(0.3) * odds)) <= band.upper[i]
        for off in (-0.49, 0.49):
            assert wide.lower[i] <= least * (1 - mp.exp(-1 + off - mpf(0.3) * odds)) <= wide.upper[i]


@pytest.mark.parametrize("size", [2, 3, 7, 1000])
def test_the_delta_of_a_group_is_rounded_up(size: int) -> None:
    """``sum_(i<k) e^(i eps / k) delta(eps / k)``, with a delta that is exact at every epsilon."""
    at = np.concatenate([[0.0, 1e-300, 1e-9], np.linspace(0.001, 2.0, 60), np.linspace(3.0, 40.0, 20)])
    band = profile_of(lambda epsilon: -30.0 - 3.0 * epsilon).group(size).delta(at)
    wide = profile_of(lambda epsilon: -30.0 - 3.0 * epsilon, 0.5).group(size).delta(at)
    for i, epsilon in enumerate(at.tolist()):
        e = mpf(epsilon)
        ratio = mp.expm1(e) / mp.expm1(e / size) if epsilon else mpf(size)
        true = min(mp.exp(mpf(-30) - 3 * e / size) * ratio, mpf(1))
        assert true <= band.upper[i] <= true * (1 + mpf(10) ** -9)
        assert min(true * mp.exp(mpf(0.49)), 1) <= wide.upper[i]


# Epsilon at many deltas -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("lean", [-0.9, 0.9])
def test_the_ends_of_epsilon_are_on_the_side_of_their_delta(lean: float) -> None:
    """The estimate is all but at the wrong end of the interval of delta."""

    def log_delta(epsilon: Array) -> Ends:
        true = -1.0 - 2 * epsilon
        return Ends(true - 0.1, true + 0.1 * lean, true + 0.1)

    target = np.array([-9.0, -5.0, -2.0])
    found, missed = _searched(cast(Any, SimpleNamespace(log_delta=log_delta)), target, 6.0)
    assert not missed.any()
    assert (-1.0 - 2 * found.upper + 0.1 <= target).all()
    assert (-1.0 - 2 * found.lower - 0.1 >= target).all()


def test_an_end_of_epsilon_that_is_not_found_is_no_end() -> None:
    """No lower bound of delta, then no upper one."""

    def upper_only(epsilon: Array) -> Ends:
        return Ends(np.full(len(epsilon), -math.inf), -1.0 - 2 * epsilon, -1.0 - 2 * epsilon)

    def lower_only(epsilon: Array) -> Ends:
        return Ends(-1.0 - 2 * epsilon, -1.0 - 2 * epsilon, np.zeros(len(epsilon)))

    target = np.array([-5.0, -3.0])
    found, missed = _searched(cast(Any, SimpleNamespace(log_delta=upper_only)), target, 6.0)
    assert (found.lower == 0).all()
    assert not missed.any()
    _, missed = _searched(cast(Any, SimpleNamespace(log_delta=lower_only)), target, 6.0)
    assert missed.all()


# Error rates ----------------------------------------------------------------------------------------------------------


def gaussian_trade_off(mu: float, epsilon: Array, apart: float | Array = 0.0) -> TradeOff:
    """That of one Gaussian by these nodes alone, its deltas known to a relative width, at each or at all."""
    e = epsilon
    return trade_off_of(e, ndtr(-e / mu + mu / 2) - np.exp(e) * ndtr(-e / mu - mu / 2), apart)


def trade_off_of(epsilon: Array, delta: Array, apart: float | Array) -> TradeOff:
    """That of these nodes alone, of both orderings."""
    found = object.__new__(TradeOff)
    found._budget = Budget(1e9)
    found.steep, found.flat = Direction.REMOVE, Direction.ADD
    nodes = Nodes(epsilon, delta * (1 - apart), delta, delta * (1 + apart))
    found._of = {found.steep: nodes, found.flat: nodes}
    return found


@pytest.mark.parametrize("apart", [(0.0, 0.0), (0.05, 0.05), (0.0, 0.7), (0.7, 0.0)])
@pytest.mark.parametrize("count", [1, 2, 3, 5, 9])
def test_error_rates_from_few_nodes(count: int, apart: tuple[float, float]) -> None:
    """Between nodes the curve is not known, at every other one hardly; it lies above what convexity allows."""
    fpr = np.concatenate([np.geomspace(1e-7, 0.5, 60), 1 - np.geomspace(1e-7, 0.5, 60)])
    for mu in (0.3, 1.0, 2.0):
        found = gaussian_trade_off(
            mu, np.linspace(0.0, 5.0, count) if count > 1 else np.zeros(1), np.resize(apart, count)
        )
        tpr, fnr = found.known(fpr, found.steep)
        truth, rest = ndtr(ndtri(fpr) + mu), ndtr(-ndtri(fpr) - mu)
        assert (tpr.lower <= truth * (1 + 1e-12)).all()
        assert (truth <= tpr.upper * (1 + 1e-12)).all()
        assert (fnr.lower <= rest * (1 + 1e-12)).all()
        assert (rest <= fnr.upper * (1 + 1e-12)).all()


@pytest.mark.parametrize("delta", [0.3, 1e-5])
def test_lines_of_error_rates_are_rounded_outward(delta: float) -> None:
    """One node, where both errors are those of two lines: exact rationals."""
    found = object.__new__(TradeOff)
    found._budget = Budget(1e9)
    found.steep, found.flat = Direction.REMOVE, Direction.ADD
    one = np.array([delta])
    found._of = dict.fromkeys((found.steep, found.flat), Nodes(np.zeros(1), one, one, one))
    fpr = np.random.default_rng(4).random(400) * min(delta * 2, 0.7)
    tpr, fnr = found.known(fpr, found.steep)
    for i, rate in enumerate(fpr.tolist()):
        least = max(1 - Fraction(delta) - Fraction(rate), Fraction(0))
        assert Fraction(float(fnr.lower[i])) <= least
        assert Fraction(float(tpr.upper[i])) >= 1 - least


def test_deltas_of_nodes_are_rounded_outward() -> None:
    """From their logarithms."""
    trade = object.__new__(TradeOff)
    trade._budget = Budget(1e9)
    at = np.linspace(0.0, 9.0, 150)

    def in_direction(direction: Direction, epsilon: Array, enough: Array) -> Ends:
        return Ends(-0.3 - epsilon, -0.3 - epsilon, -0.3 - epsilon)

    trade._curve, trade._deep = cast(Any, SimpleNamespace(in_direction=in_direction)), 1e-9
    nodes = trade._computed(Direction.REMOVE, at)
    for x, low, high in zip(at.tolist(), nodes.lower.tolist(), nodes.upper.tolist(), strict=True):
        assert low <= mp.exp(mpf(-0.3 - x)) <= high


@pytest.mark.parametrize("apart", [0.0, 1e-2])
def test_mu_from_few_nodes(monkeypatch: pytest.MonkeyPatch, apart: float) -> None:
    """The upper end is enough, the lower one is not more than the truth, whether or not there are nodes between."""
    monkeypatch.setattr(TradeOff, "refine", lambda *_: None)
    for mu in (0.3, 1.0, 2.0):
        for count in (2, 5, 40, 800):
            known = (gaussian_trade_off(mu, np.linspace(0.0, 5.0, count), apart),)
            found = tight_mu(TradeOffs(known, known), 1e-6)
            assert found.lower <= mu <= found.upper


@pytest.mark.parametrize("place", [1, 3, 20, 37])
@pytest.mark.parametrize("width", [0.1, 1.0, 20.0])
def test_mu_where_one_delta_is_known_less_well(monkeypatch: pytest.MonkeyPatch, place: int, width: float) -> None:
    """The line of a delta that is wide may be above its neighbours' at every rate: those beyond it are none the less
    there, and that they are says nothing of the other half.

    Ten randomised responses of epsilon 0.1: mu is largest at a corner of their trade-off function far from its ends.
    """
    monkeypatch.setattr(TradeOff, "refine", lambda *_: None)
    kept = binom.pmf(np.arange(11), 10, 1 / (1 + math.exp(-0.1)))  # k of ten answers are true: a loss of 0.1 (2 k - 10)
    loss = 0.1 * (2 * np.arange(11) - 10)
    tpr = np.cumsum(kept[::-1])[:-1]
    fpr = np.cumsum((kept * np.exp(-loss))[::-1])[:-1]
    mu = float((ndtri(tpr) - ndtri(fpr)).max())
    at, apart = np.linspace(0.0, 1.0, 40), np.zeros(40)
    apart[place] = width
    delta = (kept * np.maximum(-np.expm1(at[:, None] - loss), 0.0)).sum(axis=1)
    found, without = (
        trade_off_of(at[chosen], delta[chosen], apart[chosen]) for chosen in (at >= 0, np.arange(40) != place)
    )
    bound = tight_mu(TradeOffs((found,), (found,)), 1e-6)
    assert bound.lower <= mu <= bound.upper
    assert bound.upper <= tight_mu(TradeOffs((without,), (without,)), 1e-6).upper


# Targets --------------------------------------------------------------------------------------------------------------

WIDE = Bound(0.9, 0.95, 1.1)
ABOVE = Bound(1.05, 1.06, 1.1)


@pytest.mark.parametrize(
    "target", [targets.Epsilon(1.0, 1e-6), targets.GaussianDP(1.0)], ids=lambda target: type(target).__name__
)
def test_a_target_is_met_by_the_upper_end(target: Target) -> None:
    """Not by the estimate; and missed by the lower one alone."""
    assert target.limit == 1.0
    assert not target.met(WIDE)
    assert not target.missed(WIDE)
    assert target.missed(ABOVE)
    assert target.met(Bound(0.9, 0.95, 1.0))
    assert target.excess(WIDE) > 0 >= target.excess(Bound(0.5, 0.9, 1.0))
    assert target.safe_end(WIDE) == 1.1


def test_a_risk_is_met_by_the_lower_end() -> None:
    target = targets.BayesRisk(0.3)
    assert not target.met(Bound(0.29, 0.31, 0.4))
    assert target.met(Bound(0.3, 0.31, 0.4))
    assert not target.missed(Bound(0.29, 0.295, 0.31))
    assert target.missed(Bound(0.2, 0.25, 0.29))
    assert target.safe_end(WIDE) == 0.9


@dataclass(frozen=True)
class Known(Target):
    """``1 / sigma``, known to an interval whose estimate is at its lower end: only the upper one is safe."""

    most: float
    name: ClassVar[str] = "most"

    def measure(self, plan: hs.Plan, gap: float | None) -> Bound:
        (item,) = plan.rounds
        assert isinstance(item.mechanism, hs.Gaussian)
        value = 1 / item.mechanism.noise_multiplier * item.count
        return Bound(0.8 * value, 0.81 * value, value)


@pytest.mark.parametrize("most", [0.31, 0.99, 1.0, 3.71, 5.2, 9.9, 23.4, 57.7])
def test_a_calibration_answers_with_what_meets_the_target(most: float) -> None:
    """By the upper end, just so."""
    found = hs.calibrate(hs.Plan([hs.Round(hs.Gaussian(1.0))]), "noise-multiplier", Known(most))
    assert 1 / found.value <= most <= 1 / found.value * (1 + 1e-5)
    steps = hs.calibrate(hs.Plan([hs.Round(hs.Gaussian(10.0))]), "steps", Known(most)).value
    assert steps * 0.1 <= most < (steps + 1) * 0.1


@pytest.mark.parametrize("epsilon", [0.51, 0.8, 1.3])
def test_the_steps_that_remain_are_all_that_fit(epsilon: float) -> None:
    """One more does not, by the certified upper end; none where nothing fits."""
    accountant = hs.Accountant()
    accountant.step(noise_multiplier=2.0, sample_rate=0.01, count=500)
    kind: dict[str, Any] = {"noise_multiplier": 1.5, "sample_rate": 0.02}
    more = accountant.remaining(**kind, epsilon=epsilon, delta=1e-6)
    rounds = [*accountant.history, hs.Round(hs.Gaussian(1.5), hs.Poisson(0.02), max(more, 1))]
    assert more >= 0
    assert more == 0 or hs.Plan(rounds).epsilon(1e-6).upper <= epsilon
    rounds[-1] = hs.Round(hs.Gaussian(1.5), hs.Poisson(0.02), more + 1)
    assert hs.Plan(rounds).epsilon(1e-6).upper > epsilon
    assert accountant.remaining(**kind, epsilon=0.01, delta=1e-6) == 0


# Upper bounds as results ----------------------------------------------------------------------------------------------


def test_the_delta_of_a_logarithm_is_rounded_outward() -> None:
    for i in range(60):
        low, high = -0.37 * i - 0.11, -0.37 * i - 0.1
        found = delta_of(Bound(low, 0.5 * (low + high), high))
        assert found.lower <= mp.exp(mpf(low))
        assert mp.exp(mpf(high)) <= found.upper
        assert one_sided.delta_bound("rdp", Direction.ADD, high).quoted >= mp.exp(mpf(high))


def test_a_delta_from_a_bound_on_epsilon_is_good() -> None:
    """A bound with steps, to the last digit: at ``e^(what is found)`` itself it is at most epsilon."""
    for i in range(30):
        least = math.exp(-0.7 * i - 0.3)

        def bound(delta: float, least: float = least) -> float:
            return 1.0 if delta >= least else 2.0001

        found = log_delta_of(bound, 2.0, 1e-300)
        assert mp.exp(mpf(found)) >= least
        assert found <= math.log(least) + 1e-12


# Mass at infinity, and near the largest loss --------------------------------------------------------------------------


def test_both_ends_of_mass_at_infinity_are_added(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ends that lie apart: the lower one below, the upper one above."""
    curve = DirectionCurve(Composition([(BlackBoxPair(0.5, 1e-3), 1)]), None)
    given = SimpleNamespace(
        rounds=(1,),
        bounded=False,
        tells_all=False,
        infinite_mass=0.15,
        infinite_mass_ends=(0.1, 0.2),
        standing_mass=0.0,
        variation=lambda most: math.inf,
    )
    monkeypatch.setattr(curve, "composition", given)
    nothing = np.full(1, -math.inf)
    monkeypatch.setattr(curve, "_curve", SimpleNamespace(log_delta=lambda *_: Ends(nothing, nothing, nothing)))
    found = curve.log_delta(np.zeros(1))
    assert found.lower[0] == pytest.approx(math.log(0.1))
    assert found.upper[0] == pytest.approx(math.log(0.2))
