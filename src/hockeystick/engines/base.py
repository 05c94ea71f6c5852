"""Interface of an engine for one direction, and the widths that all engines use."""

from __future__ import annotations

from typing import Protocol

import numpy as np
import numpy.typing as npt

from hockeystick.values.interval import Ends, Interval

DEFAULT_GAP = 1e-6  # width of the interval if none is requested: relative for epsilon, absolute for log delta
WIDER = (1e-4, 1e-2)  # gaps tried in turn if neither a contour nor another engine reaches the requested one
TOO_WIDE = "rounding and remainder terms keep the interval wider than the requested gap"
"""Reason for an interval wider than requested after all available attempts."""


class Engine(Protocol):
    """Certified intervals for one direction with finite losses."""

    def epsilon(self, log_delta: tuple[float, float], gap: float | None) -> Interval:
        """Return epsilon where log delta_finite meets a target given as an interval; gap ``None``: engine's default.

        Raises:
            NotApplicableError: the engine does not apply.
        """
        ...

    def log_delta(self, epsilon: float, gap: float | None) -> Interval:
        """Return log delta_finite at an epsilon below the supremum.

        Raises:
            NotApplicableError: the engine does not apply.
        """
        ...


class Section(Protocol):
    """Interface of a source of certified ends at every epsilon, which are narrow near one of them."""

    def log_delta(self, epsilon: npt.NDArray[np.float64]) -> Ends:
        """Return certified ends of log delta at each epsilon."""
        ...
