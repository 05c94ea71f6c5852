"""Base of accountants that apply an engine of this library to each direction (``directions/certified.py``)."""

from __future__ import annotations

from typing import ClassVar

from hockeystick.accountants.base import Accountant
from hockeystick.directions.certified import certified_delta, certified_epsilon
from hockeystick.directions.directions import Directions
from hockeystick.directions.finite_losses import EngineFactory
from hockeystick.values import domains
from hockeystick.values.bounds import Bound, DeltaBound


class CertifiedAccountant(Accountant):
    """Accountant that applies one of this library's engines to each direction.

    Attributes:
        engine: engine for one direction; its default gap is used unless a gap is given.
    """

    engine: ClassVar[EngineFactory]
    below = True
    most_rounds = domains.MAX_COUNT
    least_delta = domains.LEAST_DELTA

    def epsilon(self, directions: Directions, delta: float, gap: float | None) -> Bound:
        """Return epsilon, with a relative width of at most ``gap`` unless the result has a reason."""
        self.check(directions, delta)
        return certified_epsilon(directions, delta, gap, self.engine)

    def delta(self, directions: Directions, epsilon: float, gap: float | None) -> DeltaBound:
        """Return delta, with a relative width of at most ``gap`` unless the result has a reason."""
        self.check(directions)
        return certified_delta(directions, epsilon, gap, self.engine)
