"""Bounds on the integrand of a mixture of Gaussians off the real line, over narrow panels of outcomes.

The integrand of ``m(t + is)`` is ``phi g(x)^p g(-x)^q``, with complex powers p and q whose real parts at Re z = t are
those of ``mixture_law.py`` (q = 0 unless a record is replaced). Let ``0 <= mu y <= pi/2``, where mu is the largest
shift. Then ``g(x + iy)`` is a sum of positive numbers times ``e^(i mu_k y)``, and with weights ``w_k > 0``

    d |g|^2 / dx  = sum_jk (mu_j + mu_k) w_j w_k cos((mu_j - mu_k) y) >= 0 ,
    d |g|^2 / dy  = -sum_jk (mu_j - mu_k) w_j w_k sin((mu_j - mu_k) y) <= 0 ,
    |g|^2 d arg g / dx = sum_(j<k) (mu_k - mu_j) w_j w_k sin((mu_k - mu_j) y) >= 0 ,
    |g|^2 d arg g / dy = sum_jk mu_j w_j w_k cos((mu_j - mu_k) y) >= 0 .

Hence on a panel, an interval of outcomes, the largest and the least values of ``|g|`` and of ``arg g`` at one height y
are those at its ends. The modulus of phi at height y is ``phi(x) e^(y^2/2)``. The imaginary part of the powers leaves a
factor ``e^(-s a)``, ``a = arg g(x + iy) + arg g(-x + iy)`` (the second term only for replace-one), where x is moved up
in the complex plane, or down for add. If x is moved the other way, the factor is ``e^(s a)``.

**Step** of the trapezoid rule: the integral of the modulus along ``Im x = +-y`` is at most the sum over all panels with
the factor ``e^(S a)``, for all ``|s| <= S``. At large tilts, if a record is added, the tilted law concentrates where g
is close to its least value, so that a is far below mu y, and the nodes may be far apart. Below the first edge x_0,
``|g|`` is at least p_0 and a is no larger than at x_0. Above the last edge, ``|g|`` is at least as large as at that
edge, and a is at most mu y.

**Decay**: by Cauchy's theorem x may be moved along a path that consists of a piece at one height over each panel, of
vertical pieces at the edges between them, and of the real line beyond the first and the last edge. On each piece the
integral of the modulus is at most the length of the piece times the largest modulus. This bound decreases in s, so that
a bound at one s holds for all larger s. Any heights are sound; the heights with the least modulus are chosen.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from hockeystick.numerics.logarithm import log_sum
from hockeystick.numerics.rounding import UNIT_ROUNDOFF
from hockeystick.pairs.sampled.mixture_law import MixtureLaw, log_density, log_tail

Array = npt.NDArray[np.float64]

ROUNDINGS = 64.0  # errors of ``log |g|`` and of ``arg g``, in units, relative to the terms of each


def polar(law: MixtureLaw, x: Array, y: Array) -> tuple[Array, Array]:
    """Return ``log |g(x + iy)|`` and ``arg g(x + iy)``, with a row for each outcome x and a column for each height."""
    exponents = [math.log(p) + mu * (x - 0.5 * mu) for mu, p in zip(law.shifts, law.weights, strict=True)]
    top = np.maximum(np.max(exponents, axis=0), math.log(law.rest) if law.rest else -math.inf)
    g = np.multiply.outer(law.rest * np.exp(-top), np.ones(len(y), dtype=np.complex128))
    for mu, exponent in zip(law.shifts, exponents, strict=True):
        g += np.multiply.outer(np.exp(exponent - top), np.exp(1j * mu * y))
    return top[:, None] + np.log(np.abs(g)), np.angle(g)


class Panels:
    """Bounds on the integrand of m at tilt t over the panels between edges x, at heights y.

    Args:
        law: the round.
        t: tilt.
        x: increasing edges.
        y: increasing heights, at most ``pi / (2 mu)``.
    """

    def __init__(self, law: MixtureLaw, t: float, x: Array, y: Array) -> None:
        self._law, self._t, self._x, self._y = law, t, x, y
        self._half = 0.5 * np.square(y)
        nearest = np.maximum(np.maximum(x[:-1], -x[1:]), 0.0)
        self._panels = (log_density(nearest) + np.log(np.diff(x)))[:, None] + self._half
        self._positive, self._negative = np.zeros((2, len(x), len(y)))  # log |g|^p at the edges, p > 0 and p < 0
        self._angle = np.zeros((len(x), len(y)))
        self._least, self._most = np.zeros((2, *self._panels.shape))
        for sign, power in zip((1, -1), law.kind.coefficients(t), strict=True):
            if power:
                size, angle = polar(law, sign * x, y)
                lower, upper = (slice(None, -1), slice(1, None))[::sign]
                self._panels += power * size[upper if power > 0 else lower]
                (self._positive if power > 0 else self._negative)[:] = power * size
                self._angle = self._angle + angle
                self._least, self._most = self._least + angle[lower], self._most + angle[upper]

    @property
    def size(self) -> int:
        """The number of panels times the number of heights."""
        return self._panels.size

    @property
    def first(self) -> Array:
        """The angle a at the first edge, at each height."""
        return self._angle[:1]

    def _slack(self, s: float) -> float:
        """Bound on the rounding error of the logarithms at a height s."""
        law, farthest = self._law, float(np.abs(self._x).max())
        terms = 1 + max(-math.log(p) for p in law.weights) + law.mu * (farthest + law.mu)
        units = ROUNDINGS * terms + law.units + law.missing_units
        return UNIT_ROUNDOFF * units * (1 + 2 * self._t + s * law.mu * float(self._y[-1])) + 1e-9

    def grown(self, s: float) -> Array:
        """Return a bound on the log of the integral over each panel at each height, for all ``|Im z|`` up to s."""
        out: Array = self._panels + (s * self._most + self._slack(s))
        return out

    def log_size(self, s: float) -> Array:
        """Return, for adding a record, the log of a bound on the integral of the modulus at each height."""
        law, t, x = self._law, self._t, self._x
        below = log_tail(float(x[0])) - t * math.log(law.rest) + s * self.first
        above = log_tail(-float(x[-1])) + self._negative[-1:] + s * law.mu * self._y
        logs = np.concatenate([self.grown(s), below + self._half, above + self._half])
        top = logs.max(axis=0)
        out: Array = top + np.log(np.exp(logs - top).sum(axis=0)) + self._slack(s)
        return out

    def log_moved(self, s: float) -> float:
        """Return the log of a bound on ``|m(t + is')|`` for all ``s' >= s``; the first height must be 0."""
        places, edges = np.arange(len(self._x) - 1), np.arange(len(self._x))
        logs = self._panels - s * self._least
        height = logs.argmin(axis=1)
        path = np.concatenate([[0], height, [0]])
        low, high = np.minimum(path[1:], path[:-1]), np.maximum(path[1:], path[:-1])
        between = log_density(self._x) + self._half[high] + self._positive[edges, low] + self._negative[edges, high]
        with np.errstate(divide="ignore"):
            between += np.log(self._y[high] - self._y[low]) - s * self._angle[edges, low]
        beyond = self._law.log_beyond(self._t, float(self._x[0]), float(self._x[-1]))
        logs = np.concatenate([logs[places, height], between, [beyond]])
        return log_sum(logs) + self._slack(s)
