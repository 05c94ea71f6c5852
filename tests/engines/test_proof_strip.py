"""``add`` close to the largest loss: the panels' bound, the range, and proved intervals where the rate is small."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from functools import cache
from typing import Any

import mpmath
import pytest
from flint import acb, arb

import oracle
from hockeystick import Direction, Plan
from hockeystick.engines.proof.mixture import MixtureBalls
from hockeystick.engines.proof.rounds import SampledGaussian
from hockeystick.engines.proof.strip import AddedStrip, Grid
from hockeystick.numerics.balls import above, phase_sums, precision
from oracle.real import to_fraction

Number = Any
ROUNDS = [  # mu, rate, tilt, reach: the tilted law keeps to ever lower outcomes
    (Fraction(5, 4), Fraction(1, 20), 2.5, 20.0),
    (Fraction(2), Fraction(1, 50_000), 616.0, 2000.0),
    (Fraction(2), Fraction(1, 50_000), 1.06e5, 5.4e4),
    (Fraction(1), Fraction(1, 100), 2.95e4, 3.3e4),
]


def added(mu: Fraction, rate: Fraction, t: float) -> tuple[MixtureBalls, AddedStrip]:
    item = SampledGaussian(mu, rate, Direction.ADD)
    return MixtureBalls(item), AddedStrip(item, t)


def log_g(mu: Fraction, rate: Fraction, x: Number) -> Number:
    m, q = mpmath.mpf(mu.numerator) / mu.denominator, mpmath.mpf(rate.numerator) / rate.denominator
    return mpmath.log(1 - q + q * mpmath.exp(m * x - m * m / 2))


@cache
def integral(mu: Fraction, rate: Fraction, z: Number, height: float = 0.0, size: bool = False) -> Number:
    """Of the integrand at x + i height, or of its modulus."""

    def at(x: Number) -> Number:
        zeta = mpmath.mpc(x, height)
        value = mpmath.exp(-zeta * zeta / 2 - z * log_g(mu, rate, zeta)) / mpmath.sqrt(2 * mpmath.pi)
        return abs(value) if size else value

    with mpmath.workdps(15 if size else 30):
        return mpmath.quad(at, [mpmath.mpf(i) / 4 for i in range(-64, 65)], maxdegree=3 if size else 4)


@pytest.mark.share(4)
@pytest.mark.slow
@pytest.mark.parametrize(("mu", "rate", "t", "reach"), ROUNDS)
def test_the_panels_bound_the_modulus_in_the_strip(mu: Fraction, rate: Fraction, t: float, reach: float) -> None:
    """Above the integral at every height and every s, and within e^6 of the largest."""
    strip = added(mu, rate, t)[1]
    with precision(80):
        grid = strip.grid(reach, 30.0)
        bound = math.log(above(strip.remainder(grid, reach) * (2 * arb.pi() * grid.strip / grid.dx).expm1() / 2))
    sizes = [
        float(mpmath.log(integral(mu, rate, mpmath.mpc(t, share * reach), height * grid.strip, size=True)))
        for share, height in ((-1, 1), (0, 1), (0.7, 1), (1, -1), (1, 0.5), (1, 0), (1, 1))
    ]
    assert max(sizes) == sizes[-1 if sizes[-1] > sizes[0] else 0]
    assert max(sizes) <= bound <= max(sizes) + 6


@pytest.mark.parametrize(("mu", "rate", "t", "reach"), ROUNDS)
@pytest.mark.share(2)
def test_the_remainders_cover_a_coarse_rule(mu: Fraction, rate: Fraction, t: float, reach: float) -> None:
    """The sum errs by less than step and range allow, and by far more than its rounding."""
    mixture, strip = added(mu, rate, t)
    with precision(100):
        grid = strip.grid(reach, 3.0)
        weights, losses = mixture._nodes(t, grid)
        value = phase_sums(weights, [arb(reach) * loss for loss in losses], 2)[1]
        truth = integral(mu, rate, mpmath.mpc(t, reach))
        error = abs(value - acb(mpmath.nstr(truth.real, 25), mpmath.nstr(truth.imag, 25)))
        high = arb(grid.low) + arb(grid.dx) * (grid.count - 1)
        bound = strip.remainder(grid, reach) + mixture.range_remainder(t, arb(grid.low), high)
        size = sum(weights, arb(0))
        assert error > 1e-12 * size
        assert error < bound
        assert bound < 0.2 * size


@pytest.mark.parametrize(("mu", "rate", "t", "reach"), ROUNDS)
@pytest.mark.parametrize("log_tolerance", [pytest.param(-4.0, marks=pytest.mark.slow), -35.0])
@pytest.mark.share(3)
def test_the_transform_at_few_nodes(mu: Fraction, rate: Fraction, t: float, reach: float, log_tolerance: float) -> None:
    """It holds the integral, and is as narrow as was asked."""
    with precision(130):
        found = added(mu, rate, t)[0].values(t, reach, 2, log_tolerance)
        for j, value in enumerate(found):
            truth = integral(mu, rate, mpmath.mpc(t, reach * j))
            exact = acb(mpmath.nstr(truth.real, 25), mpmath.nstr(truth.imag, 25))
            assert (value + acb(arb(0, 1e-20), arb(0, 1e-20)) * found[0].real).contains(exact)
            assert value.real.rad() < 30 * math.exp(log_tolerance) * found[0].real


@pytest.mark.parametrize(("mu", "rate", "t", "reach"), ROUNDS)
def test_what_lies_above_the_range(mu: Fraction, rate: Fraction, t: float, reach: float) -> None:
    """Both bounds of what lies above, at outcomes of either sign; none where the integrand does not fall."""
    mixture, strip = added(mu, rate, t)
    with precision(80):
        high = strip.grid(reach, 12.0).high
        bound = float(mixture.range_remainder(t, arb(-30), arb(high)))
        assert math.isinf(float(mixture.range_remainder(t, arb(-30), arb(-12.5))))

    def weight(x: Number) -> Number:
        return mpmath.npdf(x) * mpmath.exp(-t * log_g(mu, rate, x))

    with mpmath.workdps(25):
        truth = float(mpmath.quad(weight, [high + mpmath.mpf(i) / 8 for i in range(41)]))
    assert truth < bound < 1.5 * truth


def test_a_strip_that_is_too_wide_has_no_bound() -> None:
    """Beyond a quarter of a turn the modulus need not rise with x."""
    strip = added(Fraction(2), Fraction(1, 100), 10.0)[1]
    with precision(80):
        assert math.isinf(float(strip.remainder(Grid(-5.0, 5.0, 0.1, 0.79, 6.0), 3.0)))
        assert math.isinf(float(strip.remainder(Grid(-5.0, 5.0, 0.1, 0.7), 3.0)))


CLOSE = [  # noise, rate, count, target delta, epsilon by two independent contour integrations
    pytest.param(0.5, 2e-5, 1000, "1e-100", "0.01755283145", marks=pytest.mark.slow),
    pytest.param(0.8, 1e-3, 100, "1e-100", "0.09508625663", marks=pytest.mark.slow),
    (1.0, 1e-2, 10, "1e-40", "0.0991045910"),
    (1.0, 1e-2, 10, "1e-100", "0.1004003111"),
]


@pytest.mark.parametrize(("noise", "rate", "count", "delta", "about"), CLOSE)
def test_close_to_the_largest_loss(noise: float, rate: float, count: int, delta: str, about: str) -> None:
    """Narrow, and on both sides of the oracle's value."""
    entry = {"mechanism": "gaussian", "noise_multiplier": noise, "sampling": "poisson", "sample_rate": rate}
    plan = {"adjacency": "add", "round": [{**entry, "count": count}]}
    found = Plan.from_dict(plan).epsilon(float(delta), proof=True)
    assert found.relative_gap <= 1e-6
    assert abs(Fraction(found.estimate) / Fraction(Decimal(about)) - 1) < 1e-6
    for end, sign in ((found.lower, 1), (found.upper, -1)):
        value = to_fraction(oracle.delta(plan, Fraction(end), digits=20))
        assert sign * (value - Fraction(Decimal(delta))) >= 0
