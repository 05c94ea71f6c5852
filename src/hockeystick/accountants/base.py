"""The one signature of all accountants."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

from hockeystick.bounds import Bound, DeltaBound
from hockeystick.plan import Plan


class Accountant(ABC):
    """A method with a name.

    Attributes:
        name: as given to ``accountant=`` and ``--accountant``.
        summary: one line for ``hockeystick accountants``: what it does, what kind of number it gives.
    """

    name: ClassVar[str]
    summary: ClassVar[str]

    @abstractmethod
    def epsilon(self, plan: Plan, delta: float, gap: float | None) -> Bound:
        """Epsilon at delta in [0, 1); see :meth:`hockeystick.Plan.epsilon`."""

    @abstractmethod
    def delta(self, plan: Plan, epsilon: float, gap: float | None) -> DeltaBound:
        """Delta at epsilon >= 0; see :meth:`hockeystick.Plan.delta`."""
