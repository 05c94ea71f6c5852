"""Gaussian noise on a vector whose norm is estimated by random projections: a random sensitivity.

DP-SGD-JL (Bu, Gopi, Kulkarni, Lee, Shen, Tantipongpipat 2021 [BGK+21]) clips a gradient g by an estimate of its norm,
the root mean square of r projections ``<g, v_j>`` on standard normal vectors: ``|g| sqrt(X / r)`` with X chi-squared of
r degrees of freedom, whatever g is. A clipped gradient so has the norm ``C min(|g| / C, sqrt(r / X))``, which may be
above C.

**The pair.** The projections of one step are drawn before any release and may serve all records, so that the other
records' part of the sum depends on them: treat them as public. Given them, the laws with the record and without it are
normal, at a distance of at most ``S = sqrt(r / X)`` bounds C, and N(S / sigma, 1) against N(0, 1) dominates. Hence
``(X, N(S / sigma, 1))`` against ``(X, N(0, 1))`` dominates the whole step: the law of its loss is a mixture of normal
laws of mean ``m^2 / 2`` and variance ``m^2``, ``m = S / sigma``. It is its own mirror image. As the projections are not
in fact public, it need not be tight. Its moments ``E e^(tL)`` are infinite for every t > 0, since S^2 has a power law
for its tail: there is no Renyi bound.

**In numbers.** X is rounded down to the lower end of its cell, which makes m larger: the pair of a larger m dominates.
Below the least cell the loss counts as infinite. The law of the loss l is then cut into cells, in each of which the
likelihood ratio lies between ``e^l`` at its two ends, and is spread between them (``pairs/knots.py``). Masses are
differences of normal distribution functions, taken from the smaller tail, with an assumed error of :data:`ACCURACY`.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from scipy.special import gammainc, gammaincc, gammainccinv, gammaincinv, ndtr

from hockeystick.pairs.base import Array
from hockeystick.pairs.knots import Cells, KnottedPair, spread_above

ACCURACY = 4e-14
"""Relative error of the masses: twice that of chi-squared and normal laws as measured by a test."""

FAILED = 1e-18  # mass of X below the least cell
CELLS = 1500  # of X
STEP = 0.04  # width of a cell of the loss in the bulk, in standard deviations
BULK = 14.0  # standard deviations of the loss that are cut into cells of equal width
GROWTH = 1.03  # of the cells beyond
MOST = 700.0  # losses from here on count as infinite: this affects no epsilon that is much smaller


@lru_cache(maxsize=8)
def jl_pair(noise: float, projections: int) -> KnottedPair:
    """Return the pair of one step that uses every record.

    Args:
        noise: standard deviation over the clipping bound.
        projections: number r of random vectors.
    """
    mean, weight = _distances(noise, projections)
    deviation = 1 / noise  # of the loss, where the estimate of the norm is right
    middle = np.arange(0.0, BULK * deviation, STEP * deviation)
    beyond = [float(middle[-1])]
    while beyond[-1] < MOST and float((weight * ndtr(-(beyond[-1] - mean**2 / 2) / mean)).sum()) > FAILED:
        beyond.append(beyond[-1] * GROWTH)
    ends = np.concatenate([middle, beyond[1:]])
    losses: Array = np.concatenate([-ends[:0:-1], ends])
    p = _cells(losses, weight, mean)
    error = ACCURACY * p
    # mass that no cell is certain to have goes to P alone or Q alone: the pair is its own mirror image
    rest = max(1 - float((p - error).sum()), 0.0)
    none, two = np.zeros(2), np.array([rest, 0.0])
    return spread_above(
        Cells(
            np.append(p, two),
            np.append(p[::-1], two[::-1]),
            np.append(error, none),
            np.append(error[::-1], none),
            np.append(np.exp(losses[:-1]), none),
            np.append(np.exp(-losses[1:]), none),
        )
    )


def _distances(noise: float, r: int) -> tuple[Array, Array]:
    """Return distances in units of the noise, and their probabilities, largest first; the rest has infinite loss."""
    edges = np.geomspace(2 * float(gammaincinv(r / 2, FAILED)), 2 * float(gammainccinv(r / 2, FAILED)), CELLS + 1)
    low, high = gammainc(r / 2, edges / 2), gammaincc(r / 2, edges / 2)
    weight = np.where(edges[1:] <= r, np.diff(low), -np.diff(high))
    weight[-1] += high[-1]  # above the last edge X is larger, and the distance smaller
    return np.sqrt(r / edges[:-1]) / noise, weight


def _cells(losses: Array, weight: Array, mean: Array) -> Array:
    """Return the P-masses of the loss between neighbouring places."""
    total = np.zeros(len(losses) - 1)
    for m, w in zip(mean.tolist(), weight.tolist(), strict=True):
        z = (losses - m * m / 2) / m
        below, above = ndtr(z), ndtr(-z)
        total += w * np.where(z[1:] <= 0, np.diff(below), -np.diff(above))
    return np.maximum(total, 0.0)
