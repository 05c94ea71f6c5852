"""The pair of the Poisson-sampled Gaussian mechanism when one record is replaced.

P = (1 - q) N(0, 1) + q N(mu, 1), Q = (1 - q) N(0, 1) + q N(-mu, 1): the old and the new contribution have opposite
directions. The pair dominates by Lebeda, Regehr, Kamath, Steinke 2024 [LRKS24], Proposition 13. It is its own mirror
image (x -> -x).

Loss: with s = e^(-mu^2/2), ``L(x) = log[(1 - q) + q s e^(mu x)] - log[(1 - q) + q s e^(-mu x)]``, odd and increasing.

Inverse: with w = e^(mu x) and c = q s, ``c w^2 + (1 - q)(1 - e^L) w - c e^L = 0``, so that
``mu x = L/2 + asinh((1 - q)/c * sinh(L/2))``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from hockeystick.numerics.normal import HALF_LOG_TWO_PI
from hockeystick.numerics.rounding import next_up
from hockeystick.pairs import concentrated, moment
from hockeystick.pairs.base import Array, Atoms, DominatingPair, Masses
from hockeystick.pairs.sampled.gaussian_transform import Kind, MixtureTransform
from hockeystick.pairs.sampled.poisson import SAMPLED_SECONDS, mixed_loss, mixed_slope, rate_error


def _log_sinh(x: Array) -> Array:
    """Return ``log(sinh x)`` for x > 0, computed without overflow."""
    return x + np.log(-0.5 * np.expm1(-2 * x))


@dataclass(frozen=True, slots=True)
class SubstitutionSmooth:
    """The densities of the two mixtures; the loss is the difference of ``mixed_loss`` for the means +mu and -mu."""

    mu: float
    rate: float

    def _towards(self, x: Array) -> Array:
        return self.mu * (x - 0.5 * self.mu)

    def log_p(self, x: Array) -> Array:
        """The log-density under P, ``log phi(x) + psi(l_+(x))``."""
        return -0.5 * np.square(x) - HALF_LOG_TWO_PI + mixed_loss(self._towards(x), self.rate)

    def loss(self, x: Array) -> Array:
        """The difference ``psi(l_+(x)) - psi(l_-(x))`` of the sampled losses for the means +mu and -mu."""
        return mixed_loss(self._towards(x), self.rate) - mixed_loss(self._towards(-x), self.rate)

    def log_contrast(self, x: Array) -> Array:
        """The log of q times the sum of the normal densities around mu and -mu, a bound on ``|p - q|``."""
        towards = np.logaddexp(-0.5 * np.square(x - self.mu), -0.5 * np.square(x + self.mu))
        return math.log(self.rate) - HALF_LOG_TWO_PI + towards

    def masses(self, x: Array) -> Masses:
        """The masses of both mixtures below and above each x."""
        from scipy.special import ndtr

        q = self.rate
        below, above = (1 - q) * ndtr(x), (1 - q) * ndtr(-x)
        return Masses(
            below + q * ndtr(x - self.mu),
            above + q * ndtr(self.mu - x),
            below + q * ndtr(x + self.mu),
            above + q * ndtr(-x - self.mu),
        )

    def outcome(self, loss: Array) -> Array:
        """Return the outcome ``(L/2 + asinh((1 - q)/c sinh(L/2))) / mu``, in log form where the argument is large."""
        half = 0.5 * np.abs(loss)
        with np.errstate(divide="ignore"):
            log_arg = math.log1p(-self.rate) - math.log(self.rate) + 0.5 * self.mu**2 + _log_sinh(half)
        small = np.arcsinh(np.exp(np.minimum(log_arg, 20.0)))
        large = log_arg + math.log(2.0)  # asinh(y) = log(2y) + O(y^-2), exact in double precision from e^20 on
        return np.sign(loss) * (half + np.where(log_arg > 20.0, large, small)) / self.mu

    def _terms_error(self, x: Array) -> Array:
        towards = self._towards(x)
        psi = mixed_loss(towards, self.rate)
        size = 8 * self.mu * (np.abs(x) + 0.5 * self.mu) + 16 * np.abs(towards)
        own = mixed_slope(towards, psi, self.rate) * size
        error: Array = own + 16 * np.abs(psi) + rate_error(towards, psi, self.rate)
        return error

    def loss_error(self, x: Array) -> Array:
        """Bound on the error of the loss: the sum of the errors of its two terms."""
        return self._terms_error(x) + self._terms_error(-x)

    def log_p_error(self, x: Array) -> Array:
        """Bound on the error of the log-density, from the roundings of x, of its square and of psi."""
        return 8 * np.square(np.abs(x) + self.mu) + 8 + self._terms_error(x)

    def growth(self, x: Array) -> Array:
        """The growth constant of a normal density around the farthest of the means 0, mu and -mu."""
        return np.abs(x) + self.mu

    def support(self, log_mass: float) -> tuple[float, float]:
        """Return an interval beyond which, on each side, P has at most ``exp(log_mass)``; P's means are 0 and mu."""
        r = math.sqrt(-2 * min(log_mass, -1.0))
        return -r, self.mu + r


@dataclass(frozen=True, slots=True)
class PoissonSubstitutionPair(DominatingPair):
    """The pair ((1 - q) N(0) + q N(mu), (1 - q) N(0) + q N(-mu)) of a replaced record, for the rate 0 < q < 1."""

    mu: float
    rate: float

    seconds: ClassVar[float] = SAMPLED_SECONDS

    atoms: ClassVar[Atoms] = Atoms.none()
    """Empty arrays, because the pair has no atoms."""

    @property
    def smooth(self) -> SubstitutionSmooth:
        """The densities of both mixtures, which are the whole pair."""
        return SubstitutionSmooth(self.mu, self.rate)

    loss_range: ClassVar[tuple[float, float]] = -math.inf, math.inf
    """The loss is unbounded on both sides."""

    @property
    def variation(self) -> float:
        """The rate q, an upper bound on the total variation distance, as both laws share ``(1 - q) N(0)``."""
        return next_up(self.rate)

    @property
    def transform(self) -> MixtureTransform:
        """The characteristic function of the loss, computed by the trapezoid rule."""
        return MixtureTransform.sampled(self.mu, self.rate, Kind.REPLACE)

    @property
    def rho(self) -> float:
        """A rho of zero-concentrated privacy: that of N(mu) against N(-mu), the components that are farthest apart.

        This is a bound because ``(a, b) -> a^(1+t) b^(-t)`` is jointly convex.
        """
        return concentrated.gaussian(2 * self.mu)

    def log_moment(self, t: float) -> float:
        """Upper bound on K(t): the smaller of a bound by the trapezoid rule and a rough bound."""
        rough = moment.mixture_replace(self.mu, self.rate, t)
        return min(self.transform.log_moment(t), rough)
