"""Proved ends of delta, and the epsilon at a delta that follows from them."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from flint import arb

from hockeystick.numerics.balls import Ball
from hockeystick.values.errors import NotApplicableError

NEAR = 2.0**-36  # relative: how near to epsilon a guess in floating point is as a rule
MAX_STEPS = 60  # outward from the root, each twice as long as the last
LARGEST = 1e300  # epsilon that is sought
LEAST = 1e-300  # epsilon that is told from 0


@dataclass(frozen=True, slots=True)
class Enclosure:
    """Proved ends of a number, as exact balls."""

    lower: Ball
    upper: Ball


class Evaluator(Protocol):
    """delta over the finite losses of one direction."""

    def delta(self, epsilon: Ball) -> Enclosure:
        """Proved ends of delta at an epsilon >= 0."""
        ...


def epsilon_around(evaluator: Evaluator, target: Enclosure, root: float, slope: float) -> tuple[float, float]:
    """Doubles near a root at which the ends of delta are on the right side of the target.

    delta falls with eps: ``delta(upper) <= target`` and ``delta(lower) > target`` put the truth between. Where none is
    found the end is infinite, or 0.

    Args:
        evaluator: of delta.
        target: ends of the target delta.
        root: about the epsilon sought.
        slope: about ``-d log delta / d eps`` there.
    """
    at_root = evaluator.delta(arb(root))
    upper, step = root, 1.01 * max(_log_ratio(at_root.upper, target.lower), 0.0) / slope + 1e-15 * root
    for _ in range(MAX_STEPS):
        if evaluator.delta(arb(upper)).upper <= target.lower:
            break
        upper, step = upper + step, 2 * step + math.ulp(upper)
    else:
        upper = math.inf
    lower, step = root, 1.01 * max(_log_ratio(target.upper, at_root.lower), 0.0) / slope + 1e-15 * root
    for _ in range(MAX_STEPS):
        if lower <= 0 or evaluator.delta(arb(lower)).lower > target.upper:
            break
        lower, step = lower - step, 2 * step + math.ulp(root)
    else:
        lower = 0.0
    return max(lower, 0.0), upper


def _log_ratio(x: Ball, y: Ball) -> float:
    """About log(x / y), at most 1; 1 where a step cannot be told from it."""
    if not (x > 0 and y > 0):
        return 1.0
    return min(float((x / y).log().mid()), 1.0)


def epsilon_bisected(evaluator: Evaluator, target: Enclosure, guess: float = 0.0) -> tuple[float, float]:
    """Ends of epsilon by bisection, the closest doubles at which delta can be told from the target.

    For an evaluator that is sharp everywhere, as closed forms and sums over atoms are. The search begins about a guess
    if epsilon is seen to lie near it, else between powers of two.

    Raises:
        NotApplicableError: epsilon leaves the range of a double.
    """
    if evaluator.delta(arb(0)).upper <= target.lower:
        return 0.0, 0.0
    lower, upper = guess * (1 - NEAR), guess * (1 + NEAR)
    if not (guess > 0 and evaluator.delta(arb(lower)).lower > target.upper):
        lower, upper = 0.0, 1.0
    while not evaluator.delta(arb(upper)).upper <= target.lower:
        lower, upper = (upper if evaluator.delta(arb(upper)).lower > target.upper else lower), 2 * upper
        if upper > 1e300:
            raise NotApplicableError("epsilon is too large to be proved")
    while True:
        middle = lower + 0.5 * (upper - lower)
        if not lower < middle < upper:
            return lower, upper
        found = evaluator.delta(arb(middle))
        if found.upper <= target.lower:
            upper = middle
        elif found.lower > target.upper:
            lower = middle
        else:
            return lower, upper


class BothEnds(Protocol):
    """Ends of delta over the finite losses of one direction, each asked for by itself."""

    def upper(self, epsilon: Ball) -> Ball:
        """An upper end of delta at an epsilon >= 0."""
        ...

    def lower(self, epsilon: Ball) -> Ball:
        """A lower end of delta at an epsilon >= 0."""
        ...


def epsilon_between(ends: BothEnds, target: Enclosure) -> tuple[float, float]:
    """The doubles at which each end of delta meets the target: the epsilon sought lies between them.

    As delta falls with epsilon, it is at most every x with ``upper(x) <= target`` and at least every x with
    ``lower(x) > target``; where there is no such x it is infinite, or 0.
    """
    if ends.upper(arb(0)) <= target.lower:
        return 0.0, 0.0
    _, upper = _change(lambda x: not ends.upper(arb(x)) <= target.lower)
    lower, _ = _change(lambda x: bool(ends.lower(arb(x)) > target.upper))
    return lower, upper


def _change(holds: Callable[[float], bool]) -> tuple[float, float]:
    """Neighbouring doubles: a property holds at the lower, or that is 0, and not at the other, or that is infinite."""
    low, high = 0.0, 1.0
    while holds(high):
        low, high = high, 2 * high
        if high > LARGEST:
            return low, math.inf
    while low < (middle := low + 0.5 * (high - low)) < high and high > LEAST:
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low, high
