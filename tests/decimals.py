"""Parameters as the decimals that they print as, for truths computed in mpmath at the precision of the moment."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from mpmath import mpf


def exact(x: float) -> Any:
    """The decimal that a parameter prints as."""
    value = Fraction(repr(x))
    return mpf(value.numerator) / value.denominator
