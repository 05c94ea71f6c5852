"""The contour of sampled Gaussian rounds without outcomes far out that are next to never seen, a record being removed.

With D' and the mass l of what is left out as in ``pairs/capped.py``, ``D' <= D <= D' + l``: the lower end of D' is one
of D, the upper end is raised by l, and an epsilon with ``D' <= delta - l`` has ``D <= delta``.

Few rounds at a small rate have a core whose transform falls off far up the line, and one jump in many thousand rounds
that takes over the law at any tilt that suits the core. Without the jumps that are next to never seen losses are
bounded by a few thousandths, for all that counts: tilts of ten thousand are to be had, at which a period is as short.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from hockeystick.engines.base import DEFAULT_GAP, TOO_WIDE
from hockeystick.engines.contour.engine import ContourEngine
from hockeystick.engines.guide import Guide
from hockeystick.numerics.rounding import UNIT_ROUNDOFF
from hockeystick.pairs import Composition
from hockeystick.pairs.capped import Kept, capped
from hockeystick.values.errors import NotApplicableError
from hockeystick.values.interval import Interval

LOOKS = 4  # at how deep delta is, each without more of what is far out
SHARE = 0.01  # of the asked width of log delta, that what is left out may have
BELOW = 10.0  # log of how far delta may be below a Chernoff bound, about
MOST = 0.5  # of delta, that what is left out may have where an epsilon is sought
TOO_MUCH = "what is left out may be most of delta"  # where a gap far above 1 is asked
NOTHING = "losses that are seen are not small"  # why there is no such contour
BEYOND = "losses that are seen do not add up to epsilon"  # why there is none at an epsilon


class CappedEngine:
    """Certified epsilon and log delta of one direction: the contour engine without outcomes that are never seen.

    Args:
        composition: pairs and counts; mass at infinite loss is the caller's.
    """

    def __init__(self, composition: Composition) -> None:
        self._composition = composition

    def log_delta(self, epsilon: float, gap: float | None) -> Interval:
        """Interval of ``log E (1 - e^(eps - L))_+`` at an epsilon below the supremum, of width at most about gap.

        Raises:
            NotApplicableError: there is no such contour.
        """
        gap = gap or DEFAULT_GAP
        spare = math.log(SHARE) + math.log(gap) - BELOW
        rounds, log_lost, before = self._composition, -math.inf, math.inf
        for _ in range(LOOKS):
            depth = Guide.reaching(rounds, epsilon)[2]
            if not depth < before - BELOW:
                break
            rounds, log_lost, reach = self._capped(depth + spare)
            if not epsilon < reach:
                raise NotApplicableError(BEYOND)
            before = depth
        found = ContourEngine(rounds, bundling=False).log_delta(epsilon, gap)
        upper = float(np.logaddexp(found.upper, log_lost))
        upper = min(upper + 4 * UNIT_ROUNDOFF * (1 + abs(upper)), 0.0)
        return replace(found, upper=upper, limited=None if upper - found.lower <= gap else found.limited or TOO_WIDE)

    def epsilon(self, log_delta: tuple[float, float], gap: float | None) -> Interval:
        """Interval of ``inf {eps >= 0: log E (1 - e^(eps - L))_+ <= log_delta}``, relative width about gap.

        Raises:
            NotApplicableError: there is no such contour, or too little of delta would be left of it.
        """
        gap = gap or DEFAULT_GAP
        low, high = log_delta
        rounds, log_lost, _ = self._capped(low + math.log(SHARE) + math.log(gap))
        if not log_lost - low <= math.log(MOST):
            raise NotApplicableError(TOO_MUCH)
        low += math.log1p(-math.exp(log_lost - low))
        low -= 8 * UNIT_ROUNDOFF * (1 + abs(low))
        return ContourEngine(rounds, bundling=False).epsilon((low, high), gap)

    def _capped(self, log_lost: float) -> Kept:
        """Return the rounds without outcomes far out.

        Raises:
            NotApplicableError: there are none.
        """
        found = capped(self._composition, log_lost)
        if found is None:
            raise NotApplicableError(NOTHING)
        return found
