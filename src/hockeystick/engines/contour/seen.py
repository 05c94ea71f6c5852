"""Engine for rounds without extremely improbable outcomes, whose mass is charged.

Let D be the delta of the rounds, D' the delta of the outcomes kept, and l the mass of the outcomes left out
(``pairs/capped.py``, ``pairs/shortened.py``). Then ``D' <= D <= D' + l``. So a lower bound on D' is also a lower bound
on D, and an upper bound on D', plus l, is an upper bound on D. At an epsilon with ``D' <= delta - l``, ``D <= delta``.

Extremely improbable outcomes make contours long for a few rounds with a small sampling rate. Most losses of these
rounds are small, and their characteristic function decays only far up the line. Rare large losses (jumps), one in many
thousand rounds, dominate the law at every tilt that suits the small losses. Atoms in the tail of a discrete law have
the same effect. Without extremely improbable outcomes, all losses that matter are small, and larger tilts with equally
short periods can be used.

The mass that may be left out is a share of delta. In a query for delta, the guide's least Chernoff bound is used in
place of delta. With large losses, this bound may be far above delta, so it is computed again without them.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from hockeystick.engines.base import ATTEMPTS, DEFAULT_GAP, TOO_WIDE, Engine
from hockeystick.engines.guide import Guide
from hockeystick.numerics.rounding import UNIT_ROUNDOFF
from hockeystick.pairs import Composition
from hockeystick.pairs.composition import Kept
from hockeystick.values.errors import NotApplicableError
from hockeystick.values.interval import Interval

SHARE = 0.01  # mass left out, relative to delta times the requested width of log delta
BELOW = 10.0  # about the largest difference between a Chernoff bound and log delta
MOST = 0.4  # largest share of delta that may be left out in a query for epsilon
TOO_MUCH = "the outcomes left out may account for most of delta"  # reason if a gap far above 1 is requested
BEYOND = "the losses that are kept do not add up to epsilon"  # reason why there is no contour at an epsilon


class SeenEngine:
    """Engine that leaves out extremely improbable outcomes of one direction and runs another engine on the rest.

    Args:
        composition: pairs and counts; the caller handles mass at infinite loss.
        without: function of the composition and the log of a mass. It returns the rounds without their rarest
            outcomes, whose total mass is at most the given mass.
        engine: function that returns an engine for the rounds without these outcomes.
    """

    def __init__(
        self,
        composition: Composition,
        without: Callable[[Composition, float], Kept],
        engine: Callable[[Composition], Engine],
    ) -> None:
        self._composition, self._without, self._engine = composition, without, engine

    def log_delta(self, epsilon: float, gap: float | None) -> Interval:
        """Return an interval for ``log E (1 - e^(eps - L))_+``.

        Args:
            epsilon: an epsilon below the supremum of the loss L.
            gap: approximate width requested; ``None`` for the default.

        Raises:
            NotApplicableError: the losses that are kept do not add up to epsilon, or the other engine gives no answer.
        """
        gap = gap or DEFAULT_GAP
        spare = math.log(SHARE) + math.log(gap) - BELOW
        kept, before = Kept(self._composition, -math.inf, math.inf), math.inf
        for _ in range(ATTEMPTS):
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
        """Return an interval for ``inf {eps >= 0: log E (1 - e^(eps - L))_+ <= log_delta}``.

        Args:
            log_delta: ends of an interval that contains the target log delta.
            gap: approximate width requested, relative to epsilon; ``None`` for the default.

        Raises:
            NotApplicableError: the outcomes left out may account for too much of delta, or the other engine gives no
                answer.
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
