"""Certified bounds on the privacy curve of the Gaussian pair, ``delta = Phi(-a) - e^eps Phi(-a - mu)``.

Here ``a = eps/mu - mu/2``. The formula is Theorem 8 of Balle, Wang 2018 [BW18], and for mu-GDP Corollary 2.13 of Dong,
Roth, Su 2022 [DRS22]. The difference loses digits by cancellation, and delta may be below the range of a double. As
``phi(a + x) e^(-mu x) = e^eps phi(a + mu + x)``,

    delta = int_0^inf phi(a + x) (1 - e^(-mu x)) dx,

which decreases in a and increases in mu. So the rounding errors of a and mu are charged by moving a and mu to the side
that makes the bound valid. For a >= 0 the factor phi(a) is taken out of the integral. The integral is computed by
Gauss-Legendre rules (numerics/legendre.py). The panels are so narrow that the error is at most 2^-54 of the integral of
an *envelope*, a function that is at least the integrand. There are two cases:

- If mu is at most 8, the envelope is ``phi(a + x) mu (1 + x)``. Apart from the growth of phi, the integrand at a
  distance r from a panel in the complex plane is at most ``e^((1 + mu) r)`` times the envelope on the panel.
- If mu is larger, the integrals of ``phi(a + x)`` and ``phi(a + x) e^(-mu x)`` are computed separately, and each
  function is its own envelope. The difference of the integrals is no smaller than about a hundredth of either.

The integral outside the panels is below ``e^-80 phi(a)`` by Mills' ratio. It is added to the upper bound only.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from hockeystick.numerics.legendre import RULE_ERROR, on_equal_panels
from hockeystick.numerics.meet import crossing, outward
from hockeystick.numerics.normal import HALF_LOG_TWO_PI
from hockeystick.numerics.rounding import SMALLEST_NORMAL, UNIT_ROUNDOFF
from hockeystick.values.side import Side

DEPTH = 80.0  # for a > 0 the panels end where the integrand has fallen to ``e^-DEPTH phi(a)``
REACH = 13.0  # standard deviations around the mean that the panels cover for a <= 0
OUTER = 6.0  # divisor in Mills' ratio beyond the panels: at most half of ``a + high``, which is at least 12.6
SURE = 40.0  # for a < -SURE, delta is at least 1 - e^-799, and the sum a + x would lose the digits of x
TOGETHER = 8.0  # largest mu for which the two terms of delta are integrated as one integrand
MU_ROUNDINGS = 32  # roundings charged for mu and for a; the mu of a folded composition has four


class Integral(NamedTuple):
    """Value of an integral, and bounds on its error: the truth lies in [value - below, value + above]."""

    value: float
    below: float
    above: float


def log_delta_ends(epsilon: float, mu: float) -> tuple[float, float]:
    """Return a certified lower and upper bound on log delta at epsilon >= 0, for mu > 0.

    The bounds hold even if the given mu is off by a few roundings.
    """
    return _log_delta_end(epsilon, mu, Side.BELOW), _log_delta_end(epsilon, mu, Side.ABOVE)


def epsilon_ends(log_delta: tuple[float, float], mu: float) -> tuple[float, float]:
    """Return a certified lower and upper bound on epsilon, given a finite lower and upper bound on log delta."""

    def below(epsilon: float) -> float:
        return _log_delta_end(epsilon, mu, Side.BELOW)

    def above(epsilon: float) -> float:
        return _log_delta_end(epsilon, mu, Side.ABOVE)

    chernoff = mu * (0.5 * mu + math.sqrt(-2 * log_delta[0]))  # P(L > eps) is at most e^(-a^2/2)
    high = outward(lambda epsilon: above(epsilon) <= log_delta[0], chernoff, mu, math.inf)
    return crossing(below, above, log_delta, high)


def _log_delta_end(epsilon: float, mu: float, side: Side) -> float:
    """Return the lower bound on log delta if ``side`` is below, and the upper bound if it is above.

    First a (see the module) and mu are moved by their rounding errors, in the direction that moves delta to that side.
    """
    slip = side * MU_ROUNDINGS * UNIT_ROUNDOFF
    a = (epsilon / mu - 0.5 * mu) - slip * (epsilon / mu + 0.5 * mu)
    return min(_log_end(a, mu * (1 + slip), side), 0.0)


def _log_end(a: float, mu: float, side: Side) -> float:
    if a < -SURE:  # then mu > 80, and 1 - delta is at most 2 phi(a) / |a| + phi(a) sqrt(pi / 2), below e^-799
        return 0.0 if side is Side.ABOVE else -SMALLEST_NORMAL  # more than e^-799, and far below any rounding
    scale = -0.5 * a * a if a > 0 else 0.0
    if mu <= TOGETHER:
        found = _integral(a, mu)
    else:
        first, second = _integral(a, None), _integral(a + mu, None)
        factor = math.exp(-0.5 * a * a) if a < 0 else 1.0
        # the exponent a^2/2 has a relative error of 4 units
        rounding = (8 + 4 * a * a) * UNIT_ROUNDOFF * factor * second.value
        found = Integral(
            first.value - factor * second.value,
            first.below + factor * second.above + rounding,
            first.above + factor * second.below + rounding,
        )
    end = found.value + found.above if side is Side.ABOVE else found.value - found.below
    if end <= 0:
        return -math.inf
    log_end = math.log(end) + scale - HALF_LOG_TWO_PI
    slip = 8 * UNIT_ROUNDOFF * (2 + abs(scale) + abs(log_end))
    return log_end + side * slip


def _integral(a: float, mu: float | None) -> Integral:
    """Return ``int_0^inf e^(-(a + x)^2/2) w(x) dx`` with error bounds; w is ``1 - e^(-mu x)``, or 1 if mu is ``None``.

    For a > 0 the integral is multiplied by ``e^(a^2/2)``.
    """
    low = max(0.0, -a - REACH)
    high = 2 * DEPTH / (a + math.sqrt(a * a + 2 * DEPTH)) if a > 0 else REACH - a
    growth = max(abs(a + low), abs(a + high)) + (0.0 if mu is None else 1 + mu)
    x, weights = on_equal_panels(low, high, growth)
    exponent = -x * (a + 0.5 * x) if a > 0 else -0.5 * np.square(a + x)
    mass = weights * np.exp(exponent)
    share = np.ones_like(x) if mu is None else -np.expm1(-mu * x)
    envelope = np.ones_like(x) if mu is None else mu * (1 + x)
    # x errs by some roundings of itself, a + x by as many of |a| + x
    moved = (abs(a) + x) * np.abs(a + x) if a <= 0 else x * (a + x)
    own = UNIT_ROUNDOFF * (64 + 16 * moved) * share
    value = float((mass * share).sum())
    error = float((mass * (own + RULE_ERROR * envelope)).sum())
    depth = high * (a + 0.5 * high) if a > 0 else 0.5 * REACH**2
    outside = math.exp(-depth) / OUTER  # Mills' ratio, twice for a <= 0; a + high is at least 12.6
    return Integral(value, error, error + outside)
