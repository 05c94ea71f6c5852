"""Discrete Laplace and discrete Gaussian noise on a count: noise shifted by a whole number against unshifted noise.

**Shifts of log-concave noise.** Let the law f of the noise be log-concave on the whole numbers (or on the reals). Then
for every difference d with ``0 <= d <= D`` the pair (f shifted by D, f) dominates (f shifted by d, f). For negative d
the mirror image of that pair dominates, which is the same pair if f is symmetric. Proof: ``f(x - d) / f(x)`` does not
decrease in x, since log f is concave (log 0 is minus infinity). So by the Neyman-Pearson lemma the best event at any
``alpha >= 0`` is a half-line ``{x >= c}``. The hockey-stick divergence is the maximum over c of ``P(Z >= c - d) - alpha
P(Z >= c)``, and for every c this number does not decrease in d. The pair is tight, because datasets with the difference
D attain it.

**Discrete Laplace**, ``P(Z = k)`` proportional to ``e^(-|k| / scale)``: the loss ``(|k| - |k - D|) / scale`` takes only
the values ``(2j - D) / scale`` with ``j = min(max(k, 0), D)``, so that no outcome has to be left out.

**Discrete Gaussian** (Canonne, Kamath, Steinke 2020 [CKS20]), ``P(Z = k)`` proportional to ``e^(-k^2 / 2 s^2)``: the
loss ``D (2x - D) / 2 s^2`` is affine in the outcome x, so that sums of losses lie on a lattice. The tails beyond ``m >=
39.2 s`` are cut off (:class:`CutNoisePair`): ``P(Z > m) <= P(Z = m) / (1 - e^(-m / s^2))``, as ``f(k + 1) / f(k) <=
e^(-m / s^2)`` from m on, and ``P(Z = m) <= e^(-m^2 / 2 s^2) <= e^-768``; for s up to 10^5 the factor ``1 / (1 - e^(-m /
s^2))`` is below e^10. The normaliser is ``s sqrt(2 pi) (1 + 2 e^(-2 pi^2 s^2) + ...)`` by Poisson's summation formula.
The first term left out is below e^-78 of the sum if s >= 1.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import ClassVar

import numpy as np

from hockeystick.numerics.rounding import TINY
from hockeystick.pairs import concentrated, moment
from hockeystick.pairs.base import Array, Atoms, DominatingPair

REACH = 39.2
"""Distance from the centre of a discrete Gaussian, in units of s, beyond which the mass is negligible."""

SMALL = 1.0  # s below which the normaliser is summed; from it on, Poisson's formula is used
LEFT_OUT = 746.0  # minus the log of the bound on a tail that is cut off; twice ``e^-746`` is below the smallest double
KEPT = 16  # number of pairs whose atoms are cached: the largest pairs have 40,000 atoms


@dataclass(frozen=True, slots=True)
class DiscreteLaplacePair(DominatingPair):
    """Discrete Laplace noise around ``distance`` against the same noise around 0.

    Attributes:
        distance: difference of the two centres, a whole number of at least 1.
        scale: scale of the noise, the exact value of the decimal that the user wrote.
    """

    distance: int
    scale: Fraction

    symmetric: ClassVar[bool] = True

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
        """The losses range from ``-distance / scale`` to ``distance / scale``."""
        most = float(self.distance / self.scale)
        return -most, most

    @property
    def exact_supremum(self) -> Fraction:
        """The largest loss, ``distance / scale``, as an exact fraction."""
        return self.distance / self.scale

    @property
    def spacing(self) -> Fraction:
        """The difference of neighbouring losses, ``2 / scale``."""
        return 2 / self.scale


class CutNoisePair(DominatingPair):
    """Symmetric noise Z on the whole numbers, shifted by ``distance``, against Z itself: outcomes far out are merged.

    The merged outcomes are those below ``-reach`` and above ``distance + reach``. P's mass on them is put at loss +inf,
    and Q's mass at loss -inf. Redrawing a merged outcome from the tail of its own law restores P and Q, so that the
    merged pair dominates (P, Q). Without its mass at infinite loss, the merged pair is dominated by (P, Q). Each of the
    two masses is at most ``2 P(Z > reach)``, which a subclass proves to be at most ``2 e^-746``. The smallest double is
    larger, and replaces each mass. Upper bounds count this double. Lower bounds do not count it at infinite loss, and
    subtract it where sampling makes its loss finite (:attr:`stands_in`). So merging moves no end of an answer by more
    than a few smallest doubles for each round.

    Attributes:
        distance: difference of the two centres, a whole number of at least 1.
    """

    symmetric: ClassVar[bool] = True

    distance: int

    @property
    @abstractmethod
    def reach(self) -> int:
        """Number of outcomes kept on either side of the centres, with ``P(Z > reach) <= e^-746``."""

    @abstractmethod
    def law(self, x: Array) -> tuple[Array, Array]:
        """Return the losses of the outcomes x, and the logarithms of their masses ``P(Z = x)``.

        The losses increase. A loss has a relative error of a few roundings, and a log-mass an absolute error of a few
        roundings of ``1 + |log-mass|``. No larger errors are allowed, because :attr:`atoms` declares none.
        """

    @property
    def atoms(self) -> Atoms:
        """One atom for each outcome near the centres, and two atoms for all other outcomes; cached for speed."""
        return _cut(self)

    @property
    def stands_in(self) -> bool:
        """True: atoms at infinite loss replace the outcomes too far from the centres to have atoms of their own."""
        return True


@lru_cache(KEPT)
def _cut(pair: CutNoisePair) -> Atoms:
    loss, log_q = pair.law(np.arange(-pair.reach, pair.distance + pair.reach + 1.0))
    return Atoms(loss, log_q[::-1], log_q).beside(TINY, TINY)


@dataclass(frozen=True, slots=True)
class DiscreteGaussianPair(CutNoisePair):
    """Discrete Gaussian noise around ``distance`` against the same noise around 0.

    Attributes:
        distance: difference of the two centres, a whole number of at least 1.
        variance: the exact parameter ``s^2`` of the noise, which is close to its variance unless s is small.
    """

    distance: int
    variance: Fraction

    @property
    def reach(self) -> int:
        """A whole number above 39.2 s; the module docstring bounds the mass beyond it."""
        return math.ceil(REACH * self._s) + 1

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

    def law(self, x: Array) -> tuple[Array, Array]:
        """Return the losses, which are affine in x, and the log-masses."""
        d, variance = float(self.distance), float(self.variance)
        return d * (2 * x - d) / (2 * variance), -0.5 * x**2 / variance - self.log_normaliser

    @property
    def spacing(self) -> Fraction:
        """The difference of neighbouring losses, ``distance / s^2``."""
        return self.distance / self.variance

    @property
    def rho(self) -> float:
        """A rho of zero-concentrated privacy, ``distance^2 / 2 s^2``, as for continuous noise (see [CKS20])."""
        return concentrated.gaussian(self.distance / self._s)

    def log_moment(self, t: float) -> float:
        """Upper bound on K(t): K(t) of continuous Gaussian noise with the same s, which is no smaller (see [CKS20])."""
        return moment.gaussian(self.distance / self._s, t)
