"""What an engine is asked and what it answers, for one direction."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Interval:
    """Certified ends and the best guess between, of one direction.

    Attributes:
        limited: what kept it from the asked gap.
        engine: what answered.
        tilt: about the saddle point of the answer, where the engine knows it: a hint for the other direction.
    """

    lower: float
    estimate: float
    upper: float
    limited: str | None = None
    engine: str = "exact"
    tilt: float | None = None

    @classmethod
    def weighted(cls, lower: float, upper: float) -> Interval:
        """With the estimate in which the leading errors, two to one by the error law, cancel."""
        return cls(lower, upper + (2 / 3) * (lower - upper) if lower > -math.inf else upper, upper)

    def intersected(self, other: Interval) -> Interval:
        """Both are certified: so is what they share. The estimate is the other's, moved inside."""
        lower, upper = max(self.lower, other.lower), min(self.upper, other.upper)
        return Interval(lower, min(max(other.estimate, lower), upper), upper, other.limited, other.engine)


class Engine(Protocol):
    """Certified intervals for one direction with finite losses."""

    def epsilon(self, log_delta: tuple[float, float], gap: float | None) -> Interval:
        """Epsilon where log delta_finite meets a target known up to an interval; gap ``None``: the engine's default.

        Raises:
            NotApplicableError: the engine does not apply.
        """
        ...

    def log_delta(self, epsilon: float, gap: float | None) -> Interval:
        """log delta_finite at an epsilon below the supremum.

        Raises:
            NotApplicableError: the engine does not apply.
        """
        ...
