"""Epsilon at many deltas, found for all of them at the same time on one curve of log delta.

The search is not certified; only the check at its end is. An upper end is an epsilon at which the certified upper bound
on log delta is at most the target. A lower end is an epsilon at which the certified lower bound exceeds the target.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from hockeystick.directions.certified import certified_epsilon
from hockeystick.directions.curve import SidedCurve, WorstCurve
from hockeystick.directions.directions import Directions
from hockeystick.engines.auto import AutoEngine
from hockeystick.engines.base import ATTEMPTS
from hockeystick.numerics.rounding import SPARE
from hockeystick.values.interval import Array, Ends
from hockeystick.values.side import Side

TABLE = 65  # epsilons at which the search starts
WIDENINGS = 30  # most widenings of an end that is not certified yet
INFINITE_LOG = 1e150  # size of the number that replaces minus infinity in the table


def epsilons(curve: SidedCurve, directions: Directions, delta: Array, gap: float | None) -> Ends:
    """Return certified ends of epsilon at each delta in [0, 1), shape (n,)."""
    if not len(delta):
        return Ends(delta, delta, delta)
    at, back = np.unique(delta, return_inverse=True)
    ends = np.empty((3, len(at)))
    # the smallest delta is computed alone, as its epsilon bounds the others; if infinite, the next one too
    place, farthest = 0, math.inf
    while place < len(at) and math.isinf(farthest):
        farthest = _put(ends, directions, place, float(at[place]), gap)
        place += 1
    rest = np.arange(place, len(at))
    if len(rest):
        found, missed = _searched(curve.above, np.log(at[rest]), farthest)
        if not curve.tight:  # each side has its own root
            found = found.over(_searched(curve.below, np.log(at[rest]), farthest)[0])
        ends[:, rest] = np.stack([found.lower, found.estimate, found.upper])
        for alone in rest[missed].tolist():
            _put(ends, directions, alone, float(at[alone]), gap)
    return Ends(*ends[:, back])


def _put(ends: Array, directions: Directions, place: int, delta: float, gap: float | None) -> float:
    bound = certified_epsilon(directions, delta, gap, AutoEngine)
    ends[:, place] = bound.lower, bound.estimate, bound.upper
    return float(bound.upper)


def _searched(curve: WorstCurve, target: Array, farthest: float) -> tuple[Ends, npt.NDArray[np.bool_]]:
    """Return ends of epsilon at each target log delta, and a mask of the targets without a certified upper end.

    The targets increase, and no epsilon exceeds ``farthest``.
    """
    table = np.linspace(0.0, max(farthest, 1e-12), TABLE)
    known = curve.log_delta(table).estimate
    known = np.minimum.accumulate(np.maximum(known, -INFINITE_LOG))
    root = np.interp(-target, -known, table)
    slope = np.gradient(known, table)
    slopes = np.minimum(np.interp(root, table, slope), -1e-300)
    for _ in range(ATTEMPTS):
        value = curve.log_delta(root).estimate
        with np.errstate(over="ignore", invalid="ignore"):
            moved = root - (value - target) / slopes
        new = np.where(np.isfinite(moved), np.clip(moved, 0.0, farthest), root)
        after = curve.log_delta(new).estimate
        with np.errstate(divide="ignore", invalid="ignore"):
            secant = (after - value) / (new - root)
        slopes = np.where(secant < 0, secant, slopes)
        root = new
    upper, up_missed = _moved(curve, target, root, slopes, Side.ABOVE)
    lower, _ = _moved(curve, target, root, slopes, Side.BELOW)
    return Ends.of(lower, root, upper), up_missed


def _moved(
    curve: WorstCurve, target: Array, root: Array, slopes: Array, side: Side
) -> tuple[Array, npt.NDArray[np.bool_]]:
    """Return each root moved to ``side`` until it is certified, and a mask of the roots that are not.

    A root is certified as an upper end if the upper bound on log delta there is at most the target; as a lower end, if
    the lower bound exceeds the target. The first step is the distance from the bound to the target, divided by the
    slope of log delta. Each further step is twice as long. After ``WIDENINGS`` steps, a lower end that is not certified
    is set to 0.
    """
    at = root.copy()
    open_ = np.ones(len(at), dtype=np.bool_)
    step = np.full(len(at), math.nan)
    for i in range(WIDENINGS):
        todo = np.flatnonzero(open_)
        ends = curve.log_delta(at[todo])
        end = ends.upper if side is Side.ABOVE else ends.lower
        fine = end <= target[todo] if side is Side.ABOVE else (end > target[todo]) | (at[todo] <= 0)
        open_[todo[fine]] = False
        todo = todo[~fine]
        if not len(todo):
            break
        if i == 0:
            off = np.minimum(np.abs(end[~fine] - target[todo]), 1.0) / -slopes[todo] * 1.01
            step[todo] = np.where(np.isfinite(off), off, 0.0) + SPARE * at[todo] + 1e-300
        at[todo] = np.maximum(at[todo] + side * step[todo], 0.0)
        step[todo] *= 2
    if side is Side.BELOW:
        at[open_] = 0.0
    return at, open_
