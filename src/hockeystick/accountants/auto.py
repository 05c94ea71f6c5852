"""``auto``: the tightest sound engine for the plan; the result names the engine used.

Certified on both sides; each direction is computed separately, and the maximum is taken last.

Cost: the cost of the engine used, a few milliseconds for most plans. Known failure: the interval may be wider than
requested or have no finite upper end; the result then gives the reason, so no failure is silent.
"""

from __future__ import annotations

from typing import ClassVar

from hockeystick.accountants.base import Accountant
from hockeystick.directions.certified import certified_delta, certified_epsilon
from hockeystick.directions.directions import Directions
from hockeystick.directions.finite_losses import EngineFactory
from hockeystick.engines.auto import AutoEngine
from hockeystick.values import domains
from hockeystick.values.bounds import Bound, DeltaBound


class CertifiedAccountant(Accountant):
    """Accountant that applies one of this library's engines to each direction (``directions/certified.py``).

    Attributes:
        engine: engine that answers for one direction; if no gap is given, the engine's default gap is used.
    """

    engine: ClassVar[EngineFactory]
    below = True
    most_rounds = domains.MAX_COUNT
    least_delta = domains.LEAST_DELTA

    def epsilon(self, directions: Directions, delta: float, gap: float | None) -> Bound:
        """Return an interval for epsilon, of relative width ``gap`` or less; a wider one comes with a reason."""
        self.check(directions, delta)
        return certified_epsilon(directions, delta, gap, self.engine)

    def delta(self, directions: Directions, epsilon: float, gap: float | None) -> DeltaBound:
        """Return an interval for delta, of relative width ``gap`` or less; a wider one comes with a reason."""
        self.check(directions)
        return certified_delta(directions, epsilon, gap, self.engine)


class AutoAccountant(CertifiedAccountant):
    """Accountant that chooses among this library's certified engines."""

    name = "auto"
    summary = "certified: the tightest sound route for the plan (the default)"
    engine = AutoEngine
