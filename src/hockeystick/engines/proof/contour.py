"""Log delta and epsilon by the trapezoid sum of ``engines/contour/engine.py``, every quantity a ball.

With ``F(z) = K(z) - eps z - log z - log(1 + z)``, t > 0 and the step ds of s, P = 2 pi / ds,

    S = (1 / P) sum_j e^(F(t + i j ds)) = sum_m e^(t P m) delta(eps + P m) ,

so that ``S - aliases = delta``, where the aliases are at least 0 and at most

    1 / (e^(tP) - 1)  +  e^(K(t+theta) - (t+theta) eps) peak(t+theta) / (e^(theta P) - 1),
    peak(x) = x^x / (1+x)^(1+x) ,

since delta <= 1 to the left and ``delta(x) <= e^(K(y) - y x) peak(y)`` for every y > 0. The sum is cut at a reach; the
rest is bounded in ``decay.py``, or the jumps are taken apart (``jumps.py``). Tilt, extra tilt and step come from
approximations: any choice is sound.
"""

from __future__ import annotations

import math
from operator import mul

from flint import acb, arb

from hockeystick.engines.guide import Guide
from hockeystick.engines.proof.decay import Cut, Decay
from hockeystick.engines.proof.discrete import DiscreteNoise
from hockeystick.engines.proof.enclosure import Enclosure
from hockeystick.engines.proof.jumps import Apart
from hockeystick.engines.proof.mixture import MixtureBalls
from hockeystick.engines.proof.rounds import ExactRounds, Finite, LaplaceNoise
from hockeystick.engines.proof.sampled_laplace import SampledLaplaceBalls
from hockeystick.numerics.balls import Ball, ComplexBall, ball, powers, precision, upper
from hockeystick.numerics.work import charge, check_left, spend
from hockeystick.pairs.renyi import log_peak
from hockeystick.values.errors import NotApplicableError

TILTS = (1.0, 0.92, 0.85, 0.78, 0.7, 0.62, 0.55, 0.47, 0.4)  # of the saddle point
EXTRA_TILTS = (0.05, 0.1, 0.2, 0.35, 0.5, 0.75, 1.0, 1.5, 2.5, 5.0)  # of the tilt, for the right alias
MAX_AMPLIFICATION = 40.0  # log of how much more the modulus may weigh at less tilt
DEARER = 30.0  # by so much it takes a line e times as long to be worth it: more depth is more nodes, points and bits
MAX_POINTS = 400_000  # of a line
LINE_POINT, SUM_POINT = 30_000.0, 1_000.0  # units of work of a point and a kind of round, and of a point in a sum
GUARD_BITS = 44  # beyond those of the remainders and of the number of rounds
LONG = 2000  # points from which on a shorter line is looked for
SHORTER = 0.5  # what it has to be of the longer one
MIN_EPSILON = 1e-12  # below which 0 is tried


def moments(rounds: ExactRounds, t: float, step: float, count: int, log_tolerance: float) -> list[ComplexBall]:
    """``e^K(t + i j step)`` for j < count: the product of all m to their powers.

    Args:
        rounds: what is composed.
        t: tilt > 0.
        step: between the points.
        count: number of points.
        log_tolerance: log of the remainder wanted of one round's m, relative to m(t).
    """
    totals = [acb(1)] * count
    for item, power in rounds.sampled.items():
        values = MixtureBalls(item).values(t, step, count, log_tolerance)
        totals = [total * value**power for total, value in zip(totals, values, strict=True)]
    for one, power in rounds.sampled_laplace.items():
        values = SampledLaplaceBalls(one).values(t, step, count, log_tolerance)
        totals = [total * value**power for total, value in zip(totals, values, strict=True)]
    others: list[tuple[Finite | LaplaceNoise | DiscreteNoise, int]] = [
        *rounds.boxes.items(),
        *rounds.laplace.items(),
        *rounds.discrete.items(),
    ]
    for closed, power in others:
        values = closed.values(t, step, count)
        totals = [total * value**power for total, value in zip(totals, values, strict=True)]
    if rounds.mu_squared:
        half = ball(rounds.mu_squared) / 2
        for j in range(count):
            z = acb(arb(t), arb(step) * j)
            totals[j] *= (half * z * (1 + z)).exp()
    return totals


def chernoff(rounds: ExactRounds, t: float) -> Ball:
    """A ball around ``K(t) + log peak(t)``: ``log delta(eps)`` is at most this less ``t eps``."""
    with precision(GUARD_BITS + rounds.number.bit_length()):
        at = arb(t)
        return log_moment(rounds, t) + at * at.log() - (1 + at) * (1 + at).log()


def log_moment(rounds: ExactRounds, t: float) -> Ball:
    """A ball around K(t), the sum over all rounds."""
    number = rounds.number
    with precision(GUARD_BITS + number.bit_length()):
        return moments(rounds, t, 1.0, 1, -5.0 - math.log(number))[0].real.log()


class BallContour:
    """A vertical line in balls, with its nodes and remainders.

    Args:
        rounds: what is composed.
        guide: approximate cumulants.
        saddle: saddle point of epsilon.
        epsilon: where to look.
        depth: about log delta there.
        tolerance: wanted size of the remainders relative to delta.
    """

    name = "contour"

    def __init__(
        self, rounds: ExactRounds, guide: Guide, saddle: float, epsilon: float, depth: float, tolerance: float
    ) -> None:
        self._rounds, self._guide = rounds, guide
        self._apart: Apart | None = None
        wanted = depth + math.log(tolerance) - 2.0
        self.t, self.theta, period = self._line(saddle, epsilon, wanted)
        if not (math.isfinite(period) and period > 0):
            raise NotApplicableError("the aliases of the contour cannot be bounded")
        self.step = 2 * math.pi / (period * 1.02)
        cumulants = guide.cumulants(self.t)
        top = cumulants.k0 - self.t * epsilon
        cut = self._cut(epsilon, wanted, top, cumulants.k2)
        count = math.ceil(cut.reach / self.step) + 1
        charge(LINE_POINT * count * rounds.kinds, "too few rounds for a proof: its line is too long")
        number = rounds.number
        log_inner = wanted - max(top, depth) - math.log(number) - 3.0  # relative remainder of one round's m
        self.bits = GUARD_BITS + math.ceil(-log_inner / math.log(2)) + number.bit_length()
        with precision(self.bits):
            self._rest = cut.rest
            self._points = [acb(arb(self.t), arb(self.step) * j) for j in range(count)]
            self._terms = self._sum_terms(log_inner)
            tilted = moments(self._rounds, self.t + self.theta, 1.0, 1, log_inner)[0].real
            self._right = upper(tilted)

    def _cut(self, epsilon: float, wanted: float, top: float, variance: float) -> Cut:
        """The end of the line: by the decay of all characteristic functions, or much earlier with jumps taken apart."""
        try:
            cut = Decay(self._rounds, self.t, wanted - top, variance).cut(self.step, MAX_POINTS)
        except NotApplicableError as error:
            cut, refusal = Cut(math.inf, arb.pos_inf()), error
        if cut.reach > LONG * self.step:
            self._apart = Apart.of(self._rounds, self.t, epsilon, wanted)
        if self._apart and self._apart.reach < min(SHORTER * cut.reach, MAX_POINTS * self.step):
            return Cut(self._apart.reach, self._apart.rest(self.step))
        self._apart = None
        if math.isinf(cut.reach):
            raise refusal
        return cut

    def _line(self, saddle: float, epsilon: float, wanted: float) -> tuple[float, float, float]:
        """Tilt, extra tilt and period: a short period among a few tilts."""
        best, least = (math.inf, 0.0), math.inf
        for factor in TILTS:
            t = factor * saddle
            base = self._guide.cumulants(t).k0 - t * epsilon - math.log(t) - math.log1p(t)
            least = min(least, base)
            if base > least + MAX_AMPLIFICATION:
                break
            left = (1.0 - wanted) / t
            for theta in EXTRA_TILTS:
                k_right = self._guide.cumulants((1 + theta) * t).k0
                period = max(left, _right(t, theta * t, k_right, epsilon, wanted))
                if math.isfinite(period):
                    best = min(best, (math.log(period) + (base - least) / DEARER, t))
        t = best[1]
        if not t:
            raise NotApplicableError("the aliases of the contour cannot be bounded")
        # the guide's K may be too small where it does not reach: the extra tilt is chosen by values
        number = self._rounds.number
        shortest = (math.inf, 0.0)
        with precision(GUARD_BITS + number.bit_length()):
            for theta in EXTRA_TILTS:
                try:
                    k_right = moments(self._rounds, (1 + theta) * t, 1.0, 1, -5.0 - math.log(number))[0].real.log()
                except NotApplicableError:
                    break  # further ones are no easier
                if k_right.is_finite():
                    shortest = min(shortest, (_right(t, theta * t, float(k_right.mid()), epsilon, wanted), theta * t))
        return t, shortest[1], max((1.0 - wanted) / t, shortest[0])

    def _sum_terms(self, log_tolerance: float) -> list[ComplexBall]:
        """``(ds / 2 pi) e^K / (z (1 + z))``, twice for j > 0, where the conjugates are added."""
        if self._apart:
            values, self._size = self._apart.values(self.step, len(self._points), log_tolerance)
        else:
            values = moments(self._rounds, self.t, self.step, len(self._points), log_tolerance)
            self._size = upper(values[0].real)
        twice = arb(self.step) / arb.pi()
        terms = [value * twice / (z * (1 + z)) for value, z in zip(values, self._points, strict=True)]
        return [terms[0] / 2, *terms[1:]]

    def _sum(self, epsilon: Ball, weighted: bool = False) -> Ball:
        """The cut sum S, or ``-dS / d eps``."""
        check_left()
        spend(SUM_POINT * len(self._terms))
        turns = powers(acb(0, -epsilon * arb(self.step)).exp(), len(self._terms))
        terms = map(mul, self._terms, self._points) if weighted else self._terms
        total = sum(map(mul, terms, turns), acb(0))
        return total.real * (-arb(self.t) * epsilon).exp()

    def delta(self, epsilon: Ball) -> Enclosure:
        """Proved ends of delta at any epsilon; near one another about the contour's own."""
        with precision(self.bits):
            total = self._sum(epsilon)
            rest = self._rest * self._size * (-arb(self.t) * epsilon).exp()
            more = self._apart.core(epsilon) if self._apart else arb(0)
            return Enclosure((total - rest - self._aliases(epsilon)).lower(), upper(total + rest + more))

    def _aliases(self, epsilon: Ball) -> Ball:
        t, theta = arb(self.t), arb(self.theta)
        tilted = arb(self.t + self.theta)
        period = 2 * arb.pi() / arb(self.step)
        log_peak_ = tilted * tilted.log() - (1 + tilted) * (1 + tilted).log()
        theta = tilted - t
        right = self._right * (log_peak_ - tilted * epsilon).exp() / (theta * period).expm1()
        return upper(1 / (t * period).expm1() + right)

    def solve(self, target: Ball, guess: float) -> tuple[float, float]:
        """The epsilon >= 0 at which S meets the target, and ``-d log S / d eps`` there, as a guess.

        Newton's method on log S, kept inside the bracket that the values seen so far leave.
        """
        epsilon, slope, low, high = guess, self.t, 0.0, math.inf
        with precision(self.bits):
            for _ in range(100):
                value, derivative = self._sum(arb(epsilon)), self._sum(arb(epsilon), weighted=True)
                step = -math.inf
                if value > 0 and derivative > 0:
                    slope = float((derivative / value).mid())
                    step = float((value / target).log().mid()) / slope
                low, high = (epsilon, high) if step > 0 else (low, epsilon)
                updated = epsilon + min(step, 3.0 / slope)
                if not low <= updated < high:
                    updated = 0.5 * (low + min(high, 2 * epsilon + 1.0))
                if updated == epsilon or abs(step) <= 1e-15 * epsilon or high < MIN_EPSILON:
                    break
                epsilon = updated
        return (epsilon if high >= MIN_EPSILON else 0.0), max(slope, 1e-300)


def _right(t: float, theta: float, k_right: float, epsilon: float, wanted: float) -> float:
    """The period that makes the right alias small enough, about."""
    tilted = t + theta
    return (k_right - tilted * epsilon + log_peak(tilted) - wanted + 1.0) / theta
