"""``contour``: this library's trapezoid rule on the saddle-point contour.

Certified on both sides. Cost independent of the number of rounds; Gaussian rounds, sampled or not, and black boxes
among them. Not for Laplace noise, nor for a few rounds at a small sampling rate: those are refused.
"""

from __future__ import annotations

from typing import ClassVar

from hockeystick.accountants.base import Accountant
from hockeystick.accountants.certified import certified_delta, certified_epsilon
from hockeystick.bounds import Bound, DeltaBound
from hockeystick.engines.contour.engine import ContourEngine
from hockeystick.plan import Plan


class ContourAccountant(Accountant):
    """Trapezoid rule on the saddle-point contour, all remainders bounded."""

    name: ClassVar[str] = "contour"
    summary: ClassVar[str] = "certified: saddle-point contour with bounded remainders, cost independent of the rounds"

    def epsilon(self, plan: Plan, delta: float, gap: float | None) -> Bound:
        """Relative width at most ``gap`` (default 1e-6) unless the result says why not."""
        return certified_epsilon(plan, delta, gap, ContourEngine)

    def delta(self, plan: Plan, epsilon: float, gap: float | None) -> DeltaBound:
        """Relative width at most ``gap`` (default 1e-6) unless the result says why not."""
        return certified_delta(plan, epsilon, gap, ContourEngine)
