"""The Laplace mechanism: a query whose records each contribute at most C in L1 norm, plus Laplace noise."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from hockeystick.pairs import LaplacePair
from hockeystick.pairs.exact import ExactLaplace
from hockeystick.plan.mechanisms.base import AS_ABSENT, Claim, Property, Status, claims_of
from hockeystick.plan.mechanisms.replacement import DISTANCE, FULL_DISTANCE, NoiseOnSum
from hockeystick.values.adjacency import Direction
from hockeystick.values.domains import NOISE
from hockeystick.values.exact import decimal

_TIGHT = Claim(Status.TIGHT, "scalar: the pair itself; vectors: proof in pairs/laplace.py")  # in every direction


@dataclass(frozen=True)
class Laplace(NoiseOnSum):
    """Laplace noise on a vector to which one record contributes at most C in L1 norm.

    Args:
        scale: scale parameter b of the noise divided by C; greater than 0. One round has pure epsilon 1/scale.
        replace_one_distance: as for :class:`Gaussian`.

    Raises:
        InvalidInputError: a value is outside its domain.

    >>> Laplace(scale=10).pair(Direction.ADD)
    LaplacePair(distance=1.0, scale=10.0)
    """

    scale: Annotated[float, NOISE.of("noise scale b / L1 bound of one record")]
    replace_one_distance: Annotated[float, DISTANCE] = FULL_DISTANCE

    name = "laplace"
    noise_key = "scale"
    claims = claims_of(_TIGHT, _TIGHT)
    zeroed = AS_ABSENT
    properties = frozenset({Property.SUM})

    def at(self, distance: int) -> LaplacePair:
        """Return Lap(distance, scale) against Lap(0, scale)."""
        return LaplacePair(float(distance), self.scale)

    def exact(self, direction: Direction) -> ExactLaplace:
        """Return the round in exact numbers, at the distance of :meth:`pair`."""
        return ExactLaplace(self.distance(direction) / decimal(self.scale))
