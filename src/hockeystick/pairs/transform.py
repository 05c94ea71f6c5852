"""Characteristic functions of privacy losses along a vertical line, with every error bounded.

``m(z) = E_P e^(zL)``, ``K = log m``, ``z = t + is``. What an engine needs of one round is a :class:`Transform`: K on
the line, an upper bound on K(t), and how fast ``|m(t + is)| / m(t)`` is bound to fall.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from hockeystick.numerics.logarithm import log_one_plus
from hockeystick.numerics.rounding import UNIT_ROUNDOFF

LIGHT = 50.0  # log of how much lighter than the heaviest a term is that is left out of a sum
PRODUCTS = 16  # complex products of a matrix product that take as long as one elementary function
LOGARITHM = 4  # elementary functions that take as long as one guarded logarithm of a complex number
PIECE = 4096  # complex numbers of which the logarithm is taken at a time: with what it needs, they stay in the cache

Array = npt.NDArray[np.float64]
ComplexArray = npt.NDArray[np.complex128]


class Line(Protocol):
    """K of one round on the line Re z = t, |Im z| <= some reach."""

    def cost(self, count: int) -> float:
        """The number of elementary evaluations, about, that so many points take."""
        ...

    def cumulants(self, step: float, count: int) -> tuple[ComplexArray, Array]:
        """``K(t + i j step)`` for j < count, and a bound on the absolute error of each value."""
        ...


class Envelope(Protocol):
    """How fast the characteristic function falls off."""

    @property
    def cost(self) -> float:
        """Evaluations that one edge takes."""
        ...

    def log_bound(self, edges: Array) -> Array:
        """Upper bounds, non-positive, on ``log |m(t + is)| / m(t)`` for all ``s >= edges[i]``; edges increase."""
        ...


class Transform(Protocol):
    """The characteristic function of one round."""

    @property
    def highest_tilt(self) -> float:
        """The tilt up to which there are lines; upper bounds on K there are at all."""
        ...

    def line(self, t: float, reach: float, tolerance: float) -> Line:
        """The line through t > 0, for ``|s| <= reach``; analytic remainders of K below ``tolerance`` where possible."""
        ...

    def envelope(self, t: float, count: int) -> Envelope:
        """The envelope at t; ``count`` is the power to which it will be raised: it is wanted to about 1/count."""
        ...

    def upper(self, t: float, slack: float) -> float:
        """An upper bound on K(t), about ``slack`` above it; ``inf`` where none can be had."""
        ...


@dataclass(frozen=True, slots=True)
class QuadraticTransform:
    """The Gaussian: ``K(z) = mu^2 z (1 + z) / 2`` exactly."""

    mu: float

    @property
    def highest_tilt(self) -> float:
        """Lines are had at every tilt."""
        return math.inf

    def line(self, t: float, reach: float, tolerance: float) -> QuadraticLine:
        """The line through t, in closed form: it has no remainder but rounding."""
        return QuadraticLine(self.mu, t)

    def envelope(self, t: float, count: int) -> QuadraticTransform:
        """The transform itself, whose bound holds at every tilt."""
        return self

    def upper(self, t: float, slack: float) -> float:
        """K(t) in closed form, plus its rounding."""
        return line_upper(self.line(t, 0.0, slack))

    @property
    def cost(self) -> float:
        """One evaluation an edge: the bound is a closed form."""
        return 1.0

    def log_bound(self, edges: Array) -> Array:
        """The exact decay ``-mu^2 s^2 / 2``, rounded up."""
        decay: Array = -0.5 * np.square(self.mu * edges) * (1 - 1e-12)
        return decay


@dataclass(frozen=True, slots=True)
class QuadraticLine:
    """K of the Gaussian on Re z = t."""

    mu: float
    t: float

    def cost(self, count: int) -> float:
        """One evaluation a point: K is a polynomial."""
        return float(count)

    def cumulants(self, step: float, count: int) -> tuple[ComplexArray, Array]:
        """Relative error a few roundings, eight of them from mu."""
        s: Array = step * np.arange(count, dtype=np.float64)
        half = 0.5 * self.mu * self.mu
        real = half * (self.t * (1 + self.t) - np.square(s))
        imaginary = half * (1 + 2 * self.t) * s
        size = half * (self.t * (1 + self.t) + np.square(s)) + np.abs(imaginary)
        return real + 1j * imaginary, 32 * UNIT_ROUNDOFF * size


@dataclass(frozen=True, slots=True)
class AtomTransform:
    """Finitely many finite losses: ``m(z) = sum p e^(zL)``. It does not fall off: other rounds must.

    Args:
        loss: finite losses.
        log_p: log-masses; they need not add up to 1.
        units: of ``|loss|``, by how much more than a few roundings the losses may be off.
    """

    loss: tuple[float, ...]
    log_p: tuple[float, ...]
    units: float = 0.0

    @property
    def highest_tilt(self) -> float:
        """Lines are had at every tilt."""
        return math.inf

    def line(self, t: float, reach: float, tolerance: float) -> AtomLine:
        """The line through t, summed over the atoms; those that rounding would lose are left out, and bounded."""
        loss, log_p = np.array(self.loss), np.array(self.log_p)
        exponent = log_p + t * loss
        light = exponent < exponent.max() - LIGHT
        lost = float(np.exp(exponent[light] - exponent.max()).sum()) * (1 + 1e-9) if light.any() else 0.0
        return AtomLine(loss[~light], log_p[~light], t, self.units, lost)

    def envelope(self, t: float, count: int) -> AtomTransform:
        """The transform itself, whose bound holds at every tilt."""
        return self

    def upper(self, t: float, slack: float) -> float:
        """K(t) as the log of the sum over the atoms, plus its rounding."""
        return line_upper(self.line(t, 0.0, slack))

    @property
    def cost(self) -> float:
        """One evaluation an edge: the bound is 0 everywhere."""
        return 1.0

    def log_bound(self, edges: Array) -> Array:
        """0: characteristic functions of lattice laws are periodic."""
        return np.zeros(len(edges))


@dataclass(frozen=True, slots=True)
class AtomLine:
    """m of finitely many losses on Re z = t; ``lost`` is the sum of the terms left out, relative to the largest."""

    loss: Array
    log_p: Array
    t: float
    units: float
    lost: float = 0.0

    def cost(self, count: int) -> float:
        """The number of evaluations of so many points: a product of matrices, its factors, and a logarithm each."""
        block = math.isqrt(count - 1) + 1 if count > 1 else 1
        return float(len(self.loss)) * (count / PRODUCTS + 2 * block) + LOGARITHM * count

    def cumulants(self, step: float, count: int) -> tuple[ComplexArray, Array]:
        """K by the sum itself, scaled by its largest term.

        With ``j = a B + b``, B about the root of count, ``e^(i j step L)`` is a product of two factors, and all sums
        are one product of matrices. Each phase is off by some roundings of ``s |L|``, each sum by one rounding a term.
        """
        s: Array = step * np.arange(count, dtype=np.float64)
        block = math.isqrt(max(count - 1, 0)) + 1
        exponent = self.log_p + self.t * self.loss
        top = float(exponent.max())
        terms = np.exp(exponent - top)
        far = terms * np.exp(1j * np.multiply.outer(s[::block], self.loss))
        near = np.exp(1j * np.multiply.outer(self.loss, s[:block]))
        m = (far @ near).ravel()[:count]
        size, own = np.abs(self.loss), 24 + len(terms) + np.abs(self.log_p) + np.abs(exponent) + abs(top)
        moving = float((terms * size).sum())
        worst = float((terms * own).sum()) + moving * (3 * s + self.units * (s + self.t))
        value, error = safe_log(m, 4 * UNIT_ROUNDOFF * worst + self.lost)
        return value + top, error + 4 * UNIT_ROUNDOFF * abs(top)


def line_upper(line: Line) -> float:
    """The value at s = 0 with its error."""
    values, errors = line.cumulants(1.0, 1)
    return float(values[0].real + errors[0])


def safe_log(m: ComplexArray, absolute: Array) -> tuple[ComplexArray, Array]:
    """log m and the error that an absolute error of m causes in it.

    Where m may be 0 within its error, a value stands in for which ``|m^k - e^(k value)| <= e^(k value) (e^(2k) - 1)``
    still holds: |m| is then at most three times the error, and the value is the log of twice the error.
    """
    value, error = np.empty(m.shape, dtype=np.complex128), np.empty(m.shape)
    for first in range(0, len(m), PIECE):
        piece = slice(first, first + PIECE)
        size = np.abs(m[piece])
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            value[piece], error[piece] = _guarded(np.log(size), np.angle(m[piece]), size, absolute[piece])
    return value, error


def safe_log_one_plus(w: ComplexArray, absolute: Array) -> tuple[ComplexArray, Array]:
    """``log(1 + w)`` and its error as by :func:`safe_log` of ``m = 1 + w``, accurate for small w too."""
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        return _guarded(*log_one_plus(w), absolute)


def _guarded(log_size: Array, angle: Array, size: Array, absolute: Array) -> tuple[ComplexArray, Array]:
    small = size < 2 * absolute
    log_size = np.where(small, np.log(2 * absolute), log_size)
    error = np.where(small, 2.0, absolute / np.maximum(size - absolute, 1e-300))
    return log_size + 1j * angle, error + 8 * UNIT_ROUNDOFF * (np.abs(log_size) + np.abs(angle))
