"""The sum of each row at an epsilon, its certificate, and where it meets a target.

``delta(eps) = e^(K(t) - t eps) (1/P) sum_j T_j e^(-i eps s_j)`` less the aliases, with ``T_j`` the k-th power of
``m(t + is_j) / m(t)`` over ``z (1 + z)``, all but the first counted twice (``engines/contour/engine.py``). What a value
of m may be off by, E, moves its k-th power by at most

    k E r^(k-1) e^(k E / r),      r = max(|m|, FLOOR)

as ``|m'^k - m^k| <= k |m' - m| max(|m|, |m'|)^(k-1)`` and ``|m'| <= r (1 + E / r)``. The aliases, the cut and the
certificate itself are those of the contour of one plan (``engines/contour/sweep.py``).
"""

from __future__ import annotations

import math

import numpy as np

from hockeystick.engines.batch.guess import log_peak
from hockeystick.engines.batch.line import ComplexArray, Line
from hockeystick.engines.batch.nodes import LARGEST, SPARE
from hockeystick.engines.batch.rows import Array, Columns, Places, up
from hockeystick.engines.contour.sweep import Certificate, enclosed
from hockeystick.numerics.rounding import UNIT_ROUNDOFF
from hockeystick.values.side import Side

from dataclasses import dataclass

STEPS = 12  # of Newton
WIDENINGS = 8  # of an end that is not on its side yet
CLOSE = 0.03  # of the error of the sum: a root so near that it adds nothing to the width
FLOOR = 0.5  # size of m, relative to m(t), below which its power is bounded by that of this
POWERED = 64.0  # units: of a k-th power, its phase and its weight


@dataclass(frozen=True, slots=True)
class Known(Columns):
    """What is known of each row beside its line.

    Attributes:
        t: tilt.
        right: the tilt that bounds the alias to the right.
        k_right: upper bound on K there.
        period: P.
        k_top: what K is relative to.
        count: number of rounds.
        log_tail: log of the bound on what is cut off, relative to ``e^(K(t) - t eps)``.
        tolerance: wanted relative size of the remainders.
    """

    t: Array
    right: Array
    k_right: Array
    period: Array
    k_top: Array
    count: Array
    log_tail: Array
    tolerance: Array


class Sums:
    """The sums of rows of one number of points."""

    def __init__(self, known: Known, line: Line, outer: int, inner: int) -> None:
        self.known, self._outer, self._inner = known, outer, inner
        self._step = line.step
        t, count = up(known.t), up(known.count)
        real, imaginary = line.values.real, line.values.imag
        excess = 2 * real + (np.square(real) + np.square(imaginary))  # |1 + D|^2 - 1
        log_size = 0.5 * np.log1p(np.maximum(excess, -1.0 + 1e-300))
        angle = np.arctan2(imaginary, 1.0 + real)
        angle *= count
        size = np.exp(count * log_size)
        s2 = np.square(line.s)
        real, imaginary = t * (1 + t) - s2, line.s * (1 + 2 * t)
        weight = np.square(real) + np.square(imaginary)
        np.divide(1.0, weight, out=weight)
        weight[:, 1:] *= 2.0
        # v / (z (1 + z)) = v conj(z (1 + z)) / |..|^2
        cosine, sine = np.cos(angle), np.sin(angle)
        terms = np.empty(size.shape, dtype=np.complex128)
        size *= weight
        terms.real = size * (cosine * real + sine * imaginary)
        terms.imag = size * (sine * real - cosine * imaginary)
        self._terms: ComplexArray = terms
        self._sizes = np.hypot(terms.real, terms.imag)
        weight *= np.sqrt(np.square(real) + np.square(imaginary))
        floor = np.maximum(log_size, math.log(FLOOR))
        moved = count * line.errors
        lost = (count - 1) * floor
        lost += np.minimum(moved * np.exp(-floor), LARGEST)
        np.exp(lost, out=lost)
        lost *= moved
        lost *= weight
        self._lost = lost.sum(axis=1) * (1 + SPARE) / known.period
        total = self._sizes.sum(axis=1)
        self._rounded = UNIT_ROUNDOFF * total * (POWERED + 4 * (outer + inner)) / known.period
        self._turned = UNIT_ROUNDOFF * 6 * (self._sizes * line.s).sum(axis=1) / known.period
        self._s = line.s
        self._common = known.count * line.common * (1 + SPARE)
        self._left = np.exp(np.minimum(known.log_tail, LARGEST)) * (1 + SPARE)
        theta = known.right - known.t
        self._log_left = -_log_expm1(known.t * known.period)
        self._log_right = known.k_right + log_peak(known.right) - _log_expm1(theta * known.period)

    def values(self, epsilon: Array, which: Places) -> tuple[Array, Array, Array]:
        """S, ``-d log delta / d eps`` by it, and a bound on the error of S, times ``e^(t eps - K_top)``."""
        known = self.known
        step, period = self._step[which], known.period[which]
        near = up(-epsilon * step) * np.arange(self._inner, dtype=np.float64)
        far = up(-epsilon * step * self._inner) * np.arange(self._outer, dtype=np.float64)
        phases = (_unit(far)[:, :, None] * _unit(near)[:, None, :]).reshape(len(which), -1)
        phases *= self._terms[which]
        value = phases.real.sum(axis=1)
        with np.errstate(divide="ignore", invalid="ignore"):
            slope = known.t[which] - (phases.imag * self._s[which]).sum(axis=1) / value
        error = self._lost[which] + self._rounded[which] + self._turned[which] * np.abs(epsilon)
        return value / period, slope, error

    def certificate(self, epsilon: Array, which: Places) -> tuple[Array, Array, Array, Array]:
        """Certified ends of log delta and the guess between, and the slope."""
        known = self.known
        value, slope, error = self.values(epsilon, which)
        k_top, t, right = known.k_top[which], known.t[which], known.right[which]
        found = enclosed(
            k_top, t, epsilon, value, error, self._left[which], self._log_left[which], self._log_right[which] - right * epsilon
        )
        with np.errstate(divide="ignore", invalid="ignore"):
            upper = np.where(found.high > 0, found.moved(np.log(found.high), Side.ABOVE), np.inf)
            lower = np.where(found.low > 0, found.moved(np.log(found.low), Side.BELOW), -np.inf)
            middle = np.where(value > 0, np.log(value) + found.scale, lower)
        common = self._common[which]  # m(t)^k, a factor of all
        upper = np.minimum(upper + common, 0.0)
        lower = np.minimum(lower - common, upper)
        return lower, np.clip(middle, lower, upper), upper, slope

    def root(self, target: Array, guess: Array) -> tuple[Array, Array]:
        """The epsilon at which log S meets the target, and the slope there; not a number where none was found."""
        known = self.known
        epsilon, slopes = guess.copy(), np.full(len(guess), np.nan)
        low, high = np.zeros(len(guess)), np.full(len(guess), np.inf)
        which = np.arange(len(guess))
        for _ in range(STEPS):
            at = epsilon[which]
            value, slope, error = self.values(at, which)
            with np.errstate(divide="ignore", invalid="ignore"):
                gain = np.log(value) + known.k_top[which] - known.t[which] * at - target[which]
            sound = (value > 0) & (slope > 0)
            slopes[which] = np.where(sound, slope, np.nan)
            with np.errstate(divide="ignore", invalid="ignore"):
                close = CLOSE * np.maximum(np.minimum(error / value, 1e-3), known.tolerance[which])
                step = np.clip(gain / slope, -2 / slope, 2 / slope)
            low[which] = np.where(sound & (gain > 0), at, low[which])
            high[which] = np.where(sound & (gain <= 0), at, high[which])
            moved = at + step
            inside = (moved > low[which]) & (moved < high[which])
            with np.errstate(invalid="ignore"):
                middle = np.where(np.isinf(high[which]), 2 * low[which], 0.5 * (low[which] + high[which]))
            moved = np.where(inside, moved, middle)
            # the next gain is about bend step^2 / 2, and bend about slope / epsilon or less: it need not be looked at
            done = sound & (np.abs(gain) <= close)
            going = sound & ~done & np.isfinite(moved)
            slopes[which[~sound]] = np.nan
            epsilon[which[going]] = moved[going]
            which = which[going]
            if not len(which):
                break
        return epsilon, slopes

    def ends(self, lower_target: Array, upper_target: Array, root: Array, slope: Array) -> tuple[Array, Array]:
        """Certified ends of epsilon: infinite, or 0, where none was found.

        Args:
            lower_target: what the upper bound of log delta has to be at most, at the upper end.
            upper_target: what the lower bound has to exceed, at the lower end.
            root: where to begin.
            slope: there.
        """
        every = np.arange(len(root))
        lower, _, upper, _ = self.certificate(root, every)
        high = self._moved(root, np.maximum(upper - lower_target, 0.0) / slope, lower_target, 1)
        low = self._moved(root, np.maximum(upper_target - lower, 0.0) / slope, upper_target, -1)
        return np.where(low > 0, low, 0.0), high

    def _moved(self, root: Array, step: Array, target: Array, side: int) -> Array:
        out = np.full(len(root), np.inf * side)
        at = root + side * (1.01 * step + 1e-15 * root)
        step = 2 * step + 1e-15 * root
        which = np.flatnonzero(np.isfinite(at) & (at > 0))
        for _ in range(WIDENINGS):
            if not len(which):
                break
            lower, _, upper, _ = self.certificate(at[which], which)
            there = upper <= target[which] if side > 0 else lower > target[which]
            out[which[there]] = at[which[there]]
            which = which[~there]
            at[which] += side * step[which]
            step[which] *= 2
            which = which[np.isfinite(at[which]) & (at[which] > 0)]
        return out


def _unit(angle: Array) -> ComplexArray:
    out = np.empty(angle.shape, dtype=np.complex128)
    np.cos(angle, out=out.real)
    np.sin(angle, out=out.imag)
    return out


def _log_expm1(x: Array) -> Array:
    return x + np.log(-np.expm1(-x))


__all__ = ["Certificate", "Known", "Sums"]
