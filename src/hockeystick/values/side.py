"""On which side of the truth a number lies."""

from __future__ import annotations

from enum import IntEnum


class Side(IntEnum):
    """A side of the truth: what a bound is, a law is rounded to, or an error is charged to.

    Spreading a likelihood ratio leads above the truth and merging it below; both survive composition. A side is neither
    a direction, which is which of two neighbouring datasets comes first, nor a tail of a law. Its value is the sign of
    what is added on the way there.
    """

    BELOW = -1
    ABOVE = 1
