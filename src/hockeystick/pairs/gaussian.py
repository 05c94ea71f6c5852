"""The Gaussian pair: P = N(mu, 1), Q = N(0, 1), with mu = distance / standard deviation.

The pair dominates the Gaussian mechanism in any dimension, because the noise is invariant under rotation (Dong, Roth,
Su 2022 [DRS22], Theorem 2.7). Exchanging P and Q does not change the law of the loss. A composition of Gaussian pairs
is a Gaussian pair, whose ``mu^2`` is the sum of theirs (Corollary 3.3 of [DRS22]).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from hockeystick.numerics.normal import HALF_LOG_TWO_PI
from hockeystick.numerics.rounding import next_up
from hockeystick.pairs import concentrated, moment
from hockeystick.pairs.base import Array, Atoms, DominatingPair, Masses
from hockeystick.pairs.sampled.gaussian_transform import Kind, MixtureTransform

if TYPE_CHECKING:
    from hockeystick.pairs.closed_transforms import QuadraticTransform


@dataclass(frozen=True, slots=True)
class GaussianLocation:
    """The densities of N(mu, 1) under P and of N(0, 1) under Q, with the loss ``mu x - mu^2/2``."""

    mu: float

    def log_p(self, x: Array) -> Array:
        """The log-density of N(mu, 1) at each x."""
        return -0.5 * np.square(x - self.mu) - HALF_LOG_TWO_PI

    def log_q(self, x: Array) -> Array:
        """The log-density of N(0, 1) at each x."""
        return -0.5 * np.square(x) - HALF_LOG_TWO_PI

    def loss(self, x: Array) -> Array:
        """The loss ``mu x - mu^2/2``, computed as ``mu (x - mu/2)``."""
        return self.mu * (x - 0.5 * self.mu)

    def log_contrast(self, x: Array) -> Array:
        """The logarithm of the sum of both densities."""
        return np.logaddexp(self.log_p(x), self.log_q(x))

    def masses(self, x: Array) -> Masses:
        """The masses of N(mu, 1) and of N(0, 1) below and above each x."""
        from scipy.special import ndtr

        return Masses(ndtr(x - self.mu), ndtr(self.mu - x), ndtr(x), ndtr(-x))

    def outcome(self, loss: Array) -> Array:
        """Return the outcome x of each loss; it is infinite where x leaves the range of a double."""
        with np.errstate(over="ignore"):
            return loss / self.mu + 0.5 * self.mu

    def loss_error(self, x: Array) -> Array:
        """Bound on the error of the loss, from the roundings of mu, of x and of the operations."""
        return 8 * self.mu * (np.abs(x) + 0.5 * self.mu)

    def log_p_error(self, x: Array) -> Array:
        """Bound on the error of the log-density, from rounding mu, x, ``x - mu``, the square and the sum."""
        return 8 * np.square(np.abs(x) + self.mu) + 8

    def growth(self, x: Array) -> Array:
        """The growth constant ``|x| + mu`` of the normal densities.

        With ``|phi(x + iy)| = phi(x) e^{y^2/2}``, moving x by y changes log phi by at most ``|x| y + y^2/2``.
        """
        return np.abs(x) + self.mu

    def support(self, log_mass: float) -> tuple[float, float]:
        """Return ``(-r, mu + r)``, with r large enough that ``Phi(-r) <= exp(-r^2/2) <= exp(log_mass)``."""
        r = math.sqrt(-2 * min(log_mass, -1.0))
        return -r, self.mu + r


@dataclass(frozen=True, slots=True)
class GaussianPair(DominatingPair):
    """The dominating pair of Gaussian noise: P = N(mu, 1) and Q = N(0, 1)."""

    mu: float

    symmetric: ClassVar[bool] = True

    @property
    def atoms(self) -> Atoms:
        """Empty arrays, because the pair has no atoms."""
        return Atoms.none()

    @property
    def smooth(self) -> GaussianLocation:
        """The densities of both laws, which have all the mass."""
        return GaussianLocation(self.mu)

    loss_range: ClassVar[tuple[float, float]] = -math.inf, math.inf
    """The loss is normal, hence unbounded."""

    @property
    def variation(self) -> float:
        """Upper bound on the total variation distance ``2 Phi(mu / 2) - 1``: mu / sqrt(2 pi), but at most 1."""
        return min(next_up(self.mu * math.exp(-HALF_LOG_TWO_PI), 16), 1.0)

    @property
    def transform(self) -> QuadraticTransform:
        """The characteristic function in closed form."""
        from hockeystick.pairs.closed_transforms import QuadraticTransform  # late: not needed if sampled

        return QuadraticTransform(self.mu)

    def sampled_transform(self, rate: float, add: bool) -> MixtureTransform:
        """The characteristic function of the loss after Poisson sampling, computed by the trapezoid rule."""
        return MixtureTransform.sampled(self.mu, rate, Kind.ADD if add else Kind.REMOVE)

    @property
    def rho(self) -> float:
        """The exact rho of zero-concentrated privacy, ``mu^2 / 2``, rounded up."""
        return concentrated.gaussian(self.mu)

    def log_moment(self, t: float) -> float:
        """The log-moment K(t) in closed form, rounded up."""
        return moment.gaussian(self.mu, t)

    @classmethod
    def fold(cls, rounds: Sequence[tuple[GaussianPair, int]]) -> Sequence[tuple[GaussianPair, int]]:
        """Return one Gaussian pair with the same composition: the ``mu^2`` of all rounds add up."""
        return [(cls(math.sqrt(math.fsum(count * pair.mu * pair.mu for pair, count in rounds))), 1)]
