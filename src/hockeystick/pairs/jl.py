"""Gaussian noise on a vector whose norm is estimated by random projections, which makes the sensitivity random.

DP-SGD-JL (Bu, Gopi, Kulkarni, Lee, Shen, Tantipongpipat 2021 [BGK+21]) clips a gradient g to a bound C by an estimate
of its norm: the root mean square of r projections ``<g, v_j>`` on standard normal vectors v_j. Whatever g is, the
estimate is ``|g| sqrt(X / r)`` with X chi-squared of r degrees of freedom. So the clipped gradient has the norm ``C
min(|g| / C, sqrt(r / X))``, which may be above C.

**The pair.** The vectors v_j of one step are drawn before any release and may be shared by all records. Then the part
of the sum that comes from other records depends on the v_j. So the v_j are treated as public. Given the v_j, the laws
with the record and without it are normal. The distance of their means is at most ``S C`` with ``S = sqrt(r / X)``, and
N(S / sigma, 1) against N(0, 1) dominates them, where sigma C is the standard deviation of the noise. Hence ``(X, N(S /
sigma, 1))`` against ``(X, N(0, 1))`` dominates the whole step. With ``m = S / sigma``, the law of its loss is a
mixture, over X, of normal laws of mean ``m^2 / 2`` and variance ``m^2``. Exchanging P and Q does not change this law.
The pair need not be tight, as the v_j are not in fact public. Its moments ``E e^(tL)`` are infinite for every t > 0,
since the tail of S^2 is a power law: there is no Renyi bound.

**Computation.** The range of X is cut into cells, and X is rounded down to the lower end of its cell. This makes m
larger, and the pair of a larger m dominates. If X is below the lowest cell, the loss counts as infinite. Then the range
of the loss l is cut into cells, too. In each cell of l the likelihood ratio ``e^l`` is spread to its values at the two
ends of the cell (``pairs/knots.py``). Masses are differences of normal distribution functions, computed in the smaller
tail, with an assumed relative error of :data:`ACCURACY`.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from scipy.special import gammainc, gammaincc, gammainccinv, gammaincinv, ndtr

from hockeystick.numerics.rounding import LARGEST
from hockeystick.pairs.base import Array
from hockeystick.pairs.knots import Cells, KnottedPair, spread_above

ACCURACY = 4e-14
"""Assumed relative error of the masses: twice the error that a test measures for chi-squared and normal laws."""

FAILED = 1e-18  # mass of X below the lowest cell, and mass of losses above the last cell
CELLS = 1500  # number of cells of X
STEP = 0.04  # width of a cell of the loss in the bulk, in standard deviations
BULK = 14.0  # standard deviations of the loss that are cut into cells of equal width
GROWTH = 1.03  # ratio of the upper to the lower end of a cell of the loss beyond the bulk


@lru_cache(maxsize=8)
def jl_pair(noise: float, projections: int) -> KnottedPair:
    """Return the dominating pair of one step of DP-SGD-JL without sampling.

    Args:
        noise: standard deviation of the noise, divided by the clipping bound.
        projections: number r of random vectors.
    """
    mean, weight = _distances(noise, projections)
    deviation = 1 / noise  # of the loss, where the estimate of the norm is right
    middle = np.arange(0.0, BULK * deviation, STEP * deviation)
    beyond = [float(middle[-1])]
    while beyond[-1] < LARGEST and float((weight * ndtr(-(beyond[-1] - mean**2 / 2) / mean)).sum()) > FAILED:
        beyond.append(beyond[-1] * GROWTH)
    ends = np.concatenate([middle, beyond[1:]])
    losses: Array = np.concatenate([-ends[:0:-1], ends])
    p = _cells(losses, weight, mean)
    error = ACCURACY * p
    # mass beyond the cells' lower bounds is given to P alone, and to Q alone: the pair is its own mirror image
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
    """Return rounded-up values of the random distance m of the two normal laws, and the probability of each value.

    Distances are in standard deviations of the noise, and decrease. The probability missing from 1 belongs to infinite
    loss.
    """
    edges = np.geomspace(2 * float(gammaincinv(r / 2, FAILED)), 2 * float(gammainccinv(r / 2, FAILED)), CELLS + 1)
    low, high = gammainc(r / 2, edges / 2), gammaincc(r / 2, edges / 2)
    weight = np.where(edges[1:] <= r, np.diff(low), -np.diff(high))
    weight[-1] += high[-1]  # above the last edge X is larger, and the distance smaller
    return np.sqrt(r / edges[:-1]) / noise, weight


def _cells(losses: Array, weight: Array, mean: Array) -> Array:
    """Return the P-mass between neighbouring ``losses``, for the mixture of Gaussian pairs with the mu in ``mean``.

    ``weight`` holds the probability of each mu.
    """
    total = np.zeros(len(losses) - 1)
    for m, w in zip(mean.tolist(), weight.tolist(), strict=True):
        z = (losses - m * m / 2) / m
        below, above = ndtr(z), ndtr(-z)
        total += w * np.where(z[1:] <= 0, np.diff(below), -np.diff(above))
    return np.maximum(total, 0.0)
