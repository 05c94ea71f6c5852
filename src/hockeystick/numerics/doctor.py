"""Measurements of the machine: elementary functions and arithmetic, whose accuracy every certificate assumes.

An elementary function may err by ``ULPS`` units in the last place (``numerics/rounding.py``). Two kinds are charged
differently where they are used. ``logaddexp`` may err by as many units of its larger argument, or of 1. The normal
distribution function may err by ``64 + 8 x^2`` roundings of itself at argument x; its logarithm, by as many of 1.

True values come from Python's decimals, whose ``exp``, ``ln`` and ``sqrt`` are correctly rounded to the digits of the
context (Python's library reference, module decimal); the other functions are made of these and of series.
"""

from __future__ import annotations

import math
import operator
import os
import platform
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal, localcontext
from fractions import Fraction
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np
import numpy.typing as npt

from hockeystick.numerics.fourier import ROUNDINGS_PER_LEVEL
from hockeystick.numerics.rounding import SMALLEST_NORMAL, TINY, ULPS, UNIT_ROUNDOFF
from hockeystick.values.domains import whole
from hockeystick.values.outward import UP, html_table, rounded

Array = npt.NDArray[np.float64]
Random = np.random.Generator
Draw = Callable[[Random, int], Array]

POINTS = 200
"""Default number of points of each range: some hundred thousand values, and about a second."""

BRIEF = 3  # points of each range in the check for a report: some milliseconds
MOST_POINTS = 1_000_000  # most points of each range: minutes, and some GB

NOT_WITHIN = "NOT within what is assumed"
"""First words of the summary of a machine that does not meet an assumption of the certificate."""

DIGITS = 70  # of true values: three times those of a double, and twenty more for cancellation
SMALL = Decimal("1e-12")  # below it, five terms of a power series give 60 digits
TURN = Decimal("6.283185307179586476925286766559005768394338798750211641949889184615632812572417997256069650684234136")
"""Two pi to 100 digits: angles of up to ``1e8`` are reduced to 60 digits after the point."""

LARGEST_LOG, LEAST_LOG = math.log(sys.float_info.max), math.log(TINY)  # where exponentials are doubles above 0
LENGTHS = (1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 33)  # lengths of short arrays: the end of an array has its own loop
TRANSFORMS = (4096, 7200, 50_000)  # lengths 2^12, 2^5 3^2 5^2 and 2^4 5^5: each factor has its own pass
INNER, OUTER = 96, 24  # terms of an entry of the matrix product; its rows and columns


# ---------------------------------------------------------------------------------------------------- true values


def _expm1(x: Decimal) -> Decimal:
    # x + x^2/2! + x^3/3! + ...
    return x * (1 + x / 2 * (1 + x / 3 * (1 + x / 4 * (1 + x / 5)))) if abs(x) < SMALL else x.exp() - 1


def _log1p(x: Decimal) -> Decimal:
    # x - x^2/2 + x^3/3 - ...
    return x - x**2 / 2 + x**3 / 3 - x**4 / 4 + x**5 / 5 if abs(x) < SMALL else (1 + x).ln()


def _reduced(x: Decimal) -> Decimal:
    return x - TURN * (x / TURN).to_integral_value()


def _sine(x: Decimal) -> Decimal:
    # y - y^3/3! + y^5/5! - ..., y the angle less whole turns
    term = total = _reduced(x)
    square, n = term * term, 1
    while abs(term) > abs(total).scaleb(-DIGITS):
        n += 2
        term *= -square / (n * (n - 1))
        total += term
    return total


def _cosine(x: Decimal) -> Decimal:
    return _sine(TURN / 4 - abs(_reduced(x)))


def _arctan2(y: Decimal, x: Decimal) -> Decimal:
    """Return the angle by one Newton step from the double; two terms reduce its error of 1e-16 below 60 digits."""
    near = Decimal(math.atan2(float(y), float(x)))
    sine, cosine = _sine(near), _cosine(near)
    left = (y * cosine - x * sine) / (x * cosine + y * sine)
    return near + left - left**3 / 3


def _normal(x: Decimal) -> Decimal:
    """Normal distribution function for ``|x| <= 10``; below 0, at most about 22 of the digits cancel."""
    # 1/2 + phi(x) (x + x^3/3 + x^5/(3 5) + x^7/(3 5 7) + ...)
    term = total = x
    n = 1
    while abs(term) > abs(total).scaleb(-DIGITS):
        n += 2
        term *= x * x / n
        total += term
    return Decimal("0.5") + total * (-x * x / 2).exp() / TURN.sqrt()


# --------------------------------------------------------------------------------------------------------- points


def _evenly(low: float, high: float) -> Draw:
    return lambda random, count: random.uniform(low, high, count)


def _by_size(low: float, high: float, sign: float = 1.0, around: float = 0.0) -> Draw:
    """Draw arguments whose distance from a number has a uniform logarithm."""
    return lambda random, count: around + sign * np.exp(random.uniform(math.log(low), math.log(high), count))


def _beside(places: Sequence[float]) -> Draw:
    """Draw doubles at most two doubles away from points where implementations change their method."""

    def draw(random: Random, count: int) -> Array:
        at = np.array(places, dtype=np.float64)[random.integers(0, len(places), count)]
        for _ in range(2):
            toward = np.array([-np.inf, np.nan, np.inf])[random.integers(0, 3, count)]
            at = np.where(np.isnan(toward), at, np.nextafter(at, toward))
        return at

    return draw


def _over(*draws: Draw) -> Callable[[Random, int], tuple[Array, ...]]:
    return lambda random, count: (np.concatenate([draw(random, count) for draw in draws]),)


def _in_the_plane(random: Random, count: int) -> tuple[Array, ...]:
    """Draw points in all quadrants, with coordinates that differ by up to twelve orders of magnitude."""
    x, y = random.normal(size=(2, 4 * count))
    return np.where(random.integers(0, 2, 4 * count) == 0, x, x * 10.0 ** random.uniform(-12.0, 0.0, 4 * count)), y


def _two_exponents(random: Random, count: int) -> tuple[Array, ...]:
    """Draw pairs of exponents, half of them close together, so that neither of the two terms is negligible."""
    a, b = random.uniform(-600.0, 600.0, (2, 4 * count))
    return a, np.where(np.arange(4 * count) % 2 == 0, a + random.uniform(-3.0, 3.0, 4 * count), b)


TINIES = [sign * 2.0**k for sign in (-1, 1) for k in (-1074, -1050, -1023, -1022, -600, -100, -60, -54, -53, -52)]
"""Arguments at which functions that are next to their argument, or to 1, change their method."""
HALVES = [0.5 * k * math.log(2.0) for k in range(-40, 41) if k]
"""Arguments at which exponentials take another power of two out of their value."""
OCTANTS = [0.25 * k * math.pi for k in range(-64, 65) if k]
"""Angles at which sine and cosine change the octant to which they reduce."""
POWERS = [math.sqrt(0.5) ** k for k in range(-40, 41)]
"""Arguments at which logarithms take another power of two out of their argument."""
NEAR_ZERO = (_by_size(1e-300, 1.0), _by_size(1e-300, 1.0, -1), _beside(TINIES))
"""Draws around 0."""

EXPONENTS = _over(
    _evenly(-40.0, 40.0), _evenly(LEAST_LOG, LARGEST_LOG), _evenly(LEAST_LOG, -708.4), _beside(HALVES), *NEAR_ZERO
)
"""Arguments of exp and expm1: values that are moderate, next to overflow, subnormal, next to 1."""
LOGS = _over(
    _by_size(1e-15, 0.5, -1, 1.0), _by_size(1e-15, 1.0, 1, 1.0), _by_size(1e-307, 1e307),
    _by_size(5e-324, SMALLEST_NORMAL), _beside(POWERS),
)  # fmt: skip
"""Arguments of log: next to 1, of every size, subnormal."""
LOGS_OF_ONE_MORE = _over(
    _by_size(1e-16, 0.5, 1, -1.0), _evenly(-0.999, 1.0), _by_size(1.0, 1e300), _by_size(5e-324, 0.5),
    _by_size(5e-324, 0.5, -1), _beside([math.sqrt(0.5) - 1, math.sqrt(2.0) - 1, -0.5, -0.25, 0.5, 1.0]),
)  # fmt: skip
"""Arguments of log1p: next to -1, next to 0, large."""
ANGLES = _over(_evenly(-math.pi, math.pi), _evenly(-1e4, 1e4), _by_size(1e4, 1e8), _beside(OCTANTS), *NEAR_ZERO)
"""Arguments of sine and cosine: one turn, many turns, next to 0 and next to their zeros."""
HYPERBOLIC = _over(_evenly(-40.0, 40.0), _evenly(-700.0, 700.0), _by_size(1e-300, 1.0), _beside(HALVES))
"""Arguments of the hyperbolic sine and cosine."""
NORMAL = _over(_evenly(-5.0, 5.0), _evenly(-10.0, 8.0))
"""Arguments of the normal distribution function, as far as its series serves."""


# ------------------------------------------------------------------------------------------------------ functions


@dataclass(frozen=True, slots=True)
class Function:
    """Function of one library, with its largest assumed error.

    Attributes:
        name: name of the function.
        library: library that provides it.
        truth: the function in decimals.
        draw: draws an array for each argument, from a random generator and a number of points per range.
        called: the function on arrays, or on single numbers if the library is Python's.
        assumed: largest assumed error, in units.
        unit: name of the unit.
        size: function of arguments, true value and spacing of doubles that gives a unit's size in last-place units.
    """

    name: str
    library: str
    truth: Callable[..., Decimal]
    draw: Callable[[Random, int], tuple[Array, ...]]
    called: Callable[..., Any]
    assumed: float = float(ULPS)
    unit: str = "units in the last place"
    size: Callable[[Sequence[Array], Array, Array], Any] = lambda x, true, spacing: 1.0

    def ways(self) -> Iterator[tuple[str, Callable[..., Array]]]:
        """Yield the ways of calling the function, each of which may run a different loop of the library."""
        call = self.called
        yield "single numbers", lambda *x: np.array([call(*at) for at in zip(*(a.tolist() for a in x), strict=True)])
        if self.library == "math":
            return
        yield "arrays", call
        yield "arrays off their boundary", lambda *x: call(*(np.concatenate([a[:1], a])[1:] for a in x))
        yield "strided arrays", lambda *x: call(*(np.repeat(a, 3)[::3] for a in x))
        yield "arrays backwards", lambda *x: call(*(np.ascontiguousarray(a[::-1])[::-1] for a in x))
        yield "short arrays", lambda *x: _in_parts(call, x)


def _in_parts(call: Callable[..., Any], x: Sequence[Array]) -> Array:
    ends = np.cumsum(np.resize(LENGTHS, len(x[0])))
    parts = zip(*(np.split(a, ends[ends < len(a)]) for a in x), strict=True)
    return np.concatenate([call(*part) for part in parts])


def _of_larger_argument(x: Sequence[Array], true: Array, spacing: Array) -> Any:
    return 2 * UNIT_ROUNDOFF * np.maximum(np.maximum(np.abs(x[0]), np.abs(x[1])), 1.0) / spacing


def _of_normal(x: Sequence[Array], true: Array, spacing: Array) -> Any:
    return UNIT_ROUNDOFF * (1 + np.square(x[0]) / 8) * np.abs(true) / spacing


def _of_log_normal(x: Sequence[Array], true: Array, spacing: Array) -> Any:
    return UNIT_ROUNDOFF * (1 + np.square(np.minimum(x[0], 0.0)) / 8) / spacing


def functions() -> Iterator[Function]:
    """Yield every function whose accuracy the certificate assumes, for each library that provides it."""
    from scipy.special import log_ndtr, ndtr  # imported late: importing SciPy takes as long as a query

    for name, truth, draw in (
        ("exp", Decimal.exp, EXPONENTS),
        ("expm1", _expm1, EXPONENTS),
        ("log", Decimal.ln, LOGS),
        ("log1p", _log1p, LOGS_OF_ONE_MORE),
        ("sin", _sine, ANGLES),
        ("cos", _cosine, ANGLES),
        ("hypot", lambda x, y: (x * x + y * y).sqrt(), _in_the_plane),
        ("arctan2", _arctan2, _in_the_plane),
    ):
        yield Function(name, "numpy", truth, draw, getattr(np, name))
        yield Function(name, "math", truth, draw, getattr(math, name.replace("arc", "a")))
    of_complex = "numpy, of complex numbers"
    yield Function("sin", of_complex, _sine, ANGLES, lambda x: np.exp(1j * np.asarray(x)).imag)
    yield Function("cos", of_complex, _cosine, ANGLES, lambda x: np.exp(1j * np.asarray(x)).real)
    yield Function("sinh", "math", lambda x: (_expm1(x) - _expm1(-x)) / 2, HYPERBOLIC, math.sinh)
    yield Function("cosh", "math", lambda x: (x.exp() + (-x).exp()) / 2, HYPERBOLIC, math.cosh)
    yield Function("logaddexp", "numpy", lambda x, y: max(x, y) + _log1p((-abs(x - y)).exp()), _two_exponents,
                   np.logaddexp, unit="units of its larger argument", size=_of_larger_argument)  # fmt: skip
    roundings = "roundings, of which 1 + x^2/8 count as one"
    yield Function("ndtr", "scipy", _normal, NORMAL, ndtr, 64.0, roundings, _of_normal)
    yield Function("log_ndtr", "scipy", lambda x: _normal(x).ln(), NORMAL, log_ndtr, 64.0, roundings, _of_log_normal)


# --------------------------------------------------------------------------------------------------- measurements


@dataclass(frozen=True, slots=True)
class Measured:
    """Largest error found in one function of one library.

    Attributes:
        name: name of the function.
        library: library that provides it.
        largest: largest error found, in units; infinite if a value is not a number.
        assumed: largest assumed error, in units.
        unit: name of the unit.
        route: way of calling the function that had the largest error.
        at: arguments at which the largest error was found.
        values: number of values compared.
    """

    name: str
    library: str
    largest: float
    assumed: float
    unit: str
    route: str
    at: tuple[float, ...]
    values: int

    @property
    def within(self) -> bool:
        """True if no error exceeds the assumed one."""
        return self.largest <= self.assumed

    @property
    def failure(self) -> str:
        """One line with the largest error and its place."""
        at = ", ".join(map(repr, self.at))
        found = f"{self.name} ({self.library}, {self.route}) errs by {self.largest:.4g} {self.unit} at {at}"
        return f"{found}; assumed are {self.assumed:g}"


@dataclass(frozen=True, slots=True)
class Check:
    """One property of the arithmetic of doubles.

    Attributes:
        name: name of the property.
        holds: True if the machine has it.
        said: the assumption if the property holds, else the finding.
    """

    name: str
    holds: bool
    said: str

    @property
    def failure(self) -> str:
        """One line with the finding."""
        return f"{self.name}: {self.said}"


def _truths(truth: Callable[..., Decimal], arguments: Sequence[Array]) -> tuple[Array, Array, Array]:
    """Return the doubles nearest to the true values, the remainders in units in the last place, and the units' sizes.

    The unit is the spacing of doubles just below the value (the smaller one at a power of two). The error of a double x
    in units is ``|(x - double) / unit - remainder|`` to fifteen digits, as ``x - double`` is exact if they are close.
    """
    rows = []
    with localcontext(Context(prec=DIGITS, Emax=MAX_EMAX, Emin=MIN_EMIN)):
        for point in zip(*(each.tolist() for each in arguments), strict=True):
            true = truth(*map(Decimal, point))
            double = float(true)
            unit = math.ulp(math.nextafter(double, 0.0))
            rows.append((double, float((true - Decimal(double)) / Decimal(unit)), unit))
    doubles, left, units = np.array(rows).reshape(-1, 3).T
    return doubles, left, units


def _errors(values: Array, truths: tuple[Array, Array, Array]) -> Array:
    doubles, left, units = truths
    found: Array = np.abs((values - doubles) / units - left)
    return np.where(np.isfinite(found), found, np.inf)


def measured(function: Function, count: int, random: Random) -> Measured:
    """Return the largest error of a function over all ways of calling it, at ``count`` points of each range."""
    arguments = function.draw(random, count)
    truths = _truths(function.truth, arguments)
    size = function.size(arguments, truths[0], truths[2])
    worst, route, place, values = -1.0, "", 0, 0
    for way, call in function.ways():
        with np.errstate(all="ignore"):  # overflow and underflow are intended; the results are compared
            errors = _errors(call(*arguments), truths) / size
        values += len(errors)
        if errors.max() > worst:
            worst, route, place = float(errors.max()), way, int(errors.argmax())
    at = tuple(float(each[place]) for each in arguments)
    return Measured(function.name, function.library, worst, function.assumed, function.unit, route, at, values)


def transform_measured(count: int, random: Random) -> Measured:
    """Return the largest error of Fourier transforms of impulses, in roundings for each of ``log2 n`` levels.

    The true outputs are points of the unit circle; each computed output is a product of rotations computed by the
    transform, and reveals their errors. The assumption is that of ``numerics/fourier.py``.
    """
    from scipy.fft import rfft

    worst, at = 0.0, (0.0, 0.0, 0.0)
    for n in TRANSFORMS:
        impulse, place = np.zeros(n), int(random.integers(1, n))
        impulse[place] = 1.0
        transformed, outputs = rfft(impulse), random.integers(0, n // 2 + 1, count)
        parts = ((place * outputs) % n).astype(np.float64)
        squares = np.zeros(count)
        for part, function in ((transformed.real, _cosine), (-transformed.imag, _sine)):
            truths = _truths(lambda k, n=n, function=function: function(TURN * k / n), (parts,))
            squares += (_errors(part[outputs], truths) * truths[2]) ** 2
        error = math.sqrt(squares.max()) / (UNIT_ROUNDOFF * math.log2(n))
        if not error <= worst:
            worst, at = error, (float(n), float(place), float(outputs[squares.argmax()]))
    route, unit = "impulses (n, place, output)", "roundings a level"
    return Measured("rfft", "scipy", worst, float(ROUNDINGS_PER_LEVEL), unit, route, at, count * len(TRANSFORMS))


def arithmetic_checks(count: int, random: Random) -> Iterator[Check]:
    """Test each property of IEEE 754 binary64 on which bounds on roundings rest.

    Loading a library compiled with ``-ffast-math`` may make the processor replace every subnormal number by 0, and a
    program may change the direction of rounding.
    """
    for name, assumed, failures in (
        ("subnormal numbers", "kept", _flushed()),
        ("direction of rounding", "to nearest, ties to even", _misdirected()),
        ("sums, differences, products, quotients", "correctly rounded", _misrounded(count, random)),
        ("square roots", "correctly rounded", _wrong_roots(count, random)),
        ("products of matrices", "every sum in double precision", _coarse_products(random)),
    ):
        found = next(failures, None)
        yield Check(name, found is None, assumed if found is None else found)


def _flushed() -> Iterator[str]:
    if SMALLEST_NORMAL * 0.5 != 2.0**-1023 or TINY * 2.0**60 != 2.0**-1014:
        yield "Python puts 0 in place of subnormal numbers"
    for length in (1, 3, 8, 33):
        normal, least = np.full(length, SMALLEST_NORMAL), np.full(length, TINY)
        if not (normal * 0.5 == 2.0**-1023).all() or not (least * 2.0**60 == 2.0**-1014).all():
            yield f"NumPy puts 0 in place of subnormal numbers, in arrays of length {length}"
        if not (np.exp(np.full(length, -740.0)) > 0).all():
            yield f"exponentials below 2^-1022 are 0, in arrays of length {length}"


def _misdirected() -> Iterator[str]:
    """Compute sums of which at least one changes if the machine does not round to nearest."""
    u = UNIT_ROUNDOFF
    for a, b, true in ((1.0, u, 1.0), (1.0 + 2 * u, u, 1.0 + 4 * u), (1.0, 1.5 * u, 1.0 + 2 * u), (1.0, 0.5 * u, 1.0)):
        for sign in (1.0, -1.0):
            if sign * a + sign * b != sign * true:
                yield f"Python rounds {sign * a!r} + {sign * b!r} to {sign * a + sign * b!r}"
            for length in (1, 3, 8, 33):
                found = np.full(length, sign * a) + np.full(length, sign * b)
                if not (found == sign * true).all():
                    yield f"NumPy rounds {sign * a!r} + {sign * b!r} to {float(found[-1])!r}"


def _numbers(count: int, random: Random) -> tuple[Array, Array]:
    """Draw pairs of numbers, half of them of similar size, so that sums cancel; some products are subnormal."""
    size = np.where(np.arange(count) % 8 == 0, 2.0**-510, 1.0)
    a = random.normal(size=count) * 2.0 ** random.integers(-60, 60, count) * size
    near = np.arange(count) % 2 == 0
    return a, np.where(near, -a * random.uniform(0.5, 2.0, count), random.normal(size=count) * size * 2.0**-6)


def _misrounded(count: int, random: Random) -> Iterator[str]:
    a, b = _numbers(count, random)
    for of_numpy, exact in (
        (np.add, operator.add), (np.subtract, operator.sub), (np.multiply, operator.mul), (np.divide, operator.truediv)
    ):  # fmt: skip
        strided = of_numpy(np.repeat(a, 2)[::2], np.repeat(b, 2)[::2])
        for x, y, *found in zip(*(each.tolist() for each in (a, b, of_numpy(a, b), strided)), strict=True):
            if set(found) | {exact(x, y)} != {float(exact(Fraction(x), Fraction(y)))}:
                yield f"{of_numpy.__name__} is not correctly rounded at {x!r}, {y!r}"


def _wrong_roots(count: int, random: Random) -> Iterator[str]:
    """Find wrong square roots: x must lie between the squares of the midpoints from its root to the next doubles."""
    x = np.abs(_numbers(count, random)[0])
    for value, root in zip(x.tolist(), np.sqrt(x).tolist(), strict=True):
        low, high = ((Fraction(root) + Fraction(math.nextafter(root, end))) / 2 for end in (0.0, math.inf))
        if math.sqrt(value) != root or not low * low <= Fraction(value) <= high * high:
            yield f"square roots are not correctly rounded, as at {value!r}"


def _coarse_products(random: Random) -> Iterator[str]:
    """Find errors above n roundings of the sum of the products' sizes, the bound of [Hig02] (3.13) for any order."""
    a, b = random.normal(size=(OUTER, INNER)), random.normal(size=(INNER, OUTER))
    found, bound = a @ b, INNER * UNIT_ROUNDOFF / (1 - INNER * UNIT_ROUNDOFF)
    for i in range(0, OUTER, 5):
        products = [Fraction(x) * Fraction(y) for x, y in zip(a[i].tolist(), b[:, i].tolist(), strict=True)]
        error = abs(Fraction(float(found[i, i])) - sum(products))
        if error > Fraction(bound) * sum(map(abs, products)):
            yield f"an entry is off by {float(error):.3g}, more than {INNER} roundings of its products"


# ------------------------------------------------------------------------------------------------------ diagnosis


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """Measurements of a machine.

    Attributes:
        measured: largest error of each function, beside the assumed one.
        checks: properties of the arithmetic of doubles.
        versions: versions of the programs that compute.
        seconds: time taken by the measurements.
    """

    measured: tuple[Measured, ...]
    checks: tuple[Check, ...]
    versions: Mapping[str, str]
    seconds: float

    @property
    def sound(self) -> bool:
        """True if the machine meets all assumptions."""
        return not self.failures

    @property
    def failures(self) -> tuple[str, ...]:
        """One line for each assumption that the machine does not meet."""
        outside = [item.failure for item in self.measured if not item.within]
        return (*outside, *(check.failure for check in self.checks if not check.holds))

    @property
    def values(self) -> int:
        """Number of function values compared."""
        return sum(item.values for item in self.measured)

    @property
    def summary(self) -> str:
        """One sentence: the worst error, the assumed one, and the number of values compared."""
        worst = max(self.measured, key=lambda item: item.largest / item.assumed)
        against = f"{self.values:,} values of {len(self.measured)} functions against decimals of {DIGITS} digits"
        if self.sound:
            return (
                f"all within what is assumed, at most {_up(worst.largest)} of {worst.assumed:g} {worst.unit} "
                f"({worst.name}, {worst.library}); {against}"
            )
        more = f", and {len(self.failures) - 1} more" if len(self.failures) > 1 else ""
        return f"{NOT_WITHIN}: {self.failures[0]}{more}; {against}"

    def __str__(self) -> str:
        return self.summary

    def __repr__(self) -> str:
        return f"Diagnosis({self.summary})"

    def _repr_html_(self) -> str:
        rows = [(item.name, item.library, _up(item.largest), f"{item.assumed:g}", item.unit) for item in self.measured]
        checks = [(check.name, "as assumed" if check.holds else "NOT as assumed", check.said) for check in self.checks]
        heads = ("function", "library", "largest error", "assumed", "in")
        return (
            html_table(self.summary, rows, heads)
            + html_table("Arithmetic", checks)
            + html_table("Versions", list(self.versions.items()))
        )

    def to_json(self) -> dict[str, Any]:
        """Return the diagnosis as JSON values; an infinite error is ``None``."""
        rows = [{**asdict(item), "within": item.within} for item in self.measured]
        for row in rows:
            row["largest"] = row["largest"] if row["largest"] < math.inf else None
        return {
            "sound": self.sound,
            "failures": list(self.failures),
            "measured": rows,
            "checks": [asdict(check) for check in self.checks],
            "versions": dict(self.versions),
            "seconds": self.seconds,
        }


def _up(value: float) -> str:
    return rounded(value, ".3g", UP)


def versions() -> dict[str, str]:
    """Return the versions of the programs that compute.

    >>> list(versions())[:3]
    ['python', 'numpy', 'numpy loops']
    """
    import scipy

    config: Any = np.show_config(mode="dicts")  # type: ignore[call-arg,unused-ignore]
    loops = config.get("SIMD Extensions", {})
    blas = config.get("Build Dependencies", {}).get("blas", {})
    try:
        flint = version("python-flint")
    except PackageNotFoundError:
        flint = "none"
    return {
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "numpy": np.__version__,
        "numpy loops": ", ".join([*loops.get("baseline", []), *loops.get("found", [])]) or "unknown",
        "linear algebra": f"{blas.get('name', 'unknown')} {blas.get('version', '')}".strip(),
        "scipy": scipy.__version__,
        "python-flint": flint,
        "C library": " ".join(filter(None, platform.libc_ver())) or "unknown",
        "machine": f"{platform.system()} {platform.machine()}, {os.cpu_count() or 'unknown'} processors",
    }


def doctor(points: float = POINTS, seed: float = 1) -> Diagnosis:
    """Measure how well this machine meets the assumptions of the certificate on elementary functions and arithmetic.

    Args:
        points: number of points in each range of each function; the default takes a second or two.
        seed: seed of the points.

    Raises:
        InvalidInputError: the number of points or the seed is outside its domain.

    >>> import hockeystick as hs
    >>> found = hs.doctor(points=20)
    >>> found.sound, found.failures
    (True, ())
    """
    count = whole(points, "points", "points of each range", least=1, most=MOST_POINTS)
    random = np.random.default_rng(whole(seed, "seed", "the seed of the points", least=0))
    began = time.perf_counter()
    found = (*(measured(function, count, random) for function in functions()), transform_measured(count, random))
    checks = tuple(arithmetic_checks(min(count, POINTS), random))
    return Diagnosis(found, checks, versions(), time.perf_counter() - began)


@lru_cache(maxsize=1)
def brief() -> Diagnosis:
    """Return the result of a short check, run once per process, for a report's line about the machine."""
    return doctor(BRIEF)
