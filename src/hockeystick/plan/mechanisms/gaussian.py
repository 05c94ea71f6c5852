"""The Gaussian mechanism: a sum or gradient whose records each contribute at most C in L2 norm, plus normal noise."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, ClassVar

from hockeystick.pairs import DominatingPair, GaussianPair
from hockeystick.pairs.sides import Known, Tight
from hockeystick.plan.mechanisms.base import AS_ABSENT, Claim, Property, Status, claims_of
from hockeystick.plan.mechanisms.replacement import DISTANCE, FULL_DISTANCE, NoiseOnSum
from hockeystick.values.adjacency import Direction
from hockeystick.values.domains import NOISE, check_fields

if TYPE_CHECKING:
    from hockeystick.pairs.exact import ExactGaussian

_TIGHT = Claim(Status.TIGHT, "Dong, Roth, Su 2022 [DRS22], Theorem 2.7")  # in every direction


@dataclass(frozen=True)
class Gaussian(NoiseOnSum):
    """Normal noise on a vector to which one record contributes at most C in L2 norm.

    Args:
        noise_multiplier: standard deviation of the noise divided by C; greater than 0.
        replace_one_distance: largest change of the vector by replacing a record, in units of C: 2 (two contributions in
            opposite directions), or 1 if C was already computed for replacement. Only under ``replace-one``, and not
            with Poisson sampling.

    Raises:
        InvalidInputError: a value is outside its domain.

    >>> Gaussian(noise_multiplier=2).pair(Direction.REMOVE)
    GaussianPair(mu=0.5)
    >>> Gaussian(noise_multiplier=2).pair(Direction.REPLACE_ONE)
    GaussianPair(mu=1.0)
    """

    noise_multiplier: Annotated[float, NOISE.of("standard deviation of the noise / norm bound C of one record")]
    replace_one_distance: Annotated[float, DISTANCE] = FULL_DISTANCE

    name: ClassVar[str] = "gaussian"
    noise_key: ClassVar[str] = "noise_multiplier"
    claims: ClassVar[Mapping[Direction, Claim]] = claims_of(_TIGHT, _TIGHT)
    zeroed: ClassVar[Claim] = AS_ABSENT
    properties: ClassVar[frozenset[Property]] = frozenset({Property.GAUSSIAN, Property.SUM})

    def __post_init__(self) -> None:
        check_fields(self)

    def pair(self, direction: Direction) -> DominatingPair:
        """Return N(mu, 1) against N(0, 1)."""
        distance = self.replace_one_distance if direction is Direction.REPLACE_ONE else 1.0
        return GaussianPair(distance / self.noise_multiplier)

    def with_against_without(self) -> GaussianPair:
        """Return N(1, s^2) against N(0, s^2), in units of s."""
        return GaussianPair(1 / self.noise_multiplier)

    def of_many(self, direction: Direction, records: int) -> Known:
        """Return the pair at ``records`` times the distance, which equal records attain (``plan/users.py``)."""
        distance = self.replace_one_distance if direction is Direction.REPLACE_ONE else 1.0
        return Tight(GaussianPair(records * distance / self.noise_multiplier))

    def exact(self, direction: Direction) -> ExactGaussian:
        """Return the round in exact numbers, at the distance of :meth:`pair`."""
        from hockeystick.numerics.decimals import decimal  # imported late, for proofs only
        from hockeystick.pairs.exact import ExactGaussian

        distance = self.replace_one_distance if direction is Direction.REPLACE_ONE else 1.0
        return ExactGaussian(decimal(distance) / decimal(self.noise_multiplier))
