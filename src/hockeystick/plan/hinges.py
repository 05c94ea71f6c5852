"""The upper end of private selection in one direction: a sum of shifted privacy curves (``plan/selection.py``)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt
from scipy.special import logsumexp

from hockeystick.numerics.roots import root
from hockeystick.plan.number_of_runs import Law
from hockeystick.plan.profile import Profile
from hockeystick.values.adjacency import Direction

Array = npt.NDArray[np.float64]

SPARE = 1e-12
"""Relative: pays for some tens of roundings of a closed form."""

RATES = np.concatenate([[0.0], np.geomspace(1e-15, 1.0, 3000)])
"""The ends of the strata of u: within each, w and T are replaced by their largest values."""

LINES = np.concatenate([[0.0], np.geomspace(1e-5, 1.0, 72)])
"""The a, of either sign and relative to the epsilon at :data:`DEEP`, at which T is bounded by a line; any are sound."""

DEEP = 1e-10
"""The delta of one run beyond whose epsilon there are no lines: T is no smaller than that for all that counts."""

PLACES = 64
"""Places of the grid of log r to which the hinges are moved."""

MARGIN = 1e-7
"""Absolute and relative, of epsilon: by how much a root is moved out at first, to where the bound is seen to hold."""

LEAST_WEIGHT = 1e-305
"""What a smaller weight of a hinge is raised to: below the range of a double they would be lost."""

Line = tuple[float, float]
"""The logarithms of a and b of a line ``a - b r``."""

ZERO: Line = (-math.inf, -math.inf)
"""The line that is 0 everywhere."""

LARGEST = 600.0
"""The largest a of a line: its exponential is formed."""

LOWEST = -1e4
"""The logarithm of delta below which the search for epsilon takes all for the same."""


@dataclass(frozen=True)
class Side:
    """The upper ends in one direction: ``delta_best(e) <= sum_j weights_j delta(e - shifts_j)``.

    Attributes:
        direction: of the release.
        weights: shape (n,), k_j, of which the sum is m.
        shifts: shape (n,), log r_j.
        forward: the curve of one run in that direction.
        backward: the curve with the two laws exchanged.
    """

    direction: Direction
    weights: Array
    shifts: Array
    forward: Profile
    backward: Profile

    @classmethod
    def of(cls, direction: Direction, law: Law, forward: Profile, backward: Profile) -> Side:
        """The hinges, from the law of the number of runs and the curves of one run."""
        largest = _largest(forward, backward)
        log_weight, log_least = law.log_weight(RATES[:-1]), law.log_weight(largest[1:])
        shifts = np.maximum(log_weight - log_least, 0.0) + SPARE * (1 + np.abs(log_weight) + np.abs(log_least))
        weights, breaks = _hinges(log_weight, shifts)
        return cls(direction, *_gathered(weights, breaks), forward, backward)

    def log_delta(self, epsilon: float) -> float:
        """The logarithm of the bound on delta, at most 0."""
        at = epsilon * (1 - SPARE) - self.shifts - SPARE * np.abs(self.shifts)
        logs, ahead = np.empty(len(at)), at >= 0
        if ahead.any():
            logs[ahead] = self.forward._curve.log_delta(at[ahead]).upper
        if not ahead.all():
            rest = np.exp(at[~ahead]) * (1 - self.backward._deltas(-at[~ahead]).upper) * (1 - SPARE)
            logs[~ahead] = np.log1p(-rest) + SPARE
        total = float(logsumexp(logs, b=self.weights))
        return min(total + SPARE * (1 + abs(total)), 0.0) if total > -math.inf else total

    def epsilon(self, delta: float) -> float:
        """An epsilon at which the bound on delta is at most delta."""
        target = math.log(delta) - SPARE
        at_ends = {0.0: self.log_delta(0.0)}
        if at_ends[0.0] <= target:
            return 0.0
        # beyond this end each of the terms is small enough, whatever the search makes of them
        high = self.forward.epsilon(math.exp(target) / float(self.weights.sum())).upper.item()
        if not math.isfinite(high):
            return math.inf
        high = (high + max(float(self.shifts.max()), 0.0)) * (1 + MARGIN) + MARGIN
        at_ends[high] = self.log_delta(high)
        if at_ends[high] > target:
            return high
        fall = LOWEST - target
        near = MARGIN * 1e-3

        def excess(e: float) -> float:
            # a call that has used up its work may know less of an end when it asks again
            return max((at_ends[e] if e in at_ends else self.log_delta(e)) - target, fall)

        found = root(excess, 0.0, high, xtol=near, rtol=near)
        step = 0.01 * MARGIN * (1 + found)
        while found < high and self.log_delta(found) > target:
            found, step = found + step, 2 * step
        return min(found, high)


def _largest(forward: Profile, backward: Profile) -> Array:
    """A bound on T at each of :data:`RATES`."""
    ends = [curve.epsilon(DEEP).upper.item() for curve in (backward, forward)]
    up, down = (LINES * (min(end, LARGEST) if math.isfinite(end) else -math.log(DEEP)) for end in ends)
    rise, fall = backward.delta(up).upper, forward.delta(down).upper
    intercepts = np.concatenate([rise, 1 - np.exp(-down) * (1 - fall)]) * (1 + SPARE)
    slopes = np.exp(np.concatenate([up, -down])) * (1 + SPARE)
    found: Array = np.minimum((slopes * RATES[:, None] + intercepts).min(axis=1), 1.0)
    return found.clip(RATES)


def _hinges(log_weights: Array, shifts: Array) -> tuple[Array, Array]:
    """k_j and log r_j of the upper envelope of 0 and of the lines ``w_i (1 - e^(-s_i) r)`` over r >= 0.

    A line ``a - b r`` is held as ``(log a, log b)``, since b may be far below the range of a double. Where the envelope
    goes over from one line to the next, k is the difference of their heights a.
    """
    scale = float(log_weights.max())
    heights = log_weights - scale
    lines = sorted(
        zip(heights.tolist(), (heights - shifts).tolist(), strict=True), key=lambda line: (-line[0], line[1])
    )
    hull: list[Line] = []
    for line in [*lines, ZERO]:
        if hull and line is not ZERO and line[1] >= hull[-1][1]:
            continue  # below an earlier one at every r
        while len(hull) > 1 and _crossing(hull[-1], line) <= _crossing(hull[-2], hull[-1]):
            hull.pop()
        hull.append(line)
    breaks = np.array([_crossing(one, two) for one, two in pairwise(hull)])
    falls = -np.diff(np.exp([log_height for log_height, _ in hull]))
    return np.maximum(falls * math.exp(scale), LEAST_WEIGHT), breaks


def _crossing(one: Line, two: Line) -> float:
    """The logarithm of the r at which a line meets a later one, which is lower at 0 and falls less."""
    return one[0] + _log_less(two[0] - one[0]) - one[1] - _log_less(two[1] - one[1])


def _log_less(difference: float) -> float:
    """``log(1 - e^difference)`` for a difference <= 0."""
    return math.log(-math.expm1(difference)) if difference < 0 else -math.inf


def _gathered(weights: Array, shifts: Array) -> tuple[Array, Array]:
    """Hinges at :data:`PLACES` places instead: each is shared between its neighbours, with its mean of ``1/r`` kept.

    Those of the least weight go to the farthest of their places, together: their places may be far beyond all others.
    """
    light = weights <= LEAST_WEIGHT
    if light.any():
        kept, places = _gathered(weights[~light], shifts[~light])
        farthest = float(shifts[light].max())
        return np.append(kept, weights[light].sum()), np.append(places, farthest + SPARE * (1 + abs(farthest)))
    if len(weights) <= PLACES:
        return weights * (1 + SPARE), shifts + SPARE * (1 + np.abs(shifts))
    places = np.linspace(shifts.min(), shifts.max(), PLACES)
    right = np.clip(np.searchsorted(places, shifts), 1, PLACES - 1)
    far = np.expm1(places[right - 1] - places[right])  # each relative to the nearer place, less 1
    share = np.clip(1 - np.expm1(places[right - 1] - shifts) / far, 0.0, 1.0)  # of the nearer place
    moved: Array = np.bincount(right, weights * (1 - share + SPARE), PLACES).astype(np.float64)
    moved += np.bincount(right - 1, weights * share, PLACES)
    return moved * (1 + SPARE), places + SPARE * (1 + np.abs(places))
