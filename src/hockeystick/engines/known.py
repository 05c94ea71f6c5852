"""Bounds on delta at all epsilons from its values at some: delta falls, and is convex in ``e^eps``.

``delta(eps) = E (1 - e^(eps - L))_+`` is a mean of functions of ``b = e^eps`` that fall and are convex. So between two
epsilons ``x < y`` at which it is at most u and v,

    delta(eps) <= (1 - s) u + s v ,
    s = (e^eps - e^x) / (e^y - e^x) = e^(eps - y) (1 - e^(x - eps)) / (1 - e^(x - y)) ;

beyond the last of them it is at most what it is there, and everywhere at least what it is at a larger epsilon. The
chord falls with s, as v may be taken to be at most u: s is rounded down.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from hockeystick.numerics.rounding import UNIT_ROUNDOFF
from hockeystick.values.interval import Ends

Array = npt.NDArray[np.float64]

MOST = 20_000  # epsilons that are kept, the last ones asked for
UNITS = 16.0  # roundings of s, and of the logarithm of a chord


class Points:
    """Certified ends of log delta of one law of finite losses, wherever they were found."""

    def __init__(self) -> None:
        self._found: list[tuple[Array, Array, Array]] = []
        self._number = 0

    def add(self, epsilon: Array, ends: Ends) -> None:
        """Keep what was found at some epsilons, each of shape (n,); those of which nothing is known are left out."""
        told = (ends.lower > -math.inf) | (ends.upper < 0)
        if told.any():
            self._found.append((epsilon[told], ends.lower[told], ends.upper[told]))
            self._number += int(told.sum())
            while self._number > MOST and len(self._found) > 1:
                self._number -= len(self._found.pop(0)[0])

    def ends(self, epsilon: Array) -> Ends:
        """Certified ends of log delta at each epsilon, of shape (n,): what all points say of it."""
        x, lower, upper = self._sorted()
        if not len(x):
            return Ends(np.full(len(epsilon), -math.inf), np.zeros(len(epsilon)), np.zeros(len(epsilon)))
        after = np.searchsorted(x, epsilon)  # the first point at or beyond
        before = np.searchsorted(x, epsilon, "right") - 1  # the last one at or before
        low = np.append(lower, -math.inf)[after]
        high = np.append(upper, 0.0)[before]  # of none before, -1, the one that is appended
        inside = np.flatnonzero((before >= 0) & (after < len(x)) & (after > before))
        at, left, right = epsilon[inside], before[inside], after[inside]
        high[inside] = _chord(at, (x[left], upper[left]), (x[right], upper[right]))
        with np.errstate(invalid="ignore"):  # where nothing is known from below
            middle = np.where(low > -math.inf, high + (2 / 3) * (low - high), high)
        return Ends.of(low, middle, high)

    def _sorted(self) -> tuple[Array, Array, Array]:
        """The points in increasing order, with ends that fall."""
        if len(self._found) > 1:
            x, lower, upper = (np.concatenate(column) for column in zip(*self._found, strict=True))
            self._found = [(x, lower, upper)]
        if not self._found:
            return np.empty(0), np.empty(0), np.empty(0)
        x, lower, upper = self._found[0]
        order = np.argsort(x, kind="stable")
        x, lower, upper = x[order], lower[order], upper[order]
        return x, np.maximum.accumulate(lower[::-1])[::-1], np.minimum.accumulate(upper)


def _chord(at: Array, left: tuple[Array, Array], right: tuple[Array, Array]) -> Array:
    """The upper end between two points each, of which the second is not the higher one; in logarithms."""
    (x, u), (y, v) = left, right
    parts = at - y, np.log(-np.expm1(x - at)), -np.log(-np.expm1(x - y))
    log_s = sum(parts) - UNITS * UNIT_ROUNDOFF * (1 + sum(np.abs(part) for part in parts))
    with np.errstate(divide="ignore"):
        total = np.logaddexp(np.log1p(-np.exp(np.minimum(log_s, 0.0))) + u, log_s + v)
        moved = total + UNITS * UNIT_ROUNDOFF * (1 + np.abs(total))
    # minus infinity stays what it is
    out: Array = np.minimum(np.where(total > -math.inf, moved, total), u)
    return out
