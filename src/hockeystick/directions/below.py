"""Lower bounds on the privacy loss of rounds, from compositions that some instance attains (see ``pairs/sides.py``).

An *instance* is a choice of neighbouring datasets and of everything else that a mechanism leaves unspecified. The exact
epsilon or delta of a direction is the maximum over all instances. So each composition that some instance attains gives
a lower bound, and the largest of these bounds is the lower end of the interval. The trade-off function of a plan is a
minimum over instances and over both orders of their datasets. So the trade-off function of any single instance, in
either order, is an upper bound.
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
    """The composition that an instance attains, and the composition after its two datasets are exchanged."""

    forward: Composition
    backward: Composition


def attained(directions: Directions) -> list[tuple[Direction, Composition]]:
    """Return each distinct composition that some instance attains, with its direction.

    The caller ensures that every kind of rounds has a lower bound (``Directions.known_from_below``).
    """
    out: list[tuple[Direction, Composition]] = []
    for direction in directions.adjacency.directions:
        for at in range(_alternatives(directions, direction)):
            for composition in _sides(directions, direction, at):
                if all(composition != other for _, other in out):
                    out.append((direction, composition))
    return out


def instances(directions: Directions) -> list[Instance]:
    """Return the distinct instances, each with both orders of its datasets.

    The adjacency must include both orders. If two instances differ only in the order of their datasets, only the first
    is returned.
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
    """Return the interval from the lower end of ``below`` to the upper end of ``above``.

    Args:
        below: certified interval of the composition for lower bounds.
        above: certified interval of the composition for upper bounds.
        why: reason why the two compositions differ.

    Raises:
        InvalidInputError: the lower end of ``below`` exceeds the upper end of ``above``, so the pairs for lower and for
            upper bounds contradict each other.
    """
    refuse_contradiction(below.lower, above.upper)
    middle = 0.5 * (below.estimate + above.estimate) if math.isfinite(below.estimate) else above.estimate
    estimate = min(max(middle, below.lower), above.upper)
    limited = "; ".join(filter(None, (width_of(why), above.limited or below.limited)))
    return replace(
        above, lower=below.lower, estimate=estimate, limited=below.limited if below.lower == math.inf else limited
    )


def _sides(directions: Directions, direction: Direction, at: int) -> tuple[Composition, ...]:
    """Compositions that the instance with index ``at`` attains in one direction.

    In the direction replace-one there are two compositions, one for each order of the datasets. In every other
    direction there is one.
    """
    if direction is not Direction.REPLACE_ONE:
        return (_at(directions, direction, at),)
    return _at(directions, direction, at), _at(directions, direction, at, backwards=True)


def _at(directions: Directions, direction: Direction, at: int, *, backwards: bool = False) -> Composition:
    """Composition of one pair of each kind of rounds: the pair with index ``at`` in the kind's list ``below``.

    If a list is too short, its last pair is used. With ``backwards``, each list is first reversed, which exchanges the
    two datasets.
    """
    step = -1 if backwards else 1
    run = ((known.below[::step], count) for known, count in _run(directions, direction))
    return Composition((below[min(at, len(below) - 1)], count) for below, count in run)


def _alternatives(directions: Directions, direction: Direction) -> int:
    """Length of the longest list ``below`` among the kinds of rounds."""
    return max((len(known.below) for known, _ in _run(directions, direction)), default=1)


def _run(directions: Directions, direction: Direction) -> list[tuple[Known, int]]:
    """Pairs and count of each kind of rounds with a positive count."""
    return [(known, count) for known, count in directions.known(direction) if count]
