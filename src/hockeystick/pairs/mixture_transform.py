"""The characteristic function of a Poisson-subsampled Gaussian, in all three directions."""

from __future__ import annotations

from dataclasses import dataclass

from hockeystick.pairs.mixture_envelope import MixtureEnvelope
from hockeystick.pairs.mixture_law import Kind, MixtureLaw
from hockeystick.pairs.mixture_line import MixtureLine, log_moment_upper

__all__ = ["Kind", "MixtureTransform"]


@dataclass(frozen=True, slots=True)
class MixtureTransform(MixtureLaw):
    """The law with its line and its envelope."""

    def line(self, t: float, reach: float, tolerance: float) -> MixtureLine:
        """By the trapezoid rule."""
        return MixtureLine(self, t, reach, tolerance)

    def envelope(self, t: float, count: int) -> MixtureEnvelope:
        """By moving x into the complex plane."""
        return MixtureEnvelope(self, t, count)

    def upper(self, t: float, slack: float) -> float:
        """By the trapezoid rule."""
        return log_moment_upper(self, t, slack)
