"""``add`` close to the largest loss: the panels' bound in the strip, and what the rule is charged for a coarse step."""

from __future__ import annotations

import math
from typing import Any

import mpmath
import numpy as np
import pytest
from mpmath import mp, mpf

from hockeystick.pairs.sampled.gaussian_line import COARSEST, MixtureLine
from hockeystick.pairs.sampled.gaussian_panels import Panels
from hockeystick.pairs.sampled.gaussian_transform import Kind, MixtureTransform
from transform_truths import off_by

Number = Any
ROUNDS = [  # mu, rate, tilt, reach: the tilted law keeps to ever lower outcomes
    (1.25, 0.05, 2.5, 20.0),
    (2.0, 2e-5, 616.0, 2000.0),
    (2.0, 2e-5, 1.06e5, 5.4e4),
    (1.0, 0.01, 6.5e5, 5.3e5),
    (1.25, 1e-3, 8.9e6, 1e6),
]


def added(mu: float, rate: float) -> MixtureTransform:
    return MixtureTransform.sampled(mu, rate, Kind.ADD)


def log_sizes(mu: float, rate: float, t: float, s: float, height: float) -> np.ndarray:
    """Logs of the modulus of the integrand at x + i height, by complex logarithms, over nodes 1/200 apart."""
    z = np.arange(-40.0, 40.0, 0.005) + 1j * height
    log_g = np.log1p(rate * np.expm1(mu * z - 0.5 * mu * mu))
    return np.asarray((-0.5 * z * z - (t + 1j * s) * log_g).real - 0.5 * math.log(2 * math.pi))


def log_integral(logs: np.ndarray) -> float:
    return float(logs.max() + math.log(np.exp(logs - logs.max()).sum() * 0.005))


@pytest.mark.parametrize(("mu", "rate", "t", "reach"), ROUNDS)
def test_the_panels_bound_the_modulus_in_the_strip(mu: float, rate: float, t: float, reach: float) -> None:
    """Above the integral at every height and every s; within e^6 of the largest at the height of the longest step."""
    heights = np.linspace(0.1, 0.999, 12) * 0.5 * math.pi / mu
    bounds = Panels(added(mu, rate), t, np.linspace(-14.0, 60.0, 2000), heights).log_size(reach)
    best = int(np.argmax(heights / (30.0 + bounds)))
    ways = ((-1, 1), (0, 1), (0.7, 1), (1, -1), (1, 0.5), (1, 0), (1, 1))
    for j in {0, best, 11}:
        size = max(log_integral(log_sizes(mu, rate, t, share * reach, at * heights[j])) for share, at in ways)
        assert size <= bounds[j]
        assert bounds[j] <= size + 6 or j != best


@pytest.mark.parametrize(("mu", "rate", "t", "reach"), ROUNDS[:2])
@pytest.mark.parametrize(("low", "top"), [(-4.0, -1.0), (-1.0, 2.0), (-6.0, -4.0), (3.0, 9.0)])
def test_ends_and_tails_of_the_panels_count(
    mu: float, rate: float, t: float, reach: float, low: float, top: float
) -> None:
    """Wherever the panels begin and end: few panels leave much to the two tails."""
    height = 0.9 / mu
    panels = Panels(added(mu, rate), t, np.linspace(low, top, 100), np.array([height]))
    assert log_integral(log_sizes(mu, rate, t, reach, height)) <= panels.log_size(reach)[0]


def moment(mu: float, rate: float, z: Number) -> Number:
    """m(z) by a rule that is far finer than any that is tried, to 30 digits."""
    m, q, dx = mpf(repr(mu)), mpf(repr(rate)), mpf(1) / 64
    nodes = (j * dx for j in range(-64 * 16, 64 * 12))
    total = mp.fsum(mp.exp(-x * x / 2 - z * mp.log1p(q * mp.expm1(m * x - m * m / 2))) for x in nodes)
    return dx * total / mp.sqrt(2 * mp.pi)


@pytest.mark.parametrize(("mu", "rate", "t", "reach"), ROUNDS[2:])
@pytest.mark.parametrize("tolerance", [1e-12, COARSEST])
def test_the_error_of_the_rule_is_charged(mu: float, rate: float, t: float, reach: float, tolerance: float) -> None:
    """Fine, and so coarse that the step is all that counts."""
    line = MixtureLine(added(mu, rate), t, reach, tolerance)
    assert line._panels is not None
    values, errors = line.cumulants(reach, 2)
    with mpmath.workdps(40):
        for at in (0, 1):
            assert off_by(values[at], errors[at], moment(mu, rate, mpmath.mpc(t, reach * at))) <= 1
    assert errors[1] > 1e-4 or tolerance < COARSEST
