"""The side of the truth on which a number lies."""

from __future__ import annotations

from enum import IntEnum


class Side(IntEnum):
    """The side of the truth on which a bound lies, or to which a law is rounded or an error charged.

    Spreading out likelihood ratios leads above the truth, and merging them leads below it; composition preserves both.
    A side is neither a direction (the order of two neighbouring datasets) nor a tail of a law. Its value is the sign of
    a correction towards that side.
    """

    BELOW = -1
    ABOVE = 1
