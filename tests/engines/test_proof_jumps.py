"""Rare jumps taken apart from the core: both bounds, the core's transform, and proved intervals on short lines."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from typing import Any

import mpmath
import pytest
from flint import acb, arb

import oracle
from hockeystick import Direction, Plan
from hockeystick.engines.proof.contour import BallContour
from hockeystick.engines.proof.jumps import Apart, JumpBalls, Jumps
from hockeystick.engines.proof.mixture import Core, MixtureBalls
from hockeystick.engines.proof.rounds import ExactRounds, SampledGaussian
from hockeystick.numerics.balls import Ball, above, precision
from oracle.real import to_fraction

Number = Any
MU, RATE, COUNT = Fraction(2), Fraction(1, 5000), 40
TILT, HIGH = 1.5, 11.0
JUMPS = [
    Jumps(Core(3.0, 0.25), 0.6, 20.0, 8.0),
    Jumps(Core(4.5, 0.05), 0.15, 100.0, 3.0),
    Jumps(Core(5.0, 0.5), 0.7, 5.0, 1.0),
]


def pieces() -> JumpBalls:
    return JumpBalls(MixtureBalls(SampledGaussian(MU, RATE, Direction.REMOVE)), COUNT)


def part(core: Core, z: Number, inside: bool) -> Number:
    """C(z) or J(z)."""
    with mpmath.workdps(30):
        m, q = mpmath.mpf(MU.numerator) / MU.denominator, mpmath.mpf(RATE.numerator) / RATE.denominator
        sign, z = (-1 if inside else 1), mpmath.mpc(z)

        def weight(x: Number) -> Number:
            ratio = mpmath.log(1 - q + q * mpmath.exp(m * x - m * m / 2))
            return mpmath.npdf(x) * mpmath.exp((1 + z) * ratio) * mpmath.ncdf(sign * (x - core.centre) / core.width)

        return mpmath.quad(weight, [mpmath.mpf(i) / 4 for i in range(-44, 57)], maxdegree=5)


@pytest.mark.parametrize("jumps", JUMPS)
def test_the_bound_on_the_core(jumps: Jumps) -> None:
    """Above ``C(y)^k peak(y)``, by what the width of the panels costs."""
    y = jumps.tilt
    with mpmath.workdps(20):
        truth = COUNT * mpmath.log(part(jumps.core, y, inside=True)).real + y * math.log(y) - (1 + y) * math.log1p(y)
    with precision(90):
        bound = math.log(above(pieces().core_bound(jumps)))
    assert float(truth) <= bound <= float(truth) + 0.3


@pytest.mark.share(3)
@pytest.mark.slow
@pytest.mark.parametrize("jumps", JUMPS)
def test_the_bound_on_the_jumps(jumps: Jumps) -> None:
    """Above ``|J(t + is)|`` from the reach on, falling, and below J(t) by far."""
    with precision(90):
        bounds = [above(pieces().jump_bound(jumps, TILT, s, HIGH)) for s in (jumps.reach, 2 * jumps.reach)]
    sizes = [float(abs(part(jumps.core, mpmath.mpc(TILT, jumps.reach * f), inside=False))) for f in (1, 1.3, 2, 3)]
    assert max(sizes) <= bounds[0]
    assert max(sizes[2:]) <= bounds[1] < bounds[0]
    still = float(part(jumps.core, TILT, inside=False).real)
    with precision(90):
        unmoved = above(pieces().jump_bound(jumps._replace(shift=1e-6), TILT, jumps.reach, HIGH))
    assert still < unmoved < 1.2 * still
    assert bounds[1] < 0.9 * bounds[0]


def test_the_jumps_moved_integral() -> None:
    """The panels against the integral that they bound: above it, and near it."""
    jumps = JUMPS[0]
    with mpmath.workdps(20):
        m, q, y = mpmath.mpf(2), mpmath.mpf(1) / 5000, mpmath.mpf(jumps.shift)

        def size(x: Number) -> Number:
            odds = q * mpmath.exp(m * x - m * m / 2)
            turn = mpmath.arg(1 - q + odds * mpmath.expj(m * y))
            chi = mpmath.ncdf((x - jumps.core.centre) / jumps.core.width)
            return mpmath.npdf(x) * (1 - q + odds) ** (1 + TILT) * chi * mpmath.exp(-jumps.reach * turn)

        moved = mpmath.quad(size, [mpmath.mpf(i) / 4 for i in range(-48, 65)])
        truth = float(mpmath.log(moved) + y * y * (1 + mpmath.mpf(jumps.core.width) ** -2) / 2)
    with precision(90):
        bound = math.log(above(pieces().jump_bound(jumps, TILT, jumps.reach, HIGH)))
    assert truth <= bound <= truth + 0.3


@pytest.mark.share(5)
@pytest.mark.slow
@pytest.mark.parametrize("jumps", JUMPS)
@pytest.mark.parametrize("log_tolerance", [-2.0, -40.0])
def test_the_transform_of_the_core(jumps: Jumps, log_tolerance: float) -> None:
    """It holds the integral and is as narrow as was asked, and the whole is as it is without a core."""
    mixture = pieces().mixture
    with precision(130):
        whole, inner = mixture.apart(TILT, 10.0, 4, log_tolerance, jumps.core)
        alone = mixture.values(TILT, 10.0, 4, log_tolerance)
        assert all(a.overlaps(b) for a, b in zip(whole, alone, strict=True))
        for j in (0, 1, 3):
            truth = part(jumps.core, mpmath.mpc(TILT, 10 * j), inside=True)
            exact = acb(mpmath.nstr(truth.real, 25), mpmath.nstr(truth.imag, 25))
            assert (inner[j] + acb(arb(0, 1e-20), arb(0, 1e-20))).contains(exact)
            assert inner[j].real.rad() < 30 * math.exp(log_tolerance)


def test_bounds_out_of_their_conditions_are_infinite() -> None:
    """A shift beyond a quarter of a turn; a core whose end is not left behind."""
    with precision(90):
        assert math.isinf(float(pieces().jump_bound(JUMPS[0]._replace(shift=0.8), TILT, 20.0, HIGH)))
        assert math.isinf(float(pieces().jump_bound(JUMPS[0], TILT, 20.0, 4.0)))
        assert math.isinf(float(pieces().core_bound(JUMPS[0]._replace(tilt=50.0))))


def plan(count: int, rate: float = 2e-5) -> dict[str, Any]:
    entry = {"mechanism": "gaussian", "noise_multiplier": 0.5, "sampling": "poisson", "sample_rate": rate}
    return {"adjacency": "remove", "round": [{**entry, "count": count}]}


@pytest.fixture
def lines(monkeypatch: pytest.MonkeyPatch) -> list[BallContour]:
    """All that are built."""
    out: list[BallContour] = []
    build = BallContour.__init__

    def recorded(self: BallContour, *args: Any) -> None:
        build(self, *args)
        out.append(self)

    monkeypatch.setattr(BallContour, "__init__", recorded)
    return out


@pytest.mark.share(3)
@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [0.5, 2.0, 20.0])
def test_a_short_line_for_rare_jumps(epsilon: float, lines: list[BallContour]) -> None:
    """One line of few points, and both ends on their sides of the oracle's value."""
    found = Plan.from_dict(plan(1000)).delta(epsilon, proof=True)
    (line,) = lines
    assert line._apart is not None
    assert len(line._terms) < 3000
    assert found.log_delta.upper - found.log_delta.lower < 1e-6
    truth, slack = to_fraction(oracle.delta(plan(1000), epsilon, digits=18)), Fraction(1, 10**16)
    assert Fraction(found.lower) * (1 - slack) <= truth <= Fraction(found.upper) * (1 + slack)


@pytest.mark.share(3)
@pytest.mark.slow
@pytest.mark.parametrize(("count", "delta"), [(2, 1e-10), (3, 1e-10), (5, 1e-10)])
def test_few_rounds_at_a_small_rate(count: int, delta: float, lines: list[BallContour]) -> None:
    """epsilon, at each end held against the oracle's delta."""
    found = Plan.from_dict(plan(count, 1e-4)).epsilon(delta, proof=True)
    assert found.relative_gap <= 1e-6
    assert all(line._apart is not None for line in lines)
    target = Fraction(Decimal(repr(delta)))
    for end, sign in ((found.lower, 1), (found.upper, -1)):
        assert sign * (to_fraction(oracle.delta(plan(count, 1e-4), Fraction(end), digits=16)) - target) >= 0


@pytest.mark.slow
def test_what_the_core_adds_is_charged(monkeypatch: pytest.MonkeyPatch) -> None:
    """A core that reaches beyond eps is missing from the sum: the lower end holds, and the upper by its bound alone."""
    truth = to_fraction(oracle.delta(plan(1000), 2.0, digits=18))

    def greedy(rounds: ExactRounds, t: float, _epsilon: float, _wanted: float) -> Apart:
        ((item, count),) = rounds.sampled.items()
        core = Core(7.0, 0.25)  # losses up to 10
        return Apart(JumpBalls(MixtureBalls(item), count), Jumps(core, 0.7, 60.0, 2.0), t, 12.0)

    monkeypatch.setattr(Apart, "of", greedy)
    built: list[tuple[Ball, Ball, Ball]] = []
    delta = BallContour.delta

    def watched(self: BallContour, epsilon: Ball) -> Any:
        found = delta(self, epsilon)
        assert self._apart is not None
        built.append((found.lower, found.upper, self._apart.core(epsilon)))
        return found

    monkeypatch.setattr(BallContour, "delta", watched)
    found = Plan.from_dict(plan(1000)).delta(2.0, proof=True)
    lower, upper, core = built[0]
    assert Fraction(found.lower) <= truth <= Fraction(found.upper)
    assert float(upper - core) < float(truth) * 0.999  # without it the upper end would be wrong
    assert float(lower) < float(truth) * 0.999


def test_no_core_fades_over_more_than_the_outcomes(monkeypatch: pytest.MonkeyPatch) -> None:
    """With noise 110,000 the narrowest edge is 1,650 deviations wide: 600,000 panels a look, and 119 looks."""
    seen: list[Core] = []

    def looked(self: JumpBalls, core: Core, epsilon: float) -> tuple[float, float]:
        seen.append(core)
        return 1.0, -math.inf

    monkeypatch.setattr(JumpBalls, "_core_about", looked)
    mixture = MixtureBalls(SampledGaussian(Fraction(1, 110_000), Fraction(231, 1_000_000), Direction.REMOVE))
    assert JumpBalls(mixture, 16).proposal(1.0, 0.0, 1e-9, -30.0, 5.0) is None
    assert not seen
