"""Path of a contour for an epsilon: chooses tilt, period and reach, and computes K of one round of each kind on it.

The bounds are valid at any tilt, period and reach. So a path that is laid for some counts and one epsilon is valid for
other counts and other epsilons too, but its interval is narrow only near its own epsilon.

If the right tail is heavy, a tilt below the saddle point allows a shorter period. Rounding errors are then larger
relative to delta, because every error is multiplied by ``e^(K(t) - t eps)``. If rare outcomes in the tail make the
moment generating function extremely large from some tilt on, a smaller tilt is chosen.
"""

from __future__ import annotations

import math
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from hockeystick.engines.contour.cut import cut
from hockeystick.engines.contour.sweep import Terms
from hockeystick.engines.guide import Guide
from hockeystick.numerics.budget import USED_UP, allows
from hockeystick.numerics.logarithm import log_peaks
from hockeystick.numerics.rounding import LARGEST, SPARE, UNIT_ROUNDOFF, shortened
from hockeystick.pairs.renyi import log_peak
from hockeystick.pairs.transform import MOST_EVALUATIONS, Transform
from hockeystick.values.errors import NotApplicableError

Array = npt.NDArray[np.float64]
ComplexArray = npt.NDArray[np.complex128]

TILTS = (1.0, 0.85, 0.7, 0.55, 0.4)  # tilts tried, relative to the saddle point
EXTRA_TILTS = np.array([0.005, 0.02, 0.05, 0.1, 0.2, 0.35, 0.5, 0.75, 1.0, 2.0, 4.0])  # extra tilts tried, theta / t
ROUNDINGS = 500.0  # approximate error of a cumulant, in units of round-off relative to its size
SUM_ROUNDINGS = 60.0  # approximate error of the sum, in units of round-off
LITTLE_MORE = 1.05  # a period up to this multiple of the guide's prediction is accepted
CALLS = 200e3  # units of work for the NumPy calls of one bound on K, or of one path, per kind of rounds
EVALUATION = 15.0  # units of work of one evaluation of an elementary function
MAX_POINTS = 1_200_000  # largest number of points of a contour, which take about half a second
LEAST_TOLERANCE = 1e-13  # smallest relative size requested of remainders
UNKNOWN = 30.0  # if the error of a value of K is larger than this, the value is not used
LOWER = 0.55  # tilt, as a share of the highest tilt, at which a line is computed faster
STEP_DIGITS = 14  # binary digits of a step


class LongLineError(NotApplicableError):
    """Raised if the points of a contour need more work than the budget of the query allows."""


class BlindError(NotApplicableError):
    """Raised if the guide misses losses that matter, and no guide with more improbable losses has been tried yet."""


class Aim(NamedTuple):
    """Parameters from which a contour is laid.

    Attributes:
        guide: approximate cumulants of the composition.
        saddle: saddle point of epsilon.
        limit: largest tilt at which the guide is reliable; ``None`` if unknown.
        epsilon: the epsilon for which the contour is laid.
        depth: approximate log delta at epsilon.
        tilts: tilts to try, as multiples of the saddle point.
    """

    guide: Guide
    saddle: float
    limit: float | None
    epsilon: float
    depth: float
    tilts: tuple[float, ...] = TILTS


class Path:
    """Points ``t + i s_j`` of a vertical line, and K of one round of each kind at these points.

    Args:
        transforms: characteristic function and count of each kind of round.
        aim: parameters of the contour.
        tolerance: desired bound on the sum of all remainders, relative to delta.

    Attributes:
        t: tilt.
        theta: extra tilt for the bound on the aliases to the right.
        period: ``2 pi`` divided by the distance between points.
        s: shape (n,), heights of the points, starting with 0.
        values: shape (kinds, n), K of one round of each kind.
        errors: shape (kinds, n), bounds on the errors of ``values``.
        right: shape (kinds,), upper bounds on ``K(t + theta)`` of one round of each kind.
        beyond: bounds on the terms beyond the last point.

    Raises:
        NotApplicableError: the path would need more than MAX_POINTS points, or a remainder cannot be bounded.
        BlindError: the aim has no limit, but the guide is not reliable at the extra tilt.
    """

    def __init__(self, transforms: list[tuple[Transform, int]], aim: Aim, tolerance: float) -> None:
        try:
            self._lay(transforms, aim, max(tolerance, LEAST_TOLERANCE))
        except BlindError:
            raise
        except NotApplicableError:
            if len(aim.tilts) == 1:
                raise
            # at a smaller tilt, rare jumps may have no weight, and the characteristic function decays only far up
            self._lay(transforms, aim._replace(tilts=TILTS[:1]), max(tolerance, LEAST_TOLERANCE))

    def _lay(self, transforms: list[tuple[Transform, int]], aim: Aim, tolerance: float) -> None:
        self.tolerance = tolerance
        wanted = aim.depth + math.log(tolerance) - 2.0  # log of the largest size of each remainder
        self.t, self.theta, self.period, self.right = placed(transforms, aim, wanted, tolerance)
        if not 0 < self.period < math.inf:
            raise NotApplicableError(
                "aliasing cannot be bounded, because a characteristic function cannot be evaluated"
            )
        step, rounds = 2 * math.pi / self.period, sum(k for _, k in transforms)
        if highest_tilt(transforms) < math.inf:  # a step of few digits makes products with quadrature nodes exact
            step = shortened(step, STEP_DIGITS)
            self.period = 2 * math.pi / step
        cumulants = aim.guide.cumulants(self.t)
        top = cumulants.k0 - self.t * aim.epsilon
        # an error of K is multiplied by the sum of the moduli, about e^(K - t eps) / (1 + t), relative to delta
        each = 0.05 * tolerance / rounds
        inner = each * math.exp(max(min(aim.depth - top + math.log1p(self.t), 0.0), -LARGEST))
        self.beyond = cut(transforms, self.t, step, wanted - top, cumulants.k2, MAX_POINTS)
        count = math.ceil(self.beyond.reach / step) + 1
        self.s = step * np.arange(count, dtype=np.float64)
        inner = max(inner, 1e-25 / rounds)
        lines = [transform.line(self.t, float(self.s[-1]), inner) for transform, _ in transforms]
        evaluations = sum(line.cost(count) for line in lines)
        if evaluations > max(getattr(transform, "most_evaluations", MOST_EVALUATIONS) for transform, _ in transforms):
            raise LongLineError(f"a contour would need {evaluations:.0e} evaluations, which takes too long")
        if not allows(EVALUATION * evaluations + CALLS * len(lines)):
            raise LongLineError(f"a contour of {count} points would take too long")
        self.values: ComplexArray = np.empty((len(lines), count), dtype=np.complex128)
        self.errors = np.empty((len(lines), count))
        with np.errstate(over="ignore", invalid="ignore"):  # infinite values are refused below
            for kind, line in enumerate(lines):
                self.values[kind], self.errors[kind] = line.cumulants(step, count)
        if not (np.isfinite(self.values).all() and np.isfinite(self.errors).all()):
            raise NotApplicableError("a characteristic function cannot be evaluated")

    @cached_property
    def _weights(self) -> ComplexArray:
        """Return ``1 / (z (1 + z))`` at the points, doubled at all but the first to include the conjugate points."""
        z = self.t + 1j * self.s
        weights: Any = 1 / (z * (1 + z))
        weights[1:] *= 2
        out: ComplexArray = weights
        return out

    def terms(self, counts: list[int]) -> Terms:
        """Return the sum on the path for given counts, which may differ from those for which the path was laid.

        Raises:
            NotApplicableError: the computed values consist of rounding errors only.
        """
        times = np.array([float(count) for count in counts])
        with np.errstate(over="ignore", invalid="ignore"):
            k = times @ self.values
            k_error: Array = times @ (self.errors + 2 * (4 + len(times)) * UNIT_ROUNDOFF * np.abs(self.values))
        if not (np.isfinite(k).all() and np.isfinite(k_error).all()):
            raise NotApplicableError("a characteristic function cannot be evaluated")
        k_error = k_error * (1 + SPARE)
        k_top = float(k[0].real + k_error[0])
        if float(k.real.max()) > k_top + 1.0:  # impossible without rounding errors, since |m(t + is)| <= m(t)
            raise NotApplicableError("a characteristic function cannot be evaluated")
        weights = self._weights
        terms: Any = np.exp(k - k_top) * weights
        slack = 0.0
        unknown = k_error > UNKNOWN
        if unknown.any():  # only |m| <= m(t) and the bound from value and error are known there
            most = np.minimum(k.real[unknown] + k_error[unknown] - k_top, 0.0)
            slack = float((np.abs(weights[unknown]) * np.exp(most)).sum()) / self.period * (1 + SPARE)
            terms, k_error = np.where(unknown, 0.0, terms), np.where(unknown, 0.0, k_error)
        right = self.theta, summed(counts, self.right)
        log_tail = self.beyond.log_tail(times, 2 * math.pi / self.period)
        return Terms(self.s, terms, k_error, k_top, self.t, self.period, right, log_tail, slack)


def uppers(transforms: list[tuple[Transform, int]], t: float) -> Array:
    """Return a certified upper bound on K(t) of one round of each kind; ``inf`` where no bound is known.

    Args:
        transforms: characteristic function and count of each kind.
        t: tilt.

    Raises:
        LongLineError: the work allowed for the query is used up.
    """
    if not allows(CALLS * len(transforms)):
        raise LongLineError(USED_UP)
    slack = 1e-3 / sum(k for _, k in transforms)
    with np.errstate(over="ignore", invalid="ignore"):
        found = np.array([each.upper(t, slack) for each, _ in transforms])
    return np.where(np.isnan(found), np.inf, found)


def summed(counts: list[int], each: Array) -> float:
    """Return a certified upper bound on K of the composition.

    Args:
        counts: number of rounds of each kind.
        each: upper bound on K of one round of each kind.
    """
    total = math.fsum(count * bound for count, bound in zip(counts, each.tolist(), strict=True))
    return total + SPARE * (1 + abs(total))


def upper(transforms: list[tuple[Transform, int]], t: float) -> float:
    """Return a certified upper bound on K(t) of the composition; ``inf`` if no bound is known."""
    return summed(_counts(transforms), uppers(transforms, t))


def _counts(transforms: list[tuple[Transform, int]]) -> list[int]:
    return [count for _, count in transforms]


def placed(
    transforms: list[tuple[Transform, int]], aim: Aim, wanted: float, tolerance: float
) -> tuple[float, float, float, Array]:
    """Return the tilt, the extra tilt theta, the period, and the bounds on ``K(t + theta)`` of each kind.

    The bounds prove that the period is long enough. The guide proposes a tilt, an extra tilt and a period; a certified
    bound on ``K(t + theta)`` then gives the period that is needed. If a hump in the tail dominates K at ``t + theta``,
    the guide's K may be too small there. In this case smaller extra tilts are tried. The search ends when the needed
    period is about the proposed one, or when the guide proposes no period shorter than the best certified one.

    Raises:
        BlindError: the guide's K is too small, and a guide with more improbable losses has not been tried yet.
    """
    best = 0.0, 0.0, math.inf, np.array([])
    limit = aim.limit or math.inf
    while True:
        t, theta, hoped = shortest(aim, limit, highest_tilt(transforms), wanted, tolerance)
        if not hoped < best[2]:
            return best
        tilted = t + theta
        right = uppers(transforms, tilted)
        needed = (summed(_counts(transforms), right) - tilted * aim.epsilon + log_peak(tilted) - wanted + 1.0) / theta
        if needed < best[2]:
            best = t, theta, max(hoped, needed), right
        if needed <= LITTLE_MORE * hoped:
            return best
        if aim.limit is None:
            raise BlindError("the answer lies beyond the range in which losses are sampled")
        limit = tilted


def highest_tilt(transforms: list[tuple[Transform, int]]) -> float:
    """Return the largest tilt at which every characteristic function has a line."""
    return min(transform.highest_tilt for transform, _ in transforms)


def shortest(aim: Aim, limit: float, highest: float, wanted: float, tolerance: float) -> tuple[float, float, float]:
    """Return the tilt and the extra tilt for which the guide predicts the shortest period, and this period.

    The extra tilt is for the bound on the aliases to the right. At a smaller tilt, rounding errors are larger relative
    to delta, so the tilt is reduced only as far as the tolerance allows.
    """
    guide, saddle, epsilon, depth = aim.guide, aim.saddle, aim.epsilon, aim.depth
    tilts = np.array(aim.tilts) * saddle
    if highest < math.inf:  # tilts of few digits, so that differences of whole numbers and tilts are exact
        if tilts[0] > highest:  # no line has the saddle point as tilt: about half is faster, if rounding allows
            tilts = np.append(tilts, LOWER * highest)
        tilts = np.unique(np.minimum(tilts, highest).astype(np.float32))[::-1].astype(np.float64)
    k0, k1, _ = guide.curves(tilts)
    base = k0 - tilts * epsilon - np.log(tilts) - np.log1p(tilts)
    cumulant = np.abs(k0) + tilts * np.abs(k1)
    noise = np.log(UNIT_ROUNDOFF * (SUM_ROUNDINGS + ROUNDINGS * cumulant)) + base - base[0]
    first = float(tilts[0])
    weighs = max(float(k0[0]) - first * epsilon - math.log1p(first) - depth, 0.0)  # log factor on rounding
    room = math.log(0.1 * tolerance) - weighs
    quick = saddle * aim.tilts[0] > highest and noise[-1] <= room
    tilts = tilts[-1:] if quick else tilts[noise <= max(room, float(noise.min()))]
    thetas = tilts[:, None] * EXTRA_TILTS
    tilted = tilts[:, None] + thetas
    with np.errstate(over="ignore"):
        k_right = guide.values(tilted.ravel()).reshape(tilted.shape)
    right = (k_right - tilted * epsilon + log_peaks(tilted) - wanted + 1.0) / thetas
    right = np.where(tilted < limit, right, np.inf)
    periods = np.maximum(right, ((1.0 - wanted) / tilts)[:, None])
    i, j = divmod(int(np.argmin(periods)), periods.shape[1])
    return float(tilts[i]), float(thetas[i, j]), float(periods[i, j])
