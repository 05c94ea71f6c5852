"""The contour engine where it applies, else the grid engine; the interval names the one that answered."""

from __future__ import annotations

from collections.abc import Callable

from hockeystick.engines.composition import Composition
from hockeystick.engines.contour.engine import ContourEngine
from hockeystick.engines.grid.engine import GridEngine
from hockeystick.engines.interval import Engine, Interval, NotApplicableError


class AutoEngine:
    """Both engines, tried in order of sharpness.

    Args:
        composition: one direction.
    """

    def __init__(self, composition: Composition) -> None:
        self._composition = composition

    def epsilon(self, log_delta: tuple[float, float], gap: float | None) -> Interval:
        """By the first engine that applies."""
        return self._first(lambda engine: engine.epsilon(log_delta, gap))

    def log_delta(self, epsilon: float, gap: float | None) -> Interval:
        """By the first engine that applies."""
        return self._first(lambda engine: engine.log_delta(epsilon, gap))

    def _first(self, ask: Callable[[Engine], Interval]) -> Interval:
        try:
            found = ask(ContourEngine(self._composition))
        except NotApplicableError:
            return ask(GridEngine(self._composition))
        if found.limited is None:
            return found
        other = ask(GridEngine(self._composition))
        return found if found.upper - found.lower <= other.upper - other.lower else other.intersected(found)
