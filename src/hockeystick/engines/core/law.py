"""The loss L of Poisson-sampled Gaussian rounds, one kind in each row: certified bounds, and estimates for choices.

Let q be the sampling rate, mu the reciprocal of the noise multiplier and phi the standard normal density. For an
outcome x, ``g(x) = 1 - q + q e^(mu x - mu^2/2)`` is the likelihood ratio of a round with the record to a round without
the record. The characteristic function ``m(z) = E_P e^(zL)`` is ``int phi g^(1+z)`` if a record is removed, and ``int
phi g^-z`` if a record is added.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from hockeystick.engines.core.rows import Array, Columns, Mask, Rows
from hockeystick.numerics.arrays import CHUNK
from hockeystick.numerics.normal import HALF_LOG_TWO_PI
from hockeystick.numerics.rounding import UNIT_ROUNDOFF

LOW, HIGH, NODES = -6.0, 16.0, 48  # smallest and largest outcome and number of nodes for an approximate K
HUMP_LIGHT, HUMP_SEEN = -math.log(2.0), 25.0  # log of the largest 1 - w; log of the hump at the last useful tilt


def log_tail(x: Array) -> Array:
    """Upper bound on ``log Phi(-x)`` by Mills' ratio; 0 for x up to 1/2."""
    y = np.maximum(x, 0.5)
    bound = (-0.5 * y * y - HALF_LOG_TWO_PI - np.log(y)) * (1 - 1e-14)
    return np.where(x > 0.5, bound, 0.0)


@dataclass(frozen=True, slots=True)
class Law(Columns):
    """The laws of one Poisson-sampled Gaussian round of each kind; all arrays have shape (rows, 1).

    Attributes:
        mu: reciprocal of the noise multiplier.
        rate: sampling rate q.
        add: True if a record is added, False if it is removed.
    """

    mu: Array
    rate: Array
    add: Mask

    @classmethod
    def of(cls, rows: Rows) -> Law:
        """Return the law of one round of each row."""
        return cls(rows.mu[:, None], rows.rate[:, None], rows.add[:, None])

    @property
    def sign(self) -> Array:
        """The sign s with ``L = s log g``: -1 if a record is added, else 1."""
        return np.where(self.add, -1.0, 1.0)

    def power(self, t: Array) -> Array:
        """Return the exponent p with ``m(t) = int phi e^(p L)``: t if a record is added, else 1 + t."""
        return np.where(self.add, t, 1 + t)

    def gain(self, x: Array) -> Array:
        """Return ``g(x) - 1``, called the gain, at outcomes x."""
        return self.rate * np.expm1(self.mu * (x - self.mu / 2))

    def log_dip(self, t: Array, height: Array) -> Array:
        """Return the log of an upper bound on ``int phi |e^(p L(x + iy))| dx / m(t)``, where y is the height.

        If a record is removed, ``e^(pL)`` is ``g^(1+t)``, and ``|g(x+iy)| <= g(x)``: the bound is 1. If a record is
        added, ``e^(pL)`` is ``g^-t``, and the smaller of two bounds is used. The first follows from ``|g(x+iy)| >= g(x)
        cos(mu y / 2)``. The second follows from ``Re g >= 1 - q`` for ``mu y <= pi/2``, together with ``m(t) >= 1``.
        """
        dip = t * np.minimum(-np.log(np.cos(self.mu * height / 2)), -np.log1p(-self.rate))
        return np.where(self.add, dip, 0.0)

    def log_hump(self, t: Array) -> Array:
        """Return the log of ``int phi (q e^(mu x - mu^2/2))^(1+t)``, called the hump.

        The hump is the part of m(t) from rounds whose batch contains the record, if a record is removed.
        """
        out: Array = (1 + t) * (np.log(self.rate) + t * (self.mu**2 / 2))
        return out

    def beyond(self, t: Array, low: Array, high: Array, share: Array) -> Array:
        """Return an upper bound on the part of m(t) from outcomes outside [low, high], where low <= 0 <= high.

        The bound is valid for m(t) as an integral, and for m(t) as a sum over nodes at most 1 apart: such a sum is at
        most 1.5 times the integral of a unimodal density. If a record is removed, ``g^(1+t)`` is split by convexity:
        ``(a + b)^(1+t) <= w^-t a^(1+t) + (1-w)^-t b^(1+t)`` with ``w = 1 - share`` in (0, 1). The first part gives a
        normal tail. The second part gives a tail of the hump, which is normal about ``(1+t) mu``. If a record is added,
        ``g^-t <= (1-q)^-t``.
        """
        tails = np.exp(log_tail(-low)), log_tail(high)
        added = np.exp(-t * np.log1p(-self.rate)) * (tails[0] + np.exp(tails[1]))
        log_hump, log_share = self.log_hump(t), t * np.log(share)
        slip = 16 * UNIT_ROUNDOFF * ((1 + t) * (np.abs(np.log(self.rate)) + t * self.mu**2) + np.abs(log_share))
        hump = 1.5 * np.exp(log_hump - log_share + slip + log_tail(high - (1 + t) * self.mu))
        return np.where(self.add, added, tails[0] + np.exp(tails[1] - t * np.log1p(-share)) + hump)

    def reach(self, t: Array, depth: Array) -> tuple[Array, Array, Array]:
        """Return ``(-low, high, share)``: arguments for which the bound of :meth:`beyond` is about ``e^-depth``."""
        added = _far(depth - t * np.log1p(-self.rate))
        hump, halves = self.log_hump(t), depth + t * math.log(2.0)
        whole = np.maximum(_far(halves), (1 + t) * self.mu + _far(halves + hump))
        share = np.exp(np.minimum((hump + depth) / t, HUMP_LIGHT))  # with this share, the nodes need not cover the hump
        without = _far(depth - t * np.log1p(-share))
        skip = (hump + halves <= 0) & (without < whole)
        high = np.where(self.add, added, np.where(skip, without, whole))
        return np.where(self.add, added, _far(depth)), high, np.where(skip, share, 0.5)

    def guess(self, t: Array) -> Array:
        """Return approximate K at tilts of shape (rows, tilts), from a sum over a few nodes."""
        log_g, log_mass = self._few()
        seen = np.empty(t.shape)
        power = np.where(self.add, -t, 1 + t)
        rows = max(1, CHUNK // (t.shape[1] * NODES))
        for start in range(0, len(t), rows):
            part = slice(start, start + rows)
            exponent = power[part, :, None] * log_g[part, None, :]
            exponent += log_mass
            seen[part] = np.log(np.exp(exponent, out=exponent).sum(axis=2))
        # of a hump about (1 + t) mu, the nodes do not cover the part above HIGH
        unseen = self.log_hump(t) + log_tail(HIGH - (1 + t) * self.mu)
        return np.where(self.add, seen, np.logaddexp(seen, unseen))

    def single(self, log_delta: Array) -> Array:
        """Return the approximate epsilon of one round at a log delta.

        Delta is summed approximately at the losses of a few nodes, and epsilon is interpolated between these losses.
        """
        log_g, log_mass = self._few()
        g, mass = np.exp(log_g), np.exp(log_mass)
        # delta at node i: the sum of mass (1 - g / g_i) over lower nodes, or of mass (g - g_i) over higher ones
        added = np.cumsum(mass) - np.cumsum(mass * g, axis=1) / g
        removed = np.cumsum((mass * g)[:, ::-1], axis=1)[:, ::-1] - np.cumsum(mass[::-1])[::-1] * g
        found = np.log(np.maximum(np.where(self.add, added[:, ::-1], removed), 1e-300))  # decreases along the nodes
        loss = np.where(self.add, -log_g[:, ::-1], log_g)
        at = np.clip((found > log_delta).sum(axis=1), 1, NODES - 1)[:, None] + np.array([[-1, 0]])
        high, low = (column[:, None] for column in np.take_along_axis(found, at, axis=1).T)
        near, far = (column[:, None] for column in np.take_along_axis(loss, at, axis=1).T)
        share = np.clip((high - log_delta) / (high - low), 0.0, 1.0)
        out: Array = np.maximum(near + share * (far - near), 1e-3 * loss.max(axis=1, keepdims=True))
        return out

    def _few(self) -> tuple[Array, Array]:
        """Return log g at a few nodes, and the logs of the masses of these nodes under phi."""
        dx = (HIGH - LOW) / (NODES - 1)
        x = LOW + dx * np.arange(NODES, dtype=np.float64)
        return np.log1p(self.gain(x)), math.log(dx) - HALF_LOG_TWO_PI - 0.5 * x * x

    def variance(self) -> Array:
        """Return the approximate variance of the untilted loss, for choices only."""
        return self.rate**2 * np.expm1(np.minimum(self.mu**2, 600.0))

    def last_tilt(self) -> Array:
        """Return an approximate tilt above which the hump dominates m(t), for choices only."""
        linear = 0.5 * self.mu**2 - np.log(self.rate)
        end = (linear + np.sqrt(linear**2 + 2 * self.mu**2 * HUMP_SEEN)) / self.mu**2 - 1
        return np.where(self.add, np.inf, end)


def _far(depth: Array) -> Array:
    """Return the distance at which a normal density has decayed by a factor ``e^-depth``."""
    out: Array = np.sqrt(2 * np.maximum(depth, 1.0))
    return out
