"""Rounds whose losses are atoms, in ball arithmetic: finitely many outcomes, and discrete Gaussian noise."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

from flint import arb, ctx

from hockeystick.numerics.balls import MOST_BITS, Ball, ball, precision, spread
from hockeystick.pairs.exact import ExactFinite, Exponential
from hockeystick.values.adjacency import Direction
from hockeystick.values.errors import NotApplicableError

SPARE_BITS = 16  # number of bits of the current precision that a ball may lack


class Outcome(NamedTuple):
    """A finite loss of one round and its masses under P and Q, all as balls."""

    loss: Ball
    p: Ball
    q: Ball


def exponential_ball(number: Exponential) -> Ball:
    """Return a ball around ``sum a e^b`` that is accurate to nearly all bits of the current precision.

    All b are different, and all a are nonzero. By the Lindemann-Weierstrass theorem such a sum is 0 only if it has no
    terms. So some working precision suffices: it is doubled until the radius is small relative to the number.

    Raises:
        NotApplicableError: the sum is so near 0 that no precision up to ``MOST_BITS`` separates it from 0.
    """
    wanted, working = ctx.prec - SPARE_BITS, ctx.prec
    while working <= MOST_BITS:
        with precision(working):
            value = sum((ball(factor) * ball(power).exp() for factor, power in number), arb(0))
        if not number or (not value.contains(0) and value.rel_accuracy_bits() >= wanted):
            return +value
        working *= 2
    raise NotApplicableError("two exact masses of a round are too close to tell apart")


@dataclass(frozen=True, slots=True)
class FiniteLaw:
    """A round with finitely many outcomes.

    If its rate is below 1, the round is Poisson-sampled and has a direction. Otherwise ``direction`` is ``None``.
    """

    law: ExactFinite
    direction: Direction | None

    def outcomes(self, log_mass: float) -> tuple[list[Outcome], Ball]:
        """Return all outcomes of finite loss, and 0 for the mass left out; ``log_mass`` is not used."""
        with_, without = (self._masses(law) for law in (self.law.with_, self.law.without))
        return _paired(with_, without, self.law.rate, self.direction), arb(0)

    def _masses(self, law: tuple[Exponential, ...]) -> list[Ball]:
        """Return the masses of one law as balls; the mass of an impossible outcome is exactly 0."""
        masses = [exponential_ball(mass) for mass in law]
        total = sum(masses, arb(0))
        return [mass / total for mass in masses]

    @property
    def infinite_mass(self) -> Fraction:
        """Return ``P(L = +inf)``.

        It is 0 for adding a record: an outcome that is possible without the record is also possible with it, on a batch
        that does not contain the record.
        """
        return Fraction(0) if self.direction is Direction.ADD else self.law.rate * self.law.failure

    @property
    def largest(self) -> Fraction | None:
        """Return the largest finite loss if it is a fraction, else ``None``."""
        return self.law.largest if self.law.rate == 1 else None

    def size(self, log_mass: float) -> int:
        """Return an upper bound on the number of outcomes, all of which are kept."""
        return len(self.law.with_)


@dataclass(frozen=True, slots=True)
class DiscreteNoise:
    """A round with discrete Gaussian noise: integers Z with ``P(Z = k)`` proportional to ``e^(-k^2 / (2 variance))``.

    Attributes:
        distance: distance between the centres of the noise with and without the record.
        variance: square of the noise parameter.
        rate: probability with which a record enters a batch.
        direction: direction of the pair if rate < 1, else ``None``.
    """

    distance: int
    variance: Fraction
    rate: Fraction
    direction: Direction | None

    def outcomes(self, log_mass: float) -> tuple[list[Outcome], Ball]:
        """Return the outcomes near either centre, and a bound, about ``e^log_mass``, on the P-mass of all others."""
        law, reach = self._law(log_mass)
        places = range(-reach, self.distance + reach + 1)
        with_, without = [law[abs(x - self.distance)] for x in places], [law[abs(x)] for x in places]
        out = _paired(with_, without, self.rate, self.direction)
        return out, (1 - sum((outcome.p for outcome in out), arb(0))).upper().max(arb(0))

    def _law(self, log_mass: float) -> tuple[list[Ball], int]:
        """Return the masses of 0, 1, 2, ... under noise centred at 0, and a distance with negligible mass beyond it.

        Let s^2 be the variance and K the distance. The sum of ``f(k) = e^(-k^2 / 2 s^2)`` over all integers k is the
        sum over ``|k| <= K`` plus a remainder. The remainder is at most ``2 f(K + 1) / (1 - e^(-(2 K + 3) / 2 s^2))``,
        as the ratio of neighbouring terms decreases.
        """
        reach = self._reach(log_mass)
        last, variance = max(reach + self.distance, self._reach(-ctx.prec * math.log(2))), ball(self.variance)
        sizes = [(-arb(k * k) / (2 * variance)).exp() for k in range(last + 2)]
        rest = 2 * sizes[-1] / (1 - (-arb(2 * last + 3) / (2 * variance)).exp())
        whole = sizes[0] + 2 * sum(sizes[1:-1], arb(0)) + rest / 2 + spread(rest / 2)
        return [size / whole for size in sizes], reach

    def _reach(self, log_mass: float) -> int:
        """Return the approximate distance from the centre at which the noise has a probability of ``e^log_mass``."""
        return math.ceil(math.sqrt(2 * max(-log_mass, 1.0) * float(self.variance))) + 1

    def size(self, log_mass: float) -> int:
        """Return the number of outcomes kept if the mass of the others is at most ``e^log_mass``."""
        return 2 * self._reach(log_mass) + self.distance


def _paired(with_: list[Ball], without: list[Ball], rate: Fraction, direction: Direction | None) -> list[Outcome]:
    """Return the outcomes of finite loss of a round whose batch contains the record with probability ``rate``.

    With the record in the batch, the output has the law ``with_``, and otherwise the law ``without``
    (``pairs/sampled``).
    """
    q = ball(rate)
    p = with_ if direction is None else [(1 - q) * out + q * in_ for in_, out in zip(with_, without, strict=True)]
    pairs = zip(without, p, strict=True) if direction is Direction.ADD else zip(p, without, strict=True)
    return [Outcome((one / other).log(), one, other) for one, other in pairs if not (one.is_zero() or other.is_zero())]
