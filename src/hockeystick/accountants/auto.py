"""``auto``: the tightest sound route for the plan; the result names the one taken."""

from __future__ import annotations

from typing import ClassVar

from hockeystick.accountants.base import Accountant
from hockeystick.accountants.certified import certified_delta, certified_epsilon
from hockeystick.bounds import Bound, DeltaBound
from hockeystick.engines.auto import AutoEngine
from hockeystick.plan import Plan


class AutoAccountant(Accountant):
    """Chooses among this library's certified engines."""

    name: ClassVar[str] = "auto"
    summary: ClassVar[str] = "certified: the tightest sound route for the plan (the default)"

    def epsilon(self, plan: Plan, delta: float, gap: float | None) -> Bound:
        """By the contour engine (default gap 1e-6) where it applies, else by the grid engine (default gap 1e-3)."""
        return certified_epsilon(plan, delta, gap, AutoEngine)

    def delta(self, plan: Plan, epsilon: float, gap: float | None) -> DeltaBound:
        """By the contour engine (default gap 1e-6) where it applies, else by the grid engine (default gap 1e-3)."""
        return certified_delta(plan, epsilon, gap, AutoEngine)
