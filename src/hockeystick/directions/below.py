"""Lower bounds of rounds: the compositions that some instance attains (see ``pairs/sides.py``).

The truth of a direction is a maximum over instances, so each composition here gives a lower bound, and the largest of
these is the lower end. A trade-off function is a minimum over instances: any one instance gives an upper bound, from
both of its orderings.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import NamedTuple

from hockeystick.directions.directions import Directions
from hockeystick.directions.two_sided import refuse_contradiction
from hockeystick.pairs import Composition
from hockeystick.pairs.sides import Known, width_of
from hockeystick.values.adjacency import Direction
from hockeystick.values.interval import Interval


class Instance(NamedTuple):
    """Two neighbouring datasets: the rounds on one against the rounds on the other, in both orders."""

    forward: Composition
    backward: Composition


def attained(directions: Directions) -> list[tuple[Direction, Composition]]:
    """Return each distinct composition that an instance attains, with its direction.

    Every kind must have a lower bound (``Directions.known_from_below``).
    """
    out: list[tuple[Direction, Composition]] = []
    for direction in directions.adjacency.directions:
        for at in range(_alternatives(directions, direction)):
            for composition in _sides(directions, direction, at):
                if all(composition != other for _, other in out):
                    out.append((direction, composition))
    return out


def instances(directions: Directions) -> list[Instance]:
    """Return the instances, each in both orders; the adjacency must cover both orders.

    An instance that is another instance with its two laws exchanged is left out.
    """
    out: list[Instance] = []
    direction = directions.adjacency.directions[0]
    for at in range(_alternatives(directions, direction)):
        if direction is Direction.REPLACE_ONE:
            found = Instance(*_sides(directions, direction, at))
        else:
            forward, backward = directions.adjacency.both
            found = Instance(_at(directions, forward, at), _at(directions, backward, at))
        if found not in out and Instance(found.backward, found.forward) not in out:
            out.append(found)
    return out


def bracketed(below: Interval, above: Interval, why: str) -> Interval:
    """Return the interval from the lower end of one certified interval to the upper end of another.

    Raises:
        InvalidInputError: the lower end exceeds the upper end, so the pairs contradict each other.
    """
    refuse_contradiction(below.lower, above.upper)
    middle = 0.5 * (below.estimate + above.estimate) if math.isfinite(below.estimate) else above.estimate
    estimate = min(max(middle, below.lower), above.upper)
    limited = "; ".join(filter(None, (width_of(why), above.limited or below.limited)))
    return replace(
        above, lower=below.lower, estimate=estimate, limited=below.limited if below.lower == math.inf else limited
    )


def _sides(directions: Directions, direction: Direction, at: int) -> tuple[Composition, ...]:
    """Orders of the instance at one index in one direction: both orders if a record is replaced, else one."""
    if direction is not Direction.REPLACE_ONE:
        return (_at(directions, direction, at),)
    return _at(directions, direction, at), _at(directions, direction, at, backwards=True)


def _at(directions: Directions, direction: Direction, at: int, *, backwards: bool = False) -> Composition:
    """Composition of each kind's alternative at one index, or at its last one if it has fewer alternatives."""
    step = -1 if backwards else 1
    run = ((known.below[::step], count) for known, count in _run(directions, direction))
    return Composition((below[min(at, len(below) - 1)], count) for below, count in run)


def _alternatives(directions: Directions, direction: Direction) -> int:
    """Number of alternatives, the largest among the kinds."""
    return max((len(known.below) for known, _ in _run(directions, direction)), default=1)


def _run(directions: Directions, direction: Direction) -> list[tuple[Known, int]]:
    """Pairs of the kinds that are run at least once."""
    return [(known, count) for known, count in directions.known(direction) if count]
