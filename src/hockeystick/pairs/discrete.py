"""Whole-number noise on a count: discrete Laplace and discrete Gaussian, shifted by a whole number against unshifted.

**Shifts of log-concave noise.** Let the law f of the noise be log-concave on the whole numbers (or on the reals). Then
for every difference d with ``0 <= d <= D`` the pair (f shifted by D, f) dominates (f shifted by d, f); the mirror image
serves negative d, and is the same pair where f is symmetric. Proof: ``f(x - d) / f(x)`` does not decrease in x (its
logarithm is a difference of a concave function at two places), where 0 counts as below every positive number. So by
Neyman and Pearson the best event against any ``alpha >= 0`` is a half-line ``{x >= c}``, and the hockey-stick
divergence is the largest over c of ``P(Z >= c - d) - alpha P(Z >= c)``, in which every term grows with d. It is
attained at D: the pair is tight.

**Discrete Laplace**, ``P(Z = k)`` proportional to ``e^(-|k| / scale)``: the loss ``(|k| - |k - D|) / scale`` takes the
values ``(2j - D) / scale`` for ``j = min(max(k, 0), D)`` and no others, so that there is nothing to truncate.

Between two Laplace pairs it lies, with ``a = e^(-1 / b)`` for the scale b: at ``e^eps = a^(2s - D)``, ``0 <= s <= D``,
the event of the best half-line gives ``delta = 1 - (a^(j + 1) + a^(2s - j)) / (1 + a)`` with ``j = floor(s)``. The
bracket is convex in j and symmetric about ``s - 1/2``: at least ``2 a^(s + 1/2)``, so that ``delta <= 1 - a^s / cosh(1
/ 2b)``, and on ``[s - 1, s]`` at most ``(1 + a) a^s``, so that ``delta >= 1 - a^s``. The Laplace pair at distance theta
has ``1 - e^((eps - theta) / 2)``: at ``D / b`` it is dominated, and at ``D / b + 2 log cosh(1 / 2b) <= D / b + 1 / 4
b^2`` it dominates (beyond D / b the delta is 0 above, and ``1 - e^eps``, the least of any pair, below).

**Discrete Gaussian** (Canonne, Kamath, Steinke 2020 [CKS20]), ``P(Z = k)`` proportional to ``e^(-k^2 / 2 s^2)``: the
loss ``D (2x - D) / 2 s^2`` is affine in the outcome x, so that sums of losses lie on a lattice. Outcomes farther than
``m >= 39.2 s`` from either centre are merged: the mass of P there counts as infinite loss, that of Q as mass of Q
alone. Redrawing a merged outcome from its law restores both laws, so that this pair dominates; without its mass at
infinity it is dominated. The mass is below ``2 e^-746`` and counts as the smallest double; masses at infinity are known
only to within that double anyway (``pairs/composition.py``), and neither end of any answer moves by more. Proof of
the mass: ``P(Z >= m) <= P(Z = m) / (1 - e^(-m / s^2))``, as ``f(k + 1) / f(k) <= e^(-m / s^2)`` from m on, and ``P(Z =
m) <= e^(-m^2 / 2 s^2) <= e^-768``; for s up to 10^5 the quotient is below e^10. The normaliser is ``s sqrt(2 pi) (1 + 2
e^(-2 pi^2 s^2) + ...)`` by Poisson's summation formula, whose next term is below e^-78 of it from s = 1 on.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from hockeystick.numerics.rounding import TINY
from hockeystick.pairs import concentrated, moment
from hockeystick.pairs.base import Atoms, DominatingPair

REACH = 39.2
"""Reach on either side of a discrete Gaussian's centre in units of s; the mass beyond is negligible."""

SMALL = 1.0  # s below which the normaliser is summed; from it on, Poisson's formula is used


@dataclass(frozen=True, slots=True)
class DiscreteLaplacePair(DominatingPair):
    """Discrete Laplace noise around ``distance`` against the same noise around 0.

    Attributes:
        distance: difference of the two centres, a whole number of at least 1.
        scale: scale of the noise, as the decimal that was written.
    """

    distance: int
    scale: Fraction

    @property
    def atoms(self) -> Atoms:
        """The ``distance + 1`` losses and their log-masses, computed without cancellation."""
        step = float(1 / self.scale)
        j = np.arange(self.distance + 1, dtype=np.float64)
        log_p = (j - self.distance) * step - math.log1p(math.exp(-step))  # at the upper end, of P(Z >= 0)
        log_p[1:-1] += math.log(-math.expm1(-step))
        return Atoms((2 * j - self.distance) * step, log_p, log_p[::-1])

    @property
    def loss_range(self) -> tuple[float, float]:
        """From ``-distance / scale`` to ``distance / scale``."""
        most = float(self.distance / self.scale)
        return -most, most

    @property
    def exact_supremum(self) -> Fraction:
        """The largest loss as a fraction, which makes the answer at delta 0 exact."""
        return self.distance / self.scale

    @property
    def spacing(self) -> Fraction:
        """The distance of neighbouring losses, ``2 / scale``."""
        return 2 / self.scale

    @property
    def mirrored_rho(self) -> float:
        """The rho of the pair, which is its own mirror image."""
        return self.rho


@dataclass(frozen=True, slots=True)
class DiscreteGaussianPair(DominatingPair):
    """Discrete Gaussian noise around ``distance`` against the same noise around 0.

    Attributes:
        distance: difference of the two centres, a whole number of at least 1.
        variance: the parameter ``s^2`` of the noise, exactly; about its variance where s is not small.
    """

    distance: int
    variance: Fraction

    @property
    def _last(self) -> int:
        """The last outcome considered beyond either centre."""
        return math.ceil(REACH * self._s) + 1

    @property
    def stands_in(self) -> bool:
        """True: an atom stands in for all outcomes beyond the reach."""
        return True

    @property
    def _s(self) -> float:
        return math.sqrt(float(self.variance))

    @property
    def log_normaliser(self) -> float:
        """The logarithm of the sum of ``e^(-k^2 / 2 s^2)`` over all whole numbers."""
        s, variance = self._s, float(self.variance)
        if s >= SMALL:
            return 0.5 * math.log(2 * math.pi * variance) + math.log1p(2 * math.exp(-2 * math.pi**2 * variance))
        k = np.arange(1, math.ceil(REACH) + 1, dtype=np.float64)
        return math.log1p(2 * float(np.exp(-0.5 * k * k / variance)[::-1].sum()))

    @property
    def atoms(self) -> Atoms:
        """The losses of the outcomes within reach; the mass beyond has infinite loss."""
        d, variance = float(self.distance), float(self.variance)
        m = self._last
        x = np.arange(-m, self.distance + m + 1, dtype=np.float64)
        norm = self.log_normaliser
        log_p, log_q = -0.5 * (x - d) ** 2 / variance - norm, -0.5 * x**2 / variance - norm
        loss = d * (2 * x - d) / (2 * variance)
        return Atoms(loss, log_p, log_q).beside(TINY, TINY)  # the mass that stands in for outcomes beyond the reach

    @property
    def loss_range(self) -> tuple[float, float]:
        """From the loss of the lowest outcome within reach to that of the highest."""
        m, d, variance = self._last, self.distance, float(self.variance)
        return d * (-2 * m - d) / (2 * variance), d * (2 * m + d) / (2 * variance)

    @property
    def spacing(self) -> Fraction:
        """The distance of neighbouring losses, ``distance / s^2``."""
        return self.distance / self.variance

    @property
    def rho(self) -> float:
        """``distance^2 / 2 s^2``, as for continuous noise: Canonne, Kamath, Steinke 2020 [CKS20]."""
        return concentrated.gaussian(self.distance / self._s)

    @property
    def mirrored_rho(self) -> float:
        """The rho of the pair, which is its own mirror image."""
        return self.rho

    def log_moment(self, t: float) -> float:
        """Upper bound on K(t) over all losses: at most that of continuous noise, for a whole-number shift [CKS20]."""
        return moment.gaussian(self.distance / self._s, t)
