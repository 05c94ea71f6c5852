"""Bound on the decay of the moments ``A(alpha + is) = E_Q Lambda^(alpha + is)`` of an epoch as s grows.

``Lambda = c + S`` is the likelihood ratio, with a constant c and a weighted sum S of T lognormal variables
(``allocation_law.py``).

**Without a constant part**, c = 0, the integrand over ``x in R^T`` is entire. Moving every coordinate from ``x_j`` to
``x_j + iy`` multiplies ``Lambda`` by ``e^(i mu y)``, whatever the probabilities of the steps, and the modulus of the
normal density by ``e^(T y^2/2)``. So for all real y

    |A(alpha + is)| <= e^(T y^2/2 - s mu y) A(alpha) .

With ``y = mu s / T`` the right-hand side is ``e^(-(mu s)^2 / (2T)) A(alpha)``, which falls with s.

**With a constant part**, c > 0, the integrand is analytic as long as Lambda avoids the negative reals and 0. Let
``0 < theta = mu y <= pi/2`` and move every coordinate by ``iy``. Then S turns into ``S e^(i theta)``, and the modulus
of the normal density is multiplied by ``e^(T y^2/2)``. With ``psi(S) = arg(c + S e^(i theta))``, for s >= 0,

    |A(alpha + is)| <= e^(T y^2/2) E_Q |c + S e^(i theta)|^alpha e^(-s psi(S)) .

Here ``(c + S) cos(theta/2) <= |c + S e^(i theta)| <= c + S``, because the square of the modulus is
``(c + S)^2 - 2cS (1 - cos theta)``, and ``4cS <= (c + S)^2``. (For negative s the moment is the complex conjugate.)
``psi`` rises with S, from 0.

- *alpha >= 0.* ``Lambda^alpha`` rises with S and ``e^(-s psi)`` falls, so that the mean of their product is at most the
  product of their means (Chebyshev's inequality for a rising and a falling function of one variable):
  ``|A(alpha + is)| / A(alpha) <= e^(T y^2/2) E_Q e^(-s psi(S))``.
- *alpha < 0.* The ratio is at most ``cos(theta/2)^alpha e^(T y^2/2) E_Q Lambda^alpha e^(-s psi(S)) /
  A(alpha)``. In it, ``A(alpha)`` is replaced by a lower bound; it is at least 1 (Jensen's inequality).

In both cases it remains to bound the mean of a decreasing function f of S. For any places ``0 = x_0 < ... < x_m``,

    E_Q f(S) <= f(x_m) + sum_(i=1)^m (f(x_(i-1)) - f(x_i)) F(x_i) ,        F(x) >= Q(S < x) .

The right-hand side equals ``f(0) F(x_1) + sum_i f(x_i) (F(x_(i+1)) - F(x_i)) + f(x_m) (1 - F(x_m))``, in which all
terms are positive. F is the least of the bounds of Markov's inequality, ``Q(S < x) <= e^(rx) E e^(-rS)``, over several
r (``allocation_series.py``, on the real ray). The final bound is the least bound over several y. For each y the bound
decreases in s, and so does the least bound: a bound at one s holds for all larger s.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from hockeystick.numerics.rounding import SPARE
from hockeystick.pairs.sampled.allocation_law import AllocationLaw
from hockeystick.pairs.sampled.allocation_line import WIDE, AllocationLine
from hockeystick.pairs.sampled.allocation_series import on_rays
from hockeystick.pairs.sampled.markov_law import RatioLaw

Array = npt.NDArray[np.float64]

OFFSETS = np.concatenate([np.geomspace(0.004, 20.0, 88), [30.0, 45.0, 70.0]])  # log(mean of S / x_i) for each place x_i
SIZES = np.linspace(-14.0, 26.0, 81)  # values of log kappa for Markov's inequality, whole multiples of 1/2
LIFTS = np.geomspace(1e-6, 2e3, 60)  # values of ``T y^2/2`` that are tried
PLACES = len(OFFSETS) + 1  # number of places x_i, including 0


@dataclass(frozen=True, slots=True)
class AllocationEnvelope:
    """Bound on the decay of the moments ``A(alpha + is)`` of an epoch as s grows.

    Args:
        law: the law of Lambda; if it has a constant part, it must be an :class:`AllocationLaw`.
        alpha: real part of the exponent.
    """

    law: RatioLaw
    alpha: float

    @property
    def cost(self) -> float:
        """Number of evaluations for each edge: 1 for the closed form, else one for each place and shift y."""
        return float(PLACES * len(LIFTS)) if self.law.constant else 1.0

    def log_bound(self, edges: Array) -> Array:
        """Return, for each edge, an upper bound <= 0 on ``log (|A(alpha + is)| / A(alpha))`` for all s >= edge."""
        if self.law.constant:
            return self._with_constant(edges)
        return -0.5 * self.law.decay * np.square(edges) * (1 - SPARE)

    def _with_constant(self, edges: Array) -> Array:
        """Bounds at the edges for c > 0, each the least over all shifts y and at most 0."""
        law, alpha = self.law, min(self.alpha, 0.0)
        assert isinstance(law, AllocationLaw)
        constant, mu = float(law.constant), law.mu
        place, log_below = _below(law)
        y = np.sqrt(2 * LIFTS / law.steps)
        y = y[mu * y <= 0.5 * math.pi]
        if not len(y):
            y = np.array([0.5 * math.pi / mu])
        theta = mu * y
        psi: Array = np.arctan2(place * np.sin(theta)[:, None], constant + place * np.cos(theta)[:, None])
        # logs of (Lambda / c)^alpha and of its weight, for the sum over f(x_0), ..., f(x_m)
        size = alpha * np.log1p(place / constant) + _log_weights(log_below)
        top = float(size.max())
        lift = 0.5 * law.steps * np.square(y) + alpha * np.log(np.cos(0.5 * theta))
        log_least = _log_least(law, alpha) - alpha * math.log(constant) if alpha else 0.0
        with np.errstate(under="ignore"):
            mean = np.exp(size - top - np.multiply.outer(edges, psi)).sum(axis=-1)
        found: Array = np.log(mean * (1 + SPARE) + 1e-300) + top + lift * (1 + SPARE) - log_least
        least: Array = np.minimum(found.min(axis=1), 0.0)
        return least


@lru_cache(maxsize=32)
def _below(law: AllocationLaw) -> tuple[Array, Array]:
    """Return places ``x_0 = 0 < x_1 < ... < x_m`` and increasing logarithms of bounds on ``Q(S < x_i)``, i >= 1."""
    mean = float(1 - law.constant)
    place = mean * np.exp(-OFFSETS[::-1])
    (rows,) = on_rays(replace(law, constant=Fraction(0)), 0, [(0.0, None, SIZES)], WIDE)
    with np.errstate(over="ignore"):
        log_above = rows.log_scale + np.log(np.abs(rows.value) + rows.error)
        r = np.exp(SIZES) / float(law.groups[0][0])
        chance = (np.multiply.outer(place, r) * (1 + SPARE) + log_above).min(axis=1) + SPARE
    # for a very large kappa a transform is only rounding error, but the bounds from other kappa are smaller then
    return np.concatenate([[0.0], place]), np.minimum(chance, 0.0)


def _log_weights(log_below: Array) -> Array:
    """Return logs of ``F(x_1)``, ``F(x_(i+1)) - F(x_i)`` and ``1 - F(x_m)``, each raised by SPARE times its minuend.

    This covers the rounding of the differences, as the logarithms are below 1e5 and F has a relative error of 1e-11.
    """
    above = np.append(log_below, 0.0)
    fall = np.append(-math.inf, log_below) - above
    weights: Array = above + np.log(-np.expm1(fall) + SPARE)
    return weights


@lru_cache(maxsize=32)
def _log_least(law: AllocationLaw, alpha: float) -> float:
    """Lower bound on ``log A(alpha)`` for alpha < 0: a lower bound by quadrature or 0, whichever is larger."""
    line = AllocationLine(law, alpha, 1, 0.0, 1e-6)
    if not line.usable:
        return 0.0
    values, errors, top = line.moments(1.0, 1)
    least = float(values[0].real - errors[0])
    return max(math.log(least) + top - SPARE, 0.0) if least > 0 else 0.0
