"""What an engine answers for one direction."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Interval:
    """What one direction gives: certified ends and the best guess between. ``limited`` says what kept it from the asked gap."""

    lower: float
    estimate: float
    upper: float
    limited: str | None = None

    @classmethod
    def weighted(cls, lower: float, upper: float) -> Interval:
        """With the estimate in which the leading errors, two to one by the error law, cancel."""
        return cls(lower, upper + (2 / 3) * (lower - upper) if lower > -math.inf else upper, upper)

    def intersected(self, other: Interval) -> Interval:
        """Both are certified: so is what they share. The estimate is the other's, moved inside."""
        lower, upper = max(self.lower, other.lower), min(self.upper, other.upper)
        return Interval(lower, min(max(other.estimate, lower), upper), upper)
