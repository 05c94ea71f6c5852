"""The dominating pair of normal noise on a batch of fixed size when one record's contribution is set to zero.

The record keeps its place in the dataset. With probability q it is in the batch, and contributes x on one dataset and 0
on the other. Otherwise another record, which contributes y, is in the batch instead. Norms are at most 1, and mu is
this bound in units of the noise. Let y and all other records of the batch be given, and subtract the sum of all
contributions except y from the output. Then the two laws are

    with:  P = (1 - q) N(y) + q N(x),        zeroed:  Q = (1 - q) N(y) + q N(0).

The laws of a round are mixtures of such laws, with the same weights on both datasets, and ``H_b`` is jointly convex. So
a bound for all such P and Q is a bound for the round. By advanced joint convexity (Balle, Barthe, Gaboardi 2018
[BBG18], Theorem 2), for ``b >= 1``, with ``a = 1 + (b - 1) / q`` and ``beta = b / a``,

    H_b(P || Q) = q H_a(N(x) || (1 - beta) N(y) + beta N(0)) <= q H_a(N(0) || (1 - beta) N(2 mu) + beta N(mu)),
    H_b(Q || P) = q H_a(N(0) || (1 - beta) N(y) + beta N(x)) <= q H_a(N(0) || N(mu)) .

The first inequality holds after a shift by -x, as ``|y - x| <= 2`` and ``|x| <= 1``; the second holds as ``|x|, |y| <=
1``. Both inequalities use that the divergence between a mixture of normal laws and one normal law grows with the norm
of every shift (``pairs/mixture.py``, in both orders of the laws). Both are *attained*: the first where ``y = -x``, the
second where ``y = x``. So the worst one-round curves are

    zero-out:  b >= 1: ``H_b((1 - q) N(0) + q N(2 mu) || (1 - q) N(0) + q N(mu))``,
               b < 1:  ``1 - b + b H_(1/b)((1 - q) N(0) + q N(mu) || N(0))``, which is that of an added record;
    restore:   zero-out with the laws exchanged: ``h'(b) = 1 - b + b h(1/b)``.

Each curve is made from two pairs of mixtures, one for ``b >= 1`` and one for ``b < 1``. At ``b = 1`` both give
``q TV(N(0), N(mu))``. At every b, the curve is the largest of the curves of all instances. So it is convex, and it is
the curve of a pair with three parts: the outcomes of positive loss of the first pair, the mirror image of the outcomes
of positive loss of the second pair, and the remaining mass at loss 0. The pair dominates every instance at every b, so
that rounds compose (Zhu, Dong, Wang 2022 [ZDW22], Theorem 10). As for a replaced record, the worst instance of many
rounds is not known.

The curve is nowhere above that of a *replaced* record (``fixed_size_pair.py``, at the distance 2 mu), because each of
its two parts gets no smaller if mu becomes 2 mu and the mixture becomes one law. So moments are at most those of a
replaced record.

**A half** is the part of positive loss of ``(1 - q) N(0) + q N(c)`` against ``(1 - q) N(0) + q N(d)``, ``c > d >= 0``.
The loss is 0 where ``x = (c + d) / 2``. Let z be the distance from there, and s the share of the shifted term in the
second law: ``s / (1 - s) = q / (1 - q) e^v``, ``v = d (z + c / 2)``. Then the loss is
``log(1 + s (e^((c - d) z) - 1))``, which increases with z. Its inverse is a root of a quadratic equation in ``e^(d z)``
for ``c = 2 d``, and that of Poisson sampling for ``d = 0``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from hockeystick.numerics.normal import HALF_LOG_TWO_PI
from hockeystick.numerics.rounding import UNIT_ROUNDOFF
from hockeystick.pairs.base import Array, Atoms, DominatingPair, Masses
from hockeystick.pairs.gaussian import GaussianPair
from hockeystick.pairs.sampled.fixed_size_pair import REST_UP, WithoutReplacementPair
from hockeystick.pairs.sampled.poisson import LARGE, SAMPLED_SECONDS, unmixed_loss

STEEP = 1.0
"""Loss above which the inverse is computed relative to the loss."""

CARE = 8.0
"""Bound on the relative error, in units, of a parameter, an outcome or their product."""


@dataclass(frozen=True, slots=True)
class Half:
    """The part of (1 - q) N(0) + q N(c) against (1 - q) N(0) + q N(d) in which the loss is at least 0.

    An outcome is given by z, its distance from the outcome of loss 0.

    Attributes:
        far: c.
        near: d, half of c or 0.
        rate: q.
    """

    far: float
    near: float
    rate: float

    @property
    def start(self) -> float:
        """The outcome of loss 0."""
        return 0.5 * (self.far + self.near)

    def _mixed(self, z: Array, shift: float, other: float) -> Array:
        """Return the log-density of the mixture whose shifted term has mean ``shift``; ``other`` is the other mean."""
        x = self.start + z
        ratio = np.logaddexp(math.log1p(-self.rate), math.log(self.rate) + shift * (z + 0.5 * other))
        return -0.5 * np.square(x) - HALF_LOG_TWO_PI + (ratio if shift else 0.0)

    def log_p(self, z: Array) -> Array:
        """The log-density at z of the first law, whose shift is c."""
        return self._mixed(z, self.far, self.near)

    def log_q(self, z: Array) -> Array:
        """The log-density at z of the second law, whose shift is d."""
        return self._mixed(z, self.near, self.far)

    def _odds(self, z: Array) -> Array:
        """The log-odds of the shifted term in the second law."""
        return self.near * (z + 0.5 * self.far) + (math.log(self.rate) - math.log1p(-self.rate))

    def loss(self, z: Array) -> Array:
        """The loss ``log(1 + s (e^((c - d) z) - 1))``, which is 0 at z = 0; s is the share in the module docstring."""
        gap, odds = (self.far - self.near) * z, self._odds(z)
        log_share, log_rest = -np.logaddexp(0.0, -odds), -np.logaddexp(0.0, odds)
        with np.errstate(over="ignore"):
            plain = np.log1p(np.exp(log_share) * np.expm1(np.minimum(gap, LARGE)))
        return np.where(gap > LARGE, np.logaddexp(log_rest, log_share + gap), plain)

    def outcome(self, loss: Array) -> Array:
        """Return the z of each given loss; losses must be at least 0."""
        if not self.near:
            return unmixed_loss(loss, self.rate) / self.far
        log_k = math.log(self.rate) - math.log1p(-self.rate) + self.near * self.near
        with np.errstate(over="ignore"):
            steep = np.maximum(loss, STEEP)
            root = np.sqrt(1.0 + 4.0 * np.exp(-steep - log_k) * -np.expm1(-steep))
            beyond = steep + np.log(0.5 * (1.0 + root))
            small = np.minimum(loss, STEEP)
            w = np.expm1(2.0 * small) + 4.0 * np.expm1(small) * math.exp(-log_k)
            close = np.log1p(0.5 * (np.expm1(small) + w / (1.0 + np.sqrt(1.0 + w))))
        return np.where(loss > STEEP, beyond, close) / self.near

    def log_contrast(self, z: Array) -> Array:
        """The log of a bound on ``|p - q|``: the rate q times the sum of the two shifted normal densities."""
        x = self.start + z
        both = np.logaddexp(-0.5 * np.square(x - self.far), -0.5 * np.square(x - self.near))
        return math.log(self.rate) + both - HALF_LOG_TWO_PI

    def above(self, z: Array) -> tuple[Array, Array]:
        """Return the masses of both laws beyond z, rounded up for the first law and down for the second."""
        from scipy.special import ndtr

        x, q = self.start + z, self.rate
        rest = (1 - q) * ndtr(-x)
        care = CARE * UNIT_ROUNDOFF * (1 + x * (x + self.far))
        return (rest + q * ndtr(self.far - x)) * (1 + care), (rest + q * ndtr(self.near - x)) * np.maximum(1 - care, 0)

    def between(self, z: Array) -> tuple[Array, Array]:
        """Return the masses of both laws between 0 and z."""
        from scipy.special import ndtr

        x, q, s = self.start + z, self.rate, self.start
        rest = (1 - q) * (ndtr(-s) - ndtr(-x))
        first, second = ndtr(x - self.far) - ndtr(s - self.far), ndtr(self.near - s) - ndtr(self.near - x)
        return np.maximum(rest + q * first, 0.0), np.maximum(rest + q * second, 0.0)

    def loss_error(self, z: Array) -> Array:
        """Bound on the error of the loss, from roundings of the exponent, of the share s, and of the loss itself.

        Roundings of the exponent are multiplied by the slope of the loss in the exponent. Those of s are multiplied by
        ``1 - e^-loss``, the derivative of the loss in the logarithm of s.
        """
        loss, gap, odds = self.loss(z), (self.far - self.near) * z, np.abs(self._odds(z))
        slope = np.exp(np.minimum(-np.logaddexp(0.0, -self._odds(z)) + gap - loss, 0.0))
        share = np.minimum(loss, 1.0) * (CARE * odds + 4 * CARE)
        return 2 * CARE * slope * gap + 2 * share + 32 * loss

    def log_p_error(self, z: Array) -> Array:
        """Bound on the error of the log-density: roundings of the square and of the likelihood ratio's exponent."""
        x = self.start + z
        return 2 * CARE * np.square(x + self.far) + 32

    def reach(self, log_mass: float) -> float:
        """Return a z beyond which either law has at most ``exp(log_mass)``, by ``Phi(-r) <= exp(-r^2/2)``."""
        return self.far - self.start + math.sqrt(-2 * min(log_mass, -1.0))


@dataclass(frozen=True, slots=True)
class HalvesSmooth:
    """The smooth part of a pair in two halves, of positive losses and of negative losses.

    Attributes:
        right: the half of positive losses; its first law is P.
        left: the mirror image of the half of negative losses, in which losses have their signs changed; its second law
            is P.
    """

    right: Half
    left: Half

    kink: ClassVar[float] = 0.0
    """The outcome of loss 0 at which the two halves meet."""

    def log_p(self, x: Array) -> Array:
        """The log-density under P: the right half's first law for x >= 0, and the left half's second law for x < 0."""
        z = np.abs(x)
        return np.where(x >= 0, self.right.log_p(z), self.left.log_q(z))

    def loss(self, x: Array) -> Array:
        """The loss of the right half, or minus the loss of the left half where x < 0."""
        z = np.abs(x)
        return np.where(x >= 0, self.right.loss(z), -self.left.loss(z))

    def log_contrast(self, x: Array) -> Array:
        """The log of a bound on ``|p - q|``, from the right half where x >= 0 and from the left half where x < 0."""
        z = np.abs(x)
        return np.where(x >= 0, self.right.log_contrast(z), self.left.log_contrast(z))

    def masses(self, x: Array) -> Masses:
        """The masses of both laws below and above each x; tails are rounded in the direction of a less private pair."""
        z, origin = np.abs(x), np.zeros(1)
        (right_p, right_q), (left_p, left_q) = self.right.above(z), self.left.above(z)
        (near_p, near_q), (far_p, far_q) = self.right.between(z), self.left.between(z)
        (all_right_p, all_right_q), (all_left_p, all_left_q) = self.right.above(origin), self.left.above(origin)
        return Masses(
            np.where(x >= 0, all_left_q + near_p, left_q),
            np.where(x >= 0, right_p, all_right_p + far_q),
            np.where(x >= 0, all_left_p + near_q, left_p),
            np.where(x >= 0, right_q, all_right_q + far_p),
        )

    def outcome(self, loss: Array) -> Array:
        """Return the outcome with the given loss."""
        size = np.abs(loss)
        return np.where(loss >= 0, self.right.outcome(size), -self.left.outcome(size))

    def loss_error(self, x: Array) -> Array:
        """Bound on the error of the loss, from the right half where x >= 0 and from the left half where x < 0."""
        z = np.abs(x)
        return np.where(x >= 0, self.right.loss_error(z), self.left.loss_error(z))

    def log_p_error(self, x: Array) -> Array:
        """Bound on the error of the log-density, from the right half for x >= 0 and from the left half for x < 0."""
        z = np.abs(x)
        return np.where(x >= 0, self.right.log_p_error(z), self.left.log_p_error(z))

    def growth(self, x: Array) -> Array:
        """The growth constant of normal densities around the farthest centre."""
        return np.abs(x) + max(self.right.start + self.right.far, self.left.start + self.left.far)

    def support(self, log_mass: float) -> tuple[float, float]:
        """Return an interval around 0, whose two parts are the ranges of the left and of the right half."""
        return -self.left.reach(log_mass), self.right.reach(log_mass)


@dataclass(frozen=True, slots=True)
class ZeroedPair(DominatingPair):
    """The dominating pair of a round on a batch of fixed size when a contribution is set to zero (see the module).

    Attributes:
        mu: the norm bound of one record, in units of the noise.
        rate: share of the records in a batch, in (0, 1).
        restored: True if P is the law without the contribution.

    >>> ZeroedPair(0.5, 0.1).loss_range
    (-inf, inf)
    """

    mu: float
    rate: float
    restored: bool = False

    seconds: ClassVar[float] = SAMPLED_SECONDS

    @property
    def atoms(self) -> Atoms:
        """The atom at loss 0 with the remaining mass, which is the same under both laws."""
        from scipy.special import ndtr

        rest = (1 - self.rate) * max(float(ndtr(0.5 * self.mu) - ndtr(-1.5 * self.mu)), 0.0) + REST_UP
        log = np.array([math.log(rest)])
        return Atoms(np.zeros(1), log, log)

    @property
    def smooth(self) -> HalvesSmooth:
        """The densities of the losses other than 0; the two halves are exchanged if ``restored`` is True."""
        opposite, alone = Half(2 * self.mu, self.mu, self.rate), Half(self.mu, 0.0, self.rate)
        return HalvesSmooth(alone, opposite) if self.restored else HalvesSmooth(opposite, alone)

    loss_range: ClassVar[tuple[float, float]] = -math.inf, math.inf
    """The loss is unbounded on either side."""

    @property
    def _replaced(self) -> WithoutReplacementPair:
        return WithoutReplacementPair(GaussianPair(2 * self.mu), self.rate)

    @property
    def rho(self) -> float:
        """A rho of zero-concentrated privacy: that of a replaced record's pair, which dominates this pair."""
        return self._replaced.rho

    def log_moment(self, t: float) -> float:
        """Upper bound on K(t): the bound for a replaced record, whose curve is at least as high at every b.

        This is a bound on K(t) because, for t > 0, the moment is an integral of the curve with positive weights.
        """
        return self._replaced.log_moment(t)
