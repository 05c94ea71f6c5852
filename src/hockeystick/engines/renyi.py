"""The Renyi bound as an engine, which has an upper end only and is used where no other engine applies."""

from __future__ import annotations

import math

from hockeystick.pairs import Composition
from hockeystick.pairs.renyi import renyi_epsilon, renyi_log_delta
from hockeystick.values.interval import Interval


class RenyiEngine:
    """Engine whose intervals have an upper end from the best Renyi order, and a trivial lower end.

    Args:
        composition: pairs and counts; the caller handles mass at infinite loss.
    """

    def __init__(self, composition: Composition) -> None:
        self._composition = composition

    def epsilon(self, log_delta: tuple[float, float], gap: float | None) -> Interval:
        """Return the interval from 0 to the Renyi bound on epsilon."""
        found = renyi_epsilon(self._composition, log_delta[0])
        return Interval(0.0, found.value, found.value, None, "rdp", found.order - 1)

    def log_delta(self, epsilon: float, gap: float | None) -> Interval:
        """Return the interval from minus infinity to the Renyi bound on log delta."""
        found = renyi_log_delta(self._composition, epsilon)
        return Interval(-math.inf, found.value, found.value, None, "rdp", found.order - 1)
