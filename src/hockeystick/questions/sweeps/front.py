"""The Pareto front of two numbers, less of each of which is better."""

from __future__ import annotations

from collections.abc import Sequence


def front(first: Sequence[float], second: Sequence[float], places: Sequence[int]) -> list[int]:
    """The places at which no other place has less of one number and no more of the other, by the first number.

    Of places with the same two numbers the first stands for all.

    Args:
        first: one number at each place.
        second: the other.
        places: among which is chosen.

    >>> front([1.0, 2.0, 2.0, 3.0, 4.0], [9.0, 5.0, 6.0, 7.0, 1.0], range(5))
    [0, 1, 4]
    """
    kept: list[int] = []
    for place in sorted(places, key=lambda place: (first[place], second[place], place)):
        if not kept or second[place] < second[kept[-1]]:
            kept.append(place)
    return kept
