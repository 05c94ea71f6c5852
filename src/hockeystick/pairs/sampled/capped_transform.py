"""The characteristic function of a sampled Gaussian round without outcomes in the tail, for removing a record."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from hockeystick.numerics.boxes import Boxes
from hockeystick.pairs.sampled.capped_law import CappedLaw, CappedNodes, on_lattice
from hockeystick.pairs.sampled.capped_line import CappedLine
from hockeystick.pairs.sampled.gaussian_envelope import DEEPEST, PIECES, boxes
from hockeystick.pairs.sampled.summed_line import kept_upper

SLACK = 1e-9  # slack of the upper bound on K(t) that scales the boxes


@dataclass(frozen=True, slots=True)
class CappedTransform(CappedLaw):
    """The characteristic function of the loss of a sampled Gaussian round without outcomes in the tail."""

    highest_tilt: ClassVar[float] = math.inf
    """Infinite: a line exists at every tilt."""

    def line(self, t: float, reach: float, tolerance: float) -> CappedLine:
        """Return the line through t, by the trapezoid rule."""
        return CappedLine(self, t, reach, tolerance)

    def envelope(self, t: float, count: int) -> Boxes:
        """Return boxes below the density of the loss at tilt t; they do not depend on ``count``."""
        low, high = self.range_for(t, 0.0, 0.0, -math.log(DEEPEST))
        x = low + on_lattice((high - low) / PIECES) * np.arange(PIECES + 1, dtype=np.float64)
        at = CappedNodes(self, x, t)
        return boxes(at.nodes, x, self.upper(t, SLACK), at.log_kept, at.doubt)

    def upper(self, t: float, slack: float) -> float:
        """Upper bound on K(t) by the trapezoid rule; ``inf`` if there would be too many nodes."""
        return kept_upper(self, t, slack)
