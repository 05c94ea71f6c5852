"""The unit round-off, and the stated accuracy of the elementary functions on which every certified number depends.

A bound is *certified* when it is proved under one assumption: each function listed at ``ULPS`` returns a value within
``ULPS`` units in the last place of the true value, over the ranges used. ``tests/numerics/test_elementary_accuracy.py``
tests the assumption against ball arithmetic. The command ``hockeystick doctor`` tests six of the functions on the
user's machine (``numerics/doctor.py``).
"""

from __future__ import annotations

import math

UNIT_ROUNDOFF = 2.0**-53
"""``u``, the largest relative error of one rounded sum, difference, product, quotient or root of doubles."""

ULPS = 4
"""Assumed accuracy, in units in the last place, of exp, expm1, log, log1p, sin, cos, hypot and arctan2 in NumPy and in
Python's math module, and of sinh and cosh in Python's math module. The error of NumPy's ``logaddexp`` is at most as
many units in the last place of 1 or of its larger argument. The measured errors are below 1, and below 2 for sinh and
cosh. SciPy's log_ndtr errs by up to 2,000 units where it is near 0. Its errors are charged separately: bounds on
remainders charge a slack of 1e-11; values charge 64 units of 1 and 8 units of the square of the argument."""

TINY = 5e-324
"""The smallest positive double. An upper bound on a smaller positive number is rounded up to it."""

SMALLEST_NORMAL = 2.0**-1022
"""The smallest double with full precision; below it doubles are spaced by :data:`TINY`."""

LARGEST = 700.0
"""Largest exponent used: its exponential is far enough below the largest double for sums and factors."""

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

    The computed value is moved up by ``2 * ULPS`` doubles, because :data:`ULPS` units in the last place of the true
    value span up to twice as many doubles below the next power of two.
    """
    if x == -math.inf:
        return 0.0
    return next_up(math.exp(x), 2 * ULPS) if x > LOG_TINY else TINY


def exp_below(x: float) -> float:
    """Return a double that is at most ``e^x`` and at least 0."""
    value = math.exp(x)
    return max(next_down(value, ULPS), 0.0)


def shortened(x: float, digits: int) -> float:
    """Return x > 0 truncated to its first ``digits`` binary digits. Small multiples of the result are then exact."""
    mantissa, exponent = math.frexp(x)
    return math.ldexp(math.floor(math.ldexp(mantissa, digits)), exponent - digits)
