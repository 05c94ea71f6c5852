"""Certified epsilons and log deltas of many plans of as many kinds, in chunks that fit the cache.

Three stages, each over plans of one shape: where to lay the contour (``guess.py``), by plans of as many nodes of a
first look; nodes, the bound on the right alias and the cut (``nodes.py``, ``envelope.py``), by plans of as many nodes;
the line and the sums (``line.py``, ``sums.py``), by plans of as many points. All kinds of a plan have one tilt, one
line and as many nodes as the one that needs most; K, its bounds and what they may be off by are added up. Plans
whose nodes or points are too many, whose bounds do not fall, or whose interval stays wider than was asked are told, and
the caller asks the engines for one plan.

**The milder direction.** At an epsilon, adding a record has at most ``log delta = k K_add(y) - y eps + log peak(y)``
for every y > 0 (``pairs/renyi.py``), with ``m_add(y) = int phi g^-y``, had from the same nodes: relative to
``m_add >= 1`` the step misses at most ``2 e^(a^2/2) cos(mu a / 2)^-y / (e^(2 pi a / dx) - 1)``, and what lies beyond is
at most ``(1-q)^-y Phi(low) + Phi(-high)`` (``pairs/sampled/gaussian_law.py``). Where that is below what has been found,
the maximum over both directions is what removing a record has.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, replace
from typing import NamedTuple

import numpy as np

from hockeystick.engines.batch import guess
from hockeystick.engines.batch import nodes as fine
from hockeystick.engines.batch.envelope import Envelope
from hockeystick.engines.batch.guess import Asked, Look, Place, log_peak
from hockeystick.engines.batch.nodes import SPARE, Layout, Nodes
from hockeystick.engines.batch.rows import Array, Columns, Mask, Places, Rows, each, most, rows_of, together
from hockeystick.engines.batch.sums import Known, Sums
from hockeystick.engines.contour.engine import DEFAULT_GAP
from hockeystick.numerics.rounding import ULPS, UNIT_ROUNDOFF

NUMBERS = 1 << 16  # doubles of one array of a chunk
MOST_ROWS = 512  # of a chunk
LARGER = 1  # numbers of the points of a chunk, of those of its nodes
# outer and inner numbers of points of a line: by a quarter or a third more from one to the next
POINTS = (
    (2, 2), (2, 3), (2, 4), (3, 4), (4, 4), (4, 5), (4, 6), (4, 8), (5, 8), (6, 8), (8, 8), (8, 10), (8, 12), (8, 16),
    (10, 16), (12, 16), (16, 16), (16, 20), (16, 24), (16, 32), (20, 32), (24, 32), (32, 32), (32, 40), (32, 48),
    (32, 64), (40, 64), (48, 64), (64, 64), (64, 80), (64, 96), (96, 96), (96, 128), (128, 128),
    (128, 160), (160, 160),
)  # fmt: skip
# numbers of points, which increase
SIZES = np.array([outer * inner for outer, inner in POINTS], dtype=np.float64)
TILTS_ABOVE = (1.15, 1.8, 4.0)  # y tried, of the saddle point: the milder direction's best order is the higher one
COARSE = 0.02  # of log delta: how sharp a contour is that shows a direction to be the milder one
SLACK = 64 * UNIT_ROUNDOFF  # relative, of sums of few terms


@dataclass(frozen=True, slots=True)
class Found(Columns):
    """Certified ends of epsilon or of log delta, and the guess between; not a number where a row is not answered.

    Attributes:
        lower, estimate, upper: the ends.
        milder: whether adding a record is shown to have no more; true where it was not asked.
    """

    lower: Array
    estimate: Array
    upper: Array
    milder: Mask

    @classmethod
    def nothing(cls, rows: int) -> Found:
        """No answers, of any row."""
        return cls(np.full(rows, np.nan), np.full(rows, np.nan), np.full(rows, np.nan), np.zeros(rows, dtype=bool))

    def put(self, rows: Places, found: Found) -> None:
        """Answers of some rows."""
        for field in fields(self):
            getattr(self, field.name)[rows] = getattr(found, field.name)


class Worse(NamedTuple):
    """The larger of two directions' answers, and whether adding a record is what has it."""

    found: Found
    adding: Mask


class BatchEngine:
    """Many plans of Poisson-sampled Gaussian rounds in one direction.

    Args:
        rows: the rounds, all of one direction, those of each plan side by side.
        numbers: doubles of one array of a chunk; it makes no difference to an answer.
        kinds: of each plan.
    """

    def __init__(self, rows: Rows, numbers: int = NUMBERS, kinds: int = 1) -> None:
        self._rows, self._numbers, self._kinds = rows, numbers, kinds
        self._plans = len(rows) // kinds

    def epsilons(self, log_delta: tuple[Array, Array], gap: float | None = None, both: Mask | None = None) -> Found:
        """Intervals of ``inf {eps: log delta(eps) <= log_delta}``.

        Args:
            log_delta: the targets of the upper and of the lower end.
            gap: widest relative width wanted.
            both: plans of which it is to be shown, where it can cheaply be, that adding a record has no more.
        """
        gap = gap or DEFAULT_GAP
        both = np.zeros(self._plans, dtype=bool) if both is None else both
        asked = Asked(log_delta[0], np.full(len(log_delta[0]), np.nan))
        found = self._asked(np.arange(self._plans), asked, log_delta, gap, both)
        again = np.flatnonzero(~(found.upper - found.lower <= gap * found.upper) & (found.estimate > 0))
        if len(again):
            near = Asked(log_delta[0][again], found.estimate[again])
            targets = log_delta[0][again], log_delta[1][again]
            second = self._asked(again, near, targets, gap, both[again])
            narrower = ~(found.upper[again] - found.lower[again] <= second.upper - second.lower)
            found.put(again[narrower], second.at(narrower))
        return found

    def log_deltas(self, epsilon: Array, gap: float | None = None, both: Mask | None = None) -> Found:
        """Intervals of log delta at epsilons greater than 0; the arguments as for epsilons, the gap absolute."""
        asked = Asked(np.full(len(epsilon), np.nan), epsilon)
        both = np.zeros(self._plans, dtype=bool) if both is None else both
        gap = gap or DEFAULT_GAP
        found = self._asked(np.arange(self._plans), asked, None, gap, both)
        again = np.flatnonzero(~(found.upper - found.lower <= gap) & np.isfinite(found.estimate))
        if len(again):
            near = Asked(found.estimate[again], epsilon[again])
            second = self._asked(again, near, None, gap, both[again])
            narrower = ~(found.upper[again] - found.lower[again] <= second.upper - second.lower)
            found.put(again[narrower], second.at(narrower))
        return found

    def _asked(self, which: Places, asked: Asked, targets: tuple[Array, Array] | None, gap: float, both: Mask) -> Found:
        found, kinds = Found.nothing(len(which)), self._kinds
        with np.errstate(all="ignore"):
            rows = self._rows.at(rows_of(which, kinds))
            place = self._placed(rows, asked, gap, targets is not None)
            layout = fine.laid(rows, place.of_rows(kinds), calm=targets is None, kinds=kinds)
            few = most(layout.few, kinds)
            known, shape = self._cut(rows, place, layout)
            for number, (outer, inner) in enumerate(POINTS):
                these = np.flatnonzero(shape == number)
                for part, nodes in self._chunks(few[these], fine.CLASSES, these, outer * inner):
                    some = these[part]
                    at = self._nodes(rows, place, layout, some, nodes)
                    goal = None if targets is None else (targets[0][some], targets[1][some])
                    sums = Sums(known.at(some), at, outer, inner, kinds)
                    found.put(some, _answers(sums, at, place.at(some), both[some], goal, kinds))
        return found

    def _nodes(self, rows: Rows, place: Place, layout: Layout, plans: Places, nodes: int) -> Nodes:
        """The nodes of some plans."""
        some = rows_of(plans, self._kinds)
        return Nodes(rows.at(some), place.at(plans).of_rows(self._kinds), layout.at(some), nodes)

    def _cut(self, rows: Rows, place: Place, layout: Layout) -> tuple[Known, Places]:
        """What is known of each plan beside its line, and the class of its number of points."""
        known = Known(*(np.full(len(place), np.nan) for _ in fields(Known)))
        size = np.full(len(place), np.nan)
        for part, nodes in self._chunks(most(layout.needed, self._kinds), fine.CLASSES, place.period):
            at = self._nodes(rows, place, layout, part, nodes)
            got, size[part] = _cut(at, place.at(part), self._kinds)
            for field in fields(Known):
                getattr(known, field.name)[part] = getattr(got, field.name)
        shape = np.searchsorted(SIZES, size)
        shape[~(size <= SIZES[-1])] = len(SIZES)
        return known, shape

    def _placed(self, rows: Rows, asked: Asked, gap: float, relative: bool) -> Place:
        first = guess.first(rows, asked, self._kinds)
        place = Place(*(np.full(len(first), np.nan) for _ in fields(Place)))
        for part, nodes in self._chunks(first.nodes, guess.CLASSES, first.start):
            look = Look(rows.at(rows_of(part, self._kinds)), first.at(part), nodes, self._kinds)
            got = look.place(asked.at(part), gap, relative)
            for field in fields(Place):
                getattr(place, field.name)[part] = getattr(got, field.name)
        return place

    def _chunks(
        self, needed: Array, classes: Array, order: Array | Places, points: int = 0
    ) -> Iterator[tuple[Places, int]]:
        """Plans of chunks, and the number of their nodes; plans that need more than the last class are in none."""
        place = np.searchsorted(classes, needed)
        place[~(needed <= classes[-1])] = len(classes)
        sorted_rows = np.lexsort((order, place))
        ends = np.searchsorted(place[sorted_rows], np.arange(len(classes) + 1))
        for number, nodes in enumerate(classes.tolist()):
            size = max(1, min(MOST_ROWS, int(self._numbers // max(nodes, points / LARGER))) // self._kinds)
            for start in range(ends[number], ends[number + 1], size):
                yield sorted_rows[start : min(start + size, ends[number + 1])], int(nodes)


def worse_epsilons(
    rows: Rows, log_delta: tuple[Array, Array], gap: float | None, numbers: int = NUMBERS, kinds: int = 1
) -> Worse:
    """The larger epsilon of both directions of each plan.

    Removing a record is asked, and of adding one no more than whether it has at most the target at the epsilon found:
    by moments, else by a coarse contour, else by one as sharp as the first.
    """
    both = np.ones(len(rows) // kinds, dtype=bool)
    found = BatchEngine(rows, numbers, kinds).epsilons(log_delta, gap, both)
    return _with_adding(
        rows,
        found,
        (numbers, kinds),
        lambda engine, which: engine.log_deltas(found.lower[which], COARSE).upper <= log_delta[0][which],
        lambda engine, which: engine.epsilons((log_delta[0][which], log_delta[1][which]), gap),
    )


def worse_log_deltas(rows: Rows, epsilon: Array, gap: float | None, numbers: int = NUMBERS, kinds: int = 1) -> Worse:
    """The larger log delta of both directions of each plan, likewise."""
    both = np.ones(len(rows) // kinds, dtype=bool)
    found = BatchEngine(rows, numbers, kinds).log_deltas(epsilon, gap, both)
    return _with_adding(
        rows,
        found,
        (numbers, kinds),
        lambda engine, which: engine.log_deltas(epsilon[which], COARSE).upper <= found.lower[which],
        lambda engine, which: engine.log_deltas(epsilon[which], gap),
    )


def _with_adding(
    rows: Rows,
    found: Found,
    shape: tuple[int, int],
    shows: Callable[[BatchEngine, Places], Mask],
    ask: Callable[[BatchEngine, Places], Found],
) -> Worse:
    numbers, kinds = shape
    adding = replace(rows, add=np.ones(len(rows), dtype=bool))

    def engine(plans: Places) -> BatchEngine:
        return BatchEngine(adding.at(rows_of(plans, kinds)), numbers, kinds)

    worse = np.zeros(len(found), dtype=bool)
    open_ = np.flatnonzero(~found.milder & np.isfinite(found.upper) & (found.lower != 0))
    if len(open_):
        found.milder[open_] = shows(engine(open_), open_)
        open_ = open_[~found.milder[open_]]
    if len(open_):
        other, own = ask(engine(open_), open_), found.at(open_)
        worse[open_] = other.upper > own.upper
        both = Found(
            np.maximum(own.lower, other.lower),
            np.maximum(own.estimate, other.estimate),
            np.maximum(own.upper, other.upper),
            np.isfinite(other.upper),
        )
        found.put(open_, both)
    return Worse(found, worse)


def _cut(nodes: Nodes, place: Place, kinds: int = 1) -> tuple[Known, Array]:
    """What is known of each plan beside its line, and how many points it takes."""
    wanted = place.depth + np.log(place.tolerance) - 2.0
    right = together(nodes.rows.count * nodes.upper(nodes.place.right), kinds)
    right += SPARE * (1 + np.abs(right))
    theta = place.right - place.t
    needed = (right - place.right * place.epsilon + log_peak(place.right) - wanted + 1.0) / theta
    period = np.maximum(needed, (1.0 - wanted) / place.t)
    edges, tails = Envelope(nodes).cut(period, wanted - place.top, kinds)
    known = Known(place.t, place.right, right, period, tails, place.tolerance)
    return known, np.ceil(edges * period / (2 * math.pi)) + 1


def _answers(
    sums: Sums, nodes: Nodes, place: Place, both: Mask, targets: tuple[Array, Array] | None, kinds: int
) -> Found:
    """The answers of plans of one number of nodes and one of points.

    Args:
        sums, nodes, place: of the plans.
        both: whether adding a record has to be shown to be milder.
        targets: log deltas of both ends where epsilons are asked; else the deltas at the place's epsilons are.
        kinds: of each plan.
    """
    if targets is None:
        every = np.arange(len(both))
        lower, estimate, upper = sums.certificate(sums.values(place.epsilon, every), np.zeros(len(both)))
        return Found(lower, estimate, upper, _milder(nodes, place, both, place.epsilon, lower, kinds))
    above, below = targets
    lower, root, upper = sums.ends(above, below, place.epsilon)
    return Found(lower, np.clip(root, lower, upper), upper, _milder(nodes, place, both, lower, above, kinds))


def _milder(nodes: Nodes, place: Place, both: Mask, epsilon: Array, log_delta: Array, kinds: int) -> Mask:
    """Whether adding a record is shown to have at most that log delta; true where it is not asked."""
    shown = ~both
    for factor in TILTS_ABOVE:
        left = np.flatnonzero(~shown)
        if not len(left):
            break
        y, rows = factor * place.slope[left], rows_of(left, kinds)
        total_k = together(nodes.rows.count[rows] * nodes.upper_adding(rows, each(y, kinds)), kinds)
        log_bound = total_k - y * epsilon[left] + log_peak(y)
        log_bound += (SLACK + 8 * ULPS * UNIT_ROUNDOFF) * (np.abs(total_k) + y * epsilon[left] + 2)
        shown[left] = log_bound <= log_delta[left]
    return shown
