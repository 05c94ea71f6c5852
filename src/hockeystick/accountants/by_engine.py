"""Accountants that are an engine of this library, asked in each direction (``directions/certified.py``)."""

from __future__ import annotations

from typing import ClassVar

from hockeystick.accountants.base import Accountant
from hockeystick.directions.certified import certified_delta, certified_epsilon
from hockeystick.directions.directions import Directions
from hockeystick.directions.finite_losses import EngineFactory
from hockeystick.numerics.work import one_call
from hockeystick.values import domains
from hockeystick.values.bounds import Bound, DeltaBound


class CertifiedAccountant(Accountant):
    """An accountant that is one of this library's engines.

    Attributes:
        engine: what answers one direction; its default gap is used where none is asked.
    """

    engine: ClassVar[EngineFactory]
    below: ClassVar[bool] = True
    most_rounds: ClassVar[int] = domains.MAX_COUNT
    least_delta: ClassVar[float] = domains.LEAST_DELTA

    def epsilon(self, directions: Directions, delta: float, gap: float | None) -> Bound:
        """Relative width at most ``gap`` unless the result says why not."""
        with one_call(len(directions.kinds)):
            return certified_epsilon(directions, delta, gap, self.engine)

    def delta(self, directions: Directions, epsilon: float, gap: float | None) -> DeltaBound:
        """Relative width at most ``gap`` unless the result says why not."""
        with one_call(len(directions.kinds)):
            return certified_delta(directions, epsilon, gap, self.engine)
