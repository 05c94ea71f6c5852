"""Arrays for many queries at the same time: a plan has one row for each of its kinds of sampled Gaussian rounds.

The numbers computed for a plan depend on that plan alone, to the last bit; neither the order of the plans nor their
division into chunks affects them:

- every array has its rows along the first axis; the length of a row follows from its plan;
- functions apply elementwise, and give the same result at every position in an array, as NumPy's do
  (``tests/engines/test_core.py`` cuts the same plans into chunks of all sizes);
- sums run along the last axis, row by row, or are matrix products whose shape follows from the plan;
- an iteration continues until all of its rows have finished, and a finished row is not changed any more.

Rows ``p C`` to ``p C + C - 1`` are the kinds of plan p; plans with the same number C of kinds are treated together.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
ComplexArray = npt.NDArray[np.complex128]
Places = npt.NDArray[np.intp]
Mask = npt.NDArray[np.bool_]
T = TypeVar("T", bound="Columns")  # a subclass of Columns


@dataclass(frozen=True, slots=True)
class Columns:
    """Set of arrays with one row for each query; an attribute may also be another ``Columns`` object."""

    def at(self: T, rows: Places | Mask) -> T:
        """Return the given rows of all arrays."""
        parts = [getattr(self, name) for name in self.__dataclass_fields__]
        return type(self)(*[part.at(rows) if isinstance(part, Columns) else part[rows] for part in parts])

    def put(self: T, rows: Places, other: T) -> None:
        """Replace the given rows of all arrays by the rows of ``other``."""
        for name in self.__dataclass_fields__:
            getattr(self, name)[rows] = getattr(other, name)

    def __len__(self) -> int:
        return len(getattr(self, next(iter(self.__dataclass_fields__))))


@dataclass(frozen=True, slots=True)
class Rows(Columns):
    """Poisson-sampled Gaussian rounds, one kind per row.

    Attributes:
        mu: reciprocal of the noise multiplier.
        rate: sampling rate, less than 1.
        count: number of rounds.
        add: True if a record is added, False if it is removed.
    """

    mu: Array
    rate: Array
    count: Array
    add: Mask


@dataclass(frozen=True, slots=True)
class Plans:
    """Plans with the same number of kinds, and the unsampled Gaussian noise of each plan.

    Attributes:
        rows: the kinds of all plans; the kinds of one plan are consecutive rows.
        noise: variance v of each plan's unsampled noise, whose K is ``v z (1 + z) / 2``. It has at most 8 roundings,
            and is 0 without noise.
        kinds: number of kinds of each plan.
    """

    rows: Rows
    noise: Array
    kinds: int

    def at(self, plans: Places) -> Plans:
        """Return the plans with the given indices."""
        return Plans(self.rows.at(rows_of(plans, self.kinds)), self.noise[plans], self.kinds)

    def __len__(self) -> int:
        return len(self.noise)


def rows_of(plans: Places, kinds: int) -> Places:
    """Return the indices of all rows of some plans; each plan has ``kinds`` consecutive rows.

    >>> rows_of(np.array([0, 2]), 3).tolist()
    [0, 1, 2, 6, 7, 8]
    """
    return plans if kinds == 1 else (plans[:, None] * kinds + np.arange(kinds)).ravel()


def each(x: Array, kinds: int) -> Array:
    """Repeat each plan's numbers once for each of its rows."""
    return x if kinds == 1 else np.repeat(x, kinds, axis=0)


def together(x: Any, kinds: int) -> Any:
    """Return, for each plan, the sum over its rows, which may be numbers or arrays."""
    return x if kinds == 1 else x.reshape(-1, kinds, *x.shape[1:]).sum(axis=1)


def most(x: Array, kinds: int) -> Array:
    """Return the largest number among each plan's rows."""
    return x if kinds == 1 else x.reshape(-1, kinds, *x.shape[1:]).max(axis=1)
