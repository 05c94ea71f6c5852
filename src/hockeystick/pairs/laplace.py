"""The Laplace pair: P = Lap(theta, 1), Q = Lap(0, 1), with theta = distance / scale.

The loss is ``-theta`` for x <= 0, ``theta`` for x >= theta and ``2x - theta`` between: two atoms and a smooth part.
Exchanging P and Q does not change the law of the loss. The pair dominates the Laplace mechanism on vectors that change
by at most theta in L1 norm, in units of the scale. Proof: let A, B, C be the laws of iid log-concave noise shifted by
0, by v_1 e_1, and by v_1 e_1 + v_2 e_2. Let f_i be the trade-off function of the scalar shift v_i. A test of level a
for A against B has power at most 1 - f_1(a). So a test of level a for A against C has power at most 1 - f_2(1 -
f_1(a)). For scalar log-concave noise the same half-line is optimal for every shift, hence f_2(1 - f_1(a)) = f_{v_1 +
v_2}(a). The argument is repeated for each further coordinate.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from hockeystick.numerics.rounding import TINY
from hockeystick.pairs import concentrated, moment
from hockeystick.pairs.base import Array, Atoms, DominatingPair, Masses
from hockeystick.pairs.sampled.laplace_line import SampledLaplaceTransform
from hockeystick.pairs.sampled.poisson import HALF
from hockeystick.pairs.window_transform import WindowTransform
from hockeystick.values.exact import decimal

LOG_HALF = math.log(0.5)  # log of the mass of a Laplace law on either side of its centre


@dataclass(frozen=True, slots=True)
class LaplaceMiddle:
    """Densities proportional to those of Lap(theta, 1) and Lap(0, 1) between the two centres, 0 < x < theta.

    Attributes:
        theta: the distance of the two centres in units of the scale.
        log_top: log of the density under P at theta, which equals the density under Q at 0.
    """

    theta: float
    log_top: float

    def log_p(self, x: Array) -> Array:
        """The logarithm of the density under P, ``log_top - (theta - x)``."""
        return self.log_top - (self.theta - x)

    def log_q(self, x: Array) -> Array:
        """The logarithm of the density under Q, ``log_top - x``."""
        return self.log_top - x

    def loss(self, x: Array) -> Array:
        """The loss between the two centres, ``2x - theta``."""
        return 2 * x - self.theta

    def log_contrast(self, x: Array) -> Array:
        """The logarithm of the sum of both densities."""
        return np.logaddexp(self.log_p(x), self.log_q(x))

    def masses(self, x: Array) -> Masses:
        """Return the mass of each law between 0 and x, and between x and theta."""
        x = np.clip(x, 0.0, self.theta)
        rest, top = self.theta - x, math.exp(self.log_top)
        return Masses(
            top * np.exp(-rest) * -np.expm1(-x),
            -top * np.expm1(-rest),
            -top * np.expm1(-x),
            top * np.exp(-x) * -np.expm1(-rest),
        )

    def outcome(self, loss: Array) -> Array:
        """Return the x of each loss, clipped to [0, theta]."""
        return np.minimum(np.maximum(0.5 * (loss + self.theta), 0.0), self.theta)

    def loss_error(self, x: Array) -> Array:
        """Bound on the error of the loss, from the roundings of theta, of x and of their difference."""
        return np.full_like(x, 8 * self.theta)

    def log_p_error(self, x: Array) -> Array:
        """Bound on the error of the log-density, from rounding theta, x, the differences and ``log_top``."""
        return np.full_like(x, 8 * self.theta + 8 * max(abs(self.log_top), 1.0))

    def growth(self, x: Array) -> Array:
        """The growth constant 1: at ``x + iy`` the densities are at most ``exp(|y|)`` times as large as at x."""
        return np.ones_like(x)

    def support(self, log_mass: float) -> tuple[float, float]:
        """Return the whole interval ``(0, theta)``, which contains all mass that has densities."""
        return 0.0, self.theta


class LossWindow(DominatingPair):
    """A pair with densities for losses in ``(-w, w)``, atoms at -w and w, and infinite losses (``laplace_window.py``).

    All masses are given as logarithms; ``-inf`` means no mass. Exchanging P and Q does not change the law of the loss.

    Attributes:
        log_top: log of the P-density at the loss w; it is a density in the outcome ``x = (l + w) / 2``, l the loss.
        log_high: log of A, the P-mass of the atom at w.
        log_infinite: log of I, the P-mass at infinite loss.
    """

    __slots__ = ()
    symmetric: ClassVar[bool] = True

    log_top: float
    log_high: float
    log_infinite: float

    @property
    @abstractmethod
    def width(self) -> float:
        """The largest finite loss w, greater than 0."""

    @property
    def atoms(self) -> Atoms:
        """The atoms at -w and w, and at infinite loss of either sign, where these have mass."""
        low, at_ends = self.log_high - self.width, self.log_high > -math.inf
        log_p = np.array([low, self.log_high] if at_ends else [])
        loss = np.array([-self.width, self.width] if at_ends else [])
        return Atoms(loss, log_p, log_p[::-1]).beside(self.infinite_mass, self.infinite_mass)

    @property
    def smooth(self) -> LaplaceMiddle:
        """The densities for losses l in ``(-w, w)``, as functions of the outcome ``x = (l + w) / 2`` from 0 to w."""
        return LaplaceMiddle(self.width, self.log_top)

    @property
    def infinite_mass(self) -> float:
        """The P-mass at infinite loss; at least the smallest double if it is positive."""
        return max(math.exp(self.log_infinite), TINY) if self.log_infinite > -math.inf else 0.0

    @property
    def loss_range(self) -> tuple[float, float]:
        """The bounds -w and w on all finite losses."""
        return -self.width, self.width

    @property
    def transform(self) -> WindowTransform:
        """The characteristic function in closed form."""
        w, infinite = self.width, self.infinite_mass
        ends, inside = self.log_high + math.log1p(math.exp(-w)), self.log_top + math.log(-math.expm1(-w))
        # as 1 less a small infinite mass, so that a small K keeps its digits; otherwise as a sum
        log_finite = math.log1p(-infinite) if infinite < HALF else float(np.logaddexp(ends, inside))
        at_ends = 1 / (1 + math.exp(inside - ends)) if ends > -math.inf else 0.0
        between = 1 / (1 + math.exp(ends - inside))
        return WindowTransform(w, at_ends, between, log_finite, infinite)

    def log_moment(self, t: float) -> float:
        """The log-moment K(t) in closed form, rounded up."""
        return self.transform.log_moment(t)

    def sampled_transform(self, rate: float, add: bool) -> SampledLaplaceTransform:
        """Return the characteristic function after Poisson sampling at rate q, for an added or a removed record.

        Sampling moves the Q-mass at loss minus infinity to the loss ``log(1 - q)``.
        """
        atoms = self.atoms
        seen = np.isfinite(atoms.log_q)
        losses, log_masses = tuple(atoms.loss[seen].tolist()), tuple(atoms.log_q[seen].tolist())
        return SampledLaplaceTransform(self.width, self.log_top, losses, log_masses, rate, add)


@dataclass(frozen=True, slots=True)
class LaplacePair(LossWindow):
    """The pair of Laplace noise: P = Lap(distance, scale) and Q = Lap(0, scale).

    The largest loss is theta = distance / scale, P has mass 1/2 at this loss, and no loss is infinite.
    """

    distance: float
    scale: float

    log_top = LOG_HALF
    log_high = LOG_HALF
    log_infinite = -math.inf

    @property
    def width(self) -> float:
        """Theta, the distance of the two centres in units of the scale."""
        return self.distance / self.scale

    @property
    def exact_supremum(self) -> Fraction:
        """The largest loss, ``distance / scale``, as an exact fraction; each parameter is the decimal it prints as."""
        return decimal(self.distance) / decimal(self.scale)

    @property
    def rho(self) -> float:
        """The least rho of zero-concentrated privacy, ``theta - 1 + e^-theta``, rounded up."""
        return concentrated.laplace(self.width)

    def log_moment(self, t: float) -> float:
        """The log-moment K(t) in closed form, rounded up; a small K keeps more digits than in the base class."""
        return moment.laplace(self.width, t)
