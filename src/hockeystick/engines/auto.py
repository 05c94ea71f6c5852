"""The sharpest engine that applies; the interval names the one that answered.

Engines are asked in order of sharpness. One that falls short of the asked gap says why, and the next is asked too; what
both allow is certified. Where none has an upper end that is worth anything, the Renyi bound has.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from hockeystick.engines.contour.engine import ContourEngine
from hockeystick.engines.direct import DirectEngine
from hockeystick.engines.grid.engine import GridEngine
from hockeystick.engines.interval import Engine, Interval, NotApplicableError
from hockeystick.engines.renyi import RenyiEngine
from hockeystick.pairs import Composition

ENGINES: tuple[Callable[[Composition], Engine], ...] = (DirectEngine, ContourEngine, GridEngine)

NARROW = 1e-4  # relative: what the engines after the first two would not improve


class AutoEngine:
    """All engines, tried in order of sharpness.

    Args:
        composition: one direction.
    """

    def __init__(self, composition: Composition) -> None:
        self._composition = composition

    def epsilon(self, log_delta: tuple[float, float], gap: float | None) -> Interval:
        """By the first engine that applies."""
        return self._first(lambda engine: engine.epsilon(log_delta, gap))

    def log_delta(self, epsilon: float, gap: float | None) -> Interval:
        """By the first engine that applies."""
        return self._first(lambda engine: engine.log_delta(epsilon, gap))

    def _first(self, ask: Callable[[Engine], Interval]) -> Interval:
        best: Interval | None = None
        reasons = []
        for engine in ENGINES:
            try:
                found = ask(engine(self._composition))
            except NotApplicableError as error:
                reasons.append(str(error))
                continue
            best = found if best is None else _shared(best, found)
            if best.limited is None or best.upper - best.lower <= NARROW * min(abs(best.upper), 1.0):
                return best
        rough = ask(RenyiEngine(self._composition))
        if best is None:
            return replace(rough, limited=f"only the Renyi bound applies: {'; '.join(reasons)}")
        return best if best.upper <= rough.upper else best.intersected(replace(rough, limited=best.limited))


def _shared(first: Interval, second: Interval) -> Interval:
    """What two certified intervals allow; named after the narrower one."""
    narrower, wider = sorted((first, second), key=lambda found: found.upper - found.lower)
    return wider.intersected(narrower)
