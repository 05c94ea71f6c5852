"""Search for the epsilon at a delta, from proved ends of delta."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from typing import Protocol

from flint import arb

from hockeystick.numerics.balls import Ball, above, below
from hockeystick.numerics.meet import lower_end, upper_end


@dataclass(frozen=True, slots=True)
class Enclosure:
    """Proved lower and upper end of a number, as exact balls."""

    lower: Ball
    upper: Ball


class Evaluator(Protocol):
    """Interface of a method that computes proved ends of delta over the finite losses of one direction."""

    @property
    def name(self) -> str:
        """Name of the method."""
        ...

    def delta(self, epsilon: Ball) -> Enclosure:
        """Return proved ends of delta at an epsilon >= 0."""
        ...


def epsilon_between(
    evaluator: Evaluator, target: Enclosure, guess: float, slope: float, gap: float
) -> tuple[float, float]:
    """Return a lower and an upper end of epsilon as doubles, each proved by the ends of delta at this double.

    Since delta decreases with eps, ``delta(upper) <= target`` and ``delta(lower) > target`` prove that epsilon is
    between lower and upper. If no such upper end is found, it is infinite. If no such lower end is found, it is 0. For
    each comparison, a ball around ``log(delta / target)`` is compared with 0.

    Args:
        evaluator: method that computes ends of delta.
        target: ends of the target delta.
        guess: first guess of epsilon.
        slope: approximate ``-d log delta / d eps`` at the guess.
        gap: requested width, relative to epsilon; 0 for neighbouring doubles.
    """
    delta = cache(lambda epsilon: evaluator.delta(arb(epsilon)))

    def highest(epsilon: float) -> float:
        most = delta(epsilon).upper
        if most <= 0:
            return -math.inf
        return above((most / target.lower).log()) if most > 0 else math.inf  # an end that is NaN proves nothing

    def lowest(epsilon: float) -> float:
        ratio = delta(epsilon).lower / target.upper
        return below(ratio.log()) if ratio > 0 else -math.inf

    high = upper_end(highest, 0.0, guess, slope, gap)
    low = lower_end(lowest, 0.0, high if high < math.inf else guess, slope, gap)
    while low < (middle := 0.5 * (low + high)) < high < math.inf and high - low > gap * high:
        if highest(middle) <= 0:
            high = middle
        elif lowest(middle) > 0:
            low = middle
        else:
            break  # the ends of delta are farther apart than this
    return low, high
