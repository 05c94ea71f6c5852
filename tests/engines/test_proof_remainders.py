"""Every remainder of a proof on both sides: it covers the error, and the error is there to be covered.

Truth is mpmath's adaptive quadrature of the defining integrals, or the oracle.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import mpmath
import pytest
from flint import acb, arb

import oracle
from hockeystick import Direction, Plan, dp_sgd
from hockeystick.engines.guide import Guide
from hockeystick.engines.proof import contour as contour_module
from hockeystick.engines.proof.atoms import AtomSum
from hockeystick.engines.proof.contour import BallContour, chernoff, moments
from hockeystick.engines.proof.decay import Cut, Decay
from hockeystick.engines.proof.enclosure import Enclosure, epsilon_around, epsilon_bisected
from hockeystick.engines.proof.mixture import MixtureBalls
from hockeystick.engines.proof.rounds import ExactRounds, SampledGaussian
from hockeystick.numerics.balls import Ball, above, ball, below, phase_sums, powers, precision
from hockeystick.pairs import Composition
from oracle.real import to_fraction

DIRECTIONS = [direction for direction in Direction if not direction.zeroes]
MU, RATE = Fraction(5, 4), Fraction(1, 20)
TILT = 2.5
Number = Any


def exponent(direction: Direction, mu: Fraction, rate: Fraction) -> Callable[[Number, Number], tuple[Number, Number]]:
    """``(exponent at z, loss)`` as functions of x and z, in mpmath."""
    with mpmath.workdps(30):
        m, q = mpmath.mpf(mu.numerator) / mu.denominator, mpmath.mpf(rate.numerator) / rate.denominator

    def both(x: Number, z: Number) -> tuple[Number, Number]:
        u = mpmath.log(1 - q + q * mpmath.exp(m * x - m * m / 2))
        v = mpmath.log(1 - q + q * mpmath.exp(-m * x - m * m / 2))
        if direction is Direction.REMOVE:
            return (1 + z) * u, u
        return (-z * u, -u) if direction is Direction.ADD else ((1 + z) * u - z * v, u - v)

    return both


def true_moment(direction: Direction, z: Number, mu: Fraction = MU, rate: Fraction = RATE) -> Number:
    both = exponent(direction, mu, rate)
    with mpmath.workdps(25):
        knots = [-14, -6, -3, -1, 0, 1, 2, 3, 4, 5, 6, 8, 10, 14, 20]
        return mpmath.quad(lambda x: mpmath.npdf(x) * mpmath.exp(both(x, z)[0]), knots)


def holds(value: Ball, truth: Number) -> bool:
    """Whether a complex ball holds a number known to 20 digits."""
    slack = acb(arb(0, 1e-18), arb(0, 1e-18))
    return bool((value + slack).contains(as_ball(truth)))


def as_ball(number: Number) -> Any:
    """A complex ball around the first 25 digits."""
    return acb(mpmath.nstr(number.real, 25), mpmath.nstr(number.imag, 25))


@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("log_tolerance", [-1.0, -8.0, -40.0])
@pytest.mark.share(2)
def test_the_transform_with_its_quadrature_remainders(direction: Direction, log_tolerance: float) -> None:
    """Step and range cover the error of coarse rules, which is far above the rounding, and of fine ones."""
    with precision(120):
        mixture = MixtureBalls(SampledGaussian(MU, RATE, direction))
        found = mixture.values(TILT, 0.75, 5, log_tolerance)
        for j in (0, 1, 4):
            assert holds(found[j], true_moment(direction, mpmath.mpc(TILT, 0.75 * j)))
            assert float(found[j].real.rad()) < 30 * math.exp(log_tolerance) * float(found[0].real.mid())


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_a_coarse_rule_needs_its_remainder(direction: Direction) -> None:
    """Without it the sum is wrong by much more than its rounding: by over 1/10000 of the bound, and less than it."""
    with precision(120):
        mixture = MixtureBalls(SampledGaussian(MU, RATE, direction))
        grid = mixture.grid(TILT, 20.0, -1.0)
        weights, losses = mixture._nodes(TILT, grid)
        value = phase_sums(weights, [20 * loss for loss in losses], 2)[1]
        truth = true_moment(direction, mpmath.mpc(TILT, 20.0))
        error = float(abs(value - as_ball(truth)).upper())
        c0, c1 = mixture.step_remainder(TILT, grid)
        high = arb(grid.low) + arb(grid.dx) * (grid.count - 1)
        outside = mixture.range_remainder(TILT, arb(grid.low), high)
        size = true_moment(direction, mpmath.mpf(TILT))
        bound = float(c0 * (c1 * 20).exp()) * float(size) + float(outside)
        assert 1e-4 * bound < error < bound


@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize(("low", "high"), [(-1.0, 5.0), (-2.5, 6.5), (-6.0, 9.0)])
def test_the_range_remainder(direction: Direction, low: float, high: float) -> None:
    """It covers what lies outside, and is not beyond it by more than the factor its inequalities cost."""
    both = exponent(direction, MU, RATE)
    mixture = MixtureBalls(SampledGaussian(MU, RATE, direction))
    with mpmath.workdps(25):

        def weight(x: Number) -> Number:
            return mpmath.npdf(x) * mpmath.exp(both(x, TILT)[0])

        truth = mpmath.quad(weight, [-25, -10, low]) + mpmath.quad(weight, [high, 12, 30])
    bound = float(mixture.range_remainder(TILT, arb(low), arb(high)))
    assert float(truth) < bound < 400 * float(truth)
    if mixture.rises:
        assert math.isinf(float(mixture.range_remainder(TILT, arb(low), arb(4.0))))  # below (1 + t) mu: no bound


def line(
    plan: Plan, direction: Direction, epsilon: float, target: float, **changes: float
) -> tuple[BallContour, ExactRounds]:
    composition = Composition(plan.pairs(direction))
    guide = Guide(composition, math.log(target) - 50.0)
    rounds = ExactRounds.of(plan.directions.exact(direction), direction)
    return BallContour(
        rounds, guide, guide.saddle(epsilon), epsilon, math.log(target), changes.get("tolerance", 1e-8)
    ), rounds


RECORD = {
    "adjacency": "remove",
    "round": [
        {"mechanism": "gaussian", "noise_multiplier": 1.0, "sampling": "poisson", "sample_rate": 0.01, "count": 2000}
    ],
}
EPSILON = 3.0


@pytest.fixture(scope="module")
def truth() -> Fraction:
    """delta at epsilon 3 of 2,000 sampled rounds."""
    return to_fraction(oracle.delta(RECORD, EPSILON, digits=25))


@pytest.mark.parametrize("tolerance", [3.0, 0.1, 1e-3, 1e-12])
def test_aliases_and_cut_cover_the_error_of_the_sum(truth: Fraction, tolerance: float) -> None:
    """Both ends hold on coarse lines and on fine ones."""
    contour, _ = line(Plan.from_dict(RECORD), Direction.REMOVE, EPSILON, float(truth), tolerance=tolerance)
    with precision(contour.bits):
        found, exact = contour.delta(arb(EPSILON)), ball(truth)
        assert found.lower <= exact
        assert exact <= found.upper * (1 + arb(10) ** -20)
        total = contour._sum(arb(EPSILON))
        rest = contour._rest * contour._size * (-arb(contour.t) * EPSILON).exp()
        alias = contour._aliases(arb(EPSILON))
        error = total - exact
        assert -rest <= error
        assert error <= alias + rest
        assert float((found.upper - found.lower) / exact) < 3 * tolerance


def test_without_the_aliases_the_lower_end_would_be_wrong(truth: Fraction, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where next to nothing is cut off, the error of a coarse line is that of the aliases, and positive."""
    plan = Plan.from_dict(RECORD)

    class Late:
        def __init__(self, rounds: ExactRounds, t: float, _: float, variance: float) -> None:
            self._decay = Decay(rounds, t, -60.0, variance)

        def cut(self, step: float, most: int) -> Cut:
            return self._decay.cut(step, most)

    monkeypatch.setattr(contour_module, "Decay", Late)
    contour, _ = line(plan, Direction.REMOVE, EPSILON, float(truth), tolerance=0.1)
    with precision(contour.bits):
        exact = ball(truth)
        rest = contour._rest * contour._size * (-arb(contour.t) * EPSILON).exp()
        error = contour._sum(arb(EPSILON)) - exact
        assert rest < error
        assert error < contour._aliases(arb(EPSILON))
        assert contour.delta(arb(EPSILON)).lower < exact


def test_what_the_cut_leaves_out(truth: Fraction, monkeypatch: pytest.MonkeyPatch) -> None:
    """A line that is cut early differs from the full one by less than the bound, and by more than rounding."""
    plan = Plan.from_dict(RECORD)
    full, rounds = line(plan, Direction.REMOVE, EPSILON, float(truth))
    guide = Guide(Composition(plan.pairs(Direction.REMOVE)), -60.0)
    variance = guide.cumulants(full.t).k2
    cuts: list[Cut] = []

    class Early:
        def __init__(self, *_: object) -> None:
            pass

        def cut(self, step: float, most: int) -> Cut:
            cuts.append(Decay(rounds, full.t, -3.0, variance).cut(step, most))
            return cuts[0]

    monkeypatch.setattr(contour_module, "Decay", Early)
    short, _ = line(plan, Direction.REMOVE, EPSILON, float(truth))
    assert short.step == full.step
    assert len(short._terms) < len(full._terms)
    with precision(short.bits):
        missing = abs(full._sum(arb(EPSILON)) - short._sum(arb(EPSILON)))
        bound = cuts[0].rest * short._size * (-arb(short.t) * EPSILON).exp()
        assert missing > 1e-9 * ball(truth)
        assert missing < bound


def test_chernoff_bounds_delta(truth: Fraction) -> None:
    """Above the truth, by less than a factor of 20 at the saddle point."""
    contour, rounds = line(Plan.from_dict(RECORD), Direction.REMOVE, EPSILON, float(truth))
    bound = (chernoff(rounds, contour.t) - arb(contour.t) * EPSILON).exp()
    assert ball(truth) < bound
    assert bound < 100 * ball(truth)


def test_moments_of_unsampled_laplace_rounds() -> None:
    """The closed form against the integral."""
    plan = Plan.from_dict({"round": [{"mechanism": "laplace", "scale": 2.0}]})
    (found,) = moments(ExactRounds.of(plan.directions.exact(Direction.ADD), Direction.ADD), 1.5, 1.0, 1, -20.0)
    with mpmath.workdps(20):

        def weight(x: Number) -> Number:
            return mpmath.exp(-abs(x - 0.5)) / 2 * mpmath.exp(1.5 * (abs(x) - abs(x - 0.5)))

        value = mpmath.quad(weight, [-40, -5, 0, 0.25, 0.5, 5, 40])
    assert float(found.real) == pytest.approx(float(value), rel=1e-14)


@pytest.mark.parametrize("log_floor", [-2.0, -5.0, -40.0])
def test_terms_left_out_widen_the_interval_and_no_more(log_floor: float) -> None:
    """The mass left out pays for them."""
    entry = {"mechanism": "approximate-dp", "epsilon": 0.3, "delta": 1e-3, "count": 50}
    plan = {"adjacency": "add", "round": [{**entry, "sampling": "poisson", "sample_rate": 0.5}]}
    rounds = ExactRounds.of(Plan.from_dict(plan).directions.exact(Direction.ADD), Direction.ADD)
    with precision(150):
        found = AtomSum(rounds, log_floor).delta(ball(Fraction(1, 5)))
        truth = ball(to_fraction(oracle.delta(plan, Fraction(1, 5), digits=30)))
        assert found.lower <= truth * (1 + arb(10) ** -25)
        assert truth * (1 - arb(10) ** -25) <= found.upper
        width = float(found.upper - found.lower)
    assert width < 2e3 * math.exp(log_floor)
    assert width > (1e-5 if log_floor > -10 else 0)


def test_ends_of_epsilon_are_checked_not_believed() -> None:
    """A wrong guess and a wrong slope cost width, never truth; a hopeless evaluator gives open ends."""

    class Exponential:
        def delta(self, epsilon: Ball) -> Enclosure:
            value = (-epsilon).exp()
            return Enclosure((value * (1 - arb(1e-9))).lower(), (value * (1 + arb(1e-9))).upper())

    class Hopeless:
        def delta(self, epsilon: Ball) -> Enclosure:
            return Enclosure(arb(0), arb(1))

    target = Enclosure(arb(0.01), arb(0.01))
    for root, slope in ((4.6, 1.0), (3.0, 7.0), (9.0, 0.1), (4.605, 100.0)):
        lower, upper = epsilon_around(Exponential(), target, root, slope)
        assert lower < math.log(100) < upper
    assert epsilon_around(Hopeless(), target, 1.0, 1.0) == (0.0, math.inf)
    lower, upper = epsilon_bisected(Exponential(), target)
    assert lower < math.log(100) < upper < lower + 1e-8


def test_doubles_on_either_side_of_a_ball() -> None:
    """Outward, also beyond the range of a double; a ball that is not a number has no ends."""
    with precision(100):
        third = ball(Fraction(1, 3))
        assert Fraction(below(third)) < Fraction(1, 3) < Fraction(above(third))
        assert math.nextafter(below(third), 1.0) == above(third)
    assert (below(arb(0.5)), above(arb(0.5))) == (0.5, 0.5)
    tiny, huge = arb(-2000).exp(), arb(2000).exp()
    assert (below(tiny), above(tiny)) == (0.0, 5e-324)
    assert above(huge) == math.inf
    assert math.copysign(1.0, below(arb(0))) == 1.0
    with pytest.raises(ArithmeticError):
        above(arb.nan())


def test_powers_do_not_blow_up() -> None:
    """A thousand turns cost about ten bits, and not half a bit each."""
    with precision(80):
        turns = powers(acb(0, arb("0.7")).exp(), 1001)
        assert len(turns) == 1001
        assert float(turns[1000].real.rad()) < 2.0**-60
        assert turns[1000].overlaps(acb(0, arb("700")).exp())


def test_dp_sgd_rates_given_as_a_quotient_stay_exact() -> None:
    """``batch_size / dataset_size`` is never rounded."""
    plan = dp_sgd(1.1, batch_size=1, dataset_size=3, steps=7, adjacency="remove")
    (item,) = ExactRounds.of(plan.directions.exact(Direction.REMOVE), Direction.REMOVE).sampled
    assert (item.rate, item.mu) == (Fraction(1, 3), Fraction(10, 11))
