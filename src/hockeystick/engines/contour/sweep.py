"""The sum on one contour, at any epsilons; its nodes do not depend on epsilon.

Let ``S(eps) = (1 / P) sum_j T_j e^(-i eps s_j)`` with equidistant ``s_j = j ds``. With ``j = b B + l`` each phase is a
product of two factors. So the sum is a product of a vector, a matrix of ``sqrt(n)`` columns, and a vector:

    S(eps) = (1 / P) sum_b e^(-i eps s_(bB)) sum_l T_(bB+l) e^(-i eps s_l) .

Rounding: the error of a phase is bounded by the roundings of its exponent. An inner product of m complex terms errs by
at most ``sqrt(2) (m + 2) u`` times the sum of the moduli, in any order of summation (Higham 2002 [Hig02], Section 3.6).
The aliases and the terms beyond the cut are bounded by functions of epsilon in closed form, valid at every real
epsilon.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache, cached_property

import numpy as np
import numpy.typing as npt

from hockeystick.numerics.meet import lower_end, upper_end
from hockeystick.numerics.rounding import LARGEST, SPARE, UNIT_ROUNDOFF
from hockeystick.pairs.renyi import log_peak
from hockeystick.values.interval import Ends, Interval

Array = npt.NDArray[np.float64]
ComplexArray = npt.NDArray[np.complex128]


@dataclass(frozen=True, eq=False)
class Terms:
    """Terms of the sum on one contour, with the bounds that turn the sum into an interval for delta.

    Attributes:
        s: shape (n,), equidistant heights, starting with 0.
        terms: shape (n,), ``e^(K(t + is) - K_top) / (z (1 + z))``, doubled at all but the first.
        k_error: shape (n,), bounds on the errors of K.
        k_top: K_top, a value near K(t) that keeps the terms within the range of a double.
        t: tilt.
        period: P.
        right: extra tilt theta for the bound on the aliases to the right, and an upper bound on ``K(t + theta)``.
        log_tail: log of the bound on the sum of the terms beyond the cut, relative to ``e^(K(t) - t eps)``.
        slack: bound on the sum of further errors of the terms, also relative to ``e^(K(t) - t eps)``.
    """

    s: Array
    terms: ComplexArray
    k_error: Array
    k_top: float
    t: float
    period: float
    right: tuple[float, float]
    log_tail: float
    slack: float
    _errors: dict[int, float] = field(default_factory=dict, init=False, repr=False)

    def log_delta(self, epsilon: Array) -> Ends:
        """Return certified ends of log delta at each epsilon; intervals are narrow near the epsilon of the contour."""
        value, error = self._sums(epsilon)
        theta, k_right = self.right
        tilted = self.t + theta
        log_left = -log_expm1(self.t * self.period)
        log_right = k_right - tilted * epsilon + log_peak(tilted) - log_expm1(theta * self.period)
        tail = math.exp(min(self.log_tail, LARGEST)) * (1 + SPARE) + self.slack
        scale = self.k_top - self.t * epsilon
        slip = 4 * UNIT_ROUNDOFF * (abs(self.k_top) + self.t * np.abs(epsilon) + np.abs(scale))
        alias = np.exp(np.minimum(np.logaddexp(log_left, log_right) - scale + SPARE + slip, LARGEST))
        low, high = value - error - tail - alias, value + error + tail
        with np.errstate(divide="ignore", invalid="ignore"):
            upper, lower = np.log(high), np.log(low)
            upper = np.where(high > 0, upper + 4 * UNIT_ROUNDOFF * np.abs(upper) + scale + slip, np.inf)
            lower = np.where(low > 0, lower - 4 * UNIT_ROUNDOFF * np.abs(lower) + scale - slip, -np.inf)
            middle = np.where(value > 0, np.log(value) + scale, lower)
        return Ends.of(lower, middle, np.minimum(upper, 0.0))

    def _sums(self, epsilon: Array) -> tuple[Array, float]:
        """Return S at each epsilon, and a bound on the error of every value, both times ``e^(t eps - K_top)``."""
        inner, outer, rows = self._blocks
        # one matrix-vector product per epsilon: a matrix-matrix product would wait for threads
        values = [np.exp(-1j * at * outer) @ (rows @ np.exp(-1j * at * inner)) for at in epsilon.tolist()]
        error = self._error(math.frexp(float(np.abs(epsilon).max(initial=0.0)))[1])
        return np.array(values).real / self.period, error

    @cached_property
    def _blocks(self) -> tuple[Array, Array, ComplexArray]:
        """Return the heights in the first block, the first height of each block, and the terms as a matrix.

        The matrix has one row for each block.
        """
        n = len(self.s)
        block = math.isqrt(n) + 1
        padded = np.zeros(-(-n // block) * block, dtype=np.complex128)
        padded[:n] = self.terms
        return self.s[:block], self.s[::block], padded.reshape(-1, block)

    def _error(self, power: int) -> float:
        """Return a bound on the error of S, times ``e^(t eps - K_top)``, for all epsilons below ``2^power``."""
        if power not in self._errors:
            inner, outer, _ = self._blocks
            summing = 2 * (len(inner) + len(outer) + 4)
            units = 24 + 4 * math.ldexp(1.0, power) * self.s + 4 * abs(self.k_top) + summing
            error = np.expm1(np.minimum(self.k_error + UNIT_ROUNDOFF * units, LARGEST))
            with np.errstate(over="ignore"):  # an infinite error: no bound is known
                self._errors[power] = float((np.abs(self.terms) * error).sum()) / self.period * (1 + SPARE)
        return self._errors[power]


def solved(
    log_delta: Callable[[Array], Ends], target: tuple[float, float], guess: float, slope: float, gap: float
) -> Interval:
    """Return a certified interval for the epsilon at which log delta falls to a target.

    Args:
        log_delta: function that returns certified ends of log delta at epsilons.
        target: ends of an interval that contains the target log delta.
        guess: approximate answer.
        slope: approximate ``-d log delta / d eps`` at the guess.
        gap: requested width, relative to epsilon.
    """
    ends = cache(lambda epsilon: log_delta(np.array([epsilon])).first(""))
    high = upper_end(lambda epsilon: ends(epsilon).upper, target[0], guess, slope, gap)
    if not high < math.inf:
        return Interval(0.0, guess, high)
    low = lower_end(lambda epsilon: ends(epsilon).lower, target[1], high, slope, gap)
    # if no positive lower end is certified, the upper end is also the estimate
    return Interval.weighted(low, high) if low > 0 else Interval(0.0, high, high)


def log_expm1(x: float) -> float:
    """Return ``log(e^x - 1)`` for x > 0, also where ``e^x`` exceeds the range of a double."""
    return x + math.log(-math.expm1(-x))
