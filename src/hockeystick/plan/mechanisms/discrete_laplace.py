"""The discrete Laplace mechanism: two-sided geometric noise on a count."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated

from hockeystick.pairs.base import DominatingPair
from hockeystick.pairs.discrete import DiscreteLaplacePair
from hockeystick.pairs.exact import ExactFinite, exponential
from hockeystick.pairs.laplace import LaplacePair
from hockeystick.pairs.sides import Between, Known, Tight
from hockeystick.plan.mechanisms.base import AS_ABSENT, Claim, Status, claims_of
from hockeystick.plan.mechanisms.replacement import DISTANCE, FULL_DISTANCE, NoiseOnSum
from hockeystick.values.adjacency import Direction
from hockeystick.values.domains import NOISE, whole_numbers
from hockeystick.values.errors import InvalidInputError, UnsupportedError
from hockeystick.values.exact import decimal, towards

MOST = 2**20
"""Largest sensitivity."""

RESOLVED = 200_000
"""Largest distance of neighbours whose losses are resolved, one per count; beyond, Laplace pairs bound it."""

LARGEST_LOSS = 200
"""Largest loss beyond that distance, as in continuous noise."""

WHY = "more than 200,000 counts lie between two continuous laws"

_TIGHT = Claim(Status.TIGHT, "proof in pairs/discrete.py")  # in every direction


@dataclass(frozen=True)
class DiscreteLaplace(NoiseOnSum):
    """Whole-number noise, of probability proportional to ``e^(-|k| / scale)``, on a count.

    Args:
        scale: scale of the noise in counts, not relative to the sensitivity; greater than 0.
        sensitivity: largest change of the count by one record, a whole number.
        replace_one_distance: as for :class:`Gaussian`, in units of the sensitivity.

    Raises:
        InvalidInputError: a value is outside its domain, or a sensitivity above 100,000 exceeds 100 scales.

    >>> DiscreteLaplace(scale=2.0).pair(Direction.ADD).loss_range
    (-0.5, 0.5)
    """

    scale: Annotated[float, NOISE.of("scale of the noise, in counts")]
    sensitivity: Annotated[int, whole_numbers(1, MOST).of("maximum change in the count due to one record")] = 1
    replace_one_distance: Annotated[float, DISTANCE] = FULL_DISTANCE

    name = "discrete-laplace"
    noise_key = "scale"
    claims = claims_of(_TIGHT, _TIGHT)
    zeroed = AS_ABSENT

    def __post_init__(self) -> None:
        super().__post_init__()
        largest = 2 * self.sensitivity / decimal(self.scale)
        if 2 * self.sensitivity > RESOLVED and largest > LARGEST_LOSS:
            raise InvalidInputError(
                f"scale must be at least sensitivity / 100 with a sensitivity above 100000; received {self.scale!r}: "
                "count in larger units",
                "scale",
            )

    def at(self, distance: int) -> DominatingPair:
        """Return the pair of noise centred at a distance against noise centred at 0, or one that dominates it."""
        return self._at(distance).above

    def known(self, direction: Direction) -> Known:
        """Return the exact pair, or at large distances an upper and a lower pair (``pairs/discrete.py``)."""
        return self._at(self.distance(direction))

    def _at(self, distance: int) -> Tight | Between:
        counts, scale = distance * self.sensitivity, decimal(self.scale)
        if counts <= RESOLVED:
            return Tight(DiscreteLaplacePair(counts, scale))
        above = towards(counts / scale + 1 / (2 * scale) ** 2, True)
        below = towards(counts / scale, False)
        return Between(LaplacePair(above, 1.0), (LaplacePair(below, 1.0),), WHY)

    @property
    def unsampled_only(self) -> str | None:
        """Reason to refuse sampling: too many different losses, or any reason of :class:`NoiseOnSum`."""
        if 2 * self.sensitivity > RESOLVED:
            return "a sensitivity above 100000 cannot be combined with sampling: count in larger units"
        return super().unsampled_only

    def of_many(self, direction: Direction, records: int) -> Known | None:
        """Return the pair at ``records`` times the distance of one record; equal records attain it (``plan/users.py``).

        Raises:
            UnsupportedError: the distance is too large for every loss to be resolved, and also for pairs of continuous
                noise.
        """
        distance = records * self.distance(direction)
        if distance * self.sensitivity > max(Fraction(RESOLVED), LARGEST_LOSS * decimal(self.scale)):
            raise UnsupportedError(
                f"mechanism {self.name!r} is supported up to {RESOLVED} counts, or {LARGEST_LOSS} scales, "
                f"between neighbouring datasets; received {distance * self.sensitivity}: fewer records_per_unit"
            )
        return self._at(distance)

    def exact(self, direction: Direction) -> ExactFinite | None:
        """Return the masses of the losses in exact numbers, up to a common factor; ``None`` if there are too many.

        The masses at both ends are powers of ``e^(-1 / scale)``, and those in between are differences of such powers.
        """
        distance, rate = self.distance(direction) * self.sensitivity, 1 / decimal(self.scale)
        if distance > RESOLVED:
            return None
        one = Fraction(1)
        between = [exponential((one, -j * rate), (-one, -(j + 1) * rate)) for j in range(1, distance)]
        masses = (exponential((one, Fraction(0))), *between, exponential((one, -distance * rate)))
        return ExactFinite(masses, masses[::-1], distance * rate)
