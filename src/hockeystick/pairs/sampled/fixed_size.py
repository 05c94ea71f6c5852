"""Renyi divergence of a round on a batch of fixed size, drawn without replacement, when one record is replaced.

The bound is that of Wang, Balle, Kasiviswanathan 2019 [WBK19]. The record is in the batch with probability g = batch
size / dataset size. So the two laws of the output are ``(1 - g) r + g p`` and ``(1 - g) r + g q``, where p, q and r are
laws of the mechanism on batches, any two of which differ in one record. For whole alpha, expand the power of the
likelihood ratio around 1. The expansion has no linear term, and joint convexity gives (Theorem 9, Theorem 27)

    e^K'(alpha - 1) <= 1 + sum_(j=2)^alpha g^j C(alpha, j) Z_j,   Z_j >= sup int |p - q|^j r^(1-j).

Let (P, Q) dominate the mechanism under replacement, with ``K(t) = log E_Q (P/Q)^(1+t)`` and largest loss E. Two bounds
on ``Z_j`` follow:

- ``min(2, (e^E - 1)^j) e^K(j-1)``, since ``|p - q| <= max(p, q)`` and ``|p - q| <= (e^E - 1) min(p, q)``;
- ``4 B_j``, with ``B_j = E_Q |P/Q - 1|^j``. Where p and q are both above r or both below r,
  ``|p - q|^j <= |p - r|^j + |q - r|^j``. Where ``p > r > q``, ``r^(1-j) <= q^(1-j)``; where ``q > r > p``, exchange p
  and q. For even j, ``B_j`` is a finite difference of the moments; for odd j it is at most the geometric mean of
  ``B_(j-1)`` and ``B_(j+1)`` (Cauchy-Schwarz).

``K'`` is convex, so between two whole orders it is at most the chord (Corollary 10). At any order
``(p, q) -> p^(1+t) q^(-t)`` is jointly convex, so that ``K'(t) <= log(1 - g + g e^K(t))``. At high orders, this bound
is smaller than that of the expansion.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from hockeystick.numerics.differences import log_even_differences
from hockeystick.numerics.rounding import SMALLEST_NORMAL, UNIT_ROUNDOFF, next_up
from hockeystick.pairs import moment
from hockeystick.pairs.base import DominatingPair, RenyiCurve, rounding_of
from hockeystick.pairs.ratio_moments import ratio_moments

Array = npt.NDArray[np.float64]

MAX_ORDER = 4096  # highest order at which the expansion is summed
TABLES = (32, 128, 512, MAX_ORDER)  # sizes of the tables of bounds on Z_j, which are computed as a whole
MAX_DIFFERENCE = 256  # largest j for which B_j is computed; a whole table takes some hundredths of a second
CARE = 8 * UNIT_ROUNDOFF  # relative error charged for the roundings of one step
LOG_2, LOG_4 = math.log(2.0), math.log(4.0)  # logs of the factors of the two bounds on Z_j


@dataclass(frozen=True, slots=True)
class WithoutReplacementCurve(RenyiCurve):
    """The Renyi curve of a round on a batch of fixed size under replacement, by the bounds of this module.

    Attributes:
        base: a pair that dominates the mechanism when one record of the batch is replaced.
        rate: batch size divided by the size of the dataset, between 0 and 1.
    """

    base: DominatingPair
    rate: float

    seconds: ClassVar[float] = 0.1

    @property
    def loss_range(self) -> tuple[float, float]:
        """Bounds -b and b on the loss, with ``b = log(1 + g (e^E - 1))``.

        See Balle, Barthe, Gaboardi 2018 [BBG18], Theorem 9.
        """
        largest = self.base.loss_range[1]
        if largest == math.inf:
            return -math.inf, math.inf
        bound = moment.log_mixture(self.rate, largest)
        return -bound, bound

    @property
    def supremum_error(self) -> float:
        """Bound on the rounding error of the largest loss.

        The bound is the sum of the base's error, times a slope of at most 1, and of some roundings of the logarithm.
        """
        return self.base.supremum_error + rounding_of(self.base.loss_range[1]) + rounding_of(self.loss_range[1])

    def log_moment(self, t: float) -> float:
        """Upper bound on K'(t): the smaller of the two bounds in the module docstring."""
        convex = moment.rounded_up(moment.log_mixture(self.rate, self.base.log_moment(t)))
        if t > MAX_ORDER - 2:
            return convex
        below = math.floor(t)
        part = t - below
        line = (1 - part) * _expansion(self, below) + part * _expansion(self, below + 1)
        return min(convex, moment.rounded_up(line))


@lru_cache(maxsize=65_536)
def _expansion(curve: WithoutReplacementCurve, t: int) -> float:
    """Upper bound on K'(t) at whole t >= 0, from the expansion at order t + 1."""
    if t == 0:
        return 0.0
    order = t + 1
    j = np.arange(2.0, order + 1)
    chosen = np.cumsum(np.log((order + 1 - np.arange(1.0, order + 1)) / np.arange(1.0, order + 1)))[1:]
    powers = j * math.log(next_up(curve.rate))
    bounds = _log_bounds(curve.base, next(size for size in TABLES if size >= order))[: order - 1]
    if np.isposinf(bounds).any():
        return math.inf
    # a sum of j logarithms: each partial sum is rounded in its last place
    size = (j + 4) * (1 + np.abs(chosen)) + np.abs(powers) + np.abs(bounds)
    terms = powers + chosen + bounds + CARE * size
    top = float(terms.max())
    if top > moment.MOST_EXPONENT:
        return moment.rounded_up(top + math.log(float(np.exp(terms - top).sum()) + math.exp(-top)), top)
    return moment.rounded_up(math.log1p(math.fsum(np.exp(terms))))


@lru_cache(maxsize=4096)
def _log_bounds(base: DominatingPair, most: int) -> Array:
    """Upper bounds on ``log Z_j`` for j = 2, ..., most."""
    j = np.arange(2.0, most + 1)
    largest = max(base.loss_range[1] + base.supremum_error, SMALLEST_NORMAL)
    log_growth = math.log(math.expm1(largest)) if largest < moment.MOST_EXPONENT else math.inf
    out: Array = np.minimum(LOG_2, j * log_growth) + np.array([base.log_moment(order) for order in j - 1])
    out += CARE * (4 + j + np.abs(out))
    differences = _log_even(base, min(most, MAX_DIFFERENCE))
    for order in range(2, 2 * len(differences) - 1):
        centred = 0.5 * (differences[order // 2] + differences[(order + 1) // 2])
        out[order - 2] = min(out[order - 2], LOG_4 + centred + CARE * (2 + abs(centred)))
    return out


def _log_even(base: DominatingPair, most: int) -> list[float]:
    """Upper bounds on ``log B_j`` for even j up to ``most``, with ``B_j`` from exact moments.

    There are fewer bounds if moments are too large, and none if no closed form of the moments is known.
    ``B_j = E_Q (P/Q - 1)^j = sum_i (-1)^(j-i) C(j, i) E_Q (P/Q)^i``.
    """
    while most >= 2 and base.log_moment(most - 1.0) > moment.MOST_EXPONENT:
        most -= 2
    known = most >= 2 and ratio_moments(base, 0)
    return log_even_differences(partial(ratio_moments, base), most) if known else []
