"""Base of published methods: each direction and its mass at infinite loss separately, the maximum last.

With ``p = P(some round has infinite loss)``, ``delta(eps) = p + delta_finite(eps)``. A method answers for the finite
losses of one direction. Cases that need no method (no rounds, a target below p, an epsilon beyond the largest loss) are
answered here.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

from hockeystick.directions.directions import Directions, compositions
from hockeystick.directions.one_sided import NO_EPSILON, worst
from hockeystick.directions.two_sided import without_lower
from hockeystick.numerics.rounding import TINY, next_down, next_up
from hockeystick.pairs import Composition
from hockeystick.values.adjacency import Direction
from hockeystick.values.bounds import Bound, DeltaBound, DeltaEstimate, Estimate

EFFORT = 1.6
"""Time for one kind of sampled rounds relative to that of its moments: five milliseconds."""

NOTHING_BELOW = "delta is within rounding of the mass at infinite loss"
"""Reason for an interval that covers the whole range."""


class Ends(NamedTuple):
    """Certified interval of one direction, with an estimate between its ends."""

    lower: float
    guess: float
    upper: float
    reason: str | None = None

    def within(self, most: float) -> Ends:
        """Return the part of the interval up to ``most``, a further upper bound on the truth."""
        lower, upper = min(self.lower, most), min(self.upper, most)
        return Ends(lower, min(max(self.guess, lower), upper), upper, self.reason)


def _worst(directions: Directions, ask: Callable[[Composition], Ends]) -> tuple[Direction, Ends]:
    """Return the direction with the largest upper end, and the largest ends and estimate over all directions."""
    found = [(direction, ask(composition)) for direction, composition in compositions(directions, effort=EFFORT)]
    direction, worst = max(found, key=lambda item: item[1].upper)
    lower, guess = max(ends.lower for _, ends in found), max(ends.guess for _, ends in found)
    return direction, Ends(lower, min(max(guess, lower), worst.upper), worst.upper, worst.reason)


def _largest(directions: Directions, ask: Callable[[Composition], float]) -> tuple[Direction, float]:
    """Return the direction with the largest estimate, and that estimate."""
    return worst(compositions(directions, effort=EFFORT), ask)


def estimated_epsilon(
    directions: Directions, delta: float, name: str, ask: Callable[[Composition, float], float]
) -> Estimate:
    """Return the larger of the directions' estimates; ``ask(composition, delta of the finite losses)`` gives one."""
    direction, value = _largest(directions, lambda composition: _epsilon(composition, delta, ask))
    return Estimate(value, name, direction.value, NO_EPSILON if math.isinf(value) else None)


def estimated_delta(
    directions: Directions, epsilon: float, name: str, ask: Callable[[Composition, float], float]
) -> DeltaEstimate:
    """Return the larger of the directions' estimates; ``ask(composition, epsilon)`` gives a finite log delta."""
    direction, log = _largest(directions, lambda composition: _log_delta(composition, epsilon, ask))
    value = math.exp(log)
    return DeltaEstimate(value, name, direction.value, log_delta=Estimate(log, name, direction.value))


def bounded_epsilon(
    directions: Directions, delta: float, name: str, ask: Callable[[Composition, tuple[float, float]], Ends]
) -> Bound:
    """Return the larger ends of the directions; ``ask`` gets both ends of the delta left for the finite losses."""
    direction, (lower, guess, upper, reason) = _worst(directions, lambda each: _epsilon_ends(each, delta, ask))
    bound = Bound(lower, guess, upper, accountant=name, direction=direction.value, reason=reason)
    return without_lower(directions, bound)


def bounded_delta(
    directions: Directions, epsilon: float, name: str, ask: Callable[[Composition, float], Ends]
) -> DeltaBound:
    """Return the interval of delta, each end the largest over the directions; ``ask`` returns delta, not its log."""
    direction, (lower, guess, upper, reason) = _worst(directions, lambda each: _delta_ends(each, epsilon, ask))
    logs = [math.log(value) if value > 0 else -math.inf for value in (lower, guess, upper)]
    log_lower, log_upper = next_down(logs[0], 2), min(next_up(logs[2], 2), 0.0) if upper > 0 else -math.inf
    log_guess = min(max(logs[1], log_lower), log_upper)
    log = Bound(log_lower, log_guess, log_upper, accountant=name, direction=direction.value, reason=reason)
    bound = DeltaBound(lower, guess, upper, accountant=name, direction=direction.value, reason=reason, log_delta=log)
    return without_lower(directions, bound)


def known_epsilon(composition: Composition, delta: float) -> Ends | None:
    """Return epsilon if no method is needed, else ``None``."""
    if not composition.rounds:
        return Ends(0.0, 0.0, 0.0)
    least, most = composition.infinite_mass_ends
    if delta > most:
        return None
    largest = composition.largest_loss
    if delta == 0 and composition.infinite_mass == 0 and largest is not None:
        return Ends(largest[0], largest[1], largest[1])
    if delta < least or delta == 0:
        return Ends(math.inf, math.inf, math.inf, NO_EPSILON)
    return Ends(0.0, 0.0, math.inf, NOTHING_BELOW)


def _epsilon(composition: Composition, delta: float, ask: Callable[[Composition, float], float]) -> float:
    known = known_epsilon(composition, delta)
    if known is not None:
        return known.upper
    value, largest = max(ask(composition, delta - composition.infinite_mass), 0.0), composition.largest_loss
    return value if largest is None else min(value, largest[1])


def _log_delta(composition: Composition, epsilon: float, ask: Callable[[Composition, float], float]) -> float:
    infinite = composition.infinite_mass
    known = _beyond(composition, epsilon)
    finite = -math.inf if known else ask(composition, epsilon)
    if infinite == 0:
        return min(finite, 0.0)
    return min(math.log(infinite + math.exp(finite)), 0.0)


def _beyond(composition: Composition, epsilon: float) -> bool:
    """True if no finite loss with mass exceeds epsilon."""
    if composition.tells_all:
        return True
    largest = composition.largest_loss
    return not composition.rounds or (largest is not None and epsilon >= largest[1])


def _epsilon_ends(
    composition: Composition, delta: float, ask: Callable[[Composition, tuple[float, float]], Ends]
) -> Ends:
    known = known_epsilon(composition, delta)
    if known is not None:
        return known
    least, most = composition.infinite_mass_ends
    least -= composition.standing_mass
    found = ask(
        composition, (next_down(delta - most) if most else delta, next_up(delta - least) if least or most else delta)
    )
    return found if composition.largest_loss is None else found.within(composition.largest_loss[1])


def _delta_ends(composition: Composition, epsilon: float, ask: Callable[[Composition, float], Ends]) -> Ends:
    least, most = composition.infinite_mass_ends
    least -= composition.standing_mass
    ends = Ends(0.0, 0.0, 0.0) if _beyond(composition, epsilon) else ask(composition, epsilon)
    if least or most:
        ends = Ends(
            max(next_down(ends.lower + least), 0.0),
            ends.guess + composition.infinite_mass,
            next_up(ends.upper + most),
            ends.reason,
        )
    if 0 < ends.upper < TINY:
        ends = ends._replace(upper=TINY)
    return ends.within(1.0)
