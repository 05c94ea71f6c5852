"""Laws of the number of runs of which the best one is released (``plan/selection.py``).

f is the probability generating function of the number K of runs, ``m = f'(1)`` its mean.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hockeystick.numerics.roots import root
from hockeystick.numerics.rounding import UNIT_ROUNDOFF
from hockeystick.values.errors import InvalidInputError

Array = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class PoissonRuns:
    """A Poisson number of runs.

    Attributes:
        mean: the expected number.
    """

    mean: float

    def log_weight(self, rates: Array) -> Array:
        """``log f'(1 - u)`` at each u."""
        return math.log(self.mean) - self.mean * rates

    def released(self, first: Array, then: Array) -> Array:
        """The probability that the best run lies in the second of two sets, from the masses of both in one run."""
        return -np.exp(-self.mean * first) * np.expm1(-self.mean * then)


@dataclass(frozen=True, slots=True)
class TruncatedRuns:
    """A truncated negative binomial number of runs: 1, 2, ...

    Attributes:
        mean: the expected number.
        shape: eta.
        success: g, within a few roundings of the one that has that mean.
    """

    mean: float
    shape: float
    success: float

    @classmethod
    def of(cls, mean: float, shape: float) -> TruncatedRuns:
        """The law with that mean, ``eta (1 - g) / (g (1 - g^eta))``, at eta = 0 ``(1 - g) / (g log(1/g))``.

        Raises:
            InvalidInputError: a mean that is not above 1, or so far above it that g is no normal double.
        """

        def excess(log: float) -> float:
            odds = -math.expm1(log) * math.exp(-log)
            share = -log if abs(shape * log) < UNIT_ROUNDOFF else -math.expm1(shape * log) / shape
            return math.log(odds / share) - math.log(mean)

        least, most = -300.0 / max(1.0, -shape), -1e-9
        if not (mean > 1 and excess(least) > 0 > excess(most)):
            raise InvalidInputError(
                f"mean must be above 1 + 1e-9, as there is always one run, and one that shape {shape!r} can have; "
                f"received {mean!r}",
                "mean",
            )
        return cls(mean, shape, math.exp(root(excess, least, most, xtol=1e-300)))

    def log_weight(self, rates: Array) -> Array:
        """``log f'(1 - u)`` at each u."""
        return math.log(self.mean) - (1 + self.shape) * np.log1p((1 - self.success) / self.success * rates)

    def released(self, first: Array, then: Array) -> Array:
        """The probability that the best run lies in the second of two sets, from the masses of both in one run."""
        odds = (1 - self.success) / self.success
        step, log = np.log1p(odds * then / (1 + odds * first)), -math.log(self.success)
        if self.shape == 0:
            return step / log
        return (1 + odds * first) ** -self.shape * np.expm1(-self.shape * step) / math.expm1(-self.shape * log)


Law = PoissonRuns | TruncatedRuns
"""The law of the number of runs."""
