"""The discrete Laplace mechanism: two-sided geometric noise on a count."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated

from hockeystick.pairs.discrete import DiscreteLaplacePair
from hockeystick.pairs.exact import ExactFinite, exponential
from hockeystick.pairs.sides import Known
from hockeystick.plan.mechanisms.base import AS_ABSENT, Claim, Property, Status, claims_of
from hockeystick.plan.mechanisms.replacement import DISTANCE, FULL_DISTANCE, NoiseOnSum
from hockeystick.values.adjacency import Direction
from hockeystick.values.domains import MOST_SENSITIVITY, NOISE, whole_numbers
from hockeystick.values.exact import decimal

COUNTS = whole_numbers(1, MOST_SENSITIVITY)  # the pair has one loss for each count between the two centres
_TIGHT = Claim(Status.TIGHT, "proof in pairs/discrete.py")  # in every direction


@dataclass(frozen=True)
class DiscreteLaplace(NoiseOnSum):
    """Whole-number noise, of probability proportional to ``e^(-|k| / scale)``, on a count.

    Args:
        scale: scale of the noise in counts, not relative to the sensitivity; greater than 0.
        sensitivity: largest change of the count by one record, a whole number.
        replace_one_distance: as for :class:`Gaussian`, in units of the sensitivity.

    Raises:
        InvalidInputError: a value is outside its domain.

    >>> DiscreteLaplace(scale=2.0).pair(Direction.ADD).loss_range
    (-0.5, 0.5)
    """

    scale: Annotated[float, NOISE.of("scale of the noise, in counts")]
    sensitivity: Annotated[
        int, whole_numbers(1, MOST_SENSITIVITY).of("maximum change in the count due to one record")
    ] = 1
    replace_one_distance: Annotated[float, DISTANCE] = FULL_DISTANCE

    name = "discrete-laplace"
    noise_key = "scale"
    claims = claims_of(_TIGHT, _TIGHT)
    zeroed = AS_ABSENT
    properties = frozenset({Property.SUM})

    def at(self, distance: int) -> DiscreteLaplacePair:
        """Return the pair of noise centred at a distance against noise centred at 0."""
        return DiscreteLaplacePair(distance * self.sensitivity, decimal(self.scale))

    def of_many(self, direction: Direction, records: int) -> Known | None:
        """Return the pair at ``records`` times the distance of one record; equal records attain it (``plan/users.py``).

        ``None`` if it has more losses than the pair of the largest sensitivity: group privacy then bounds it.
        """
        within = records * self.distance(direction) * self.sensitivity <= 2 * MOST_SENSITIVITY
        return super().of_many(direction, records) if within else None

    def exact(self, direction: Direction) -> ExactFinite:
        """Return the masses of the losses in exact numbers, up to a common factor.

        The masses at both ends are powers of ``e^(-1 / scale)``, and those in between are differences of such powers.
        """
        distance, rate = self.distance(direction) * self.sensitivity, 1 / decimal(self.scale)
        one = Fraction(1)
        between = [exponential((one, -j * rate), (-one, -(j + 1) * rate)) for j in range(1, distance)]
        masses = (exponential((one, Fraction(0))), *between, exponential((one, -distance * rate)))
        return ExactFinite(masses, masses[::-1], distance * rate)
