"""The Laplace pair: P = Lap(theta, 1), Q = Lap(0, 1), with theta = distance / scale.

The loss is ``-theta`` for x <= 0, ``theta`` for x >= theta and ``2x - theta`` between: two atoms and a smooth part.
Exchanging P and Q does not change the law of the loss. The pair dominates the Laplace mechanism on vectors that change
by at most theta scales in L1 norm. Proof: let A, B, C be the laws of iid log-concave noise shifted by 0, by v_1 e_1,
and by v_1 e_1 + v_2 e_2. Let f_i be the trade-off function of the scalar shift v_i. A test of level a for A against B
has power at most 1 - f_1(a). So a test of level a for A against C has power at most 1 - f_2(1 - f_1(a)). For scalar
log-concave noise the same half-line is optimal for every shift, hence f_2(1 - f_1(a)) = f_{v_1 + v_2}(a). The same
argument applies to one coordinate after another.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

import numpy as np

from hockeystick.numerics.rounding import next_up
from hockeystick.pairs import concentrated, moment
from hockeystick.pairs.base import Array, Atoms, DominatingPair, Masses
from hockeystick.pairs.sampled.laplace_line import SampledLaplaceTransform
from hockeystick.pairs.sampled.poisson import mixed_loss, mixed_slope
from hockeystick.pairs.window_transform import WindowTransform
from hockeystick.values.exact import decimal

LOG_HALF = math.log(0.5)  # log of the mass of a Laplace law on either side of its centre
MOMENT_PANELS = 4096  # panels of the middle part; the error is of second order in their width


@dataclass(frozen=True, slots=True)
class LaplaceMiddle:
    """The densities of Lap(theta, 1) and Lap(0, 1) between the two centres, 0 < x < theta, up to a constant factor.

    Attributes:
        theta: the distance of the two centres in units of the scale.
        log_top: log of the density under P at theta, which equals the density under Q at 0.
    """

    theta: float
    log_top: float = LOG_HALF

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
        """Return the whole interval from 0 to theta: outside it there are only the atoms."""
        return 0.0, self.theta


@dataclass(frozen=True, slots=True)
class LaplacePair(DominatingPair):
    """Lap(distance, scale) against Lap(0, scale)."""

    distance: float
    scale: float

    @property
    def theta(self) -> float:
        """The distance of the two centres in units of the scale."""
        return self.distance / self.scale

    @property
    def atoms(self) -> Atoms:
        """P(x >= theta) = 1/2 at loss theta; P(x <= 0) = exp(-theta)/2 at loss -theta."""
        high, low = LOG_HALF, LOG_HALF - self.theta
        return Atoms(np.array([-self.theta, self.theta]), np.array([low, high]), np.array([high, low]))

    @property
    def smooth(self) -> LaplaceMiddle:
        """The part between the two centres."""
        return LaplaceMiddle(self.theta)

    @property
    def loss_range(self) -> tuple[float, float]:
        """All losses are in ``[-theta, theta]``."""
        return -self.theta, self.theta

    @property
    def exact_supremum(self) -> Fraction:
        """``distance / scale`` as an exact fraction, with both parameters taken as the decimals that were written."""
        return decimal(self.distance) / decimal(self.scale)

    @property
    def transform(self) -> WindowTransform:
        """The characteristic function in closed form."""
        return WindowTransform.laplace(self.theta)

    @property
    def rho(self) -> float:
        """The least rho of zero-concentrated privacy, ``theta - 1 + e^-theta``, rounded up."""
        return concentrated.laplace(self.theta)

    @property
    def mirror(self) -> LaplacePair:
        """The pair itself, because exchanging P and Q leaves the law of the loss unchanged."""
        return self

    def log_moment(self, t: float) -> float:
        """The log-moment K(t) in closed form, rounded up."""
        return moment.laplace(self.theta, t)

    @property
    def ratio_moments(self) -> Callable[[int], list[Decimal]]:
        """The moments ``E_Q (dP/dQ)^i``, by Mironov 2017 [Mir17], Proposition 6."""
        return self._ratio_moments

    def _ratio_moments(self, most: int) -> list[Decimal]:
        ratio = Decimal(next_up(self.theta, 4)).exp()
        high, low, out = Decimal(1), 1 / ratio, [Decimal(1)]
        for i in range(1, most + 1):
            out.append((i * high + (i - 1) * low) / (2 * i - 1))
            high, low = high * ratio, low / ratio
        return out

    def sampled_transform(self, rate: float, add: bool) -> SampledLaplaceTransform:
        """Return the characteristic function after Poisson sampling, for an added or a removed record."""
        return sampled_transform(self.smooth, self.atoms, rate, add)

    def sampled_log_moment(self, rate: float, add: bool, t: float) -> float:
        """Upper bound on the log-moment K(t) after Poisson sampling; see the function :func:`sampled_log_moment`."""
        return sampled_log_moment(self.smooth, self.atoms, self.log_moment, rate, add, t)


def sampled_transform(middle: LaplaceMiddle, atoms: Atoms, rate: float, add: bool) -> SampledLaplaceTransform:
    """Return the characteristic function, after Poisson sampling, of the pair with these densities and atoms."""
    seen = np.isfinite(atoms.log_q)
    losses, log_masses = tuple(atoms.loss[seen].tolist()), tuple(atoms.log_q[seen].tolist())
    return SampledLaplaceTransform(middle.theta, middle.log_top, losses, log_masses, rate, add)


def sampled_log_moment(
    middle: LaplaceMiddle, atoms: Atoms, base: Callable[[float], float], rate: float, add: bool, t: float
) -> float:
    """Upper bound on K(t) after Poisson sampling: a sum over the atoms plus a bound on the integral of the smooth part.

    The integral is bounded panel by panel: with ``g = 1 - q + q e^l``, l the base loss, the integrand is log-convex if
    a record is removed, and log-concave if one is added.

    Args:
        middle: the smooth part of the base pair.
        atoms: the atoms of the base pair; outcomes that only Q has are among them, with loss minus infinity.
        base: upper bounds on K of the base pair, with its laws exchanged if a record is added.
        rate: q.
        add: True for the direction that adds a record.
        t: the Renyi order, less 1.
    """
    rough = (moment.mixture_add if add else moment.mixture_remove)(base, rate, t)
    width = middle.theta / MOMENT_PANELS
    power = -t if add else 1 + t
    ends = moment.atoms(mixed_loss(atoms.loss, rate), atoms.log_q, power)
    x = width * np.arange(MOMENT_PANELS + 1, dtype=np.float64)
    if add:
        x = 0.5 * (x[1:] + x[:-1])
    psi = mixed_loss(middle.loss(x), rate)
    log_f = middle.log_q(x) + power * psi
    if add:
        inside = moment.log_concave(log_f, -1 - 2 * t * mixed_slope(middle.loss(x), psi, rate), width)
    else:
        inside = moment.log_convex(log_f, width)
    size = 1 + middle.theta + abs(middle.log_top) + power * float(np.abs(psi).max())
    return min(moment.rounded_up(float(np.logaddexp(ends, inside)), size), rough)
