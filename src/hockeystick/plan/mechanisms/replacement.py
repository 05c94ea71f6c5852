"""The key ``replace_one_distance``, shared by the mechanisms that add noise.

Noise is relative to the bound C on one record's contribution. Replacing a record moves the sum by up to 2C, unless C
was already computed for replacement.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar

from hockeystick.pairs import DominatingPair
from hockeystick.pairs.sides import Known, Tight
from hockeystick.plan.mechanisms.base import Mechanism
from hockeystick.values.adjacency import Direction
from hockeystick.values.domains import Domain
from hockeystick.values.errors import UnsupportedError

FULL_DISTANCE = 2.0  # largest change of a sum by replacing a record, in norm bounds

DISTANCE = Domain(
    "2 (the default: two contributions of norm C may point in opposite directions) or 1 (C was computed for "
    "replacement)",
    {"enum": [1, 2]},
)

MOST_COUNTS = 500
"""Largest standard deviation, or parameter, of whole-number noise with a table of outcomes, and largest sensitivity."""


class NoiseOnSum(Mechanism):
    """Noise on a sum to which one record adds a bounded amount, with a key for the change by replacing a record.

    Attributes:
        noise_key: name of the parameter that sets the noise.
        replace_one_distance: largest change by replacing a record, in units of one record's bound.
    """

    noise_key: ClassVar[str]
    replace_one_distance: float

    @abstractmethod
    def at(self, distance: int) -> DominatingPair:
        """Return the pair of noise centred at a distance (in units of one record's bound) against noise at 0."""

    def distance(self, direction: Direction) -> int:
        """Return the largest change between neighbours, in units of one record's bound."""
        return int(self.replace_one_distance) if direction is Direction.REPLACE_ONE else 1

    def pair(self, direction: Direction) -> DominatingPair:
        """Return the pair of noise centred at the largest change against noise centred at 0."""
        return self.at(self.distance(direction))

    def with_against_without(self) -> DominatingPair:
        """Return the law with the record against the law without it."""
        return self.at(1)

    def of_many(self, direction: Direction, records: int) -> Known | None:
        """Return the pair at ``records`` times the distance of one record, which equal records attain."""
        return Tight(self.at(records * self.distance(direction)))

    @property
    def unsampled_only(self) -> str | None:
        """Reason to refuse sampling if only the change by replacing a record is bounded; else ``None``.

        A sampled pair is a mixture that needs a bound on the contribution of one record.
        """
        if self.null_record:
            return None
        said = "sensitivity as" if hasattr(self, "sensitivity") else f"{self.noise_key} relative to"
        return (
            "replace_one_distance = 1 cannot be combined with Poisson sampling; leave it out and give "
            f"{said} the norm bound of one record"
        )

    @property
    def null_record(self) -> bool:
        """True if ``replace_one_distance`` is twice the bound on one record; proof in ``plan/users.py``."""
        return self.replace_one_distance == FULL_DISTANCE

    @property
    def replacement_only(self) -> str | None:
        """Reason to refuse other adjacencies if only the change by replacing a record is bounded; else ``None``."""
        if self.null_record:
            return None
        return (
            "replace_one_distance = 1 requires adjacency 'replace-one', because it bounds the change when a record is "
            "replaced, not the contribution of one record"
        )


class NoiseOnCount(NoiseOnSum):
    """Whole-number noise on a count, whose outcomes are resolved one by one.

    Attributes:
        sensitivity: largest change of the count by one record.
    """

    sensitivity: int

    def _counts(self, distance: int) -> int:
        """Return a distance, in units of one record's bound, in counts.

        Raises:
            UnsupportedError: the distance is too large for the outcomes to be resolved, for users with many records.
        """
        found = distance * self.sensitivity
        if found > 2 * MOST_COUNTS:
            raise UnsupportedError(
                f"mechanism {self.name!r} is supported up to a distance of {2 * MOST_COUNTS} counts between "
                f"neighbouring datasets; received {found}: fewer records_per_unit, or count in larger units"
            )
        return found
