"""True values of elementary functions, to far more digits than a double has, from python-flint or from decimals.

A true value t is kept as the double next to it, ``hi``, and what is left, ``(t - hi) / unit``, in units in the last
place of t. The error of a double x in those units is then ``|(x - hi) / unit - left|``, and doubles are enough to say
it to fifteen digits: ``x - hi`` is exact where x is next to hi, and the unit is a power of two.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]

DIGITS = 52  # binary digits of a double behind its first
LEAST_EXPONENT = -1074  # of the smallest double, 2^-1074


class Reference(Protocol):
    """What knows the true values.

    Attributes:
        name: which program it is, with its version.
        share: of the points that are asked for, as many as it takes in about a second.
    """

    name: str
    share: float

    def knows(self, function: str) -> bool:
        """Whether it has true values of the function of that name."""

    def value(self, function: str, arguments: tuple[float, ...]) -> tuple[float, float, float]:
        """The double next to the true value, what is left in units in the last place of it, and that unit."""


@dataclass(frozen=True, slots=True)
class Truths:
    """True values of a function at n points.

    Attributes:
        hi: shape (n,), the doubles next to them.
        left: shape (n,), what is left, in units in the last place.
        unit: shape (n,), these units.
    """

    hi: Array
    left: Array
    unit: Array

    def errors(self, values: Array) -> Array:
        """Errors of computed values, shape (n,), in units in the last place; infinite where a value is none."""
        with np.errstate(over="ignore", invalid="ignore"):
            found: Array = np.abs((values - self.hi) / self.unit - self.left)
        return np.where(np.isfinite(found), found, np.inf)


def truths(reference: Reference, function: str, arguments: Sequence[Array]) -> Truths:
    """The true values of a function at points.

    Args:
        reference: what knows them.
        function: its name, as NumPy has it.
        arguments: one array of shape (n,) for each argument of the function.
    """
    points = zip(*(each.tolist() for each in arguments), strict=True)
    rows = np.array([reference.value(function, point) for point in points], dtype=np.float64).reshape(-1, 3)
    return Truths(rows[:, 0], rows[:, 1], rows[:, 2])


def unit_below(size: float, below: bool) -> float:
    """The spacing of doubles around a number: below a power of two it is half of what it is above.

    Args:
        size: the double next to the number.
        below: whether the number itself is nearer to 0 than that double, or may be: the smaller unit is the stricter.

    >>> unit_below(1.0, below=False), unit_below(1.0, below=True)
    (2.220446049250313e-16, 1.1102230246251565e-16)
    """
    mantissa, exponent = math.frexp(abs(size))
    exponent -= 2 if below and mantissa == 0.5 else 1
    return math.ldexp(1.0, max(exponent - DIGITS, LEAST_EXPONENT))
