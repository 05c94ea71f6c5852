"""Results for the worst direction that are only upper bounds, on epsilon or on delta and its logarithm."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TypeVar

from hockeystick.numerics.roots import root
from hockeystick.numerics.rounding import exp_above, next_down, next_up
from hockeystick.values.adjacency import Direction
from hockeystick.values.bounds import DeltaUpperBound, UpperBound

T = TypeVar("T")  # composition in each direction

NO_EPSILON = "no epsilon is finite: the loss is infinite with a probability above delta, or unbounded at delta 0"
"""Default reason for an infinite bound on epsilon."""

LOG_DELTA_GAP = 1e-9  # accuracy of log delta from a bound on epsilon
LEAST_LOG_DELTA = -650.0  # smallest log delta of the search: e^-650 is a double with full precision
INFINITE_BOUND = 1e6  # replaces an infinite bound in the search for the root, relative to 1 + epsilon


def worst(directions: Sequence[tuple[Direction, T]], bound: Callable[[T], float]) -> tuple[Direction, float]:
    """Return the direction with the largest bound, and that bound."""
    found = [(direction, bound(subject)) for direction, subject in directions]
    return max(found, key=lambda item: item[1])


def epsilon_bound(
    name: str, direction: Direction, epsilon: float, reason: str | None = None, order: float | None = None
) -> UpperBound:
    """Return an upper bound on epsilon as a result; a given ``reason`` is kept even if epsilon is finite."""
    if math.isinf(epsilon) and reason is None:
        reason = NO_EPSILON
    return UpperBound(epsilon, name, direction.value, order, reason)


def delta_bound(
    name: str, direction: Direction, log_delta: float, reason: str | None = None, order: float | None = None
) -> DeltaUpperBound:
    """Return an upper bound on delta as a result, given its logarithm; delta is cut off at 1."""
    log = UpperBound(log_delta, name, direction.value, order, reason)
    return DeltaUpperBound(min(exp_above(log_delta), 1.0), name, direction.value, order, reason, log_delta=log)


def log_left(delta: float, infinite: float) -> float:
    """Return ``log(delta - infinite)``, where ``infinite < delta`` is the mass at infinite loss.

    The difference is rounded down.
    """
    return math.log(next_down(delta - infinite))


def log_delta_of(epsilon_at: Callable[[float], float], epsilon: float, gap: float = LOG_DELTA_GAP) -> float:
    """Return the logarithm of a delta with ``epsilon_at(delta) <= epsilon``, where ``epsilon_at`` is an upper bound.

    Any such delta is valid at this epsilon, since the exact ``epsilon(delta)`` is at most ``epsilon_at(delta)``. The
    logarithm of the smallest such delta is found to within ``gap``. Below e^-650 only delta = 0 is tried.
    """
    if epsilon_at(0.0) <= epsilon:
        return -math.inf

    def above(log_delta: float) -> float:
        return min(epsilon_at(math.exp(log_delta)) - epsilon, INFINITE_BOUND * (1 + epsilon))

    low, high = LEAST_LOG_DELTA, -1e-9
    if above(low) <= 0:
        return next_up(low, 4)
    if above(high) > 0:
        return 0.0
    step = gap
    found = root(above, low, high, xtol=0.5 * step) + step
    while found < high and above(found) > 0:
        found, step = found + step, 2 * step
    return min(found + 1e-15 * (1 + abs(found)), 0.0)
