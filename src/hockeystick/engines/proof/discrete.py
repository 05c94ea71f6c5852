"""Discrete Gaussian noise in balls: its moments at complex orders, whatever its size."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from flint import acb, arb, ctx

from hockeystick.numerics.balls import Ball, ComplexBall, ball, spread, upper
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
