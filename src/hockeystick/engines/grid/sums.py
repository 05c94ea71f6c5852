"""The law of a sum of grid losses, near where it matters, with every error charged to one side.

The tilted masses of each law are convolved circularly on a window of n points; ``delta(eps) = e^(norm - t eps) E f(S
- eps)`` with ``f(x) = e^(-tx) (1 - e^-x)`` for x > 0, and E over the tilted sum S. The window [low, high) holds eps
  and most of the tilted
law. Three things are missing or too much in a circular sum, each charged:

- mass above ``high`` is missing: at most ``P_t(S >= high) f(high - eps)``, f being past its peak there (upper bound
  only);
- mass below ``low``, and mass at or above ``eps + W``, may be counted at a place where f > 0: at most its probability
  times the peak of f (lower bound only); mass between ``high`` and ``eps + W`` lands between ``low`` and ``eps``,
  where f = 0;
- the Fourier transform errs by at most ``error`` in each entry (``numerics/fourier.py``): ``error * sum f``.

Probabilities of the tails are Markov's: ``P_t(S >= b) <= E_t e^(theta (S - b))``, from the very masses that were
convolved.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from hockeystick.engines.grid.laws import GridLaw
from hockeystick.engines.grid.stages import Tail, Window
from hockeystick.numerics.arrays import BLOCK
from hockeystick.numerics.fourier import convolution_power, fast_length
from hockeystick.numerics.rounding import UNIT_ROUNDOFF
from hockeystick.pairs.renyi import log_peak
from hockeystick.values.side import Side

Array = npt.NDArray[np.float64]

FADE = 60.0  # f is summed up to x = FADE / t + peak; beyond, it is below e^-60 and charged whole
SUM_ERROR = 1e-13  # pairwise summation of up to 2^23 products, each with three elementary functions


class GridSum:
    """The composed law of one side.

    Args:
        laws: (law, count), all on the same h and tilt.
        window: what to keep of the sum.
        side: of the truth, on which the answers are to be.
        log_lost: log of the P-mass that the laws leave out, over all rounds (an upper bound counts it in full).
    """

    def __init__(self, laws: Sequence[tuple[GridLaw, int]], window: Window, side: Side, log_lost: float) -> None:
        mesh = laws[0][0].mesh
        self._empty = not all(law.mass.any() for law, _ in laws)  # nothing could be merged: the lower bound is 0
        if self._empty:
            assert side is Side.BELOW
            return
        self.t, self.h, self.side, self.log_lost = mesh.t, mesh.h, side, log_lost
        self._origin = math.fsum(count * law.mesh.offset for law, count in laws)
        self._origin_size = math.fsum(count * abs(law.mesh.offset) for law, count in laws)
        n = fast_length(max(math.ceil((window.high - window.low) / self.h), 16))
        power = convolution_power([(law.mass, count) for law, count in laws], n)
        self.start = math.floor((window.low - self._origin) / self.h)
        shift = (self.start - power.origin - sum(count * law.first for law, count in laws)) % n
        self._values = np.roll(power.values, -shift)
        self._error = power.error
        self.log_norm = power.log_scale + math.fsum(count * law.mesh.kappa for law, count in laws)
        self._tail_low = Tail(laws, window.theta_low, -1)
        self._tail_high = Tail(laws, window.theta_high, +1)
        kappas = math.fsum(count * abs(law.mesh.kappa) for law, count in laws)
        self._norm_error = power.scale_error + 8 * UNIT_ROUNDOFF * (1 + kappas + abs(self.log_norm))

    def __len__(self) -> int:
        return 0 if self._empty else len(self._values)

    @property
    def seen(self) -> float:
        """Places that one value of delta weighs, at most."""
        return 0.0 if self._empty else min(len(self._values), self._reach / self.h + 1)

    @property
    def _reach(self) -> float:
        """How far beyond epsilon f is summed."""
        return FADE / self.t + math.log1p(1 / self.t)

    def log_delta(self, epsilon: float) -> float:
        """Certified log of ``E (1 - e^(eps - S))_+`` for this side; ``-inf`` where nothing is certified above 0."""
        if self._empty:
            return -math.inf
        t, h, n = self.t, self.h, len(self._values)
        slip = 32 * UNIT_ROUNDOFF * (self._origin_size + abs(epsilon) + (abs(self.start) + n) * h)
        epsilon -= self.side * slip
        first = math.floor((epsilon - self._origin) / h) + 1 - self.start
        below_window = first < 0  # epsilon lies below the window: nothing absorbs what wraps
        first = min(max(first, 0), n)
        last = min(n, first + math.ceil(self._reach / h) + 1)
        total, weight, size = self._weighed(epsilon, first, last)
        noise = self._error * weight + SUM_ERROR * size
        peak = math.exp(log_peak(t))
        low, high = self._origin + self.start * h, self._origin + (self.start + n) * h
        below = math.exp(self._tail_low.log_beyond(low + slip))
        if self.side is Side.ABOVE:
            log_above = self._tail_high.log_beyond(high - slip)
            missing = math.exp(log_above + _log_weight(max(high - epsilon, math.log1p(1 / t)), t))
            missing += peak * (1.1 * (1 + t) * math.exp(-FADE) + (below if below_window else 0.0))
            log_value = math.log(total + noise + 1.01 * missing) + self.log_norm - t * epsilon
            log_value += self._norm_error + t * slip
            if math.isnan(log_value):
                return math.inf
            return float(np.logaddexp(log_value, self.log_lost))
        wrapped = math.exp(self._tail_high.log_beyond(max(epsilon, low) + (n - 1) * h - slip))
        total -= noise + 1.01 * peak * (below + wrapped)
        if not total > 0 or math.isnan(self.log_norm):
            return -math.inf
        return math.log(total) + self.log_norm - t * epsilon - self._norm_error - t * slip

    def _weighed(self, epsilon: float, first: int, last: int) -> tuple[float, float, float]:
        """Sums over the places from ``first`` to ``last``: of f times the values, of f, and of f times their sizes.

        They are taken block by block, and the sums of blocks are added without rounding.
        """
        sums: list[tuple[float, float, float]] = []
        for start in range(first, last, BLOCK):
            end = min(start + BLOCK, last)
            # in doubles: the places of a law whose grid is far finer than its losses are beyond the range of an integer
            x = self._origin + (self.start + np.arange(start, end, dtype=np.float64)) * self.h - epsilon
            x = np.maximum(x, 0.0)
            f = np.exp(-self.t * x) * -np.expm1(-x)
            product = self._values[start:end] * f
            sums.append((float(product.sum()), float(f.sum()), float(np.abs(product).sum())))
        total, weight, size = (math.fsum(part) for part in zip(*sums, strict=True)) if sums else (0.0, 0.0, 0.0)
        return total, weight, size

    def slope(self, epsilon: float) -> float:
        """``-d log delta / d eps`` by a difference; 0 where there is nothing to see."""
        step = max(2 * self.h, 1e-4 * epsilon)
        high, low = self.log_delta(epsilon), self.log_delta(epsilon + step)
        return (high - low) / step if low > -math.inf else 0.0


def _log_weight(x: float, t: float) -> float:
    """The logarithm of ``f(x) = e^(-tx) (1 - e^-x)`` for x > 0."""
    return -t * x + math.log(-math.expm1(-x))
