"""Delta by a trapezoid sum on a vertical line in the complex plane, entirely in ball arithmetic.

Let K be the sum of log m over all rounds, where m is the characteristic function of a round, and let
``F(z) = K(z) - eps z - log z - log(1 + z)``. For t > 0, a step ds of s, and P = 2 pi / ds, Poisson summation gives

    S = (1 / P) sum_j e^(F(t + i j ds)) = sum_n e^(t P n) delta(eps + P n) .

- aliases: ``S - delta`` is the sum of the terms on the right with n != 0. These terms are not negative, and their sum
  is at most

      1 / (e^(tP) - 1)  +  e^(K(y) - y eps) peak(y) / (e^((y - t) P) - 1),    peak(y) = y^y / (1+y)^(1+y) .

  The first term bounds the aliases with n < 0, since delta <= 1. The second bounds those with n > 0, since
  ``delta(x) <= e^(K(y) - y x) peak(y)`` for every y > t.
- cut: suppose that for each kind of rounds ``|m(t + is)| <= rho m(t)`` for all s >= H (``lines.py``), and let rho^k be
  the product of rho over all rounds. As ``|z (1 + z)| >= s^2``, the part of the sum beyond the height H is at most

      e^(K(t) - t eps) rho^k / pi (ds / H^2 + 1 / H) .

Tilts and step come from the guide in floating point (``engines/guide.py``): any choice is sound.
"""

from __future__ import annotations

import math
from operator import mul

from flint import acb, arb

from hockeystick.engines.contour.cut import RATIO, START
from hockeystick.engines.contour.path import Aim, shortest
from hockeystick.engines.proof.lines import Line, lines
from hockeystick.engines.proof.rounds import ExactRounds
from hockeystick.engines.proof.search import Enclosure
from hockeystick.numerics.balls import GUARD_BITS, MOST_BITS, Ball, powers, precision, upper
from hockeystick.numerics.rounding import SMALLEST_NORMAL
from hockeystick.values.errors import NotApplicableError

LESS_TILT = 1e-6  # precision of a sum in doubles, which limits how far the tilt may be below the saddle point
MAX_POINTS = 200_000  # largest number of points of all kinds of rounds together, which take about a second
LEAST_LOST, MOST_LOST = 1e-100, 0.1  # smallest and largest share of a density that boxes leave uncovered
ROUGH = -5.0  # log of the relative remainders of m(t) where m(t) is needed only to within a constant factor


class Contour:
    """The trapezoid sum of the module docstring, set up for one epsilon and usable at epsilons near it.

    Args:
        rounds: the rounds, some of which have densities; none has discrete Gaussian noise.
        aim: the epsilon, its saddle point and the approximate log delta there.
        tolerance: desired size of the remainders relative to delta.

    Raises:
        NotApplicableError: the sum would be too long.
    """

    name = "contour"

    def __init__(self, rounds: ExactRounds, aim: Aim, tolerance: float) -> None:
        number, epsilon, log_delta = rounds.number, aim.epsilon, aim.depth
        wanted = log_delta + math.log(tolerance) - 2.0
        self._t, theta, _ = shortest(aim, math.inf, math.inf, wanted, LESS_TILT)
        self._right = self._t + theta
        at = aim.guide.cumulants(self._t)
        top = at.k0 - self._t * epsilon
        log_inner = wanted - max(top, log_delta) - math.log(number) - 3.0  # relative remainder of one round's m
        self._bits = GUARD_BITS + math.ceil(-log_inner / math.log(2)) + number.bit_length()
        if self._bits > MOST_BITS:
            raise NotApplicableError("delta is too small for a proof")
        with precision(self._bits):
            self._log_right = log_moment(rounds, self._right) + log_peak(arb(self._right))
            reach = float(self._log_right.mid()) - self._right * epsilon - wanted
            period = 1.02 * max(reach / (self._right - self._t), -wanted / self._t)
            if not (math.isfinite(period) and period > 0):
                raise NotApplicableError("the aliasing of the contour cannot be bounded")
            self._step = 2 * math.pi / period
            along = lines(rounds, self._t, log_inner)
            self._size = sum((times * line.moment.log() for line, times in along), arb(0)).exp()
            if not self._size.is_finite():
                raise NotApplicableError("the moments on the contour have no finite bound")
            count = self._cut(along, wanted - top, at.k2)
            if count * len(along) > MAX_POINTS:
                raise NotApplicableError("the plan has too few rounds for a proof: the contour would be too long")
            points = (acb(arb(self._t), arb(self._step) * j) for j in range(count))
            terms = [arb(self._step) / arb.pi() / (z * (1 + z)) for z in points]  # terms at s and at -s together
            terms[0] /= 2
            for line, times in along:
                terms = [term * value**times for term, value in zip(terms, line.values(self._step, count), strict=True)]
            self._terms = terms

    def _cut(self, along: list[tuple[Line, int]], depth: float, variance: float) -> int:
        """Return a number of points after which the remainder of the sum is small enough.

        Args:
            along: the lines with their counts.
            depth: log of the remainder allowed, in units of ``e^(K(t) - t eps)``.
            variance: approximate variance of the sum of the losses under the tilted law.

        Raises:
            NotApplicableError: more than the largest number of points would be needed.
        """
        depth = min(depth, -1.0)
        lost = min(max(0.3 * math.exp(depth / sum(times for _, times in along)), LEAST_LOST), MOST_LOST)
        reach = START * math.sqrt(-2 * depth / max(SMALLEST_NORMAL, variance))
        while (count := math.ceil(reach / self._step) + 1) <= MAX_POINTS:
            end = arb(self._step) * (count - 1)
            log_rho = sum((times * line.log_decay(reach, lost) for line, times in along), arb(0))
            self._rest = upper(log_rho.exp() * (arb(self._step) / end**2 + 1 / end) / arb.pi())
            if self._rest.log() < depth:
                return count
            reach *= RATIO
        raise NotApplicableError("the plan has too few rounds for a proof: the sum would be too long")

    def delta(self, epsilon: Ball) -> Enclosure:
        """Return proved ends of delta at any epsilon; they are close together near the epsilon of ``aim``."""
        with precision(self._bits):
            turns = powers(acb(0, -epsilon * arb(self._step)).exp(), len(self._terms))
            scale = (-arb(self._t) * epsilon).exp()
            total = sum(map(mul, self._terms, turns), acb(0)).real * scale
            rest = self._rest * self._size * scale
            return Enclosure((total - rest - self._aliases(epsilon)).lower(), upper(total + rest))

    def _aliases(self, epsilon: Ball) -> Ball:
        t, y, period = arb(self._t), arb(self._right), 2 * arb.pi() / arb(self._step)
        right = (self._log_right - y * epsilon).exp() / ((y - t) * period).expm1()
        return upper(1 / (t * period).expm1() + right)


def log_moment(rounds: ExactRounds, t: float) -> Ball:
    """Return a ball around K(t), the cumulant generating function of the sum of the losses."""
    along = lines(rounds, t, ROUGH - math.log(rounds.number))
    return sum((count * line.moment.log() for line, count in along), arb(0))


def log_peak(y: Ball) -> Ball:
    """Return ``log peak(y) = y log y - (1 + y) log(1 + y)``."""
    return y * y.log() - (1 + y) * (1 + y).log()


def chernoff(rounds: ExactRounds, t: float) -> Ball:
    """Return a ball around the Chernoff exponent ``K(t) + log peak(t)``; minus ``t eps``, it bounds log delta(eps)."""
    with precision(GUARD_BITS + rounds.number.bit_length()):
        return log_moment(rounds, t) + log_peak(arb(t))
