"""Automatic choice of an engine: engines run in order of sharpness until an interval is narrow enough.

If an engine does not apply to the composition, or its interval is wider than requested, the next engine runs too. The
result is the intersection of all intervals found, each of which is certified, and names the engine of the narrowest
one. If no engine reaches the requested gap, the Renyi bound is computed as well. Near the largest loss, this bound may
be lower than the upper end of every engine.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from functools import partial

from hockeystick.engines.base import DEFAULT_GAP, ROUGH, WIDER, Engine
from hockeystick.engines.direct import DirectEngine
from hockeystick.engines.mirrored import Mirror
from hockeystick.engines.renyi import RenyiEngine
from hockeystick.numerics.budget import USED_UP, Budget, left, share
from hockeystick.pairs import Composition
from hockeystick.values.errors import NotApplicableError
from hockeystick.values.interval import Interval

Ask = Callable[[Engine, float | None], Interval]
"""Function that queries an engine, with the requested gap, and returns its interval."""


def grid(composition: Composition) -> Engine:
    """Return the grid engine, whose module is imported only when it is needed."""
    from hockeystick.engines.grid.engine import GridEngine

    return GridEngine(composition)


def capped(composition: Composition) -> Engine:
    """Return the contour engine that leaves out extremely improbable outcomes and charges their probability."""
    from hockeystick.engines.contour.engine import ContourEngine
    from hockeystick.engines.contour.seen import SeenEngine
    from hockeystick.pairs.capped import capped

    return SeenEngine(composition, capped, ContourEngine)


def contour(composition: Composition) -> Engine:
    """Return the contour engine, which handles rounds of any kind."""
    from hockeystick.engines.contour.engine import ContourEngine

    return ContourEngine(composition)


def mirrored(composition: Composition) -> Engine:
    """Return the contour engine for the mirror image of the rounds, which has P and Q exchanged."""
    from hockeystick.engines.contour.engine import ContourEngine

    return ContourEngine(composition, Mirror)


def smoothed(composition: Composition) -> Engine:
    """Return the contour engine for losses smoothed by a little Gaussian noise, without extremely improbable losses.

    The effect of the noise and the probability of the losses left out are charged to the interval.
    """
    from hockeystick.engines.contour.engine import ContourEngine
    from hockeystick.engines.contour.seen import SeenEngine
    from hockeystick.engines.contour.smoothed import Smoothing
    from hockeystick.pairs.shortened import shortened

    return SeenEngine(composition, shortened, partial(ContourEngine, way=Smoothing))


ENGINES: tuple[Callable[[Composition], Engine], ...] = (DirectEngine, capped, contour, mirrored, smoothed, grid)
"""Engines in the order in which they run: the first ones give the narrowest intervals, or are the fastest."""

HALF = 0.5  # share of the remaining work that an engine may use if another engine follows
MANY = 32  # number of kinds above which a narrow smoothed contour, and the grid, may need too much work


class AutoEngine:
    """Engine that runs the other engines in order of sharpness until an interval is narrow enough.

    Args:
        composition: the rounds of one direction.
    """

    def __init__(self, composition: Composition) -> None:
        self._composition = composition

    def epsilon(self, log_delta: tuple[float, float], gap: float | None) -> Interval:
        """Return an interval for epsilon at a log delta, from as many engines as the requested gap needs."""
        with self._patient:
            return self._first(lambda engine, gap: engine.epsilon(log_delta, gap), gap, 0.0)

    def log_delta(self, epsilon: float, gap: float | None) -> Interval:
        """Return an interval for log delta at an epsilon, from as many engines as the requested gap needs."""
        with self._patient:
            return self._first(lambda engine, gap: engine.log_delta(epsilon, gap), gap, -math.inf)

    @property
    def _patient(self) -> AbstractContextManager[object]:
        """Return a context for an answer: with a larger work budget if some pair has ``patience``, else unchanged."""
        more = max((pair.patience for pair, _ in self._composition.rounds), default=0.0)
        return Budget(max(left(), more)) if more else nullcontext()

    def _first(self, ask: Ask, gap: float | None, least: float) -> Interval:
        best: Interval | None = None
        why = ""  # reported reason: the work limit, else the last refusal; the grid's refusal of moments is ignored
        for engine in ENGINES:
            if engine is grid and best is not None and _narrow(best):
                break
            try:
                with share(1.0 if engine is grid else HALF):
                    one = self._composition
                    found = self._coarse_first(ask, gap, best) if engine is smoothed else ask(engine(one), gap)
            except NotApplicableError as error:
                if why != USED_UP and (engine is not grid or not self._of_moments()):
                    why = str(error)
                continue
            best = found if best is None else shared(best, found)
            if best.limited is None:
                break
        if best is None or best.limited is not None:
            best = self._wider(best, ask, gap, Interval(least, least, least, why))
        if best is None:
            rough = ask(RenyiEngine(self._composition), gap)
            return replace(rough, limited=f"only the Renyi bound applies: {why}")
        if best.limited is None and _width(best) <= ROUGH:
            return best
        rough = ask(RenyiEngine(self._composition), gap)
        if best.upper <= rough.upper:
            return best
        return replace(best.at_most(rough.upper), engine=rough.engine if best.limited else best.engine)

    def _wider(self, best: Interval | None, ask: Ask, gap: float | None, least: Interval) -> Interval | None:
        """Return ``best``, with a smaller upper end if one follows from other pairs that also dominate the rounds.

        ``pair.wider`` lists these pairs. If ``best`` is ``None``, the lower end is that of ``least``, and the result
        is ``None`` if no pair has others.
        """
        rounds = [(wider, times * count) for pair, count in self._composition.rounds for wider, times in pair.wider]
        larger = Composition(rounds)
        if larger == self._composition:
            return best
        found = ask(AutoEngine(larger), gap)
        if best is not None:
            return best.at_most(found.upper)
        return replace(least, estimate=found.upper, upper=found.upper, engine=found.engine)

    def _coarse_first(self, ask: Ask, gap: float | None, best: Interval | None) -> Interval:
        """Return the interval of the smoothed contour, computed for wider gaps first if there may be no other answer.

        This is the case if no grid applies, or if there are many kinds of rounds. If the contour for a narrow gap would
        then take too much work, the result for a wider gap remains. Gaps wider than the interval already known are
        skipped.
        """
        stepwise = self._of_moments() or len(self._composition.rounds) > MANY
        known = math.inf if best is None else _width(best)
        gaps = [wider for wider in reversed(WIDER) if (gap or DEFAULT_GAP) < wider < known] if stepwise else []
        found: Interval | None = None
        for each in (*gaps, gap):
            try:
                finer = ask(smoothed(self._composition), each)
            except NotApplicableError as error:
                if found is None:
                    raise
                return replace(found, limited=str(error))
            found = finer if found is None else replace(shared(found, finer), limited=finer.limited)
        assert found is not None
        return found

    def _of_moments(self) -> bool:
        """True if only the moments of some round are known, so that no grid applies."""
        transforms = [pair.transform for pair, _ in self._composition.rounds]
        return any(transform is not None and transform.highest_tilt < math.inf for transform in transforms)


def _narrow(found: Interval) -> bool:
    return found.upper - found.lower <= WIDER[0] * min(abs(found.upper), 1.0)


def _width(found: Interval) -> float:
    """Return the width of an interval, relative to the modulus of its upper end if that is below 1."""
    width, size = found.upper - found.lower, min(abs(found.upper), 1.0)
    return width / size if width < math.inf and size else math.inf


def shared(first: Interval, second: Interval) -> Interval:
    """Return the intersection of two certified intervals, labelled with the engine of the narrower one."""
    narrower, wider = sorted((first, second), key=lambda found: found.upper - found.lower)
    return wider.intersected(narrower)
