"""Base of published methods: answers in each direction, with the mass at infinite loss, and then the worst.

With ``p = P(some round has infinite loss)``, ``delta(eps) = p + delta_finite(eps)``. A method answers only for the
finite losses of one direction. Cases that need no method (no rounds, a target below p, an epsilon beyond the largest
loss) are answered here.
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
"""Time for one kind of sampled rounds relative to that of its moments: five milliseconds."""

UNBOUNDED = "delta is 0 and the privacy loss is unbounded, so no epsilon is finite"
"""Reason for an infinite epsilon at delta 0."""


def _worst(directions: Directions, ask: Callable[[Composition], Interval]) -> tuple[Direction, Interval]:
    """Return the direction with the largest upper end, and the largest ends and estimate of all directions."""
    found = [(direction, ask(composition)) for direction, composition in compositions(directions, effort=EFFORT)]
    direction, worst = max(found, key=lambda item: item[1].upper)
    lower, estimate = max(each.lower for _, each in found), max(each.estimate for _, each in found)
    return direction, replace(worst, lower=lower, estimate=min(max(estimate, lower), worst.upper))


def estimated_epsilon(
    directions: Directions, delta: float, name: str, ask: Callable[[Composition, float], float]
) -> Estimate:
    """Return the largest estimate of epsilon over the directions.

    ``ask(composition, delta)`` estimates epsilon of one direction from the part of delta left for the finite losses.
    """
    found = compositions(directions, effort=EFFORT)
    direction, value = worst(found, lambda composition: _epsilon(composition, delta, ask))
    return Estimate(value, name, direction.value, NO_EPSILON if math.isinf(value) else None)


def estimated_delta(
    directions: Directions, epsilon: float, name: str, ask: Callable[[Composition, float], float]
) -> DeltaEstimate:
    """Return the largest estimate of delta over the directions.

    ``ask(composition, epsilon)`` estimates log delta of the finite losses of one direction.
    """
    found = compositions(directions, effort=EFFORT)
    direction, log = worst(found, lambda composition: _log_delta(composition, epsilon, ask))
    value = math.exp(log)
    return DeltaEstimate(value, name, direction.value, log_delta=Estimate(log, name, direction.value))


def bounded_epsilon(
    directions: Directions, delta: float, name: str, ask: Callable[[Composition, tuple[float, float]], Interval]
) -> Bound:
    """Return the interval of epsilon, each end the largest over the directions.

    ``ask(composition, ends)`` bounds epsilon of one direction. The two numbers ``ends`` are a lower and an upper bound
    on the part of delta left for the finite losses.
    """
    direction, found = _worst(directions, lambda each: _epsilon_ends(each, delta, ask))
    return without_lower(directions, bound_of(replace(found, engine=name), direction))


def bounded_delta(
    directions: Directions, epsilon: float, name: str, ask: Callable[[Composition, float], Interval]
) -> DeltaBound:
    """Return the interval of delta, each end the largest over the directions.

    ``ask(composition, epsilon)`` bounds log delta of the finite losses of one direction.
    """
    direction, found = _worst(directions, lambda each: _log_delta_ends(each, epsilon, ask))
    return without_lower(directions, delta_of(bound_of(replace(found, engine=name), direction)))


def log_with(log_finite: float, mass: float, side: Side = Side.ABOVE) -> float:
    """Return the logarithm of ``e^log_finite + mass``, at most 0, rounded up or down by ``side``."""
    if not mass > 0:
        return log_finite
    low, high = sorted((log_finite, math.log(mass)))
    return min(high + math.log1p(math.exp(low - high)) + side * 2e-15 * (1 + abs(high)), 0.0)


def known_epsilon(composition: Composition, delta: float) -> Interval | None:
    """Return epsilon of one direction if it is known without a method, else ``None``."""
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
    """Description of the event with infinite loss; atoms that only replace a cut-off tail are not mentioned."""
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
