"""The characteristic function of a window of losses (``laplace_window.py``), in closed form.

With ``h = w / 2`` and ``W = 2z + 1`` the atoms at the ends of the window add ``2 A e^-h cosh hW`` to m, and the density
``c e^(l/2)`` between them adds ``4 c sinh(hW) / W``. Let F be the finite mass, and let a and b be the shares of F that
belong to the atoms and to the density, ``a + b = 1``. Then

    m(z) = F [ a cosh(hW) / cosh(h)  +  b sinh(hW) / (W sinh(h)) ] .

**Stable form**, for a small window: with ``S(x) = sinh(x)/x - 1``,

    m / F - 1 = 2 a sinh(h (1 + z)) sinh(h z) / cosh(h)  +  b (S(hW) - S(h)) / (1 + S(h)) .

**Envelope.** With ``p = h (2t + 1)`` and ``y = 2hs``: ``|cosh(p + iy)|^2 = cosh^2 p - sin^2 y``; ``|sinh(hW)/W|`` has
two bounds. It is at most ``sinh(p) / (2t + 1)``, which is h times the mean of ``|e^(hWU)|`` over U uniform on [-1, 1].
It is also at most ``cosh(p) / 2s``. The part of the atoms does not decay, as y returns to multiples of pi; only the
part of the density decays. The bound on m is therefore not small for one round, but its power for many rounds is small.

The loss of Laplace noise has the window ``w = theta`` = distance / scale, ``a = (1 + e^-w) / 2`` and ``b = (1 - e^-w) /
2``: atoms of mass ``1/2`` at theta and ``e^(-theta) / 2`` at -theta, density ``e^((l - theta)/2) / 4`` between them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from hockeystick.numerics.rounding import SPARE, UNIT_ROUNDOFF
from hockeystick.pairs import moment
from hockeystick.pairs.transform import Array, ComplexArray, Transform, safe_log_one_plus

LARGEST = 300.0  # largest |Re hW|: for larger values, squares leave the range of a double
SERIES = 1.0  # largest |hW| for which S is summed as a series
END = np.array([np.inf])  # upper end of the interval that begins at the last edge

MASS_UNITS = 6000.0
"""Bound on the relative error of the infinite-loss mass, in units: eight roundings of an exponent of at most 745."""


@dataclass(frozen=True, slots=True)
class WindowTransform(Transform):
    """The characteristic function of the finite losses of a window of losses.

    Attributes:
        width: w, the largest finite loss.
        ends: a, the share of the finite mass in the two atoms.
        between: b, the share of the finite mass in the density between the atoms.
        log_finite: log F.
        infinite: ``1 - F``, the mass at infinite loss.
    """

    width: float
    ends: float
    between: float
    log_finite: float
    infinite: float

    def line(self, t: float, reach: float, tolerance: float) -> WindowLine:
        """Return the line through t, in closed form: its only error is rounding."""
        return WindowLine(self, t)

    def envelope(self, t: float, count: int) -> WindowEnvelope:
        """Return the envelope at tilt t, which does not depend on ``count``."""
        return WindowEnvelope(self, t)

    def log_moment(self, t: float) -> float:
        """Return an upper bound on K(t) by the closed form or, beyond the range of a double, by its growing part alone.

        ``m / F = e^(tw) [a (1 + e^-2p) / (1 + e^-w) + b (1 - e^-2p) / ((2t + 1) (1 - e^-w))]``. Where the growing part
        is used, p is at least :data:`LARGEST`, so that ``e^-2p`` is less than a rounding. The bracket is at most 1,
        since no loss is above w.
        """
        end = t * self.width + self.log_finite + self.finite_error
        upper = self.upper(t, 0.0)
        if math.isfinite(upper):
            return min(upper, moment.rounded_up(end, abs(self.log_finite)))
        fall = math.exp(-self.width)
        share = self.ends / (1 + fall) - self.between / (2 * t + 1) / math.expm1(-self.width)
        log_share = math.log(share + MASS_UNITS * UNIT_ROUNDOFF)  # a and b come from exponents of up to 745, too
        return moment.rounded_up(end + min(log_share, 0.0), abs(self.log_finite) + 1 - log_share)

    @property
    def finite_error(self) -> float:
        """Return a bound on the rounding error of log F, due to the error of ``1 - F`` and to the logarithm."""
        lost = min(self.infinite, 1.0) * MASS_UNITS
        return UNIT_ROUNDOFF * (2 * lost + 64 * (abs(self.log_finite) + self.infinite))


@dataclass(frozen=True, slots=True)
class WindowLine:
    """The function K = log m on the line Re z = t.

    Attributes:
        of: the transform.
        t: the tilt.
    """

    of: WindowTransform
    t: float

    def cost(self, count: int) -> float:
        """Number of evaluations for ``count`` points: about thirty per point, for hyperbolic functions."""
        return 30.0 * count

    def cumulants(self, step: float, count: int) -> tuple[ComplexArray, Array]:
        """Return K at ``count`` points by the stable form, and bounds on the errors; w may err by eight roundings."""
        h, a, b = 0.5 * self.of.width, self.of.ends, self.of.between
        p = h * (2 * self.t + 1)
        if not p < LARGEST:
            return np.full(count, np.inf, dtype=np.complex128), np.full(count, np.inf)
        y: Array = h * step * np.arange(count, dtype=np.float64)  # Im hz, half of Im hW
        atoms = 2 * sinh(h * (1 + self.t), y) * sinh(h * self.t, y) / math.cosh(h)
        ratio, own = sinh_ratio(p, 2 * y), float(sinh_ratio(h, np.zeros(1))[0].real)
        smooth = (ratio - own) / (1 + own)
        value = a * atoms + b * smooth
        # slope bounds the derivative of m / F by hW; 16 units of error of hW and of h, and 64 of each part
        at_ends, inside = a / math.cosh(h), b * h / math.sinh(h)
        far = np.hypot(p, 2 * y)
        slope = at_ends * np.minimum(math.sinh(p) + 2 * y, math.cosh(p)) + inside * math.cosh(p) * np.minimum(far, 1.0)
        size = a * np.abs(atoms) + b * (np.abs(ratio) + own + np.minimum(1.0, np.square(far))) / (1 + own)
        shifted = h * math.tanh(h) * (at_ends * math.cosh(p) + inside * math.sinh(p) / p)
        found, error = safe_log_one_plus(value, UNIT_ROUNDOFF * (64 * size + 16 * slope * far + 16 * shifted))
        return found + self.of.log_finite, error + self.of.finite_error


@dataclass(frozen=True, slots=True)
class WindowEnvelope:
    """Bound on the decay of ``|m(t + is)|`` as s grows.

    Attributes:
        of: the transform.
        t: the tilt.
    """

    of: WindowTransform
    t: float

    @property
    def cost(self) -> float:
        """Number of evaluations per edge: 1, because the bound is a closed form."""
        return 1.0

    def log_bound(self, edges: Array) -> Array:
        """Return, for each edge, the largest value that the bound takes at or above this edge.

        Above the last edge, ``sin^2 y`` is replaced by 0.
        """
        h, w = 0.5 * self.of.width, 2 * self.t + 1
        a = h * w
        if not a < LARGEST:
            return np.zeros(len(edges))
        ends = np.concatenate((edges, END))
        b_low, b_high = 2 * h * ends[:-1], 2 * h * ends[1:]
        crossed = np.floor(b_low / math.pi) != np.floor(b_high / math.pi)
        least = np.minimum(np.square(np.sin(b_low)), np.square(np.sin(np.where(crossed, 0.0, b_high))))
        least = np.where(crossed, 0.0, least)
        cosh, smooth = math.cosh(a), math.sinh(a) / w
        at_ends, inside = self.of.ends / math.cosh(h), self.of.between / math.sinh(h)
        drop = at_ends * least / (cosh + np.sqrt(np.maximum(cosh * cosh - least, 0.0)))
        drop = drop + inside * np.maximum(smooth - 0.5 * cosh / edges, 0.0)
        share = np.minimum(drop * (1 - SPARE) / (at_ends * cosh + inside * smooth), 1 - 1e-9)
        out: Array = np.log1p(-share)
        # the bound for all s at or above an edge is at least the bound for later edges
        return np.asarray(np.maximum.accumulate(out[::-1])[::-1])


def sinh(real: float, imaginary: Array) -> ComplexArray:
    """Return sinh of ``real + i imaginary``."""
    out: ComplexArray = math.sinh(real) * np.cos(imaginary) + 1j * (math.cosh(real) * np.sin(imaginary))
    return out


def sinh_ratio(a: float, b: Array) -> ComplexArray:
    """Return ``sinh(x)/x - 1`` at x = a + ib, to a few roundings of itself or of 1; near 0 it is summed as a series."""
    x = a + 1j * b
    small = np.abs(x) < SERIES
    if not small.any():
        whole: ComplexArray = sinh(a, b) / x - 1
        return whole
    near = np.where(small, x, 0.0)
    square = near * near
    series = np.ones_like(near)
    for n in range(10, 1, -1):  # x^2/6 (1 + x^2/20 (1 + ...)): the remainder is below 2^-53 of the sum
        series = 1 + square / (2 * n * (2 * n + 1)) * series
    far = np.where(small, 1.0, x)
    out: ComplexArray = np.where(small, square / 6 * series, sinh(a, b) / far - 1)
    return out
