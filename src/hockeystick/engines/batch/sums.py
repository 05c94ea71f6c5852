"""The sum of each plan at an epsilon, its certificate, and where it meets a target.

``delta(eps) = e^(K(t) - t eps) (1/P) sum_j T_j e^(-i eps s_j)`` less the aliases, with ``T_j`` the product over the
kinds of the k-th powers of ``m(t + is_j) / m(t)``, over ``z (1 + z)``, all but the first counted twice
(``engines/contour/engine.py``). Let a value ``m_i`` be off by at most ``E_i``, and ``r_i = max(|m_i|, FLOOR)``, so that
``|m'_i| <= r_i e^(E_i / r_i)``. Two products of ``sum k_i`` factors differ by the sum over the factors of what one
differs by, times the others, each of one product or of the other; so by at most

    M e^M prod_i r_i^(k_i),      M = sum_i k_i E_i / r_i .

Adding up the logarithms of C kinds rounds by ``(C - 1) u sum_i k_i |log(1 + D_i)|``, and ``|log(1 + D)| <= 4 |D|``
where ``|1 + D| >= 1/2``: that is charged to the values D. Below, where ``|D| >= 1/2``, the angle is at most
``pi |D|`` and ``k |log r| r^k <= 0.75 k / 2^k``, together less than the ``8 k |D| / 2^k`` that are charged. K(t) is a
sum of C products. The aliases, the cut and the
certificate itself are those of the contour of one plan (``engines/contour/sweep.py``).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from hockeystick.engines.batch.guess import log_peak
from hockeystick.engines.batch.line import ComplexArray, Line, line_of
from hockeystick.engines.batch.nodes import LARGEST, SPARE, Nodes
from hockeystick.engines.batch.rows import Array, Columns, Places, each, together, up
from hockeystick.engines.contour.sweep import enclosed
from hockeystick.numerics.rounding import UNIT_ROUNDOFF
from hockeystick.values.side import Side

STEPS = 12  # of Newton
WIDENINGS = 6  # of an end that is not on its side yet
ROOT = 0.02  # of the root of the tolerance: log deltas so near the target are extended to it
BENT = 0.2  # of the tolerance: what the extension may err by
LITTLE = 0.01  # of a step beside a root, by which it is taken farther
SMALL = -0.75  # of |m / m(t)|^2 - 1: below, the size is had by itself
FLOOR = 0.5  # size of m, relative to m(t), below which its power is bounded by that of this
ADDED = 4.0  # units of D for each kind but the first: of adding up ``log(1 + D)``
POWERED = 64.0  # units: of a k-th power, its phase and its weight


@dataclass(frozen=True, slots=True)
class Known(Columns):
    """What is known of each plan beside its line.

    Attributes:
        t: tilt.
        right: the tilt that bounds the alias to the right.
        k_right: upper bound on K there.
        period: P.
        log_tail: log of the bound on what is cut off, relative to ``e^(K(t) - t eps)``.
        tolerance: wanted relative size of the remainders.
    """

    t: Array
    right: Array
    k_right: Array
    period: Array
    log_tail: Array
    tolerance: Array


class Sums:
    """The sums of plans of one number of points.

    Args:
        known: of each plan.
        nodes: of its rows.
        outer, inner: numbers of points.
        kinds: of each plan.
    """

    def __init__(self, known: Known, nodes: Nodes, outer: int, inner: int, kinds: int = 1) -> None:
        self.known, self._outer, self._inner, self._kinds = known, outer, inner, kinds
        self._step = 2 * math.pi / known.period
        count, log_total = nodes.rows.count, nodes.log_total
        self._k_top = together(count * log_total, kinds)
        line = line_of(nodes, each(self._step, kinds), outer, inner)
        s: Array = up(self._step) * np.arange(outer * inner, dtype=np.float64)
        self._s = s
        log_power, angle, most_lost = self._power(line, up(count))
        powers = np.exp(log_power)
        t, s2 = up(known.t), np.square(s)
        real, imaginary = t * (1 + t) - s2, s * (1 + 2 * t)
        weight = np.square(real) + np.square(imaginary)
        length = np.sqrt(weight)
        np.divide(1.0, weight, out=weight)
        weight[:, 1:] *= 2.0
        # v / (z (1 + z)) = v conj(z (1 + z)) / |..|^2
        cosine, sine = np.cos(angle), np.sin(angle)
        terms = np.empty(powers.shape, dtype=np.complex128)
        size = powers * weight
        terms.real = size * (cosine * real + sine * imaginary)
        terms.imag = size * (sine * real - cosine * imaginary)
        self._terms: ComplexArray = terms
        weight *= length
        self._charge(powers * weight, most_lost * weight)
        with np.errstate(divide="ignore"):  # a relative error c of m(t) is one of its logarithm of -log(1 - c) or less
            self._common = together(count * -np.log1p(-np.minimum(line.common, 1.0)), kinds) * (1 + SPARE)
        self._common = self._common + kinds * UNIT_ROUNDOFF * together(count * np.abs(log_total), kinds)
        self._left = np.exp(np.minimum(known.log_tail, LARGEST)) * (1 + SPARE)
        theta = known.right - known.t
        self._log_left = -_log_expm1(known.t * known.period)
        self._log_right = known.k_right + log_peak(known.right) - _log_expm1(theta * known.period)

    def _power(self, line: Line, count: Array) -> tuple[Array, Array, Array]:
        """The logarithm of the product of the powers, its argument, and a bound on what the product is off by."""
        kinds = self._kinds
        real, imaginary = line.values.real, line.values.imag
        excess = 2 * real + (np.square(real) + np.square(imaginary))  # |1 + D|^2 - 1
        log_size = 0.5 * np.log1p(np.maximum(excess, SMALL))
        small = excess < SMALL  # where the difference to 1 loses digits
        with np.errstate(divide="ignore"):
            log_size[small] = np.log(np.hypot(1.0 + real[small], imaginary[small]))
        angle = np.arctan2(imaginary, 1.0 + real)
        angle *= count
        floor = np.maximum(log_size, math.log(FLOOR))
        errors = line.errors
        if kinds > 1:
            errors = errors + ADDED * (kinds - 1) * UNIT_ROUNDOFF * np.hypot(real, imaginary)
        moved = together(count * errors * np.exp(-floor), kinds)
        lost = together(count * floor, kinds)
        lost += moved
        lost = np.where(lost > LARGEST, np.inf, np.exp(np.minimum(lost, LARGEST)))
        lost *= moved
        return together(count * log_size, kinds), together(angle, kinds), lost

    def _charge(self, sizes: Array, lost: Array) -> None:
        """What rounding moves, from the terms' sizes and the errors of their powers."""
        period = self.known.period
        self._lost = lost.sum(axis=1) * (1 + SPARE) / period
        total = sizes.sum(axis=1)
        moving = sizes * self._s
        first = moving.sum(axis=1) / period
        moving *= self._s
        self._second = moving.sum(axis=1) / period
        units = UNIT_ROUNDOFF * (POWERED + 4 * (self._outer + self._inner))
        self._rounded, self._rounded_first = units * total / period, units * first
        self._turned, self._turned_first = 6 * UNIT_ROUNDOFF * first, 6 * UNIT_ROUNDOFF * self._second

    def values(self, epsilon: Array, which: Places) -> Values:
        """The sums of some rows at an epsilon each."""
        known = self.known
        step, period = self._step[which], known.period[which]
        near = up(-epsilon * step) * np.arange(self._inner, dtype=np.float64)
        far = up(-epsilon * step * self._inner) * np.arange(self._outer, dtype=np.float64)
        phases = (_unit(far)[:, :, None] * _unit(near)[:, None, :]).reshape(len(which), -1)
        phases *= self._terms[which] if len(which) < len(self._terms) else self._terms
        value = phases.real.sum(axis=1)
        s = self._s[which] if len(which) < len(self._s) else self._s
        return Values(which, epsilon, value / period, (phases.imag * s).sum(axis=1) / period)

    def certificate(self, values: Values, beside: Array) -> tuple[Array, Array, Array]:
        """Certified ends of log delta, and the guess between, at epsilons beside those of the sums.

        The sum of the terms as they were computed, F, has ``|F(eps + h) - F - h F'| <= h^2/2 sum s_j^2 |T_j| / P``.
        """
        known, which = self.known.at(values.which), values.which
        common = self._common[which]  # m(t)^k, a factor e^c of all terms: e^c V - A >= e^-common (V - e^common A)
        epsilon, size = values.epsilon + beside, np.abs(beside)
        value = values.value + beside * values.derivative
        error = self._lost[which] + self._rounded[which] + self._turned[which] * np.abs(values.epsilon)
        error = error + 0.5 * size * size * self._second[which] * (1 + SPARE)
        error += size * (self._rounded_first[which] + self._turned_first[which] * np.abs(values.epsilon))
        found = enclosed(
            self._k_top[which], known.t, epsilon, value, error, self._left[which],
            self._log_left[which] + common, self._log_right[which] + common - known.right * epsilon,
        )  # fmt: skip
        with np.errstate(divide="ignore", invalid="ignore"):
            upper = np.where(found.high > 0, found.moved(np.log(found.high), Side.ABOVE), np.inf)
            lower = np.where(found.low > 0, found.moved(np.log(found.low), Side.BELOW), -np.inf)
            middle = np.where(value > 0, np.log(value) + found.scale, lower)
        upper = np.minimum(upper + common, 0.0)
        lower = np.minimum(lower - common, upper)
        return lower, np.clip(middle, lower, upper), upper

    def _near(self, target: Array, guess: Array) -> Values:
        """The sums at epsilons near the one where log S meets the target; of rows where none was found they are nan."""
        known = self.known
        out = Values(np.arange(len(guess)), guess.copy(), *(np.full(len(guess), np.nan) for _ in range(2)))
        low, high = np.zeros(len(guess)), np.full(len(guess), np.inf)
        most = ROOT * np.sqrt(known.tolerance)
        which, at = out.which, guess
        for _ in range(STEPS):
            found = self.values(at, which)
            out.put(which, found)
            with np.errstate(divide="ignore", invalid="ignore"):
                gain = np.log(found.value) + self._k_top[which] - known.t[which] * at - target[which]
                slope = known.t[which] - found.derivative / found.value
                step = np.clip(gain / slope, -2 / slope, 2 / slope)
            sound = (found.value > 0) & (slope > 0)
            low[which] = np.where(sound & (gain > 0), at, low[which])
            high[which] = np.where(sound & (gain <= 0), at, high[which])
            moved = at + step
            with np.errstate(invalid="ignore"):
                middle = np.where(np.isinf(high[which]), 2 * low[which], 0.5 * (low[which] + high[which]))
            moved = np.where((moved > low[which]) & (moved < high[which]), moved, middle)
            bend = np.sqrt(BENT * known.tolerance[which] * found.value / self._second[which])
            going = ~(sound & (np.abs(gain) <= np.minimum(most[which], slope * bend))) & sound & np.isfinite(moved)
            which, at = which[going], moved[going]
            if not len(which):
                break
        return out

    def ends(self, above: Array, below: Array, guess: Array) -> tuple[Array, Array, Array]:
        """Certified ends of epsilon, infinite, or 0, where none was found; and the guess between.

        Args:
            above: what the upper bound of log delta has to be at most, at the upper end.
            below: what the lower bound has to exceed, at the lower end.
            guess: where to look for the root.
        """
        near = self._near(above, guess)
        with np.errstate(divide="ignore", invalid="ignore"):
            lower, middle, upper = self.certificate(near, np.zeros(len(guess)))
            slope = self.known.t - near.derivative / near.value
            root = near.epsilon + (middle - above) / slope
            high = self._moved(near, (upper - above) / slope, above, 1)
            low = self._moved(near, (lower - below) / slope, below, -1)
        return np.where(low > 0, low, 0.0), root, high

    def _moved(self, near: Values, first: Array, target: Array, side: int) -> Array:
        """Epsilons beside those of the sums, on one side, whose bounds are on that side of the target."""
        out = np.full(len(target), np.inf * side)
        out[np.isnan(near.value)] = np.nan
        step = LITTLE * np.abs(first) + 1e-15 * near.epsilon
        beside = first + side * step
        which = np.flatnonzero(np.isfinite(beside))
        extended = 0.5 * np.square(beside) * self._second <= BENT * self.known.tolerance * near.value
        for extend in (True, False):  # where the sums are anew, a step may be any
            some = which[extended[which] == extend]
            for _ in range(WIDENINGS):
                some = some[near.epsilon[some] + beside[some] > 0]
                if not len(some):
                    break
                if extend:
                    values, more = near.at(some), beside[some]
                else:
                    values, more = self.values(near.epsilon[some] + beside[some], some), np.zeros(len(some))
                lower, _, upper = self.certificate(values, more)
                there = upper <= target[some] if side > 0 else lower > target[some]
                out[some[there]] = (values.epsilon + more)[there]
                some = some[~there]
                step[some] *= 4
                beside[some] += side * step[some]
            extended[some] = False
        return out


@dataclass(frozen=True, slots=True)
class Values(Columns):
    """The sums at an epsilon each, times ``e^(t eps - K_top)``.

    Attributes:
        which: their rows.
        epsilon: where they are taken.
        value: S.
        derivative: of the sum of the terms as a function of eps.
    """

    which: Places
    epsilon: Array
    value: Array
    derivative: Array

    def put(self, rows: Places, found: Values) -> None:
        """The sums of some rows."""
        self.epsilon[rows], self.value[rows], self.derivative[rows] = found.epsilon, found.value, found.derivative


def _unit(angle: Array) -> ComplexArray:
    out = np.empty(angle.shape, dtype=np.complex128)
    np.cos(angle, out=out.real)
    np.sin(angle, out=out.imag)
    return out


def _log_expm1(x: Array) -> Array:
    return x + np.log(-np.expm1(-x))


__all__ = ["Known", "Sums", "Values"]
