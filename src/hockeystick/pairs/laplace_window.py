"""Pairs whose loss has the Laplace mechanism's density on a window, atoms at its ends, and infinite losses.

On ``-w < l < w`` the density of the loss under P is ``c e^(l/2)``, under Q ``c e^(-l/2)``. At the ends of the window
there are atoms: P has mass A at w and ``A e^-w`` at -w, Q the other way round. The mass I missing from 1 has infinite
loss: P has it at plus infinity, Q at minus infinity. Such a pair is its own mirror image. There are two uses.

**Truncated Laplace noise**: density ``e^(-|x|) / Z`` on ``|x| <= b``, ``Z = 2 (1 - e^-b)``, all in units of the scale,
around theta (P) and around 0 (Q). Where both have density, from ``theta - b`` to b, the loss is ``|x| - |x - theta|``.

- For ``theta <= b`` it is theta on ``[theta, b]``, ``-theta`` on ``[theta - b, 0]`` and ``2x - theta`` between, so that
  ``w = theta``, ``A = (1 - e^(theta - b)) / Z``, and ``I = P(x > b) = (e^(theta - b) - e^-b) / Z``.
- For ``b < theta < 2b`` it is ``2x - theta`` throughout: ``w = 2b - theta``, ``A = 0`` and ``I = (2 - e^-b - e^(b -
  theta)) / Z``.
- For ``theta >= 2b`` the two laws have no outcome in common.

*The pair dominates* noise on a vector with such noise on each coordinate, which moves by at most theta in L1 norm, and
is attained by one coordinate. The density is log-concave, its support an interval, so that the proof in
``pairs/laplace.py`` holds word for word: for a shift v of one coordinate ``f(x - v) / f(x)`` does not decrease in x
(with 0 where f(x - v) = 0, infinite where f(x) = 0), the half-lines ``x > c`` are the best events for every shift, the
trade-off function is ``f_v(a) = F(F^-1(1 - a) - v)``, and ``f_v(1 - f_u(a)) = f_(u + v)(a)`` (where ``F^-1(1 - a) - u``
lies below the support both sides are 0). Hence shifts add up over the coordinates. And ``f_v(a)`` falls in v.

**The worst round of bounded range** (``A = I = 0``); see ``plan/mechanisms/exponential.py``.

In the outcome ``x = (l + w) / 2`` the smooth part is that of the Laplace pair, with another factor.
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
    """Pair of a window of losses; see the module. All masses are given as logarithms, ``-inf`` for none.

    Attributes:
        exact: w, the largest finite loss, greater than 0.
        log_top: log of the density under P of the outcome ``x = (l + w) / 2`` at the upper end of the window.
        log_high: log A.
        log_infinite: log I.
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
            bound: bound on the absolute value of the noise.
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
        """Return the worst pair of a single round of bounded range epsilon, which is greater than 0."""
        return cls(epsilon, -math.log(-math.expm1(-float(epsilon))))

    @property
    def width(self) -> float:
        """w, the largest finite loss."""
        return float(self.exact)

    @property
    def atoms(self) -> Atoms:
        """The ends of the window and infinite loss of either sign, where they have mass."""
        loss, log_p, log_q = [], [], []
        if self.log_infinite > -math.inf:
            loss, log_p, log_q = [-math.inf, math.inf], [-math.inf, self.log_infinite], [self.log_infinite, -math.inf]
        if self.log_high > -math.inf:
            low = self.log_high - self.width
            loss[1:1], log_p[1:1], log_q[1:1] = [-self.width, self.width], [low, self.log_high], [self.log_high, low]
        return Atoms(np.array(loss), np.array(log_p), np.array(log_q))

    @property
    def smooth(self) -> LaplaceMiddle:
        """The window, in the outcome ``x = (l + w) / 2`` from 0 to w."""
        return LaplaceMiddle(self.width, self.log_top)

    @property
    def infinite_mass(self) -> float:
        """The mass I; at least the smallest double if it is positive."""
        return max(math.exp(self.log_infinite), TINY) if self.log_infinite > -math.inf else 0.0

    @property
    def loss_range(self) -> tuple[float, float]:
        """All finite losses are in ``[-w, w]``."""
        return -self.width, self.width

    @property
    def exact_supremum(self) -> Fraction:
        """w as a fraction."""
        return self.exact

    @property
    def mirrored_rho(self) -> float:
        """The rho of the pair, which is its own mirror image."""
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
        """K(t) in closed form, rounded up."""
        return self.transform.log_moment(t)

    def sampled_transform(self, rate: float, add: bool) -> SampledLaplaceTransform:
        """Return the transform as for the Laplace pair; the Q-mass at minus infinity moves to ``log(1 - q)``."""
        return sampled_transform(self.smooth, self.atoms, rate, add)

    def sampled_log_moment(self, rate: float, add: bool, t: float) -> float:
        """Upper bound on K(t) after sampling, as for the Laplace pair.

        If some losses are infinite, so is ``E_Q Lambda^-t``, and it gives no bound on adding a record.
        """

        def base(order: float) -> float:
            return math.inf if add and self.log_infinite > -math.inf else self.log_moment(order)

        return sampled_log_moment(self.smooth, self.atoms, base, rate, add, t)
