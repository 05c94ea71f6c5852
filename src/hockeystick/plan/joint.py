"""Several releases about one batch, and several clips of one record, as one round of normal noise.

**Joint release.** From one batch B the sums S_1(B), S_2(B), ... are released. A record moves S_i by at most C_i in L2
norm, and S_i gets normal noise of standard deviation ``s_i C_i``. Examples are several queries, or a clipped gradient
and the share of clipped records (adaptive clipping). Divide the i-th release by ``s_i C_i``: all releases together are
one vector with standard normal noise, which a record moves by at most

    sqrt(sum_i 1 / s_i^2) = 1 / s,

since the squares of the norms of the parts add up. That is the Gaussian mechanism with noise multiplier s (Dong, Roth,
Su 2022 [DRS22], Theorem 2.7), attained where a record moves each S_i by C_i. If S_2 is chosen after the first release
is seen, the composition on a *given* batch is dominated by the same pair (their Corollary 3.3). All releases use the
same batch, so with sampling they are **one** sampled round with noise multiplier s, and not several sampled rounds,
each of which would draw its own batch. For adaptive clipping this is Andrew, Thakkar, McMahan, Ramaswamy 2021 [ATMR21],
Theorem 1. There, the sum of ``b - 1/2`` over the records, where b is 0 or 1 and tells if the record is clipped, moves
by at most 1/2, so that its noise multiplier is twice its standard deviation.

**Clips of parts.** A record whose gradient is clipped layer by layer, to norms C_1, ..., C_d, has a gradient of norm at
most ``sqrt(sum C_l^2)``, attained if every layer attains its norm. A noise multiplier is relative to this number.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction

from hockeystick.values.domains import NOISE, SENSITIVITY, list_of
from hockeystick.values.exact import decimal

_NOISES = list_of(NOISE).of("standard deviation of each noise / sensitivity of its release")  # domain
_NORMS = list_of(SENSITIVITY).of("clipping norm of each part")  # domain


def joint_noise_multiplier(noise_multipliers: Iterable[float]) -> float:
    """Return the noise multiplier of the one round equivalent to several releases about one batch; rounded down.

    Args:
        noise_multipliers: for each release, the standard deviation of its noise divided by the largest change in L2
            norm that one record makes.

    Returns:
        The largest double that is at most ``(sum of 1/s^2)^(-1/2)``, or the double before that one.

    Raises:
        InvalidInputError: a number outside [0.01, 1e6], or none at all.

    A gradient with noise multiplier 1 is released together with the share of clipped records. The share is a sum to
    which each record adds -1/2 or 1/2, so noise of standard deviation 5 on it is a multiplier of 10:

    >>> import hockeystick as hs
    >>> noise = hs.joint_noise_multiplier([1.0, 2 * 5.0])
    >>> round(noise, 6)
    0.995037
    >>> print(f"{hs.dp_sgd(noise, sample_rate=0.01, steps=1000).epsilon(1e-6):.3f}")
    2.148
    """
    checked = _NOISES.check(list(noise_multipliers), "noise_multipliers")
    total = sum((1 / decimal(noise) ** 2 for noise in checked), Fraction(0))
    found = 1 / math.sqrt(total)
    while decimal(found) ** 2 * total > 1:
        found = math.nextafter(found, 0.0)
    return found


def clipping_norm(norms: Iterable[float]) -> float:
    """Return the norm bound of a contribution whose parts are clipped separately (layer by layer); rounded up.

    Args:
        norms: clipping norm of each part.

    Returns:
        A double that is at least ``sqrt(sum of C^2)``, and at most two doubles above it.

    Raises:
        InvalidInputError: a number outside [1e-6, 2^20], or none at all.

    Noise of standard deviation 2 on gradients of four layers, each clipped to 0.5, has the noise multiplier 2, and not
    4:

    >>> import hockeystick as hs
    >>> 2.0 / hs.clipping_norm([0.5] * 4)
    2.0
    """
    checked = _NORMS.check(list(norms), "norms")
    total = sum((decimal(norm) ** 2 for norm in checked), Fraction(0))
    found = math.sqrt(total)
    while decimal(found) ** 2 < total:
        found = math.nextafter(found, math.inf)
    return found
