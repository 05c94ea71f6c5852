"""``grid``: this library's two-sided connect-the-dots engine.

Certified on both sides. Cost grows with the square root of the number of rounds; any pair, any mixture of rounds.
"""

from __future__ import annotations

from typing import ClassVar

from hockeystick.accountants.base import Accountant
from hockeystick.accountants.certified import certified_delta, certified_epsilon
from hockeystick.bounds import Bound, DeltaBound
from hockeystick.engines.grid.engine import GridEngine
from hockeystick.plan import Plan


class GridAccountant(Accountant):
    """Two-sided connect-the-dots on a tilted loss grid."""

    name: ClassVar[str] = "grid"
    summary: ClassVar[str] = "certified: two-sided connect-the-dots on a loss grid, mesh chosen by the error law"

    def epsilon(self, plan: Plan, delta: float, gap: float | None) -> Bound:
        """Relative width at most ``gap`` (default 1e-3) unless the result says why not."""
        return certified_epsilon(plan, delta, gap, GridEngine)

    def delta(self, plan: Plan, epsilon: float, gap: float | None) -> DeltaBound:
        """Relative width at most ``gap`` (default 1e-3) unless the result says why not."""
        return certified_delta(plan, epsilon, gap, GridEngine)
