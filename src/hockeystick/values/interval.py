"""A certified interval, and many of them at once: what is known of one direction between two ends."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Interval:
    """Certified ends and the best guess between, of one direction.

    Attributes:
        limited: what kept it from the asked gap.
        engine: what answered.
        tilt: about the saddle point of the answer, where the engine knows it: a hint for the other direction.
    """

    lower: float
    estimate: float
    upper: float
    limited: str | None = None
    engine: str = "exact"
    tilt: float | None = None

    @classmethod
    def weighted(cls, lower: float, upper: float) -> Interval:
        """An interval whose estimate is where the leading errors, two to one by the error law, cancel."""
        return cls(lower, upper + (2 / 3) * (lower - upper) if lower > -math.inf else upper, upper)

    def at_most(self, upper: float) -> Interval:
        """Part of the interval up to a further bound on the truth, ``upper``, which is no wider."""
        lower = min(self.lower, upper)
        return replace(self, lower=lower, estimate=min(max(self.estimate, lower), upper), upper=upper)

    def intersected(self, other: Interval) -> Interval:
        """Intersection of two certified intervals, which is certified. The estimate is the other's, moved inside."""
        lower, upper = max(self.lower, other.lower), min(self.upper, other.upper)
        return Interval(lower, min(max(other.estimate, lower), upper), upper, other.limited, other.engine)


@dataclass(frozen=True, slots=True, eq=False)
class Ends:
    """Certified ends and best guesses at many epsilons; all of one shape."""

    lower: Array
    estimate: Array
    upper: Array

    @classmethod
    def of(cls, lower: Array, estimate: Array, upper: Array) -> Ends:
        """The ends, with a lower end that rounding put above the upper one moved to it, and the estimate in between."""
        lower = np.minimum(lower, upper)
        return cls(lower, np.minimum(np.maximum(estimate, lower), upper), upper)

    @property
    def width(self) -> Array:
        """Distance between the two ends; infinite where there is no lower end, 0 where both are minus infinity."""
        with np.errstate(invalid="ignore"):
            return np.where(self.lower == self.upper, 0.0, self.upper - self.lower)

    def first(self, engine: str) -> Interval:
        """The ends at the first epsilon, named after an engine."""
        return Interval(float(self.lower[0]), float(self.estimate[0]), float(self.upper[0]), None, engine)

    def shared(self, other: Ends) -> Ends:
        """Intersection of two certified answers, with the estimate of the narrower one."""
        estimate = np.where(other.width < self.width, other.estimate, self.estimate)
        return Ends.of(np.maximum(self.lower, other.lower), estimate, np.minimum(self.upper, other.upper))

    def worse(self, other: Ends) -> Ends:
        """The larger of two truths."""
        return Ends(
            np.maximum(self.lower, other.lower),
            np.maximum(self.estimate, other.estimate),
            np.maximum(self.upper, other.upper),
        )

    def milder(self, other: Ends) -> Ends:
        """The smaller of two truths."""
        return Ends(
            np.minimum(self.lower, other.lower),
            np.minimum(self.estimate, other.estimate),
            np.minimum(self.upper, other.upper),
        )

    def over(self, below: Ends) -> Ends:
        """From the lower ends of what lies below to the upper ends of these; the estimate half way."""
        with np.errstate(invalid="ignore"):
            middle = np.where(np.isfinite(below.estimate), 0.5 * (below.estimate + self.estimate), self.estimate)
        return Ends.of(below.lower, middle, self.upper)

    def __getitem__(self, where: Array | npt.NDArray[np.bool_] | npt.NDArray[np.intp]) -> Ends:
        return Ends(self.lower[where], self.estimate[where], self.upper[where])
