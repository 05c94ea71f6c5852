"""Parameters as the numbers that people write: the exact decimal in place of the double next to it."""

from __future__ import annotations

from fractions import Fraction


def written(value: float) -> Fraction:
    """The decimal that a parameter prints as, exactly: 0.1 is one tenth."""
    return Fraction(repr(float(value)))
