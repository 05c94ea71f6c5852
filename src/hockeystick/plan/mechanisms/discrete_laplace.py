"""The discrete Laplace mechanism: two-sided geometric noise on a count."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, ClassVar

from hockeystick.numerics.decimals import decimal
from hockeystick.pairs.discrete import DiscreteLaplacePair
from hockeystick.pairs.exact import ExactFinite, exponential
from hockeystick.pairs.sides import Known, Tight
from hockeystick.plan.mechanisms.base import AS_ABSENT, Claim, Status, claims_of
from hockeystick.plan.mechanisms.replacement import DISTANCE, FULL_DISTANCE, NoiseOnSum
from hockeystick.values.adjacency import Direction
from hockeystick.values.domains import NOISE, check_fields, whole_numbers
from hockeystick.values.errors import UnsupportedError

MOST = 100_000
"""Largest sensitivity, the number of losses resolved."""

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
    sensitivity: Annotated[int, whole_numbers(1, MOST).of("most that one record changes the count by")] = 1
    replace_one_distance: Annotated[float, DISTANCE] = FULL_DISTANCE

    name: ClassVar[str] = "discrete-laplace"
    noise_key: ClassVar[str] = "scale"
    claims: ClassVar[Mapping[Direction, Claim]] = claims_of(_TIGHT, _TIGHT)
    zeroed: ClassVar[Claim] = AS_ABSENT

    def __post_init__(self) -> None:
        check_fields(self)

    def _distance(self, direction: Direction) -> int:
        return self.sensitivity * (int(self.replace_one_distance) if direction is Direction.REPLACE_ONE else 1)

    def pair(self, direction: Direction) -> DiscreteLaplacePair:
        """Return the noise around the largest difference against the noise around 0."""
        return DiscreteLaplacePair(self._distance(direction), decimal(self.scale))

    def with_against_without(self) -> DiscreteLaplacePair:
        """Return the law with the record against the law without it."""
        return DiscreteLaplacePair(self.sensitivity, decimal(self.scale))

    def of_many(self, direction: Direction, records: int) -> Known:
        """Return the pair at ``records`` times the distance, which equal records attain (``plan/users.py``).

        Raises:
            UnsupportedError: the distance has more counts than losses are resolved.
        """
        distance = records * self._distance(direction)
        if distance > 2 * MOST:
            raise UnsupportedError(
                f"mechanism {self.name!r} is accounted for up to a distance of {2 * MOST} counts between neighbouring "
                f"datasets; received {distance}: fewer records_per_unit"
            )
        return Tight(DiscreteLaplacePair(distance, decimal(self.scale)))

    def exact(self, direction: Direction) -> ExactFinite:
        """Return the masses of the losses, up to a factor: 1 at one end, and differences of powers between."""
        distance, rate = self._distance(direction), 1 / decimal(self.scale)
        one = Fraction(1)
        between = [exponential((one, -j * rate), (-one, -(j + 1) * rate)) for j in range(1, distance)]
        masses = (exponential((one, Fraction(0))), *between, exponential((one, -distance * rate)))
        return ExactFinite(masses, masses[::-1], distance * rate)
