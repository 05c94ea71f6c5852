"""Epsilon at many deltas, found for all deltas at the same time on one curve of log delta.

The search uses estimates, and only a final check certifies its result. An epsilon is certified as an upper end if the
certified upper bound on log delta at this epsilon is at most the target. It is certified as a lower end if the
certified lower bound exceeds the target.
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

TABLE = 65  # number of epsilons in the first table of log delta
WIDENINGS = 30  # largest number of steps by which an end is moved outward until it is certified
INFINITE_LOG = 1e150  # -1e150 replaces a log delta of minus infinity in the table


def epsilons(curve: SidedCurve, directions: Directions, delta: Array, gap: float | None) -> Ends:
    """Return certified ends of epsilon at each delta in [0, 1), shape (n,)."""
    if not len(delta):
        return Ends(delta, delta, delta)
    at, back = np.unique(delta, return_inverse=True)
    ends = np.empty((3, len(at)))
    # epsilon at the smallest delta is computed first, as an upper bound; if it is infinite, also at the next delta
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

    Args:
        curve: log delta as a function of epsilon.
        target: increasing values of log delta, shape (n,).
        farthest: an upper bound on epsilon at all targets.
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
    """Return each root after it is moved up or down until it is certified, and a mask of the roots that are not.

    A root is moved up, and certified as an upper end, if ``side`` is ABOVE. Otherwise it is moved down, and certified
    as a lower end (see the module docstring). The first step is the distance from the bound to the target, divided by
    the slope of log delta. Each further step is twice as long. After ``WIDENINGS`` steps, a lower end that is not
    certified is set to 0.
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
