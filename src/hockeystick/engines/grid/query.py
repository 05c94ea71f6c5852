"""The two queries of the grid engine, delta at an epsilon and epsilon at a delta.

Each is answered from a lower and an upper law of the sum of all losses.
"""

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
    """Query for log delta at an epsilon; the width of an answer is absolute in log delta, hence relative in delta.

    Attributes:
        at: the epsilon.
        sums: the lower and the upper law of the sum of all losses, from the last run; empty before it. They also give
            bounds at nearby epsilons.
    """

    at: float
    sums: list[tuple[GridSum, GridSum]] = field(default_factory=list)

    @property
    def looks(self) -> int:
        """Number of times that delta is evaluated: once for the answer and twice for the slope."""
        return 3

    def epsilon(self, best: Interval | None) -> float:
        """Return the epsilon for which the next run is set up: always the queried epsilon."""
        return self.at

    def depth(self, depth: float, best: Interval) -> float:
        """Return the expected log delta, or the upper end of the best interval found so far if that is lower."""
        return min(depth, best.upper)

    def tolerance(self, gap: float, epsilon: float, slope: float) -> float:
        """Return the allowed difference between the log deltas of the upper and the lower law, which is the gap."""
        return gap

    def steepest(self, gap: float, epsilon: float) -> float:
        """Return the largest useful tilt: infinite, since epsilon is given exactly."""
        return math.inf

    def measure(self, lower: GridSum, upper: GridSum, slope: float) -> Interval:
        """Return the interval for log delta from both laws of the sum of all losses, and store these laws."""
        self.sums[:] = [(lower, upper)]
        return self.log_delta(np.array([self.at])).first("grid")

    def log_delta(self, epsilon: npt.NDArray[np.float64]) -> Ends:
        """Return ends of log delta at each epsilon, from the laws that :meth:`measure` stored."""
        ((lower, upper),) = self.sums
        low = np.array([lower.log_delta(at) for at in epsilon.tolist()])
        high = np.array([min(upper.log_delta(at), 0.0) for at in epsilon.tolist()])
        low = np.minimum(low, high)
        with np.errstate(invalid="ignore"):  # where no lower bound is known
            middle = np.where(low > -math.inf, high + (2 / 3) * (low - high), high)
        return Ends.of(low, middle, high)

    def width(self, interval: Interval) -> float:
        """Return the absolute width of an interval in log delta, which is the relative width in delta."""
        return interval.upper - interval.lower

    def anything(self) -> Interval:
        """Return the trivial interval for log delta: from minus infinity to 0."""
        return Interval(-math.inf, 0.0, 0.0)


@dataclass(frozen=True, slots=True)
class EpsilonQuery:
    """Query for epsilon at a log delta given as an interval; the width of an answer is relative.

    Attributes:
        log_delta: ends of an interval that contains the target.
        guess: first guess of epsilon.
        gap: requested relative width.
        supremum: the largest loss; no answer is above it.

    The ``slope`` arguments of the methods approximate ``-d log delta / d eps``.
    """

    log_delta: tuple[float, float]
    guess: float
    gap: float
    supremum: float = math.inf

    @property
    def looks(self) -> int:
        """Approximate number of times that delta is evaluated in the search for epsilon."""
        return 25

    def epsilon(self, best: Interval | None) -> float:
        """Return the epsilon for which the next run is set up: the best estimate so far, or else the first guess."""
        return best.estimate if best and math.isfinite(best.upper) else self.guess

    def depth(self, depth: float, best: Interval) -> float:
        """Return the expected log delta ``depth``, which is the queried log delta."""
        return depth

    def tolerance(self, gap: float, epsilon: float, slope: float) -> float:
        """Return the difference between the two laws' log deltas at which the relative width of epsilon is ``gap``.

        At epsilon 0, the difference is ``gap`` itself.
        """
        return gap * epsilon * slope if epsilon > 0 else gap

    def steepest(self, gap: float, epsilon: float) -> float:
        """Return the largest useful tilt: one over the width that the gap allows for epsilon."""
        return 1 / (gap * epsilon) if epsilon > 0 else math.inf

    def measure(self, lower: GridSum, upper: GridSum, slope: float) -> Interval:
        """Return the interval for epsilon from the lower and the upper law of the sum of all losses."""
        slope = min(slope, 4 / (self.gap * self.guess)) if self.guess > 0 else slope
        high = upper_end(upper.log_delta, self.log_delta[0], self.guess, slope, self.gap, self.supremum)
        if high == math.inf:
            return Interval(0.0, 0.0, high)
        low = lower_end(lower.log_delta, self.log_delta[1], high, slope, self.gap)
        return Interval.weighted(low, high)

    def width(self, interval: Interval) -> float:
        """Return the width of an interval relative to its upper end."""
        if interval.upper == math.inf:
            return 1.0
        return (interval.upper - interval.lower) / interval.upper if interval.upper > 0 else 0.0

    def anything(self) -> Interval | None:
        """Return the trivial interval for epsilon: from 0 to the largest loss; ``None`` if the loss is unbounded."""
        return Interval(0.0, self.supremum, self.supremum) if math.isfinite(self.supremum) else None


Query = DeltaQuery | EpsilonQuery
"""A query, which chooses the epsilon and the tolerance of a run and computes the answer from the laws of the run."""
