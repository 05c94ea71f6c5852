"""The Gaussian mechanism: a sum or gradient whose records each contribute at most C in L2 norm, plus normal noise."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from hockeystick.pairs import GaussianPair
from hockeystick.plan.mechanisms.base import AS_ABSENT, Claim, Property, Status, claims_of
from hockeystick.plan.mechanisms.replacement import DISTANCE, FULL_DISTANCE, NoiseOnSum
from hockeystick.values.adjacency import Direction
from hockeystick.values.domains import NOISE

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

    name = "gaussian"
    noise_key = "noise_multiplier"
    claims = claims_of(_TIGHT, _TIGHT)
    zeroed = AS_ABSENT
    properties = frozenset({Property.GAUSSIAN, Property.SUM})

    def at(self, distance: int) -> GaussianPair:
        """Return N(d, s^2) against N(0, s^2), in units of s."""
        return GaussianPair(distance / self.noise_multiplier)

    def exact(self, direction: Direction) -> ExactGaussian:
        """Return the round in exact numbers, at the distance of :meth:`pair`."""
        from hockeystick.pairs.exact import ExactGaussian
        from hockeystick.values.exact import decimal  # imported late, for proofs only

        return ExactGaussian(self.distance(direction) / decimal(self.noise_multiplier))
