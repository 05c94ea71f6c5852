"""How much the grid may cost: a budget of elementary evaluations, charged before each step that may be expensive.

One :class:`Work` is made for a question put to the engine and handed down to every step. Each step says what it is
about to do, in units of about a nanosecond on one core; what it says depends on sizes alone and not on a clock, so
that an answer is the same from run to run. A step that does not fit is not begun: the interval found so far is the
answer, or another engine is asked.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from hockeystick.values.errors import NotApplicableError

LIMIT = 1.6e9
WORK = "a finer mesh would take too long"
MEMORY = "the mesh is as fine as the memory limit allows"
MAX_RANGE = 1 << 22  # places of one law: about 300 MB while it is made

# units of one of each
NODE = 180.0  # at which the density and the loss of a round are taken
KNOT = 400.0  # of the cells of a round: spread, merged and repaired
PLACE = 60.0  # of a law that is stored place by place
ATOM = 120.0  # put on a coarser grid, and place there
POINT = 150.0  # of a convolution: transform, power, transform back
SEEN = 20.0  # place at which a sum is weighed for one value of delta
LAYOUT_POINT = 700.0  # of the points that a layout counts, all in all


class WorkLimitError(NotApplicableError):
    """The next step would exceed the budget."""


@dataclass(slots=True)
class Work:
    """What is left to spend."""

    left: float = LIMIT

    def charge(self, units: float, step: str) -> None:
        """Pay for a step before it is taken.

        Raises:
            WorkLimitError: too little is left; nothing was paid.
        """
        if not units <= self.left:
            raise WorkLimitError(f"the grid engine would take too long: {step}")
        self.left -= units

    def spend(self, units: float) -> None:
        """Pay for a last step of bounded size, which is taken in any case."""
        self.left -= units


def check_range(places: float, what: str) -> None:
    """That a law of so many places may be stored.

    Raises:
        NotApplicableError: it would take too much memory.
    """
    if not places <= MAX_RANGE:
        size = f"{places:.0e}" if math.isfinite(places) else "endlessly many"
        raise NotApplicableError(f"the grid engine would need {size} places for {what}: too much memory")
