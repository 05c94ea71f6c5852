"""What is assumed of each function, and the ways in which the library calls it.

An elementary function may err by ``ULPS`` units in the last place (``numerics/rounding.py``). A few are allowed errors
of another size, where the code that uses them charges one: ``logaddexp`` as many units of its larger argument (or of
1), and the normal distribution function ``64 + 8 x^2`` roundings, relative to itself, at argument x, its logarithm as
many roundings of 1 (``pairs/sampled/gaussian_jumps.py``).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hockeystick.numerics.doctor import points
from hockeystick.numerics.rounding import ULPS, UNIT_ROUNDOFF

Array = npt.NDArray[np.float64]
Function = Callable[..., Array]

LENGTHS = (1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 33)
"""Lengths of short arrays, around those of the vectors of processors: the end of an array has a loop of its own."""

STRIDE = 3  # doubles between one argument and the next where they are not side by side

PHI_ROUNDINGS, PHI_SQUARED = 64.0, 8.0  # of the normal distribution function, and for the square of its argument


@dataclass(frozen=True, slots=True)
class Assumption:
    """What is assumed of one function.

    Attributes:
        name: of the function, as NumPy or SciPy has it.
        draw: what draws the points: a random generator and a number of points a range, to an array for each argument.
        units: the largest error that is assumed.
        said: in which unit, for people.
        sized: what an error in units in the last place is divided by, of which the arguments, the true value and its
            unit are given; none where it stays as it is.
        array: the function on arrays; none where only single numbers are asked of it.
        single: the function on single numbers, of Python's module math; none where it is not used.
        library: whose function ``array`` is.
    """

    name: str
    draw: Callable[[np.random.Generator, int], tuple[Array, ...]]
    units: float = float(ULPS)
    said: str = "units in the last place"
    sized: Callable[[Sequence[Array], Array, Array], Array] | None = None
    array: Function | None = None
    single: Callable[..., float] | None = None
    library: str = "numpy"

    def routes(self) -> Iterator[tuple[str, str, Function]]:
        """The library, the way in which it is called, and what calls it so on whole arrays."""
        if self.array is not None:
            for route, called in _ways(self.array):
                yield self.library, route, called
        if self.single is not None:
            yield "math", "single numbers", _one_by_one(self.single)


def _ways(function: Function) -> Iterator[tuple[str, Function]]:
    def aligned(*x: Array) -> Array:
        return function(*x)

    def shifted(*x: Array) -> Array:
        """From arrays that begin 8 bytes after where they would."""
        return function(*(np.concatenate([each[:1], each])[1:] for each in x))

    def strided(*x: Array) -> Array:
        return function(*(np.repeat(each, STRIDE)[::STRIDE] for each in x))

    def backward(*x: Array) -> Array:
        return function(*(np.ascontiguousarray(each[::-1])[::-1] for each in x))

    def in_place(*x: Array) -> Array:
        out = x[0].copy()
        function(out, *x[1:], out=out)
        return out

    def short(*x: Array) -> Array:
        out = np.empty_like(x[0])
        at = number = 0
        while at < len(out):
            end = at + LENGTHS[number % len(LENGTHS)]
            out[at:end] = function(*(each[at:end] for each in x))
            at, number = end, number + 1
        return out

    yield "arrays", aligned
    yield "arrays off their boundary", shifted
    yield "strided arrays", strided
    yield "arrays backwards", backward
    yield "arrays in place", in_place
    yield "short arrays", short
    yield "single numbers", lambda *x: np.array([function(*point) for point in zip(*x, strict=True)])


def _one_by_one(function: Callable[..., float]) -> Function:
    return lambda *x: np.array([function(*point) for point in zip(*(each.tolist() for each in x), strict=True)])


def _over(draws: Sequence[points.Draw]) -> Callable[[np.random.Generator, int], tuple[Array, ...]]:
    return lambda random, count: (points.drawn(draws, random, count),)


def _of_larger_argument(x: Sequence[Array], true: Array, unit: Array) -> Array:
    """The unit of the larger argument, or of 1, in units of the value."""
    size = np.maximum(np.maximum(np.abs(x[0]), np.abs(x[1])), 1.0)
    out: Array = 2 * UNIT_ROUNDOFF * size / unit
    return out


def _of_phi(x: Sequence[Array], true: Array, unit: Array) -> Array:
    """One of the roundings of the value, of which it has ``64 + 8 x^2``, in units of it."""
    out: Array = UNIT_ROUNDOFF * (1 + PHI_SQUARED / PHI_ROUNDINGS * np.square(x[0])) * np.abs(true) / unit
    return out


def _of_log_phi(x: Sequence[Array], true: Array, unit: Array) -> Array:
    """One of the roundings of 1 that its logarithm is allowed, in units of that."""
    out: Array = UNIT_ROUNDOFF * (1 + PHI_SQUARED / PHI_ROUNDINGS * np.square(np.minimum(x[0], 0.0))) / unit
    return out


def _circle(part: str) -> Function:
    """The real or the imaginary part of ``e^(ix)``."""

    def function(x: Array, out: Array | None = None) -> Array:
        found: Array = getattr(np.exp(1j * np.asarray(x)), part)
        if out is not None:
            out[...] = found
        return found

    return function


def assumptions() -> tuple[Assumption, ...]:
    """All that is assumed of functions."""
    from scipy.special import log_ndtr, ndtr  # late: SciPy takes as long to import as an answer does

    planar, phi = "units in the last place", f"roundings, of which 1 + x^2/{PHI_ROUNDINGS / PHI_SQUARED:g} count as one"
    turned = _over(points.ANGLES)
    return (
        Assumption("exp", _over(points.EXP), array=np.exp, single=math.exp),
        Assumption("expm1", _over(points.EXPM1), array=np.expm1, single=math.expm1),
        Assumption("log", _over(points.LOG), array=np.log, single=math.log),
        Assumption("log1p", _over(points.LOG1P), array=np.log1p, single=math.log1p),
        Assumption("sin", turned, array=np.sin, single=math.sin),
        Assumption("cos", turned, array=np.cos, single=math.cos),
        Assumption("sin", turned, array=_circle("imag"), library="numpy, of complex numbers"),
        Assumption("cos", turned, array=_circle("real"), library="numpy, of complex numbers"),
        Assumption("sinh", _over(points.HYPERBOLIC), single=math.sinh),
        Assumption("cosh", _over(points.HYPERBOLIC), single=math.cosh),
        Assumption("hypot", points.in_the_plane, said=planar, array=np.hypot, single=math.hypot),
        Assumption("arctan2", points.in_the_plane, said=planar, array=np.arctan2, single=math.atan2),
        Assumption(
            "logaddexp", points.two_exponents, said="units of its larger argument", sized=_of_larger_argument,
            array=np.logaddexp,
        ),
        Assumption("ndtr", _over(points.NORMAL), PHI_ROUNDINGS, phi, _of_phi, ndtr, library="scipy"),
        Assumption("log_ndtr", _over(points.NORMAL_LOG), PHI_ROUNDINGS, phi, _of_log_phi, log_ndtr, library="scipy"),
    )  # fmt: skip
