"""Bounds on the decay of characteristic functions and long sums in balls, on both sides, against mpmath."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import cache
from typing import Any

import mpmath
import pytest
from flint import acb, arb

from hockeystick import Direction
from hockeystick.engines.proof.decay import Decay
from hockeystick.engines.proof.envelope import EnvelopeBalls, Shift
from hockeystick.engines.proof.laplace import LaplaceDecay
from hockeystick.engines.proof.mixture import MixtureBalls
from hockeystick.engines.proof.rounds import ExactRounds, LaplaceNoise, SampledGaussian
from hockeystick.numerics import ball_sums
from hockeystick.numerics.ball_sums import gridded_sums, weighted_phases
from hockeystick.numerics.balls import above, ball, phase_sums, precision
from hockeystick.values.errors import NotApplicableError

DIRECTIONS = [direction for direction in Direction if not direction.zeroes]
MU, RATE, TILT, COUNT = Fraction(5, 4), Fraction(1, 20), 2.5, 400
Number = Any


def envelope(direction: Direction, mu: Fraction = MU, rate: Fraction = RATE) -> EnvelopeBalls:
    return EnvelopeBalls(MixtureBalls(SampledGaussian(mu, rate, direction)), TILT, COUNT)


def log_g(mu: Fraction, rate: Fraction) -> Callable[[Number], Number]:
    m, q = mpmath.mpf(mu.numerator) / mu.denominator, mpmath.mpf(rate.numerator) / rate.denominator
    return lambda x: mpmath.log(1 - q + q * mpmath.exp(m * x - m * m / 2))


def powers(direction: Direction, z: Number) -> tuple[Number, Number]:
    """Of g(x) and g(-x)."""
    return {Direction.REMOVE: (1 + z, 0), Direction.ADD: (-z, 0), Direction.REPLACE_ONE: (1 + z, -z)}[direction]


@cache
def moment(direction: Direction, z: Number) -> Number:
    u, (a, b) = log_g(MU, RATE), powers(direction, z)
    knots = [-14, -6, -3, -1, 0, 1, 2, 3, 4, 5, 6, 8, 10, 14, 20]
    return mpmath.quad(lambda x: mpmath.npdf(x) * mpmath.exp(a * u(x) + b * u(-x)), knots)


def log_phi(direction: Direction, s: float) -> float:
    with mpmath.workdps(25):
        return float(mpmath.log(abs(moment(direction, mpmath.mpc(TILT, s)) / moment(direction, mpmath.mpf(TILT)))))


def moved_integral(direction: Direction, s: float, shift: Shift) -> float:
    """``log B(s) / m(t)``, B the integral of the modulus of the moved integrand itself, ``|1 + iy'|`` bounded."""
    sign = -1 if direction is Direction.ADD else 1
    m, q = mpmath.mpf(MU.numerator) / MU.denominator, mpmath.mpf(RATE.numerator) / RATE.denominator

    def slope(x: Number) -> Number:
        odds = q * mpmath.exp(m * x - m * m / 2)
        return odds / (1 - q + odds)

    def height(x: Number) -> Number:
        both = slope(x) + (slope(-x) if direction is Direction.REPLACE_ONE else 0)
        return shift.size * both**shift.power

    def modulus(x: Number) -> Number:
        u, (a, b), y = log_g(MU, RATE), powers(direction, mpmath.mpc(TILT, s)), height(x)
        at = mpmath.mpc(x, sign * y)
        bend = mpmath.diff(height, x, h=mpmath.mpf("1e-8"))
        size = abs(mpmath.exp(a * u(at) + b * u(-at) - at * at / 2)) / mpmath.sqrt(2 * mpmath.pi)
        return size * (1 + bend**2 / 2)

    with mpmath.workdps(25):
        total = mpmath.quad(modulus, [-14, -6, -3, -1, 0, 1, 2, 3, 4, 5, 6, 8, 10, 14, 20], maxdegree=5)
        return float(mpmath.log(total / moment(direction, mpmath.mpf(TILT))))


@pytest.mark.share(5)
@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize(
    "s", [0.05, pytest.param(1.0, marks=pytest.mark.slow), pytest.param(4.0, marks=pytest.mark.slow), 15.0]
)
def test_the_envelope_is_above_the_characteristic_function(direction: Direction, s: float) -> None:
    """At s and at all larger ones; near 0 it has a good part of the quadratic fall."""
    with precision(80):
        found = envelope(direction)
        bound = above(found.log_bound(s, found.proposal(s)[0]))
    assert bound < 0
    truths = [log_phi(direction, s * factor) for factor in (1.0, 1.1, 2.0)]
    assert all(truth <= bound for truth in truths)
    if s < 0.1:
        assert bound <= 0.3 * truths[0]


@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("which", [0, 1, 2, 3])
@pytest.mark.parametrize("s", [0.3, 6.0])
@pytest.mark.share(5)
def test_the_envelope_is_the_moved_integral(direction: Direction, which: int, s: float) -> None:
    """The sum over nodes with its remainders is at least the integral, and within the slack of it."""
    with precision(80):
        found = envelope(direction)
        if which == len(found._shifts):
            pytest.skip("the far shift is for remove")
        widest = found._shifts[which]
        shift = widest if which == 3 else widest._replace(size=0.5 * widest.size)
        bound = above(found.log_bound(s, shift))
    truth = moved_integral(direction, s, shift)
    if truth > -1e-6:
        assert bound == 0.0 or bound >= truth
        return
    assert truth * (1 + 1e-9) <= bound <= truth + 2e-5 / COUNT


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_the_step_remainder_covers_a_coarse_rule(direction: Direction) -> None:
    """With nodes far apart the sums err, by less than the bound; without it the result would be wrong."""
    with precision(80):
        found = envelope(direction)
        shift = found._shifts[0]
        found._dx *= 3.4
        found._number = int(found._number / 3.4) + 1
        found._build()
        sums = sum(found._moved(6.0, shift), arb(0)) / found._moment
        log_size = found._log_size(shift)[1]
        step = 4 * log_size.exp() / (2 * arb.pi() * arb(shift.strip) / arb(found._dx)).expm1()
        error = abs(float(sums.mid()) - math.expm1(moved_integral(direction, 6.0, shift)))
        assert 1e-12 < error < float(step.upper())


def test_what_the_range_leaves_out() -> None:
    """Nodes are taken off one end: the bound stays above the integral."""
    with precision(80):
        found = envelope(Direction.REMOVE)
        shift = found._shifts[0]
        found._number -= int(5.5 / found._dx)
        found._build()
        short = found.log_bound(0.5, shift)
        bare = 1 + sum(found._moved(0.5, shift), arb(0)) / found._moment
    truth = moved_integral(Direction.REMOVE, 0.5, shift)
    assert above(short) >= truth
    assert abs(float(bare.log().mid()) - truth) > 1e-9


@pytest.mark.parametrize("shift", [Shift(0.5, 1.5, 0.36), Shift(0.0, 1.2, 0.2), Shift(0.0, 2.0, 0.6)])
def test_shifts_beyond_the_conditions_are_refused(shift: Shift) -> None:
    with precision(80):
        found = envelope(Direction.ADD)
        with pytest.raises(NotApplicableError, match="moved too far"):
            found.log_bound(3.0, shift)


@pytest.mark.parametrize(("theta", "t"), [(Fraction(1, 10), 3.0), (Fraction(1), 0.7), (Fraction(3), 2.0)])
def test_decay_of_laplace_noise(theta: Fraction, t: float) -> None:
    """Above the closed form at s and beyond, and near it before the atoms return."""
    noise = LaplaceNoise(theta)
    with precision(80):
        decay = LaplaceDecay(noise, t)
        for b in (0.1, 0.7, 1.5, 1.6, 5.0, 40.0):
            s = b / float(theta)
            bound = above(decay.log_bound(s))
            size = noise.values(t, s, 1)[0].real
            worst = max(
                float((abs(noise.values(t, s * factor, 2)[1]) / size).log().upper())
                for factor in [1 + 0.05 * i for i in range(120)]
            )
            assert worst <= bound <= 0
            assert bound <= 0.1 * worst
    with mpmath.workdps(20):  # the closed form itself
        h, w = mpmath.mpf(theta.numerator) / theta.denominator / 2, mpmath.mpc(2 * t + 1, 2.0)
        value = mpmath.exp(-h) * (mpmath.cosh(h * w) + mpmath.sinh(h * w) / w)
    with precision(80):
        assert float(abs(noise.values(t, 1.0, 2)[1] - acb(complex(value))).mid()) < 1e-12 * abs(value)


@pytest.mark.parametrize("reach", [0.4, 1.0, 3.0])
def test_the_rest_is_more_than_the_sum_beyond(reach: float) -> None:
    """``sum |phi|^k / |z (1 + z)|`` over the points beyond the cut, doubled, against the bound."""
    rounds = ExactRounds(mu_squared=Fraction(1, 50), sampled={SampledGaussian(MU, RATE, Direction.REMOVE): 3})
    rounds.laplace[LaplaceNoise(Fraction(1, 2))] = 2
    step = 0.25
    with precision(80):
        bound = float(Decay(rounds, TILT, -5.0, 1.0).rest(reach, step).upper())
        (item,), (noise,) = rounds.sampled, rounds.laplace
        count = 250
        a = MixtureBalls(item).values(TILT, step, count, -40.0)
        b = noise.values(TILT, step, count)
        total = 0.0
        for j in range(math.ceil(reach / step), count):
            s = step * j
            size = float((abs(a[j]) / a[0].real).mid()) ** 3 * float((abs(b[j]) / b[0].real).mid()) ** 2
            total += size * math.exp(-s * s / 100) / abs(complex(TILT, s) * complex(TILT + 1, s))
    assert step / math.pi * total < bound < 200 * step / math.pi * total


def sample(number: int) -> tuple[list[Any], list[Any]]:
    weights = [ball(Fraction(1 + n % 7, 4 * number)) for n in range(number)]
    return weights, [ball(Fraction((n * n) % 997, 90)) - 2 for n in range(number)]


@pytest.mark.parametrize("depth", [4.0, 12.0, 40.0])
@pytest.mark.parametrize("count", [2, 130, 700])
def test_sums_by_one_transform(depth: float, count: int) -> None:
    """They hold the sums term by term; the remainder is about as wide as was asked, and covers a real error."""
    with precision(120):
        weights, losses = sample(300)
        step = arb("0.3")
        found = gridded_sums(weights, losses, step, count, depth)
        truth = phase_sums(weights, [step * loss for loss in losses], count)
        assert len(found) == count
        assert all(a.contains(b) or a.overlaps(b) for a, b in zip(found, truth, strict=True))
        assert all(float(a.real.rad()) < 30 * math.exp(-depth) for a in found)
        errors = [float(abs(a.mid() - b.mid()).upper()) for a, b in zip(found, truth, strict=True)]
        assert max(errors) > 1e-5 * float(found[0].real.rad()) or count == 2


def test_a_place_far_from_its_cell_has_no_bound() -> None:
    """A loss that is hardly known gives an open remainder, not a wrong one."""
    with precision(80):
        found = gridded_sums([arb(1)], [arb(1, 50)], arb(1), 4, 5.0)
        assert not float(found[1].real.rad()) < 10


@pytest.mark.parametrize("depth", [4.0, 40.0])
def test_close_neighbours_are_merged(depth: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """Moments of close places: the sums hold the truth, and cover what the terms that are left out would have added."""
    with precision(100):
        weights = [ball(Fraction(1 + n % 7, 1200)) for n in range(300)]
        losses = [ball(Fraction(n * n, 30_000_000)) - 2 for n in range(150)] + [
            ball(Fraction(n, 9)) for n in range(150)
        ]
        merged: list[bool] = []
        merge = ball_sums._merged

        def watched(*args: Any) -> Any:
            merged.append(True)
            return merge(*args)

        monkeypatch.setattr(ball_sums, "_merged", watched)
        found = gridded_sums(weights, losses, arb(1) / 3, 200, depth)
        exact = phase_sums(weights, [loss / 3 for loss in losses], 200)
        assert merged
        size = float(sum(weights, arb(0)))
        for a, b in zip(found, exact, strict=True):
            assert a.overlaps(b)
            assert float(a.real.rad()) < 30 * math.exp(-depth) * size
        monkeypatch.setattr(ball_sums, "MANY", 10**9)
        single = gridded_sums(weights, losses, arb(1) / 3, 200, depth)
        assert all(a.overlaps(b) for a, b in zip(found, single, strict=True))


@pytest.mark.parametrize("depth", [3.0, 20.0, 60.0])
def test_moments_with_their_remainder(depth: float) -> None:
    """``sum share e^(d k / r^2)``: the error is covered, and of the size of what was asked; far places are refused."""
    with precision(150):
        shares = [ball(Fraction(1 + n % 3, 10)) for n in range(20)]
        distances = [ball(Fraction(30 + n, 1000)) for n in range(20)]
        inverse, half = arb("0.2"), 25
        found = ball_sums._merged(shares, distances, 0.03125, inverse, half, depth)
        assert found is not None
        total = sum(shares, arb(0))
        for k, value in zip(range(-half, half + 1), found, strict=True):
            exact = sum((share * (d * k * inverse).exp() for share, d in zip(shares, distances, strict=True)), arb(0))
            assert value.contains(exact.mid())
            assert value.rad() < 2 * math.exp(-depth) * total
            if abs(k) == half:
                assert abs(value.mid() - exact) > 1e-7 * math.exp(-depth) * total
        assert ball_sums._merged(shares, distances, -0.4, inverse, half, depth) is None


def test_short_sums_are_products_of_matrices(monkeypatch: pytest.MonkeyPatch) -> None:
    """Both ways give the same numbers."""
    with precision(100):
        weights, losses = sample(40)
        short = weighted_phases(weights, losses, arb(1), 150, 30.0)
        monkeypatch.setattr(ball_sums, "FEW", 0)
        long = weighted_phases(weights, losses, arb(1), 150, 30.0)
    assert all(a.overlaps(b) for a, b in zip(short, long, strict=True))
    assert float(short[7].real.rad()) < 1e-3 * float(long[7].real.rad())


@pytest.mark.parametrize(("t", "turned"), [(2.5, 1.0), (40.0, 1.5), (3000.0, 1.5)])
def test_by_how_much_a_moved_integrand_may_weigh_more(t: float, turned: float) -> None:
    """``int phi |g(x + ih)|^(-t) / m(t)`` for add: less than the bound, which at large t is not that of the cosine."""
    mixture = MixtureBalls(SampledGaussian(MU, RATE, Direction.ADD))
    with precision(80):
        bound = above(mixture.log_dip(t, arb(turned)))
    with mpmath.workdps(25):
        u, h = log_g(MU, RATE), turned / mpmath.mpf(float(MU))
        knots = [-14, -10, -8, -6, -5, -4, -3, -2, -1, 0, 1, 3, 8]
        moved = mpmath.quad(lambda x: mpmath.npdf(x) * abs(mpmath.exp(-t * u(mpmath.mpc(x, h)))), knots)
        still = mpmath.quad(lambda x: mpmath.npdf(x) * mpmath.exp(-t * u(x)), knots)
        truth = float(mpmath.log(moved / still))
    assert 0 < truth <= bound <= 30 * truth + 3
    assert (bound < -0.5 * t * math.log(math.cos(turned / 2))) == (t > 10)


@pytest.mark.parametrize(("mu", "rate", "t"), [(1, Fraction(3, 10), 60.0), (Fraction(1, 4), Fraction(1, 100), 200.0)])
@pytest.mark.parametrize("turned", [0.5, 1.1, 1.5707])
def test_the_tail_is_bounded_off_the_real_line_too(mu: Fraction, rate: Fraction, t: float, turned: float) -> None:
    """For add ``|g(x + iy)|^-t`` exceeds ``g(x)^-t``, so that above the range its bound on the real line is none.

    The integrals of the modulus at the full height ``mu y = turned`` are taken by quadrature.
    """
    mixture, low, high = MixtureBalls(SampledGaussian(Fraction(mu), rate, Direction.ADD)), -3.0, 2.0

    def beyond(height: float) -> Number:
        m, q = mpmath.mpf(Fraction(mu).numerator) / Fraction(mu).denominator, mpmath.mpf(rate.numerator)
        q /= rate.denominator

        def modulus(x: Number) -> Number:
            odds = q * mpmath.exp(mpmath.mpc(m * x - m * m / 2, height))
            return mpmath.npdf(x) * abs(1 - q + odds) ** -t

        return mpmath.quad(modulus, [-20, -8, -5, low]), mpmath.quad(modulus, [high, 4, 7, 12, 20])

    with mpmath.workdps(20), precision(80):
        there, above_high = beyond(turned)
        moved = mixture.moved_range_remainder(t, arb(low), arb(high), arb(turned))
        assert moved >= arb(str(there + above_high))
        # on the real line the bound is the one known already, or sharper
        real = mixture.range_remainder(t, arb(low), arb(high))
        assert mixture.moved_range_remainder(t, arb(low), arb(high), arb(0)) <= real * (1 + arb("1e-15"))
        if mu == 1 and turned > 1:
            assert mixture._added_above(arb(t), arb(high)) < arb(str(above_high))


def test_no_tail_is_claimed_where_the_line_turns_too_far() -> None:
    mixture = MixtureBalls(SampledGaussian(MU, RATE, Direction.ADD))
    assert not mixture.moved_range_remainder(TILT, arb(-8), arb(8), arb("1.6")).is_finite()


def test_sums_that_take_too_long_are_not_begun(monkeypatch: pytest.MonkeyPatch) -> None:
    """98,706 nodes, each spread over 374 cells, took 20 s; the products are counted before the first is made."""
    seen: list[float] = []
    monkeypatch.setattr(ball_sums, "charge", lambda units, step: seen.append(units))
    with precision(100):
        gridded_sums([arb(1)] * 30, [arb(1, 50)] * 15 + [arb(3)] * 15, arb(1) / 3, 200, 40.0)
    half = math.ceil(math.sqrt(80 / (1 - 2 * 199 / 1024)) / (2 * math.pi) * math.sqrt(80) + 0.5)
    assert seen == [ball_sums.PRODUCT * 2 * half * 2 * ball_sums.MANY + ball_sums.CELL * 1024]
