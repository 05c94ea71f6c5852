"""Search for the epsilon at a delta, from proved ends of delta."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

from flint import arb

from hockeystick.numerics.balls import Ball

STEPS = 100  # most secant steps (a handful suffice), and most steps outward from the root
SHARE = 0.1  # the secant method also ends within this share of the width of log delta
CLOSE = 1e-6  # distance of log delta below which a step of one double ends the method
LEAST = 1e-300  # smallest epsilon that is distinguished from 0


@dataclass(frozen=True, slots=True)
class Enclosure:
    """Proved ends of a number, as exact balls."""

    lower: Ball
    upper: Ball


class Evaluator(Protocol):
    """delta over the finite losses of one direction."""

    @property
    def name(self) -> str:
        """Name of the method that proves delta."""
        ...

    def delta(self, epsilon: Ball) -> Enclosure:
        """Return proved ends of delta at an epsilon >= 0."""
        ...


def epsilon_between(evaluator: Evaluator, target: Enclosure, guess: float, slope: float) -> tuple[float, float]:
    """Return doubles that bound epsilon, at which the ends of delta are on the right side of the target.

    delta falls with eps: if ``delta(upper) <= target`` and ``delta(lower) > target``, the truth lies between. An end
    that is not found is infinite, or 0.

    Args:
        evaluator: evaluates delta.
        target: ends of the target delta.
        guess: starting point.
        slope: approximate ``-d log delta / d eps`` there.
    """
    root, slope, low, high = _root(evaluator, target.lower, guess, slope)
    found = evaluator.delta(arb(root))
    upper, step = root, 1.01 * _log_ratio(found.upper, target.lower) / slope + math.ulp(root)
    for _ in range(STEPS):
        if evaluator.delta(arb(upper)).upper <= target.lower:
            break
        upper, step = min(upper + step, high if high > upper else math.inf), 2 * step + math.ulp(upper)
    else:
        upper = math.inf
    lower, step = root, 1.01 * _log_ratio(target.upper, found.lower) / slope + root - math.nextafter(root, 0.0)
    for _ in range(STEPS):
        if lower <= 0 or evaluator.delta(arb(lower)).lower > target.upper:
            break
        lower, step = max(lower - step, low if low < lower else -math.inf), 2 * step + math.ulp(root)
    else:
        lower = 0.0
    return max(lower, 0.0), upper


def _log_ratio(x: Ball, y: Ball) -> float:
    """Approximate log(x / y), clipped to the range from 0 to 1; 1 if x and y give no usable step."""
    if not (x > 0 and y > 0):
        return 1.0
    return min(max(float((x / y).log().mid()), 0.0), 1.0)


def _root(evaluator: Evaluator, target: Ball, guess: float, slope: float) -> tuple[float, float, float, float]:
    """Approximate the epsilon >= 0 at which delta meets the target, ``-d log delta / d eps`` there, and a bracket.

    The method is secant steps on the logarithm within the bracket left by the values so far; any answer is sound.
    """
    epsilon, low, high, first = guess, 0.0, math.inf, slope
    before: tuple[float, float] | None = None
    for _ in range(STEPS):
        found = evaluator.delta(arb(epsilon))
        middle = (found.lower.max(arb(0)) + found.upper) / 2
        excess = float((middle / target).log().mid()) if middle > 0 else -math.inf
        low, high = (epsilon, high) if excess > 0 else (low, epsilon)
        if abs(excess) <= SHARE * _log_ratio(found.upper, found.lower) or high < LEAST:
            break  # the ends of delta are much farther apart than this
        after = 0.5 * (low + high)
        if math.isfinite(excess):
            if before is not None and epsilon != before[0]:
                slope = max((before[1] - excess) / (epsilon - before[0]), 1e-3 * first)
            before = epsilon, excess
            straight = max(epsilon + excess / slope, 0.0)
            if low < straight < high or straight == 0.0 == low:
                after = straight
        if after in (epsilon, low, high) and after > 0:
            break
        near = abs(excess) < CLOSE and abs(after - epsilon) <= math.ulp(min(after, epsilon))
        epsilon = after
        if near:
            break
    return epsilon, slope, low, high
