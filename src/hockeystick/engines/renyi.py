"""The Renyi bound as an engine: the last resort, with an upper end only."""

from __future__ import annotations

import math
from collections.abc import Sequence

from hockeystick.pairs import Composition
from hockeystick.pairs.renyi import PRECISION, epsilon_at, log_delta_from, renyi_epsilon, renyi_log_delta
from hockeystick.values.interval import Interval


class RenyiEngine:
    """Upper ends of epsilon and log delta by the best Renyi order.

    Args:
        composition: pairs and counts; the caller handles mass at infinite loss.
        precision: precision to which log(best order - 1) is searched; the bound errs by about the square of it.
        tilts: orders minus 1 among which the best is chosen; all real orders are searched if ``None``.
    """

    def __init__(
        self, composition: Composition, precision: float = PRECISION, tilts: Sequence[float] | None = None
    ) -> None:
        self._composition, self._precision, self._tilts = composition, precision, tilts

    def epsilon(self, log_delta: tuple[float, float], gap: float | None) -> Interval:
        """Return the interval from 0 to the Renyi bound on epsilon."""
        if self._tilts is not None:
            upper, tilt = min((epsilon_at(self._composition, t, log_delta[0]), t) for t in self._tilts)
        else:
            found = renyi_epsilon(self._composition, log_delta[0], precision=self._precision)
            upper, tilt = found.value, found.order - 1
        return Interval(0.0, upper, upper, None, "rdp", tilt)

    def log_delta(self, epsilon: float, gap: float | None) -> Interval:
        """Return the interval from minus infinity to the Renyi bound on log delta."""
        if self._tilts is not None:
            upper, tilt = min((log_delta_from(self._composition, t, epsilon), t) for t in self._tilts)
        else:
            found = renyi_log_delta(self._composition, epsilon, precision=self._precision)
            upper, tilt = found.value, found.order - 1
        upper = min(upper, 0.0)
        return Interval(-math.inf, upper, upper, None, "rdp", tilt)
