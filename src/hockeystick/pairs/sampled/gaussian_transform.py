"""The characteristic function of a mixture of Gaussians against one Gaussian: remove, add and replace-one."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from hockeystick.pairs.sampled.gaussian_envelope import MixtureEnvelope
from hockeystick.pairs.sampled.gaussian_line import MixtureLine
from hockeystick.pairs.sampled.mixture_law import Kind, MixtureLaw
from hockeystick.pairs.sampled.summed_line import kept_upper
from hockeystick.pairs.transform import line_upper

__all__ = ["Kind", "MixtureTransform"]

MOMENT_TOLERANCE = 1e-11  # relative, of K(t) as a moment
MAX_TURN = 1e4  # t mu: nodes grow with it
MOMENT_NODES = 1 << 16  # of one moment, about 10 ms: a search takes dozens; beyond, rough bounds are as good


@dataclass(frozen=True, slots=True)
class MixtureTransform(MixtureLaw):
    """Characteristic function of a mixture of Gaussians against one Gaussian, with its lines and envelopes."""

    @classmethod
    def sampled(cls, mu: float, rate: float, kind: Kind) -> MixtureTransform:
        """Return the transform of one Poisson-sampled Gaussian round: one term, whose weight is the rate."""
        return cls((mu,), (rate,), 1 - rate, kind, 4.0)

    @property
    def excess(self) -> float:
        """Return the approximate mean of ``|g - 1|``; if the mean is small, its square is about K(1)."""
        return math.fsum(p * min(mu, 1.0) for mu, p in zip(self.shifts, self.weights, strict=True))

    highest_tilt: ClassVar[float] = math.inf
    """Infinite: a line exists at every tilt."""

    def line(self, t: float, reach: float, tolerance: float) -> MixtureLine:
        """Return the line through t, by the trapezoid rule."""
        return MixtureLine(self, t, reach, tolerance)

    def envelope(self, t: float, count: int) -> MixtureEnvelope:
        """Return a bound on the decay along Re z = t (``gaussian_envelope.py``); it is the same for any count."""
        return MixtureEnvelope.at(self, t, self.upper(t, MOMENT_TOLERANCE))

    def upper(self, t: float, slack: float) -> float:
        """Upper bound on K(t) by the trapezoid rule."""
        return kept_upper(self, t, slack)

    def log_moment(self, t: float) -> float:
        """Return an upper bound on K(t), to a relative error of about MOMENT_TOLERANCE.

        It is ``inf`` if it would need too many nodes.
        """
        if t * self.mu > MAX_TURN:
            return math.inf
        with np.errstate(over="ignore", invalid="ignore"):  # the value shows losses beyond the range of a double
            line = self._moment_line(t)
            if line.nodes * self.terms > MOMENT_NODES:
                return math.inf
            value = line_upper(line)
        return value if math.isfinite(value) else self.upper(t, MOMENT_TOLERANCE)

    def moment_nodes(self, t: float) -> int:
        """Return the number of nodes that :meth:`log_moment` needs at t, which is its cost."""
        return self._moment_line(t).nodes * self.terms

    def _moment_line(self, t: float) -> MixtureLine:
        size = self.excess**2 * min(t, 1.0)  # about K(t) where that is small
        return self.line(t, 0.0, max(MOMENT_TOLERANCE * size, 1e-290))
