"""The Renyi bound in the form of an engine: the last resort, an upper end and nothing below."""

from __future__ import annotations

import math
from collections.abc import Sequence

from hockeystick.pairs import Composition
from hockeystick.pairs.renyi import PRECISION, epsilon_at, log_delta_from, renyi_epsilon, renyi_log_delta
from hockeystick.values.interval import Interval


class RenyiEngine:
    """Upper ends by the best real Renyi order.

    Args:
        composition: pairs and counts; mass at infinite loss is the caller's.
        precision: of the logarithm of the best order less 1; the bound errs by its square.
        tilts: orders less 1, the best of which is taken; all real ones if ``None``.
    """

    def __init__(
        self, composition: Composition, precision: float = PRECISION, tilts: Sequence[float] | None = None
    ) -> None:
        self._composition, self._precision, self._tilts = composition, precision, tilts

    def epsilon(self, log_delta: tuple[float, float], gap: float | None) -> Interval:
        """``[0, bound]``."""
        if self._tilts is not None:
            upper, tilt = min((epsilon_at(self._composition, t, log_delta[0]), t) for t in self._tilts)
        else:
            found = renyi_epsilon(self._composition, log_delta[0], precision=self._precision)
            upper, tilt = found.value, found.order - 1
        return Interval(0.0, upper, upper, None, "rdp", tilt)

    def log_delta(self, epsilon: float, gap: float | None) -> Interval:
        """``[-inf, bound]``."""
        if self._tilts is not None:
            upper, tilt = min((log_delta_from(self._composition, t, epsilon), t) for t in self._tilts)
        else:
            found = renyi_log_delta(self._composition, epsilon, precision=self._precision)
            upper, tilt = found.value, found.order - 1
        upper = min(upper, 0.0)
        return Interval(-math.inf, upper, upper, None, "rdp", tilt)
