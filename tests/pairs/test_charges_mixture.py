"""Every charge of the law of many terms where it is made: roundings, strips, ranges, and the bound off the line.

As for two terms in ``test_charges_transforms.py`` and ``test_charges_jumps.py``; truths are to many digits.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import mpmath
import numpy as np
import pytest
from mpmath import mp, mpf

from hockeystick.numerics.rounding import UNIT_ROUNDOFF
from hockeystick.pairs.sampled.gaussian_line import MixtureLine
from hockeystick.pairs.sampled.gaussian_transform import MixtureTransform
from hockeystick.pairs.sampled.mixture_law import Kind, Nodes, log_density
from transform_truths import off_by

Number = Any

STEPS = (2.5, 1.6, 1.2)  # of the trapezoid rule: at the first a normal density is 8 % off
NOTHING = 2.0  # the error of a logarithm that says nothing but that |m| is no more than three times that of m


@pytest.fixture(autouse=True)
def precision() -> Iterator[None]:
    with mpmath.workdps(30):
        yield


def law(shifts: list[float], weights: list[float], kind: Kind, rest: float = 0.0) -> MixtureTransform:
    return MixtureTransform(tuple(shifts), tuple(weights), rest, kind)


def rows(of: MixtureTransform) -> list[tuple[Number, Number]]:
    """Shifts and weights as they are written; the rest is what is missing from 1."""
    found = [(mpf(repr(mu)), mpf(repr(p))) for mu, p in zip(of.shifts, of.weights, strict=True)]
    return [(mpf(0), 1 - mp.fsum(p for _, p in found)), *found] if of.rest else found


def ratio(of: MixtureTransform, x: Number) -> Number:
    return mp.fsum(p * mp.exp(mu * x - mu * mu / 2) for mu, p in rows(of))


def integrand(of: MixtureTransform, z: Number, x: Number) -> Number:
    phi = mp.exp(-x * x / 2) / mp.sqrt(2 * mp.pi)
    g = ratio(of, x)
    return phi * (g ** (1 + z) if of.kind is Kind.REMOVE else g ** (-z))


def moment(of: MixtureTransform, t: float, s: float) -> Number:
    dx = mpf(1) / 24
    reach = 16 + of.mu * (2 + t)
    return dx * mp.fsum(integrand(of, mp.mpc(t, s), j * dx) for j in range(int(-reach / dx), int(reach / dx) + 1))


# Rounding at the nodes ------------------------------------------------------------------------------------------------

NODES = [
    (law([0.8, 1.6], [0.01, 0.002], Kind.REMOVE, 0.988), 2.0, -25.0),  # the density, far out
    (law([0.8, 1.6], [0.01, 0.002], Kind.REMOVE, 0.988), 2.0, 0.0),
    (law([0.8, 30.3], [0.1, 0.1], Kind.REMOVE, 0.8), 50.0, 12.0),  # mu x - mu^2/2 cancels, times the tilt
    (law([1.3, 5.1], [0.5, 0.4999], Kind.ADD, 1 - 0.5 - 0.4999), 40.0, -6.0),  # what is left of 1 has lost its digits
    (law([0.3, 4.1], [0.3, 0.7], Kind.ADD), 40.0, -12.0),  # nothing is left of it
    (law([0.3, 0.9, 7.1], [0.98, 0.0199, 0.0001], Kind.REMOVE), 3.0, 60.0),  # beyond the range of e^u
    (law([0.1, 9.1], [0.1, 1e-9], Kind.REMOVE, 0.899999999), 3.0, 3.0),  # terms of both signs
]


@pytest.mark.parametrize(("of", "t", "low"), NODES)
def test_roundings_at_a_node_are_within_what_is_stated(of: MixtureTransform, t: float, low: float) -> None:
    step = 0.1234567
    x = low + step * np.arange(60, dtype=np.float64)
    nodes = Nodes(of, x, t)
    care, slip, units = nodes.care(), nodes.slip(), nodes.share_units()
    slope, (rise,) = of.kind.slopes[0], nodes.rises
    log_weight = log_density(x) + nodes.exponent
    for j in range(60):
        at = mpf(low) + j * mpf(step)
        g = ratio(of, at)
        true = -(at**2) / 2 - mp.log(2 * mp.pi) / 2 + mpf(of.kind.coefficients(t)[0]) * mp.log(g)
        assert abs(mp.expm1(mpf(float(log_weight[j])) - true)) <= care[j]
        assert abs(mpf(float(nodes.loss[j])) - slope * mp.log(g)) <= slip[j]
        mean = mp.fsum(mu / mpf(of.mu) * p * mp.exp(mu * at - mu * mu / 2) for mu, p in rows(of)) / g
        assert abs(mpf(float(rise[j])) - mean) <= units[j] * UNIT_ROUNDOFF * mean + mpf(10) ** -300


@pytest.mark.parametrize(
    ("of", "low", "high"),
    [
        (law([0.1, 9.3], [0.1, 0.013], Kind.REMOVE, 0.887), 4.0, 0.03),  # terms of both signs cancel: u is next to 0
        (law([0.7, 9.3], [0.37, 1e-7], Kind.ADD, 0.6299999), 4.0, 0.03),
        (law([0.5, 3000.3], [0.1, 0.4], Kind.REMOVE, 0.5), 1500.1, 1500.2),  # the last exponent is not the largest
        (law([2900.1, 3000.3], [0.1, 0.4], Kind.ADD, 0.5), 1449.0, 1501.0),  # an exponent of which little is left
    ],
)
def test_roundings_where_the_loss_is_small_beside_its_terms(of: MixtureTransform, low: float, high: float) -> None:
    at = np.array([low, high])
    for _ in range(60):  # towards the outcome of loss 0
        middle = float(at.mean())
        at[int((float(Nodes(of, np.array([middle]), 1.0).u[0]) > 0) == (high > low))] = middle
    x = float(at.mean()) + 2.0**-36 * np.arange(-40.0, 40.0, dtype=np.float64)
    nodes = Nodes(of, x, 1.0)
    slip = nodes.slip()
    for j in range(80):
        assert abs(mpf(float(nodes.u[j])) - mp.log(ratio(of, mpf(float(x[j]))))) <= slip[j]


# Strips and ranges ----------------------------------------------------------------------------------------------------

LAWS = [
    law([0.5, 1.0, 1.5], [0.2, 0.1, 0.05], Kind.REMOVE, 0.65),
    law([0.5, 1.0, 1.5], [0.2, 0.1, 0.05], Kind.ADD, 0.65),
    law([0.2, 1.4], [0.5, 0.5], Kind.REMOVE),
    law([0.2, 1.4], [0.5, 0.5], Kind.ADD),
    law([0.5, 3.0], [0.01, 1e-6], Kind.REMOVE, 0.989999),
]


@pytest.mark.parametrize("of", LAWS)
@pytest.mark.parametrize(("t", "s"), [(0.7, 0.0), (2.0, 6.0), (9.0, 1.0)])
@pytest.mark.share(4)
def test_the_integrand_in_a_strip_is_within_the_bound(of: MixtureTransform, t: float, s: float) -> None:
    true = moment(of, t, 0.0).real
    dx = mpf(1) / 16
    for share in (0.2, 0.6, 0.95):
        a = share * math.pi / of.mu if share * math.pi / of.mu < 4 else 4.0
        for sign in (1, -1):
            nodes = [j * dx + sign * 1j * mpf(a) for j in range(-16 * 20, 16 * 24)]
            size = dx * mp.fsum(abs(integrand(of, mp.mpc(t, s), x)) for x in nodes)
            assert mp.log(size / true) <= float(of.log_strip(a, t, s)) + 1e-9


def test_a_strip_is_wide_where_all_turns_the_same_way() -> None:
    """The bound is nearly met: equal shares of no shift and the largest one."""
    of, t, a = law([0.0099, 0.01], [1e-6, 0.5], Kind.ADD, 0.499999), 4.0, 150.0
    x = np.arange(-14.0, 14.0, 0.02)

    def size(shift: float) -> float:
        at = x + 1j * shift
        g = of.rest + sum(p * np.exp(mu * at - mu * mu / 2) for mu, p in zip(of.shifts, of.weights, strict=True))
        return float((np.exp(-0.5 * np.square(x)) * np.abs(g) ** -t).sum())

    true, bound = math.log(size(a) / size(0.0)), float(of.log_dip(a, t))
    assert true <= bound * (1 + 1e-12)
    assert true > 0.9 * bound


@pytest.mark.parametrize("of", LAWS)
@pytest.mark.parametrize("t", [0.3, 2.0, 9.0])
@pytest.mark.parametrize("low", [-2.0, -4.0, -14.0])
@pytest.mark.share(4)
def test_what_lies_beyond_the_range_is_within_the_bound(of: MixtureTransform, t: float, low: float) -> None:
    """As an integral and as sums over nodes, also where the last terms have their centres beyond the end."""
    for high in (2.0, (1 + t) * of.shifts[0] + 1, (1 + t) * of.mu + 2):
        bound = mp.exp(of.log_beyond(t, low, high))
        for dx in (mpf(1) / 16, mpf(2)):
            above = dx * mp.fsum(integrand(of, t, high + j * dx).real for j in range(int((14 + (1 + t) * of.mu) / dx)))
            below = dx * mp.fsum(integrand(of, t, low - j * dx).real for j in range(int((14 + t * of.mu) / dx)))
            if dx > 1:  # the node on the end belongs to the range
                above -= dx * integrand(of, t, high).real
                below -= dx * integrand(of, t, low).real
            assert above + below <= bound * (1 + (1 if dx < 1 else 0) * mpf(1))
    sharp = mp.exp(of.log_beyond(t, -30.0, (1 + t) * of.mu + 2))
    true = mp.quad(lambda x: integrand(of, t, x).real, [(1 + t) * of.mu + 2 + j for j in (0, 1, 4, 14)])
    assert true <= sharp <= 60 * (1 + t) * true + mp.exp(-400)


@pytest.mark.parametrize("of", LAWS)
@pytest.mark.parametrize(("t", "s"), [(1.0, 0.0), (4.0, 0.6)])
def test_coarse_steps_and_short_ranges_are_charged(of: MixtureTransform, t: float, s: float) -> None:
    true = moment(of, t, s)
    at = 1 if s else 0
    for step in STEPS:
        for place in (0.0, 0.25, 0.5):
            line = MixtureLine(of, t, s, 1e-20)
            line.dx, line.a = step, min(2 * math.pi / step, 0.9 * math.pi / of.mu)
            line.low, line.nodes = (place - 8) * step, math.ceil(25 / step) + 8
            values, errors = line.cumulants(s or 1.0, 2)
            assert off_by(values[at], errors[at], true) <= 1 or errors[at] >= NOTHING
    for low, width in ((-2.0, 40.0), (-0.5, 40.0), (-12.0, 14.0), (-12.0, 12.5 + (1 + t) * of.mu)):
        line = MixtureLine(of, t, s, 1e-20)
        line.dx, line.a, line.low, line.nodes = 1 / 32, min(6.0, 0.9 * math.pi / of.mu), low, int(32 * width)
        values, errors = line.cumulants(s or 1.0, 2)
        assert off_by(values[at], errors[at], true) <= 1 or errors[at] >= NOTHING


@pytest.mark.parametrize("of", LAWS)
@pytest.mark.parametrize("t", [0.01, 1.0, 12.0])
@pytest.mark.share(2)
def test_the_line_is_as_sharp_as_was_asked(of: MixtureTransform, t: float) -> None:
    height = 3.0 / (1 + t)
    line = MixtureLine(of, t, height, 1e-12)
    values, errors = line.cumulants(height, 2)
    for at in (0, 1):
        assert off_by(values[at], errors[at], moment(of, t, height * at)) <= 1
    assert errors.max() <= 1e-9
    bound = of.upper(t, 1e-9)
    assert mp.log(moment(of, t, 0.0).real) <= bound <= float(values[0].real) + 1e-8


# Off the line ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("of", LAWS)
@pytest.mark.parametrize(("t", "count"), [(0.5, 1), (3.0, 1000), (10.0, 20)])
def test_the_envelope_is_above_the_moment_there_and_beyond(of: MixtureTransform, t: float, count: int) -> None:
    envelope = of.envelope(t, count)
    edges = np.geomspace(0.3, 60.0, 8)
    bounds = envelope.log_bound(edges)
    assert (bounds <= 0).all()
    assert (np.diff(bounds) <= 0).all()
    nodes = np.arange(-16 - t * of.mu, 16 + (1 + t) * of.mu, 1 / 96)
    g = sum(float(p) * np.exp(float(mu) * nodes - float(mu * mu) / 2) for mu, p in rows(of))
    log_g = np.log(g)
    power = (1 + t) * log_g if of.kind is Kind.REMOVE else -t * log_g
    weight = np.exp(log_density(nodes) + power - (log_density(nodes) + power).max())
    heights = np.geomspace(0.3, 90.0, 200)
    size = np.abs(np.exp(1j * np.multiply.outer(heights, log_g)) @ weight) / weight.sum()
    for edge, bound in zip(edges, bounds, strict=True):
        beyond = size[heights >= edge].max()
        assert bound >= math.log(beyond) - 1e-9 or beyond < 1e-12  # which is the rounding of the phases here
    assert bounds[4] < 0.2 * math.log(max(float(size[heights >= edges[4]].max()), 1e-14)) or bounds[4] < -1
