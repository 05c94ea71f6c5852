"""Certified intervals at many places: what :class:`~hockeystick.values.bounds.Bound` is at one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Band:
    """``lower <= truth <= upper`` at each place of an array.

    Attributes:
        lower: certified lower ends.
        estimate: best guesses in between; no guarantee.
        upper: certified upper ends.
        safe: the end on the safe side: ``"upper"`` for what an attacker gains, ``"lower"`` for an attacker's errors.
        reason: why the intervals are wider than was asked, where that is known; ``None`` otherwise.

    >>> Band(np.array([0.1]), np.array([0.15]), np.array([0.2]), "upper").quoted.tolist()
    [0.2]
    """

    lower: Array
    estimate: Array
    upper: Array
    safe: Literal["lower", "upper"]
    reason: str | None = None

    @property
    def quoted(self) -> Array:
        """The numbers that are safe to quote."""
        return self.upper if self.safe == "upper" else self.lower

    @property
    def gap(self) -> Array:
        """The width of each interval; 0 where both ends are equal, also if infinite."""
        with np.errstate(invalid="ignore"):  # both infinite
            return np.where(self.lower == self.upper, 0.0, self.upper - self.lower)

    def columns(self) -> dict[str, list[float]]:
        """The ends by name, as flat lists."""
        return {name: getattr(self, name).ravel().tolist() for name in ("lower", "estimate", "upper")}

    def __len__(self) -> int:
        return len(self.upper)


@dataclass(frozen=True, slots=True, eq=False)
class PlanBand(Band):
    """The answers about many plans, in their order.

    Attributes:
        accountants: the route by which each came. directions: the direction that dominated, where it is known.
        guarantees: what each is worth: ``"certified"``, or ``"upper bound"``, where the lower end is 0 and says
        nothing. reasons: why an interval is wider than was asked, or has no finite end; ``None`` otherwise.
        assumptions: what the programs must do for the numbers to be about them, one sentence for each way of sampling.

    >>> PlanBand(np.array([0.1]), np.array([0.15]), np.array([0.2]), "upper", accountants=("contour",)).quoted.tolist()
    [0.2]
    """

    accountants: tuple[str, ...] = ()
    directions: tuple[str | None, ...] = ()
    guarantees: tuple[str, ...] = ()
    reasons: tuple[str | None, ...] = ()
    assumptions: tuple[str, ...] = ()
