"""Laplace noise truncated at a bound, so that outcomes near either end are possible under only one of two laws."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, ClassVar

from hockeystick.pairs.laplace_window import WindowPair
from hockeystick.plan.mechanisms.base import AS_ABSENT, Claim, Property, Status, claims_of
from hockeystick.plan.mechanisms.replacement import DISTANCE, FULL_DISTANCE, NoiseOnSum
from hockeystick.values.adjacency import Direction
from hockeystick.values.domains import LENGTH, NOISE, SENSITIVITY
from hockeystick.values.errors import InvalidInputError, UnsupportedError
from hockeystick.values.exact import decimal

_TIGHT = Claim(Status.TIGHT, "proof in pairs/laplace_window.py")  # in every direction


@dataclass(frozen=True)
class TruncatedLaplace(NoiseOnSum):
    """Noise of density proportional to ``e^(-|x| / scale)`` on ``|x| <= bound``, on each coordinate of a vector.

    Outcomes within the sensitivity of either end of the range are possible only with the record, or only without it. At
    every epsilon, delta is at least the mass of such outcomes.

    Args:
        scale: scale of the noise before the cut, in the units of the vector; greater than 0.
        bound: largest size of the noise, in the same units; more than half the sensitivity.
        sensitivity: largest change of the vector by one record in L1 norm, in the same units.
        replace_one_distance: as for :class:`Gaussian`, in units of the sensitivity.

    Raises:
        InvalidInputError: a value is outside its domain, or the bound is at most half the sensitivity, so that the two
            laws have no common outcome.

    >>> TruncatedLaplace(scale=2.0, bound=20.0).pair(Direction.ADD).loss_range
    (-0.5, 0.5)
    """

    scale: Annotated[float, NOISE.of("scale of the noise before truncation")]
    bound: Annotated[float, LENGTH.of("largest magnitude of the noise")]
    sensitivity: Annotated[float, SENSITIVITY.of("maximum L1 change in the vector due to one record")] = 1.0
    replace_one_distance: Annotated[float, DISTANCE] = FULL_DISTANCE

    name = "truncated-laplace"
    noise_key = "scale"
    not_monotone: ClassVar[Mapping[str, str]] = {"scale": "more noise with the same bound is truncated more often"}
    claims = claims_of(_TIGHT, _TIGHT)
    zeroed = AS_ABSENT
    properties = frozenset({Property.SUM, Property.INFINITE_LOSS})

    def __post_init__(self) -> None:
        super().__post_init__()
        if decimal(self.sensitivity) >= 2 * decimal(self.bound):
            raise InvalidInputError(
                f"bound must be more than half the sensitivity; received {self.bound!r} for a sensitivity of "
                f"{self.sensitivity!r}, where the two distributions share no outcome",
                "bound",
            )

    def at(self, distance: int) -> WindowPair:
        """Return the pair of noise centred at a distance against noise centred at 0.

        Raises:
            UnsupportedError: replacing a record may move the vector so far that the laws have no common outcome.
        """
        moved, bound = decimal(self.sensitivity) * distance, decimal(self.bound)
        if moved >= 2 * bound:
            raise UnsupportedError(
                f"bound must be more than half the change by a replaced record, {float(moved)!r}; received "
                f"{self.bound!r}, where the two distributions share no outcome"
            )
        return WindowPair.truncated_laplace(moved, bound, decimal(self.scale))

    def of_many(self, direction: Direction, records: int) -> None:
        """Return ``None``: users are accounted by group privacy from a single record."""
