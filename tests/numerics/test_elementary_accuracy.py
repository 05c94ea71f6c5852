"""The stated accuracy of the elementary functions, measured against ball arithmetic.

Every certified number is proved given that these functions err by at most ``ULPS`` units in the last place. That is the
one statement of the library that no proof covers, and it depends on the machine: NumPy picks its loops by what the
processor has.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import flint
import numpy as np
import numpy.typing as npt
import pytest
from scipy.special import log_ndtr, ndtr

from hockeystick.numerics.rounding import LOG_TINY, TINY, ULPS, UNIT_ROUNDOFF, exp_above, exp_below

Array = npt.NDArray[np.float64]
Ball = Any  # python-flint has no types

POINTS = 3000
BITS = 256  # of the balls
LEAST_NORMAL = 2.0**-1022
LOG_LARGEST = math.log(1.7976931348623157e308)


def ball_log_ndtr(x: Ball) -> Ball:
    tail = (abs(x) / flint.arb(2).sqrt()).erfc() / 2
    return tail.log() if x < 0 else (-tail).log1p()


def ball_expm1(x: Ball) -> Ball:
    return x.expm1()


def ball_log1p(x: Ball) -> Ball:
    return x.log1p()


def ball_exp(x: Ball) -> Ball:
    return x.exp()


def ball_log(x: Ball) -> Ball:
    return x.log()


def ball_sin(x: Ball) -> Ball:
    return x.sin()


def ball_cos(x: Ball) -> Ball:
    return x.cos()


def evenly(low: float, high: float) -> Callable[[np.random.Generator], Array]:
    return lambda random: random.uniform(low, high, POINTS)


def by_size(low: float, high: float, sign: int = 1, around: float = 0.0) -> Callable[[np.random.Generator], Array]:
    """Sizes spread evenly in their logarithm."""
    return lambda random: around + sign * np.exp(random.uniform(math.log(low), math.log(high), POINTS))


@dataclass(frozen=True)
class Range:
    """A function over a range of arguments."""

    name: str
    function: Callable[[Array], Array]
    ball: Callable[[Ball], Ball]
    arguments: Callable[[np.random.Generator], Array]
    worse: str | None = None  # why the statement does not hold there


RANGES = [
    Range("exp: moderate", np.exp, ball_exp, evenly(-40.0, 40.0)),
    Range("exp: as far as its value is normal", np.exp, ball_exp, evenly(-708.39, LOG_LARGEST)),
    Range("exp: subnormal values", np.exp, ball_exp, evenly(-745.0, -708.4)),
    Range("exp: tiny arguments", np.exp, ball_exp, by_size(1e-300, 1.0, -1)),
    Range("expm1: moderate, below 0", np.expm1, ball_expm1, evenly(-40.0, 0.0)),
    Range("expm1: moderate, above 0", np.expm1, ball_expm1, evenly(0.0, 40.0)),
    Range("expm1: large", np.expm1, ball_expm1, evenly(40.0, LOG_LARGEST)),
    Range("expm1: very negative", np.expm1, ball_expm1, evenly(-745.0, -40.0)),
    Range("expm1: tiny, below 0", np.expm1, ball_expm1, by_size(1e-300, 1.0, -1)),
    Range("expm1: tiny, above 0", np.expm1, ball_expm1, by_size(1e-300, 1.0)),
    Range("log: near 1, below", np.log, ball_log, by_size(1e-15, 0.5, -1, around=1.0)),
    Range("log: near 1, above", np.log, ball_log, by_size(1e-15, 1.0, around=1.0)),
    Range("log: everywhere", np.log, ball_log, by_size(1e-307, 1e307)),
    Range("log1p: tiny, below 0", np.log1p, ball_log1p, by_size(1e-300, 0.5, -1)),
    Range("log1p: tiny, above 0", np.log1p, ball_log1p, by_size(1e-300, 1.0)),
    Range("log1p: near -1", np.log1p, ball_log1p, by_size(1e-16, 0.5, around=-1.0)),
    Range("log1p: between -1 and 1", np.log1p, ball_log1p, evenly(-1.0, 1.0)),
    Range("log1p: large", np.log1p, ball_log1p, by_size(1.0, 1e300)),
    Range("sin: one turn", np.sin, ball_sin, evenly(-math.pi, math.pi)),
    Range("sin: many turns", np.sin, ball_sin, by_size(1.0, 1e8)),
    Range("sin: tiny", np.sin, ball_sin, by_size(1e-300, 1.0)),
    Range("cos: one turn", np.cos, ball_cos, evenly(-math.pi, math.pi)),
    Range("cos: many turns", np.cos, ball_cos, by_size(1.0, 1e8)),
    Range("log_ndtr: around 0", log_ndtr, ball_log_ndtr, evenly(-5.0, 5.0), "tens of ulps above 0"),
    Range("log_ndtr: lower tail", log_ndtr, ball_log_ndtr, evenly(-40.0, 0.0)),
    Range("log_ndtr: far lower tail", log_ndtr, ball_log_ndtr, by_size(40.0, 1e4, -1)),
    Range("log_ndtr: upper tail", log_ndtr, ball_log_ndtr, evenly(0.0, 37.0), "up to thousands of ulps"),
]


REMAINDER_ULPS = 10_000  # of log_ndtr in remainders, whose slack of 1e-11 is 45,000


def ball_of(x: float) -> Ball:
    """x itself: a double is an integer times a power of two."""
    numerator, denominator = x.as_integer_ratio()
    return flint.arb(flint.fmpq(numerator, denominator))


def unit_in_last_place(true: float) -> float:
    """The spacing of doubles around a number, from the power of two at or below it (the smaller one at a power)."""
    exponent = math.frexp(abs(true))[1] - 1
    return math.ldexp(1.0, max(exponent - 52, -1074))


def worst_error(case: Range, x: Array, values: Array) -> tuple[float, float]:
    """The largest error in units in the last place, and the argument where it occurs."""
    worst, where = 0.0, math.nan
    before, flint.ctx.prec = flint.ctx.prec, BITS
    try:
        for argument, value in zip(x.tolist(), values.tolist(), strict=True):
            true = case.ball(ball_of(argument))
            assert true.rel_accuracy_bits() > 100, "the ball itself is too wide to judge by"
            error = float(abs(true - ball_of(value)) / ball_of(unit_in_last_place(float(true))))
            if error > worst:
                worst, where = error, argument
    finally:
        flint.ctx.prec = before
    return worst, where


@pytest.mark.parametrize("case", [pytest.param(case, id=case.name) for case in RANGES])
def test_within_the_stated_accuracy(case: Range, request: pytest.FixtureRequest) -> None:
    """``ULPS`` in numerics/rounding.py bounds the error of each function over each range in use.

    The maximum is kept with the test's properties: ``pytest --junit-xml=FILE`` writes it out.
    """
    x = case.arguments(np.random.default_rng(20240923))
    worst, where = worst_error(case, x, case.function(x))
    request.node.user_properties.append(("largest_error_in_ulps", f"{worst:.3f} at {where!r}"))
    assert worst <= (REMAINDER_ULPS if case.worse else ULPS), f"{case.name}: {worst:.3f} ulps at {where!r}"


@pytest.mark.parametrize("function", [np.exp, np.expm1, np.log, np.log1p], ids=lambda function: function.__name__)
@pytest.mark.parametrize("length", [1, 3, 5, 17], ids="arrays of {}".format)
def test_short_and_strided_arrays_take_loops_as_accurate(function: Callable[[Array], Array], length: int) -> None:
    """The statement is about every call: NumPy has other loops for array ends, single numbers and strides."""
    case = next(case for case in RANGES if case.function is function)
    x = np.abs(np.random.default_rng(7).uniform(0.01, 30.0, 340))
    pieces = [function(x[i : i + length]) for i in range(0, len(x), length)]
    strided: Array = np.ascontiguousarray(np.repeat(x, length))[::length]
    for values in (np.concatenate(pieces), function(strided)):
        assert worst_error(case, x, values)[0] <= ULPS


MATH_RANGES: list[tuple[str, Callable[[float], float], Callable[[Ball], Ball], float, float]] = [
    ("exp", math.exp, ball_exp, -700.0, 700.0),
    ("expm1", math.expm1, ball_expm1, -700.0, 700.0),
    ("log", math.log, ball_log, 1e-3, 1e3),
    ("log1p", math.log1p, ball_log1p, -1.0 + 2.0**-50, 10.0),
    ("sin", math.sin, ball_sin, -1e4, 1e4),
    ("cos", math.cos, ball_cos, -1e4, 1e4),
    ("sinh", math.sinh, lambda x: x.sinh(), -700.0, 700.0),
    ("sinh near 0", math.sinh, lambda x: x.sinh(), -1.0, 1.0),
    ("cosh", math.cosh, lambda x: x.cosh(), -700.0, 700.0),
]


@pytest.mark.parametrize(
    ("name", "function", "ball", "low", "high"), MATH_RANGES, ids=[case[0] for case in MATH_RANGES]
)
def test_single_numbers_through_the_math_module(
    name: str, function: Callable[[float], float], ball: Callable[[Ball], Ball], low: float, high: float
) -> None:
    """The engines take single numbers through ``math``: it is held to the same accuracy."""

    def every(x: Array) -> Array:
        return np.array([function(value) for value in x.tolist()])

    case = Range(name, every, ball, evenly(low, high))
    x = case.arguments(np.random.default_rng(11))[:1000]
    assert worst_error(case, x, every(x))[0] <= ULPS


def largest(errors: list[Ball]) -> float:
    return max(float(error) for error in errors)


def test_logaddexp_errs_by_a_few_units_of_its_larger_argument() -> None:
    """The mixed loss far below 0 takes ``logaddexp`` to err by a few roundings of its arguments."""
    random = np.random.default_rng(3)
    a, b = random.uniform(-600.0, 600.0, POINTS), random.uniform(-600.0, 600.0, POINTS)
    b[::2] = a[::2] + random.uniform(-3.0, 3.0, len(a[::2]))
    errors = []
    for x, y, value in zip(a.tolist(), b.tolist(), np.logaddexp(a, b).tolist(), strict=True):
        true = (ball_of(x).exp() + ball_of(y).exp()).log()
        errors.append(abs(true - ball_of(value)) / ball_of(2 * UNIT_ROUNDOFF * max(abs(x), abs(y), 1.0)))
    assert largest(errors) <= ULPS


def test_the_normal_distribution_function_errs_as_it_is_charged() -> None:
    """By ``64 + 8 x^2`` roundings of itself at argument x; its logarithm, by as many of 1."""
    x = np.random.default_rng(6).uniform(-37.0, 8.0, POINTS)
    direct, logarithm = [], []
    with flint.ctx.workprec(BITS):
        for at, value, log_value in zip(x.tolist(), ndtr(x).tolist(), log_ndtr(x).tolist(), strict=True):
            true = (-ball_of(at) / flint.arb(2).sqrt()).erfc() / 2
            assumed = ball_of(UNIT_ROUNDOFF * (64 + 8 * at * at))
            direct.append(abs(true - ball_of(value)) / (assumed * true))
            logarithm.append(abs(true.log() - ball_of(log_value)) / assumed)
    assert largest(direct) <= 1
    assert largest(logarithm) <= 1


def test_polar_form_is_accurate() -> None:
    """``log |X|`` and the angle of X (numerics/fourier.py) rest on ``hypot`` and ``arctan2``: a few ulps."""
    random = np.random.default_rng(4)
    real, imaginary = random.normal(size=POINTS), random.normal(size=POINTS) * 10.0 ** random.uniform(-12, 0, POINTS)
    angle, size = np.arctan2(imaginary, real), np.hypot(real, imaginary)
    angles, sizes = [], []
    for x, y, a, r in zip(real.tolist(), imaginary.tolist(), angle.tolist(), size.tolist(), strict=True):
        true = flint.acb(ball_of(x), ball_of(y))
        angles.append(abs(true.arg() - ball_of(a)) / ball_of(unit_in_last_place(float(true.arg()))))
        sizes.append(abs(abs(true) - ball_of(r)) / ball_of(unit_in_last_place(float(abs(true)))))
    assert largest(angles) <= ULPS
    assert largest(sizes) <= ULPS


def test_points_on_the_unit_circle_are_accurate() -> None:
    """``exp(2 pi i turns)`` (numerics/fourier.py): a few u in the plane, the argument's rounding included."""
    turns = np.random.default_rng(5).uniform(0.0, 1.0, POINTS)
    points = np.exp(2j * math.pi * turns)
    errors = []
    for turn, point in zip(turns.tolist(), points.tolist(), strict=True):
        true = (2 * ball_of(turn)).sin_cos_pi()
        errors.append(abs(true[1] - ball_of(point.real)) + abs(true[0] - ball_of(point.imag)))
    assert largest(errors) <= 8 * math.pi * UNIT_ROUNDOFF


def test_the_unit_is_that_of_double_precision() -> None:
    """The unit round-off u = 2^-53 is half the distance from 1 to the next double."""
    assert np.finfo(np.float64).eps == 2 * UNIT_ROUNDOFF
    assert unit_in_last_place(1.0) == 2 * UNIT_ROUNDOFF
    assert unit_in_last_place(LEAST_NORMAL / 4) == 5e-324


def test_exponentials_rounded_outward_keep_their_side() -> None:
    """Also where they are rounded to the least double or to 0."""
    random = np.random.default_rng(5)
    arguments = [*random.uniform(-745.2, -744.0, POINTS), *random.uniform(-740.0, 0.0, POINTS), LOG_TINY, 0.0]
    with flint.ctx.workprec(BITS):
        for x in map(float, arguments):
            truth = flint.arb(x).exp()
            assert flint.arb(exp_below(x)) <= truth <= flint.arb(exp_above(x)), x
            assert exp_below(x) >= 0, x
    assert exp_above(-1000.0) == TINY
    assert (exp_above(-math.inf), exp_below(-math.inf)) == (0.0, 0.0)
