"""The characteristic function of a sampled Gaussian round without outcomes in the tail, for removing a record."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from hockeystick.pairs.sampled.capped_envelope import CappedEnvelope
from hockeystick.pairs.sampled.capped_law import CappedLaw
from hockeystick.pairs.sampled.capped_line import CappedLine
from hockeystick.pairs.sampled.summed_line import kept_upper


@dataclass(frozen=True, slots=True)
class CappedTransform(CappedLaw):
    """Transform of the law, with its line and envelope."""

    highest_tilt: ClassVar[float] = math.inf
    """Infinite: a line exists at every tilt."""

    def line(self, t: float, reach: float, tolerance: float) -> CappedLine:
        """Return the line through t, by the trapezoid rule."""
        return CappedLine(self, t, reach, tolerance)

    def envelope(self, t: float, count: int) -> CappedEnvelope:
        """Return the envelope at t, by moving x into the complex plane; it is equally sharp for any count."""
        return CappedEnvelope(self, t)

    def upper(self, t: float, slack: float) -> float:
        """Upper bound on K(t) by the trapezoid rule; ``inf`` if there would be too many nodes."""
        return kept_upper(self, t, slack)
