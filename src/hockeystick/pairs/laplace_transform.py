"""The characteristic function of the Laplace loss: two atoms and a smooth part between them, in closed form.

With theta = distance / scale, ``h = theta / 2``, ``w = 2z + 1``: atoms of mass ``1/2`` at theta and
``e^(-theta) / 2`` at -theta, density ``e^((L - theta)/2) / 4`` between them, so that

    m(z) = 1/2 [ e^(theta z) + e^(-theta (1+z)) + (e^(theta z) - e^(-theta (1+z))) / w ]
         = e^(-h) [cosh hw + sinh(hw) / w] .

**Stable form**, for small theta: with ``S(x) = sinh(x)/x - 1`` and ``E(h) = e^h - 1 - h``,

    m - 1 = e^(-h) [2 sinh^2(hw/2) + h S(hw) - E(h)] .

**Envelope.** With ``a = h (2t + 1)``, ``b = 2hs``: ``|cosh(a + ib)|^2 = cosh^2 a - sin^2 b``;
``|sinh(hw)/w| <= sinh(a) / (2t + 1)``, the mean of ``|e^(hwU)|`` over U uniform on [-1, 1], times h; and
``|sinh(hw)/w| <= cosh(a) / 2s``. As ``m(t) = e^(-h) [cosh a + sinh(a) / (2t+1)]`` the atoms alone never lose more
than the smooth part's share for good: b returns to multiples of pi. What is left, to the power of many rounds, is
small all the same.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hockeystick.numerics.logarithm import exp_beyond_first
from hockeystick.numerics.rounding import UNIT_ROUNDOFF
from hockeystick.pairs.transform import line_upper, safe_log_one_plus

Array = npt.NDArray[np.float64]
ComplexArray = npt.NDArray[np.complex128]

LARGEST = 300.0  # of |Re hw|: beyond, squares leave the range of a double
SERIES = 1.0  # |hw| up to which S is summed
END = np.array([np.inf])  # of the last edge
SPARE = 1e-9  # relative: pays for the roundings of the bound itself


@dataclass(frozen=True, slots=True)
class LaplaceTransform:
    """The characteristic function of one round at distance theta in scales."""

    theta: float

    @property
    def highest_tilt(self) -> float:
        """Lines are had at every tilt."""
        return math.inf

    def line(self, t: float, reach: float, tolerance: float) -> LaplaceLine:
        """The line through t, in closed form: it has no remainder but rounding."""
        return LaplaceLine(self.theta, t)

    def envelope(self, t: float, count: int) -> LaplaceEnvelope:
        """The envelope at tilt t, whatever the count."""
        return LaplaceEnvelope(self.theta, t)

    def upper(self, t: float, slack: float) -> float:
        """K(t) in closed form, plus its rounding."""
        return line_upper(self.line(t, 0.0, slack))


@dataclass(frozen=True, slots=True)
class LaplaceLine:
    """m on Re z = t."""

    theta: float
    t: float

    def cost(self, count: int) -> float:
        """About twenty elementary evaluations a point: a closed form with hyperbolic functions."""
        return 20.0 * count

    def cumulants(self, step: float, count: int) -> tuple[ComplexArray, Array]:
        """K by the stable form; an error in theta, eight roundings at most, moves the phases by as much."""
        h = 0.5 * self.theta
        a = h * (2 * self.t + 1)
        if not a < LARGEST:
            return np.full(count, np.inf, dtype=np.complex128), np.full(count, np.inf)
        s: Array = step * np.arange(count, dtype=np.float64)
        b = 2 * h * s
        half = sinh(0.5 * a, 0.5 * b)
        first = 2 * half * half
        beyond = float(exp_beyond_first(np.array([h]))[0])
        ratio = sinh_ratio(a, b)
        w = math.exp(-h) * (first + h * ratio - beyond)
        # d m / d hw is at most e^(-h) (|sinh hw| + h cosh a): an error of 16 units in hw, and 64 in each part
        size = np.abs(first) + h * (np.abs(ratio) + np.minimum(1.0, np.square(a) + np.square(b))) + beyond
        slope = np.minimum(math.sinh(a) + b, math.cosh(a)) + h * math.cosh(a)
        absolute = UNIT_ROUNDOFF * math.exp(-h) * (64 * size + 16 * slope * np.hypot(a, b))
        return safe_log_one_plus(w, absolute)


@dataclass(frozen=True, slots=True)
class LaplaceEnvelope:
    """How far m can fall.

    Attributes:
        theta: the larger of the two losses with an atom; the other one is -theta.
        t: the tilt.
        shares: of the finite mass, at the atoms and between them, where these are not the shares of Laplace noise.
    """

    theta: float
    t: float
    shares: tuple[float, float] | None = None

    @property
    def cost(self) -> float:
        """One evaluation an edge: the bound is a closed form."""
        return 1.0

    def log_bound(self, edges: Array) -> Array:
        """The worst from each edge on: between two edges, and beyond the last, where b has returned to 0."""
        h, w = 0.5 * self.theta, 2 * self.t + 1
        a = h * w
        if not a < LARGEST:
            return np.zeros(len(edges))
        ends = np.concatenate((edges, END))
        b_low, b_high = 2 * h * ends[:-1], 2 * h * ends[1:]
        crossed = np.floor(b_low / math.pi) != np.floor(b_high / math.pi)
        least = np.minimum(np.square(np.sin(b_low)), np.square(np.sin(np.where(crossed, 0.0, b_high))))
        least = np.where(crossed, 0.0, least)
        cosh, smooth = math.cosh(a), math.sinh(a) / w
        at_ends = inside = 1.0  # over e^-h, as is m(t)
        if self.shares is not None:
            at_ends, inside = self.shares[0] / math.cosh(h), self.shares[1] / math.sinh(h)
        drop = at_ends * least / (cosh + np.sqrt(np.maximum(cosh * cosh - least, 0.0)))
        drop = drop + inside * np.maximum(smooth - 0.5 * cosh / edges, 0.0)
        share = np.minimum(drop * (1 - SPARE) / (at_ends * cosh + inside * smooth), 1 - 1e-9)
        out: Array = np.log1p(-share)
        # nothing between two edges is smaller than what comes later is allowed to be
        return np.asarray(np.maximum.accumulate(out[::-1])[::-1])


def sinh(real: float, imaginary: Array) -> ComplexArray:
    """sinh of ``real + i imaginary``."""
    out: ComplexArray = math.sinh(real) * np.cos(imaginary) + 1j * (math.cosh(real) * np.sin(imaginary))
    return out


def sinh_ratio(a: float, b: Array) -> ComplexArray:
    """``sinh(x)/x - 1`` at x = a + ib, to a few roundings of itself or of 1: by its series near 0."""
    x = a + 1j * b
    small = np.abs(x) < SERIES
    if not small.any():
        whole: ComplexArray = sinh(a, b) / x - 1
        return whole
    near = np.where(small, x, 0.0)
    square = near * near
    series = np.ones_like(near)
    for n in range(10, 1, -1):  # x^2/6 (1 + x^2/20 (1 + ...)): what follows is below 2^-53 of the sum
        series = 1 + square / (2 * n * (2 * n + 1)) * series
    far = np.where(small, 1.0, x)
    out: ComplexArray = np.where(small, square / 6 * series, sinh(a, b) / far - 1)
    return out
