"""Knots of a table: certified ends at each, and refinement.

The batch engine computes the ends at knots. Along a fine axis, a step between two knots is split if, at some value of
the other coordinates, the lower end on its safe side is too far below the upper end on its dangerous side. The new
knots are computed, and the steps between them are split in turn.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hockeystick.questions.histories.answers import plan_of
from hockeystick.questions.many import epsilons
from hockeystick.questions.tables.axes import SIGNS, Array, Axis
from hockeystick.values.adjacency import Adjacency
from hockeystick.values.errors import InvalidInputError

AT_ONCE = 4096
"""Number of plans in one call of the batch engine: a second of work between checks for Ctrl-C."""

MIN_STEP = 1e-2
"""Smallest step, relative to the knot and to the accuracy: epsilon is only that much steeper than its parameter where
it
falls to 0, and no relative width is reachable there.
"""

MOST_PASSES = 40
"""Largest number of refinements: each at least halves the steps that are too wide, and a range has fewer halvings."""

FIRST_SHARE = 0.98
"""Share of the accuracy that the first knots aim for, since epsilon is not exactly a power of its parameter."""


@dataclass(frozen=True, slots=True, eq=False)
class Knots:
    """Four axes and the certified ends at their knots, in arrays with a dimension for each axis."""

    axes: tuple[Axis, ...]
    lower: Array
    upper: Array

    def corners(self) -> tuple[Array, Array]:
        """Return, for each cell, the lower end at its safe corner and the upper end at its dangerous corner.

        Along an axis with one knot, a cell is that knot.
        """
        low, high = self.lower, self.upper
        for number, axis in enumerate(self.axes):
            low, high = _beside(low, number, axis, safe=True), _beside(high, number, axis, safe=False)
        return low, high


def _beside(ends: Array, number: int, axis: Axis, safe: bool) -> Array:
    """Return the ends at one side of each step of an axis: the side of smaller epsilon (safe), or of larger."""
    if len(axis) == 1:
        return ends
    left = safe == (SIGNS[axis.name] > 0)
    return np.delete(ends, -1 if left else 0, number)


def laid(axes: tuple[Axis, ...], adjacency: Adjacency, fine: Sequence[str], accuracy: float, most: int) -> Knots:
    """Return the knots of the given axes, with further ones along the fine axes.

    Args:
        axes: noise, rate, rounds and delta, in this order.
        adjacency: adjacency that tables cover.
        fine: names of the axes along which knots are added.
        accuracy: relative width of a cell with steps along fine axes only.
        most: largest number of knots.

    Raises:
        InvalidInputError: more knots than ``most`` are needed.
    """
    share = -math.expm1(math.log1p(-accuracy) / max(len(fine), 1))  # for k fine axes, 1 - (1 - share)^k is the accuracy
    nowhere = tuple(Axis(axis.name, axis.knots[:0]) for axis in axes)
    _affordable(axes, most, accuracy)
    found = _extended(Knots(nowhere, *np.zeros((2, 0, 0, 0, 0))), axes, adjacency)
    for _ in range(MOST_PASSES):
        split = tuple(
            axis.split(_parts(found, number, share, first=len(axis) == len(axes[number])))
            if axis.name in fine
            else axis
            for number, axis in enumerate(found.axes)
        )
        if all(len(new) == len(old) for new, old in zip(split, found.axes, strict=True)):
            break
        _affordable(split, most, accuracy)
        found = _extended(found, split, adjacency)
    return _monotone(found)


def _parts(found: Knots, number: int, share: float, first: bool) -> npt.NDArray[np.intp]:
    """Return the number of parts to split each step of an axis into; 1 if it is narrow or as short as allowed."""
    axis = found.axes[number]
    if len(axis) == 1:
        return np.zeros(0, dtype=np.intp)
    low, high = _beside(found.lower, number, axis, safe=True), _beside(found.upper, number, axis, safe=False)
    others = tuple(each for each in range(low.ndim) if each != number)
    with np.errstate(divide="ignore", invalid="ignore"):
        width = np.where(high > low, np.log(high) - np.log(low), 0.0).max(axis=others)  # infinite if the lower end is 0
    wide = (width > -math.log1p(-share)) & (axis.steps() > 1 + MIN_STEP * share)
    wanted = np.ceil(width / (FIRST_SHARE * share)) if first else np.full(len(width), 2.0)
    wanted = np.where(np.isfinite(wanted), wanted, 2.0)
    if axis.name == "rounds":
        wanted = np.minimum(wanted, np.diff(axis.knots))
    return np.where(wide, np.maximum(wanted, 2.0), 1.0).astype(np.intp)


def _affordable(axes: tuple[Axis, ...], most: int, accuracy: float) -> None:
    many = math.prod(len(axis) for axis in axes)
    if many > most:
        each = ", ".join(f"{len(axis)} of {axis.name}" for axis in axes)
        raise InvalidInputError(
            f"most must be at least {many}, the number of knots that accuracy {accuracy:g} needs so far ({each}); "
            f"received {most}; give shorter ranges, a larger accuracy or fewer fine axes",
            "most",
        )


def _extended(old: Knots, axes: tuple[Axis, ...], adjacency: Adjacency) -> Knots:
    """Return knots along longer axes, computing only the new ones."""
    shape = tuple(len(axis) for axis in axes)
    known = np.ix_(*(np.searchsorted(new.knots, was.knots) for new, was in zip(axes, old.axes, strict=True)))
    lower, upper = np.full(shape, np.nan), np.full(shape, np.nan)
    lower[known], upper[known] = old.lower, old.upper
    places = np.argwhere(np.isnan(upper))
    rows = [axis.knots[places[:, number]] for number, axis in enumerate(axes)]
    at = tuple(places.T)
    lower[at], upper[at] = asked(rows, adjacency)
    return Knots(axes, lower, upper)


def asked(points: Sequence[Array], adjacency: Adjacency) -> tuple[Array, Array]:
    """Return certified ends of epsilon at points, by the batch engine.

    Args:
        points: noise, rate, rounds and delta of each point, in this order.
        adjacency: adjacency of all points.

    Raises:
        InvalidInputError: a point is outside the domain of plans.
    """
    noise, rate, rounds, delta = points
    lower, upper = np.empty(len(noise)), np.empty(len(noise))
    for start in range(0, len(noise), AT_ONCE):
        part = slice(start, start + AT_ONCE)
        rows = zip(noise[part].tolist(), rate[part].tolist(), rounds[part].astype(int).tolist(), strict=True)
        found = epsilons([plan_of((row,), adjacency) for row in rows], delta[part])
        lower[part], upper[part] = found.lower, found.upper
    return lower, upper


def _monotone(found: Knots) -> Knots:
    """Return the knots, with lower ends at least those of safer knots and upper ends at most those of less safe ones.

    By monotonicity, an end at a knot is valid at all knots on one side of it, so this only narrows intervals.
    """
    lower, upper = found.lower.copy(), found.upper.copy()
    for number, axis in enumerate(found.axes):
        rising = slice(None, None, SIGNS[axis.name])
        turned = (slice(None),) * number + (rising,)
        back = (slice(None),) * number + (slice(None, None, -1),)
        lower[turned] = np.maximum.accumulate(lower[turned], axis=number)
        upper[turned] = np.minimum.accumulate(upper[turned][back], axis=number)[back]
    return Knots(found.axes, lower, upper)
