"""Results that are certified intervals, for accountants that compute both ends."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Literal, TypeVar

from hockeystick.directions.directions import Directions
from hockeystick.numerics.rounding import exp_above, exp_below
from hockeystick.values.adjacency import Direction
from hockeystick.values.bounds import ONLY_ABOVE, ONLY_DOMINATED, Bound, DeltaBound
from hockeystick.values.errors import InvalidInputError
from hockeystick.values.interval import Interval

Found = TypeVar("Found", Bound, DeltaBound)


def bound_of(found: Interval, direction: Direction, guarantee: Literal["certified", "proved"] = "certified") -> Bound:
    """Return the interval of one direction as a result whose accountant is the interval's engine."""
    return Bound(
        found.lower,
        found.estimate,
        found.upper,
        guarantee=guarantee,
        accountant=found.engine,
        direction=direction.value,
        reason=found.limited,
    )


def epsilon_interval(name: str, direction: Direction, ends: tuple[float, float], reason: str | None = None) -> Bound:
    """Return an interval for epsilon as a result; ``reason`` explains an infinite end."""
    lower, upper = ends
    middle = lower if lower == upper else 0.5 * (lower + upper)
    return Bound(lower, middle, upper, accountant=name, direction=direction.value, reason=reason)


def delta_interval(name: str, direction: Direction, log_ends: tuple[float, float]) -> DeltaBound:
    """Return an interval for delta as a result, given the logarithms of its ends."""
    low, high = log_ends
    middle = 0.5 * (low + high) if low > -math.inf else high
    return delta_of(Bound(low, middle, high, accountant=name, direction=direction.value))


def delta_of(log_delta: Bound) -> DeltaBound:
    """Return the interval of delta, with ends rounded outward, from the interval of its logarithm."""
    upper = min(exp_above(log_delta.upper), 1.0)
    lower = min(exp_below(log_delta.lower), upper)
    return DeltaBound(
        lower,
        min(max(math.exp(log_delta.estimate), lower), upper),
        upper,
        accountant=log_delta.accountant,
        direction=log_delta.direction,
        reason=log_delta.reason,
        log_delta=log_delta,
    )


def without_lower(directions: Directions, found: Found) -> Found:
    """Return the interval unchanged if every pair is tight; otherwise replace its lower end by 0.

    If a pair only dominates, the engine's interval contains the number that the dominating pairs give. This number is
    at least the exact one, so the lower end of the interval is no lower bound. If there are pairs for lower bounds,
    :func:`raised` later sets the lower end.
    """
    if directions.tight:
        return found
    reason = found.reason or (ONLY_ABOVE if directions.known_from_below else ONLY_DOMINATED)
    if isinstance(found, DeltaBound):
        log = found.log_delta
        log = replace(log, lower=-math.inf, estimate=log.upper, reason=log.reason or reason)
        return replace(found, lower=0.0, estimate=found.upper, reason=reason, log_delta=log)
    return replace(found, lower=0.0, estimate=found.upper, reason=reason)


def refuse_contradiction(lower: float, upper: float) -> None:
    """Check that a lower end, from pairs for lower bounds, does not exceed the upper end, from dominating pairs.

    Raises:
        InvalidInputError: the lower end exceeds the upper end.
    """
    if lower > upper:
        raise InvalidInputError(
            f"the pairs of a round contradict each other: a pair in below attains at least {lower!r}, but the pair "
            f"above allows at most {upper!r}",
            "rounds",
        )


def raised(found: Found, lower: float, log_lower: float, why: str) -> Found:
    """Return the interval with another lower end.

    Args:
        found: an interval for epsilon or delta.
        lower: the new lower end.
        log_lower: the new lower end of log delta; not used for epsilon.
        why: reason why the pairs for upper and for lower bounds differ.

    Raises:
        InvalidInputError: ``lower`` is above the upper end, so the pairs of a round contradict each other.
    """
    refuse_contradiction(lower, found.upper)
    middle = 0.5 * (lower + found.upper) if math.isfinite(lower + found.upper) else found.upper
    if isinstance(found, DeltaBound):
        log = raised(found.log_delta, log_lower, log_lower, why)
        return replace(found, lower=lower, estimate=middle, reason=why, log_delta=log)
    return replace(found, lower=lower, estimate=middle, reason=why)
