"""A certified interval for one direction, and arrays of such intervals."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Interval:
    """Certified ends for one direction, and the best guess in between.

    Attributes:
        lower: certified lower end.
        estimate: best guess; no guarantee.
        upper: certified upper end.
        limited: reason why the requested gap was not reached.
        engine: name of the engine that answered.
        tilt: approximate saddle point of the answer, if the engine computed it; a hint for the other direction.
    """

    lower: float
    estimate: float
    upper: float
    limited: str | None = None
    engine: str = "exact"
    tilt: float | None = None

    @classmethod
    def weighted(cls, lower: float, upper: float) -> Interval:
        """Return an interval whose estimate is two thirds of the way from the upper end to the lower end.

        The leading error of the upper end is twice that of the lower end and has the opposite sign, so that both cancel
        in the estimate.
        """
        return cls(lower, upper + (2 / 3) * (lower - upper) if lower > -math.inf else upper, upper)

    def at_most(self, upper: float) -> Interval:
        """Return the part of the interval at or below ``upper``, a further certified upper bound on the truth."""
        if upper >= self.upper:
            return self
        lower = min(self.lower, upper)
        return replace(self, lower=lower, estimate=min(max(self.estimate, lower), upper), upper=upper)

    def intersected(self, other: Interval) -> Interval:
        """Return the intersection with another certified interval.

        The estimate of ``other`` is kept, moved to the nearer end if it is outside the intersection.
        """
        lower, upper = max(self.lower, other.lower), min(self.upper, other.upper)
        return Interval(lower, min(max(other.estimate, lower), upper), upper, other.limited, other.engine)


@dataclass(frozen=True, slots=True, eq=False)
class Ends:
    """Certified ends and best guesses at many epsilons, as arrays of the same shape."""

    lower: Array
    estimate: Array
    upper: Array

    @classmethod
    def of(cls, lower: Array, estimate: Array, upper: Array) -> Ends:
        """Return the ends in order.

        A lower end above its upper end is moved down to it. An estimate outside the ends is moved to the nearer end.
        """
        lower = np.minimum(lower, upper)
        return cls(lower, np.minimum(np.maximum(estimate, lower), upper), upper)

    @property
    def width(self) -> Array:
        """Return the distance of the ends: infinite if only the lower end is minus infinity, 0 if both are."""
        with np.errstate(invalid="ignore"):
            return np.where(self.lower == self.upper, 0.0, self.upper - self.lower)

    def first(self, engine: str) -> Interval:
        """Return the interval at the first epsilon, with the name of the engine that computed it."""
        return Interval(float(self.lower[0]), float(self.estimate[0]), float(self.upper[0]), None, engine)

    def shared(self, other: Ends) -> Ends:
        """Return the intersections with ``other``, intervals that enclose the same truths.

        Each estimate is from the narrower of the two intervals.
        """
        estimate = np.where(other.width < self.width, other.estimate, self.estimate)
        return Ends.of(np.maximum(self.lower, other.lower), estimate, np.minimum(self.upper, other.upper))

    def worse(self, other: Ends) -> Ends:
        """Return ends for the larger of the two truths that ``self`` and ``other`` enclose, at each epsilon."""
        return self._each(np.maximum, other)

    def milder(self, other: Ends) -> Ends:
        """Return ends for the smaller of the two truths that ``self`` and ``other`` enclose, at each epsilon."""
        return self._each(np.minimum, other)

    def _each(self, choose: np.ufunc, other: Ends) -> Ends:
        lower, estimate = choose(self.lower, other.lower), choose(self.estimate, other.estimate)
        return Ends(lower, estimate, choose(self.upper, other.upper))

    def over(self, below: Ends) -> Ends:
        """Return the upper ends of ``self`` with the lower ends of ``below``.

        The estimate is the mean of both estimates, or the estimate of ``self`` if ``below`` has no finite one.
        """
        with np.errstate(invalid="ignore"):
            middle = np.where(np.isfinite(below.estimate), 0.5 * (below.estimate + self.estimate), self.estimate)
        return Ends.of(below.lower, middle, self.upper)

    def __getitem__(self, where: Array | npt.NDArray[np.bool_] | npt.NDArray[np.intp]) -> Ends:
        return Ends(self.lower[where], self.estimate[where], self.upper[where])
