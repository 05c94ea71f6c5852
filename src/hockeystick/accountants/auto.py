"""``auto``: the tightest sound route for the plan; the result names the one taken."""

from __future__ import annotations

from typing import ClassVar

from hockeystick.accountants.base import Accountant
from hockeystick.accountants.grid import GridAccountant
from hockeystick.bounds import Bound, DeltaBound
from hockeystick.plan import Plan


class AutoAccountant(Accountant):
    """Chooses among this library's certified engines."""

    name: ClassVar[str] = "auto"
    summary: ClassVar[str] = "certified: the tightest sound route for the plan (the default)"

    def epsilon(self, plan: Plan, delta: float, gap: float | None) -> Bound:
        """By the grid engine."""
        return GridAccountant().epsilon(plan, delta, gap)

    def delta(self, plan: Plan, epsilon: float, gap: float | None) -> DeltaBound:
        """By the grid engine."""
        return GridAccountant().delta(plan, epsilon, gap)
