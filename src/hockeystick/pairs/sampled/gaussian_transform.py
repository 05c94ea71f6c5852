"""The characteristic function of a Poisson-subsampled Gaussian, in all three directions."""

from __future__ import annotations

import math
from typing import Protocol

import numpy as np

from hockeystick.pairs.sampled.gaussian_envelope import MixtureEnvelope
from hockeystick.pairs.sampled.gaussian_law import GaussianLaw, Kind, MixtureLaw
from hockeystick.pairs.sampled.gaussian_line import MixtureLine, log_moment_upper
from hockeystick.pairs.transform import line_upper

__all__ = ["Kind", "LawTransform", "MixtureTransform"]

MOMENT_TOLERANCE = 1e-11  # relative, of K(t) as a moment
MAX_TURN = 1e4  # t mu: nodes grow with it
MOMENT_NODES = 1 << 16  # of one moment, about 10 ms: a search takes dozens, and beyond them rough bounds are as good
FAR, FAR_NODES = 1e3, 1 << 13  # tilts at which only next to no loss counts, and nodes of a moment there


class LawTransform(GaussianLaw, Protocol):
    """What a law gives with its line and its envelope."""

    @property
    def excess(self) -> float:
        """About the mean of ``|g - 1|``, whose square is about K(1) where that is small."""
        ...

    @property
    def highest_tilt(self) -> float:
        """Lines are had at every tilt."""
        return math.inf

    def line(self, t: float, reach: float, tolerance: float) -> MixtureLine:
        """The line through t, by the trapezoid rule."""
        return MixtureLine(self, t, reach, tolerance)

    def envelope(self, t: float, count: int) -> MixtureEnvelope:
        """The envelope at t, by moving x into the complex plane."""
        return MixtureEnvelope(self, t, count)

    def upper(self, t: float, slack: float) -> float:
        """An upper bound on K(t) by the trapezoid rule."""
        return log_moment_upper(self, t, slack)

    def log_moment(self, t: float) -> float:
        """An upper bound on K(t), to about MOMENT_TOLERANCE of itself however small it is; ``inf`` out of reach."""
        if t * self.mu > MAX_TURN:
            return math.inf
        with np.errstate(over="ignore", invalid="ignore"):  # losses beyond the range of a double are told by the value
            line = self._moment_line(t)
            if line.nodes * self.terms > (MOMENT_NODES if t < FAR else FAR_NODES):
                return math.inf
            value = line_upper(line)
        return value if math.isfinite(value) else self.upper(t, MOMENT_TOLERANCE)

    def moment_nodes(self, t: float) -> int:
        """Over how many nodes :meth:`log_moment` sums at t: what it costs."""
        return self._moment_line(t).nodes * self.terms

    def _moment_line(self, t: float) -> MixtureLine:
        size = self.excess**2 * min(t, 1.0)  # about K(t) where that is small
        return self.line(t, 0.0, max(MOMENT_TOLERANCE * size, 1e-290))


class MixtureTransform(MixtureLaw, LawTransform):
    """The law of two terms with its line and its envelope."""

    @property
    def excess(self) -> float:
        """About the mean of ``|g - 1|``."""
        return self.rate * min(self.mu, 1.0)
