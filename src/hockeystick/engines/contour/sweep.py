"""The sum on one contour, at any epsilons: the nodes do not depend on epsilon.

``S(eps) = (1 / P) sum_j T_j e^(-i eps s_j)`` with equidistant ``s_j = j ds``. With ``j = b B + l`` the phases factor,
and a sum is the product of a matrix of ``sqrt(n)`` columns and two vectors:

    S(eps) = (1 / P) sum_b e^(-i eps s_(bB)) sum_l T_(bB+l) e^(-i eps s_l) .

Rounding: each phase is charged the roundings of its exponent; an inner product of m complex terms errs by at most
``sqrt(2) (m + 2) u`` of the sum of the moduli in any order (Higham 2002 [Hig02], Section 3.6). The remainders (aliases,
terms cut off) are functions of epsilon in closed form, valid at every real epsilon.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache, cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from hockeystick.numerics.meet import lower_end, upper_end
from hockeystick.numerics.rounding import LARGEST, SPARE, UNIT_ROUNDOFF
from hockeystick.pairs.renyi import log_peak
from hockeystick.values.interval import Ends, Interval
from hockeystick.values.side import Side

Array = npt.NDArray[np.float64]
ComplexArray = npt.NDArray[np.complex128]


class Certificate(NamedTuple):
    """Bounds on delta, in units of ``e^scale``; the fields are numbers, or arrays of one shape.

    Attributes:
        low: lower bound; useless unless positive.
        high: upper bound.
        scale: ``K_top - t eps``, which may far exceed the exponents of a double.
        slip: bound on the rounding of the scale.
    """

    low: Any
    high: Any
    scale: Any
    slip: Any

    def moved(self, log: Any, side: Side) -> Any:
        """Return an end of log delta from the log of ``low`` or ``high``, moved outward by all its roundings."""
        sign = float(side)  # NumPy would look up a dozen missing attributes of an enumeration
        return log + sign * 4 * UNIT_ROUNDOFF * abs(log) + self.scale + sign * self.slip


@dataclass(frozen=True, eq=False)
class Terms:
    """The sum on one contour.

    Attributes:
        s: shape (n,), equidistant heights, starting with 0.
        terms: shape (n,), ``e^(K(t + is) - K_top) / (z (1 + z))``, all but the first counted twice.
        k_error: shape (n,), bound on the error of K.
        k_top: reference value of K.
        t: tilt.
        period: P.
        right: extra tilt that bounds the aliases to the right, and a bound on K there.
        log_tail: log of the bound on the terms cut off, relative to ``e^(K(t) - t eps)``.
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
    slack: float = 0.0
    _errors: dict[int, float] = field(default_factory=dict, init=False, repr=False)

    def certificate(self, epsilon: Any, value: Any, error: Any) -> Certificate:
        """Return bounds on delta that include all errors and remainders of the sum, at one epsilon or at many.

        Args:
            epsilon: a number, or an array.
            value: S there, as computed, times ``e^(t eps - K_top)``.
            error: bound on the rounding of S, times the same factor.
        """
        theta, k_right = self.right
        tilted = self.t + theta
        log_left = -log_expm1(self.t * self.period)
        log_right = k_right - tilted * epsilon + log_peak(tilted) - log_expm1(theta * self.period)
        tail = math.exp(min(self.log_tail, LARGEST)) * (1 + SPARE) + self.slack
        scale = self.k_top - self.t * epsilon
        slip = 4 * UNIT_ROUNDOFF * (abs(self.k_top) + self.t * abs(epsilon) + abs(scale))
        alias = np.exp(np.minimum(np.logaddexp(log_left, log_right) - scale + SPARE + slip, LARGEST))
        return Certificate(value - error - tail - alias, value + error + tail, scale, slip)

    def log_delta(self, epsilon: Array) -> Ends:
        """Certified ends of log delta at each epsilon; narrow near the one for which the contour was laid."""
        value, error = self._sums(epsilon)
        found = self.certificate(epsilon, value, error)
        with np.errstate(divide="ignore", invalid="ignore"):
            upper = np.where(found.high > 0, found.moved(np.log(found.high), Side.ABOVE), np.inf)
            lower = np.where(found.low > 0, found.moved(np.log(found.low), Side.BELOW), -np.inf)
            middle = np.where(value > 0, np.log(value) + found.scale, lower)
        return Ends.of(lower, middle, np.minimum(upper, 0.0))

    def at(self, epsilon: float) -> Interval:
        """Certified interval of log delta at one epsilon."""
        return self.log_delta(np.array([epsilon])).first("contour")

    def _sums(self, epsilon: Array) -> tuple[Array, float]:
        """Return S at each epsilon, and a bound on all their errors, both times ``e^(t eps - K_top)``."""
        inner, outer, rows = self._blocks
        # one matrix-vector product per epsilon: a matrix-matrix product would wait for threads
        values = [np.exp(-1j * at * outer) @ (rows @ np.exp(-1j * at * inner)) for at in epsilon.tolist()]
        error = self._error(math.frexp(float(np.abs(epsilon).max(initial=0.0)))[1])
        return np.array(values).real / self.period, error

    @cached_property
    def _blocks(self) -> tuple[Array, Array, ComplexArray]:
        """Return the heights within a block, the first heights of blocks, and the terms, of shape (blocks, within)."""
        n = len(self.s)
        block = math.isqrt(n) + 1
        padded = np.zeros(-(-n // block) * block, dtype=np.complex128)
        padded[:n] = self.terms
        return self.s[:block], self.s[::block], padded.reshape(-1, block)

    def _error(self, power: int) -> float:
        """Bound on the error of S at epsilons below ``2^power``."""
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
    """Return the epsilons at which the certified ends of log delta are on the right sides of a target.

    Args:
        log_delta: function that returns certified ends at epsilons.
        target: log delta, given as an interval.
        guess: approximate answer.
        slope: approximate ``-d log delta / d eps`` there.
        gap: requested width, relative to epsilon.
    """
    ends = cache(lambda epsilon: log_delta(np.array([epsilon])).first(""))
    high = upper_end(lambda epsilon: ends(epsilon).upper, target[0], guess, slope, gap)
    if not high < math.inf:
        return Interval(0.0, guess, high)
    low = lower_end(lambda epsilon: ends(epsilon).lower, target[1], high, slope, gap)
    return Interval.weighted(low, high) if low > 0 else Interval(0.0, high, high)  # the upper end is the estimate


def log_expm1(x: float) -> float:
    """Return ``log(e^x - 1)`` for x > 0, also if the exponential is beyond the range of a double."""
    return x + math.log(-math.expm1(-x))
