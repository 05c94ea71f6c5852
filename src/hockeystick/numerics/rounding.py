"""The unit round-off, and the stated accuracy of the elementary functions on which every certified number rests.

A bound is *certified* when it is proved given that each function below returns a value within ``ULPS`` units in the
last place of the true one over the ranges used. ``tests/numerics/test_elementary_accuracy.py`` measures this against
ball arithmetic, and ``hockeystick doctor`` on the machine on which it runs (``numerics/doctor``).
"""

from __future__ import annotations

import math

UNIT_ROUNDOFF = 2.0**-53
"""``u``: the largest relative error of one rounded sum, difference, product, quotient or root of doubles."""

ULPS = 4
"""Stated accuracy, in units in the last place, of exp, expm1, log, log1p, sin, cos, hypot and arctan2 as NumPy ships
them and as Python's math module has them, and of its sinh and cosh; ``logaddexp`` errs by as many of its larger
argument, or of 1. Measured: below 1 for all but sinh and cosh, which stay below 2. SciPy's log_ndtr is off by up to
2,000 where it is next to 0; in remainders it has a slack of 1e-11, in values 64
units of 1 and 8 of its argument's square."""

TINY = 5e-324
"""The smallest positive double: what a positive truth below the range is rounded up to."""

SMALLEST_NORMAL = 2.0**-1022
"""The smallest double with all its digits; below it doubles are as far apart as :data:`TINY` and 0."""

LOG_TINY = -744.4401  # e^this is below TINY: math.exp rounds what is up to half as much again to TINY, too


def next_up(x: float, steps: int = 1) -> float:
    """``x`` moved ``steps`` doubles up."""
    for _ in range(steps):
        x = math.nextafter(x, math.inf)
    return x


def next_down(x: float, steps: int = 1) -> float:
    """``x`` moved ``steps`` doubles down."""
    for _ in range(steps):
        x = math.nextafter(x, -math.inf)
    return x


def exp_above(x: float) -> float:
    """A double not below ``e^x``, at least :data:`TINY`; 0 at minus infinity.

    :data:`ULPS` units of the true value are twice as many doubles where a power of two lies between.
    """
    if x == -math.inf:
        return 0.0
    return next_up(math.exp(x), 2 * ULPS) if x > LOG_TINY else TINY


def exp_below(x: float) -> float:
    """A double not above ``e^x``, and not below 0."""
    value = math.exp(x)
    return max(next_down(value, ULPS), 0.0)


def shortened(x: float, digits: int) -> float:
    """The number x > 0 with its first binary digits only: multiples of it by small numbers are exact."""
    mantissa, exponent = math.frexp(x)
    return math.ldexp(math.floor(math.ldexp(mantissa, digits)), exponent - digits)
