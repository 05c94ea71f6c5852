"""Conversions between a Renyi divergence of one order and epsilon, with all rounding errors included.

Canonne, Kamath, Steinke 2020 [CKS20], Proposition 12: if the divergence of order 1 + t is at most D, then epsilon at
delta is at most ``D + (log_peak(t) - log delta) / t``, with ``log_peak`` of ``pairs/renyi.py``.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TypeVar

from hockeystick.numerics.rounding import UNIT_ROUNDOFF
from hockeystick.pairs.renyi import log_peak
from hockeystick.questions.filters.base import SLACK, PrivacyFilter
from hockeystick.values import domains
from hockeystick.values.errors import InvalidInputError

STRIDES = (1.05, 1.001, 1.00002)  # factors of t: the search covers a factor of 131 to either side, to within 2e-5
REACH = 100  # strides of each size to either side; together they cover two strides of the size before

TARGET = domains.Domain("a number from 1e-6 to 1e4", {"minimum": 1e-6, "maximum": 1e4}, "the target epsilon")
"""Domain of the target epsilon from which a budget in another currency is computed."""

Budget = TypeVar("Budget", bound=PrivacyFilter)


def epsilon_of(divergence: float, t: float, delta: float) -> float:
    """Return the epsilon at delta that a divergence of order 1 + t implies, rounded up."""
    rest, size = _rest(t, delta)
    return max(divergence + rest + SLACK * (divergence + size), 0.0)


def divergence_within(epsilon: float, t: float, delta: float) -> float:
    """Return the largest divergence of order 1 + t that implies epsilon at delta, rounded down; below 0 if none does.

    The result is low enough for :func:`epsilon_of` to return at most epsilon.
    """
    rest, size = _rest(t, delta)
    return epsilon - rest - 4 * SLACK * (epsilon + size)


def balanced_tilt(epsilon: float, log: float) -> float:
    """Return ``t = sqrt(log / rho)``, at which the terms ``t rho`` and ``log / t`` are equal.

    Here log = log(1/delta) > 0, and rho solves ``rho + 2 sqrt(rho log)`` = epsilon: ``sqrt(rho) = epsilon / (sqrt(log +
    epsilon) + sqrt(log))``.
    """
    return math.sqrt(log) * (math.sqrt(log + epsilon) + math.sqrt(log)) / epsilon


def least(bound: Callable[[float], float], t: float) -> float:
    """Return the smallest value of ``bound`` that a search around ``t`` finds; the bound is valid at every t > 0."""
    for stride in STRIDES:
        t = min((t * stride**i for i in range(-REACH, REACH + 1)), key=bound)
    return bound(t)


def settled(make: Callable[[float], Budget], value: float, epsilon: float, delta: float) -> Budget:
    """Return the filter that ``make`` builds, with a budget lowered until the epsilon of the budget meets the target.

    The searches for the budget and for its epsilon are each rounded to the safe side, so their last digits may
    disagree.
    """
    found, step = make(value), 4 * UNIT_ROUNDOFF
    while found.budget_epsilon(delta) > epsilon:
        if step >= 1:
            raise InvalidInputError(
                f"no budget is known to stay within epsilon {epsilon!r} at delta {delta!r}; use a larger epsilon or "
                "delta",
                "epsilon",
            )
        found, step = make(value * (1 - step)), 2 * step
    return found


def _rest(t: float, delta: float) -> tuple[float, float]:
    """Return the term that the conversion adds to the divergence, and the size of its parts, to charge rounding."""
    peak, log = log_peak(t), math.log(delta)
    return (peak - log) / t, (abs(peak) + abs(log)) / t
