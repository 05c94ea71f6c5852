"""The side of the truth on which a number lies."""

from __future__ import annotations

from enum import IntEnum


class Side(IntEnum):
    """The side of the truth on which a bound lies, to which a law is rounded, or to which an error is charged.

    Spreading out likelihood ratios moves a divergence above the truth, and merging them moves it below. Composition
    preserves both. A side is neither a direction (the order of two neighbouring datasets) nor a tail of a law. Its
    value, 1 or -1, is the sign of a correction towards that side.
    """

    BELOW = -1
    ABOVE = 1
