"""Base of published methods: the worst answer over all directions, with the mass at infinite loss.

With ``p = P(some round has infinite loss)``, ``delta(eps) = p + delta_finite(eps)``. A method computes only
``delta_finite``, the contribution of the finite losses, in one direction. This module handles the cases that need no
method: no rounds, a target delta below p, or an epsilon beyond the largest loss.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

from hockeystick.directions.directions import Directions, compositions
from hockeystick.directions.one_sided import NO_EPSILON, worst
from hockeystick.directions.two_sided import bound_of, delta_of, without_lower
from hockeystick.numerics.rounding import next_down, next_up
from hockeystick.pairs import Composition, DominatingPair
from hockeystick.values.adjacency import Direction
from hockeystick.values.bounds import Bound, DeltaBound, DeltaEstimate, Estimate
from hockeystick.values.interval import Interval
from hockeystick.values.outward import six_digits
from hockeystick.values.side import Side

EFFORT = 1.6
"""Time of a method for one kind of sampled rounds, about five milliseconds, as a multiple of the time for its
moments."""

UNBOUNDED = "delta is 0 and the privacy loss is unbounded, so no epsilon is finite"
"""Reason for an infinite epsilon at delta 0."""


def _worst(directions: Directions, ask: Callable[[Composition], Interval]) -> tuple[Direction, Interval]:
    """Return the direction with the largest upper end, and an interval for the maximum over all directions.

    Its lower end, estimate and upper end are each the largest over all directions.
    """
    found = [(direction, ask(composition)) for direction, composition in compositions(directions, effort=EFFORT)]
    direction, worst = max(found, key=lambda item: item[1].upper)
    lower, estimate = max(each.lower for _, each in found), max(each.estimate for _, each in found)
    return direction, replace(worst, lower=lower, estimate=min(max(estimate, lower), worst.upper))


def estimated_epsilon(
    directions: Directions, delta: float, name: str, ask: Callable[[Composition, float], float]
) -> Estimate:
    """Return the largest estimate of epsilon over all directions.

    ``ask(composition, finite_delta)`` returns an estimate of epsilon in one direction. Its second argument is delta
    minus the mass at infinite loss.
    """
    found = compositions(directions, effort=EFFORT)
    direction, value = worst(found, lambda composition: _epsilon(composition, delta, ask))
    return Estimate(value, name, direction.value, NO_EPSILON if math.isinf(value) else None)


def estimated_delta(
    directions: Directions, epsilon: float, name: str, ask: Callable[[Composition, float], float]
) -> DeltaEstimate:
    """Return the largest estimate of delta over all directions.

    ``ask(composition, epsilon)`` returns an estimate of log delta of the finite losses in one direction.
    """
    found = compositions(directions, effort=EFFORT)
    direction, log = worst(found, lambda composition: _log_delta(composition, epsilon, ask))
    value = math.exp(log)
    return DeltaEstimate(value, name, direction.value, log_delta=Estimate(log, name, direction.value))


def bounded_epsilon(
    directions: Directions, delta: float, name: str, ask: Callable[[Composition, tuple[float, float]], Interval]
) -> Bound:
    """Return an interval for the largest epsilon over all directions; each end is the largest over the directions.

    ``ask(composition, ends)`` returns an interval for epsilon in one direction. The two numbers ``ends`` are a lower
    and an upper bound on delta minus the mass at infinite loss.
    """
    direction, found = _worst(directions, lambda each: _epsilon_ends(each, delta, ask))
    return without_lower(directions, bound_of(replace(found, engine=name), direction))


def bounded_delta(
    directions: Directions, epsilon: float, name: str, ask: Callable[[Composition, float], Interval]
) -> DeltaBound:
    """Return an interval for the largest delta over all directions; each end is the largest over the directions.

    ``ask(composition, epsilon)`` returns an interval for log delta of the finite losses in one direction.
    """
    direction, found = _worst(directions, lambda each: _log_delta_ends(each, epsilon, ask))
    return without_lower(directions, delta_of(bound_of(replace(found, engine=name), direction)))


def log_with(log_finite: float, mass: float, side: Side = Side.ABOVE) -> float:
    """Return ``log(e^log_finite + mass)``, or 0 if it is positive; ``side`` says if it is rounded up or down."""
    if not mass > 0:
        return log_finite
    low, high = sorted((log_finite, math.log(mass)))
    return min(high + math.log1p(math.exp(low - high)) + side * 2e-15 * (1 + abs(high)), 0.0)


def known_epsilon(composition: Composition, delta: float) -> Interval | None:
    """Return an interval for epsilon in one direction if no method is needed for it, else ``None``."""
    if not composition.rounds:
        return Interval(0.0, 0.0, 0.0)
    least, most = composition.infinite_mass_ends
    if delta > most:
        return None
    infinite = composition.infinite_mass
    if delta < least or (delta == 0 and infinite > 0):
        reason = f"{_failure(composition)} with probability {six_digits(infinite)}, which exceeds delta"
        return Interval(math.inf, math.inf, math.inf, reason)
    if delta > 0:
        reason = (
            f"delta is within rounding of the probability {six_digits(infinite)} with which {_failure(composition)}"
        )
        return Interval(0.0, math.inf, math.inf, reason)
    if composition.largest_loss is None:
        return Interval(math.inf, math.inf, math.inf, UNBOUNDED)
    low, high = composition.largest_loss
    return Interval(low, min(max(float(composition.supremum[0]), low), high), high)


def _failure(composition: Composition) -> str:
    """Description of the events with infinite loss, except for atoms that only replace a cut-off tail."""
    failing = (
        getattr(pair, "base", pair) for pair, _ in composition.rounds if pair.infinite_mass and not pair.stands_in
    )
    return " or ".join(dict.fromkeys(base.failure for base in failing)) or DominatingPair.failure


def _epsilon(composition: Composition, delta: float, ask: Callable[[Composition, float], float]) -> float:
    known = known_epsilon(composition, delta)
    if known is not None:
        return known.upper
    value, largest = max(ask(composition, delta - composition.infinite_mass), 0.0), composition.largest_loss
    return value if largest is None else min(value, largest[1])


def _log_delta(composition: Composition, epsilon: float, ask: Callable[[Composition, float], float]) -> float:
    finite = -math.inf if beyond(composition, epsilon) else ask(composition, epsilon)
    return log_with(min(finite, 0.0), composition.infinite_mass)


def beyond(composition: Composition, epsilon: float) -> bool:
    """Return True if no finite loss exceeds epsilon, or if no finite loss has mass."""
    if composition.tells_all:
        return True
    largest = composition.largest_loss
    return not composition.rounds or (largest is not None and epsilon >= largest[1])


def _epsilon_ends(
    composition: Composition, delta: float, ask: Callable[[Composition, tuple[float, float]], Interval]
) -> Interval:
    known = known_epsilon(composition, delta)
    if known is not None:
        return known
    least, most = composition.infinite_mass_ends
    least -= composition.standing_mass
    found = ask(
        composition, (next_down(delta - most) if most else delta, next_up(delta - least) if least or most else delta)
    )
    return found if composition.largest_loss is None else found.at_most(composition.largest_loss[1])


def _log_delta_ends(
    composition: Composition, epsilon: float, ask: Callable[[Composition, float], Interval]
) -> Interval:
    least, most = composition.infinite_mass_ends
    nothing = Interval(-math.inf, -math.inf, -math.inf)
    found = nothing if beyond(composition, epsilon) else ask(composition, epsilon)
    return replace(
        found,
        lower=log_with(found.lower, least - composition.standing_mass, Side.BELOW),
        estimate=log_with(found.estimate, composition.infinite_mass),
        upper=log_with(found.upper, most),
    ).at_most(0.0)
