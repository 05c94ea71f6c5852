"""The characteristic function of a mixture of Gaussians of any number of terms."""

from __future__ import annotations

import math
from dataclasses import dataclass

from hockeystick.pairs.sampled.gaussian_transform import Kind, LawTransform
from hockeystick.pairs.sampled.mixture_law import ShiftLaw

__all__ = ["Kind", "ShiftTransform"]


@dataclass(frozen=True, slots=True)
class ShiftTransform(ShiftLaw, LawTransform):
    """The law of any number of terms with its line and its envelope."""

    @property
    def excess(self) -> float:
        """About the mean of ``|g - 1|``."""
        return math.fsum(p * min(mu, 1.0) for mu, p in zip(self.shifts, self.weights, strict=True))
