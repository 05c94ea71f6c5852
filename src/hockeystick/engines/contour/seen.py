"""Contours of rounds without extremely improbable outcomes.

With D' the delta of the outcomes kept and l the mass of those left out (``pairs/capped.py``, ``pairs/shortened.py``),
``D' <= D <= D' + l``: a lower end of D' is also one of D, an upper end is raised by l, and an epsilon with ``D' <=
delta - l`` has ``D <= delta``.

Few rounds at a small rate have a core whose transform decays only far up the line, and rare jumps, one in many thousand
rounds, that dominate the law at any tilt that suits the core; atoms in the tail do the same to a discrete law. Without
extremely improbable outcomes, the losses that matter are small, and larger tilts with equally short periods become
available.

The mass that may be left out follows from delta. If delta is sought, the guide's least Chernoff bound stands in for
it. This bound may be far above delta while large losses are present, so it is computed again without them.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from hockeystick.engines.base import DEFAULT_GAP, TOO_WIDE, Engine
from hockeystick.engines.guide import Guide
from hockeystick.numerics.rounding import UNIT_ROUNDOFF
from hockeystick.pairs import Composition
from hockeystick.pairs.composition import Kept
from hockeystick.values.errors import NotApplicableError
from hockeystick.values.interval import Interval

LOOKS = 4  # estimates of log delta, each with more of the large losses left out
SHARE = 0.01  # share of the requested width of log delta for the mass left out
BELOW = 10.0  # about the largest distance of log delta below a Chernoff bound
MOST = 0.4  # share of delta that may be left out if an epsilon is sought
TOO_MUCH = "the outcomes left out may account for most of delta"  # reason if a gap far above 1 is requested
BEYOND = "the losses that are kept do not add up to epsilon"  # reason for no contour at an epsilon


class SeenEngine:
    """Certified epsilon and log delta of one direction, by another engine without extremely improbable outcomes.

    Args:
        composition: pairs and counts; the caller handles mass at infinite loss.
        without: returns the rounds kept when a mass, given by its logarithm, may be left out.
        engine: engine for the rounds kept.
    """

    def __init__(
        self,
        composition: Composition,
        without: Callable[[Composition, float], Kept],
        engine: Callable[[Composition], Engine],
    ) -> None:
        self._composition, self._without, self._engine = composition, without, engine

    def log_delta(self, epsilon: float, gap: float | None) -> Interval:
        """Interval for ``log E (1 - e^(eps - L))_+`` at an epsilon below the supremum, of width at most about gap.

        Raises:
            NotApplicableError: there is no such contour.
        """
        gap = gap or DEFAULT_GAP
        spare = math.log(SHARE) + math.log(gap) - BELOW
        kept, before = Kept(self._composition, -math.inf, math.inf), math.inf
        for _ in range(LOOKS):
            depth = Guide.reaching(kept.rounds, epsilon)[2]
            if not depth < before - BELOW:
                break
            kept, before = self._without(self._composition, depth + spare), depth
            if not epsilon < kept.reach:
                raise NotApplicableError(BEYOND)
        found = self._engine(kept.rounds).log_delta(epsilon, gap)
        if kept.log_lost == -math.inf:
            return found
        upper = float(np.logaddexp(found.upper, kept.log_lost))
        upper = min(upper + 4 * UNIT_ROUNDOFF * (1 + abs(upper)), 0.0)
        return replace(found, upper=upper, limited=None if upper - found.lower <= gap else found.limited or TOO_WIDE)

    def epsilon(self, log_delta: tuple[float, float], gap: float | None) -> Interval:
        """Interval for ``inf {eps >= 0: log E (1 - e^(eps - L))_+ <= log_delta}``, of relative width about gap.

        Raises:
            NotApplicableError: there is no such contour, or too little of delta would be left.
        """
        gap = gap or DEFAULT_GAP
        low, high = log_delta
        kept = self._without(self._composition, low + math.log(SHARE) + math.log(gap))
        if kept.log_lost > -math.inf:
            if not kept.log_lost - low <= math.log(MOST):
                raise NotApplicableError(TOO_MUCH)
            low += math.log1p(-math.exp(kept.log_lost - low))
            low -= 8 * UNIT_ROUNDOFF * (1 + abs(low))
        return self._engine(kept.rounds).epsilon((low, high), gap)
