"""Upper bounds on ``K(t) = log E_P [e^(tL); L < inf]`` for real t > 0, which Renyi bounds need.

If no loss is infinite, ``K(t) = t D_(1+t)(P || Q)`` with the Renyi divergence D. Each function returns an upper bound
that includes its own rounding errors. The bound exceeds the true value by a few roundings unless the docstring of the
function says otherwise.

A small K keeps its digits, as the terms of first order cancel analytically: with ``m = e^K`` and ``x2(y) = e^y - 1 -
y``, every formula for ``m(t) - 1`` below is a sum of positive terms.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from hockeystick.numerics.logarithm import exp_beyond_first, log_sum
from hockeystick.numerics.rounding import UNIT_ROUNDOFF

Array = npt.NDArray[np.float64]

MOST_EXPONENT = 600.0  # largest exponent y for which e^y is computed: a double holds e^y, with room for factors
CARE = 256 * UNIT_ROUNDOFF  # bound on the relative error of a few dozen operations of a few roundings each


def rounded_up(value: float, size: float = 0.0) -> float:
    """Return ``value`` plus a bound on its error; ``size`` is the largest number from which ``value`` was computed."""
    return math.inf if math.isnan(value) else value + CARE * (abs(value) + size)


def gaussian(mu: float, t: float) -> float:
    """Return the log-moment K(t) of unsampled Gaussian noise, ``mu^2 t (1 + t) / 2``, rounded up."""
    return rounded_up(0.5 * mu * mu * t * (1 + t))


def laplace(theta: float, t: float) -> float:
    """Upper bound on the log-moment K(t) of Lap(theta, 1) against Lap(0, 1) (Mironov 2017 [Mir17], Proposition 6).

    With ``m = e^K``, ``x2(y) = e^y - 1 - y``, ``a = t theta``, ``c = (1 + t) theta``: ``m - 1 = ((1 + t) x2(a) + t
    x2(-c)) / (1 + 2t)``.
    """
    a, c = t * theta, (1 + t) * theta
    if a > MOST_EXPONENT:  # m = e^a (1 + t) / (1 + 2t) + e^(-c) t / (1 + 2t), the second less than e^-1200 of the first
        return rounded_up(a - math.log1p(t / (1 + t)), 1.0)
    grown, fallen = exp_beyond_first(np.array([a, -c])).tolist()
    return rounded_up(math.log1p(((1 + t) * grown + t * fallen) / (1 + 2 * t)))


def atoms(loss: Array, log_p: Array, t: float, units: float = 0.0) -> float:
    """Upper bound on ``log sum p e^(tL)`` over the finite losses.

    The bound exceeds the true value by at least a few units of round-off, so that a small K loses its digits. Each loss
    may have a relative error of ``units`` units of round-off.
    """
    seen = np.isfinite(loss) & np.isfinite(log_p)
    exponent = log_p[seen] + t * (loss[seen] + units * UNIT_ROUNDOFF * np.abs(loss[seen]))
    if not len(exponent):
        return -math.inf
    top = float(exponent.max())
    return rounded_up(log_sum(exponent), 1.0 + abs(top) + float(np.abs(exponent[exponent >= top - 50]).max()))


def of_law(loss: Array, log_p: Array, log_q: Array, t: float) -> float:
    """Upper bound on K(t) from all atoms of a law; a small K keeps its digits.

    Both laws have total mass 1. Let ``m = e^K``, ``x2(y) = e^y - 1 - y``, q_0 the mass that Q has where P has none, and
    p_0 the mass that P has where Q has none. The finite losses have the mass ``1 - p_0`` under P, and ``E e^-L = 1 -
    q_0``. So ``m - 1 = sum p (x2(tL) + t x2(-L)) + t q_0 - (1 + t) p_0``. The relative error of each term is at most a
    few units of round-off times ``1 + |log p| + t |L|``. If ``m - 1`` is positive and has a relative error, the
    relative error of ``K = log(1 + (m - 1))`` is no larger.
    """
    rough = atoms(loss, log_p, t)
    seen = np.isfinite(loss) & np.isfinite(log_p)
    if not seen.any() or max(t * float(np.abs(loss[seen]).max()), float(-loss[seen].min())) > MOST_EXPONENT:
        return rough
    only_p, only_q = (float(np.exp(log[loss == end]).sum()) for log, end in ((log_p, np.inf), (log_q, -np.inf)))
    terms = np.exp(log_p[seen]) * (exp_beyond_first(t * loss[seen]) + t * exp_beyond_first(-loss[seen]))
    units = 16 * (4 + float(np.abs(log_p[seen]).max()) + (1 + t) * float(np.abs(loss[seen]).max())) + len(terms)
    gained, lost = float(terms.sum()) + t * only_q, (1 + t) * only_p
    excess = gained - lost + units * UNIT_ROUNDOFF * (gained + lost)
    return min(rounded_up(math.log1p(excess)), rough) if excess > -1 else rough


def mixture_remove(base: Callable[[float], float], rate: float, t: float) -> float:
    """Rough upper bound on K(t) for removing a record under Poisson sampling at rate q: the smaller of two bounds.

    ``base(t)`` is an upper bound on K(t) of the base pair. Let ``g = 1 - q + q Lambda``, ``Lambda`` the base pair's
    likelihood ratio under Q, and m the moment after sampling. Convexity of ``g^(1+t)`` gives ``m <= 1 - q + q e^K``.
    Minkowski's inequality gives ``m^(1/(1+t)) <= 1 - q + q e^(K / (1+t))``.
    """
    k = base(t)
    power = 1 + t
    return rounded_up(min(log_mixture(rate, k), power * log_mixture(rate, k / power)), power)


def mixture_add(base: Callable[[float], float], rate: float, t: float) -> float:
    """Rough upper bound on K(t) for adding a record under Poisson sampling at rate q: the smaller of two bounds.

    With the base pair's likelihood ratio ``Lambda``, the sampled pair has the likelihood ratio ``1 / g``, ``g = 1 - q +
    q Lambda``. One bound holds because ``g^(-t)`` is convex in Lambda, the other because ``g^(-t)`` is at most ``(1 -
    q)^(-t)``. ``base(t)`` is an upper bound on K of the base pair with its laws exchanged, ``log E_Q Lambda^(-t)``.
    """
    return rounded_up(min(log_mixture(rate, base(t)), -t * math.log1p(-rate)), 1.0)


def mixture_replace(mu: float, rate: float, t: float) -> float:
    """Rough upper bound on K(t) for replacing a record in a sampled Gaussian round: the smaller of two bounds.

    As ``(a, b) -> a^(1+t) b^(-t)`` is jointly convex, the Gaussian pair at distance 2 mu with probability q gives one
    bound. The other bound holds because the density of Q is at least (1 - q) times that of N(0, 1).
    """
    apart = log_mixture(rate, gaussian(2 * mu, t))
    one_sided = mixture_remove(lambda order: gaussian(mu, order), rate, t) - t * math.log1p(-rate)
    return rounded_up(min(apart, one_sided), 1 + t)


def log_mixture(rate: float, k: float) -> float:
    """Return ``log(1 - q + q e^k)``, the logarithm of the mean of 1 and e^k with weights 1 - q and q (the rate)."""
    if k > MOST_EXPONENT:
        return k + math.log(rate) + math.log1p((1 - rate) / rate * math.exp(max(-k, -745.0)))
    return math.log1p(rate * math.expm1(k))
