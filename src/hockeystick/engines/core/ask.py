"""Certified epsilons and log deltas of many plans, in chunks that fit the cache.

Plans are grouped by their number of nodes, and within each group by their number of points. A plan gets no answer if it
needs too many nodes or points, or if its aim is not finite; the caller then runs the engines for single plans. If an
interval is wider than requested, the sum is repeated, up to twice, with an aim that uses what the previous sum
measured. All these intervals are valid, so the answer is their intersection.

**Directions.** Removing a record and adding one are separate queries, and the answer for a plan is the larger result.
Removing is computed first. Then a rough sum bounds the delta of adding at the epsilon found. If this delta is at most
the target, the epsilon of adding is not larger, and it is not computed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from hockeystick.engines.base import ROUGH
from hockeystick.engines.core.aim import TILTS, Aim, Asked, first_aim, laid
from hockeystick.engines.core.law import Law
from hockeystick.engines.core.line import CLASSES, Grid, Line
from hockeystick.engines.core.rows import Array, Columns, Mask, Places, Plans, each, most, rows_of, together
from hockeystick.engines.core.sum import Cut, Sum, meet
from hockeystick.numerics.arrays import CHUNK
from hockeystick.numerics.logarithm import log_peaks
from hockeystick.numerics.rounding import SPARE

HEIGHTS = (2.0, 2.0, 0.7)  # largest lift of the nodes from the real axis (``line.py``), in successive attempts
BESIDE, LEFT = (1.2, 2.2), 1e-2  # tilts of Chernoff bounds relative to the line's; their remainders relative to K
# outer and inner number of points of a line; the product of the two grows by about a half from entry to entry
POINTS = (
    (4, 4), (4, 6), (6, 6), (6, 9), (8, 10), (10, 12), (12, 15), (16, 17), (20, 20), (24, 25), (30, 30), (36, 37),
    (44, 46), (54, 56), (66, 68), (82, 82), (100, 100), (122, 123), (150, 150), (184, 184), (220, 220), (270, 270),
)  # fmt: skip
SIZES = np.array([outer * inner for outer, inner in POINTS], dtype=np.float64)  # numbers of points, increasing


@dataclass(frozen=True, slots=True)
class Found(Columns):
    """Certified ends and estimate of epsilon or log delta, and tilt used, for each plan; NaN without an answer."""

    lower: Array
    estimate: Array
    upper: Array
    tilt: Array

    @classmethod
    def nothing(cls, plans: int) -> Found:
        """Return a result in which no plan has an answer."""
        return cls(*(np.full(plans, np.nan) for _ in range(4)))

    @property
    def width(self) -> Array:
        """Width of the interval; infinite where there is no answer."""
        return np.nan_to_num(self.upper - self.lower, nan=np.inf)


class Worse(NamedTuple):
    """The larger of the answers for removing and for adding a record, for each plan.

    Attributes:
        found: the larger answers.
        adding: mask of the plans whose larger answer is for adding a record.
    """

    found: Found
    adding: Mask


def solve(plans: Plans, asked: Asked, numbers: int = CHUNK) -> Found:
    """Return the answer for each plan in a single direction, removing or adding a record, which its rows contain.

    Args:
        plans: the plans.
        asked: the query for each plan.
        numbers: largest number of doubles in a temporary array; it affects no answer.
    """
    found = Found.nothing(len(plans))
    with np.errstate(all="ignore"):
        lot = max(1, CHUNK // (len(TILTS) * plans.kinds))
        for start in range(0, len(plans), lot):
            open_ = np.arange(start, min(start + lot, len(plans)))
            aim = first_aim(plans.at(open_), asked.at(open_))
            for highest in HEIGHTS:
                measured = _attempt(plans.at(open_), asked.at(open_), aim, found, open_, numbers, highest)
                size = found.upper[open_] if asked.for_epsilon else 1.0
                wide = ~(found.upper[open_] - found.lower[open_] <= asked.gap[open_, 0] * size)
                again = np.flatnonzero(wide & np.isfinite(measured.log_delta[:, 0]))
                if not len(again):
                    break
                open_, known = open_[again], measured.at(again)
                aim = laid(aim.tilts[again], known.cumulants, known.epsilon, known.log_delta, asked.at(open_))
    return found


@dataclass(frozen=True, slots=True)
class Measured(Columns):
    """Approximate numbers from the sums of all plans, with which the next aim is chosen.

    Attributes:
        epsilon: an epsilon for each plan.
        log_delta: approximate log delta at this epsilon; NaN if no sum was computed.
        cumulants: approximate K at the tilts of the aim.
    """

    epsilon: Array
    log_delta: Array
    cumulants: Array


def _attempt(
    plans: Plans, asked: Asked, aim: Aim, found: Found, places: Places, numbers: int, highest: float
) -> Measured:
    """Compute one sum for each plan, intersect the intervals in ``found`` with the results, and return measurements."""
    kinds = plans.kinds
    measured = Measured(aim.epsilon.copy(), np.full(aim.t.shape, np.nan), aim.cumulants.copy())
    law, inner = Law.of(plans.rows), each(aim.inner, kinds) / (kinds * plans.rows.count[:, None])
    grid = Grid.of(law, each(aim.t, kinds), each(aim.y, kinds), inner, 1 / (kinds * plans.rows.count[:, None]), highest)
    needed = most(grid.needed[:, 0], kinds)
    for part, nodes in _chunks(needed, numbers, kinds):
        rows, some, near = rows_of(part, kinds), plans.at(part), aim.at(part)
        lines = Line.of(law.at(rows), grid.at(rows), each(near.t, kinds), each(near.y, kinds), nodes)
        cut = Cut.of(lines, some, near)
        points = np.ceil(cut.edge / near.step)[:, 0] + 1
        shape = np.searchsorted(SIZES, points)
        shape[~(points <= SIZES[-1])] = len(SIZES)
        for number in sorted(set(shape[shape < len(SIZES)].tolist())):
            at = np.flatnonzero(shape == number)
            outer, inner_points = POINTS[number]
            most_at_once = max(1, numbers // (outer * inner_points))
            for start in range(0, len(at), most_at_once):
                these = at[start : start + most_at_once]
                own = near.at(these)
                sums = Sum(lines.at(rows_of(these, kinds)), some.at(these), own, cut.at(these), outer, inner_points)
                which = part[these]
                got, epsilon = _answers(sums, asked.at(which), own)
                _narrow(found, places[which], got)
                _measure(measured, which, sums, own, epsilon, asked.at(which))
    return measured


def _chunks(needed: Array, numbers: int, kinds: int) -> Iterator[tuple[Places, int]]:
    """Yield the indices of the plans in each chunk, and the number of nodes used for all of them.

    Plans that need too many nodes are skipped.
    """
    place = np.searchsorted(CLASSES, needed)
    place[~(needed <= CLASSES[-1])] = len(CLASSES)
    for number in sorted(set(place[place < len(CLASSES)].tolist())):
        plans, nodes = np.flatnonzero(place == number), int(CLASSES[number])
        size = max(1, numbers // (nodes * kinds))
        for start in range(0, len(plans), size):
            yield plans[start : start + size], nodes


def _answers(sums: Sum, asked: Asked, aim: Aim) -> tuple[Found, Array]:
    """Return the certified answers for some plans, and the epsilons at which their sums were evaluated."""
    if asked.for_epsilon:
        ends, epsilon = meet(sums, aim.epsilon, asked.targets)
        lower, upper = ends.T
        return Found(lower, np.clip(epsilon[:, 0], lower, upper), upper, aim.t[:, 0]), epsilon
    low, high = sums.ends(aim.epsilon)
    middle = np.fmin(sums.log_value(aim.epsilon)[0], high)[:, 0]  # NaN if the sum is negative: rounding errors only
    return Found(low[:, 0], np.clip(middle, low[:, 0], high[:, 0]), high[:, 0], aim.t[:, 0]), aim.epsilon


def _narrow(found: Found, places: Places, got: Found) -> None:
    """Intersect the intervals of ``found`` at ``places`` with those of ``got``; keep the narrower one's estimate."""
    old = found.at(places)
    lower, upper = np.fmax(old.lower, got.lower), np.fmin(old.upper, got.upper)
    estimate = np.where(old.width <= got.width, old.estimate, got.estimate)
    found.put(places, Found(lower, np.clip(estimate, lower, upper), upper, got.tilt))


def _measure(measured: Measured, which: Places, sums: Sum, aim: Aim, epsilon: Array, asked: Asked) -> None:
    """Store approximate log delta and K from the sums of the plans ``which`` in ``measured``, for the next aim."""
    log_delta = asked.targets[:, 1:] if asked.for_epsilon else sums.log_value(epsilon)[0]
    measured.log_delta[which] = np.minimum(
        np.where(np.isfinite(log_delta), log_delta, sums.top - sums.t * epsilon - 35.0), 0.0
    )
    measured.epsilon[which] = np.where(np.isfinite(epsilon), epsilon, aim.epsilon)
    # if the approximate K(y) was too small, raise K at y and at all larger tilts
    seen = np.where(aim.tilts == aim.y, aim.cumulants, 0.0).sum(axis=1, keepdims=True)
    more = np.nan_to_num(np.maximum(sums.k_right - seen, 0.0), nan=1e3, posinf=1e3)
    measured.cumulants[which] += np.where(aim.tilts >= aim.y, more, 0.0)


def worse(plans: Plans, asked: Asked, numbers: int = CHUNK) -> Worse:
    """Return, for each plan, the larger of the answers for removing and for adding a record.

    Args:
        plans: the plans, for removing a record.
        asked: the query for each plan.
        numbers: largest number of doubles in a temporary array; it affects no answer.
    """
    found, worse = solve(plans, asked, numbers), np.zeros(len(plans), dtype=bool)
    adding = Plans(replace(plans.rows, add=np.ones(len(plans.rows), dtype=bool)), plans.noise, plans.kinds)
    # adding a record can be worse only if its delta at the lower end of epsilon exceeds the target,
    # or, in a query for delta, if its delta exceeds the lower end for removing
    epsilon = found.lower if asked.for_epsilon else asked.epsilon[:, 0]
    target = asked.targets[:, 1] if asked.for_epsilon else found.lower
    known = np.isfinite(found.upper) & np.isfinite(found.lower) & (epsilon > 0)
    unknown = np.flatnonzero(~known)  # plans for which adding a record is not computed
    found.put(unknown, Found.nothing(len(unknown)))
    open_ = np.flatnonzero(known)
    open_ = open_[~_milder(adding.at(open_), epsilon[open_], target[open_], found.tilt[open_], numbers)]
    if not len(open_):
        return Worse(found, worse)
    rough = solve(adding.at(open_), Asked.log_deltas(epsilon[open_], ROUGH), numbers)
    open_ = open_[~(rough.upper <= target[open_])]
    other, own = solve(adding.at(open_), asked.at(open_), numbers), found.at(open_)
    worse[open_] = other.upper > own.upper
    larger = (np.maximum(getattr(own, name), getattr(other, name)) for name in own.__dataclass_fields__)
    found.put(open_, Found(*larger))
    return Worse(found, worse)


def _milder(plans: Plans, epsilon: Array, target: Array, tilt: Array, numbers: int) -> Mask:
    """Return a mask of the plans for which a quick bound shows that log delta at an epsilon is at most the target.

    The plans describe adding a record. Without unsampled noise, no loss exceeds ``-sum k log(1-q)``, so that delta is 0
    from this epsilon on. Otherwise the bound is ``delta <= e^(K(y) - y eps) peak(y)``, at two tilts y.
    """
    kinds, count = plans.kinds, plans.rows.count[:, None]
    largest = together(-count * np.log1p(-plans.rows.rate[:, None]), kinds)[:, 0] * (1 + SPARE)
    out: Mask = (plans.noise == 0) & (largest <= epsilon)
    law, left, (t, y) = Law.of(plans.rows), LEFT / (kinds * count), ((factor * tilt)[:, None] for factor in BESIDE)
    with np.errstate(all="ignore"):
        grid = Grid.of(law, each(t, kinds), each(y, kinds), left, left)
        for part, nodes in _chunks(most(grid.needed[:, 0], kinds), numbers, kinds):
            rows, eps = rows_of(part, kinds), epsilon[part][:, None]
            lines = Line.of(law.at(rows), grid.at(rows), each(t[part], kinds), each(y[part], kinds), nodes)
            for at, upper in ((t[part], lines.highest), (y[part], lines.upper)):
                k = together(count[rows] * upper, kinds) + plans.noise[part][:, None] * at * (1 + at) / 2
                slip = SPARE * (np.abs(k) + at * eps + 1)  # covers the roundings of the bound itself
                out[part] |= (k - at * eps + log_peaks(at) + slip <= target[part][:, None])[:, 0]
    return out
