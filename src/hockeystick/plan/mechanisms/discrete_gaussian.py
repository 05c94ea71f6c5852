"""The discrete Gaussian mechanism: whole-number noise on a count."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from hockeystick.pairs.discrete import DiscreteGaussianPair
from hockeystick.pairs.exact import ExactDiscreteGaussian
from hockeystick.plan.mechanisms.base import AS_ABSENT, Claim, Property, Status, claims_of
from hockeystick.plan.mechanisms.replacement import DISTANCE, FULL_DISTANCE, MOST_COUNTS, NoiseOnCount
from hockeystick.values.adjacency import Direction
from hockeystick.values.domains import Domain, unmet, whole_numbers
from hockeystick.values.exact import decimal

NOISE = Domain("a number from 0.01 to 500", {"minimum": 0.01, "maximum": MOST_COUNTS})
"""Domain of sigma divided by the sensitivity; sigma itself is at most :data:`MOST_COUNTS`, too."""

_TIGHT = Claim(
    Status.TIGHT, "Canonne, Kamath, Steinke 2020 [CKS20], for its law; proof of the pair in pairs/discrete.py"
)


@dataclass(frozen=True)
class DiscreteGaussian(NoiseOnCount):
    """Whole-number noise, of probability proportional to ``e^(-k^2 / 2 sigma^2)``, on a count.

    Args:
        noise_multiplier: sigma divided by the sensitivity. Sigma is the parameter of the law; the standard deviation is
            slightly smaller.
        sensitivity: largest change of the count by one record, a whole number.
        replace_one_distance: as for :class:`Gaussian`, in units of the sensitivity.

    Raises:
        InvalidInputError: a value is outside its domain, or sigma is above 500.

    >>> round(DiscreteGaussian(noise_multiplier=2.0).pair(Direction.ADD).rho, 12)
    0.125
    """

    noise_multiplier: Annotated[float, NOISE.of("parameter sigma of the noise / sensitivity")]
    sensitivity: Annotated[int, whole_numbers(1, MOST_COUNTS).of("maximum change in the count due to one record")] = 1
    replace_one_distance: Annotated[float, DISTANCE] = FULL_DISTANCE

    name = "discrete-gaussian"
    noise_key = "noise_multiplier"
    claims = claims_of(_TIGHT, _TIGHT)
    zeroed = AS_ABSENT
    properties = frozenset({Property.SUM})

    def __post_init__(self) -> None:
        super().__post_init__()
        sigma = self.noise_multiplier * self.sensitivity
        if sigma > MOST_COUNTS:
            rule = f"times sensitivity must be at most {MOST_COUNTS}"
            raise unmet("noise_multiplier", rule, sigma, "count in larger units")

    def at(self, distance: int) -> DiscreteGaussianPair:
        """Return the pair of noise centred at a distance against noise centred at 0."""
        return DiscreteGaussianPair(self._counts(distance), (decimal(self.noise_multiplier) * self.sensitivity) ** 2)

    def exact(self, direction: Direction) -> ExactDiscreteGaussian:
        """Return the noise in exact numbers."""
        pair = self.at(self.distance(direction))
        return ExactDiscreteGaussian(pair.distance, pair.variance)
