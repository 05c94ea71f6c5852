"""Exact sums: parameters are read as the decimals they print as, and are added up as rational numbers.

So no rounding keeps the last of ten tenths out of a budget of one, and none lets an eleventh in.
"""

from __future__ import annotations

from fractions import Fraction

from hockeystick.values.exact import towards


def rounded_up(value: Fraction) -> float:
    """The least double that prints as ``value`` or more; infinite beyond the largest one."""
    return towards(value, True)


def rounded_down(value: Fraction) -> float:
    """The largest double that prints as ``value`` or less.

    >>> rounded_up(Fraction(3, 10)) == rounded_down(Fraction(3, 10)) == 0.3
    True
    """
    return towards(value, False)
