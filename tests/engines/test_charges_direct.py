"""Every charge of a single round's integral, of the Renyi bound and of its kin, where it is made.

Thresholds, depths and moments are given so badly that what is charged for them is all that counts; roundings are held
against exact numbers.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from types import SimpleNamespace
from typing import Any, ClassVar, cast

import mpmath
import numpy as np
import numpy.typing as npt
import pytest
from mpmath import mp, mpf

import hockeystick as hs
import oracle
from decimals import exact
from hockeystick.accountants import rdp, zcdp
from hockeystick.engines.direct import DirectEngine, _integral, _panels, of_atoms
from hockeystick.numerics.rounding import UNIT_ROUNDOFF
from hockeystick.pairs import BlackBoxPair, Composition, DominatingPair, GaussianPair, PoissonRemovePair, moment
from hockeystick.pairs.base import Atoms
from hockeystick.pairs.gaussian import GaussianLocation
from hockeystick.pairs.renyi import (
    RenyiBound,
    epsilon_from,
    log_delta_at,
    log_moment,
    log_peak,
    renyi_epsilon,
)
from hockeystick.pairs.sampled.poisson import PoissonSmooth
from hockeystick.values.adjacency import Direction

Number = Any
Array = npt.NDArray[np.float64]


@pytest.fixture(autouse=True)
def precision() -> Iterator[None]:
    with mpmath.workdps(50):
        yield


# A single round -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("loss", [0.7, 1.9, 0.3, 2.3, 11.7])
def test_atoms_next_to_epsilon(loss: float) -> None:
    """What is left of the loss is a few of its roundings, or all of it."""
    pair = BlackBoxPair(loss, 0.0)
    for epsilon in (loss - 1e-13, loss - 3e-14, loss - 7e-12, 0.3 * loss, 0.0):
        low, high = of_atoms(pair, pair.atoms.seen(), epsilon)
        true = mp.log(-mp.expm1(exact(epsilon) - exact(loss)) / (1 + mp.exp(-exact(loss))))
        assert low <= true <= high


@pytest.mark.parametrize("units", [1e6, -1e6])
def test_atoms_that_are_off_by_units_of_their_own(units: float) -> None:
    """Up or down, next to epsilon: a million units are far more than what is left of the loss."""
    loss = 0.7 * (1 + units * UNIT_ROUNDOFF)
    atoms = Atoms(np.array([loss]), np.array([-0.5]), np.array([-0.5 - loss]), abs(units))
    epsilon = 0.7 - 1e-10
    pair = cast(Any, SimpleNamespace(supremum_error=0.0, loss_range=(-1.0, 1.0)))
    low, high = of_atoms(pair, atoms, epsilon)
    assert low <= -0.5 + mp.log(-mp.expm1(mpf(epsilon) - mpf(0.7))) <= high


def gaussian_log_delta(mu: float, epsilon: float) -> Number:
    m, e = exact(mu), exact(epsilon)
    return mp.log(mp.ncdf(m / 2 - e / m) - mp.exp(e) * mp.ncdf(-m / 2 - e / m))


@pytest.mark.parametrize(("mu", "epsilon"), [(10.0, 0.0), (10.0, 20.0), (1.0, 0.3)])
def test_the_tails_of_the_density_are_added(mu: float, epsilon: float) -> None:
    """Next to no depth: one deviation on either side is all that is integrated."""
    smooth = GaussianLocation(mu)
    threshold = float(smooth.outcome(np.array([epsilon]))[0])
    low, high = _integral(smooth, epsilon, threshold, -1.0, _panels(smooth, threshold, -1.0))
    assert low <= gaussian_log_delta(mu, epsilon) <= high < 1.0


@pytest.mark.parametrize("off", [-0.4, -0.01, 0.01, 0.4, 1.0])
def test_the_mass_between_thresholds_is_added(off: float) -> None:
    """Whatever the threshold: what is computed from it is below delta, and what lies beside it is added."""
    mu, epsilon = 1.5, 2.0
    smooth = GaussianLocation(mu)
    threshold = float(smooth.outcome(np.array([epsilon]))[0]) + off
    low, high = _integral(smooth, epsilon, threshold, -60.0, _panels(smooth, threshold, -60.0))
    assert low <= gaussian_log_delta(mu, epsilon) <= high


class Counted(PoissonSmooth):
    """How many arrays of outcomes the loss was asked at."""

    asked: ClassVar[list[int]] = []

    def loss(self, x: Array) -> Array:
        self.asked.append(len(x))
        return super().loss(x)


def test_the_mass_between_thresholds_of_a_sampled_round_is_found_by_one_call() -> None:
    """Beside that of the nodes: a group of many records takes tens of thousands of such integrals."""
    smooth, epsilon = Counted(GaussianLocation(1 / 5.69), 0.738, 1), 0.1
    threshold = float(smooth.outcome(np.array([epsilon]))[0])
    panels = _panels(smooth, threshold, -60.0)
    smooth.asked.clear()
    _integral(smooth, epsilon, threshold, -60.0, panels)
    assert sorted(smooth.asked) == [33, 16 * panels]


class Off(GaussianLocation):
    """Densities and losses that are off by a thousandth, and say so."""

    of_loss = 0.0
    of_density = 0.0

    def loss(self, x: Array) -> Array:
        return super().loss(x) + self.of_loss

    def log_p(self, x: Array) -> Array:
        return super().log_p(x) + self.of_density

    def loss_error(self, x: Array) -> Array:
        return np.full_like(x, abs(self.of_loss) / UNIT_ROUNDOFF)

    def log_p_error(self, x: Array) -> Array:
        return np.full_like(x, abs(self.of_density) / UNIT_ROUNDOFF)


@pytest.mark.parametrize(("of_loss", "of_density"), [(1e-3, 0.0), (-1e-3, 0.0), (0.0, 1e-3), (0.0, -1e-3)])
def test_what_a_density_says_it_is_off_by_is_charged(
    monkeypatch: pytest.MonkeyPatch, of_loss: float, of_density: float
) -> None:
    monkeypatch.setattr(Off, "of_loss", of_loss)
    monkeypatch.setattr(Off, "of_density", of_density)
    smooth, epsilon = Off(1.5), 2.0
    threshold = float(GaussianLocation(1.5).outcome(np.array([epsilon]))[0])
    low, high = _integral(smooth, epsilon, threshold, -60.0, _panels(smooth, threshold, -60.0))
    assert low <= gaussian_log_delta(1.5, epsilon) <= high <= low + 0.1


ROUGH_MU = [(266.5, 37058.2), (63.45, 2385.6), (40.1, 769.029), (348.4, 62963.0), (230.2, 27254.8), (1e-3, 0.0031)]


@pytest.mark.parametrize(("mu", "epsilon"), ROUGH_MU)
def test_roundings_of_the_integral_are_charged(mu: float, epsilon: float) -> None:
    """Of mu, the loss and the densities: the truth is that of the decimals."""
    low, high = DirectEngine(Composition([(GaussianPair(mu), 1)]))._ends(epsilon)
    assert low <= gaussian_log_delta(mu, epsilon) <= high


@pytest.mark.parametrize("target", [-0.05, -1.0, -5.0, -7.3, -20.0])
def test_epsilon_of_one_round_is_where_its_ends_are(monkeypatch: pytest.MonkeyPatch, target: float) -> None:
    """Ends that lie apart, and on a curve with steps: only the certified one on its side will do."""

    def ends(self: DirectEngine, epsilon: float) -> tuple[float, float]:
        middle = -round(epsilon * 64) / 64
        return middle - 0.1, middle + 0.1

    monkeypatch.setattr(DirectEngine, "_ends", ends)
    engine = DirectEngine(Composition([(PoissonRemovePair(GaussianPair(1.0), 0.5), 1)]))
    for width in (0.0, 0.5):
        found = engine.epsilon((target - width, target + width), None)
        assert ends(engine, found.upper)[1] <= target - width
        assert found.lower == 0 or ends(engine, found.lower)[0] > target + width
        assert found.lower <= found.upper


# The Renyi bound ------------------------------------------------------------------------------------------------------


def composition_of(*rounds: tuple[float, int]) -> Any:
    """Rounds whose moments are given, as exact doubles."""
    curves = [(SimpleNamespace(log_moment=lambda t, k=k: k, transform=None), count) for k, count in rounds]
    return SimpleNamespace(rounds=curves, count=sum(count for _, count in rounds))


def test_moments_add_up_with_their_roundings() -> None:
    for i in range(1, 40):
        rounds = (0.1 * i, 3), (-0.01 / i, 10**9 + i), (1 / (3 * i), 7)
        assert sum(Fraction(k) * count for k, count in rounds) <= Fraction(log_moment(composition_of(*rounds), 1.0))


def test_roundings_of_the_conversion_to_epsilon_are_charged() -> None:
    """One order only, alpha = 2, so that the bound is what it says there."""
    random = np.random.default_rng(1)
    for k, log_delta in zip(random.uniform(0, 50, 60).tolist(), random.uniform(-600, -1, 60).tolist(), strict=True):

        def one_order(t: float, k: float = k) -> float:
            return k if t == 1.0 else math.inf

        found = epsilon_from(one_order, log_delta)
        assert found.order == 2.0
        assert mpf(k) - mpf(log_delta) - 2 * mp.log(2) <= found.value


def test_roundings_of_the_conversion_to_delta_are_charged() -> None:
    """``K - t eps`` cancels: what is left has the roundings of both."""
    random = np.random.default_rng(2)
    for t, k in zip(random.uniform(0.1, 50, 60).tolist(), random.uniform(1e3, 1e6, 60).tolist(), strict=True):
        epsilon = k / t * 1.001
        true = mpf(k) - mpf(t) * mpf(epsilon) + mpf(t) * mp.log(mpf(t)) - (1 + mpf(t)) * mp.log(1 + mpf(t))
        assert true <= log_delta_at(k, t, epsilon)


@pytest.mark.parametrize("t", [1e-6, 0.01, 0.5, 1.0, 30.0, 1e5])
def test_the_peak_is_the_largest_value(t: float) -> None:
    """``sup e^(-tx) (1 - e^-x)``: not below it anywhere, and not above it everywhere."""
    x = math.log1p(1 / t) * np.concatenate([np.geomspace(0.01, 0.99, 200), [1.0], np.geomspace(1.01, 100, 200)])
    values = -t * x + np.log(-np.expm1(-x))
    assert values.max() == pytest.approx(log_peak(t), abs=1e-14 * (1 + abs(log_peak(t))))


BOXES = {
    "adjacency": "add-or-remove",
    "round": [{"mechanism": "approximate-dp", "epsilon": 0.05, "delta": 1e-5, "count": 400}],
}


@pytest.mark.parametrize("accountant", ["rdp", "zcdp"])
def test_mass_at_infinity_is_taken_off_the_target(accountant: str) -> None:
    """Hardly more than that mass is asked: the finite losses have next to nothing left."""
    plan = hs.Plan.from_dict(BOXES)
    delta = -math.expm1(400 * math.log1p(-1e-5)) * (1 + 1e-7)
    found = plan.epsilon(delta, accountant=accountant).quoted
    assert oracle.delta(BOXES, found, 20) <= mpf(delta)
    at = plan.delta(19.9, accountant=accountant)
    assert oracle.delta(BOXES, 19.9, 20) <= mpf(at.quoted)


@pytest.mark.parametrize("way", ["rdp", "zcdp"])
def test_the_logarithm_of_mass_at_infinity_is_rounded_up(monkeypatch: pytest.MonkeyPatch, way: str) -> None:
    """It is all of delta: its logarithm alone is rounded, and deep down that is many units."""
    nothing = RenyiBound(-math.inf, 1.0)
    for i in range(1, 60):
        mass = 10.0 ** -(5 * i) / 3
        composition = SimpleNamespace(
            infinite_mass_ends=(mass, mass),
            largest_loss=None,
            tells_all=False,
            rounds=((SimpleNamespace(seconds=0.0), 1),),
        )
        if way == "rdp":
            monkeypatch.setattr("hockeystick.pairs.renyi.log_delta_by", lambda *_, **__: nothing)
            found = rdp.RdpAccountant()._log_delta(cast(Any, composition), 1.0).value
        else:
            monkeypatch.setattr(zcdp, "log_delta_by", lambda *_: nothing)
            monkeypatch.setattr(zcdp, "rho", lambda _: 1.0)
            found = zcdp.ZcdpAccountant().log_delta_above(cast(Any, composition), 1.0)
        assert mp.log(mpf(mass)) <= found <= mp.log(mpf(mass)) * (1 - mpf(10) ** -14)


def test_rho_adds_up_and_is_multiplied_with_its_roundings() -> None:
    for i in range(1, 40):
        rounds = [(SimpleNamespace(rho=0.1 / i), 3), (SimpleNamespace(rho=1 / (7 * i)), 10**6 + i)]
        total = zcdp.rho(cast(Any, SimpleNamespace(rounds=rounds)))
        assert sum(count * Fraction(pair.rho) for pair, count in rounds) <= Fraction(total)
        t = 0.37 * i
        assert Fraction(t) * (1 + Fraction(t)) * Fraction(total) <= Fraction(zcdp.quadratic(total)(t))


@pytest.mark.parametrize("i", range(12))
def test_moments_are_rounded_up(i: int) -> None:
    """Each closed form, at the decimals; black boxes where what is near 0 is the difference of two logarithms."""
    t, theta = 0.23 + 0.71 * i, 0.1 + 0.3 * i
    assert exact(theta) ** 2 * mpf(t) * (1 + mpf(t)) / 2 <= moment.gaussian(theta, t)
    a, z = exact(theta), mpf(t)
    true = mp.log((1 + z) / (1 + 2 * z) * mp.exp(z * a) + z / (1 + 2 * z) * mp.exp(-(1 + z) * a))
    assert true <= moment.laplace(theta, t)
    for delta in (0.0, 0.3):
        e, d = exact(theta), exact(delta)
        true = mp.log((1 - d) * (mp.exp((1 + z) * e) + mp.exp(-z * e)) / (1 + mp.exp(e)))
        assert true <= BlackBoxPair(theta, delta).log_moment(t)
    tiny = 1e-9 * (1 + i)
    assert mp.log((mp.exp((1 + z) * exact(tiny)) + mp.exp(-z * exact(tiny))) / (1 + mp.exp(exact(tiny)))) <= (
        BlackBoxPair(tiny).log_moment(t)
    )


def test_moments_of_black_boxes_where_two_logarithms_cancel() -> None:
    """The mass at finite losses against what they have gained: K is next to 0, and errs by the roundings of both."""
    for i in range(40):
        delta = 0.9 + 0.0007 * i
        e, d = exact(2.3), exact(delta)

        def k(z: Number, e: Number = e, d: Number = d) -> Number:
            return mp.log((1 - d) * (mp.exp((1 + z) * e) + mp.exp(-z * e)) / (1 + mp.exp(e)))

        t = float(mp.findroot(k, (0.5, 5.0), solver="anderson"))
        assert k(mpf(t)) <= BlackBoxPair(2.3, delta).log_moment(t)


def test_moments_of_atoms_that_are_off() -> None:
    """By as many units as they say."""
    loss, log_p, units = np.array([-0.3, 0.7]), np.log(np.array([0.4, 0.6])), 1e7
    for t in (0.5, 3.0, 400.0):
        true = mp.log(
            mp.fsum(
                mp.exp(mpf(p) + mpf(t) * (mpf(x) + abs(mpf(x)) * mpf(units) * mpf(2) ** -53))
                for x, p in zip(loss.tolist(), log_p.tolist(), strict=True)
            )
        )
        assert true <= moment.atoms(loss, log_p, t, units)


def test_the_bound_is_above_the_truth_of_one_gaussian() -> None:
    """By what the conversion costs, at every depth."""
    for mu in (0.1, 1.0, 5.0):
        for log_delta in (-2.0, -20.0, -300.0):
            pair: DominatingPair = GaussianPair(mu)
            found = renyi_epsilon(Composition([(pair, 1)]), log_delta).value
            assert found == 0 or gaussian_log_delta(mu, found) <= log_delta


def test_the_direction_that_is_worse_counts() -> None:
    plan = hs.Plan([hs.Round(hs.Gaussian(1.0), hs.Poisson(0.1), 3)])
    each = [hs.Plan(plan.rounds, direction).epsilon(1e-6, accountant="rdp").quoted for direction in ("add", "remove")]
    assert plan.epsilon(1e-6, accountant="rdp").quoted == max(each) > min(each)
    assert Direction("add") in plan.adjacency.directions
