"""The characteristic function of a sampled Gaussian round without outcomes in the tail, for removing a record."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from hockeystick.numerics.boxes import Boxes
from hockeystick.pairs.sampled.capped_law import CappedLaw
from hockeystick.pairs.sampled.capped_line import CappedLine
from hockeystick.pairs.sampled.summed_line import kept_upper

SLACK = 1e-9  # of the bound on K(t), relative to which boxes are laid
PIECES = (24_000, 1_500)  # intervals of the boxes for fewer than MANY rounds, each of which has to fall far, and others
MANY = 16  # rounds from which on each need not fall far


@dataclass(frozen=True, slots=True)
class CappedTransform(CappedLaw):
    """Characteristic function of a sampled Gaussian round without outcomes in the tail, with lines and envelopes."""

    highest_tilt: ClassVar[float] = math.inf
    """Infinite: a line exists at every tilt."""

    def line(self, t: float, reach: float, tolerance: float) -> CappedLine:
        """Return the line through t, by the trapezoid rule."""
        return CappedLine(self, t, reach, tolerance)

    def envelope(self, t: float, count: int) -> Boxes:
        """Return boxes below the density of the loss at tilt t; with few rounds, they fill more of the density."""
        return Boxes.below(*self.cells(t, self.upper(t, SLACK), PIECES[count >= MANY]))

    def upper(self, t: float, slack: float) -> float:
        """Upper bound on K(t) by the trapezoid rule; ``inf`` if there would be too many nodes."""
        return kept_upper(self, t, slack)
