"""Discrete Gaussian rounds: delta by a sum over one period of the lattice on which the sum of the losses lies.

With Z_i the noises, ``L_i = spacing_i Z_i + offset_i`` (``discrete.py``). Let lambda be the greatest number of which
all spacings are whole multiples, ``spacing_i = lambda n_i``; then the sum of all losses is ``lambda N + c`` with the
whole number N, the sum of all ``n_i Z_i``, and the sum c of all offsets. N has the moments ``G(w) = E e^(wN) = prod
M_i(n_i w)^k_i``. With n_0 the least whole number for which ``a = lambda n_0 + c - eps`` is positive, ``w = t + iu`` and
t > 0,

    delta(eps) = sum_(n >= n_0) P(N = n) (1 - e^(eps - c - lambda n)) = (1 / 2 pi) int_(-pi)^pi G(w) W(w) du ,
    W(w) = sum_(n >= n_0) (1 - e^(eps - c - lambda n)) e^(-wn)
         = e^(-w n_0) [1 / (1 - e^-w) - e^-a / (1 - e^(-w - lambda))] .

**The sum** ``S = (1/m) sum_j G(w_j) W(w_j)`` over m points ``u_j = 2 pi j / m`` of the period is
``sum_r e^(t m r) c_(mr)`` with ``c_l = sum_(n >= n_0) (1 - ...) P(N = n + l)``, so that ``S - delta`` is at least 0. As
``c_l <= 1`` and ``c_l <= P(N >= n_0 + l) <= G(t') e^(-t' (n_0 + l))`` for every t', with ``t' = t + theta`` it is at
most

    1 / (e^(t m) - 1)  +  G(t') e^(-t' n_0) / (e^(theta m) - 1) .

**The cut.** ``|M(t + iu)|`` falls as u rises from 0 to pi: by Jacobi's triple product M(w) is a positive number times
the product over n of ``(1 + b_n e^w)(1 + b_n e^-w)``, with ``b_n = e^(-(2n - 1) / 2 s^2)``, and the modulus of ``1 + b
e^(iu)`` falls for every b > 0. So what S loses by being cut at U, of all points beyond, is at most

    2 e^(-t n_0) / (1 - e^-t) prod |M_i(t + iU)|^k_i  over those with n_i = 1, times  M_i(n_i t)^k_i of the others.

Where n_0 cannot be told, as eps may lie on the lattice, the least of the two is taken. The term in doubt, of the mass
``P(N = n_0) <= G(t) e^(-t n_0)``, may then have a factor ``1 - e^(eps - c - lambda n_0)`` a little below 0: it enters
as it is, and the upper end is raised by its size.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import ClassVar

from flint import acb, arb

from hockeystick.engines.proof.discrete import DiscreteNoise, noise_moment
from hockeystick.engines.proof.enclosure import Enclosure
from hockeystick.engines.proof.rounds import ExactRounds
from hockeystick.numerics.balls import Ball, ComplexBall, ball, powers, precision, upper
from hockeystick.numerics.work import charge, spend
from hockeystick.values.errors import NotApplicableError

EXTRA = (0.05, 0.1, 0.2, 0.35, 0.5, 0.75, 1.0, 1.5, 2.5, 5.0)  # theta of t, that are tried
MOST_POINTS = 200_000  # of a sum
POINT, TERM = 30_000.0, 2_000.0  # units of work of a point and a kind of round, and of a term of a sum
MOST_CANCELLED = 4000  # bits: between two whole numbers the series of a moment cancels to e^(-1 / 8 s^2) of its terms
SPARE_BITS = 40  # beyond those of the tolerance, of the number of rounds and of lambda
START, STRIDE = 0.5, 1.3  # of where a normal law would be cut, and the factor by which the cut is moved on
DEEPEST = 30_000.0  # log of the least delta


class LatticeSum:
    """The sum of the module's docstring at one tilt, for epsilons near one for which it was laid.

    Args:
        rounds: discrete Gaussian rounds alone.
        tilt: about the saddle point of epsilon, in units of the loss.
        epsilon: where to look.
        depth: about log delta there.
        tolerance: wanted size of the remainders relative to delta.

    Raises:
        NotApplicableError: the lattice is so fine that the sum would be too long, or delta is too small.
    """

    name: ClassVar[str] = "lattice"

    def __init__(self, rounds: ExactRounds, tilt: float, epsilon: float, depth: float, tolerance: float) -> None:
        if -depth > DEEPEST:
            raise NotApplicableError("delta is too small for a proof")
        self._noises = list(rounds.discrete.items())
        self._spacing = _common([noise.spacing for noise, _ in self._noises])
        self._offset = sum((count * noise.offset for noise, count in self._noises), Fraction(0))
        self._steps = [int(noise.spacing / self._spacing) for noise, _ in self._noises]
        spacing = float(self._spacing)
        self._t = tilt * spacing
        wanted = depth + math.log(tolerance) - 3.0
        start = math.floor((epsilon - float(self._offset)) / spacing) + 1
        fine = 2 * max(-math.log2(min(self._t, 1.0)), -math.log2(min(spacing, 1.0)))
        cancelled = max(1 / (8 * math.log(2) * float(noise.variance)) for noise, _ in self._noises)
        if cancelled > MOST_CANCELLED:
            raise NotApplicableError("the noise is too small for a proof")
        rough = SPARE_BITS + math.ceil(fine + cancelled) + rounds.number.bit_length()
        with precision(rough):
            top = self._log_moment(self._t) - self._t * start - math.log(-math.expm1(-self._t))
            self._count = self._period(start, wanted)
            self._last = self._cut(start, wanted)
        charge(POINT * len(self._noises) * (self._last + 1), "the lattice is too fine for a proof")
        self._bits = rough + math.ceil(max(top - wanted, 0.0) / math.log(2))
        with precision(self._bits):
            turn = 2 * arb.pi() / self._count
            self._points = [acb(arb(self._t), turn * j) for j in range(self._last + 1)]
            values = [self._moment(w) / self._count for w in self._points]
            self._values = [values[0], *(2 * value for value in values[1:])]
            if 2 * self._last == self._count:
                self._values[-1] /= 2  # the point at pi is its own conjugate
            self._left = arb(0) if 2 * self._last >= self._count - 1 else self._beyond()
            self._most = upper(self._moment(acb(arb(self._t))).real)
            self._right = upper(self._moment(acb(arb(self._t) + arb(self._theta))).real)

    @staticmethod
    def applies(rounds: ExactRounds) -> bool:
        """Whether the rounds are discrete Gaussians alone."""
        return rounds.kinds == 1 and bool(rounds.discrete)

    def _moment(self, w: ComplexBall) -> ComplexBall:
        """The moments G(w) of N at a complex order."""
        total = acb(1)
        for (noise, count), step in zip(self._noises, self._steps, strict=True):
            total *= noise_moment(ball(noise.variance), step * w) ** count
        return total

    def _log_moment(self, t: float) -> float:
        """About log G(t), at a real t.

        Raises:
            NotApplicableError: it leaves the range of balls of the present precision.
        """
        found = self._moment(acb(t)).real.log()
        if not found.is_finite():
            raise NotApplicableError("the moments of the noise cannot be had at the tilt that a proof needs")
        return float(found.mid())

    def _period(self, start: int, wanted: float) -> int:
        """The number of points of a period, and theta: few, with both aliases small enough."""
        best = (math.inf, 0.0)
        for share in EXTRA:
            theta = share * self._t
            tail = self._log_moment(self._t + theta) - (self._t + theta) * start
            best = min(best, ((tail - wanted) / theta, theta))
        self._theta = best[1]
        count = max(best[0], (1.0 - wanted) / self._t, 8.0)
        if not count <= MOST_POINTS**2:
            raise NotApplicableError("the lattice is too fine for a proof")
        return math.ceil(count)

    def _beyond_log(self, last: int) -> Ball:
        """Log of the product in the bound on what lies beyond a point."""
        total, u = arb(0), 2 * arb.pi() * last / self._count
        for (noise, count), step in zip(self._noises, self._steps, strict=True):
            w = acb(arb(self._t), u if step == 1 else 0) * step
            total += count * abs(noise_moment(ball(noise.variance), w)).log()
        return total

    def _beyond(self) -> Ball:
        """The bound on what the cut leaves out, in units of ``e^(-t n_0)``."""
        return upper(2 * self._beyond_log(self._last).exp() / -(-arb(self._t)).expm1())

    def _cut(self, start: int, wanted: float) -> int:
        """The last point that is summed: the first one, about, beyond which little enough lies, or that at pi."""
        half = self._count // 2
        variance = sum(count * step**2 * float(noise.variance) for (noise, count), step in self._kinds())
        base = self._log_moment(self._t) - self._t * start - math.log(-math.expm1(-self._t)) + math.log(2)
        reach = START * math.sqrt(2 * max(base - wanted, 1.0) / variance)
        while True:
            last = math.ceil(reach * self._count / (2 * math.pi))
            if last >= half:
                last = half
                break
            log = self._beyond_log(last) - self._t * start + math.log(2) - math.log(-math.expm1(-self._t))
            if log < wanted:
                break
            reach *= STRIDE
        if last > MOST_POINTS:
            raise NotApplicableError("the lattice is too fine for a proof")
        return last

    def _kinds(self) -> list[tuple[tuple[DiscreteNoise, int], int]]:
        return list(zip(self._noises, self._steps, strict=True))

    def delta(self, epsilon: Ball) -> Enclosure:
        """Proved ends of delta at any epsilon; near one another about the sum's own."""
        spend(TERM * len(self._points))
        with precision(self._bits):
            spacing, t = ball(self._spacing), arb(self._t)
            place = (epsilon - ball(self._offset)) / spacing
            start = int(place.lower().floor().unique_fmpz()) + 1
            doubt = upper(spacing * (place - start)).expm1().max(arb(0))
            share = (epsilon - ball(self._offset) - spacing * start).exp()  # e^-a
            turns = powers((acb(0, -2 * arb.pi() * start / self._count)).exp(), len(self._points))
            total = arb(0)
            for value, turn, w in zip(self._values, turns, self._points, strict=True):
                weight = 1 / (1 - (-w).exp()) - share / (1 - (-w - spacing).exp())
                total += (value * turn * weight).real
            scale = (-t * start).exp()
            doubt = upper(doubt * self._most * scale)
            total *= scale
            tilted = t + arb(self._theta)
            aliases = 1 / (t * self._count).expm1()
            aliases += self._right * (-tilted * start).exp() / (arb(self._theta) * self._count).expm1()
            left = self._left * scale
            return Enclosure((total - left - aliases).lower(), upper(total + left + doubt))

    def solve(self, target: Ball, guess: float, tilt: float) -> tuple[float, float]:
        """The epsilon >= 0 at which the sum meets the target, about, and ``-d log delta / d eps`` there.

        Secant steps on the logarithm, the first one by the tilt, within the bracket that the values so far leave; any
        answer is sound.
        """
        epsilon, slope = guess, tilt
        low, high = 0.0, math.inf
        before: tuple[float, float] | None = None
        for _ in range(STEPS):
            found = self.delta(arb(epsilon))
            middle = (found.lower + found.upper) / 2
            if not middle > 0:
                break
            excess = float((middle / target).log().mid())
            if before is not None and epsilon != before[0] and excess != before[1]:
                slope = max((before[1] - excess) / (epsilon - before[0]), 1e-3 * tilt)
            before = epsilon, excess
            low, high = (epsilon, high) if excess > 0 else (low, epsilon)
            after = max(epsilon + excess / slope, 0.0)
            if after != epsilon and not low < after < high:
                after = 0.5 * (low + high) if math.isfinite(high) else 2 * epsilon + 1.0
            if abs(after - epsilon) <= 1e-15 * after:
                return after, slope
            epsilon = after
        return epsilon, slope


STEPS = 60
"""Of the secant method: a handful is taken, more where delta bends at a loss."""


def _common(spacings: list[Fraction]) -> Fraction:
    """The greatest number of which all are whole multiples."""
    numerator = math.gcd(*(spacing.numerator * _rest(spacings, spacing) for spacing in spacings))
    return Fraction(numerator, math.lcm(*(spacing.denominator for spacing in spacings)))


def _rest(spacings: list[Fraction], one: Fraction) -> int:
    """What the denominator of one of them is short of the common one."""
    return math.lcm(*(spacing.denominator for spacing in spacings)) // one.denominator
