"""The Laplace mechanism: a query whose records each contribute at most C in L1 norm, plus Laplace noise."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, ClassVar

from hockeystick.numerics.decimals import decimal
from hockeystick.pairs import LaplacePair
from hockeystick.pairs.exact import ExactLaplace
from hockeystick.pairs.sides import Known, Tight
from hockeystick.plan.mechanisms.base import AS_ABSENT, Claim, Property, Status, claims_of
from hockeystick.plan.mechanisms.replacement import DISTANCE, FULL_DISTANCE, NoiseOnSum
from hockeystick.values.adjacency import Direction
from hockeystick.values.domains import NOISE, check_fields

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

    name: ClassVar[str] = "laplace"
    noise_key: ClassVar[str] = "scale"
    claims: ClassVar[Mapping[Direction, Claim]] = claims_of(_TIGHT, _TIGHT)
    zeroed: ClassVar[Claim] = AS_ABSENT
    properties: ClassVar[frozenset[Property]] = frozenset({Property.SUM})

    def __post_init__(self) -> None:
        check_fields(self)

    def pair(self, direction: Direction) -> LaplacePair:
        """Return Lap(distance, scale) against Lap(0, scale)."""
        return LaplacePair(self.replace_one_distance if direction is Direction.REPLACE_ONE else 1.0, self.scale)

    def with_against_without(self) -> LaplacePair:
        """Return Lap(1, scale) against Lap(0, scale)."""
        return LaplacePair(1.0, self.scale)

    def of_many(self, direction: Direction, records: int) -> Known:
        """Return the pair at ``records`` times the distance, which equal records attain (``plan/users.py``)."""
        distance = self.replace_one_distance if direction is Direction.REPLACE_ONE else 1.0
        return Tight(LaplacePair(records * distance, self.scale))

    def exact(self, direction: Direction) -> ExactLaplace:
        """Return the round in exact numbers, at the distance of :meth:`pair`."""
        distance = self.replace_one_distance if direction is Direction.REPLACE_ONE else 1.0
        return ExactLaplace(decimal(distance) / decimal(self.scale))
