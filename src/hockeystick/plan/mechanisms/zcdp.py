"""A black box known by rho of zero-concentrated differential privacy."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, ClassVar

from hockeystick.numerics.rounding import next_up
from hockeystick.pairs import RenyiCurve, moment
from hockeystick.plan.mechanisms.base import AS_GIVEN, Claim, Mechanism, Property, Status, claims_of
from hockeystick.values.adjacency import Direction
from hockeystick.values.domains import RHO

_RENYI = Claim(Status.RENYI, "Bun, Steinke 2016 [BS16], Definition 1.1: the guarantee is one of Renyi divergences")


@dataclass(frozen=True, slots=True)
class ConcentratedCurve(RenyiCurve):
    """Largest moments that a rho allows, ``K(t) = t (1 + t) rho``.

    Attributes:
        rho: rho of zero-concentrated privacy.
    """

    rho: float

    loss_range: ClassVar[tuple[float, float]] = -math.inf, math.inf
    """The loss is unbounded."""

    def log_moment(self, t: float) -> float:
        """Return ``t (1 + t) rho``, rounded up."""
        return moment.rounded_up(t * (1 + t) * self.rho)


@dataclass(frozen=True)
class ZCDP(Mechanism):
    """Black box that is rho-zero-concentrated differentially private under the plan's own adjacency.

    Args:
        rho: rho, greater than 0.

    Raises:
        InvalidInputError: a value is outside its domain.

    >>> round(ZCDP(rho=0.5).curve(Direction.ADD).log_moment(1.0), 12)
    1.0
    """

    rho: Annotated[float, RHO.of("rho of the guarantee")]

    name = "zcdp"
    claims = claims_of(_RENYI, _RENYI)
    zeroed = AS_GIVEN
    properties = frozenset({Property.GUARANTEE})

    def curve(self, direction: Direction) -> ConcentratedCurve:
        """Return the largest moments that the guarantee allows."""
        return ConcentratedCurve(self.rho)

    def of_many(self, direction: Direction, records: int) -> RenyiCurve:
        """Return the curve with rho times ``records`` squared, rounded up.

        (Bun, Steinke 2016 [BS16], Proposition 1.9.)
        """
        return ConcentratedCurve(next_up(float(records) * records * self.rho, 4))
