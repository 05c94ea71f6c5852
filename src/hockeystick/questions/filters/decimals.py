"""Exact sums: parameters are read as the decimals they print as, and are added up as rational numbers.

So no rounding keeps the last of ten tenths out of a budget of one, and none lets an eleventh in.
"""

from __future__ import annotations

import math
from fractions import Fraction

from hockeystick.numerics.decimals import decimal
from hockeystick.numerics.rounding import next_down, next_up


def rounded_up(value: Fraction) -> float:
    """The least double that prints as ``value`` or more; infinite beyond the largest one."""
    try:
        near = float(value)
    except OverflowError:
        return math.inf
    return near if decimal(near) >= value else next_up(near)


def rounded_down(value: Fraction) -> float:
    """The largest double that prints as ``value`` or less.

    >>> rounded_up(Fraction(3, 10)) == rounded_down(Fraction(3, 10)) == 0.3
    True
    """
    near = float(value)
    return near if decimal(near) <= value else next_down(near)
