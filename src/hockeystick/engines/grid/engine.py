"""Certified intervals for one direction of a plan, refined until they are as narrow as requested."""

from __future__ import annotations

import math
from dataclasses import replace

from hockeystick.engines.base import LEAST_GAP
from hockeystick.engines.grid.blocks import blocked
from hockeystick.engines.grid.query import DeltaQuery, EpsilonQuery, Query
from hockeystick.engines.grid.run import ATTEMPTS, Run, Target
from hockeystick.engines.grid.work import WORK, left
from hockeystick.engines.guide import Guide
from hockeystick.engines.renyi import RenyiEngine
from hockeystick.numerics.rounding import next_up
from hockeystick.pairs import Composition
from hockeystick.values.errors import NotApplicableError
from hockeystick.values.interval import Interval

DEFAULT_GAP = 1e-3  # width if none is requested: relative for epsilon, absolute for log delta
DEEPEST = -5000.0  # log of the smallest delta that is computed
MAX_CONTRAST = 18.0  # largest log of the tilted law's weight divided by delta; rounding is about e^-30 of the weight


class TooDeepError(NotApplicableError):
    """Raised if delta is too small for a grid."""


class GridEngine:
    """Engine for certified epsilon and log delta of one direction, from its finite losses.

    Args:
        composition: pairs and counts; the caller handles mass at infinite loss.
    """

    def __init__(self, composition: Composition) -> None:
        self.composition = blocked(composition)
        self._supremum = math.inf  # upper bound on epsilon
        if composition.bounded:
            self._supremum = max(next_up(float(composition.supremum[1]), 2), 0.0)

    def log_delta(self, epsilon: float, gap: float | None) -> Interval:
        """Return an interval for ``log E (1 - e^(eps - L))_+`` at an epsilon below the largest loss.

        Its width is at most about ``gap``. If delta is too small for a grid, the upper end is the Renyi bound, and the
        lower end is minus infinity.
        """
        try:
            return self._at(DeltaQuery(epsilon), gap or DEFAULT_GAP)
        except TooDeepError as error:
            bound = RenyiEngine(self.composition).log_delta(epsilon, gap)
            return replace(bound, limited=f"{error}, so only an upper bound is computed", engine="grid")

    def at(self, epsilon: float, gap: float) -> DeltaQuery:
        """Return a query for log delta at an epsilon, with its two composed laws; they give bounds at every epsilon.

        Raises:
            NotApplicableError: delta is too small for a grid, or there is no mesh within the limits.
        """
        query = DeltaQuery(epsilon)
        self._at(query, gap)
        if not query.sums:
            raise NotApplicableError("no grid fits within the work and memory limits")
        return query

    def _at(self, query: DeltaQuery, gap: float) -> Interval:
        guide, tilt, depth = Guide.reaching(self.composition, query.at)
        if depth < DEEPEST:
            raise TooDeepError(f"log delta is below {DEEPEST:g}, the smallest that the grid computes")
        return self._refined(guide, tilt, min(depth, guide.log_delta(query.at) - 0.5), gap, query)

    def epsilon(self, log_delta: tuple[float, float], gap: float | None) -> Interval:
        """Return an interval for ``inf {eps >= 0: log E (1 - e^(eps - L))_+ <= log_delta}``.

        Its relative width is at most about ``gap``. The target ``log_delta`` is an interval. The upper end of epsilon
        uses its lower end, and the lower end of epsilon uses its upper end.
        """
        gap = gap or DEFAULT_GAP
        target = log_delta[0]
        guide = Guide(self.composition, target - 50.0)
        tilt = guide.tilt_for_delta(target)
        guess = guide.epsilon(tilt)
        guess = min(guess, self._supremum)
        if guess <= 0:
            guess, tilt = 0.0, guide.saddle(0.0)
        return self._refined(guide, tilt, target, gap, EpsilonQuery(log_delta, guess, gap, self._supremum))

    def _refined(self, guide: Guide, tilt: float, depth: float, gap: float, query: Query) -> Interval:
        """Compute the two laws on finer and finer grids until the interval is narrow enough or a limit is reached.

        After each run, the search is in one of four states:

        - *narrow*: the interval is as narrow as requested, and the search ends;
        - *limited*: work, memory or the resolution of a mesh is used up, and the search ends with this reason;
        - *misplaced*: epsilon or log delta is far from its guess, and the next run starts from the new values;
        - *too coarse*: the guess was right, and the next run allows the mesh a smaller share of the width.
        """
        best: Interval | None = None
        share, slope = 0.6, tilt
        limited = "refining the grid no longer narrows the interval"
        for _ in range(ATTEMPTS):
            epsilon = query.epsilon(best)
            if best is not None and epsilon != query.epsilon(None):
                tilt = guide.saddle(epsilon)
            # near the largest loss, log delta may vary by much more than 1 over the requested width, but the error law
            # is linear only within a change of about 1
            asked = min(max(query.tolerance(gap, epsilon, slope), LEAST_GAP), 1.0)
            bend = max(min(tilt, query.steepest(gap, epsilon)), guide.least_tilt(epsilon, depth + MAX_CONTRAST, tilt))
            try:
                run = Run(self.composition, guide, Target(epsilon, bend, depth, asked, share, query.looks))
                lower, upper = run.sums()
            except NotApplicableError as error:
                best, limited = best or query.anything(), str(error)
                if best is None:
                    raise
                break
            found = query.measure(lower, upper, run.slope(tilt))
            best = found if best is None else best.intersected(found)
            width = query.width(best)
            if width <= gap or run.limited or left() <= 0:
                limited = run.limited or (WORK if left() <= 0 else limited)
                break
            at = query.epsilon(best)
            deeper, slope = query.depth(depth, best), upper.slope(at) or slope
            if deeper > depth - 1.0 and abs(at - epsilon) <= 0.05 * at:  # otherwise the guess was wrong, not the mesh
                made = min(run.apart / (share * asked), 1.0) if run.apart > 0 else 1.0
                share *= made * min(max(0.7 * gap / width, 0.02), 0.7)
            depth = deeper
        assert best is not None
        if best.upper == math.inf:
            raise NotApplicableError(limited)
        return replace(best, limited=limited if query.width(best) > gap else None, engine="grid")
