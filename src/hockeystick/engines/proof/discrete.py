"""Discrete Gaussian noise in balls: its moments at complex orders, whatever its size."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from flint import acb, arb, ctx

from hockeystick.engines.proof.lattice_laws import Outcome
from hockeystick.numerics.balls import Ball, ComplexBall, ball, spread, upper
from hockeystick.values.adjacency import Direction
from hockeystick.values.errors import NotApplicableError

SPARE_BITS = 8  # by which the first term that is left out is below the precision
MOST_WAVES = 10_000  # terms of a theta series: noise of 1e-3 takes some 3,000 at a hundred bits


@dataclass(frozen=True, slots=True)
class DiscreteNoise:
    """Noise Z on whole numbers with ``P(Z = k)`` proportional to ``e^(-k^2 / 2 variance)``, at a distance against 0.

    Of the outcome ``distance + Z`` the loss is ``spacing Z + offset`` (``pairs/discrete.py``), over all whole numbers
    Z.

    Attributes:
        distance: by how much the two centres differ.
        variance: the parameter of the noise, squared.
    """

    distance: int
    variance: Fraction

    @property
    def spacing(self) -> Fraction:
        """The distance of neighbouring losses."""
        return self.distance / self.variance

    @property
    def offset(self) -> Fraction:
        """The loss of the outcome in the middle."""
        return Fraction(self.distance**2) / (2 * self.variance)

    def values(self, t: float, step: float, count: int) -> list[ComplexBall]:
        """``m(t + i j step) = e^(offset z) M(spacing z)`` for j < count, M that of the noise."""
        spacing, offset, variance = ball(self.spacing), ball(self.offset), ball(self.variance)
        points = [acb(arb(t), arb(step) * j) for j in range(count)]
        return [(offset * z).exp() * noise_moment(variance, spacing * z) for z in points]

    def terms(self, log_mass: float, bits: int) -> int:
        """How many outcomes :meth:`outcomes` and what it takes go through, about."""
        return 2 * self._reach(log_mass) + self.distance + self._reach(-bits * math.log(2))

    def outcomes(self, log_mass: float) -> tuple[list[Outcome], Ball]:
        """The outcomes nearest to either centre, and a bound on what P shows of others: about ``e^log_mass``."""
        law, reach = self._law(log_mass)
        spacing, offset, d = ball(self.spacing), ball(self.offset), self.distance
        out = [Outcome(spacing * (x - d) + offset, law[abs(x - d)], law[abs(x)]) for x in range(-reach, d + reach + 1)]
        return out, _missing(out)

    def _law(self, log_mass: float) -> tuple[list[Ball], int]:
        """The masses of 0, 1, 2, ... and how far from the centre others are next to nothing.

        The sum of all ``f(k) = e^(-k^2 / 2 s^2)`` is that of those up to a number K on either side and of the rest, at
        most ``2 f(K + 1) / (1 - e^(-(2 K + 3) / 2 s^2))``, as the ratio of neighbours falls.
        """
        reach = self._reach(log_mass)
        last, variance = max(reach + self.distance, self._reach(-ctx.prec * math.log(2))), ball(self.variance)
        sizes = [(-arb(k * k) / (2 * variance)).exp() for k in range(last + 2)]
        rest = 2 * sizes[-1] / (1 - (-arb(2 * last + 3) / (2 * variance)).exp())
        whole = sizes[0] + 2 * sum(sizes[1:-1], arb(0)) + rest / 2 + spread(rest / 2)
        return [size / whole for size in sizes], reach

    def _reach(self, log_mass: float) -> int:
        """About how far out the noise has a probability of ``e^log_mass``."""
        return math.ceil(math.sqrt(2 * max(-log_mass, 1.0) * float(self.variance))) + 1


@dataclass(frozen=True, slots=True)
class SampledNoise:
    """Discrete Gaussian noise on a batch that a record enters with a probability below 1, a record removed or added.

    Attributes:
        noise: that of a batch.
        rate: probability with which a record enters a batch.
        direction: of the two.
    """

    noise: DiscreteNoise
    rate: Fraction
    direction: Direction

    def terms(self, log_mass: float, bits: int) -> int:
        """How many outcomes :meth:`outcomes` and what it takes go through, about."""
        return self.noise.terms(log_mass, bits)

    def outcomes(self, log_mass: float) -> tuple[list[Outcome], Ball]:
        """The outcomes nearest to either centre, and a bound on what P shows of others: about ``e^log_mass``."""
        q, out = ball(self.rate), []
        for _, with_, without in self.noise.outcomes(log_mass)[0]:
            mixed = (1 - q) * without + q * with_
            loss = (mixed / without).log()
            removed = self.direction is Direction.REMOVE
            out.append(Outcome(loss, mixed, without) if removed else Outcome(-loss, without, mixed))
        return out, _missing(out)

    def supremum(self) -> Ball:
        """What no loss reaches where a record is added."""
        return -(1 - ball(self.rate)).log()


def _missing(outcomes: list[Outcome]) -> Ball:
    """What P shows of others, at most."""
    return (1 - sum((outcome.p for outcome in outcomes), arb(0))).upper().max(arb(0))


def noise_moment(variance: Ball, w: ComplexBall) -> ComplexBall:
    """A ball around ``M(w) = E e^(w Z)``.

    By Poisson's summation formula, with ``s^2`` the variance,

        sum_k e^(-k^2 / 2 s^2 + w k) = s sqrt(2 pi) e^(s^2 w^2 / 2) sum_k e^(-2 pi^2 s^2 k^2 + 2 pi i s^2 k w) ,

    and M has the period 2 pi in Im w, which is brought between about -pi and pi. Then, with ``|Im w| <= V``, the term k
    is at most ``e^(-2 pi s^2 |k| (pi |k| - V))`` in modulus; from K on, where ``pi (2 K + 1) > V``, each such bound is
    at most ``r = e^(-2 pi s^2 (pi (2 K + 1) - V))`` times the one before, so that the terms from K on on one side sum
    to at most the bound of the first of them over ``1 - r``.

    Raises:
        NotApplicableError: the noise is too small for the series.
    """
    turns = round(float(w.imag.mid()) / (2 * math.pi))
    w = acb(w.real, w.imag - 2 * arb.pi() * turns)
    factor, reach = 2 * arb.pi() * variance, upper(abs(w.imag))
    top, below = acb(1), arb(1)
    for k in range(1, MOST_WAVES):
        size = (-factor * k * (arb.pi() * k - reach)).exp()
        ratio = (-factor * (arb.pi() * (2 * k + 1) - reach)).exp()
        if size < arb(2) ** -(ctx.prec + SPARE_BITS) and ratio < arb("0.5"):
            rest = spread(2 * size / (1 - ratio))
            return (variance * w * w / 2).exp() * acb(top.real + rest, top.imag + rest) / (below + rest)
        fall, turn = -factor * arb.pi() * k * k, acb(0, factor * k) * w
        top += (fall + turn).exp() + (fall - turn).exp()
        below += 2 * fall.exp()
    raise NotApplicableError("the noise is too small for the series of its moments")
