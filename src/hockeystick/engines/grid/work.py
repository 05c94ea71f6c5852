"""Costs of the steps of the grid engine in units of work, and the largest size of one law.

A step that the budget does not allow is not begun: the interval found so far is the answer, or another engine runs.
"""

from __future__ import annotations

import math

from hockeystick.numerics.arrays import MOST_POINTS
from hockeystick.numerics.budget import allows
from hockeystick.numerics.budget import left as left
from hockeystick.values.errors import NotApplicableError

WORK = "a finer grid would take too long"
"""Reason for an interval wider than requested: the budget allows no finer mesh."""

MEMORY = "the grid is as fine as the memory limit allows"
"""Reason for an interval wider than requested: a finer mesh has too many grid points."""

PLACE = 150.0
"""Units of work for a node of a density, for a knot between cells, or for a grid point of a convolution."""

SEEN = 20.0
"""Units of work for a grid point of a composed law in the computation of one value of delta."""


class TooLongError(NotApplicableError):
    """The budget does not allow the next step of the grid."""


def begin(units: float, step: str) -> None:
    """Deduct the work of a step from the budget.

    Raises:
        TooLongError: the budget does not allow it.
    """
    if not allows(units):
        raise TooLongError(f"the grid engine would take too long: {step}")


def check_range(places: float, what: str) -> None:
    """Raise an error if a law with this many grid points would need too much memory.

    Raises:
        NotApplicableError: the law would need too much memory.
    """
    if not places <= 2 * MOST_POINTS:
        size = f"{places:.0e}" if math.isfinite(places) else "infinitely many"
        raise NotApplicableError(f"the grid engine would need {size} grid points for {what}, which is too much memory")
