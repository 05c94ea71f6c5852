"""The likelihood ratio of one Gaussian step under Q, by normal tails: ``1 - q + q Y`` with a lognormal Y of mean 1."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from statistics import NormalDist

from flint import arb

from hockeystick.engines.proof.convex_order import Part
from hockeystick.numerics.balls import Ball, ball, normal_tail

MOST = 600.0  # an exponent that a double holds, divided by the width of a cell, too


@dataclass(frozen=True, slots=True)
class Lognormal:
    """``Y = e^(mu x - mu^2 / 2)``, x standard normal: ``N(mu, 1)`` against ``N(0, 1)``, under the second.

    ``Q(Y > y) = Phi(-x)`` with ``x = log(y) / mu + mu / 2``, and ``E[Y; Y > y] = P(Y > y) = Phi(mu - x)``.

    Attributes:
        mu_squared: the square of the distance of the two laws, in standard deviations.
    """

    mu_squared: Fraction

    @property
    def mu(self) -> float:
        """The distance of the two laws, about."""
        return math.sqrt(self.mu_squared)

    def tail(self, y: Ball) -> Part:
        """Mass and moment of all that is above y."""
        if y.is_zero():
            return Part(arb(1), arb(1))
        mu = ball(self.mu_squared).sqrt()
        x = y.log() / mu + mu / 2
        return Part(normal_tail(x), normal_tail(x - mu))

    def at(self, x: float) -> float:
        """About Y at a place x."""
        return math.exp(min(self.mu * x - 0.5 * float(self.mu_squared), MOST))

    def deviation(self, x: float) -> float:
        """About the standard deviation of Y where places above x are left out."""
        square = math.exp(min(float(self.mu_squared), MOST)) * NormalDist().cdf(x - 2 * self.mu)
        return math.sqrt(max(square - NormalDist().cdf(x - self.mu) ** 2, 1e-300))
