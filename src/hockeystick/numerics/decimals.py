"""Parameters as the numbers that people write: the exact decimal in place of the double next to it."""

from __future__ import annotations

from fractions import Fraction

from hockeystick.numerics.rounding import SMALLEST_NORMAL


def decimal(value: float) -> Fraction:
    """The number that a finite double stands for: the decimal that it prints as, so that 0.1 is one tenth.

    Below :data:`~hockeystick.numerics.rounding.SMALLEST_NORMAL` doubles are farther apart than their decimals say, up
    to half as large as what was written: there the double itself is meant, by every method alike.

    >>> decimal(0.1)
    Fraction(1, 10)
    >>> decimal(5e-324) == Fraction(1, 2**1074)
    True
    """
    return Fraction(repr(float(value))) if abs(value) >= SMALLEST_NORMAL else Fraction(value)
