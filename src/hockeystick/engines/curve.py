"""Certified log delta of one direction at many epsilons, at little more than the cost of one epsilon.

Most of the work of an engine can be used for many epsilons. A contour is accurate at all epsilons whose saddle points
are near its tilt. A pair of composed laws on a grid is accurate at all epsilons inside its window. A *section* is a
contour or a pair of laws, computed for one epsilon. It gives certified ends at every epsilon, and narrow intervals near
its own epsilon. Sections are computed where the interval is still too wide, and are kept for the next query. At each
epsilon, the intervals of all sections are intersected.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cached_property

import numpy as np
import numpy.typing as npt

from hockeystick.engines.base import ATTEMPTS, DEFAULT_GAP, ROUGH, Section
from hockeystick.engines.contour.engine import SHARPNESS, ContourEngine
from hockeystick.engines.contour.smoothed import Smoothing
from hockeystick.engines.direct import DirectEngine
from hockeystick.engines.grid.engine import DEFAULT_GAP as GRID_GAP
from hockeystick.engines.grid.engine import GridEngine
from hockeystick.engines.mirrored import Mirror
from hockeystick.numerics.budget import share
from hockeystick.numerics.exponential_sum import MOST
from hockeystick.numerics.rounding import SPARE
from hockeystick.pairs import Composition
from hockeystick.pairs.renyi import log_delta_from
from hockeystick.values.errors import NotApplicableError
from hockeystick.values.interval import Ends

Array = npt.NDArray[np.float64]

SHARPER = 1e-2  # width of a contour at its own epsilon, relative to the requested gap, which nearby epsilons then reach
TILT_RATIO, TILTS = 1.5, 30  # the tilts of the rough bound are the powers of 1.5 with exponents from -30 to 29


class _Sections:
    """Sections of a privacy curve: contours or grids that give narrow bounds near one epsilon and are kept.

    Args:
        lay: function that computes the section for an epsilon; it raises ``NotApplicableError`` if it cannot.
        narrow: relative width of delta at which an epsilon needs no further section.
    """

    def __init__(self, lay: Callable[[float], Section], narrow: float) -> None:
        self._lay, self._narrow = lay, narrow
        self._laid: list[Section] = []
        self._failures = 0

    def improved(self, best: Ends, epsilon: Array, enough: Array) -> Ends:
        """Return ends of log delta at increasing epsilons, narrowed by sections wherever they are wide.

        A new section is computed for the middle of the first run of neighbouring epsilons whose intervals are wide. No
        other section is tried at this middle epsilon. It counts as a failure if the section cannot be computed, or if
        the interval at the middle epsilon stays wide. The search ends when no interval is wide, after a few failures,
        or when the work is used up.
        """
        for section in self._laid:
            best = self._with(best, epsilon, enough, section)
        hopeless = np.zeros(len(epsilon), dtype=np.bool_)
        while self._failures < ATTEMPTS:
            wide = np.flatnonzero(self._wide(best, enough) & ~hopeless)
            if not len(wide):
                break
            ends = np.flatnonzero(np.diff(wide) > 1)
            run = wide[: ends[0] + 1] if len(ends) else wide
            at = int(run[len(run) // 2])
            hopeless[at] = True  # if the new section is wide at its own epsilon, other sections are wide there, too
            try:
                section = self._lay(float(epsilon[at]))
            except NotApplicableError:
                self._failures += 1
                continue
            self._laid.append(section)
            best = self._with(best, epsilon, enough, section)
            self._failures += int(self._wide(best, enough)[at])
        return best

    def _wide(self, best: Ends, enough: Array) -> npt.NDArray[np.bool_]:
        wide: npt.NDArray[np.bool_] = (best.width > self._narrow) & (best.upper > enough)
        return wide

    def _with(self, best: Ends, epsilon: Array, enough: Array, section: Section) -> Ends:
        """Return ``best`` after its wide intervals are intersected with the intervals of a section."""
        wide = np.flatnonzero(self._wide(best, enough))
        return put(best, wide, best[wide].shared(section.log_delta(epsilon[wide]))) if len(wide) else best


class _Chernoff:
    """Rough but cheap upper bound on log delta: the least Chernoff bound over a few tilts t.

    The bound at t is ``log delta <= K(t) - t eps + log peak(t)``, where ``peak(t) = t^t / (1+t)^(1+t)``.
    """

    def __init__(self, composition: Composition) -> None:
        self._tilts = TILT_RATIO ** np.arange(-TILTS, TILTS, dtype=np.float64)
        tops = [log_delta_from(composition, t, 0.0, ROUGH) for t in self._tilts.tolist()]
        self._tops = np.array([top if math.isfinite(top) else math.inf for top in tops])

    def log_delta(self, epsilon: Array) -> Ends:
        """Return ends of log delta at each epsilon; all lower ends are minus infinity."""
        falls = np.multiply.outer(epsilon, self._tilts)
        lines = self._tops - falls + SPARE * (1 + np.abs(falls))
        upper = np.minimum(lines.min(axis=1), 0.0)
        return Ends(np.full(len(epsilon), -math.inf), upper, upper)


class Curve:
    """Certified log delta over the finite losses of one direction, at any number of epsilons.

    Args:
        composition: pairs and counts; the caller handles mass at infinite loss.
        gap: largest relative width of delta allowed; the default of each engine if ``None``.
        many: True if there are so many kinds of rounds that only a contour can handle them.
    """

    def __init__(self, composition: Composition, gap: float | None = None, many: bool = False) -> None:
        self._composition, self._gap, self._many = composition, gap or DEFAULT_GAP, many
        self._contours = _Sections(self._contour, self._gap)
        self._grids = _Sections(self._grid, gap or GRID_GAP)

    def log_delta(self, epsilon: Array, enough: Array | None = None) -> Ends:
        """Return certified ends of log delta at each epsilon.

        If no engine reaches the gap, the interval is wider: the intersection of all results.

        Args:
            epsilon: one-dimensional array of epsilons below the largest loss, in any order.
            enough: one value for each epsilon; where log delta is below this value, any upper end below it suffices.
        """
        at, first, back = np.unique(epsilon, return_index=True, return_inverse=True)
        best = Ends(np.full(len(at), -math.inf), np.zeros(len(at)), np.zeros(len(at)))
        if not len(at):
            return best
        floor = np.full(len(at), -math.inf) if enough is None else enough[first]
        if self._many:
            return self._contours.improved(best, at, floor)[back]
        if enough is not None:
            best = best.shared(self._chernoff.log_delta(at))
        best, direct = self._integrated(best, at, floor), self._direct
        if direct is not None and direct.listed and direct.losses * len(at) <= MOST:
            return best[back]  # the intervals of a sum over all atoms are as narrow as rounding allows
        with share():  # keep some work for the grid, in case contours do not suffice
            best = self._contours.improved(best, at, floor)
        best = self._grids.improved(best, at, floor)
        if np.any((best.width > GRID_GAP) & (best.upper > floor)):
            best = best.shared(self._chernoff.log_delta(at))
        return best[back]

    def _integrated(self, best: Ends, epsilon: Array, floor: Array) -> Ends:
        """Return the ends after wide ones are intersected with intervals of the direct engine.

        The direct engine computes one integral, or a sum over atoms, for each epsilon.
        """
        wide, direct = np.flatnonzero((best.width > self._gap) & (best.upper > floor)), self._direct
        if not len(wide) or direct is None or direct.losses * len(wide) > MOST:
            return best
        try:
            each = [direct.log_delta(one, None) for one in epsilon[wide].tolist()]
        except NotApplicableError:  # the integral would need too many panels
            return best
        found = Ends(*np.array([(one.lower, one.estimate, one.upper) for one in each]).T)
        return put(best, wide, best[wide].shared(found))

    @cached_property
    def _direct(self) -> DirectEngine | None:
        try:
            return DirectEngine(self._composition) if DirectEngine.applies(self._composition) else None
        except NotApplicableError:  # only the moments of the round are known
            return None

    @cached_property
    def _chernoff(self) -> _Chernoff:
        return _Chernoff(self._composition)

    @cached_property
    def _engine(self) -> ContourEngine:
        return ContourEngine(self._composition)

    def _contour(self, epsilon: float) -> Section:
        """Return a contour for an epsilon, narrow enough that nearby epsilons also reach the requested gap."""
        gap = SHARPER * self._gap
        try:
            return self._engine.at(epsilon, gap)
        except NotApplicableError:
            if self._many:
                raise
            way = Mirror if Mirror.applies(self._composition) else Smoothing
            return way(self._composition).at(epsilon, gap)

    def _grid(self, epsilon: float) -> Section:
        return GridEngine(self._composition).at(epsilon, SHARPNESS * max(self._gap, GRID_GAP))


def put(old: Ends, where: npt.NDArray[np.intp], new: Ends) -> Ends:
    """Return a copy of the ends ``old``, with the ends ``new`` at the positions ``where``."""
    ends = old.lower.copy(), old.estimate.copy(), old.upper.copy()
    for kept, put in zip(ends, (new.lower, new.estimate, new.upper), strict=True):
        kept[where] = put
    return Ends(*ends)
