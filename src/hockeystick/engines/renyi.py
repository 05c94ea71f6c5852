"""The Renyi bound in the form of an engine: the last resort, an upper end and nothing below."""

from __future__ import annotations

import math

from hockeystick.pairs import Composition
from hockeystick.pairs.renyi import renyi_epsilon, renyi_log_delta
from hockeystick.values.interval import Interval


class RenyiEngine:
    """Upper ends by the best real Renyi order.

    Args:
        composition: pairs and counts; mass at infinite loss is the caller's.
    """

    def __init__(self, composition: Composition) -> None:
        self._composition = composition

    def epsilon(self, log_delta: tuple[float, float], gap: float | None) -> Interval:
        """``[0, bound]``."""
        upper = renyi_epsilon(self._composition, log_delta[0]).value
        return Interval(0.0, upper, upper, None, "rdp")

    def log_delta(self, epsilon: float, gap: float | None) -> Interval:
        """``[-inf, bound]``."""
        upper = renyi_log_delta(self._composition, epsilon).value
        return Interval(-math.inf, upper, upper, None, "rdp")
