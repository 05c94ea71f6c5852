"""Arrays of certified intervals; :class:`~hockeystick.values.bounds.Bound` is a single interval."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NoReturn

import numpy as np
import numpy.typing as npt

from hockeystick.values.refused import NoNumber, refusal

Array = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Band(NoNumber):
    """Certified intervals: ``lower <= truth <= upper`` at each place of an array.

    Attributes:
        lower: certified lower ends.
        estimate: best guesses in between; no guarantee.
        upper: certified upper ends.
        safe: the end that is safe to quote: ``"upper"`` for an attacker's gain, ``"lower"`` for an attacker's errors.
        reason: why the intervals are wider than requested, if known; ``None`` otherwise.

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
        """Return the ends that are safe to quote."""
        return self.upper if self.safe == "upper" else self.lower

    @property
    def gap(self) -> Array:
        """Return the width of each interval; 0 where both ends are equal, even if infinite."""
        with np.errstate(invalid="ignore"):  # the difference of two equal infinities is NaN
            return np.where(self.lower == self.upper, 0.0, self.upper - self.lower)

    def columns(self) -> dict[str, list[float]]:
        """Return the ends by name, as flat lists."""
        return {name: getattr(self, name).ravel().tolist() for name in ("lower", "estimate", "upper")}

    def __len__(self) -> int:
        return len(self.upper)

    def _instead(self) -> str:
        name = type(self).__name__
        return f"a {name} consists of arrays, not of one number; use .{self.safe}, the ends that are safe to quote"

    if not TYPE_CHECKING:  # type checkers refuse these operations by themselves
        __float__ = refusal("float()")

        def __getitem__(self, at: object) -> NoReturn:
            raise TypeError(f"{self._instead()}, and index that; received an index")

        def __iter__(self) -> NoReturn:
            raise TypeError(f"{self._instead()}, and iterate over that; received a loop over it")


@dataclass(frozen=True, slots=True, eq=False)
class PlanBand(Band):
    """Certified answers for many plans, in the order of the plans.

    Attributes:
        accountants: the method that produced each answer.
        directions: the worse direction of each plan, which gave its answer, if known.
        guarantees: guarantee of each answer: ``"certified"``, or ``"upper bound"`` with a trivial lower end of 0.
        reasons: why each interval is wider than requested, or has no finite end; ``None`` otherwise.
        assumptions: what the programs must do for the numbers to apply to them, one sentence per sampling method.

    >>> PlanBand(np.array([0.1]), np.array([0.15]), np.array([0.2]), "upper", accountants=("contour",)).quoted.tolist()
    [0.2]
    """

    accountants: tuple[str, ...] = ()
    directions: tuple[str | None, ...] = ()
    guarantees: tuple[str, ...] = ()
    reasons: tuple[str | None, ...] = ()
    assumptions: tuple[str, ...] = ()
