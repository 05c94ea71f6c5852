"""A dominating pair for rounds whose Renyi curves alone are known.

Let K be the sum of the curves. For every epsilon and every t > 0 (``pairs/renyi.py``)

    delta(eps) <= h(eps) = e^(K(t) - t eps) t^t / (1 + t)^(1 + t),

and delta(0) is the total variation distance. Let D be the Kullback-Leibler divergence, which is at most ``K(t) / t``.
Then delta(0) is at most ``sqrt(D / 2)`` (Pinsker's inequality) and ``sqrt(1 - e^(-D))``, since ``e^(-D) <= (int sqrt(p
q))^2 <= int min(p, q) int max(p, q)`` by the inequalities of Jensen and of Cauchy and Schwarz.

Take some epsilons as knots, and a function of ``alpha = e^eps`` that is 1 at alpha = 0, convex, decreasing, linear
between knots, and at least delta at every knot. As delta is convex in alpha, this function is also at least delta
between the knots. It is the privacy curve of a pair whose losses are the knots (Zhu, Dong, Wang 2022 [ZDW22], after
Definition 7). The value at the last knot counts as mass at infinite loss. The pair dominates the rounds, so that its
product with the pairs of other rounds dominates the composition (Theorem 10 of [ZDW22]). Apart from the spacing of the
knots, the resulting bound is nowhere above the Renyi bound of all rounds. It is smaller wherever more than the moments
of the other rounds is known.

All computations use logarithms, since alpha and the masses leave the range of a double. Finally the curve of the masses
is compared with h at every loss. If the curve is below h, the masses are raised by the largest relative deficit, so
that the bound does not rely on an analysis of roundings.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from hockeystick.numerics.rounding import next_up
from hockeystick.pairs.base import Array
from hockeystick.pairs.composition import RenyiComposition
from hockeystick.pairs.knots import KnottedPair
from hockeystick.pairs.renyi import SLACK, log_moment, log_peak

STRIDE = 1.04
"""Ratio of neighbouring values of t, the order minus 1; between them the bound is off by about 3 % at delta 1e-30.
Whole numbers in between are used, too, since bounds on moments of samples without replacement have corners there."""

LITTLE = 1e-3
"""Value of K(t) at the least t tried: smaller t do not improve the bound at epsilon 0."""

LEAST_TILT, LARGEST_TILT = 1e-30, 1e15  # range of t, the order minus 1, in which orders are tried

DEEPEST = -690.0
"""Logarithm of delta at the last knot, within the range of a double; mass beyond it counts as infinite loss."""

WIDTH = 0.25
"""Distance of knots in units of ``1 / sqrt(t (1 + t))``: chords lie above h by the fraction distance^2 / 8."""

MOST_KNOTS = 4000  # largest number of losses of one pair

CARE = 4e-13
"""Relative amount by which masses are raised, to cover some roundings of logarithms as large as ``|DEEPEST|``."""


def tabulated(rounds: RenyiComposition) -> KnottedPair | None:
    """Return a pair that dominates the composition ``rounds``; ``None`` if the moments of the rounds give no bound."""
    lines = np.array(list(_lines(rounds)))
    if not len(lines):
        return None
    least, most = rounds.infinite_mass_ends
    largest = rounds.largest_loss[1] if rounds.largest_loss is not None else math.inf
    epsilons, log_h = _knots(lines, largest, None if most else float((lines[:, 1] / lines[:, 0]).min()))
    if not len(epsilons):
        return None
    kept, log_p = _hull(epsilons, log_h, math.log1p(-least))
    losses, at_losses = epsilons[kept], log_h[kept]
    beyond = math.exp(log_h[-1]) if log_h[-1] > -math.inf else 0.0
    p = np.exp(log_p)
    p *= 1 + CARE + _missing(losses, at_losses, p, beyond)
    infinite = (beyond + most) * (1 + CARE)
    p[0] = max(next_up(1.0 - math.fsum(p[1:].tolist()) - infinite, 4), math.ulp(0.0))
    with np.errstate(divide="ignore"):
        logs = np.log(p)
    seen = logs > -math.inf
    at, log_p = losses[seen], logs[seen]
    only_q = max(1.0 - math.fsum(np.exp(log_p - at).tolist()), 0.0)  # the rest of Q's mass is at -inf
    return KnottedPair(tuple(at.tolist()), tuple(log_p.tolist()), tuple((log_p - at).tolist()), infinite, only_q)


def _lines(rounds: RenyiComposition) -> Iterator[tuple[float, float]]:
    """Yield (t, K(t)) for increasing t, from a t with a small K(t) to the best t for the smallest delta of interest."""
    low = 1.0
    while low > LEAST_TILT and log_moment(rounds, low) > LITTLE:
        low /= 4
    t, before = low, None
    while t < LARGEST_TILT:
        k = log_moment(rounds, t)
        if not math.isfinite(k):
            return
        yield t, k
        if before is not None:
            slope = (k - before[1]) / (t - before[0])
            if k - t * slope < DEEPEST:  # log delta at which this order is the best
                return
        before, following = (t, k), t * STRIDE
        t = float(math.floor(following)) if math.floor(following) > t else following


def _knots(lines: Array, largest: float, divergence: float | None) -> tuple[Array, Array]:
    """Return knots, which are increasing epsilons, and the log of the bound h on delta at each knot."""
    t, k = lines[:, 0], lines[:, 1]
    at_zero = k + np.array([log_peak(float(order)) for order in t]) + SLACK * (np.abs(k) + 2)

    def bound(epsilon: float) -> tuple[float, float]:
        values = at_zero - t * epsilon * (1 - SLACK)
        best = int(np.argmin(values))
        return float(values[best]), float(t[best])

    top = 0.0
    if divergence is not None:
        total = math.sqrt(min(0.5 * divergence, -math.expm1(-divergence))) if divergence > 0 else 0.0
        top = math.log(total) + CARE if 0 < total < 1 else 0.0
    if largest <= 0:
        return np.zeros(1), np.full(1, -math.inf)
    # up to the least epsilon at which some order gives less than the bound at 0, the curve is constant
    epsilon = min(max(float(((at_zero - top) / t).min()), 0.0), largest)
    found: list[tuple[float, float]] = [(0.0, top)] if epsilon > 0 else []
    while len(found) < MOST_KNOTS:
        value, tilt = bound(epsilon)
        found.append((epsilon, min(value, top)))
        if epsilon >= largest:
            found[-1] = (largest, -math.inf)
            break
        if value < DEEPEST:
            break
        step = WIDTH / math.sqrt(tilt * (1 + tilt))
        while step > 2 * WIDTH / math.sqrt((after := bound(epsilon + step)[1]) * (1 + after)):
            step /= 2
        epsilon = min(epsilon + step, largest)
    informative = [item for item in found if item[1] < 0]
    epsilons, log_h = np.array(informative).reshape(-1, 2).T
    return epsilons, log_h


def _hull(epsilons: Array, log_h: Array, log_start: float) -> tuple[list[int], Array]:
    """Return the indices of the knots on the lower convex hull of h, and the log-masses under P of the hull's pair.

    The hull starts at ``alpha = e^epsilon = 0`` with the value ``exp(log_start)``. Knots above the hull are not needed:
    delta is convex in alpha, so it lies below each chord of the hull.
    """
    kept: list[int] = []
    falls: list[float] = []  # log of the slope, downwards, of the chord that ends at each kept knot
    for index in range(len(epsilons)):
        while True:
            fall = _fall(epsilons, log_h, kept[-1] if kept else None, index, log_start)
            if not kept or fall < falls[-1]:
                break
            kept.pop()
            falls.pop()
        kept.append(index)
        falls.append(fall)
    slopes = np.array([*falls, -math.inf])
    with np.errstate(divide="ignore"):
        log_q = slopes[:-1] + np.log(-np.expm1(slopes[1:] - slopes[:-1]))
    return kept, epsilons[kept] + log_q


def _fall(epsilons: Array, log_h: Array, first: int | None, last: int, log_start: float) -> float:
    """Return the log of ``(h(first) - h(last)) / (alpha(last) - alpha(first))`` for the indices of two knots.

    If ``first`` is ``None``, it stands for alpha = 0, where h is ``exp(log_start)``.
    """
    high, end = (log_start if first is None else float(log_h[first])), float(log_h[last])
    if end >= high:
        return -math.inf
    run = float(epsilons[last])
    if first is not None:
        apart = run - float(epsilons[first])
        run += math.log(-math.expm1(-apart))
    return high + math.log(-math.expm1(end - high)) - run


def _missing(losses: Array, log_h: Array, p: Array, beyond: float) -> float:
    """Return the largest relative amount by which the curve of the masses p is below h at a loss; 0 if it never is."""
    excess = -np.expm1(np.minimum(losses[:, None] - losses[None, :], 0.0))
    curve = excess @ p + beyond
    wanted = np.exp(log_h)
    known = wanted > 0
    return float((wanted[known] / curve[known] - 1).max(initial=0.0))
