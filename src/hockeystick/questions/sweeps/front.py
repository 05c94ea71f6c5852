"""Pareto front of two numbers, both to be minimised."""

from __future__ import annotations

from collections.abc import Sequence


def front(first: Sequence[float], second: Sequence[float], places: Sequence[int]) -> list[int]:
    """Return the indices of points that no other point dominates, in order of the first number.

    A point dominates another if it has less of one number and no more of the other. Of equal points only the first is
    returned.

    Args:
        first: first number of each point.
        second: second number of each point.
        places: indices to choose from.

    >>> front([1.0, 2.0, 2.0, 3.0, 4.0], [9.0, 5.0, 6.0, 7.0, 1.0], range(5))
    [0, 1, 4]
    """
    kept: list[int] = []
    for place in sorted(places, key=lambda place: (first[place], second[place], place)):
        if not kept or second[place] < second[kept[-1]]:
            kept.append(place)
    return kept
