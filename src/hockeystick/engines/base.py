"""Interface of an engine for one direction, and the widths that all of them know."""

from __future__ import annotations

from typing import Protocol

from hockeystick.values.interval import Interval

DEFAULT_GAP = 1e-6  # width of the interval, where none is asked: relative for epsilon, absolute for log delta
WIDER = (1e-4, 1e-2)  # gaps that are tried in turn where there is no contour for the one asked, nor another engine
COARSE = 0.05  # gap from which on any upper bound may be of use
TOO_WIDE = "rounding and remainder terms keep the interval wider than the requested gap"
"""Why an interval is wider than was asked, where all was tried that was wanted."""


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
