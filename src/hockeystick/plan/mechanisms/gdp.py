"""A black box known by mu of Gaussian differential privacy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from hockeystick.pairs import GaussianPair
from hockeystick.pairs.exact import ExactGaussian
from hockeystick.pairs.sides import Known, Tight
from hockeystick.plan.mechanisms.base import AS_GIVEN, Claim, Property, Status, SymmetricMechanism, claims_of
from hockeystick.values.adjacency import Direction
from hockeystick.values.domains import MU
from hockeystick.values.exact import decimal

_TIGHT = Claim(
    Status.TIGHT, "Dong, Roth, Su 2022 [DRS22], Definition 2.6: Gaussian noise is the worst with that guarantee"
)


@dataclass(frozen=True)
class GDP(SymmetricMechanism):
    """Black box that is mu-Gaussian differentially private under the plan's own adjacency, without a factor 2.

    Args:
        mu: mu, greater than 0.

    Raises:
        InvalidInputError: a value is outside its domain.

    >>> GDP(mu=0.5).pair(Direction.ADD)
    GaussianPair(mu=0.5)
    """

    mu: Annotated[float, MU.of("mu of the guarantee")]

    name = "gdp"
    claims = claims_of(_TIGHT, _TIGHT)
    zeroed = AS_GIVEN
    properties = frozenset({Property.GUARANTEE})

    def with_against_without(self) -> GaussianPair:
        """Return N(mu, 1) against N(0, 1), which is its own mirror image."""
        return GaussianPair(self.mu)

    def of_many(self, direction: Direction, records: int) -> Known:
        """Return the Gaussian pair with ``records`` times mu, the least mu for groups of that size.

        (Dong, Roth, Su 2022 [DRS22], Theorem 2.14.)
        """
        return Tight(GaussianPair(records * self.mu))

    def exact(self, direction: Direction) -> ExactGaussian:
        """Return the guarantee in exact numbers."""
        return ExactGaussian(decimal(self.mu))
