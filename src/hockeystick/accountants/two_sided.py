"""Certified intervals as results, for accountants that have both ends."""

from __future__ import annotations

import math

from hockeystick.adjacency import Direction
from hockeystick.bounds import Bound, DeltaBound
from hockeystick.numerics.rounding import TINY, next_down, next_up


def epsilon_interval(name: str, direction: Direction, ends: tuple[float, float], reason: str | None = None) -> Bound:
    """Epsilon between two ends; ``reason`` says why one is infinite."""
    lower, upper = ends
    middle = lower if lower == upper else 0.5 * (lower + upper)
    return Bound(lower, middle, upper, accountant=name, direction=direction.value, reason=reason)


def delta_interval(name: str, direction: Direction, log_ends: tuple[float, float]) -> DeltaBound:
    """Delta between two ends, given by their logarithms."""
    low, high = log_ends
    middle = 0.5 * (low + high) if low > -math.inf else high
    log = Bound(low, middle, high, accountant=name, direction=direction.value)
    lower, estimate, upper = (math.exp(end) for end in (low, middle, high))
    lower = next_down(lower, 2) if lower > 0 else 0.0
    if high > -math.inf:
        upper = min(next_up(max(upper, TINY), 2) if upper > TINY else TINY, 1.0)
    estimate = min(max(estimate, lower), upper)
    return DeltaBound(lower, estimate, upper, accountant=name, direction=direction.value, log_delta=log)
