"""Pairs whose loss has the Laplace mechanism's density on an interval, atoms at its ends, and infinite losses.

The *window* is the interval ``-w < l < w`` of losses. On it the density of the loss is ``c e^(l/2)`` under P and ``c
e^(-l/2)`` under Q. At its ends there are atoms: P has mass A at w and ``A e^-w`` at -w, and Q has mass A at -w and ``A
e^-w`` at w. The mass I missing from 1 has infinite loss: P has it at plus infinity, and Q at minus infinity. Exchanging
P and Q does not change the law of the loss. Such pairs have two uses.

**Truncated Laplace noise**: density ``e^(-|x|) / Z`` on ``|x| <= b``, ``Z = 2 (1 - e^-b)``, all in units of the scale,
around theta (P) and around 0 (Q). From ``theta - b`` to b both laws have a density, and the loss is ``|x| - |x -
theta|``.

- For ``theta <= b`` the loss is theta on ``[theta, b]``, ``-theta`` on ``[theta - b, 0]`` and ``2x - theta`` between,
  so that ``w = theta``, ``A = (1 - e^(theta - b)) / Z``, and ``I = P(x > b) = (e^(theta - b) - e^-b) / Z``.
- For ``b < theta < 2b`` the loss is ``2x - theta`` throughout: ``w = 2b - theta``, ``A = 0`` and ``I = (2 - e^-b - e^(b
  - theta)) / Z``.
- For ``theta >= 2b`` the two laws have no outcome in common.

*The pair dominates* the release of a vector with such noise on each coordinate, if the vector moves by at most theta in
L1 norm. The pair is attained if a single coordinate moves by theta. The density is log-concave and its support is an
interval, so that the proof in ``pairs/laplace.py`` holds word for word. For a shift v of one coordinate ``f(x - v) /
f(x)`` does not decrease in x (it is 0 where f(x - v) = 0, and infinite where f(x) = 0). So the half-lines ``x > c`` are
the best events for every shift. With F the distribution function of the noise, the trade-off function is ``f_v(a) =
F(F^-1(1 - a) - v)``, and ``f_v(1 - f_u(a)) = f_(u + v)(a)``. (If ``F^-1(1 - a) - u`` lies below the support, both sides
are 0.) Hence shifts add up over the coordinates. As ``f_v(a)`` falls in v, smaller shifts are covered.

**The worst round of bounded range** (``A = I = 0``); see ``plan/mechanisms/exponential.py``.

As a function of the outcome ``x = (l + w) / 2``, the smooth part is that of the Laplace pair up to a constant factor.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from hockeystick.numerics.rounding import TINY
from hockeystick.pairs.base import Atoms, DominatingPair
from hockeystick.pairs.laplace import LaplaceMiddle, sampled_log_moment, sampled_transform
from hockeystick.pairs.sampled.laplace_line import SampledLaplaceTransform
from hockeystick.pairs.window_transform import WindowTransform

LITTLE = 0.5
"""Infinite-loss mass up to which the finite mass is computed as 1 minus that mass."""


@dataclass(frozen=True, slots=True)
class WindowPair(DominatingPair):
    """A pair with densities for losses in ``(-w, w)``, atoms at -w and w, and infinite losses; see the module.

    All masses are given as logarithms; ``-inf`` means no mass.

    Attributes:
        exact: w, the largest finite loss, greater than 0.
        log_top: log of the P-density at the loss w, in terms of the outcome x, which is ``(l + w) / 2`` for the loss l.
        log_high: log of A, the P-mass of the atom at w.
        log_infinite: log of I, the P-mass at infinite loss.
    """

    exact: Fraction
    log_top: float
    log_high: float = -math.inf
    log_infinite: float = -math.inf

    @classmethod
    def truncated_laplace(cls, distance: Fraction, bound: Fraction, scale: Fraction) -> WindowPair:
        """Return the pair of truncated Laplace noise around ``distance`` against the same noise around 0.

        Args:
            distance: distance of the centres, greater than 0 and less than twice the bound.
            bound: largest absolute value of the noise.
            scale: scale of the noise.
        """
        theta, ends = float(distance / scale), float(bound / scale)
        log_z = math.log(2) + math.log(-math.expm1(-ends))
        if distance <= bound:
            gap = float((bound - distance) / scale)  # distance of the upper end of the noise from the other centre
            log_high = math.log(-math.expm1(-gap)) - log_z if gap else -math.inf
            log_infinite = math.log(-math.expm1(-theta)) - gap - log_z
            return cls(distance / scale, -log_z, log_high, log_infinite)
        beyond = float((distance - bound) / scale)
        log_infinite = math.log(-math.expm1(-ends) - math.expm1(-beyond)) - log_z
        return cls((2 * bound - distance) / scale, -beyond - log_z, -math.inf, log_infinite)

    @classmethod
    def bounded_range(cls, epsilon: Fraction) -> WindowPair:
        """Return the worst pair of a single round of bounded range epsilon > 0."""
        return cls(epsilon, -math.log(-math.expm1(-float(epsilon))))

    @property
    def width(self) -> float:
        """The largest finite loss, w."""
        return float(self.exact)

    @property
    def atoms(self) -> Atoms:
        """The atoms at -w and w, and at infinite loss of either sign, where these have mass."""
        loss, log_p, log_q = [], [], []
        if self.log_infinite > -math.inf:
            loss, log_p, log_q = [-math.inf, math.inf], [-math.inf, self.log_infinite], [self.log_infinite, -math.inf]
        if self.log_high > -math.inf:
            low = self.log_high - self.width
            loss[1:1], log_p[1:1], log_q[1:1] = [-self.width, self.width], [low, self.log_high], [self.log_high, low]
        return Atoms(np.array(loss), np.array(log_p), np.array(log_q))

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
        """All finite losses are in ``[-w, w]``."""
        return -self.width, self.width

    @property
    def exact_supremum(self) -> Fraction:
        """The largest finite loss, w, as an exact fraction."""
        return self.exact

    @property
    def mirrored_rho(self) -> float:
        """The rho of this pair, because exchanging P and Q leaves the law of the loss unchanged."""
        return self.rho

    @property
    def transform(self) -> WindowTransform:
        """The characteristic function in closed form."""
        w, infinite = self.width, self.infinite_mass
        ends, inside = self.log_high + math.log1p(math.exp(-w)), self.log_top + math.log(-math.expm1(-w))
        # as 1 less a small infinite mass, so that a small K keeps its digits; otherwise as a sum
        log_finite = math.log1p(-infinite) if infinite < LITTLE else float(np.logaddexp(ends, inside))
        at_ends = 1 / (1 + math.exp(inside - ends)) if ends > -math.inf else 0.0
        between = 1 / (1 + math.exp(ends - inside))
        return WindowTransform(w, at_ends, between, log_finite, infinite)

    def log_moment(self, t: float) -> float:
        """The log-moment K(t) in closed form, rounded up."""
        return self.transform.log_moment(t)

    def sampled_transform(self, rate: float, add: bool) -> SampledLaplaceTransform:
        """Return the characteristic function after Poisson sampling at rate q, as for the Laplace pair.

        Sampling moves the Q-mass from loss minus infinity to ``log(1 - q)``.
        """
        return sampled_transform(self.smooth, self.atoms, rate, add)

    def sampled_log_moment(self, rate: float, add: bool, t: float) -> float:
        """Upper bound on the log-moment K(t) after Poisson sampling, as for the Laplace pair.

        If some losses are infinite, so is ``E_Q Lambda^-t`` with ``Lambda = dP/dQ``. Then this moment of the base pair
        gives no bound for adding a record.
        """

        def base(order: float) -> float:
            return math.inf if add and self.log_infinite > -math.inf else self.log_moment(order)

        return sampled_log_moment(self.smooth, self.atoms, base, rate, add, t)
