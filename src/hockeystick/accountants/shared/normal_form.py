"""Replacement of the tilted sum of losses by a normal law, with a certified error.

Alghamdi et al. 2023 [AAC+23], the central-limit form of the saddle-point accountant. With S the tilted sum
and ``f(x) = e^(-tx) (1 - e^-x)_+``, ``delta = e^(K(t) - t eps) E f(S - eps)``. For Z ~ N(m, v)

    E f(Z - eps) = e^(-g^2/2) [e(t sqrt(v) - g) - e((t + 1) sqrt(v) - g)] / 2,

``g = (m - eps) / sqrt(v)``, ``e(z) = erfcx(z / sqrt(2))``. f rises from 0 to ``t^t / (1 + t)^(1 + t)`` and falls back:
``|E f(S - eps) - E f(Z - eps)|`` is at most twice that peak times the Kolmogorov distance of S and Z (integrate by
parts). This distance is at most the sum of two terms. The first is ``0.56 sum E |X_i|^3 / V^(3/2)`` (Berry, Esseen; the
constant for different summands by Shevtsova 2010 [She10]). The second is the distance of the normal law with the true
mean and variance from the normal law used, ``|dm| / sqrt(2 pi v) + (s - 1) / sqrt(2 pi e)``, s the larger ratio of the
two standard deviations. Gaussian rounds stay Gaussian under the tilt. Each can be divided into any number of parts,
whose third moments vanish as their number grows: Gaussian rounds count in V alone.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from hockeystick.accountants.shared.privacy_curve import LARGEST
from hockeystick.accountants.shared.tilted import TiltedComposition
from hockeystick.accountants.shared.tilted_moments import RELATIVE_SLACK, moments_of, representable
from hockeystick.directions.finite import Ends
from hockeystick.numerics.rounding import TINY, UNIT_ROUNDOFF, next_down, next_up
from hockeystick.pairs.gaussian import GaussianPair
from hockeystick.pairs.renyi import log_peak

BERRY_ESSEEN = 0.56  # Shevtsova 2010 [She10], for sums of unequal terms


class _Sum(NamedTuple):
    """Lower and upper bounds on K, mean and variance of the normal law, and a bound on the Kolmogorov distance."""

    low: float
    high: float
    mean: float
    variance: float
    distance: float


@dataclass(frozen=True)
class NormalForm:
    """Normal form at one tilt: ``tilt`` rounded to 24 bits."""

    tilted: TiltedComposition
    tilt: float

    @property
    def t(self) -> float:
        """Tilt used: ``tilt`` rounded to 24 bits."""
        return representable(self.tilt)

    def value(self, epsilon: float) -> float:
        """Return delta by the normal law, without its error."""
        found = self._sum
        return math.exp(min(found.high - self.t * epsilon, LARGEST)) * self._expectation(epsilon)[0]

    def delta(self, epsilon: float) -> Ends:
        """Return certified ends of delta; the upper one is the moment bound if that is smaller.

        The moment bound is ``e^(K - t eps) t^t / (1 + t)^(1 + t)``.
        """
        found, t = self._sum, self.t
        value, error = self._expectation(epsilon)
        peak = math.exp(log_peak(t)) * (1 + RELATIVE_SLACK)
        width = 2 * found.distance * peak + error
        slack = RELATIVE_SLACK + 8 * UNIT_ROUNDOFF * (abs(found.high) + abs(found.low) + t * epsilon)
        upper = math.exp(min(found.high - t * epsilon + slack, LARGEST)) * min(value + width, peak)
        upper = next_up(upper, 2) if upper > 0 else TINY  # positive, even if it underflows
        lower = math.exp(min(found.low - t * epsilon - slack, LARGEST)) * max(value - width, 0.0)
        lower, upper = min(next_down(lower, 2), 1.0) if lower > 0 else 0.0, min(upper, 1.0)
        return Ends(lower, min(max(self.value(epsilon), lower), upper), upper)

    @cached_property
    def _sum(self) -> _Sum:
        t = self.t
        rows = []
        for (pair, count), about in zip(self.tilted.composition.rounds, self.tilted.rounds_at(t), strict=True):
            found = moments_of(pair, t, about)
            third = 0.0 if isinstance(pair, GaussianPair) else found.third
            rows.append([count * value for value in (*found.log, *found.mean, *found.variance, third)])
        low, high, mean_low, mean_high, least, most, third = map(math.fsum, zip(*rows, strict=True))
        mean, variance = 0.5 * (mean_low + mean_high), 0.5 * (least + most)
        distance = 1.0
        if least > 0:
            ratio = math.sqrt(max(most / variance, variance / least)) * (1 + RELATIVE_SLACK)
            apart = (0.5 * (mean_high - mean_low) + RELATIVE_SLACK * abs(mean)) / math.sqrt(2 * math.pi * variance)
            spread = (ratio - 1) / math.sqrt(2 * math.pi * math.e)
            distance = min(BERRY_ESSEEN * third / least**1.5 + apart + spread, 1.0) * (1 + RELATIVE_SLACK)
        return _Sum(low, high, mean, variance, distance)

    def _expectation(self, epsilon: float) -> tuple[float, float]:
        """``E f(Z - eps)`` and a bound on its rounding error; (0, inf) on overflow."""
        from scipy.special import erfcx

        found, t = self._sum, self.t
        if not found.variance > 0:
            return 0.0, math.inf
        s = math.sqrt(found.variance)
        g = (found.mean - epsilon) / s
        ends = (t * s - g, (t + 1) * s - g)
        if min(ends) < -36 or abs(g) > 36:
            return 0.0, math.inf
        first, second = (math.exp(-0.5 * g * g) * float(erfcx(z / math.sqrt(2))) / 2 for z in ends)
        size = sum(value * (1 + z * z + g * g) for value, z in zip((first, second), ends, strict=True))
        return max(first - second, 0.0), 256 * UNIT_ROUNDOFF * size
