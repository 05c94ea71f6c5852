"""The side of the truth on which a number lies."""

from __future__ import annotations

from enum import IntEnum


class Side(IntEnum):
    """A side of the truth: that of a bound, of a rounded law, or of a charged error.

    Spreading a likelihood ratio leads above the truth and merging it below; both survive composition. A side is neither
    a direction (the order of two neighbouring datasets) nor a tail of a law. Its value is the sign of a correction
    towards that side.
    """

    BELOW = -1
    ABOVE = 1
