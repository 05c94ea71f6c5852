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

*The pair dominates* the release of a vector with this noise on each coordinate, if the vector moves by at most theta in
L1 norm. The pair is attained if a single coordinate moves by theta. The density is log-concave and its support is an
interval, so that the proof in ``pairs/laplace.py`` applies. For a shift v of one coordinate ``f(x - v) /
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

from hockeystick.pairs.laplace import LossWindow


@dataclass(frozen=True, slots=True)
class WindowPair(LossWindow):
    """A pair with finite losses in ``[-w, w]`` and infinite losses, given by its masses; see the module.

    Attributes:
        exact: w, the largest finite loss, greater than 0.
        log_top: log of the P-density at the loss w; it is a density in the outcome ``x = (l + w) / 2``.
        log_high: log of A, the P-mass of the atom at w; by default there is no atom.
        log_infinite: log of I, the P-mass at infinite loss; by default there is none.
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
        """Return the pair with the largest privacy curve of a single round of bounded range epsilon > 0."""
        return cls(epsilon, -math.log(-math.expm1(-float(epsilon))))

    @property
    def width(self) -> float:
        """The largest finite loss, w."""
        return float(self.exact)

    @property
    def exact_supremum(self) -> Fraction:
        """The largest finite loss, w, as an exact fraction."""
        return self.exact
