"""The sum that gives delta of each plan at an epsilon, its certificate, and the epsilon at a target log delta.

With ``K(z)`` the sum of ``k log m(z)`` over a plan's kinds, ``F(z) = K(z) - eps z - log z - log(1 + z)`` and t > 0, the
trapezoid rule on Re z = t is, by Poisson summation,

    S(eps) = (1/P) sum_j e^F(t + 2 pi i j / P) = sum_m e^(tPm) delta(eps + Pm) .

**Aliases.** All terms on the right are positive; the term m = 0 is delta(eps). In the terms with m < 0, delta <= 1. In
the terms with m > 0, for every y > t, ``delta(x) <= e^(K(y) - yx) peak(y)``. So ``0 <= S - delta <= 1 / (e^(tP) - 1) +
e^(K(y) - y eps) peak(y) / (e^((y-t)P) - 1)``.

**Cut.** If ``|m(t+is)| <= rho m(t)`` for all ``s >= s_J``, the terms of S from the height s_J on add up to at most
``e^(K(t) - t eps) rho^k (step / s_J^2 + 1 / s_J) / pi``, as ``|z (1+z)| >= s^2``; for several kinds, a bound on the
product over the kinds replaces rho^k.

**Powers.** Let v be the computed value of m(t+is). If ``|m(t+is) - v| <= e |v|``, with e of any size, then ``|m^k -
v^k| <= |v|^k ((1 + e)^k - 1)`` for whole k, by the binomial theorem. For a product of kinds, the sum of ``k log(1 +
e)`` over the kinds takes the place of the logarithm of ``(1 + e)^k``.

**Rounding.** m(t)^k is a common factor of all terms, and its relative error shifts log S as a whole. All other errors
are charged in proportion to the moduli of the terms.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from hockeystick.engines.core.aim import Aim
from hockeystick.engines.core.line import PARTS, Line, cells
from hockeystick.engines.core.rows import Array, Columns, ComplexArray, Plans, each, rows_of, together
from hockeystick.numerics.boxes import Boxes
from hockeystick.numerics.charged import charged
from hockeystick.numerics.logarithm import log_peaks
from hockeystick.numerics.rounding import LARGEST, SPARE, UNIT_ROUNDOFF

START, FARTHEST = 1.3, 4.0  # first edge, relative to the edge for a normal law; largest ratio of neighbouring edges
FINE, FEW = 8, 100  # if a plan has fewer than 100 rounds, boxes use 8 pieces between neighbouring nodes
STEPS, CLOSE = 14, 1e-5  # most steps of a search; step of Newton's method after which one more step is accurate enough


@dataclass(frozen=True, slots=True)
class Cut(Columns):
    """Height at which the sum of each plan is cut, and the log of a bound on the terms beyond it.

    The bound is relative to ``e^(K(t) - t eps)``.
    """

    edge: Array
    log_tail: Array

    @classmethod
    def of(cls, lines: Line, plans: Plans, aim: Aim) -> Cut:
        """Return, for each plan, the lowest height tried beyond which the terms are as small as the aim requires.

        The height is NaN where no such height is found. If a plan has few rounds, the bound on the decay of each round
        must be sharp. The pieces for the boxes are then so short that boxes fill nearly all of the area below the
        density.
        """
        few = together(plans.rows.count, plans.kinds) < FEW
        out = cls(np.full(aim.t.shape, np.nan), np.full(aim.t.shape, np.inf))
        for parts, which in ((PARTS, np.flatnonzero(~few)), (FINE, np.flatnonzero(few))):
            if len(which):
                boxes = Boxes.below(*cells(lines.at(rows_of(which, plans.kinds)), parts))
                variance = lines.variance[rows_of(which, plans.kinds)]
                out.edge[which], out.log_tail[which] = _looked_for(boxes, variance, plans.at(which), aim.at(which))
        return out


def _looked_for(boxes: Boxes, variance: Array, plans: Plans, aim: Aim) -> tuple[Array, Array]:
    kinds, count = plans.kinds, plans.rows.count[:, None]
    noise = plans.noise[:, None]
    variance = together(count * variance, kinds) + noise
    edge = START * np.sqrt(-2 * aim.cut / variance)
    found, tails = np.full(edge.shape, np.nan), np.full(edge.shape, np.inf)
    last, fallen, going = edge, np.full(edge.shape, np.nan), np.ones(edge.shape, dtype=bool)
    for look in range(STEPS):
        decay = (together(count * boxes.log_bound(each(edge, kinds)), kinds) - 0.5 * noise * edge**2) * (1 - SPARE)
        rest = np.log((aim.step / edge + 1) / (math.pi * edge)) + SPARE
        enough = going & (decay + rest <= aim.cut)
        nearer = enough & ~(found <= edge)
        found, tails = np.where(nearer, edge, found), np.where(nearer, decay + rest, tails)
        # the next edge follows from the last two edges, as if log rho were a power of the edge
        power = np.log(decay / fallen) / np.log(edge / last)
        power = np.where((power > 0.25) & (power < 2.5), power, 1.5)
        leap = ((aim.cut - rest) / decay) ** (1 / power) * 1.01
        back = enough & (look == 0) & (leap < 0.9)
        going &= (~enough | back) & ~(found < edge) & (leap > 0)
        if not going.any():
            break
        last, fallen = np.where(going, edge, last), np.where(going, decay, fallen)
        edge = np.where(going, edge * np.clip(leap, np.where(back, 0.3, 1.02), FARTHEST), edge)
    return found, tails


class Sum:
    """The sums S of plans with equally many points, with bounds on their errors.

    Args:
        lines: lines of the plans' rows.
        plans, aim, cut: the plans, their aims and their cuts.
        outer, inner: two numbers whose product is the number of points of each sum.
    """

    def __init__(self, lines: Line, plans: Plans, aim: Aim, cut: Cut, outer: int, inner: int) -> None:
        self._outer, self._inner, kinds = outer, inner, plans.kinds
        count, noise = plans.rows.count[:, None], plans.noise[:, None]
        self.t, self._y = aim.t, aim.y
        self._step = aim.step
        self._s = aim.step * np.arange(outer * inner, dtype=np.float64)
        ratio, error = lines.ratios(each(aim.step, kinds), outer, inner)
        one, error = _logarithm(ratio, error)
        log, moved = (
            together(count * one, kinds),
            together(count * (error + (4 + kinds) * UNIT_ROUNDOFF * np.abs(one)), kinds) * (1 + SPARE),
        )
        self.top = together(count * lines.log_total, kinds) + noise * self.t * (1 + self.t) / 2
        self.k_right = together(count * lines.upper, kinds) + noise * self._y * (1 + self._y) / 2
        own = noise * self._s * (1j * (1 + 2 * self.t) - self._s) / 2  # K(t + is) - K(t) of the unsampled noise
        log = log + own
        moved = moved + UNIT_ROUNDOFF * (16 * np.abs(own) + 4 * np.abs(log))
        z = self.t + 1j * self._s
        terms = np.exp(log) / (z * (1 + z)) * (aim.step / math.pi)  # terms at s and at -s together
        terms[:, 0] /= 2
        self._terms: ComplexArray = terms
        size = np.abs(terms)
        self.size = size.sum(axis=1, keepdims=True)
        self._turned = (size * self._s).sum(axis=1, keepdims=True)
        lost = size * np.expm1(np.minimum(moved, LARGEST))
        beyond = ~(moved < LARGEST)
        if beyond.any():  # |v^k - m^k| <= |v|^k + min(|v|^k (1 + e)^k, 1), as |m| <= m(t): e^moved is no double there
            whole = np.exp(np.minimum(log.real + moved, 0.0)) * (aim.step / math.pi) / np.abs(z * (1 + z))
            lost = np.where(beyond, size + whole, lost)
        lost = charged("powers", lost.sum(axis=1, keepdims=True))
        rounding = UNIT_ROUNDOFF * (64 + 4 * (outer + inner)) * self.size
        self._error = (lost + charged("cut", np.exp(cut.log_tail)) + charged("rounding of the sum", rounding)) * (
            1 + SPARE
        )
        common = together(count * -np.log1p(-np.minimum(lines.common, 1.0)), kinds)
        sizes = together(count * np.abs(lines.log_total), kinds) + noise * self.t * (1 + self.t)
        self._common = charged("m(t)", common) + (kinds + 16) * UNIT_ROUNDOFF * sizes
        self._log_left = -_log_expm1(2 * math.pi * self.t / aim.step)
        right = self.k_right * (1 + np.copysign(SPARE, self.k_right)) + log_peaks(self._y)
        self._log_right = right - _log_expm1(2 * math.pi * (self._y - self.t) / aim.step)

    def _phased(self, epsilon: Array) -> ComplexArray:
        """Return the terms of the sums at given epsilons, times ``e^(t eps - K(t))``.

        The shape is (plans, epsilons, outer, inner).
        """
        turn = (-1j * epsilon)[:, :, None]
        far = np.exp(turn * self._s[:, None, :: self._inner])
        near = np.exp(turn * self._s[:, None, : self._inner])
        phased = far[:, :, :, None] * near[:, :, None, :]
        phased *= self._terms.reshape(-1, 1, self._outer, self._inner)
        out: ComplexArray = phased
        return out

    def log_value(self, epsilon: Array) -> tuple[Array, Array]:
        """Return the approximate log S of each plan at its epsilon, and its decrease per unit of epsilon."""
        phased = self._phased(epsilon).reshape(len(epsilon), -1)
        value = phased.real.sum(axis=1, keepdims=True)
        turned = (phased.imag * self._s).sum(axis=1, keepdims=True)
        return np.log(value) + self.top - self.t * epsilon, self.t - turned / value

    def error(self, epsilon: Array) -> Array:
        """Return a bound on the error of the sums at epsilons, times ``e^(t eps - K(t))``.

        It includes the terms beyond the cut, but neither the aliases nor the error of m(t).
        """
        out: Array = self._error + charged("rounding of phases", 4 * UNIT_ROUNDOFF * epsilon * self._turned) * (
            1 + SPARE
        )
        return out

    def ends(self, epsilon: Array) -> tuple[Array, Array]:
        """Return certified lower and upper bounds on log delta at epsilons, of shape (plans, epsilons)."""
        value = self._phased(epsilon).real.sum(axis=3).sum(axis=2)
        scale = self.top - self.t * epsilon
        error = self.error(epsilon)
        slip = self._common * (1 + SPARE) + 8 * UNIT_ROUNDOFF * (np.abs(self.top) + self.t * epsilon)
        alias = charged("left alias", np.exp(self._log_left - scale + slip))
        alias = alias + charged("right alias", np.exp(self._log_right - self._y * epsilon - scale + slip))
        low = np.log(np.maximum(value - error - alias * (1 + SPARE), 0.0))
        high = np.log(value + error)
        # rounding of the logarithms themselves
        low, high = low - 8 * UNIT_ROUNDOFF * np.abs(low), high + 8 * UNIT_ROUNDOFF * np.abs(high)
        return low + scale - slip, np.minimum(high + scale + slip, 0.0)


def meet(sums: Sum, guess: Array, targets: Array) -> tuple[Array, Array]:
    """Return certified ends of the epsilons at which log delta equals its targets, and approximate solutions.

    The ends have shape (plans, 2). Newton's method finds the approximate solution. Each end starts there, and is moved
    outward until it is certified. A lower end that cannot be certified is 0; an upper end is then infinite.

    Args:
        sums: sums of the plans.
        guess: epsilons from which Newton's method starts.
        targets: shape (plans, 2), the log deltas for the lower and for the upper end.
    """
    target, epsilon, going = targets[:, 1:], guess, np.ones(guess.shape, dtype=bool)
    slope = sums.t
    for _ in range(STEPS):
        log_value, found = sums.log_value(epsilon)
        step = (log_value - target) / found
        known = np.isfinite(step) & (found > 0)
        step = np.where(known, np.clip(step, -0.7 * epsilon, 2 * epsilon + 4 / sums.t), -0.5 * epsilon)
        slope = np.where(going & known, found, slope)
        epsilon = np.where(going, epsilon + step, epsilon)
        going &= ~(known & (np.abs(step * found) < CLOSE))
        if not going.any():
            break
    low, high = sums.ends(epsilon)
    apart = np.array([[-1.0, 1.0]])
    width = 1.02 * (np.concatenate([low, high], axis=1) - targets) / slope
    width = apart * np.maximum(apart * width, 0.0) + apart * (1e-10 / slope + 4e-16 * epsilon)
    out, open_ = np.repeat([[0.0, np.inf]], len(width), axis=0), np.ones(width.shape, dtype=bool)
    for _ in range(STEPS):
        at = epsilon + width
        asked = np.where(open_ & (at > 0), at, epsilon)
        low, high = sums.ends(asked)
        there = np.concatenate([low[:, :1] > targets[:, :1], high[:, 1:] <= targets[:, 1:]], axis=1) & (at > 0)
        out = np.where(there & open_, asked, out)
        open_ &= ~there
        if not open_.any():
            break
        width = 4 * width
    return out, epsilon


def _logarithm(ratio: ComplexArray, error: Array) -> tuple[ComplexArray, Array]:
    """Return ``log(1 + D)`` for D = ``ratio``, and the number ``e' = log(1 + e)``.

    Here e is a bound on the relative error of ``1 + D``, which includes the rounding of the logarithm. Unless D is
    small, the log modulus is computed from 1 + D itself. A modulus below UNIT_ROUNDOFF is replaced by UNIT_ROUNDOFF;
    the charge of 16 units covers this.
    """
    value = 1 + ratio
    size, small = np.abs(value), np.abs(ratio)
    tiny = size < UNIT_ROUNDOFF
    value[tiny] = size[tiny] = UNIT_ROUNDOFF
    near = small < 0.5
    out = np.empty(ratio.shape, dtype=np.complex128)
    real, imaginary = ratio.real, ratio.imag
    excess = real * (2 + real) + imaginary * imaginary  # |1 + D|^2 - 1
    log_size = np.log(size)
    out.real = np.where(near, 0.5 * np.log1p(np.maximum(excess, -0.75)), log_size)
    np.arctan2(value.imag, value.real, out=out.imag)
    units = np.where(near, 48 * small, 16 * (1 + size * np.abs(out)))
    return out, np.log1p((error + charged("rounding of logarithms", UNIT_ROUNDOFF * units)) / size)


def _log_expm1(x: Array) -> Array:
    """Return ``log(e^x - 1)`` for x > 0."""
    out: Array = x + np.log(-np.expm1(-x))
    return out
