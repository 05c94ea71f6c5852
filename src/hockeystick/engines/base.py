"""What an engine is asked and what it answers, for one direction."""

from __future__ import annotations

from typing import Protocol

from hockeystick.values.interval import Interval


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
