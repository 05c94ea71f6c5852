"""Discrete privacy-loss laws on a lattice: their composition, with certified ends of its delta and epsilon.

A law has masses at the losses ``first + j gap`` and at ``+inf``. With S the sum of all rounds and K its log-moment,
``delta(eps) = p_inf + e^(K(t) - t eps) E_t f(S - eps)``, ``f(x) = e^(-tx) (1 - e^-x)`` for x > 0, under the law tilted
by ``e^(tS - K(t))``; exact for every t >= 0. The rounding of a Fourier transform is relative to the total mass; with
the tilt it is relative to a delta of any size.

The tilted laws are convolved circularly on a window ``[a, b)``. Mass outside is misplaced in it; since
``f(x) <= peak(t) = t^t / (1 + t)^(1 + t)`` (Canonne, Kamath, Steinke 2020 [CKS20], Proposition 12),

    |computed - true| <= e^(K(t) - t eps) peak(t) (P_t(S < a) + P_t(S >= b)),

both by Markov's inequality, ``P_t(S >= b) <= e^(K(t + s) - K(t) - s b)``. The bound on the Fourier error of every entry
(``numerics/fourier.py``) is charged entry by entry.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from hockeystick.numerics.fourier import convolution_power, fast_length
from hockeystick.numerics.minima import least_place
from hockeystick.numerics.rounding import UNIT_ROUNDOFF
from hockeystick.pairs.renyi import log_peak
from hockeystick.values.errors import NotApplicableError

Array = npt.NDArray[np.float64]

MAX_POINTS = 3_000_000  # points of a window times kinds of rounds: a few seconds, some 350 MB
MAX_ROUND_POINTS = 1_500_000  # points of the lattices of all kinds of rounds: about two seconds
LOG_OUTSIDE = -30.0  # log of the wanted tilted mass outside the window
PRECISION = 1e-13  # relative accuracy of epsilon
SUMMED = 1e-12  # relative rounding of a sum of positive terms and of its few factors
UNDERFLOW = 1e-290  # tilted mass that may underflow
LOG_TILTS = (-14.0, 12.0)  # range of log t in the search of a tilt
STRIDES = 2.0 ** np.arange(-5, 5)  # factors of the Chernoff parameter around that of a normal sum
TRIED = 3  # number of Chernoff parameters tried, the best on the sketches
GUIDE = 4096  # entries of the sketch of a law for the choice of a tilt
STRIDE_BELOW = 1e-5  # first step down from the upper end to the lower one, relative


@dataclass(frozen=True)
class LatticeLaw:
    """Law of the privacy loss of one round; masses need not sum to 1.

    Attributes:
        first: loss of entry 0.
        gap: distance of neighbouring losses.
        mass: non-negative masses under P, shape (n,).
        infinite: mass at ``+inf``.
        slip: bound on the distance of a loss from its lattice point.
    """

    first: float
    gap: float
    mass: Array
    infinite: float = 0.0
    slip: float = 0.0

    @property
    def losses(self) -> Array:
        """Losses of the entries, shape (n,)."""
        losses: Array = self.first + self.gap * np.arange(len(self.mass), dtype=np.float64)
        return losses

    @cached_property
    def seen(self) -> tuple[Array, Array]:
        """Losses and log-masses of the entries that have mass."""
        some = np.flatnonzero(self.mass)
        return self.losses[some], np.log(self.mass[some])

    def log_moment(self, t: float) -> float:
        """Return an upper bound on ``log sum mass e^(t loss)``."""
        losses, log_mass = self.seen
        if not len(losses):
            return -math.inf
        exponent = log_mass + t * losses
        top = float(exponent.max())
        size = 100 + abs(top) + abs(t) * float(np.abs(losses[[0, -1]]).max())
        return top + math.log(float(np.exp(exponent - top).sum())) + 16 * UNIT_ROUNDOFF * size

    @cached_property
    def sketch(self) -> LatticeLaw:
        """Law on at most ``GUIDE`` points, for the choice of parameters; no proof uses it."""
        by = -(-len(self.mass) // GUIDE)
        padded = np.concatenate([self.mass, np.zeros(-len(self.mass) % by)]).reshape(-1, by)
        return LatticeLaw(self.first + 0.5 * (by - 1) * self.gap, by * self.gap, padded.sum(axis=1))


Laws = Sequence[tuple[LatticeLaw, int]]


class Window(NamedTuple):
    """Losses between which a sum is formed."""

    low: float
    high: float


def log_moment(laws: Laws, t: float) -> float:
    """Return an upper bound on K(t) of the sum."""
    return math.fsum(count * law.log_moment(t) for law, count in laws)


def infinite_mass(laws: Laws) -> float:
    """Return ``1 - prod (1 - p_inf)^k``, to a few roundings."""
    if any(law.infinite >= 1 for law, _ in laws):
        return 1.0
    return -math.expm1(math.fsum(count * math.log1p(-law.infinite) for law, count in laws))


def has_mass(laws: Laws) -> bool:
    """Return True if every round has mass at finite losses."""
    return all(bool(law.mass.any()) for law, _ in laws)


def tilt_for_delta(laws: Laws, log_delta: float) -> float:
    """Return the t that nearly minimises ``(K(t) - log delta + log peak(t)) / t``, the Renyi bound on epsilon."""
    return _least(laws, lambda t, k: (k - log_delta + log_peak(t)) / t)


def tilt_for_epsilon(laws: Laws, epsilon: float) -> float:
    """Return the t that nearly minimises ``K(t) - t eps + log peak(t)``, the Renyi bound on log delta."""
    return _least(laws, lambda t, k: k - t * epsilon + log_peak(t))


def _least(laws: Laws, bound: Callable[[float, float], float]) -> float:
    sketches = [(law.sketch, count) for law, count in laws]

    def at(log_t: float) -> float:
        t = math.exp(log_t)
        return bound(t, log_moment(sketches, t))

    return math.exp(least_place(at, *LOG_TILTS, xtol=1e-3))


def variance(laws: Laws, t: float) -> float:
    """Return the approximate variance of the sum under the law tilted by t, from the sketches."""
    total = 0.0
    for law, count in laws:
        losses, log_mass = law.sketch.seen
        weight = np.exp(log_mass + t * losses - (log_mass + t * losses).max())
        weight /= weight.sum()
        mean = float((weight * losses).sum())
        total += count * float((weight * np.square(losses - mean)).sum())
    return total


def window_of(laws: Laws, tilt: float, log_outside: float = LOG_OUTSIDE) -> Window:
    """Return a window with tilted mass at most ``e^log_outside`` on either side, by Markov's inequality."""
    k = log_moment(laws, tilt)
    scale = math.sqrt(-2 * log_outside / max(variance(laws, tilt), laws[0][0].gap ** 2))
    high = _best(laws, scale, lambda these, s: (log_moment(these, tilt + s) - k - log_outside) / s)
    low = -_best(laws, scale, lambda these, s: (log_moment(these, tilt - s) - k - log_outside) / s)
    largest = math.fsum(count * float(law.seen[0][-1]) for law, count in laws)
    smallest = math.fsum(count * float(law.seen[0][0]) for law, count in laws)
    gap = laws[0][0].gap
    window = Window(max(low, smallest) - 2 * gap, min(high, largest) + 2 * gap)
    if not window.low < window.high:
        raise NotApplicableError(
            f"the losses add up to {largest:.1e}, of which the rounding alone is more than their spread; "
            "give fewer rounds or more noise, or use accountant 'contour'"
        )
    return window


def _best(laws: Laws, scale: float, bound: Callable[[Laws, float], float]) -> float:
    """Smallest value of a bound over its Chernoff parameter, any of which is valid; the sketches choose those tried."""
    sketches = [(law.sketch, count) for law, count in laws]
    parameters = sorted((scale * STRIDES).tolist(), key=lambda s: bound(sketches, s))
    return min(bound(laws, s) for s in parameters[:TRIED])


@dataclass(frozen=True)
class LatticeSum:
    """Composition of lattice laws.

    Attributes:
        first: loss of entry 0.
        gap: distance of neighbouring losses.
        values: tilted masses divided by ``e^(log_scale - t first)``, shape (n,); they may be negative by ``error``.
        error: bound on the absolute error of every value, apart from mass outside the window.
        outside: bound on the tilted mass outside the window.
        tilt: tilt t.
        log_scale: K(t) of the sum.
        slack: bound on the error of ``log_scale`` and of the relative error of every value.
        slip: bound on the error of every loss.
        infinite: mass at ``+inf``.
    """

    first: float
    gap: float
    values: Array
    error: float
    outside: float
    tilt: float
    log_scale: float
    slack: float
    slip: float
    infinite: float

    @cached_property
    def losses(self) -> Array:
        """Losses of the entries of the window, shape (n,)."""
        losses: Array = self.first + self.gap * np.arange(len(self.values), dtype=np.float64)
        return losses

    @property
    def reach(self) -> float:
        """Loss above all those of the window."""
        return max(self.first + self.gap * (len(self.values) + 1) + 2 * self.slip, 1.0)

    @cached_property
    def _upper_values(self) -> Array:
        return np.maximum(self.values + self.error, 0.0)

    @cached_property
    def _lower_values(self) -> Array:
        return np.maximum(self.values - self.error, 0.0)  # the true values are not negative either

    def upper(self, epsilon: float) -> float:
        """Return the logarithm of an upper bound on delta of these laws."""
        epsilon -= self.slip
        found = self._mean(self._upper_values, epsilon) + self._peak * self.outside
        finite = self.log_scale - self.tilt * epsilon + math.log(found) + self.slack if found > 0 else -math.inf
        if self.infinite == 0:
            return min(finite, 0.0)
        return min(float(np.logaddexp(finite, math.log(self.infinite) + 1e-13)) + 1e-15, 0.0)

    def lower(self, epsilon: float) -> float:
        """Return the logarithm of a lower bound on delta of these laws."""
        epsilon += self.slip
        found = self._mean(self._lower_values, epsilon) - self._peak * self.outside
        finite = self.log_scale - self.tilt * epsilon + math.log(found) - self.slack if found > 0 else -math.inf
        if self.infinite == 0:
            return min(finite, 0.0)
        return min(float(np.logaddexp(finite, math.log(self.infinite) - 1e-13)) - 1e-15, 0.0)

    @cached_property
    def _peak(self) -> float:
        return math.exp(log_peak(self.tilt)) * (1 + 1e-12)

    def _mean(self, values: Array, epsilon: float) -> float:
        """Sum of ``values f(loss - eps)`` over the losses above eps."""
        start = int(np.searchsorted(self.losses, epsilon, side="right"))
        beyond = self.losses[start:] - epsilon
        return float((values[start:] * np.exp(-self.tilt * beyond) * -np.expm1(-beyond)).sum())


def points_of(window: Window, gap: float) -> int:
    """Return the number of points on the circle of a window."""
    return fast_length(math.ceil((window.high - window.low) / gap) + 1)


def compose(laws: Laws, tilt: float, window: Window, remedy: str, log_outside: float = LOG_OUTSIDE) -> LatticeSum:
    """Return the sum of all rounds on a window.

    Args:
        laws: pairs of law and count, all with the same gap.
        tilt: tilt t >= 0.
        window: losses between which the sum is formed.
        remedy: advice in the error about too many points.
        log_outside: log of the mass outside for which the window was made.

    Raises:
        NotApplicableError: there are too many points.
    """
    gap = laws[0][0].gap
    assert all(law.gap == gap for law, _ in laws)
    n = points_of(window, gap)
    if n * len(laws) > MAX_POINTS:
        raise NotApplicableError(
            f"the sum of losses would need {n * len(laws):.1e} lattice points, more than {MAX_POINTS:.1e}: {remedy}"
        )
    if not has_mass(laws):  # a round without mass at finite losses gives a sum without any
        nothing = np.zeros(n)
        return LatticeSum(window.low, gap, nothing, 0.0, 0.0, tilt, 0.0, 0.0, 0.0, infinite_mass(laws))
    vectors, shifts, slack = [], [], SUMMED
    for law, count in laws:
        with np.errstate(divide="ignore"):
            exponent = np.log(law.mass) + tilt * (law.losses - law.first)
        top = float(exponent.max())
        vectors.append((np.exp(exponent - top), count))
        shifts.append(count * (top + tilt * law.first))
        reach = abs(tilt) * (abs(law.first) + gap * len(law.mass))
        slack += count * 4 * UNIT_ROUNDOFF * (64 + abs(top) + 2 * reach)
    power = convolution_power(vectors, n)
    start = sum(count * Fraction(law.first) for law, count in laws)
    index = math.floor((Fraction(window.low) - start) / Fraction(gap))
    first = float(start + index * Fraction(gap))
    log_scale = power.log_scale + math.fsum(shifts)
    slack += power.scale_error + 8 * UNIT_ROUNDOFF * math.fsum(map(abs, [power.log_scale, *shifts]))
    slip = math.fsum(count * law.slip for law, count in laws)
    slip += 4 * UNIT_ROUNDOFF * (abs(first) + n * gap)
    outside = _outside(laws, tilt, log_scale - slack, Window(first + slip, first + n * gap - slip), log_outside)
    return LatticeSum(
        first,
        gap,
        np.roll(power.values, -((index - power.origin) % n)),
        power.error,
        outside + UNDERFLOW * sum(count for _, count in laws),
        tilt,
        log_scale,
        slack,
        slip,
        infinite_mass(laws),
    )


def _outside(laws: Laws, tilt: float, k: float, window: Window, log_outside: float) -> float:
    """Bound on ``P_t(S < low) + P_t(S >= high)``."""
    scale = math.sqrt(-2 * log_outside / max(variance(laws, tilt), laws[0][0].gap ** 2))
    above = below = 0.0
    largest = math.fsum(count * float(law.seen[0][-1]) for law, count in laws)
    smallest = math.fsum(count * float(law.seen[0][0]) for law, count in laws)
    margin = 0.5 * laws[0][0].gap
    if largest + margin > window.high:
        above = _best(laws, scale, lambda these, s: log_moment(these, tilt + s) - k - s * window.high)
        above = math.exp(min(above, 0.0))
    if smallest - margin < window.low:
        below = _best(laws, scale, lambda these, s: log_moment(these, tilt - s) - k + s * window.low)
        below = math.exp(min(below, 0.0))
    return above + below


def epsilon_above(total: LatticeSum, log_delta: float) -> float:
    """Return an epsilon >= 0 at which the upper end of log delta is at most the target; ``inf`` if none is found."""
    return crossing(total.upper, log_delta, total.reach)[1]


def epsilon_below(total: LatticeSum, log_delta: float) -> float:
    """Return an epsilon >= 0 at which the lower end of log delta is above the target; 0 if none is found.

    Far below the saddle point the tilted masses, and with them the lower end, are lost in the rounding of the
    transform. But delta decreases, so any epsilon at which the lower end is above the target is valid. The search goes
    down from the epsilon at which the upper end meets the target.
    """
    near = epsilon = crossing(total.upper, log_delta, total.reach)[0]
    step = STRIDE_BELOW * max(near, 1.0)
    while epsilon > 0:
        epsilon = max(near - step, 0.0)
        if total.lower(epsilon) > log_delta:
            return crossing(total.lower, log_delta, total.reach, epsilon)[0]
        step *= 2
    return 0.0


def crossing(
    log_delta_at: Callable[[float], float], log_delta: float, top: float, low: float = 0.0
) -> tuple[float, float]:
    """Return neighbouring epsilons: the function is above the target at the lower one (or it is 0) only."""
    high = top
    at_low, at_high = log_delta_at(low) - log_delta, log_delta_at(high) - log_delta
    if at_low <= 0:
        return 0.0, 0.0
    if at_high > 0:
        return top, math.inf
    steps, width = 0, high - low
    while high - low > PRECISION * high:
        # a secant where the function is smooth, its interval moved on to catch the root from the other side as well;
        # where it has steps (log delta next to 0) secants creep, and every other step halves
        middle = 0.5 * (low + high)
        steps, creeping = steps + 1, high - low > 0.5 ** (steps // 2) * width
        if math.isfinite(at_high) and high - low < 0.5 * top and not (creeping and steps % 2):
            secant = low + (high - low) * at_low / (at_low - at_high)
            margin = max(0.01 * (high - low), 0.3 * PRECISION * high)
            middle = min(max(secant + (margin if abs(at_low) < abs(at_high) else -margin), low + margin), high - margin)
        value = log_delta_at(middle) - log_delta
        if value <= 0:
            high, at_high = middle, value
        else:
            low, at_low = middle, value
    return low, high
