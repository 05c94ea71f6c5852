"""Characteristic functions and every remainder in them, against mpmath."""

from __future__ import annotations

import math
from typing import Any

import mpmath
import numpy as np
import pytest
from mpmath import mp, mpf

from hockeystick.numerics.exponential_sum import blocked_sum, by_transforms, moved_sum, term_by_term
from hockeystick.pairs.closed_transforms import AtomTransform, QuadraticTransform
from hockeystick.pairs.laplace import LaplacePair
from hockeystick.pairs.sampled.gaussian_line import MixtureLine
from hockeystick.pairs.sampled.gaussian_transform import Kind, MixtureTransform
from hockeystick.pairs.sampled.mixture_law import log_tail
from hockeystick.pairs.transform import Transform
from transform_truths import exact, integrand, laplace_moment, moment, off_by, trapezoid

Mpf = Any

POINTS = [
    (MixtureTransform.sampled(1.0, 0.01, Kind.REMOVE), 3.3),
    (MixtureTransform.sampled(1.0, 0.01, Kind.ADD), 4.1),
    (MixtureTransform.sampled(1.0, 0.01, Kind.REPLACE), 2.5),
    (MixtureTransform.sampled(1.25, 1e-3, Kind.REMOVE), 7.0),
    (MixtureTransform.sampled(1.25, 0.02, Kind.ADD), 20.0),
    (MixtureTransform.sampled(0.25, 0.3, Kind.REMOVE), 15.0),
    (MixtureTransform.sampled(0.25, 0.3, Kind.REPLACE), 6.0),
    (MixtureTransform.sampled(2.0, 0.05, Kind.ADD), 0.4),
]
IDS = [f"{law.kind.name}-{law.mu}-{law.rate}-{t}" for law, t in POINTS]


@pytest.fixture(autouse=True)
def precision() -> Any:
    with mpmath.workdps(25):
        yield


@pytest.mark.parametrize(("law", "t"), POINTS, ids=IDS)
@pytest.mark.share(3)
def test_values_on_the_line(law: MixtureTransform, t: float) -> None:
    step, count, tolerance = 2.3, 4, 1e-13
    values, errors = law.line(t, step * (count - 1), tolerance).cumulants(step, count)
    for j in range(count):
        true = moment(law, t, step * j)
        assert off_by(values[j], errors[j], true) <= 1
        assert errors[j] < 3e-12 / abs(true / moment(law, t, 0.0))


@pytest.mark.share(3)
@pytest.mark.slow
@pytest.mark.parametrize(
    ("noise", "rate", "kind", "t"),
    [
        (0.024, 2.21e-6, Kind.REMOVE, 1.7e-3),
        (0.024, 2.21e-6, Kind.ADD, 0.7),
        (0.024, 2.21e-6, Kind.REPLACE, 1e-3),
        (0.012, 1e-3, Kind.REMOVE, 1e-5),
        (0.012, 1e-3, Kind.ADD, 3.0),
    ],
)
def test_a_jump_where_the_density_underflows_and_the_ratio_overflows(
    noise: float, rate: float, kind: Kind, t: float
) -> None:
    """At x = mu the normal density is below the range of a double, ``e^(mu x - mu^2/2)`` above it: they make up q."""
    law = MixtureTransform.sampled(1 / noise, rate, kind)
    value, dx = integrand(law, t, 0.0), noise / 2.5
    centres = (0.0, law.mu, -law.mu)
    nodes = {round(c / dx) + j for c in centres for j in range(int(-10 / dx), int((10 + law.mu * t) / dx))}
    true = mpf(dx) * mp.fsum(value(node * mpf(dx)) for node in nodes)
    values, errors = law.line(t, 0.0, 1e-15).cumulants(1.0, 1)
    assert off_by(values[0], errors[0], true) <= 1
    assert errors[0] < 1e-12
    assert float(mp.log(true.real)) <= law.log_moment(t)


@pytest.mark.parametrize(("law", "t"), POINTS, ids=IDS)
def test_upper_bound_of_the_cumulant(law: MixtureTransform, t: float) -> None:
    true = float(mp.log(moment(law, t, 0.0).real))
    assert true <= law.upper(t, 1e-6) <= true + 1e-6


@pytest.mark.parametrize(("law", "t"), POINTS, ids=IDS)
def test_step_remainder(law: MixtureTransform, t: float) -> None:
    """The true error of the infinite rule, at the worst shift of its nodes, is within the bound, which is not idle."""
    s = 2.0
    line = MixtureLine(law, t, s, 1e-3)
    line.cumulants(s, 2)
    scale = mp.exp(mpf(line.log_total))
    bound = float(line.step_remainder(np.array([s]))[0]) * (float(mp.exp(line.top)))
    true = moment(law, t, s)
    worst = max(abs(trapezoid(law, t, s, mpf(line.dx), mpf(line.dx) * i / 4) - true) for i in range(4))
    assert worst <= bound
    assert bound <= 0.01 * float(scale)


@pytest.mark.parametrize(("law", "t"), POINTS, ids=IDS)
def test_range_remainder(law: MixtureTransform, t: float) -> None:
    for tolerance in (1e-4, 1e-9):
        low, high = law.range_for(t, 0.0, tolerance)
        value = integrand(law, t, 0.0)
        far = max(high, (1 + t) * law.mu) + 12
        beyond = mp.quad(value, [low - 12, low - 3, low]) + mp.quad(value, [high, high + 1, high + 4, far])
        bound = math.exp(law.log_beyond(t, low, high))
        m = moment(law, t, 0.0).real
        assert beyond.real <= bound <= tolerance * m


def test_first_order_terms_beyond_the_range() -> None:
    for law, t in POINTS:
        mu, q, s = exact(law.mu), exact(law.rate), 3.0
        low, high = law.range_for(t, s, 1e-6)
        ca, cb = law.kind.coefficients(t)

        def size(x: Mpf, ca: float = ca, cb: float = cb, mu: Mpf = mu, q: Mpf = q, s: float = s) -> Mpf:
            up, down = (abs(q * mp.expm1(mu * y - mu**2 / 2)) for y in (x, -x))
            phi = mp.exp(-(x**2) / 2) / mp.sqrt(2 * mp.pi)
            return phi * (1 + (abs(ca) + s) * up + ((abs(cb) + s) * down if cb else 0))

        true = mp.quad(size, [low - 14, low]) + mp.quad(size, [high, high + 14])
        bound = float(law.first_order_beyond(t, np.array([s]), low, high)[0])
        assert true <= bound <= 100 * true


def test_normal_tail() -> None:
    for x in (-40.0, -8.0, -2.0, -0.6, 0.0, 3.0):
        true = float(mp.log(mp.ncdf(x)))
        assert true <= log_tail(x) <= true + 1.1


@pytest.mark.parametrize(("law", "t"), POINTS, ids=IDS)
@pytest.mark.share(3)
def test_envelope(law: MixtureTransform, t: float) -> None:
    """It lies above |m| there and beyond."""
    m = moment(law, t, 0.0).real
    edges = np.array([0.1, 0.5, 1.0, 4.0]) / deviation(law, t)
    edges = edges[edges < 60]  # further, mpmath takes seconds
    found = [law.envelope(t, count).log_bound(edges) for count in (1, 10**6)]
    for i, s in enumerate(edges.tolist()):
        for later in (1.0, 1.6):
            true = float(mp.log(abs(moment(law, t, s * later)) / m))
            for bounds in found:
                assert true <= bounds[i] * (1 - 1e-12) + 1e-15
    assert all((np.diff(bounds) <= 0).all() and bounds[0] < 0 for bounds in found)


@pytest.mark.parametrize(("law", "t"), [POINTS[i] for i in (0, 1, 2, 5, 6, 7)])
def test_envelope_is_nearly_as_low_as_the_truth(law: MixtureTransform, t: float) -> None:
    """Where the tilted law has one mode: at least a quarter, where it leans to one side."""
    s = 0.1 / deviation(law, t)
    true = float(mp.log(abs(moment(law, t, s)) / moment(law, t, 0.0).real))
    assert law.envelope(t, 100).log_bound(np.array([s]))[0] <= 0.25 * true


@pytest.mark.parametrize("kind", list(Kind))
@pytest.mark.parametrize(("mu", "rate", "t"), [(2.0, 2e-5, 3.2), (1.25, 1e-3, 4.2), (1.0, 0.01, 4.6)])
def test_envelope_far_up_the_line(mu: float, rate: float, t: float, kind: Kind) -> None:
    """Where the phase of a jump has turned many times; beside a trapezoid sum in doubles, ``log |m|`` being large."""
    law = MixtureTransform.sampled(mu, rate, kind)
    edges = np.array([0.5, 2.0, 8.0, 32.0]) / rate**0.5
    bounds = law.envelope(t, 1000).log_bound(edges)
    dx = 0.5 / (mu * float(edges[-1]))
    x = np.arange(-12.0, 14.0 + 5 * mu, dx)
    u = np.log1p(rate * np.expm1(mu * x - mu**2 / 2))
    v = np.log1p(rate * np.expm1(-mu * x - mu**2 / 2))
    ca, cb = kind.coefficients(t)
    slope_u, slope_v = kind.slopes
    weight = np.exp(-0.5 * x**2 + ca * u + cb * v)
    loss = slope_u * u + slope_v * v
    total = weight.sum()
    for s, bound in zip(edges.tolist(), bounds.tolist(), strict=True):
        true = math.log(abs((weight * np.exp(1j * s * loss)).sum()) / total)
        assert true <= bound * (1 - 1e-9) + 1e-13
        assert bound <= 0.25 * true


def deviation(law: MixtureTransform, t: float) -> float:
    """Standard deviation of the tilted loss, by differences of log m."""
    h = mpf("1e-6")
    up, middle, down = (mp.log(moment(law, float(t + i * h), 0.0).real) for i in (1, 0, -1))
    return float(mp.sqrt((up - 2 * middle + down) / h**2))


def test_envelope_of_a_rare_jump_serves_a_billion_rounds() -> None:
    """1 - |m| is about 1e-10 there: the bound must resolve it."""
    law = MixtureTransform.sampled(1.0, 1e-3, Kind.REMOVE)
    (bound,) = law.envelope(0.1, 10**9).log_bound(np.array([0.01]))
    true = float(mp.log(abs(moment(law, 0.1, 0.01)) / moment(law, 0.1, 0.0).real))
    assert -1e-9 < true <= bound < 0.25 * true


@pytest.mark.parametrize("theta", [1e-4, 0.05, 1.0, 9.0])
@pytest.mark.parametrize("t", [0.01, 1.0, 12.0])
def test_laplace_line(theta: float, t: float) -> None:
    step = 1.7
    values, errors = LaplacePair(theta, 1.0).transform.line(t, 10.0, 1e-13).cumulants(step, 4)
    for j in range(4):
        assert off_by(values[j], errors[j], laplace_moment(theta, mp.mpc(t, mpf(step) * j))) <= 1
    assert errors[0] < 1e-12 * max(theta, 1e-4)  # of itself, where theta is small
    true = float(mp.log(laplace_moment(theta, mpf(t)).real))
    assert true <= LaplacePair(theta, 1.0).transform.upper(t, 1e-6) <= true + 1e-12 * (1 + true)


@pytest.mark.parametrize("theta", [1e-4, 0.05, 1.0, 9.0])
def test_laplace_envelope(theta: float) -> None:
    """Above |m| between the edges, where the atoms return in phase, and beyond."""
    t = 2.0
    edges = np.geomspace(0.3, 40 / theta, 40)
    bounds = LaplacePair(theta, 1.0).transform.envelope(t, 1000).log_bound(edges)
    s = np.concatenate([np.geomspace(0.3, 400 / theta, 4000), math.pi / theta * np.arange(1, 60)])
    s = s[s >= edges[0]]
    h, w = theta / 2, 2 * (t + 1j * s) + 1
    size = np.abs(np.cosh(h * w) + np.sinh(h * w) / w) / (math.cosh(h * 5) + math.sinh(h * 5) / 5)
    allowed = bounds[np.searchsorted(edges, s, side="right") - 1]
    assert (np.log(size) <= allowed + 1e-13).all()
    smooth = math.log1p(-1 / (1 + 5 / math.tanh(h * 5)))  # the atoms' share of the tilted law
    (last,) = LaplacePair(theta, 1.0).transform.envelope(t, 1000).log_bound(np.array([1e3 / theta + 1e3]))
    assert smooth <= last <= 0.9 * smooth


@pytest.mark.parametrize(
    ("transform", "moments"),
    [
        (QuadraticTransform(0.7), lambda z: mp.exp(exact(0.7) ** 2 * z * (1 + z) / 2)),
        (
            AtomTransform((-0.5, 0.2, 2.0), (math.log(0.25), math.log(0.5), math.log(0.125))),
            lambda z: mp.exp(-z / 2) / 4 + mp.exp(exact(0.2) * z) / 2 + mp.exp(2 * z) / 8,
        ),
    ],
)
def test_closed_forms(transform: Transform, moments: Any) -> None:
    t, step = 1.7, 2.9
    values, errors = transform.line(t, 20.0, 1e-13).cumulants(step, 5)
    bounds = transform.envelope(t, 5).log_bound(step * np.arange(1.0, 5.0))
    for j in range(5):
        true = moments(mp.mpc(t, mpf(step) * j))
        assert off_by(values[j], errors[j], true) <= 1
        assert errors[j] < 1e-12
        assert j == 0 or float(mp.log(abs(true) / moments(mpf(t)))) <= bounds[j - 1] + 1e-13
    assert transform.upper(t, 1e-9) == pytest.approx(float(mp.log(moments(mpf(t)).real)), abs=1e-12)


@pytest.mark.parametrize("scale", [1e-4, 0.3, 8.0])
def test_all_ways_of_an_exponential_sum(scale: float) -> None:
    random = np.random.default_rng(5)
    loss = np.sort(random.normal(size=400)) * scale
    weight = random.random(400) ** 8
    step, count = 0.7, 40
    ways = [way(loss, weight, step, count) for way in (term_by_term, by_transforms)]
    for j in (0, 1, 7, 39):
        angles = [mpf(x) * mpf(step) * j for x in loss.tolist()]
        true = mp.fsum(mpf(w) * mp.expjpi(a / mp.pi) for w, a in zip(weight.tolist(), angles, strict=True))
        true -= mp.fsum(map(mpf, weight.tolist()))
        for values, error in ways:
            assert abs(mp.mpc(values[j]) - true) <= error[j]
            phases = np.abs(loss) * step * j
            assert error[j] <= 3e-13 * (weight @ np.minimum(2, phases)) + 4e-15 * (weight @ phases) + (
                2e-14 * weight.sum() if scale > 0.01 else 0
            )


def test_an_exponential_sum_says_when_it_is_too_long() -> None:
    loss = np.linspace(0, 1, 4000)
    assert moved_sum(loss, np.ones(4000), 1e-3, 2_000_000, 1e-9) is None


def test_blocked_sum() -> None:
    values = np.random.default_rng(1).random(1000) * np.geomspace(1, 1e-12, 1000)
    assert blocked_sum(values) == pytest.approx(math.fsum(values.tolist()), rel=1e-15)
