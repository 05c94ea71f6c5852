"""Poisson-subsampled Gaussians as integrals over x, and where those integrals may be cut.

With phi the standard normal density, ``g(x) = 1 - q + q e^(mu x - mu^2/2)``, ``u = log g(x)``, ``v = log g(-x)``:

- remove: ``m(z) = int phi g^(1+z)``, loss u;
- add: ``m(z) = int phi g^(-z)``, loss -u;
- replace-one: ``m(z) = int phi g(x)^(1+z) g(-x)^(-z)``, loss u - v.

**Range.** ``g^(1+t) <= 2^t ((1-q)^(1+t) + q^(1+t) e^((1+t)(mu x - mu^2/2)))`` for t >= 0 and
``g^(-t) <= (1-q)^(-t)``, so that what lies beyond the ends is at most a sum of normal tails, bounded in turn by
Mills' ratio; a sum beyond the last node of a decreasing function is below its integral from that node. In all
directions ``m(t) >= 1`` for t > 0.

**Strip.** 1 - q and ``q e^(..)`` being positive weights of 1 and ``e^(i mu a)``, for ``mu a < pi``

    g(x) cos(mu a / 2) <= |g(x + ia)| <= g(x),      0 <= arg g(x + ia) <= mu a,

and ``|g(x + ia)| >= Re g(x + ia) >= 1 - q`` for ``mu a <= pi / 2``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import Enum

import numpy as np
import numpy.typing as npt

from hockeystick.numerics.rounding import UNIT_ROUNDOFF
from hockeystick.pairs.gaussian import HALF_LOG_TWO_PI
from hockeystick.pairs.poisson import mixed_loss, mixed_slope

Array = npt.NDArray[np.float64]

LOG_LARGEST = 700.0
WIDEST_STRIP = 0.97  # of pi / mu, where g may vanish


class Kind(Enum):
    """Which of the three; the coefficients (of u, of v) in the exponent are ``constant + slope * z``."""

    REMOVE = ((1.0, 1.0), (0.0, 0.0))
    ADD = ((0.0, -1.0), (0.0, 0.0))
    REPLACE = ((1.0, 1.0), (0.0, -1.0))

    def coefficients(self, t: float) -> tuple[float, float]:
        """Real coefficients of u and v at Re z = t."""
        (a0, a1), (b0, b1) = self.value
        return a0 + a1 * t, b0 + b1 * t

    @property
    def slopes(self) -> tuple[float, float]:
        """Coefficients of u and v in the loss."""
        return self.value[0][1], self.value[1][1]


@dataclass(frozen=True, slots=True)
class Nodes:
    """Values at nodes x: ``exponent`` A (the real part of the exponent of g), ``loss`` L, u and v; ``care``: bound on
    the relative rounding error of ``phi e^A``; ``slip``: on the absolute one of u, of v and of the loss. Where
    ``mu x - mu^2/2`` cancels, its own rounding is what counts, times the slope of u."""

    x: Array
    exponent: Array
    loss: Array
    u: Array
    v: Array
    care: Array
    slip: Array


@dataclass(frozen=True, slots=True)
class MixtureLaw:
    """One sampled round."""

    mu: float
    rate: float
    kind: Kind

    def at(self, x: Array, t: float) -> Nodes:
        """Everything that the integrals need at the nodes."""
        mu, q = self.mu, self.rate
        towards = mu * (x - 0.5 * mu)
        u = mixed_loss(towards, q)
        ca, cb = self.kind.coefficients(t)
        slope_u, slope_v = self.kind.slopes
        # one unit of q: q |e^l - 1| / g = |1 - 1/g|
        rate_slip = np.abs(np.expm1(-u))
        rated = abs(ca) * rate_slip
        # roundings of x = x_0 + j dx (3, one of them of x_0), of mu (1 and 2), of the difference and the product
        size = mu * (5 * np.abs(x) + 3 * mu + abs(float(x[0])))
        moved = mixed_slope(towards, u, q) * size
        slip, inner = 16 * np.abs(u) + moved, abs(ca) * moved
        if self.kind is Kind.REPLACE:
            away = mu * (-x - 0.5 * mu)
            v = mixed_loss(away, q)
            rate_slip, rated = rate_slip + np.abs(np.expm1(-v)), rated + abs(cb) * np.abs(np.expm1(-v))
            moved = mixed_slope(away, v, q) * size
            slip, inner = slip + 16 * np.abs(v) + moved, inner + abs(cb) * moved
            exponent, loss = ca * u + cb * v, slope_u * u + slope_v * v
        else:
            v = np.zeros_like(x)
            exponent, loss = ca * u, slope_u * u
        inner = inner + 16 * (np.abs(ca * u) + np.abs(cb * v)) + 4 * rated
        slip = slip + 4 * rate_slip
        care = UNIT_ROUNDOFF * (64 + 4 * np.square(x) + inner)
        return Nodes(x, exponent, loss, u, v, care, UNIT_ROUNDOFF * slip)

    def log_strip(self, a: Array | float, t: float, s: Array | float) -> Array:
        """``log (M / m(t))``, M a bound on ``int |integrand of m(t + is)|`` along ``Im x = +-a``, for ``mu a < pi``."""
        a = np.asarray(a)
        turns = 2.0 if self.kind is Kind.REPLACE else 1.0
        out: Array = 0.5 * np.square(a) + turns * s * self.mu * a + self.log_dip(a, t)
        return out

    def log_dip(self, a: Array | float, t: float) -> Array:
        """By how much ``|g(.. + ia)|^(-t)`` may exceed ``g^(-t)``, as a factor of m(t): nothing for remove."""
        a = np.asarray(a, dtype=np.float64)
        if self.kind is Kind.REMOVE:
            return np.zeros_like(a)
        dip: Array = -t * np.log(np.cos(0.5 * self.mu * a))
        if self.kind is Kind.ADD:  # (1 - q)^(-t), as m(t) >= 1
            dip = np.where(self.mu * a <= 0.5 * math.pi, np.minimum(dip, -t * math.log1p(-self.rate)), dip)
        return dip

    def range_for(self, t: float, s: float, tolerance: float) -> tuple[float, float]:
        """Ends beyond which the bound of :meth:`log_beyond` is about the tolerance, relative to m(t)."""
        depth = -math.log(tolerance) + math.log(4 + 2 * t + 2 * s)
        ratio = 0.0 if self.kind is Kind.REMOVE else -t * math.log1p(-self.rate)
        first = math.log(self.rate) + depth

        def far(d: float) -> float:
            return math.sqrt(2 * max(d, 1.0))

        if self.kind is Kind.ADD:
            return -far(depth + ratio), max(far(depth), self.mu + far(first))
        lifted = self._lifted(t)
        wide = depth + ratio + t * math.log(2) - max(lifted, 0.0)
        low = max(far(depth + ratio), far(first) + self.mu if self.kind is Kind.REPLACE else 0.0)
        return -low, max(far(wide), far(depth), self.mu + far(first), (1 + t) * self.mu + far(wide + lifted))

    def _lifted(self, t: float) -> float:
        return (1 + t) * math.log(self.rate) + 0.5 * t * (1 + t) * self.mu**2

    def log_beyond(self, t: float, low: float, high: float) -> float:
        """log of a bound on ``int phi e^A`` below ``low`` and above ``high`` together, or on sums over nodes there."""
        t_log2 = t * math.log(2)
        if self.kind is Kind.ADD:
            return _log_sum(-t * math.log1p(-self.rate) + log_tail(low), log_tail(-high))
        if high <= (1 + t) * self.mu or low >= 0:  # not yet where the integrand falls
            return math.inf
        ratio = -t * math.log1p(-self.rate) if self.kind is Kind.REPLACE else 0.0
        jumped = self._lifted(t) + log_tail((1 + t) * self.mu - high)
        return ratio + _log_sum(log_tail(low), t_log2 + _log_sum(log_tail(-high), jumped))

    def first_order_beyond(self, t: float, s: Array, low: float, high: float) -> Array:
        """Bound on what the first-order terms of m - 1 leave out beyond both ends."""
        ca, cb = self.kind.coefficients(t)
        weight = abs(ca) + abs(cb) + 2 * np.abs(s)
        tails = math.exp(log_tail(low)) + math.exp(log_tail(-high))
        lowest = low + self.mu if self.kind is Kind.REPLACE else low  # g falls towards low, unless v counts
        shifted = math.exp(log_tail(lowest)) + math.exp(log_tail(self.mu - high))
        out: Array = (1 + 2 * weight) * tails + weight * self.rate * shifted
        return out


def log_density(x: Array) -> Array:
    """Of the standard normal law."""
    out: Array = -0.5 * np.square(x) - HALF_LOG_TWO_PI
    return out


def log_tail(x: float) -> float:
    """An upper bound on ``log Phi(x)``: Mills' ratio, ``Phi(x) <= phi(x) / |x|`` for x < 0."""
    if x >= -0.5:
        return 0.0
    return (-0.5 * x * x - HALF_LOG_TWO_PI - math.log(-x)) * (1 - 1e-14)


def _log_sum(a: float, b: float) -> float:
    return max(a, b) + math.log1p(math.exp(-abs(a - b))) if max(a, b) > -math.inf else -math.inf
