"""Exact sums: parameters are read as the decimals they print as, and added as rational numbers.

Ten tenths then fit exactly into a budget of one, and an eleventh does not.
"""

from __future__ import annotations

from fractions import Fraction

from hockeystick.values.exact import towards


def rounded_up(value: Fraction) -> float:
    """Return the smallest double that prints as ``value`` or more; infinity beyond the largest."""
    return towards(value, True)


def rounded_down(value: Fraction) -> float:
    """Return the largest double that prints as ``value`` or less.

    >>> rounded_up(Fraction(3, 10)) == rounded_down(Fraction(3, 10)) == 0.3
    True
    """
    return towards(value, False)
