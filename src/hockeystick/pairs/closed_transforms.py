"""Characteristic functions in closed form, for Gaussian noise and for losses that are atoms."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from hockeystick.numerics.rounding import LARGEST, UNIT_ROUNDOFF
from hockeystick.pairs.transform import Array, ComplexArray, Transform, safe_log

LIGHT = 50.0  # terms below ``e^-LIGHT`` times the largest term are left out of a sum
PRODUCTS = 16  # number of complex products in a matrix product that cost as much as one elementary function
LOGARITHM = 4  # number of elementary functions that cost as much as one guarded logarithm of a complex number


@dataclass(frozen=True, slots=True)
class QuadraticTransform(Transform):
    """Characteristic function of the loss of Gaussian noise: ``K(z) = mu^2 z (1 + z) / 2`` exactly."""

    mu: float

    def line(self, t: float, reach: float, tolerance: float) -> QuadraticLine:
        """Return the line through t, in closed form: rounding is its only error."""
        return QuadraticLine(self.mu, t)

    def envelope(self, t: float, count: int) -> QuadraticTransform:
        """The transform itself, whose bound holds at every tilt."""
        return self

    @property
    def cost(self) -> float:
        """Number of evaluations per edge: 1, because the bound is a closed form."""
        return 1.0

    def log_bound(self, edges: Array) -> Array:
        """Return the exact ``log |m(t + is) / m(t)| = -mu^2 s^2 / 2`` at each edge, rounded up."""
        decay: Array = -0.5 * np.square(self.mu * edges) * (1 - 1e-12)
        return decay


@dataclass(frozen=True, slots=True)
class QuadraticLine:
    """The cumulant function K of the loss of Gaussian noise on the line Re z = t."""

    mu: float
    t: float

    def cost(self, count: int) -> float:
        """Number of evaluations for ``count`` points: one per point, because K is a polynomial."""
        return float(count)

    def cumulants(self, step: float, count: int) -> tuple[ComplexArray, Array]:
        """Return K at ``count`` points ``t + i j step``, and bounds on the errors: roundings of K's terms and of mu.

        Mu may be off by eight roundings.
        """
        s: Array = step * np.arange(count, dtype=np.float64)
        half = 0.5 * self.mu * self.mu
        real = half * (self.t * (1 + self.t) - np.square(s))
        imaginary = half * (1 + 2 * self.t) * s
        size = half * (self.t * (1 + self.t) + np.square(s)) + np.abs(imaginary)
        return real + 1j * imaginary, 32 * UNIT_ROUNDOFF * size


@dataclass(frozen=True, slots=True)
class AtomTransform(Transform):
    """Characteristic function of finitely many finite losses, ``m(z) = sum p e^(zL)``.

    This function does not decay along a line. In a composition, rounds of another kind must provide the decay.

    Args:
        loss: finite losses.
        log_p: log-masses; they need not add up to 1.
        units: bound on the error of each loss beyond a few roundings, in roundings of ``|loss|``.
        slip: bound on a further absolute error of each loss.
        log_slip: bound on the absolute error of each log-mass beyond a few roundings.
    """

    loss: tuple[float, ...]
    log_p: tuple[float, ...]
    units: float = 0.0
    slip: float = 0.0
    log_slip: float = 0.0

    def line(self, t: float, reach: float, tolerance: float) -> AtomLine:
        """Return the line through t as a sum over atoms; atoms too light to matter enter only its error bound."""
        loss, log_p = np.array(self.loss), np.array(self.log_p)
        exponent = log_p + t * loss
        light = exponent < exponent.max() - LIGHT
        lost = float(np.exp(exponent[light] - exponent.max()).sum()) * (1 + 1e-9) if light.any() else 0.0
        return AtomLine(loss[~light], log_p[~light], t, self.units, self.slip, self.log_slip, lost)

    def envelope(self, t: float, count: int) -> AtomTransform:
        """The transform itself, whose bound holds at every tilt."""
        return self

    @property
    def cost(self) -> float:
        """Number of evaluations per edge: 1, because the bound is 0 everywhere."""
        return 1.0

    def log_bound(self, edges: Array) -> Array:
        """Return 0 at every edge, because the characteristic function of finitely many atoms does not decay."""
        return np.zeros(len(edges))


@dataclass(frozen=True, slots=True)
class AtomLine:
    """Values of m, a sum over finitely many losses, at Re z = t; ``lost`` is the omitted part / largest term."""

    loss: Array
    log_p: Array
    t: float
    units: float
    slip: float
    log_slip: float
    lost: float

    def cost(self, count: int) -> float:
        """Number of evaluations for ``count`` points: a matrix product, its factors, and one logarithm per point."""
        block = math.isqrt(count - 1) + 1 if count > 1 else 1
        return float(len(self.loss)) * (count / PRODUCTS + 2 * block) + LOGARITHM * count

    def cumulants(self, step: float, count: int) -> tuple[ComplexArray, Array]:
        """Return K, the logarithm of a sum over the atoms, at ``count`` points, and bounds on the errors.

        The sum is scaled by its largest term. Let ``j = a B + b`` be the index of a point, with B about the root of
        ``count``. Then ``e^(i j step L)`` is a product of two factors, so that the sums at all points are one product
        of two matrices. Each phase errs by some roundings of ``s |L|``, and each sum by one rounding per term. The
        declared errors of losses and log-masses change each term by at most ``e^(|z| slip + log_slip) - 1``, relative
        to the term.
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
        most = 1 + math.exp(self.t * self.slip + self.log_slip)  # for any phase
        off = np.minimum(np.expm1(np.minimum(self.slip * (s + self.t) + self.log_slip, LARGEST)), most)
        value, error = safe_log(m, 4 * UNIT_ROUNDOFF * worst + off * float(terms.sum()) + self.lost * (1 + off))
        return value + top, error + 4 * UNIT_ROUNDOFF * abs(top)
