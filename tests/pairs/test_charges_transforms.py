"""Every charge of the characteristic functions where it is made: coarse steps, short ranges, parameters off by a unit.

Truths are to many digits; a parameter is the decimal it prints as. Remainders are tried where they are all that counts:
any step, any range and any strip is sound.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import mpmath
import numpy as np
import pytest
from mpmath import mp, mpf

from hockeystick.numerics import exponential_sum
from hockeystick.numerics.exponential_sum import by_transforms, term_by_term
from hockeystick.pairs.closed_transforms import AtomTransform, QuadraticTransform
from hockeystick.pairs.laplace import LaplacePair
from hockeystick.pairs.sampled.gaussian_line import MixtureLine
from hockeystick.pairs.sampled.gaussian_transform import MixtureTransform
from hockeystick.pairs.sampled.mixture_law import Kind, MixtureLaw, Nodes, log_density
from hockeystick.pairs.sampled.summed_line import kept_upper
from hockeystick.pairs.transform import safe_log, safe_log_one_plus
from transform_truths import exact, integrand, laplace_moment, moment, off_by

Number = Any
Array = Any
COARSE = 2.5  # a step of the trapezoid rule at which a normal density is 8 % off


@pytest.fixture(autouse=True)
def precision() -> Iterator[None]:
    with mpmath.workdps(30):
        yield


# Rounding at the nodes ------------------------------------------------------------------------------------------------


def loss_parts(law: MixtureLaw, x: Number) -> tuple[Number, Number]:
    """u and v at an exact node."""
    mu, q = exact(law.mu), exact(law.rate)
    u, v = (mp.log(1 - q + q * mp.exp(sign * mu * x - mu**2 / 2)) for sign in (1, -1))
    return u, v


NODES = [
    (MixtureTransform.sampled(0.8, 0.01, Kind.REMOVE), 2.0, -25.0),  # the density, far out
    (MixtureTransform.sampled(0.8, 0.01, Kind.REMOVE), 2.0, 0.0),
    (MixtureTransform.sampled(33.3, 0.1, Kind.REMOVE), 50.0, 12.0),  # mu x - mu^2/2 cancels, times the tilt
    (MixtureTransform.sampled(5.1, 0.9999, Kind.ADD), 40.0, -6.0),  # 1 - q has lost its digits
    (MixtureTransform.sampled(3.7, 0.9999, Kind.REPLACE), 40.0, -4.0),
    (MixtureTransform.sampled(33.3, 0.1, Kind.REPLACE), 50.0, -18.0),
    (MixtureTransform.sampled(1.7, 0.92, Kind.ADD), 900.0, -5.0),
]


@pytest.mark.parametrize(("law", "t", "low"), NODES)
def test_roundings_at_a_node_are_within_what_is_stated(law: MixtureLaw, t: float, low: float) -> None:
    """Of ``phi e^A`` relatively, of the loss absolutely, at the true nodes and with the true rate."""
    step = 0.1234567
    x = low + step * np.arange(60, dtype=np.float64)
    nodes = Nodes(law, x, t)
    care, slip = nodes.care(), nodes.slip()
    ca, cb = law.kind.coefficients(t)
    slope_u, slope_v = law.kind.slopes
    log_weight = log_density(x) + nodes.exponent
    for j in range(60):
        at = mpf(low) + j * mpf(step)
        u, v = loss_parts(law, at)
        true = -(at**2) / 2 - mp.log(2 * mp.pi) / 2 + mpf(ca) * u + mpf(cb) * v
        assert abs(mp.expm1(mpf(float(log_weight[j])) - true)) <= care[j]
        assert abs(mpf(float(nodes.loss[j])) - (slope_u * u + slope_v * v)) <= slip[j]


# Strips and ranges ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("law", "t", "s", "a"),
    [
        (MixtureTransform.sampled(0.3, 1e-9, Kind.REMOVE), 1.0, 0.0, 3.0),  # the density alone
        (MixtureTransform.sampled(0.5, 0.999, Kind.REMOVE), 0.5, 8.0, 1.0),  # the loss turns as fast as it can
        (MixtureTransform.sampled(0.5, 0.999, Kind.REPLACE), 0.01, 5.0, 1.0),  # both
        (MixtureTransform.sampled(0.01, 0.5, Kind.ADD), 4.0, 0.0, 200.0),  # |g| dips as far as it can
        (MixtureTransform.sampled(0.02, 0.5, Kind.REPLACE), 4.0, 0.0, 100.0),
    ],
)
def test_the_integrand_in_a_strip_is_within_the_bound(law: MixtureLaw, t: float, s: float, a: float) -> None:
    """And all but reaches it where everything works the same way."""
    x, z = np.arange(-14.0, 14.0, 0.02), t + 1j * s
    ca, cb = law.kind.coefficients(t)
    slope_u, slope_v = law.kind.slopes

    def log_g(at: Array) -> Array:
        return np.log(1 - law.rate + law.rate * np.exp(law.mu * at - law.mu**2 / 2))

    def size(shift: float) -> float:
        at = x + 1j * shift
        power = (ca + 1j * s * slope_u) * log_g(at) + (cb + 1j * s * slope_v) * log_g(-at)
        # without e^(a^2/2), which may leave the range of a double
        return float(np.exp((-0.5 * np.square(at) - 0.5 * shift**2 + power).real).sum())

    assert z.real == t
    true = 0.5 * a * a + math.log(
        max(size(a), size(-a)) / np.exp(-0.5 * x * x + (ca * log_g(x) + cb * log_g(-x))).sum()
    )
    bound = float(law.log_strip(a, t, s))
    assert true <= bound * (1 + 1e-12)
    assert true > 0.9 * bound


@pytest.mark.parametrize(
    ("law", "t", "low", "high"),
    [
        (MixtureTransform.sampled(0.3, 1e-9, Kind.REMOVE), 0.1, -3.0, 40.0),
        (MixtureTransform.sampled(0.3, 1e-9, Kind.REMOVE), 0.1, -40.0, 3.0),
        (MixtureTransform.sampled(3.0, 0.999, Kind.REMOVE), 0.1, -40.0, 6.0),
        (MixtureTransform.sampled(0.3, 1e-9, Kind.ADD), 1.0, -3.0, 40.0),
        (MixtureTransform.sampled(0.3, 1e-9, Kind.ADD), 1.0, -40.0, 3.0),
        (MixtureTransform.sampled(3.0, 0.9, Kind.ADD), 3.0, -4.0, 40.0),
        (MixtureTransform.sampled(3.0, 0.95, Kind.REPLACE), 0.3, -40.0, 7.0),
        (MixtureTransform.sampled(0.3, 1e-9, Kind.REPLACE), 0.3, -3.0, 40.0),
    ],
)
def test_what_lies_beyond_the_range_is_within_the_bound(law: MixtureLaw, t: float, low: float, high: float) -> None:
    """At each end, and more than half of the bound where it is sharp."""
    value = integrand(MixtureTransform.sampled(law.mu, law.rate, law.kind), t, 0.0)
    below, above = [low - 14, low - 4, low - 1, low], [high, high + 1, high + 4, high + 14]
    true = float((mp.quad(value, below) + mp.quad(value, above)).real)
    bound = math.exp(law.log_beyond(t, low, high))
    assert true <= bound <= 1.9 * true


def coarse(line: MixtureLine, shift: float) -> MixtureLine:
    """With a step that is far too large, on a lattice through ``shift``, and the strip that suits it."""
    line.dx, line.a = COARSE, 2 * math.pi / COARSE
    line.low = shift - 8 * COARSE
    line.nodes = 20
    return line


def short(line: MixtureLine, low: float, nodes: int | None = None) -> MixtureLine:
    """With a fine step, from where there is much of the law still below, or so far that there is above."""
    line.dx, line.low = 1 / 32, low
    line.nodes = nodes if nodes is not None else 32 * 30
    line.a = 6.0
    return line


SMALL = MixtureTransform.sampled(0.3, 1e-3, Kind.REMOVE)
LINES = [
    (SMALL, 1.0, 0.0),
    (MixtureTransform.sampled(0.3, 0.9, Kind.REMOVE), 8.0, 0.0),  # m(t) well above 1: the plain form
    (MixtureTransform.sampled(0.3, 0.9, Kind.REMOVE), 8.0, 0.4),
    (MixtureTransform.sampled(0.3, 0.01, Kind.ADD), 2.0, 0.0),
    (MixtureTransform.sampled(0.3, 0.3, Kind.REPLACE), 1.0, 0.3),
]


@pytest.mark.parametrize(("law", "t", "s"), LINES)
@pytest.mark.parametrize("place", [0.0, 0.25, 0.5])
def test_the_error_of_a_coarse_step_is_charged(law: MixtureTransform, t: float, s: float, place: float) -> None:
    line = coarse(MixtureLine(law, t, s, 1e-20), place * COARSE)
    values, errors = line.cumulants(s or 1.0, 2)
    at = 1 if s else 0
    assert off_by(values[at], errors[at], moment(law, t, s * at)) <= 1


@pytest.mark.parametrize(("law", "t", "s"), LINES)
@pytest.mark.parametrize("low", [-2.0, -1.0, -12.0])
def test_what_a_short_range_leaves_out_is_charged(law: MixtureTransform, t: float, s: float, low: float) -> None:
    """Below, or above: there the range has to reach beyond ``(1 + t) mu``."""
    nodes = None if low > -12 else math.ceil((2.0 + (1 + t) * 1.25 * law.mu * (law.kind is not Kind.ADD) + 12.0) * 32)
    line = short(MixtureLine(law, t, s, 1e-20), low, nodes)
    values, errors = line.cumulants(s or 1.0, 2)
    at = 1 if s else 0
    assert off_by(values[at], errors[at], moment(law, t, s * at)) <= 1


@pytest.mark.parametrize(
    ("law", "t", "s"),
    [
        (MixtureTransform.sampled(5.1, 0.9999, Kind.ADD), 4.0, 0.0),  # 1 - q has lost its digits: the weights
        (MixtureTransform.sampled(5.1, 0.9999, Kind.ADD), 0.01, 50.0),  # the loss
        (MixtureTransform.sampled(5.1, 0.99999, Kind.ADD), 1e-4, 50.0),
        (MixtureTransform.sampled(7.3, 1e-25, Kind.REMOVE), 1.0, 0.0),  # mu, in e^(mu^2)
        (MixtureTransform.sampled(6.7, 1e-21, Kind.REMOVE), 1.0, 0.0),
    ],
)
def test_roundings_of_the_line_are_charged(law: MixtureTransform, t: float, s: float) -> None:
    line = MixtureLine(law, t, s, 1e-26)
    values, errors = line.cumulants(s or 1.0, 2)
    at = 1 if s else 0
    dx = mpf(1) / 64
    value = integrand(law, t, s)
    true = dx * mp.fsum(value(j * dx) for j in range(-64 * 14, int(64 * (16 + 2 * law.mu))))
    assert off_by(values[at], errors[at], true) <= 1


class Coarse(MixtureLine):
    """The line of an upper bound, too coarse."""

    place = 0.0

    def __init__(self, law: MixtureLaw, t: float, reach: float, tolerance: float) -> None:
        super().__init__(law, t, reach, tolerance)
        coarse(self, self.place * COARSE)


class Short(MixtureLine):
    """The same, too short."""

    def __init__(self, law: MixtureLaw, t: float, reach: float, tolerance: float) -> None:
        super().__init__(law, t, reach, tolerance)
        short(self, -1.0)


@pytest.mark.parametrize(("law", "t", "s"), LINES)
def test_an_upper_bound_by_a_coarse_step_or_a_short_range(
    monkeypatch: pytest.MonkeyPatch, law: MixtureTransform, t: float, s: float
) -> None:
    """Half way between its nodes the rule misses what it may miss; so does one that starts in the middle."""
    true = mp.log(moment(law, t, 0.0).real)
    monkeypatch.setattr(Coarse, "place", 0.5 + (1 + t) * law.mu / COARSE * (t == 8.0))
    for line in (Coarse, Short):
        monkeypatch.setattr("hockeystick.pairs.sampled.gaussian_transform.MixtureLine", line)
        assert true <= kept_upper.__wrapped__(law, t, 0.1) <= true + 1.5
    assert s >= 0


def test_roundings_of_an_upper_bound_are_charged() -> None:
    """A double that lies below the decimal it stands for has a smaller moment; the rest is rounding."""
    for mu, t, rate in ((1.4, 0.1, 0.5), (0.5, 1.0, 0.01), (1.4, 0.3, 0.5), (2.3, 7.3, 0.3)):
        law = MixtureTransform.sampled(mu, rate, Kind.REMOVE)
        value, dx = integrand(law, t, 0.0), mpf(1) / 16
        true = mp.log(dx * mp.fsum(value(j * dx) for j in range(-16 * 14, int(16 * (14 + (t + 2) * mu)))).real)
        assert true <= kept_upper.__wrapped__(law, t, 1e-25) <= true * (1 + mpf(10) ** -8)


# Closed forms ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("angle", [0.0, 1.0, 2.5, math.pi])
@pytest.mark.parametrize("size", [0.1, 0.45, 0.5, 0.9])
def test_the_logarithm_of_what_is_known_to_an_error(size: float, angle: float) -> None:
    """At the worst place within the error; where it may be 0, the k-th powers are what counts."""
    m = np.array([0.8 * np.exp(1j * angle)])
    absolute = np.array([size])
    for value, error in (safe_log(m, absolute), safe_log_one_plus(m - 1, absolute)):
        for turn in (0.0, 0.5, 1.0, 1.5):
            true = mp.mpc(complex(m[0])) + mpf(size) * mp.expjpi(turn + angle / math.pi)
            if size < 0.4:
                assert off_by(value[0], error[0], true) <= 1
            for k in (1, 2, 5):
                power = mp.exp(k * mp.mpc(complex(value[0])))
                assert abs(true**k - power) <= abs(power) * mp.expm1(k * mpf(error[0])) * (1 + mpf(10) ** -12)


def test_what_may_be_nought_is_covered_at_its_largest() -> None:
    """m is computed as all but twice its error, and is three times that, or minus it."""
    for m, true in ((1.999999, 2.999999), (1.999999, 1.0), (-1.999999, -2.999999), (0.0, -1.0), (0.0, 1.0)):
        value, error = safe_log(np.array([m + 0j]), np.array([1.0]))
        power = mp.exp(mp.mpc(complex(value[0])))
        assert abs(mpf(true) - power) <= abs(power) * mp.expm1(mpf(error[0]))


def test_roundings_of_the_logarithm_are_charged() -> None:
    random = np.random.default_rng(2)
    m = np.exp(random.normal(size=60) * 20) * np.exp(1j * random.uniform(-3, 3, 60))
    value, error = safe_log(m, np.zeros(60))
    for j in range(60):
        assert off_by(value[j], error[j], mp.mpc(complex(m[j]))) <= 1


def test_the_gaussian_and_its_fall() -> None:
    """K to its own rounding, that of mu included; the fall at an edge from above, to the last digit."""
    for i in range(40):
        mu, t, step = 0.1 + 0.037 * i, 0.3 + 0.11 * i, 1.0 + 0.7 * i
        values, errors = QuadraticTransform(mu).line(t, step, 1e-9).cumulants(step, 2)
        for j in range(2):
            z = mp.mpc(mpf(t), j * mpf(step))
            assert abs(mp.mpc(complex(values[j])) - exact(mu) ** 2 * z * (1 + z) / 2) <= errors[j]
        (bound,) = QuadraticTransform(mu).log_bound(np.array([step]))
        assert -((exact(mu) * mpf(step)) ** 2) / 2 <= bound
        assert exact(mu) ** 2 * mpf(t) * (1 + mpf(t)) / 2 <= QuadraticTransform(mu).upper(t, 1e-9)


def test_atoms_that_are_off_and_phases_that_turn() -> None:
    """Losses off by the units that are stated; heights at which a rounding of the loss is a good part of a turn."""
    loss, log_p, units = (-0.3, 0.7, 2.1), (-1.5, -0.9, -1.1), 1e6
    for t, step, off in (
        (0.5, 1e9, 0.0),
        (0.5, 3.1, units),
        (2.0, 3.1, -units),
        (3000.0, 1.0, units),
        (0.01, 61.0, units),
    ):
        values, errors = AtomTransform(loss, log_p, units if off else 0.0).line(t, step, 1e-9).cumulants(step, 2)
        for j in range(2):
            moved = [mpf(each) + mpf(off) * mpf(2) ** -53 * abs(mpf(each)) for each in loss]
            z = mp.mpc(mpf(t), j * mpf(step))
            true = mp.fsum(mp.exp(mpf(p) + z * each) for p, each in zip(log_p, moved, strict=True))
            assert off_by(values[j], errors[j], true) <= 1


def test_atoms_with_many_digits_before_the_point() -> None:
    """The largest exponent is taken out, and its rounding with it."""
    for i in range(20):
        loss, log_p, t = (700.3 + i, 20.1), (-1.0, -2.0), 1e6 + 0.1 * i
        values, errors = AtomTransform(loss, log_p).line(t, 1.0, 1e-9).cumulants(1.0, 1)
        assert abs(mpf(values[0].real) - (mpf(log_p[0]) + mpf(t) * mpf(loss[0]))) <= errors[0]


@pytest.mark.parametrize("theta", [0.37, 1.13, 7.7])
def test_laplace_phases_turn_with_their_roundings(theta: float) -> None:
    """At a height of a million the rounding of theta is what counts; at a small one all the others."""
    for step in (0.3, 1e6 + 0.1, 7e6):
        values, errors = LaplacePair(theta, 1.0).transform.line(0.9, step, 1e-9).cumulants(step, 2)
        for j in range(2):
            z = mp.mpc(mpf(0.9), j * mpf(step))
            h, w = exact(theta) / 2, 2 * z + 1
            true = mp.exp(-h) * (mp.cosh(h * w) + mp.sinh(h * w) / w)
            assert off_by(values[j], errors[j], true) <= 1
    assert laplace_moment(theta, mpf(0.9)) > 1


def test_laplace_falls_no_deeper_than_between_two_edges() -> None:
    """Also where the atoms are in phase again between them, and with edges so low that the smooth part counts."""
    for theta, t in ((1.3, 0.7), (0.1, 0.01)):
        turn = math.pi / theta  # the atoms are in phase again at its multiples
        for edges in np.array([[0.9, 1.1], [0.05, 0.1], [1.6, 1.9], [0.2, 0.3], [0.5, 0.75]]) * turn:
            (bound, _) = LaplacePair(theta, 1.0).transform.envelope(t, 100).log_bound(edges)
            s = np.linspace(edges[0], 30 * turn, 20_001)
            h, w = theta / 2, 2 * (t + 1j * s) + 1
            size = np.log(np.abs(np.cosh(h * w) + np.sinh(h * w) / w))
            a = h * (2 * t + 1)
            assert size.max() - math.log(math.cosh(a) + math.sinh(a) / (2 * t + 1)) <= bound + 1e-13


# Exponential sums -----------------------------------------------------------------------------------------------------


def sum_error(way: Any, loss: Array, weight: Array, step: float, count: int, j: int) -> tuple[Number, float]:
    values, error = way(loss, weight, step, count)
    angles = [mpf(x) * mpf(step) * j for x in loss.tolist()]
    true = mp.fsum(mpf(w) * (mp.expj(a) - 1) for w, a in zip(weight.tolist(), angles, strict=True))
    return abs(mp.mpc(complex(values[j])) - true), float(error[j])


@pytest.mark.parametrize("way", [term_by_term, by_transforms])
@pytest.mark.parametrize("loss", [1e-3, 1.0, 1e7])
def test_roundings_of_an_exponential_sum(way: Any, loss: float) -> None:
    """At every size of the phases; by transforms at the first height, where what is left of the sum is small."""
    random = np.random.default_rng(8)
    losses, weight = np.sort(random.normal(size=150)) * loss, random.random(150)
    for j in (1, 2, 17, 63):
        off, error = sum_error(way, losses, weight, 0.0137 if loss == 1.0 else 0.7, 64, j)
        assert off <= error


def test_roundings_of_transforms_count_against_what_has_hardly_moved() -> None:
    """At the first of many heights the sum is small, the numbers that are transformed are not."""
    random = np.random.default_rng(8)
    step, count = 0.7, 2000
    loss = np.sort(random.uniform(0.6, 3.0, 150)) * 2 * math.pi / (2 * count * step)
    for j in (1, 2, 3):
        off, error = sum_error(by_transforms, loss, random.random(150), step, count, j)
        assert off <= error


def test_what_a_short_series_leaves_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """Losses half way between two points of the grid, at the largest height: of three terms all that is stated."""
    monkeypatch.setattr(exponential_sum, "TERMS", 3)
    step, count = 0.5, 17
    spacing = 2 * math.pi / (32 * step)
    for loss in (2.49999 * spacing, 0.49999 * spacing):
        off, error = sum_error(by_transforms, np.array([loss]), np.ones(1), step, count, count - 1)
        assert 0.9 * error < off <= error
