"""Every remainder of a proof on both sides: it covers the error, and the error is there to be covered.

Truth is mpmath's adaptive quadrature of the defining integrals, or the oracle.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import mpmath
import pytest
from flint import acb, arb

import oracle
from hockeystick import Direction, Gaussian, Plan, Poisson, RandomizedResponse, Round, UnsupportedError, dp_sgd
from hockeystick.engines.contour.path import Aim
from hockeystick.engines.guide import Guide
from hockeystick.engines.proof import contour as contour_module
from hockeystick.engines.proof.boxes import Boxes
from hockeystick.engines.proof.contour import Contour, chernoff
from hockeystick.engines.proof.lines import AtomLine, GaussianLine, LaplaceLine, Line, Nodes, SampledLine, lines
from hockeystick.engines.proof.rounds import ExactRounds, SampledGaussian
from hockeystick.engines.proof.search import Enclosure, epsilon_between
from hockeystick.numerics.balls import Ball, above, ball, below, phase_sums, powers, precision
from oracle.real import to_fraction

DIRECTIONS = [direction for direction in Direction if not direction.zeroes]
MU, RATE = Fraction(5, 4), Fraction(1, 20)
TILT = 2.5
Number = Any


def exponent(direction: Direction, mu: Fraction, rate: Fraction) -> Callable[[Number, Number], Number]:
    """The exponent at x and z, in mpmath."""
    with mpmath.workdps(30):
        m, q = mpmath.mpf(mu.numerator) / mu.denominator, mpmath.mpf(rate.numerator) / rate.denominator

    def of(x: Number, z: Number) -> Number:
        u = mpmath.log(1 - q + q * mpmath.exp(m * x - m * m / 2))
        v = mpmath.log(1 - q + q * mpmath.exp(-m * x - m * m / 2))
        if direction is Direction.REMOVE:
            return (1 + z) * u
        return -z * u if direction is Direction.ADD else (1 + z) * u - z * v

    return of


def true_moment(direction: Direction, z: Number, mu: Fraction = MU, rate: Fraction = RATE) -> Number:
    of = exponent(direction, mu, rate)
    with mpmath.workdps(25):
        knots = [-14, -6, -3, -1, 0, 1, 2, 3, 4, 5, 6, 8, 10, 14, 20]
        return mpmath.quad(lambda x: mpmath.npdf(x) * mpmath.exp(of(x, z)), knots)


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
        line = SampledLine(SampledGaussian(MU, RATE, direction), TILT, log_tolerance)
        found = line.values(0.75, 5)
        assert found[0].real.overlaps(line.moment)
        for j in (0, 1, 4):
            assert holds(found[j], true_moment(direction, mpmath.mpc(TILT, 0.75 * j)))
            assert float(found[j].real.rad()) < 60 * math.exp(log_tolerance) * float(found[0].real.mid())


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_a_coarse_rule_needs_its_remainder(direction: Direction) -> None:
    """Without it the sum is wrong by much more than its rounding: by over 1/10000 of the bound, and less than it."""
    with precision(120):
        line = SampledLine(SampledGaussian(MU, RATE, direction), TILT, 0.0)
        sums = phase_sums(line._weights, line._losses, 4)
        truths = [true_moment(direction, mpmath.mpc(TILT, s)) for s in range(4)]
        errors = [float(abs(value - as_ball(truth)).upper()) for value, truth in zip(sums, truths, strict=True)]
        bound = float(line._error.rad())
        assert 1e-4 * bound < max(errors) < bound


@pytest.mark.share(2)
@pytest.mark.parametrize(("direction", "low", "high"), [
    (Direction.REMOVE, -12.0, 3.5), (Direction.REMOVE, -1.0, 14.0), (Direction.ADD, -12.0, 1.0),
    (Direction.ADD, -1.5, 14.0), (Direction.REPLACE_ONE, -12.0, 3.5), (Direction.REPLACE_ONE, -1.5, 14.0),
])  # fmt: skip
def test_what_the_range_leaves_out_is_in_the_balls(
    direction: Direction, low: float, high: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Fine nodes between ends that are near, of a transform whose step leaves out next to nothing."""
    nodes = Nodes(low, 1 / 8, int(8 * (high - low)) + 1, 0.4, 0.5)
    monkeypatch.setattr(SampledLine, "_chosen", lambda *_: nodes)
    mu, rate = Fraction(1), Fraction(3, 10)
    with precision(100):
        found = SampledLine(SampledGaussian(mu, rate, direction), 2.0, -30.0).values(0.5, 2)
        for j, value in enumerate(found):
            assert holds(value, true_moment(direction, mpmath.mpc(2, j / mpmath.mpf(2)), mu, rate))
            assert float(value.real.rad()) < 0.5 * float(true_moment(direction, mpmath.mpf(2), mu, rate))


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_what_the_step_errs_by_is_in_the_balls(direction: Direction, monkeypatch: pytest.MonkeyPatch) -> None:
    """Few nodes over a long range."""
    lift = 1.5 if direction is Direction.REMOVE else 0.75
    monkeypatch.setattr(SampledLine, "_chosen", lambda *_: Nodes(-14.0, 1.25, 27, lift, 0.5))
    mu, rate = Fraction(1), Fraction(3, 10)
    with precision(100):
        found = SampledLine(SampledGaussian(mu, rate, direction), 2.0, -30.0).values(2.0, 2)
        for j, value in enumerate(found):
            assert holds(value, true_moment(direction, mpmath.mpc(2, 2 * j), mu, rate))


@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("rate", [RATE, Fraction(3, 4)])
def test_the_strip_holds_the_integrand(direction: Direction, rate: Fraction) -> None:
    """Up to its far side, at twice the height of the line, where the integrand's modulus is largest."""
    line = SampledLine(SampledGaussian(MU, rate, direction), TILT, -8.0)
    lift, dx = line._nodes.lift, line._nodes.dx
    bound = float(line._step()) * math.expm1(2 * math.pi * lift / dx) / 2
    of, sign = exponent(direction, MU, rate), -1 if direction is Direction.ADD else 1
    with mpmath.workdps(20):

        def modulus(x: Number) -> Number:
            at = mpmath.mpc(x, 2 * sign * lift)
            return abs(mpmath.npdf(at) * mpmath.exp(of(at, TILT)))

        size = mpmath.quad(modulus, [-14, -6, -3, -1, 0, 1, 2, 3, 4, 5, 6, 8, 10, 14, 20])
        size /= true_moment(direction, mpmath.mpf(TILT), MU, rate)
    assert float(size) <= bound * (1 + 1e-9)
    assert bound < 10 * float(size)


@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize(("low", "high"), [(-1.0, 5.0), (-2.5, 6.5), (-6.0, 9.0)])
def test_what_the_range_leaves_out(direction: Direction, low: float, high: float) -> None:
    """The bound covers it, and is not beyond it by more than the factor its inequalities cost."""
    of = exponent(direction, MU, RATE)
    line = SampledLine(SampledGaussian(MU, RATE, direction), TILT, -8.0)
    line._nodes = line._nodes._replace(low=low, dx=(high - low) / 100, number=101, lift=0.0, share=0.5)
    with mpmath.workdps(25):

        def weight(x: Number) -> Number:
            return mpmath.npdf(x) * mpmath.exp(of(x, TILT))

        truth = mpmath.quad(weight, [-25, -10, low]) + mpmath.quad(weight, [high, 12, 30])
    bound = float(line._outside())
    assert float(truth) < bound < 400 * float(truth)


def test_the_range_of_a_replaced_record_is_divided_by_its_ratio() -> None:
    """At a large rate the power of g(-x), which is negative, makes most of what lies far out."""
    rate = Fraction(9, 10)
    of = exponent(Direction.REPLACE_ONE, MU, rate)
    line = SampledLine(SampledGaussian(MU, rate, Direction.REPLACE_ONE), TILT, -8.0)
    line._nodes = line._nodes._replace(low=-9.0, dx=0.15, number=101, lift=0.0, share=0.5)
    with mpmath.workdps(25):
        truth = mpmath.quad(lambda x: mpmath.npdf(x) * mpmath.exp(of(x, TILT)), [6.0, 8, 12, 30])
    assert float(truth) < float(line._outside()) < 100 * float(truth)


def test_a_light_hump_may_lie_beyond_the_nodes() -> None:
    """A rare sample, far out: all that it adds to m(t) is in the remainder."""
    mu, rate, t = Fraction(3), Fraction(1, 10**9), 1.5
    with precision(120):
        line = SampledLine(SampledGaussian(mu, rate, Direction.REMOVE), t, -8.0)
        nodes = line._nodes
        assert nodes.low + nodes.dx * nodes.number < (1 + t) * float(mu)
        of = exponent(Direction.REMOVE, mu, rate)
        with mpmath.workdps(25):
            last = nodes.low + nodes.dx * (nodes.number - 1)
            beyond = mpmath.quad(lambda x: mpmath.npdf(x) * mpmath.exp(of(x, t)), [last, 5, 7, 9, 12, 20])
        assert float(beyond) < float(line._outside())


@pytest.mark.parametrize("turned", [0.6, 1.1])
def test_no_bound_is_claimed_where_the_line_turns_too_far(turned: float) -> None:
    """Beyond a right angle g has zeros in the strip, or a real part below 1 - q on the line."""
    line = SampledLine(SampledGaussian(MU, RATE, Direction.ADD), TILT, -8.0)
    line._nodes = line._nodes._replace(lift=turned * math.pi / float(MU))
    assert math.isinf(float(line._step()))
    assert math.isinf(float(line._outside()))


def decays(line: Line, truth: Callable[[float], Number], heights: list[float], most: float) -> None:
    """The bound from a height holds there and further up, and is no more than so many times the truth in the log."""
    size = float(abs(truth(0.0)))
    for s in heights:
        bound = float(line.log_decay(s, 0.02))
        for further in (1.0, 1.3, 2.0, 3.7):
            assert math.log(float(abs(truth(further * s))) / size) <= bound
        assert math.log(float(abs(truth(s))) / size) >= most * bound


@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize(("mu", "t"), [(Fraction(1, 2), 4.0), (Fraction(5, 4), 2.5), (Fraction(2), 0.5)])
@pytest.mark.share(2)
def test_boxes_bound_sampled_gaussians(direction: Direction, mu: Fraction, t: float) -> None:
    with precision(100):
        line = SampledLine(SampledGaussian(mu, RATE, direction), t, -20.0)
        decays(line, lambda s: true_moment(direction, mpmath.mpc(t, s), mu), [0.5, 2.0, 5.0], 8.0)


def test_boxes_bound_laplace_noise() -> None:
    """Its two atoms do not fall off; the smooth part between them does."""
    with precision(100):
        line = LaplaceLine(Fraction(3), 1.5)
        decays(line, lambda s: mpmath.mpmathify(complex(line._at(acb(1.5, s)))), [0.5, 2.0, 9.0], 30.0)


def test_boxes_are_no_more_than_a_density() -> None:
    """A valley is filled from below only, and the second lobe of a box is counted."""
    heights, lengths = [arb(0.1), arb(0.4), arb(0.2), arb(0.3)], [arb(1)] * 4
    boxes = Boxes(heights, lengths)
    assert sum(float(area) for area, _ in boxes._boxes) == pytest.approx(0.1 + 0.4 + 0.2 + 0.2)
    alone = Boxes([arb(1)], [arb(1)])
    for s in (0.5, 3.0, 6.5, 9.0, 15.4):
        truth = max(abs(math.sin(u) / u) for u in (0.5 * s * (1 + 0.01 * n) for n in range(600)))
        assert math.log(truth) <= float(alone.log_decay(s)) <= min(math.log(truth) + 0.9, 0.0)


def test_closed_moments_are_their_integrals() -> None:
    """Laplace noise and unsampled Gaussians, at a complex order."""
    z = mpmath.mpc(1.5, 0.75)
    with mpmath.workdps(20):

        def of_laplace(x: Number) -> Number:
            return mpmath.exp(-abs(x - 0.5)) / 2 * mpmath.exp(z * (abs(x) - abs(x - 0.5)))

        value = mpmath.quad(of_laplace, [-40, -5, 0, 0.25, 0.5, 5, 40])
        assert complex(LaplaceLine(Fraction(1, 2), 1.5).values(0.75, 2)[1]) == pytest.approx(complex(value), rel=1e-13)
        value = mpmath.exp(z * (1 + z) / 8)
        assert complex(GaussianLine(Fraction(1, 4), 1.5).values(0.75, 2)[1]) == pytest.approx(complex(value), rel=1e-13)


RECORD = {
    "adjacency": "remove",
    "round": [
        {"mechanism": "gaussian", "noise_multiplier": 1.0, "sampling": "poisson", "sample_rate": 0.01, "count": 2000}
    ],
}
EPSILON = 3.0


def laid(tolerance: float, log_delta: float) -> tuple[Contour, ExactRounds]:
    rounds = ExactRounds.of(Plan.from_dict(RECORD).directions.exact(Direction.REMOVE), Direction.REMOVE)
    guide = Guide(rounds.composition, -2000.0)
    return Contour(rounds, Aim(guide, guide.saddle(EPSILON), None, EPSILON, log_delta), tolerance), rounds


@pytest.fixture(scope="module")
def truth() -> Fraction:
    """delta at epsilon 3 of 2,000 sampled rounds."""
    return to_fraction(oracle.delta(RECORD, EPSILON, digits=25))


def parts(contour: Contour) -> tuple[Ball, Ball]:
    """The sum at epsilon, and what is charged for the cut."""
    found = contour.delta(arb(EPSILON))
    rest = contour._rest * contour._size * (-arb(contour._t) * EPSILON).exp()
    return found.upper - rest, rest


@pytest.mark.parametrize("tolerance", [3.0, 0.1, 1e-3, 1e-12])
def test_aliases_and_cut_cover_the_error_of_the_sum(truth: Fraction, tolerance: float) -> None:
    """Both ends hold on coarse lines and on fine ones."""
    contour, _ = laid(tolerance, math.log(float(truth)))
    with precision(contour._bits):
        found, exact = contour.delta(arb(EPSILON)), ball(truth)
        assert found.lower <= exact
        assert exact <= found.upper * (1 + arb(10) ** -20)
        assert float((found.upper - found.lower) / exact) < 3 * tolerance


def test_without_the_aliases_the_lower_end_would_be_wrong(truth: Fraction, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where next to nothing is cut off, the error of a coarse line is that of the aliases, and positive."""
    cut = Contour._cut
    monkeypatch.setattr(Contour, "_cut", lambda self, along, depth, variance: cut(self, along, -60.0, variance))
    contour, _ = laid(0.1, math.log(float(truth)))
    with precision(contour._bits):
        total, rest = parts(contour)
        error = total - ball(truth)
        assert rest < error
        assert error < contour._aliases(arb(EPSILON))
        assert contour.delta(arb(EPSILON)).lower < ball(truth)


def test_what_the_cut_leaves_out(truth: Fraction, monkeypatch: pytest.MonkeyPatch) -> None:
    """A line that is cut early differs from the full one by less than the bound, and by more than rounding."""
    full, _ = laid(1e-8, math.log(float(truth)))
    cut = Contour._cut
    monkeypatch.setattr(Contour, "_cut", lambda self, along, depth, variance: cut(self, along, -3.0, variance))
    monkeypatch.setattr(contour_module, "START", 0.3)
    short, _ = laid(1e-8, math.log(float(truth)))
    assert short._step == full._step
    assert len(short._terms) < len(full._terms)
    with precision(short._bits):
        (total, rest), (whole, _) = parts(short), parts(full)
        assert 1e-9 * ball(truth) < abs(whole - total)
        assert abs(whole - total) < rest


def test_chernoff_bounds_delta(truth: Fraction) -> None:
    """Above the truth, by less than a factor of 100 at the saddle point."""
    contour, rounds = laid(1e-8, math.log(float(truth)))
    bound = (chernoff(rounds, contour._t) - arb(contour._t) * EPSILON).exp()
    assert ball(truth) < bound
    assert bound < 100 * ball(truth)


def test_rounds_in_doubles_know_about_where_to_look() -> None:
    """Their moments are those of the balls, for each kind of round."""
    plan = {
        "adjacency": "remove",
        "round": [
            *RECORD["round"],
            {"mechanism": "laplace", "scale": 3.0, "count": 2},
            {"mechanism": "randomized-response", "epsilon": 0.4, "count": 3},
            {"mechanism": "gaussian", "noise_multiplier": 9.0},
        ],
    }
    rounds = ExactRounds.of(Plan.from_dict(plan).directions.exact(Direction.REMOVE), Direction.REMOVE)
    guide = Guide(rounds.composition, -2000.0)
    tilt = guide.saddle(4.0)
    along = lines(rounds, tilt, -20.0)
    assert [type(line) for line, _ in along] == [SampledLine, LaplaceLine, AtomLine, GaussianLine]
    assert float(sum(count * line.moment.log() for line, count in along)) == pytest.approx(
        guide.cumulants(tilt).k0, rel=0.02
    )


def test_ends_of_epsilon_are_checked_not_believed() -> None:
    """A wrong guess and a wrong slope cost width, never truth; a hopeless evaluator gives open ends."""

    class Exponential:
        name = "e"

        def delta(self, epsilon: Ball) -> Enclosure:
            value = (-epsilon).exp()
            return Enclosure((value * (1 - arb(1e-9))).lower(), (value * (1 + arb(1e-9))).upper())

    class Hopeless:
        name = "h"

        def delta(self, epsilon: Ball) -> Enclosure:
            return Enclosure(arb(0), arb(1))

    class Floor:
        name = "f"

        def delta(self, epsilon: Ball) -> Enclosure:
            return Enclosure((-epsilon).exp().lower(), ((-epsilon).exp() + arb("1e-3")).upper())

    class Unknown:
        name = "u"

        def delta(self, epsilon: Ball) -> Enclosure:
            return Enclosure(arb(0), arb("nan"))

    target = Enclosure(arb(0.01), arb(0.01))
    for guess, slope in ((4.6, 1.0), (3.0, 7.0), (9.0, 0.1), (4.605, 100.0), (0.0, 1.0)):
        lower, upper = epsilon_between(Exponential(), target, guess, slope, 1e-9)
        assert lower < math.log(100) < upper < lower + 1e-8
    for evaluator in (Hopeless(), Unknown()):
        lower, upper = epsilon_between(evaluator, target, 1.0, 1.0, 1e-6)
        assert lower == 0.0
        assert upper == math.inf
    lower, upper = epsilon_between(Floor(), Enclosure(arb("1e-4"), arb("1e-4")), 1.0, 1.0, 1e-6)
    assert lower < 9.2103404
    assert upper == math.inf


def test_a_tilt_next_to_the_largest_loss_is_refused_and_not_a_crash() -> None:
    """There the share that boxes may leave uncovered underflowed to 0."""
    sampled = Round(Gaussian(20.0), Poisson(1e-3), count=3)
    plan = Plan([sampled, Round(RandomizedResponse(1e-2))], "add")
    with pytest.raises(UnsupportedError, match="too few rounds for a proof"):
        plan.delta(0.01287, proof=True)


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


def test_unsampled_gaussians_are_one() -> None:
    """As mu^2 adds up; the counts of other rounds of one law add up, too."""
    item = SampledGaussian(MU, RATE, Direction.ADD)
    assert ExactRounds(Fraction(1), Counter({item: 3})).number == 4


def test_a_bend_is_paid_for_between_nodes() -> None:
    """Few pieces: half way between its ends the density of the tilted loss may be below both."""
    item = SampledGaussian(Fraction(3), Fraction(1, 10), Direction.REMOVE)
    with precision(100):
        line = SampledLine(item, 3.0, -20.0)
        boxes = line._below(2.0)
        assert sum(float(area) for area, _ in boxes._boxes) < 0.5


def test_the_cut_is_charged_on_both_sides(truth: Fraction, monkeypatch: pytest.MonkeyPatch) -> None:
    cut = Contour._cut
    monkeypatch.setattr(Contour, "_cut", lambda self, along, depth, variance: cut(self, along, -3.0, variance))
    contour, _ = laid(1e-8, math.log(float(truth)))
    with precision(contour._bits):
        found = contour.delta(arb(EPSILON))
        rest = contour._rest * contour._size * (-arb(contour._t) * EPSILON).exp()
        assert found.upper - found.lower >= 2 * rest


def test_each_alias_is_charged(truth: Fraction) -> None:
    """The left one as delta may be 1 there, the right one by its Chernoff bound."""
    contour, _ = laid(0.1, math.log(float(truth)))
    with precision(contour._bits):
        period = 2 * arb.pi() / arb(contour._step)
        left = 1 / (arb(contour._t) * period).expm1()
        apart = (arb(contour._right) - arb(contour._t)) * period
        right = (contour._log_right - arb(contour._right) * EPSILON).exp() / apart.expm1()
        charged = contour._aliases(arb(EPSILON))
        assert left + right * (1 - arb("1e-6")) <= charged
        assert charged <= left + right * (1 + arb("2e-3"))
        contour._log_right = arb(-1000)
        assert left <= contour._aliases(arb(EPSILON)) < 1.001 * left
