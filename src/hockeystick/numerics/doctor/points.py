"""Where the elementary functions are measured: all over their ranges, and where an implementation changes its method.

Such places are the ends of the range of a double, subnormal numbers, arguments next to 0 and next to 1, the multiples
of ``log(2) / 2`` and of ``pi / 4`` at which arguments are reduced, and arguments whose value lies next to the middle
of two doubles, as ``1 + 2^-53`` is for the exponential function.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
Random = np.random.Generator

Draw = Callable[[Random, int], Array]
"""What draws so many arguments."""

NEIGHBOURS = 2
"""How many doubles beside a place, on either side, are looked at as well: a method may change on any of them."""

LARGEST_LOG = math.log(1.7976931348623157e308)  # above it, by rounding, an exponential is beyond a double
LEAST_NORMAL_LOG = -708.3964185322641  # next to the logarithm of 2^-1022: below it exponentials are subnormal
LEAST_LOG = -744.4400719213812  # an exponential of it is the smallest double; below it lies what is rounded to 0


def evenly(low: float, high: float) -> Draw:
    """Draws arguments evenly between two numbers."""
    return lambda random, count: random.uniform(low, high, count)


def by_size(low: float, high: float, sign: float = 1.0, around: float = 0.0) -> Draw:
    """Draws arguments whose distance from a number is spread evenly in its logarithm."""
    return lambda random, count: around + sign * np.exp(random.uniform(math.log(low), math.log(high), count))


def beside(places: Sequence[float]) -> Draw:
    """Draws the doubles at and next to places, each place as often as any other."""

    def draw(random: Random, count: int) -> Array:
        at = np.array(places, dtype=np.float64)[random.integers(0, len(places), count)]
        for _ in range(NEIGHBOURS):
            move = random.integers(0, 3, count)  # back, on, or not at all
            with np.errstate(over="ignore"):  # next to the largest double, from which what is drawn is clipped
                at = np.where(move == 0, np.nextafter(at, -np.inf), np.where(move == 1, np.nextafter(at, np.inf), at))
        return at

    return draw


def _clipped(draw: Draw, low: float, high: float) -> Draw:
    """What is drawn, and the nearest end of the range for what is drawn beyond it."""
    return lambda random, count: np.clip(draw(random, count), low, high)


_TINY = [math.ldexp(1.0, k) for k in (-1074, -1073, -1050, -1023, -1022, -1021, -600, -300, -100, -60, -54, -53, -52)]
"""Powers of two at which functions that are next to their argument, or to 1, change: subnormal numbers among them."""

_REDUCED = [0.5 * k * math.log(2.0) for k in range(-40, 41) if k]
"""Where the exponential functions change the power of two that they take out of their value."""

_TURNS = [0.25 * k * math.pi for k in range(-64, 65) if k]
"""Where sine and cosine change the octant to which an argument is reduced; next to half of them one of the two is 0."""

EXP: tuple[Draw, ...] = (
    evenly(-40.0, 40.0),
    evenly(-708.39, LARGEST_LOG),
    evenly(LEAST_LOG, -708.4),
    by_size(1e-300, 1.0, -1),
    by_size(1e-300, 1.0),
    beside(_REDUCED),
    beside([*_TINY, *(-x for x in _TINY)]),
    _clipped(beside([LARGEST_LOG, LEAST_NORMAL_LOG, LEAST_LOG]), LEAST_LOG, LARGEST_LOG),
)
"""Arguments of exp: its values are moderate, next to overflow, subnormal, next to 1."""

EXPM1: tuple[Draw, ...] = (
    evenly(-40.0, 0.0),
    evenly(0.0, 40.0),
    evenly(40.0, LARGEST_LOG),
    evenly(-745.0, -40.0),
    by_size(5e-324, 1.0, -1),
    by_size(5e-324, 1.0),
    beside(_REDUCED),
    beside([*_TINY, *(-x for x in _TINY)]),
)
"""Arguments of expm1: also where it is next to its argument, to -1, or to overflow."""

LOG: tuple[Draw, ...] = (
    by_size(1e-15, 0.5, -1, around=1.0),
    by_size(1e-15, 1.0, around=1.0),
    by_size(1e-307, 1e307),
    by_size(5e-324, 2.0**-1022),
    beside([math.ldexp(math.sqrt(0.5), k) for k in range(-20, 21)]),
    beside([math.ldexp(1.0, k) for k in range(-20, 21)]),
    _clipped(beside([2.0**-1022, 5e-324, 1.7976931348623157e308]), 5e-324, 1.7976931348623157e308),
)
"""Arguments of log: next to 1 on either side, everywhere, subnormal, next to powers of two and of their roots."""

LOG1P: tuple[Draw, ...] = (
    by_size(5e-324, 0.5, -1),
    by_size(5e-324, 1.0),
    by_size(1e-16, 0.5, around=-1.0),
    evenly(-0.999, 1.0),
    by_size(1.0, 1e300),
    beside([math.sqrt(0.5) - 1, math.sqrt(2.0) - 1, 0.5, -0.5, -0.25, 1.0, 3.0]),
    beside([*_TINY, *(-x for x in _TINY)]),
)
"""Arguments of log1p: next to 0, to -1, large, and where it changes the power of two that it takes out."""

ANGLES: tuple[Draw, ...] = (
    evenly(-math.pi, math.pi),
    evenly(-1e4, 1e4),
    by_size(1e-300, 1.0),
    by_size(1e4, 1e8),
    beside(_TURNS),
)
"""Arguments of sine and cosine: one turn, many turns, next to 0, and next to where one of the two is 0."""

HYPERBOLIC: tuple[Draw, ...] = (
    evenly(-40.0, 40.0),
    evenly(-700.0, 700.0),
    by_size(1e-300, 1.0),
    beside(_REDUCED),
)
"""Arguments of the hyperbolic sine and cosine, single numbers in this library."""

NORMAL: tuple[Draw, ...] = (evenly(-5.0, 5.0), evenly(-37.0, 0.0), evenly(0.0, 8.0))
"""Arguments of the normal distribution function: as far as its value is a normal double."""

NORMAL_LOG: tuple[Draw, ...] = (*NORMAL, by_size(37.0, 1e4, -1), evenly(8.0, 37.0))
"""Arguments of the logarithm of the normal distribution function, which reaches further."""


def drawn(draws: Sequence[Draw], random: Random, count: int) -> Array:
    """So many arguments of each range, one range after another."""
    return np.concatenate([draw(random, count) for draw in draws])


def in_the_plane(random: Random, count: int) -> tuple[Array, Array]:
    """Two coordinates of points whose sizes differ by up to twelve orders of magnitude, in every quadrant."""
    x, y = random.normal(size=count), random.normal(size=count)
    small = 10.0 ** random.uniform(-12.0, 0.0, count)
    return np.where(random.integers(0, 2, count) == 0, x, x * small), y * small[::-1]


def two_exponents(random: Random, count: int) -> tuple[Array, Array]:
    """Two exponents, every other time next to each other, so that neither of the two terms can be left out."""
    a, b = random.uniform(-600.0, 600.0, count), random.uniform(-600.0, 600.0, count)
    near = np.arange(count) % 2 == 0
    return a, np.where(near, a + random.uniform(-3.0, 3.0, count), b)
