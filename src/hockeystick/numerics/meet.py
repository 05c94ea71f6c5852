"""Search for the epsilon at which a certified bound on log delta meets a target, moved outward until it is valid."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache

from hockeystick.numerics.roots import root

FARTHEST = 1e18  # largest epsilon of the search
NEARLY = 1.02  # factor on the step predicted by the slope


def upper_end(
    log_delta: Callable[[float], float],
    target: float,
    guess: float,
    slope: float,
    gap: float,
    supremum: float = math.inf,
) -> float:
    """Return an epsilon >= 0, near the least, at which a certified upper bound on log delta is at most the target.

    The search has these states. *Outward*: from the guess by doubling steps, up while the bound is above the target, or
    down while it is not. *At an end*: the supremum of the loss (infinite if there is none) or 0 is reached, and is the
    answer. *Between*: the root of the bound is bracketed and found. *Beside*: up from that root until the bound itself
    is at most the target, since roots are found only to a tolerance.
    """
    log_delta = cache(log_delta)  # each state begins where the previous one ended
    low, high, step = guess, guess, _first_step(log_delta(guess) - target, guess, slope)
    if log_delta(guess) > target:
        while log_delta(high) > target:
            low, high, step = high, high + step, 2 * step
            if high >= supremum or not high < FARTHEST:
                return supremum
    else:
        while log_delta(low) <= target:
            if low == 0.0:
                return 0.0
            high, low, step = low, max(low - step, 0.0), 2 * step
    root = _root(log_delta, target, low, high, gap)
    step = 1e-3 * gap * root + math.ulp(root)
    while log_delta(root) > target:
        root, step = min(root + step, high), 2 * step
    return root


def lower_end(log_delta: Callable[[float], float], target: float, guess: float, slope: float, gap: float) -> float:
    """Return an epsilon >= 0, near the greatest, at which a certified lower bound exceeds the target; 0 if none.

    The bound is on log delta. The search goes down from an upper end, since far from it a lower bound may be useless.
    The slope gives the first step: if it is within the gap and reaches a certified epsilon, that is the answer. Else
    the states mirror those of the upper end: *outward*, down by doubling steps until the bound is above the target;
    *at an end*, 0; *between*; *beside*, down from the root until the bound itself exceeds the target.
    """
    log_delta = cache(log_delta)  # as above
    first = max(NEARLY * (target - log_delta(guess)) / slope, 0.0) + 2 * math.ulp(guess)
    if first < min(gap, 1.0) * guess and log_delta(guess - first) > target:
        return guess - first
    low, high, step = guess, guess, _first_step(0.01 * gap * guess * slope, guess, slope)
    while log_delta(low) <= target:
        if low == 0.0:
            return 0.0
        high, low, step = low, max(low - step, 0.0), 2 * step
    root = low if low == high else _root(log_delta, target, low, high, gap)
    step = 1e-3 * gap * root + math.ulp(root)
    while root > low and log_delta(root) <= target:
        root, step = max(root - step, low), 2 * step
    return root


def _first_step(excess: float, guess: float, slope: float) -> float:
    """Estimated distance to the root, from the slope; capped, since the slope holds only locally."""
    step = 1.5 * abs(excess) / slope if math.isfinite(excess) else math.inf
    return max(min(step, 1 / slope + guess), 1e-9 * guess, 1e-15 / slope)


def _root(log_delta: Callable[[float], float], target: float, low: float, high: float, gap: float) -> float:
    def above(epsilon: float) -> float:
        return max(log_delta(epsilon), -1e6) - target

    return root(above, low, high, xtol=max(1e-3 * gap * high, 1e-300), rtol=1e-14)
