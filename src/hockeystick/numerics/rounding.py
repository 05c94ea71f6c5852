"""The unit round-off, and the stated accuracy of the elementary functions on which every certified number depends.

A bound is *certified* when it is proved under the assumption that each function below returns a value within ``ULPS``
units in the last place of the true one over the ranges used. ``tests/numerics/test_elementary_accuracy.py`` measures
this against ball arithmetic. The command ``hockeystick doctor`` measures six of the functions on the user's machine
(``numerics/doctor``).
"""

from __future__ import annotations

import math

UNIT_ROUNDOFF = 2.0**-53
"""``u``, the largest relative error of one rounded sum, difference, product, quotient or root of doubles."""

ULPS = 4
"""Stated accuracy, in units in the last place, of exp, expm1, log, log1p, sin, cos, hypot and arctan2 in NumPy and in
Python's math module, and of the latter's sinh and cosh; ``logaddexp`` errs by as many units of its larger argument, or
of 1. Measured: below 1 for all but sinh and cosh, which stay below 2. SciPy's log_ndtr errs by up to 2,000 units where
it is near 0. Remainders charge a slack of 1e-11 for log_ndtr. Values charge 64 units of 1 and 8 units of the square of
its argument."""

TINY = 5e-324
"""The smallest positive double, to which a positive truth below the range is rounded up."""

SMALLEST_NORMAL = 2.0**-1022
"""The smallest double with full precision; below it doubles are spaced by :data:`TINY`."""

LARGEST = 700.0
"""An exponent whose exponential is a double, with room for sums and factors."""

SPARE = 1e-9
"""Relative slack that covers the roundings of a bound on a remainder."""

LOG_TINY = -744.4401  # e^this is below TINY: math.exp also rounds values up to 1.5 TINY to TINY


def next_up(x: float, steps: int = 1) -> float:
    """Return ``x`` moved up by ``steps`` doubles."""
    for _ in range(steps):
        x = math.nextafter(x, math.inf)
    return x


def next_down(x: float, steps: int = 1) -> float:
    """Return ``x`` moved down by ``steps`` doubles."""
    for _ in range(steps):
        x = math.nextafter(x, -math.inf)
    return x


def exp_above(x: float) -> float:
    """Return a double that is at least ``e^x`` and at least :data:`TINY`; 0 if x is minus infinity.

    The computed value is moved up by ``2 * ULPS`` doubles, because :data:`ULPS` units of the true value span twice as
    many doubles if a power of two lies in between.
    """
    if x == -math.inf:
        return 0.0
    return next_up(math.exp(x), 2 * ULPS) if x > LOG_TINY else TINY


def exp_below(x: float) -> float:
    """Return a double that is at most ``e^x`` and at least 0."""
    value = math.exp(x)
    return max(next_down(value, ULPS), 0.0)


def shortened(x: float, digits: int) -> float:
    """Return x > 0 truncated to its first ``digits`` binary digits, so that small multiples of it are exact."""
    mantissa, exponent = math.frexp(x)
    return math.ldexp(math.floor(math.ldexp(mantissa, digits)), exponent - digits)
