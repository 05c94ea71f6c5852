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
from functools import cached_property
from typing import Any, Protocol, cast

import numpy as np
import numpy.typing as npt

from hockeystick.numerics.normal import HALF_LOG_TWO_PI
from hockeystick.numerics.rounding import UNIT_ROUNDOFF
from hockeystick.numerics.work import remembered
from hockeystick.pairs.sampled.gaussian_share import Share, Shares
from hockeystick.pairs.sampled.poisson import chord, mixed_loss, mixed_slope

Array = npt.NDArray[np.float64]

LOG_LARGEST = 700.0  # exponent that a double can hold
MOSTLY = 0.9  # rate beyond which a chord is steep
WIDEST_STRIP = 0.97  # of pi / mu, where g may vanish
SPARE = 1e-9  # relative: pays for the roundings of the remainders themselves
LEAST_DIP, KEPT_DIPS = 20.0, 16  # of the log of a factor that is worth a search, and results of it that are kept
DIP_AT: Array = np.linspace(-35.0, 5.0, 161)  # outcomes at which it is looked
LOG_BELOW: Array = np.log([0.5 * math.erfc(-x / math.sqrt(2)) for x in DIP_AT.tolist()])  # log Phi there


class Kind(Enum):
    """Which of the three; the coefficients (of u, of v) in the exponent are ``constant + slope * z``."""

    REMOVE = ((1.0, 1.0), (0.0, 0.0))
    ADD = ((0.0, -1.0), (0.0, 0.0))
    REPLACE = ((1.0, 1.0), (0.0, -1.0))

    def coefficients(self, t: float) -> tuple[float, float]:
        """Real coefficients of u and v at Re z = t."""
        (a0, a1), (b0, b1) = self._value_  # which Python finds four times as fast as ``value``
        return a0 + a1 * t, b0 + b1 * t

    @property
    def slopes(self) -> tuple[float, float]:
        """Coefficients of u and v in the loss."""
        return self._value_[0][1], self._value_[1][1]


class Nodes:
    """Values of a round at nodes x, and bounds on what rounding does to them. Where ``mu x - mu^2/2`` cancels, its own
    rounding is what counts, times the slope of u.

    Args:
        law: the round.
        x: shape (n,).
        t: tilt.

    Attributes:
        towards: ``mu x - mu^2/2``.
        u, v: ``log g(x)``, ``log g(-x)``; v is ``None`` where it does not enter.
        exponent: A, the real part of the exponent of g.
    """

    def __init__(self, law: MixtureLaw, x: Array, t: float) -> None:
        self._law, self._x = law, x
        mu = law.mu
        self._ca, self._cb = law.kind.coefficients(t)
        self.towards = mu * (x - 0.5 * mu)
        self.u, self.v = mixed_loss(self.towards, law.rate), None
        self.exponent: Array = self._ca * self.u
        if law.kind is Kind.REPLACE:
            self._away = mu * (-x - 0.5 * mu)
            self.v = mixed_loss(self._away, law.rate)
            self.exponent = self.exponent + self._cb * self.v
        # roundings of x = x_0 + j dx (3, one of them of x_0), of mu (1 and 2), of the difference and the product
        size, first = np.abs(x), abs(float(x[0]))
        self._size = mu * (5 * size + (3 * mu + first))
        self._phi_care = size * (4 * size + first) + 64

    @property
    def loss(self) -> Array:
        """The loss L at the nodes, of shape (n,)."""
        slope_u, slope_v = self._law.kind.slopes
        return slope_u * self.u if self.v is None else slope_u * self.u + slope_v * self.v

    @cached_property
    def rising(self) -> Array:
        """Slope of u by ``mu x - mu^2/2``, in (0, 1)."""
        return mixed_slope(self.towards, self.u, self._law.rate)

    @cached_property
    def falling(self) -> Array:
        """Slope of v by ``-mu x - mu^2/2``, in (0, 1); 0 where v does not enter."""
        return np.zeros_like(self.u) if self.v is None else mixed_slope(self._away, self.v, self._law.rate)

    @cached_property
    def _rate_slip(self) -> tuple[Array, Array | float]:
        """What one unit of q does to u and v: ``q |e^l - 1| / g = |1 - 1/g|``."""
        return np.abs(np.expm1(-self.u)), 0.0 if self.v is None else np.abs(np.expm1(-self.v))

    @property
    def shares(self) -> tuple[Share, Share | None]:
        """The shares of the shifted term in g(x), and in g(-x) where that enters."""
        falling = None if self.v is None else Share(self.falling, self._law.mu)
        return Share(self.rising, self._law.mu), falling

    def share_units(self) -> Array:
        """Bound on the relative rounding errors of the shares, in units."""
        mu = self._law.mu
        units: Array = 64 + 16 * (np.abs(self.towards) + mu * mu + abs(math.log(self._law.rate)))
        return units if self.v is None else units + 16 * mu * np.abs(self._x)

    def care(self) -> Array:
        """Bound on the relative rounding error of ``phi e^A``."""
        inner = self._share(self.u, self._ca, self.rising, self._rate_slip[0])
        if self.v is not None:
            inner = inner + self._share(self.v, self._cb, self.falling, self._rate_slip[1])
        return UNIT_ROUNDOFF * (self._phi_care + inner)

    def _share(self, u: Array, coefficient: float, slope: Array, rate_slip: Array | float) -> Array:
        out: Array = abs(coefficient) * (slope * self._size + 16 * np.abs(u) + 4 * rate_slip)
        return out

    def rough_care(self) -> Array:
        """A quicker bound, no smaller: with 1 for the slopes, and ``|1 - 1/g| <= C |u|``.

        Above u = 0 with C = 1; below, where ``u >= log(1 - q)``, by the chord of ``e^-u - 1`` to there.
        """
        q = self._law.rate
        if q > MOSTLY:  # the chord is steep
            return self.care()
        each = 16 + 4 * chord(q)
        inner = abs(self._ca) * (self._size + each * np.abs(self.u))
        if self.v is not None:
            inner = inner + abs(self._cb) * (self._size + each * np.abs(self.v))
        return UNIT_ROUNDOFF * (self._phi_care + inner)

    def slip(self) -> Array:
        """Bound on the absolute rounding error of u, of v and of the loss."""
        slip = 16 * np.abs(self.u) + self.rising * self._size + 4 * self._rate_slip[0]
        if self.v is not None:
            slip = slip + 16 * np.abs(self.v) + self.falling * self._size + 4 * self._rate_slip[1]
        return UNIT_ROUNDOFF * slip


class AnyNodes(Protocol):
    """What the line and the envelope ask of a round at nodes; each is as in :class:`Nodes`."""

    @property
    def u(self) -> Array:
        """The values ``log g(x)``."""
        ...

    @property
    def v(self) -> Array | None:
        """The values ``log g(-x)``; ``None`` where that does not enter."""
        ...

    @property
    def exponent(self) -> Array:
        """The real part A of the exponent of g."""
        ...

    @property
    def loss(self) -> Array:
        """The loss at the nodes."""
        ...

    @property
    def shares(self) -> tuple[Shares, Shares | None]:
        """The shares of the terms of g(x), and of g(-x) where that enters."""
        ...

    def share_units(self) -> Array:
        """Bound on the relative rounding errors of the shares, in units."""
        ...

    def care(self) -> Array:
        """Bound on the relative rounding error of ``phi e^A``."""
        ...

    def rough_care(self) -> Array:
        """A quicker bound on the same, no smaller."""
        ...

    def slip(self) -> Array:
        """Bound on the absolute rounding error of u, of v and of the loss."""
        ...


class GaussianLaw(Protocol):
    """A round whose loss is the logarithm of a mixture of Gaussian likelihood ratios, g, up to its sign.

    :class:`MixtureLaw` has two terms, ``mixture_law.py`` any number of them.
    """

    @property
    def mu(self) -> float:
        """The largest of the shifts."""
        ...

    @property
    def kind(self) -> Kind:
        """The direction of the pair."""
        ...

    @property
    def terms(self) -> int:
        """How many exponentials a node takes, which is what it costs."""
        ...

    def nodes(self, x: Array, t: float) -> AnyNodes:
        """Values at nodes, and bounds on what rounding does to them."""
        ...

    def log_strip(self, a: Array | float, t: float, s: Array | float) -> Array:
        """Bound on the integrand of ``m(t + is)`` along ``Im x = +-a``, as the logarithm of a factor of m(t)."""
        ...

    def log_dip(self, a: Array | float, t: float) -> Array | float:
        """The log of how much ``|g(.. + ia)|^(-t)`` may exceed ``g^(-t)``, as a factor of m(t)."""
        ...

    def range_for(self, t: float, s: float, tolerance: float) -> tuple[float, float]:
        """Ends beyond which the bound of :meth:`log_beyond` is about the tolerance, relative to m(t)."""
        ...

    def log_beyond(self, t: float, low: float, high: float) -> float:
        """log of a bound on ``int phi e^A`` below ``low`` and above ``high`` together, or on sums over nodes there."""
        ...

    def first_order_beyond(self, t: float, s: Array, low: float, high: float) -> Array:
        """Bound on what the first-order terms of m - 1 leave out beyond both ends."""
        ...

    def off_the_line(self, log_outside: float, t: float, high: float, shift: float) -> float:
        """The bound of :meth:`log_beyond` for add where x is moved up by at most the shift, ``mu shift <= pi / 2``."""
        ...


@dataclass(frozen=True, slots=True)
class MixtureLaw:
    """One Poisson-sampled round of Gaussian noise, in one direction."""

    mu: float
    rate: float
    kind: Kind

    @property
    def terms(self) -> int:
        """One exponential a node."""
        return 1

    def nodes(self, x: Array, t: float) -> Nodes:
        """Values at nodes, and bounds on what rounding does to them."""
        return Nodes(self, x, t)

    def log_strip(self, a: Array | float, t: float, s: Array | float) -> Array:
        """``log (M / m(t))``, M a bound on ``int |integrand of m(t + is)|`` along ``Im x = +-a``, for ``mu a < pi``."""
        turns = 2.0 if self.kind is Kind.REPLACE else 1.0
        out: Any = 0.5 * (a * a) + turns * s * self.mu * a + self.log_dip(a, t)
        return cast(Array, out)

    def log_dip(self, a: Array | float, t: float) -> Array | float:
        """The log of how much ``|g(.. + ia)|^(-t)`` may exceed ``g^(-t)``, as a factor of m(t): 0 for remove."""
        if self.kind is Kind.REMOVE:
            return 0.0
        a = np.asarray(a, dtype=np.float64)
        dip: Array = -t * np.log(np.cos(0.5 * self.mu * a))
        if self.kind is Kind.ADD:
            dip = np.where(self.mu * a <= 0.5 * math.pi, np.minimum(dip, _most_dip(self.mu, self.rate, t)), dip)
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

    def off_the_line(self, log_outside: float, t: float, high: float, shift: float) -> float:
        """The bound of :meth:`log_beyond` for add, with g above the range taken off the real line.

        There g >= 1 is used, and ``|g(x + iy)|^2 >= (1 - q)^2 + 2 q (1 - q) e^l cos(mu y) + q^2 e^(2l)``.
        """
        lift = self.rate * math.exp(min(self.mu * high - 0.5 * self.mu**2, 300.0))
        rest, cosine = 1 - self.rate, max(math.cos(self.mu * shift) - SPARE, 0.0)
        least = 0.5 * math.log(rest * rest + 2 * rest * lift * cosine + lift * lift) - SPARE
        return log_outside + t * max(-least, 0.0)

    def first_order_beyond(self, t: float, s: Array, low: float, high: float) -> Array:
        """Bound on what the first-order terms of m - 1 leave out beyond both ends."""
        ca, cb = self.kind.coefficients(t)
        weight = abs(ca) + abs(cb) + 2 * np.abs(s)
        tails = math.exp(log_tail(low)) + math.exp(log_tail(-high))
        lowest = low + self.mu if self.kind is Kind.REPLACE else low  # g falls towards low, unless v counts
        shifted = math.exp(log_tail(lowest)) + math.exp(log_tail(self.mu - high))
        out: Array = (1 + 2 * weight) * tails + weight * self.rate * shifted
        return out


@remembered(KEPT_DIPS)
def _most_dip(mu: float, rate: float, t: float) -> float:
    """log of a bound on ``(1 - q)^(-t) / m(t)`` for add: of ``(1 - q)^(-t)``, as m(t) >= 1, or nearer the largest loss.

    There, g being increasing, ``m(t) >= Phi(x) g(x)^(-t)`` for any x, and ``g / (1 - q) = 1 + q / (1 - q) e^l``.
    """
    most = -t * math.log1p(-rate)
    if most <= LEAST_DIP:
        return most
    odds = math.log(rate) - math.log1p(-rate) + mu * (DIP_AT - 0.5 * mu)
    caps = t * np.log1p(np.exp(np.minimum(odds, LOG_LARGEST))) - LOG_BELOW
    return min(most, float(caps.min()) * (1 + SPARE))


def log_density(x: Array) -> Array:
    """The logarithm of the standard normal density."""
    out: Array = -0.5 * np.square(x) - HALF_LOG_TWO_PI
    return out


def log_tail(x: float) -> float:
    """An upper bound on ``log Phi(x)``: Mills' ratio, ``Phi(x) <= phi(x) / |x|`` for x < 0."""
    if x >= -0.5:
        return 0.0
    return (-0.5 * x * x - HALF_LOG_TWO_PI - math.log(-x)) * (1 - 1e-14)


def _log_sum(a: float, b: float) -> float:
    return max(a, b) + math.log1p(math.exp(-abs(a - b))) if max(a, b) > -math.inf else -math.inf
