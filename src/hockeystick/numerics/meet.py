"""Search for the epsilon at which a certified bound on log delta meets a target, rounded to the safe side."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache

from hockeystick.numerics.roots import root

FARTHEST = 1e18  # largest epsilon that the search tries
NEARLY = 1.02  # factor on the step that the slope predicts, so that the step just passes the root


def bracket(holds: Callable[[float], bool], at: float, step: float, limit: float) -> tuple[float, float]:
    """Search in doubling steps for a place where a condition holds; return the last place before it, and this place.

    The places tried are ``at``, ``at + step``, ``at + 3 step`` and so on up to a limit, or down to it if the step is
    negative. If the condition holds at none of them, the second place returned is the limit, which is not tried. If the
    condition holds at ``at``, both places are ``at``.
    """
    nearest = min if step > 0 else max
    before = at
    while at != limit and not holds(at):
        before, at, step = at, nearest(at + step, limit), 2 * step
    return before, at


def outward(holds: Callable[[float], bool], at: float, step: float, limit: float) -> float:
    """Return the first place tried by :func:`bracket` at which a condition holds, or else the limit.

    >>> outward(lambda x: x * x >= 2, 1.0, 0.125, 10.0)
    1.875
    """
    return bracket(holds, at, step, limit)[1]


def crossing(
    below: Callable[[float], float], above: Callable[[float], float], target: tuple[float, float], high: float
) -> tuple[float, float]:
    """Return certified bounds on the epsilon at which a decreasing curve takes a target value.

    The target value is known to be in an interval. Each bound starts from a numerical root, and is moved outward until
    it is certified. If the curve is at most the lower end of this interval at epsilon 0, both bounds are 0.

    Args:
        below: function that returns a lower bound on the curve at an epsilon.
        above: function that returns an upper bound on the curve at an epsilon. It decreases, and is at most
            ``target[0]`` at ``high``.
        target: the ends of the interval that contains the target value, in ascending order.
        high: an upper bound on the result.
    """
    least, most = target
    if above(0.0) <= least:
        return 0.0, 0.0
    upper = root(lambda epsilon: above(epsilon) - least, 0.0, high, xtol=1e-300)
    upper = outward(lambda epsilon: above(epsilon) <= least, upper, math.ulp(upper), high)
    lower = outward(lambda epsilon: below(epsilon) > most, upper, -4 * math.ulp(upper), 0.0)
    return lower, upper


def upper_end(
    log_delta: Callable[[float], float],
    target: float,
    guess: float,
    slope: float,
    gap: float,
    supremum: float = math.inf,
) -> float:
    """Return an epsilon >= 0, near the least, at which a certified upper bound on log delta is at most the target.

    The search first moves from the guess in doubling steps: up while the bound is above the target, or down while it is
    not. If the search reaches 0, the answer is 0. If it reaches the supremum of the loss (infinite if there is none),
    the answer is the supremum. Otherwise the root of bound minus target is now bracketed, and is found to a tolerance.
    Finally the search moves up from the root until the bound is at most the target.
    """
    log_delta = cache(log_delta)  # each state begins where the previous one ended

    def met(epsilon: float) -> bool:
        return log_delta(epsilon) <= target

    step = _first_step(log_delta(guess) - target, guess, slope)
    if met(guess):
        high, low = bracket(lambda epsilon: not met(epsilon), guess, -step, 0.0)
        if met(low):
            return 0.0
    else:
        farthest = min(supremum, FARTHEST)
        low, high = bracket(met, guess, step, farthest)
        if high >= farthest:
            return supremum
    found = _root(log_delta, target, low, high, gap)
    return outward(met, found, 1e-3 * gap * found + math.ulp(found), high)


def lower_end(log_delta: Callable[[float], float], target: float, guess: float, slope: float, gap: float) -> float:
    """Return an epsilon >= 0, near the greatest, at which a certified lower bound on log delta exceeds the target.

    The search moves down from the guess, which is an upper end of epsilon: far below it, the lower bound may be
    useless. The slope predicts a first step. If this step is shorter than the gap and reaches an epsilon at which the
    bound exceeds the target, that epsilon is the answer. Otherwise the search moves down in doubling steps until the
    bound exceeds the target. If the search reaches 0 first, the answer is 0. Now the root of bound minus target is
    bracketed, and is found to a tolerance. Finally the search moves down from the root until the bound exceeds the
    target.
    """
    log_delta = cache(log_delta)  # each state begins where the previous one ended

    def met(epsilon: float) -> bool:
        return log_delta(epsilon) > target

    first = max(NEARLY * (target - log_delta(guess)) / slope, 0.0) + 2 * math.ulp(guess)
    if first < min(gap, 1.0) * guess and met(guess - first):
        return guess - first
    high, low = bracket(met, guess, -_first_step(0.01 * gap * guess * slope, guess, slope), 0.0)
    if not met(low):
        return 0.0
    found = low if low == high else _root(log_delta, target, low, high, gap)
    return outward(met, found, -(1e-3 * gap * found + math.ulp(found)), low)


def _first_step(excess: float, guess: float, slope: float) -> float:
    """Estimate the distance to the root from the slope and the excess of log delta over the target.

    The estimate has an upper limit, because the slope is valid only near the guess.
    """
    step = 1.5 * abs(excess) / slope if math.isfinite(excess) else math.inf
    return max(min(step, 1 / slope + guess), 1e-9 * guess, 1e-15 / slope)


def _root(log_delta: Callable[[float], float], target: float, low: float, high: float, gap: float) -> float:
    def above(epsilon: float) -> float:
        return max(log_delta(epsilon), -1e6) - target

    return root(above, low, high, xtol=max(1e-3 * gap * high, 1e-300))
