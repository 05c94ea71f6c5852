"""Many rounds side by side: one Poisson-sampled Gaussian round a row, and its values at nodes of its own.

A *row* is one question: a round, how often it is run, and where it is asked. Whatever is computed for a row depends on
that row alone, to the last bit, so that neither the order of the rows nor how they are cut into chunks shows:

- every array has its rows along the first axis; the length of a row follows from the row itself;
- functions are taken number by number, and give the same wherever a number stands in its array, which NumPy's do
  (``tests/engines/test_batch.py`` cuts the same rows into chunks of all sizes);
- sums run along the last axis, row by row, or are products of matrices of a shape that follows from the row itself;
- an iteration goes on until all of its rows have ended, and a row that has ended is not touched any more.

A *plan* is a row for each of its kinds of round, all of them at one tilt: rows ``p C`` to ``p C + C - 1`` are those of
plan p, and plans of as many kinds C are treated together. K of a plan is the sum of its rows' ``k K``.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TypeVar

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
Places = npt.NDArray[np.intp]
Mask = npt.NDArray[np.bool_]
T = TypeVar("T", bound="Columns")  # columns of one sort


@dataclass(frozen=True, slots=True)
class Columns:
    """Arrays of one number a row, all of one length."""

    def at(self: T, rows: Places | Mask) -> T:
        """Some of the rows."""
        return type(self)(*[getattr(self, name)[rows] for name in _names(type(self))])

    def __len__(self) -> int:
        return len(getattr(self, _names(type(self))[0]))


def _names(columns: type[Columns]) -> tuple[str, ...]:
    """The names of the fields, which are asked for thousands of times."""
    found = _NAMES.get(columns)
    if found is None:
        found = _NAMES[columns] = tuple(field.name for field in fields(columns))
    return found


_NAMES: dict[type[Columns], tuple[str, ...]] = {}
"""The names of the fields of each class that was asked for them."""


@dataclass(frozen=True, slots=True)
class Rows(Columns):
    """What is asked.

    Attributes:
        mu: one over the noise multiplier.
        rate: of the sampling, less than 1.
        count: number of rounds.
        log_rate: logarithm of the rate.
        add: whether a record is added, and not removed; the same in all rows that are treated together.
    """

    mu: Array
    rate: Array
    count: Array
    log_rate: Array
    add: Mask

    @property
    def adding(self) -> bool:
        """Whether a record is added."""
        return bool(self.add[0])

    def power(self, t: Array) -> Array:
        """The exponent of g in m(t): ``1 + t`` where a record is removed, ``-t`` where one is added."""
        return -t if self.adding else 1 + t


def rows_of(plans: Places, kinds: int) -> Places:
    """The rows of some plans of as many kinds.

    >>> rows_of(np.array([0, 2]), 3).tolist()
    [0, 1, 2, 6, 7, 8]
    """
    return plans if kinds == 1 else (plans[:, None] * kinds + np.arange(kinds)).ravel()


def each(x: Array, kinds: int) -> Array:
    """A number of each plan, for each of its rows."""
    return x if kinds == 1 else np.repeat(x, kinds)


def together(x: Array, kinds: int) -> Array:
    """The sum over each plan's rows, of numbers or of arrays."""
    if kinds == 1:
        return x
    out: Array = x.reshape(-1, kinds, *x.shape[1:]).sum(axis=1)
    return out


def most(x: Array, kinds: int) -> Array:
    """The largest number among each plan's rows."""
    return x if kinds == 1 else x.reshape(-1, kinds).max(axis=1)


def least(x: Array, kinds: int) -> Array:
    """The smallest number among each plan's rows."""
    return x if kinds == 1 else x.reshape(-1, kinds).min(axis=1)


def up(x: Array) -> Array:
    """A column as a matrix of one column, to go with one row of nodes each."""
    return x[:, None]
