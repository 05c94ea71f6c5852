"""The sharpest engine that applies; the interval names the one that answered.

Engines are asked in order of sharpness. One that falls short of the asked gap says why, and the next is asked too; what
both allow is certified. The Renyi bound stands behind them: it is the sharper one near the largest loss, and the only
one where no engine has an upper end that is worth anything.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from functools import partial

from hockeystick.engines.base import DEFAULT_GAP, WIDER, Engine
from hockeystick.engines.direct import DirectEngine
from hockeystick.engines.mirrored import MirroredEngine
from hockeystick.engines.renyi import RenyiEngine
from hockeystick.numerics.budget import USED_UP, Budget, left, share
from hockeystick.pairs import Composition
from hockeystick.values.errors import NotApplicableError
from hockeystick.values.interval import Interval

Ask = Callable[[Engine, float | None], Interval]
"""A question to an engine, with the gap that is wanted."""

Place = Callable[[Interval], float]
"""The epsilon that an answer is about."""


def grid(composition: Composition) -> Engine:
    """The grid engine, imported when the first two do not answer."""
    from hockeystick.engines.grid.engine import GridEngine

    return GridEngine(composition)


def capped(composition: Composition) -> Engine:
    """The contour without outcomes that are never seen, imported when rounds are rarely sampled."""
    from hockeystick.engines.contour.engine import ContourEngine
    from hockeystick.engines.contour.seen import SeenEngine
    from hockeystick.pairs.capped import capped

    return SeenEngine(composition, capped, partial(ContourEngine, bundling=False))


def contour(composition: Composition) -> Engine:
    """The contour engine of any rounds, imported when there are other rounds than Gaussian ones."""
    from hockeystick.engines.contour.engine import ContourEngine

    return ContourEngine(composition)


def smoothed(composition: Composition) -> Engine:
    """The contour with a little noise, without losses that are never seen, imported when the others do not answer."""
    from hockeystick.engines.contour.seen import SeenEngine
    from hockeystick.engines.contour.smoothed import SmoothedEngine
    from hockeystick.pairs.shortened import shortened

    return SeenEngine(composition, shortened, SmoothedEngine)


ENGINES: tuple[Callable[[Composition], Engine], ...] = (DirectEngine, capped, contour, MirroredEngine, smoothed, grid)
"""From the sharpest on: one that refuses a composition, or falls short, is followed by the next."""

HALF = 0.5  # of the work that is left, which an engine may take that is followed by another one
NEAR_THE_END = 0.99  # of the largest loss
NARROW = 1e-4  # relative: what a little noise and the grid would not improve
SHARP = 1e-2  # relative: the Renyi bound is some 5 to 15 % above the truth but near the largest loss
HOPELESS = 0.5  # of the upper end, from which width on the grid is asked for less: a fine mesh was out of its reach
MANY = 32  # kinds from which on a fine contour with a little noise may be out of reach, and the grid after it as well
COARSER = (0.01, 0.05)  # gaps that are then asked for: a mesh for them may be within reach


class AutoEngine:
    """An engine that tries all others in order of sharpness.

    Args:
        composition: one direction.
    """

    def __init__(self, composition: Composition) -> None:
        self._composition = composition

    def epsilon(self, log_delta: tuple[float, float], gap: float | None) -> Interval:
        """Interval of epsilon by the first engine that applies."""
        with self._patient:
            return self._first(lambda engine, gap: engine.epsilon(log_delta, gap), lambda found: found.upper, gap, 0.0)

    def log_delta(self, epsilon: float, gap: float | None) -> Interval:
        """Interval of log delta by the first engine that applies."""
        with self._patient:
            return self._first(lambda engine, gap: engine.log_delta(epsilon, gap), lambda _: epsilon, gap, -math.inf)

    @property
    def _patient(self) -> AbstractContextManager[object]:
        """The budget of a question about rounds that may take more; else the one that is open stays."""
        more = max((pair.patience for pair, _ in self._composition.rounds), default=0.0)
        return Budget(max(left(), more)) if more else nullcontext()

    def _first(self, ask: Ask, place: Place, gap: float | None, least: float) -> Interval:
        best: Interval | None = None
        why = ""  # the one refusal that is reported: the limit of work, else the last one, but the grid's of moments
        for engine in ENGINES:
            if engine in (smoothed, grid) and best is not None and _narrow(best):
                break
            try:
                with share(1.0 if engine is grid else HALF):
                    one = self._composition
                    found = self._coarse_first(ask, gap, best) if engine is smoothed else ask(engine(one), gap)
            except NotApplicableError as error:
                if why != USED_UP and (engine is not grid or not self._of_moments()):
                    why = str(error)
                continue
            best = found if best is None else _shared(best, found)
            if best.limited is None:
                break
        if best is None or best.limited is not None:
            best = self._wider(best, ask, gap, Interval(least, least, least, why))
        if best is None:
            rough = ask(RenyiEngine(self._composition), gap)
            return replace(rough, limited=f"only the Renyi bound applies: {why}")
        best = self._coarser(best, ask, gap)
        if _width(best) <= SHARP and not self._at_the_end(place(best)):
            return best
        rough = ask(RenyiEngine(self._composition), gap)
        if best.upper <= rough.upper:
            return best
        return replace(best.at_most(rough.upper), engine=rough.engine if best.limited else best.engine)

    def _wider(self, best: Interval | None, ask: Ask, gap: float | None, least: Interval) -> Interval | None:
        """The interval up to the upper end of larger pairs, where rounds have some of which more is known."""
        rounds = [(wider, times * count) for pair, count in self._composition.rounds for wider, times in pair.wider]
        larger = Composition(rounds)
        if larger == self._composition:
            return best
        found = ask(AutoEngine(larger), gap)
        if best is not None:
            return best.at_most(min(found.upper, best.upper))
        return replace(least, estimate=found.upper, upper=found.upper, engine=found.engine)

    def _coarser(self, best: Interval, ask: Ask, gap: float | None) -> Interval:
        """The interval of the grid, recomputed with a lower aim if it fell far short: the aim determines the mesh."""
        for less in COARSER:
            hopeless = best.limited is not None and not best.upper - best.lower <= HOPELESS * abs(best.upper)
            if not hopeless or (gap is not None and gap >= less):
                continue
            try:
                found = best.intersected(ask(grid(self._composition), less))
            except NotApplicableError:
                break
            best = replace(found, limited=best.limited)  # which is as near as it comes to the gap that was asked
        return best

    def _coarse_first(self, ask: Ask, gap: float | None, best: Interval | None) -> Interval:
        """The contour with a little noise; where no engine comes after it, or kinds are many, from coarse to fine.

        A fine one that is out of reach then leaves what a coarser one has found. None is asked for more than is known.
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
            found = finer if found is None else _shared(found, finer)
        assert found is not None
        return found

    def _of_moments(self) -> bool:
        """True if only moments are known of some round, so that no grid answers."""
        transforms = [pair.transform for pair, _ in self._composition.rounds]
        return any(transform is not None and transform.highest_tilt < math.inf for transform in transforms)

    def _at_the_end(self, epsilon: float) -> bool:
        """True if it is so near the largest loss that the Renyi bound is sharp to many digits."""
        largest = self._composition.largest_loss
        return largest is not None and epsilon >= NEAR_THE_END * largest[0]


def _narrow(found: Interval) -> bool:
    return found.upper - found.lower <= NARROW * min(abs(found.upper), 1.0)


def _width(found: Interval) -> float:
    """Relative, and absolute where the upper end is above 1."""
    width, size = found.upper - found.lower, min(abs(found.upper), 1.0)
    return width / size if width < math.inf and size else math.inf


def _shared(first: Interval, second: Interval) -> Interval:
    """Intersection of two certified intervals, named after the narrower one."""
    narrower, wider = sorted((first, second), key=lambda found: found.upper - found.lower)
    return wider.intersected(narrower)
