"""A pair for lower bounds, made of tests, for a drawn batch and a record whose contribution is set to zero.

All other records contribute -1, and the record contributes 1 or 0, in units of the norm bound. The norm bound is mu in
units of the noise. In a round, K of the draws are the record, and K is k with probability p_k. Measured from its mean
without draws of the record, the sum has the law P with the contribution and the law Q without it:

    P = sum_k p_k N(2 k mu, 1)  with,      Q = sum_k p_k N(k mu, 1)  without

This instance is possible in every round. For a batch of fixed size, drawn without replacement, K is 0 or 1.

**The pair** comes from some tests of the sum. A test answers "with" where the sum is above c or below d. Random wrong
answers turn a test into any test whose two error rates are larger. So both rates may be rounded *up*: the rate of false
alarms, ``Q(x > c) + Q(x < d)``, and the rate of misses, ``P(d <= x <= c)``. Tests may also be randomised. So some tests
attain the trade-off function whose corners are the lower convex hull of all points (false alarms, misses) and of (0, 1)
and (1, 0). The trade-off function of P and Q is nowhere above this one. Hence the pair with these corners in exact
numbers (``pairs/points.py``) is dominated by (P, Q), in both orders of the laws (Dong, Roth, Su 2022 [DRS22], Theorem
2.10: a trade-off function that is larger everywhere belongs to processed outcomes). Any tests may be tried. Here they
are tests of the likelihood ratio, which is 1 at minus infinity and decreases before it increases.

**Rounding.** Each term of a rate is a weight times a normal tail. The weight has an error of at most UNITS roundings,
and the tail of at most UNITS plus ``8 (|x| + the largest shift)^2`` roundings. The mass between d and c is a difference
of two masses, and is rounded up by the errors of both. Where the law of K is truncated, all of the lost mass is added
to both rates.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from hockeystick.numerics.rounding import UNIT_ROUNDOFF
from hockeystick.pairs.base import Array
from hockeystick.pairs.finite import FinitePair
from hockeystick.pairs.points import of_tests

LEAST, MOST = 0.01, 20.0
"""Range of mu for which tests are made. For a smaller mu, other records contribute 0 instead of -1. For a larger mu,
the numbers of draws can be distinguished anyway."""

TESTS = 320
"""Number of tests that are tried: more tests would improve the lower end little."""

LOOKED = 4001
"""Number of places at which the likelihood ratio is evaluated to choose tests; any choice is sound."""

DEPTH = 9.0
"""Distance beyond the farthest likely centre to which tests extend, in units of the noise; the tail is below 1e-18."""

LIKELY = 1e-16
"""Least weight, relative to the largest weight, with which a centre counts as likely."""

UNITS, SQUARED = 32.0, 8.0
"""Error of a term of a rate in roundings of the term, and additional roundings per square of the argument."""


@lru_cache(maxsize=64)
def opposed_draws(shifts: tuple[float, ...], weights: tuple[float, ...], none: float, cut: float) -> FinitePair:
    """Return a pair for lower bounds: tests between the laws P and Q of the module docstring attain its curve.

    Args:
        shifts: k mu for k = 1, 2, ...
        weights: probabilities of k = 1, 2, ... draws of the record.
        none: probability of no draw, including the truncated mass.
        cut: bound on the truncated mass.

    >>> opposed_draws((0.5, 1.0), (0.2, 0.01), 0.79, 0.0).loss_range[1] > 1
    True
    """
    largest = max(shift for shift, weight in zip(shifts, weights, strict=True) if weight >= LIKELY * max(weights))
    wide = np.linspace(-DEPTH, 2 * largest + DEPTH, LOOKED)
    law, without = (none, *weights), (0.0, *shifts)
    ratio = _log_density(wide, tuple(2 * shift for shift in without), law) - _log_density(wide, without, law)
    least = int(np.argmin(ratio))
    high = np.linspace(wide[-1], wide[least], TESTS)
    level = np.interp(high, wide, ratio)
    left = ratio[: least + 1]
    low = np.where(level < left[0], np.interp(-level, -left, wide[: least + 1]), -np.inf)
    alarm, missed = np.full(TESTS, cut), np.full(TESTS, cut)
    for weight, shift in zip(law, without, strict=True):
        for rates, centre, kept in ((alarm, shift, False), (missed, 2 * shift, True)):
            _add(rates, weight, high - centre, low - centre, kept)
    return of_tests(alarm, missed)


def _log_density(x: Array, centres: tuple[float, ...], weights: tuple[float, ...]) -> Array:
    """Return the log-density of a mixture of normal laws minus the log-density of the standard normal law."""
    exponents = [np.log(weight) + c * x - 0.5 * c * c for c, weight in zip(centres, weights, strict=True) if weight]
    out: Array = np.logaddexp.reduce(exponents)
    return out


def _add(rates: Array, weight: float, high: Array, low: Array, kept: bool) -> None:
    """Increase ``rates`` by ``weight`` times a normal mass, rounded up.

    It is the mass between ``low`` and ``high`` if ``kept`` is True, and the mass outside them if not.
    """
    from scipy.special import ndtr

    size = np.abs(high) + np.where(np.isfinite(low), np.abs(low), 0.0)
    care = UNIT_ROUNDOFF * (UNITS + SQUARED * np.square(size))
    if kept:
        above, below = ndtr(high), ndtr(low)
        rates += weight * (np.maximum(above - below, 0.0) + care * (above + below))
    else:
        rates += weight * (ndtr(-high) + ndtr(low)) * (1 + care)
