"""The contours with a little noise, of rounds without large losses that are next to never seen.

With D' and the mass l of what is left out as in ``pairs/shortened.py``, ``D' <= D <= D' + l``: the lower end of D' is
one of D, the upper end is raised by l, and an epsilon with ``D' <= delta - l`` has ``D <= delta``.

How much may be left out follows from delta. Where delta is what is asked, the least Chernoff bound that the guide sees
stands in for it; while the large losses are there it may be far above delta, so that it is looked again without them.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from hockeystick.engines.base import DEFAULT_GAP
from hockeystick.engines.contour.smoothed import TOO_WIDE, SmoothedEngine
from hockeystick.engines.guide import Guide
from hockeystick.numerics.rounding import UNIT_ROUNDOFF
from hockeystick.pairs import Composition
from hockeystick.pairs.shortened import shortened
from hockeystick.values.interval import Interval

LOOKS = 4  # at how deep delta is, each without more of the large losses
SHARE = 0.01  # of the asked width of log delta, that what is left out may have
BELOW = 10.0  # log of how far delta may be below a Chernoff bound, about


class ShortenedEngine:
    """Certified epsilon and log delta of one direction: :class:`SmoothedEngine` without losses that are never seen.

    Args:
        composition: pairs and counts; mass at infinite loss is the caller's.

    Raises:
        NotApplicableError: a pair without a characteristic function.
    """

    def __init__(self, composition: Composition) -> None:
        self._whole = SmoothedEngine(composition)
        self._composition = composition

    def log_delta(self, epsilon: float, gap: float | None) -> Interval:
        """Interval of ``log E (1 - e^(eps - L))_+`` at an epsilon below the supremum, of width at most about gap.

        Raises:
            NotApplicableError: there is no contour.
        """
        gap = gap or DEFAULT_GAP
        spare = math.log(SHARE) + math.log(gap) - BELOW
        rounds, log_lost = self._composition, -math.inf
        before = math.inf
        for _ in range(LOOKS):
            depth = Guide.reaching(rounds, epsilon)[2]
            if not depth < before - BELOW:
                break
            rounds, log_lost = shortened(self._composition, depth + spare)
            before = depth
        if log_lost == -math.inf:
            return self._whole.log_delta(epsilon, gap)
        found = SmoothedEngine(rounds).log_delta(epsilon, gap)
        upper = float(np.logaddexp(found.upper, log_lost))
        upper = min(upper + 4 * UNIT_ROUNDOFF * (1 + abs(upper)), 0.0)
        return replace(found, upper=upper, limited=None if upper - found.lower <= gap else found.limited or TOO_WIDE)

    def epsilon(self, log_delta: tuple[float, float], gap: float | None) -> Interval:
        """Interval of ``inf {eps >= 0: log E (1 - e^(eps - L))_+ <= log_delta}``, relative width about gap.

        Raises:
            NotApplicableError: there is no contour.
        """
        gap = gap or DEFAULT_GAP
        low, high = log_delta
        rounds, log_lost = shortened(self._composition, low + math.log(SHARE) + math.log(gap))
        if not log_lost < low - 1.0:  # nothing to speak of would be left of delta
            return self._whole.epsilon(log_delta, gap)
        low += math.log1p(-math.exp(log_lost - low))
        return SmoothedEngine(rounds).epsilon((low - 8 * UNIT_ROUNDOFF * (1 + abs(low)), high), gap)
