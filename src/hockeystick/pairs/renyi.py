"""The Renyi bound on a composition in one direction, an upper bound that is cheap and always available.

For every t > 0, ``sup_{x >= 0} e^(-tx) (1 - e^-x) = t^t / (1 + t)^(1 + t)`` gives

    delta(eps) <= e^(K(t) - t eps) t^t / (1 + t)^(1 + t),   K = sum_i k_i K_i,

where K is the log-moment of the composition, K_i that of a round of kind i, and k_i the number of such rounds. This is
the conversion of Canonne, Kamath, Steinke 2020 [CKS20], Proposition 12, at the order alpha = 1 + t. It is also the
moments accountant of Abadi et al. 2016 [ACG+16] with its last step sharpened. The real number t is optimised: log delta
is convex in t, and epsilon is a convex function divided by t, so that each has one minimum. Any t gives a bound, so the
search need not be exact.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from hockeystick.numerics.budget import allows
from hockeystick.numerics.logarithm import log_peak as log_peak
from hockeystick.numerics.minima import least_place
from hockeystick.numerics.rounding import UNIT_ROUNDOFF
from hockeystick.pairs.base import RenyiCurve
from hockeystick.pairs.composition import RenyiComposition

STRIDE = math.log(3.0)  # step in log t by which the search brackets the minimum
LOG_T_RANGE = (-90.0, 90.0)  # range of log t in which the best order is sought
PRECISION = 1e-6  # precision of log t at the minimum; the bound exceeds its minimum by about the square of this
SLACK = 64 * UNIT_ROUNDOFF  # bound on the relative error of a sum of few terms or products
MOMENT = 10e3
"""Work units of one moment of one kind of round, in addition to its share of the ``seconds`` that the kind declares."""

ORDERS = 16
"""Approximate number of orders that a search tries."""


class RenyiBound(NamedTuple):
    """An upper bound on epsilon or on log delta, and the order ``1 + t`` at which it was obtained."""

    value: float
    order: float


def log_moment(composition: RenyiComposition, t: float, slack: float = 0.0) -> float:
    """Certified upper bound on K(t) of the composition; it may exceed the sharpest bound by ``slack``, to save time."""
    if slack:
        share = slack / (1 << composition.count.bit_length())  # the same for nearby counts: bounds are cached
        parts = [count * _quick(pair, t, share) for pair, count in composition.rounds]
    else:
        parts = [count * pair.log_moment(t) for pair, count in composition.rounds]
    if not all(math.isfinite(part) for part in parts):
        return math.inf
    return math.fsum(parts) + SLACK * math.fsum(map(abs, parts))


def moment_work(composition: RenyiComposition) -> float:
    """Return the work of computing K(t) of the composition at one order, in the budget's units of work."""
    return sum(MOMENT + 1e9 * curve.seconds / ORDERS for curve, _ in composition.rounds)


def renyi_epsilon(composition: RenyiComposition, log_delta: float) -> RenyiBound:
    """Return an epsilon >= 0 at which finite losses add at most ``exp(log_delta)`` to delta; ``inf`` if none."""
    return epsilon_from(lambda t: log_moment(composition, t), log_delta, moment_work(composition))


def epsilon_from(moment: Callable[[float], float], log_delta: float, work: float = MOMENT) -> RenyiBound:
    """Return an epsilon >= 0 at which log delta is at most ``log_delta``; ``inf`` if none is found.

    ``moment(t)`` is an upper bound on K(t) that takes ``work`` units to compute.
    """
    found = _least(lambda t: _epsilon_at(moment(t), t, log_delta), work)
    return RenyiBound(max(found.value, 0.0), found.order)


def epsilon_at(composition: RenyiComposition, t: float, log_delta: float) -> float:
    """Return the least epsilon >= 0 at which the single order ``1 + t`` bounds log delta by ``log_delta``.

    Here delta is that of the finite losses.
    """
    return max(_epsilon_at(log_moment(composition, t), t, log_delta), 0.0)


def _epsilon_at(k: float, t: float, log_delta: float) -> float:
    return (k - log_delta + log_peak(t)) / t + SLACK * (abs(k) + abs(log_delta) + 2) / t


def _quick(pair: RenyiCurve, t: float, slack: float) -> float:
    transform = pair.transform
    return pair.log_moment(t) if transform is None else transform.upper(t, slack)


def log_delta_from(composition: RenyiComposition, t: float, epsilon: float, slack: float = 0.0) -> float:
    """Upper bound on log delta of the finite losses at an epsilon, from the single order ``1 + t``."""
    return log_delta_at(log_moment(composition, t, slack), t, epsilon)


def log_delta_at(k: float, t: float, epsilon: float) -> float:
    """Upper bound on log delta of the finite losses at an epsilon, from an upper bound k on K(t) at a single t."""
    return k - t * epsilon + log_peak(t) + SLACK * (abs(k) + t * epsilon + 2)


def renyi_log_delta(composition: RenyiComposition, epsilon: float) -> RenyiBound:
    """Return an upper bound on log delta of the finite losses at an epsilon, and its order."""
    return log_delta_by(lambda t: log_moment(composition, t), epsilon, moment_work(composition))


def log_delta_by(moment: Callable[[float], float], epsilon: float, work: float = MOMENT) -> RenyiBound:
    """Return an upper bound on log delta at an epsilon, and its order; ``moment(t)`` is an upper bound on K(t)."""
    found = _least(lambda t: log_delta_at(moment(t), t, epsilon), work)
    return RenyiBound(min(found.value, 0.0), found.order)


def _least(bound: Callable[[float], float], work: float) -> RenyiBound:
    """Return the least value found of a function of t with one minimum, and the order ``1 + t`` of that value.

    The search starts at t = 1, brackets the minimum in log t, and then locates it to :data:`PRECISION` in log t. The
    value found exceeds the minimum by about the square of this. Each order takes ``work`` units. If the budget allows
    no further order, the search stops.
    """
    known: dict[float, float] = {}

    def at(log_t: float) -> float:
        if log_t not in known:
            if known and not allows(work):
                return math.inf
            known[log_t] = bound(math.exp(log_t))
        return known[log_t]

    middle = 0.0
    while math.isinf(at(middle)) and middle > LOG_T_RANGE[0]:
        middle -= STRIDE
    if math.isinf(at(middle)):
        return RenyiBound(math.inf, math.inf)
    step = STRIDE if at(middle + STRIDE) < at(middle) else -STRIDE
    while LOG_T_RANGE[0] <= middle + step <= LOG_T_RANGE[1] and at(middle + step) < at(middle):
        middle += step
    if allows(work):
        with np.errstate(over="ignore", invalid="ignore"):  # where bounds are infinite, a section step is taken
            least_place(at, middle - STRIDE, middle + STRIDE, xtol=PRECISION)
    log_t = min(known, key=lambda t: known[t])
    return RenyiBound(known[log_t], 1 + math.exp(log_t))
