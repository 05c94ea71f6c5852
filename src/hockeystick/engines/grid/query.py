"""The two questions, delta at an epsilon and epsilon at a delta, and how each is read off a pair of sums."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from hockeystick.numerics.lattice import GridSum
from hockeystick.numerics.meet import lower_end, upper_end
from hockeystick.values.interval import Ends, Interval


@dataclass(frozen=True, slots=True)
class DeltaQuery:
    """log delta at an epsilon; width absolute in log delta, which is relative in delta."""

    at: float

    @property
    def looks(self) -> int:
        """One value of delta for the answer, and two for the slope."""
        return 3

    def epsilon(self, best: Interval | None) -> float:
        """The queried epsilon, whatever the state."""
        return self.at

    def depth(self, depth: float, best: Interval) -> float:
        """The log delta expected, or the upper end that was found where that is lower."""
        return min(depth, best.upper)

    def tolerance(self, gap: float, epsilon: float, slope: float) -> float:
        """The two sides' difference that a gap allows."""
        return gap

    def steepest(self, gap: float, epsilon: float) -> float:
        """The largest tilt that a gap can show."""
        return math.inf

    def measure(self, lower: GridSum, upper: GridSum, slope: float) -> Interval:
        """The answer of both sums."""
        low, high = lower.log_delta(self.at), min(upper.log_delta(self.at), 0.0)
        return Interval.weighted(min(low, high), high)

    def width(self, interval: Interval) -> float:
        """The width in log delta, which is relative in delta."""
        return interval.upper - interval.lower

    def anything(self) -> Interval:
        """A probability is at most 1."""
        return Interval(-math.inf, 0.0, 0.0)


@dataclass(frozen=True, slots=True)
class KeepingQuery(DeltaQuery):
    """log delta at an epsilon, by sums that are stored and reused for other epsilons."""

    sums: list[tuple[GridSum, GridSum]] = field(default_factory=list)

    def measure(self, lower: GridSum, upper: GridSum, slope: float) -> Interval:
        """The answer of both sums."""
        self.sums[:] = [(lower, upper)]
        return DeltaQuery.measure(self, lower, upper, slope)

    def log_delta(self, epsilon: npt.NDArray[np.float64]) -> Ends:
        """The answer of the last sums at each epsilon."""
        ((lower, upper),) = self.sums
        low = np.array([lower.log_delta(at) for at in epsilon.tolist()])
        high = np.array([min(upper.log_delta(at), 0.0) for at in epsilon.tolist()])
        low = np.minimum(low, high)
        with np.errstate(invalid="ignore"):  # where nothing is known from below
            middle = np.where(low > -math.inf, high + (2 / 3) * (low - high), high)
        return Ends.of(low, middle, high)


@dataclass(frozen=True, slots=True)
class EpsilonQuery:
    """epsilon at a log delta known up to an interval; width relative. ``slope`` is about -d log delta / d eps.

    No answer is above ``supremum``, the largest loss.
    """

    log_delta: tuple[float, float]
    guess: float
    gap: float
    supremum: float = math.inf

    @property
    def looks(self) -> int:
        """About how many values of delta the search for a root takes."""
        return 25

    def epsilon(self, best: Interval | None) -> float:
        """The best estimate so far; the first guess where no upper end is known."""
        return best.estimate if best and math.isfinite(best.upper) else self.guess

    def depth(self, depth: float, best: Interval) -> float:
        """The expected log delta: the queried one."""
        return depth

    def tolerance(self, gap: float, epsilon: float, slope: float) -> float:
        """The two sides' difference that a gap allows."""
        return gap * epsilon * slope if epsilon > 0 else gap

    def steepest(self, gap: float, epsilon: float) -> float:
        """The largest tilt that a gap can show."""
        return 1 / (gap * epsilon) if epsilon > 0 else math.inf

    def measure(self, lower: GridSum, upper: GridSum, slope: float) -> Interval:
        """The answer of both sums."""
        slope = min(slope, 4 / (self.gap * self.guess)) if self.guess > 0 else slope
        high = upper_end(upper.log_delta, self.log_delta[0], self.guess, slope, self.gap, self.supremum)
        if high == math.inf:
            return Interval(0.0, 0.0, high)
        low = lower_end(lower.log_delta, self.log_delta[1], high, slope, self.gap)
        return Interval.weighted(low, high)

    def width(self, interval: Interval) -> float:
        """The width relative to the upper end."""
        if interval.upper == math.inf:
            return 1.0
        return (interval.upper - interval.lower) / interval.upper if interval.upper > 0 else 0.0

    def anything(self) -> Interval | None:
        """No epsilon is above the largest loss, if there is one."""
        return Interval(0.0, self.supremum, self.supremum) if math.isfinite(self.supremum) else None


Query = DeltaQuery | EpsilonQuery
"""What is asked: where to look, how narrow the two sides' log delta must be, and how to read the answer off."""
