"""Mixtures of Gaussians against one Gaussian: the likelihood ratio g, and bounds on integrals of its powers.

With phi the standard normal density, shifts ``0 < mu_1 < ... < mu_n = mu``, weights ``p_k > 0`` and the rest ``p_0 = 1
- sum p_k >= 0``,

    g(x) = p_0 + sum_k p_k e^(mu_k x - mu_k^2/2),    u = log g(x), v = log g(-x),

where u increases and is convex in x. A Poisson-sampled Gaussian has one shifted term, whose weight is the rate. Below,
``E_k = e^(mu_k x - mu_k^2/2)``, ``E_0 = 1``, ``mu_0 = 0``, and the *share* of the k-th term is ``p_k E_k / g``.

- remove: ``m(z) = int phi g^(1+z)``, loss u;
- add: ``m(z) = int phi g^(-z)``, loss -u;
- replace-one: ``m(z) = int phi g(x)^(1+z) g(-x)^(-z)``, loss u - v; there ``p_0 > 0``.

**Strip.** ``g(x + ia) = sum_k w_k e^(i mu_k a)`` with positive w_k whose sum is g(x), and angles in [0, mu a]. For ``mu
a < pi``, the projection of each term on the direction of the angle ``mu a / 2`` is at least ``cos(mu a / 2)`` times its
length. So

    g(x) cos(mu a / 2) <= |g(x + ia)| <= g(x),      0 <= arg g(x + ia) <= mu a,

so that g has no zero there, and ``|g(x + ia)| >= Re g(x + ia) >= p_0 + (g(x) - p_0) cos(mu a)`` for ``mu a <= pi / 2``.
``int phi (g - 1) = 0`` as the weights add up to 1.

**Range.** By Minkowski's inequality in ``L^(1+t)``, for integrals over an interval and for sums over the nodes beyond
one end,

    int phi g^(1+t) <= ( sum_k p_k (int phi E_k^(1+t))^(1/(1+t)) )^(1+t),
    int_h^inf phi E_k^(1+t) = e^(t (1+t) mu_k^2 / 2) Phi((1+t) mu_k - h) .

For x <= 0, g <= 1. For add, ``g^(-t) <= p_k^(-t) E_k^(-t)`` for every k. So the part below an outcome l is at most
``p_k^(-t) e^(t (1+t) mu_k^2 / 2) Phi(l + t mu_k)``, where k = 0 is taken if there is a term without a shift. As g
increases, the part above an outcome h is at most ``g(h)^(-t) Phi(-h)``. The sum of a Gaussian over the nodes beyond an
end is below its integral there if its centre is not beyond that end. If the centre is beyond the end, the sum is at
most the whole integral plus the largest term: 1 + dx / sqrt(2 pi) times the integral, a factor whose log is below
CENTRE for every dx <= 7.

For replace-one, the bound for remove is multiplied by ``p_0^(-t)``, as ``g(-x)^(-t) <= p_0^(-t)``.

In all directions ``m(t) >= 1`` for t > 0, and for remove ``m(t) >= p_k^(1+t) e^(t (1+t) mu_k^2 / 2)``.

**Rounding.** With ``A = sum_k p_k |E_k - 1| / g`` the sum ``g - 1 = sum_k p_k (E_k - 1)`` has three errors: a few units
and the number of terms, times ``A g``; for each term, ``p_k E_k`` times the error of its exponent; and the units of the
weights, times ``A g``. This sum is used while it is above -1/2 and no exponent is beyond the range of a double.
Otherwise ``log sum_k e^(log p_k + ..)`` is used, with p_0 among the terms. Its errors are the roundings of the largest
exponents, the units of the weights, and the units of 1 in p_0, divided by g.

**Missing mass.** The true weight of the term without a shift may be less than the given one, by at most a tiny number
T. Then the true g lies between the computed g less T and the computed g. So u has a further error of at most ``T / (g -
T)``, which is charged like a rounding, with g >= p_0. And ``int phi (g - 1)`` may be as low as -T, which moves each
first-order term by at most T.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import Enum
from functools import cached_property

import numpy as np
import numpy.typing as npt

from hockeystick.numerics.normal import HALF_LOG_TWO_PI
from hockeystick.numerics.rounding import SPARE, UNIT_ROUNDOFF
from hockeystick.pairs.sampled.poisson import HALF, LARGE

Array = npt.NDArray[np.float64]

CENTRE = math.log(4.0)  # log of the factor by which a sum over nodes of a Gaussian may exceed its integral
ROUNDS = 60  # most steps in the search for a range; only a few are ever taken


class Kind(Enum):
    """The direction, given by the coefficients of u and v in the exponent, each written as ``constant + slope * z``."""

    REMOVE = ((1.0, 1.0), (0.0, 0.0))
    ADD = ((0.0, -1.0), (0.0, 0.0))
    REPLACE = ((1.0, 1.0), (0.0, -1.0))

    def coefficients(self, t: float) -> tuple[float, float]:
        """Return the real coefficients of u and v at Re z = t."""
        (a0, a1), (b0, b1) = self._value_  # four times as fast in Python as ``value``
        return a0 + a1 * t, b0 + b1 * t

    @property
    def slopes(self) -> tuple[float, float]:
        """The coefficients of u and of v in the loss."""
        return self._value_[0][1], self._value_[1][1]


class _Ratio:
    """Values of ``log g`` at given points, with the shares of the terms of g and bounds on rounding errors.

    Args:
        law: the round.
        x: shape (n,), the points: nodes, or minus nodes.

    Attributes:
        log: shape (n,), ``log g``.
    """

    def __init__(self, law: MixtureLaw, x: Array) -> None:
        self._law = law
        shifts, weights = np.array(law.shifts)[:, None], np.array(law.weights)
        self._towards: Array = shifts * (x - 0.5 * shifts)
        lifted = np.expm1(np.minimum(self._towards, LARGE))
        excess = weights @ lifted  # g - 1
        self._whole: npt.NDArray[np.bool_] = (excess < -HALF) | (self._towards.max(axis=0) > LARGE)
        self.log: Array = np.log1p(np.maximum(excess, -HALF))
        self._spread: Array = (weights @ np.abs(lifted)) / (1 + np.maximum(excess, -HALF))
        self._log_weights = np.log(weights)[:, None]
        if self._whole.any():
            self._take_whole()
        size, first = np.abs(x), abs(float(x[0]))
        # roundings of x = x_0 + j dx (3, one of them of x_0), of mu (1 and 2), of the difference and the product
        self._size = law.mu * (5 * size + (3 * law.mu + first))

    def _take_whole(self) -> None:
        """Recompute ``log g`` as the logarithm of the sum of all terms, where ``log(1 + (g - 1))`` is not accurate."""
        at, rest = self._whole, self._law.rest
        exponents = self._log_weights + self._towards[:, at]
        top = exponents.max(axis=0)
        if rest:
            top = np.maximum(top, math.log(rest))
        total = np.exp(exponents - top).sum(axis=0) + (np.exp(math.log(rest) - top) if rest else 0.0)
        self.log[at] = top + np.log(total)
        # errors of the weights, and of 1 in p_0, in units; roundings of log p_k and of the exponents, 16 units each
        logs = np.abs(self._log_weights).max() + (abs(math.log(rest)) if rest else 0.0)
        self._spread[at] = 1 + 0.25 * (logs + np.abs(top))
        if rest:
            self._spread[at] += np.exp(-self.log[at])

    @cached_property
    def rise(self) -> Array:
        """R, the slope of ``log g`` over the largest shift mu: the mean of ``mu_k / mu``, weighted by the shares."""
        shares = np.exp(np.minimum(self._log_weights + self._towards - self.log, 0.0))
        part = np.array(self._law.shifts) / self._law.mu
        rise: Array = np.minimum(part @ shares, 1.0)
        return rise

    def share_units(self) -> Array:
        """Return a bound on the relative rounding errors of the shares of g's terms, in units.

        The bound includes the errors of log p_k, of the exponent, and of log g.
        """
        logs = 4 * np.abs(self._log_weights).max() + 16 * np.abs(self._towards).max(axis=0)
        units: Array = 64 + logs + self._size + self.units() + self._law.units
        return units

    def units(self) -> Array:
        """Bound on the absolute rounding error of ``log g``, in units."""
        terms = 16 + len(self._law.shifts) + self._law.units
        units: Array = 16 * np.abs(self.log) + self.rise * self._size + terms * self._spread
        return units + self._law.missing_units


class Nodes:
    """Values of a round at nodes x, with bounds on their rounding errors.

    Args:
        law: the round.
        x: shape (n,), the nodes.
        t: tilt.

    Attributes:
        mu: the largest shift.
        logs: shape (1, n) or (2, n), ``log g(x)`` and, for replace-one, ``log g(-x)``.
        powers: shape (1, 1) or (2, 1), coefficients of ``logs`` in the real part of the exponent.
        slopes: shape (1, 1) or (2, 1), coefficients of ``logs`` in the loss.
        u: shape (n,), ``log g(x)``.
        exponent: shape (n,), A, the real part of the exponent.
    """

    def __init__(self, law: MixtureLaw, x: Array, t: float) -> None:
        self._ratios = [_Ratio(law, at) for at in ((x, -x) if law.kind is Kind.REPLACE else (x,))]
        number, self.mu = len(self._ratios), law.mu
        self.logs: Array = np.array([ratio.log for ratio in self._ratios])
        self.powers = np.array(law.kind.coefficients(t))[:number, None]
        self.slopes = np.array(law.kind.slopes)[:number, None]
        self.u: Array = self.logs[0]
        self.exponent: Array = (self.powers * self.logs).sum(axis=0)
        size, first = np.abs(x), abs(float(x[0]))
        self._phi_care = size * (4 * size + first) + 64

    @property
    def loss(self) -> Array:
        """The loss L at the nodes, of shape (n,)."""
        loss: Array = (self.slopes * self.logs).sum(axis=0)
        return loss

    @property
    def rises(self) -> list[Array]:
        """R, the slope of ``log g`` divided by mu, at x and, for replace-one, at -x."""
        return [ratio.rise for ratio in self._ratios]

    def share_units(self) -> Array:
        """Bound on the relative rounding errors of the shares, in units."""
        units: Array = np.max([ratio.share_units() for ratio in self._ratios], axis=0)
        return units

    def care(self) -> Array:
        """Bound on the relative rounding error of ``phi e^A``."""
        units: Array = self._phi_care + (np.abs(self.powers) * self._units).sum(axis=0)
        return UNIT_ROUNDOFF * units

    def slip(self) -> Array:
        """Return a bound that holds for the absolute rounding errors of u, of v and of the loss."""
        units: Array = self._units.sum(axis=0)
        return UNIT_ROUNDOFF * units

    @cached_property
    def _units(self) -> Array:
        """Bounds on the absolute rounding errors of ``logs``, in units."""
        return np.array([ratio.units() for ratio in self._ratios])


@dataclass(frozen=True, slots=True)
class MixtureLaw:
    """A mixture of Gaussians against a single Gaussian, in one direction.

    Attributes:
        shifts: shifts of the terms in units of the noise, positive and increasing.
        weights: weights of the shifted terms.
        rest: weight of the unshifted term: 1 minus the sum of ``weights``, up to rounding.
        kind: the direction.
        units: relative error of each weight, in multiples of the unit round-off.
        missing: largest amount by which the true weight of the unshifted term is below ``rest``; at most half of
            ``rest``.
    """

    shifts: tuple[float, ...]
    weights: tuple[float, ...]
    rest: float
    kind: Kind
    units: float = 8.0
    missing: float = 0.0

    @property
    def missing_units(self) -> float:
        """Bound on the error of u due to ``missing``, in units; at least half of p_0 remains."""
        return 2 * self.missing / (self.rest * UNIT_ROUNDOFF) if self.missing else 0.0

    @property
    def mu(self) -> float:
        """The largest shift mu."""
        return self.shifts[-1]

    @property
    def terms(self) -> int:
        """The number of shifted terms."""
        return len(self.shifts)

    @property
    def rate(self) -> float:
        """The total weight of the shifted terms; for a sampled Gaussian, the sampling rate."""
        return math.fsum(self.weights)

    def log_strip(self, a: Array | float, t: float, s: Array | float) -> Array:
        """Return log(M / m(t)), for ``mu a < pi``.

        M bounds the integral of ``|integrand of m(t + is)|`` along ``Im x = a`` and along ``Im x = -a``.
        """
        a = np.asarray(a)
        turns = 2.0 if self.kind is Kind.REPLACE else 1.0
        return 0.5 * np.square(a) + turns * s * self.mu * a + self.log_dip(a, t)

    def log_dip(self, a: Array | float, t: float) -> Array:
        """Return the log of the largest factor of ``int phi |g|^(-t)`` with g at x + ia instead of x; 0 for remove."""
        a = np.asarray(a, dtype=np.float64)
        if self.kind is Kind.REMOVE:
            return np.zeros_like(a)
        dip: Array = -t * np.log(np.cos(0.5 * self.mu * a))
        if self.kind is Kind.ADD and self.rest:
            dip = np.where(self.mu * a <= 0.5 * math.pi, np.minimum(dip, -t * math.log(self.rest)), dip)
        return dip

    def _lifted(self, t: float, power: float) -> tuple[Array, Array]:
        """Return ``power log p_k + t (1 + t) mu_k^2 / 2`` and the shift mu_k of every term, the unshifted one first."""
        shifts = np.array(self.shifts if not self.rest else (0.0, *self.shifts))
        weights = np.array(self.weights if not self.rest else (self.rest, *self.weights))
        out: Array = power * np.log(weights) + 0.5 * t * (1 + t) * np.square(shifts)
        return out, shifts

    def _below(self, t: float) -> tuple[Array, Array]:
        """Return ``-t log p_k + t (1 + t) mu_k^2 / 2`` and mu_k of each term that bounds g from below for add."""
        lifted, shifts = self._lifted(t, -t)
        return (lifted[:1], shifts[:1]) if self.rest else (lifted, shifts)

    def range_for(self, t: float, s: float, tolerance: float) -> tuple[float, float]:
        """Return a lower and an upper outcome such that the part of m(t) from beyond them is about ``tolerance m(t)``.

        The range is sufficient for heights up to s on the line Re z = t.
        """
        depth = -math.log(tolerance) + math.log(4 + 2 * t + 2 * s)
        plain = depth + np.log(np.array(self.weights))  # depth of the first-order terms
        first = np.where(plain > 0, np.array(self.shifts) + _far(plain), 0.0)
        high = max(float(_far(depth)), float(first.max()))
        if self.kind is Kind.ADD:
            lifted, shifts = self._below(t)
            low = float((-t * shifts - _far(depth + lifted)).max())
            return min(low, -float(_far(depth))), high
        depth += self._log_ratio(t)
        lifted, shifts = self._lifted(t, 1 + t)
        lift = max(float(lifted.max()), 0.0)
        tail = depth + lifted - lift
        high = max(high, float(np.where(tail > 0, (1 + t) * shifts + _far(tail), 0.0).max()))
        low = -float(_far(depth))
        if self.kind is Kind.REPLACE:
            low = min(low, -float(first.max()))
        for _ in range(ROUNDS):
            excess = self.log_beyond(t, low, high) - self._log_ratio(t) - lift + depth
            if excess <= 0:
                break
            apart = high - (1 + t) * self.mu
            high = high + 1.0 if apart < 1 else high - apart + math.sqrt(apart * apart + 2 * excess)
        return low, high

    def log_beyond(self, t: float, low: float, high: float) -> float:
        """Return the log of a bound on ``int phi e^A`` outside [low, high].

        The bound also holds for the sum over the nodes outside.
        """
        if low >= 0 or high <= 0:
            return math.inf
        if self.kind is Kind.ADD:
            lifted, shifts = self._below(t)
            below = min(
                lift + (log_tail(low + t * shift) if low + t * shift <= 0 else CENTRE)
                for lift, shift in zip(lifted.tolist(), shifts.tolist(), strict=True)
            )
            above = -t * self._log_g(high) * (1 - SPARE) + log_tail(-high)
            return float(np.logaddexp(below, above)) + SPARE * (1 + abs(above) + t)
        lifted, shifts = self._lifted(t, 1 + t)
        tails = np.array(
            [log_tail((1 + t) * shift - high) if high >= (1 + t) * shift else CENTRE for shift in shifts.tolist()]
        )
        each = (lifted + tails) / (1 + t)
        top = float(each.max())
        above = (1 + t) * (top + math.log(float(np.exp(each - top).sum())) + SPARE * (1 + abs(top)) / (1 + t))
        return float(np.logaddexp(log_tail(low), above)) + self._log_ratio(t) + SPARE

    def _log_ratio(self, t: float) -> float:
        """Return the log of a bound on ``g(-x)^-t`` for replace-one, and 0 for the other directions."""
        return -t * math.log(self.rest) * (1 + SPARE) if self.kind is Kind.REPLACE else 0.0

    def _log_g(self, x: float) -> float:
        exponents = [math.log(p) + mu * (x - 0.5 * mu) for mu, p in zip(self.shifts, self.weights, strict=True)]
        if self.rest:
            exponents.append(math.log(self.rest))
        top = max(exponents)
        return top + math.log(math.fsum(math.exp(exponent - top) for exponent in exponents))

    def first_order_beyond(self, t: float, s: Array, low: float, high: float) -> Array:
        """Return, for each s, a bound on the part of the first-order terms of m - 1 from outside [low, high].

        Below ``low``, where x <= 0, g <= 1. For replace-one, g(-x) below ``low`` behaves as g does above ``-low``.
        """
        ca, cb = self.kind.coefficients(t)
        weight = abs(ca) + abs(cb) + 2 * np.abs(s)
        tails = math.exp(log_tail(low)) + math.exp(log_tail(-high))
        below = self._shifted(-low) if self.kind is Kind.REPLACE else math.exp(log_tail(low))
        shifted = below + self._shifted(high)
        return (1 + 2 * weight) * tails + weight * (shifted + self.missing)

    def _shifted(self, high: float) -> float:
        """Return an upper bound on ``sum_k p_k int phi E_k`` above ``high``, and on the sum over nodes there."""
        return math.fsum(
            p * math.exp(log_tail(mu - high) if high >= mu else CENTRE)
            for mu, p in zip(self.shifts, self.weights, strict=True)
        )


def _far(depth: Array | float) -> Array:
    """Return the number of standard deviations beyond which a normal tail is below ``e^-depth``, at least sqrt(2)."""
    far: Array = np.sqrt(2 * np.maximum(depth, 1.0))
    return far


def log_density(x: Array) -> Array:
    """The logarithm of the standard normal density."""
    return -0.5 * np.square(x) - HALF_LOG_TWO_PI


def log_tail(x: float) -> float:
    """Upper bound on ``log Phi(x)`` by Mills' ratio, ``Phi(x) <= phi(x) / |x|`` for x < 0."""
    if x >= -0.5:
        return 0.0
    return (-0.5 * x * x - HALF_LOG_TWO_PI - math.log(-x)) * (1 - 1e-14)
