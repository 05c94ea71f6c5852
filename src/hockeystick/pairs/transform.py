"""Interface of the characteristic functions of privacy losses along a vertical line, with every error bounded.

Notation: ``m(z) = E_P e^(zL)``, ``K = log m``, ``z = t + is``. A :class:`Transform` gives engines three things about
one round: K on the line, an upper bound on K(t), and a bound on the decay of ``|m(t + is)| / m(t)``.
"""

from __future__ import annotations

import math
from typing import Protocol

import numpy as np
import numpy.typing as npt

from hockeystick.numerics.arrays import BLOCK
from hockeystick.numerics.logarithm import log_one_plus
from hockeystick.numerics.rounding import UNIT_ROUNDOFF

MOST_EVALUATIONS = 60_000_000  # most evaluations of elementary functions on a line: more would take many seconds

Array = npt.NDArray[np.float64]
ComplexArray = npt.NDArray[np.complex128]


class Line(Protocol):
    """Values of K of one round on the line Re z = t, up to some height |Im z|."""

    def cost(self, count: int) -> float:
        """Return the approximate number of elementary evaluations for ``count`` points."""
        ...

    def cumulants(self, step: float, count: int) -> tuple[ComplexArray, Array]:
        """Return ``K(t + i j step)`` for j < count, and a bound on the absolute error of each value."""
        ...


class Envelope(Protocol):
    """Bound on the decay of the characteristic function along a vertical line."""

    @property
    def cost(self) -> float:
        """Approximate number of elementary evaluations of the bound at one edge."""
        ...

    def log_bound(self, edges: Array) -> Array:
        """Return, for each of increasing edges, an upper bound on ``log |m(t + is) / m(t)|`` for all ``s >= edge``.

        No bound is positive.
        """
        ...


class Transform(Protocol):
    """The characteristic function m of the loss of one round."""

    @property
    def highest_tilt(self) -> float:
        """The largest tilt t for which :meth:`line` is available, by default infinite; :meth:`upper` has no limit."""
        return math.inf

    def line(self, t: float, reach: float, tolerance: float) -> Line:
        """Return K on the line through t > 0 for ``|s| <= reach``, with remainders below ``tolerance`` if possible."""
        ...

    def envelope(self, t: float, count: int) -> Envelope:
        """Return the envelope at t to a relative error of about 1/count; engines raise it to the power ``count``."""
        ...

    def upper(self, t: float, slack: float) -> float:
        """Return an upper bound on K(t) that exceeds K(t) by about ``slack`` at most; ``inf`` if there is none.

        By default, the bound is computed from a line.
        """
        return line_upper(self.line(t, 0.0, slack))


class SampledTransform(Transform, Protocol):
    """The characteristic function of the loss of one Poisson-sampled round."""

    def log_moment(self, t: float) -> float:
        """Return the sharpest upper bound on K(t) that takes a few milliseconds; ``inf`` if there is none."""
        ...


def line_upper(line: Line) -> float:
    """Return an upper bound on K(t): the line's value at s = 0 plus the bound on its error."""
    values, errors = line.cumulants(1.0, 1)
    return float(values[0].real + errors[0])


def safe_log(m: ComplexArray, absolute: Array) -> tuple[ComplexArray, Array]:
    """Return log m and a bound on the error of log m, given a bound ``absolute`` on the error of m.

    Where m may be 0 within its error, the log of twice the error is returned in place of log m. Then |m| is at most
    three times the error, so that ``|m^k - e^(k value)| <= e^(k value) (e^(2k) - 1)`` still holds.
    """
    value, error = np.empty(m.shape, dtype=np.complex128), np.empty(m.shape)
    for first in range(0, len(m), BLOCK):
        piece = slice(first, first + BLOCK)
        size = np.abs(m[piece])
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            value[piece], error[piece] = _guarded(np.log(size), np.angle(m[piece]), size, absolute[piece])
    return value, error


def safe_log_one_plus(w: ComplexArray, absolute: Array) -> tuple[ComplexArray, Array]:
    """Return ``log(1 + w)`` and a bound on its error, like :func:`safe_log` of ``1 + w`` but accurate for small w."""
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        return _guarded(*log_one_plus(w), absolute)


def _guarded(log_size: Array, angle: Array, size: Array, absolute: Array) -> tuple[ComplexArray, Array]:
    small = size < 2 * absolute
    log_size = np.where(small, np.log(2 * absolute), log_size)
    error = np.where(small, 2.0, absolute / np.maximum(size - absolute, 1e-300))
    return log_size + 1j * angle, error + 8 * UNIT_ROUNDOFF * (np.abs(log_size) + np.abs(angle))
