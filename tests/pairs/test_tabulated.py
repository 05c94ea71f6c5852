"""A pair made from Renyi curves: it dominates what has the curves, and is nowhere far above their bound."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest

from hockeystick.pairs import Atoms, GaussianPair, RenyiComposition, RenyiCurve
from hockeystick.pairs.knots import KnottedPair
from hockeystick.pairs.renyi import renyi_log_delta
from hockeystick.pairs.sampled.fixed_size import WithoutReplacementCurve
from hockeystick.pairs.tabulated import DEEPEST, tabulated
from toys import Curve

EPSILONS = (-3.0, -0.5, 0.0, 1e-4, 0.01, 0.1, 0.5, 1.0, 3.0, 10.0, 50.0, 300.0)


def made(rounds: list[tuple[RenyiCurve, int]]) -> KnottedPair:
    pair = tabulated(RenyiComposition(rounds))
    assert pair is not None
    return pair


def log_delta(pair: KnottedPair, epsilon: float) -> float:
    """By sums of many digits, from the masses as they are stored."""
    with mpmath.workdps(40):
        losses = [mpmath.mpf(loss) for loss in pair.losses]
        terms = [
            mpmath.exp(mpmath.mpf(log_p)) * (1 - mpmath.exp(epsilon - loss))
            for loss, log_p in zip(losses, pair.log_p, strict=True)
            if loss > epsilon
        ]
        total = mpmath.fsum(terms) + mpmath.mpf(pair.only_p)
        return float(mpmath.log(total)) if total else -math.inf


def gaussian(mu: float, epsilon: float) -> float:
    with mpmath.workdps(60):
        mu, epsilon = mpmath.mpf(mu), mpmath.mpf(epsilon)
        first = mpmath.ncdf(mu / 2 - epsilon / mu)
        return float(mpmath.log(first - mpmath.exp(epsilon) * mpmath.ncdf(-mu / 2 - epsilon / mu)))


@pytest.mark.parametrize("rho", [1e-20, 1e-10, 1e-5, 0.005, 0.1, 1.0, 30.0, 1e4, 1e10])
@pytest.mark.share(2)
def test_the_pair_dominates_gaussian_noise_of_the_same_curve(rho: float) -> None:
    pair = made([(Curve(rho), 1)])
    for epsilon in EPSILONS:
        at = epsilon * math.sqrt(rho)
        assert log_delta(pair, at) >= gaussian(math.sqrt(2 * rho), at) * (1 if at < 0 else 1 - 1e-13) - 1e-13


@pytest.mark.parametrize(
    "rounds",
    [
        [(Curve(0.005), 3)],
        [(Curve(2.0), 1)],
        [(Curve(1e-7), 10**6), (Curve(0.3), 1)],
        [(WithoutReplacementCurve(GaussianPair(0.5), 0.01), 1000)],
        [(WithoutReplacementCurve(GaussianPair(0.2), 0.5), 3)],
    ],
)
def test_the_curve_of_the_pair_is_near_the_renyi_bound(rounds: list[tuple[RenyiCurve, int]]) -> None:
    """At most some percent above, at any depth; below it where delta is near 1."""
    composition, pair = RenyiComposition(rounds), made(rounds)
    for share in (0.05, 0.1, 0.2, 0.4, 0.6, 0.9):
        epsilon = share * pair.losses[-1]
        bound = renyi_log_delta(composition, epsilon).value
        found = log_delta(pair, epsilon)
        assert found <= bound + (0.05 if bound > -80 else 0.3)
        assert found >= bound - 1e-9 or bound > -2.0
    assert pair.only_p < math.exp(DEEPEST) * 2


def test_the_masses_are_those_of_two_laws() -> None:
    pair = made([(Curve(0.02), 5)])
    atoms = pair.atoms
    assert isinstance(atoms, Atoms)
    assert (np.diff(atoms.loss) > 0).all()
    assert math.fsum(np.exp(atoms.log_p)) == pytest.approx(1.0, abs=1e-12)
    assert math.fsum(np.exp(atoms.log_p)) >= 1 - 1e-16
    assert math.fsum(np.exp(atoms.log_q)) == pytest.approx(1.0, abs=1e-12)
    assert hash(pair) == hash(made([(Curve(0.02), 5)]))
    assert pair.loss_range == (pair.losses[0], pair.losses[-1])
    assert pair.log_moment(3.0) >= 5 * Curve(0.02).log_moment(3.0) - 0.2


class Bounded(Curve):
    """Gaussian moments of a loss that is at most 1."""

    @property
    def loss_range(self) -> tuple[float, float]:
        return -1.0, 1.0

    def log_moment(self, t: float) -> float:
        return min(super().log_moment(t), t)


def test_the_largest_loss_is_the_last_knot() -> None:
    pair = made([(Bounded(0.5), 2)])
    assert pair.losses[-1] == pytest.approx(2.0, rel=1e-12)
    assert pair.only_p == 0.0
    assert log_delta(pair, 2.1) == -math.inf


class Heavy(Curve):
    """No moment is finite."""

    def log_moment(self, t: float) -> float:
        return math.inf


class Light(Heavy):
    """Moments are finite up to the order 3."""

    def log_moment(self, t: float) -> float:
        return Curve(self.rho).log_moment(t) if t <= 2 else math.inf


def test_moments_that_are_infinite() -> None:
    assert tabulated(RenyiComposition([(Heavy(1.0), 1)])) is None
    pair = made([(Light(1.0), 1)])
    for epsilon in (1.0, 5.0, 20.0):
        assert log_delta(pair, epsilon) >= gaussian(math.sqrt(2), epsilon)


class Failing(Curve):
    """Of which a part has infinite loss."""

    @property
    def infinite_mass(self) -> float:
        return 0.25


def test_mass_at_infinite_loss_is_kept() -> None:
    pair = made([(Failing(0.1), 1)])
    assert pair.only_p == pytest.approx(0.25, rel=1e-11)
    assert pair.only_p >= 0.25
    assert math.fsum(np.exp(pair.log_p)) == pytest.approx(0.75, rel=1e-11)
    assert math.exp(log_delta(pair, 0.0)) >= 0.25
