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

from hockeystick.numerics.rounding import UNIT_ROUNDOFF

Array = npt.NDArray[np.float64]
ComplexArray = npt.NDArray[np.complex128]


class Line(Protocol):
    """K of one round on the line Re z = t, |Im z| <= some reach."""

    @property
    def cost(self) -> int:
        """Elementary evaluations for each point of the line."""
        ...

    def cumulants(self, s: Array) -> tuple[ComplexArray, Array]:
        """``K(t + is)`` and a bound on the absolute error of each value."""
        ...


class Transform(Protocol):
    """The characteristic function of one round."""

    def line(self, t: float, reach: float, tolerance: float) -> Line:
        """The line through t > 0, for ``|s| <= reach``; analytic remainders of K below ``tolerance`` where possible."""
        ...

    def log_variation(self, t: float) -> float:
        """log of a constant C with ``|m(t + is)| / m(t) <= C / s`` for all s > 0; ``inf`` where there is none."""
        ...

    def mean_distance(self, t: float) -> float:
        """An upper bound on ``E |L - c|`` under the law tilted by t, for some c: how fast the transform can change."""
        ...

    def envelope_reach(self, t: float) -> float:
        """Up to where :meth:`log_envelope` profits from edges much less than ``1 / mean_distance`` apart."""
        ...

    def log_envelope(self, t: float, edges: Array, count: int) -> Array:
        """Upper bounds, non-positive, on ``log sup |m(t + is)| / m(t)`` over each [edges[i], edges[i + 1]].

        ``count`` is the power to which they will be raised: a bound is wanted to about 1/count.
        """
        ...


@dataclass(frozen=True, slots=True)
class QuadraticTransform:
    """The Gaussian: ``K(z) = mu^2 z (1 + z) / 2`` exactly."""

    mu: float

    def line(self, t: float, reach: float, tolerance: float) -> QuadraticLine:
        """No remainder but rounding."""
        return QuadraticLine(self.mu, t)

    def log_variation(self, t: float) -> float:
        """``sup s e^(-mu^2 s^2 / 2) = e^(-1/2) / mu``."""
        return -0.5 - math.log(self.mu) + 1e-12

    def mean_distance(self, t: float) -> float:
        """At most the standard deviation, mu."""
        return self.mu

    def envelope_reach(self, t: float) -> float:
        """Nowhere."""
        return 0.0

    def log_envelope(self, t: float, edges: Array, count: int) -> Array:
        """``-mu^2 s^2 / 2`` at the lower end."""
        decay: Array = -0.5 * np.square(self.mu * edges[:-1]) * (1 - 1e-12)
        return decay


@dataclass(frozen=True, slots=True)
class QuadraticLine:
    """K of the Gaussian on Re z = t."""

    mu: float
    t: float
    cost: int = 1

    def cumulants(self, s: Array) -> tuple[ComplexArray, Array]:
        """Closed form; relative error a few roundings, eight of them from mu."""
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
    """

    loss: tuple[float, ...]
    log_p: tuple[float, ...]

    def line(self, t: float, reach: float, tolerance: float) -> AtomLine:
        """No remainder but rounding."""
        return AtomLine(np.array(self.loss), np.array(self.log_p), t)

    def log_variation(self, t: float) -> float:
        """Infinite."""
        return math.inf

    def mean_distance(self, t: float) -> float:
        """Not used: nothing falls."""
        return 0.0

    def envelope_reach(self, t: float) -> float:
        """Nowhere."""
        return 0.0

    def log_envelope(self, t: float, edges: Array, count: int) -> Array:
        """0: characteristic functions of lattice laws are periodic."""
        return np.zeros(len(edges) - 1)


@dataclass(frozen=True, slots=True)
class AtomLine:
    """m of finitely many losses on Re z = t."""

    loss: Array
    log_p: Array
    t: float

    @property
    def cost(self) -> int:
        """Number of atoms."""
        return len(self.loss)

    def cumulants(self, s: Array) -> tuple[ComplexArray, Array]:
        """K by the sum itself, scaled by its largest term."""
        exponent = self.log_p + self.t * self.loss
        top = float(exponent.max())
        terms = np.exp(exponent - top)
        m = np.einsum("sn,n->s", np.exp(1j * np.multiply.outer(s, self.loss)), terms)
        worst = (
            16
            + float(np.abs(self.log_p).max() + np.abs(exponent).max() + abs(top))
            + 2 * float(np.abs(self.loss).max()) * s
        )
        value, error = safe_log(m, 4 * UNIT_ROUNDOFF * np.abs(worst) * terms.sum())
        return value + top, error


def safe_log(m: ComplexArray, absolute: Array) -> tuple[ComplexArray, Array]:
    """log m and the error that an absolute error of m causes in it.

    Where m may be 0 within its error, a value stands in for which ``|m^k - e^(k value)| <= e^(k value) (e^(2k) - 1)``
    still holds: |m| is then at most three times the error, and the value is the log of twice the error.
    """
    size = np.abs(m)
    small = size < 2 * absolute
    with np.errstate(divide="ignore"):
        log_size = np.log(np.where(small, 2 * absolute, size))
    error = np.where(small, 2.0, absolute / np.maximum(size - absolute, 1e-300)) + 8 * UNIT_ROUNDOFF * (
        1 + np.abs(log_size)
    )
    return log_size + 1j * np.angle(m), error
