"""Choice of the tilts, the step and the tolerances of the sum of each plan; any choice is sound.

A table of the cumulant generating function K at 25 tilts gives three numbers. The first is the tilt of the least
Chernoff bound. The second is an estimate of the requested epsilon or log delta, by the saddle point formula at that
tilt. The third is the tilt y for the bound on the aliases to the right, which allows the shortest period. If the first
sum gives too wide an interval, the next aim uses the measurements of this sum.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from hockeystick.engines.base import ROUGH
from hockeystick.engines.core.law import Law
from hockeystick.engines.core.rows import Array, Columns, Plans, each, most, together
from hockeystick.engines.guide import RARE
from hockeystick.numerics.logarithm import log_peaks

RATIO = 1.3  # ratio of neighbouring tilts in the table
TILTS = RATIO ** -np.arange(-6.0, 19.0)  # tilts of the table, relative to the tilt of the central limit
SHARE = 0.1  # share of the gap for all remainders together; they are also at most ROUGH relative to delta
SPARE = 2.0  # log of the factor by which each remainder is smaller than this share of the gap
LEAST = 0.02  # least guess of epsilon, relative to its Chernoff bound
BITS = 20  # binary digits of tilts and steps: few, so that small multiples are exact
DEEPEST = -35.0  # least log of a sum relative to its first term; a smaller sum consists of rounding errors


@dataclass(frozen=True, slots=True)
class Asked(Columns):
    """One query about many plans: either for epsilon at given log deltas, or for log delta at given epsilons.

    Attributes:
        targets: shape (plans, 2), the given log deltas for the lower and for the upper end of epsilon; NaN in a query
            for log delta.
        epsilon: shape (plans, 1), the given epsilons; NaN in a query for epsilon.
        gap: shape (plans, 1), requested width: relative for epsilon, absolute for log delta.
    """

    targets: Array
    epsilon: Array
    gap: Array

    @classmethod
    def epsilons(cls, targets: Array, gap: float) -> Asked:
        """Return the query for epsilon, at target log deltas of shape (plans, 2)."""
        return cls(targets, np.full((len(targets), 1), np.nan), np.full((len(targets), 1), gap))

    @classmethod
    def log_deltas(cls, epsilon: Array, gap: float) -> Asked:
        """Return the query for log delta, at epsilons of shape (plans,)."""
        return cls(np.full((len(epsilon), 2), np.nan), epsilon[:, None], np.full((len(epsilon), 1), gap))

    @property
    def for_epsilon(self) -> bool:
        """True for a query for epsilon, false for a query for log delta."""
        return bool(np.isnan(self.epsilon).all())


@dataclass(frozen=True, slots=True)
class Aim(Columns):
    """Chosen parameters of the sum of each plan; arrays have one row for each plan.

    Attributes:
        t: tilt of the line.
        y: tilt for the bound on the aliases to the right.
        step: distance between the points of the sum.
        epsilon: approximate epsilon.
        inner: desired size of the remainders of m, relative to m(t) and summed over all rounds.
        cut: log of the desired sum of the terms beyond the cut, relative to ``e^(K(t) - t eps)``.
        tilts: tilts at which K is known approximately.
        cumulants: approximate K at ``tilts``.
    """

    t: Array
    y: Array
    step: Array
    epsilon: Array
    inner: Array
    cut: Array
    tilts: Array
    cumulants: Array


def first_aim(plans: Plans, asked: Asked) -> Aim:
    """Return the aim of the first sum of each plan, from a table of approximate K."""
    law, count, kinds = Law.of(plans.rows), plans.rows.count[:, None], plans.kinds
    variance = together(count * law.variance(), kinds) + plans.noise[:, None]
    target = asked.targets[:, 1:]
    # the tilt of the central limit, where K(t) is v t (1 + t) / 2
    excess = asked.epsilon - 0.5 * variance
    by_epsilon = 0.5 * (excess + np.sqrt(np.square(excess) + 8 * variance)) / variance
    limit = np.sqrt(-2 * target / variance) if asked.for_epsilon else by_epsilon
    tilts = np.minimum(limit, -most(-law.last_tilt(), kinds)) * TILTS
    cumulants = together(count * law.guess(each(tilts, kinds)), kinds) + plans.noise[:, None] * (
        tilts * (1 + tilts) / 2
    )
    # Chernoff: delta <= e^(K(t) - t eps) peak(t), at every t > 0
    bound = cumulants + log_peaks(tilts)
    bound = (bound - target) / tilts if asked.for_epsilon else bound - tilts * asked.epsilon
    t, k, bend = _lowest(bound, tilts, cumulants)
    # the saddle point formula: S is about e^(K(t) - t eps) / (t (1 + t)) (2 pi F''(t))^(-1/2)
    log_value = -np.log((1 + t) * np.sqrt(2 * math.pi * (bend + 1 + np.square(t / (1 + t)))))
    if not asked.for_epsilon:
        log_delta = np.minimum(k - t * asked.epsilon + log_value, 0.0)
        return laid(tilts, cumulants, asked.epsilon, log_delta, asked)
    bulk = np.maximum((k + log_value - target) / t, LEAST * (k + log_peaks(t) - target) / t)
    # where K is small, a single large loss determines delta
    one = most(law.single(each(target, kinds) - np.log(count * kinds)), kinds)
    epsilon = np.where(k < RARE, one + np.maximum(bulk - one, 0.0) * k * k / (4 + k * k), bulk)
    return laid(tilts, cumulants, epsilon, target, asked)


def laid(tilts: Array, cumulants: Array, epsilon: Array, log_delta: Array, asked: Asked) -> Aim:
    """Return the aim for an approximate epsilon and log delta of each plan, from approximate K at a row of tilts."""
    t, k, _ = _lowest(cumulants + log_peaks(tilts) - tilts * epsilon, tilts, cumulants)
    log_value = np.clip(log_delta - (k - t * epsilon), DEEPEST, 0.0)  # log of S e^(t eps - K(t))
    relative = asked.gap * (epsilon * t if asked.for_epsilon else 1.0)
    tolerance = np.minimum(SHARE * relative, ROUGH)
    wanted = log_delta + np.log(tolerance) - SPARE
    period = (cumulants + log_peaks(tilts) - tilts * epsilon - wanted) / (tilts - t)
    period = np.where((tilts > t) & np.isfinite(period), period, np.inf)
    at = period.argmin(axis=1)[:, None]
    longest = np.maximum(np.take_along_axis(period, at, axis=1), -wanted / t)
    y, step = np.take_along_axis(tilts, at, axis=1), few_bits(2 * math.pi / (1.02 * longest))
    size = np.maximum(np.exp(-log_value) / (1 + t), 1.0)  # about the sum of all |terms| divided by their sum
    return Aim(t, y, step, epsilon, tolerance / size, log_value + np.log(tolerance) - SPARE, tilts, cumulants)


def _lowest(bound: Array, tilts: Array, cumulants: Array) -> tuple[Array, Array, Array]:
    """Return the tilt at which a bound tabulated at ``tilts`` is least, and approximate K and ``t^2 K''`` there."""
    bound = np.nan_to_num(bound, nan=np.inf, posinf=np.inf)
    best = np.clip(bound.argmin(axis=1), 1, len(TILTS) - 2)[:, None] + np.array([[1, 0, -1]])
    low, least, high = (column[:, None] for column in np.take_along_axis(bound, best, axis=1).T)
    k_low, k, k_high = (column[:, None] for column in np.take_along_axis(cumulants, best, axis=1).T)
    shift = 0.5 * (low - high) / (low + high - 2 * least)
    shift = np.where(np.abs(shift) < 1, shift, 0.0)
    t = few_bits(np.take_along_axis(tilts, best[:, 1:2], axis=1) * RATIO**shift)
    # between two neighbouring tilts, K(t) is approximately a power of t
    k_at = k * np.where(shift > 0, k_high / k, k / k_low) ** shift
    h = math.log(RATIO)
    return t, k_at, np.maximum((k_high - 2 * k + k_low) / h**2 - 0.5 * (k_high - k_low) / h, 0.0)


def few_bits(x: Array) -> Array:
    """Return x > 0 rounded down to BITS binary digits."""
    mantissa, exponent = np.frexp(x)
    out: Array = np.ldexp(np.floor(mantissa * 2.0**BITS), exponent - BITS)
    return out
