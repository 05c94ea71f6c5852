"""The characteristic function of the loss of a mixture of Gaussians, for remove, add and replace-one."""

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

MOMENT_TOLERANCE = 1e-11  # relative error of K(t) in :meth:`MixtureTransform.log_moment`
MAX_TURN = 1e4  # largest t mu: the number of nodes grows with t mu
MOMENT_NODES = 1 << 16  # most nodes of one moment: they take 10 ms; with more nodes, rough bounds are as good


@dataclass(frozen=True, slots=True)
class MixtureTransform(MixtureLaw):
    """The characteristic function of the loss of a mixture of Gaussians against one Gaussian."""

    @classmethod
    def sampled(cls, mu: float, rate: float, kind: Kind) -> MixtureTransform:
        """Return the characteristic function of a Poisson-sampled Gaussian round: one shifted term, of weight q."""
        return cls((mu,), (rate,), 1 - rate, kind, 4.0)

    @property
    def excess(self) -> float:
        """The approximate mean of ``|g - 1|``; if the mean is small, its square is about K(1)."""
        return math.fsum(p * min(mu, 1.0) for mu, p in zip(self.shifts, self.weights, strict=True))

    highest_tilt: ClassVar[float] = math.inf
    """Infinite: a line exists at every tilt."""

    def line(self, t: float, reach: float, tolerance: float) -> MixtureLine:
        """Return the line through t, by the trapezoid rule."""
        return MixtureLine(self, t, reach, tolerance)

    def envelope(self, t: float, count: int) -> MixtureEnvelope:
        """Return a bound on the decay along Re z = t (``gaussian_envelope.py``); it does not depend on ``count``."""
        return MixtureEnvelope.at(self, t, self.upper(t, MOMENT_TOLERANCE))

    def upper(self, t: float, slack: float) -> float:
        """Upper bound on K(t) by the trapezoid rule."""
        return kept_upper(self, t, slack)

    def log_moment(self, t: float) -> float:
        """Return an upper bound on K(t), to a relative error of about MOMENT_TOLERANCE.

        The bound is ``inf`` if its computation would need too many nodes.
        """
        if t * self.mu > MAX_TURN:
            return math.inf
        with np.errstate(over="ignore", invalid="ignore"):  # if losses exceed the range of a double, the value shows it
            line = self._moment_line(t)
            if line.nodes * self.terms > MOMENT_NODES:
                return math.inf
            value = line_upper(line)
        return value if math.isfinite(value) else self.upper(t, MOMENT_TOLERANCE)

    def moment_nodes(self, t: float) -> int:
        """Return the number of nodes that :meth:`log_moment` needs at t."""
        return self._moment_line(t).nodes * self.terms

    def _moment_line(self, t: float) -> MixtureLine:
        size = self.excess**2 * min(t, 1.0)  # about K(t) where that is small
        return self.line(t, 0.0, max(MOMENT_TOLERANCE * size, 1e-290))
