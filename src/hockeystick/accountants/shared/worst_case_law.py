"""Law of the summed loss of the worst mechanisms with given per-round epsilons, and its delta.

The worst round with losses in [-epsilon_i, epsilon_i] is binary randomised response (Kairouz, Oh, Viswanath 2015
[KOV15], Theorem 3.4): loss epsilon_i with probability ``1/(1 + e^-epsilon_i)``, else -epsilon_i. The sum over equal
rounds has a binomial law. With several kinds of rounds, one kind is set apart. Let S(x) be the probability under P, and
T(x) under Q, that the sum over this kind is above x. Let l be a possible sum over all other kinds, and p its
probability under P, a product of binomial probabilities. Then

    delta(epsilon) = sum of p (S(epsilon - l) - e^(epsilon - l) T(epsilon - l)) over all l.

If there are too many l, epsilons are rounded to the grid of Murtagh, Vadhan 2016 [MV16], Theorem 1.7 and its proof: up
for an upper bound, down for a lower bound.

Binomial probabilities are computed from the mode outward, each from its neighbour by their ratio, and normalised to sum
to 1. The error of each is a few roundings per step from the mode. Probabilities below a floor are dropped; a bound on
their sum is added to the upper bound on delta. Losses have rounding errors relative to the sum of all epsilons;
therefore epsilon is moved by as much, down for the upper bound and up for the lower bound.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from hockeystick.numerics.arrays import Array
from hockeystick.numerics.meet import crossing
from hockeystick.numerics.rounding import LARGEST, UNIT_ROUNDOFF
from hockeystick.values.side import Side

FLOOR = -690.0  # log of the smallest mass kept; in a binomial law, relative to the mass at the mode
BLOCK = 2.0  # length of a block of losses: e^-2 times the floor keeps full precision


Kinds = Sequence[tuple[float, int]]  # epsilon > 0 and count


class Law(NamedTuple):
    """Losses in ascending order with their P-masses, and two bounds.

    ``error`` is a bound on the relative errors of the masses. ``missing`` is a bound on the mass of losses left out.
    """

    loss: Array
    p: Array
    error: float
    missing: float


def binomial_law(epsilon: float, count: int, floor: float = FLOOR) -> Law:
    """Return the law of the loss of ``count`` rounds of randomised response.

    Masses below ``e^floor`` times the largest are left out.
    """
    odds = math.exp(-epsilon)
    mode = min(int((count + 1) * odds / (1 + odds)), count)  # most likely number of rounds with loss -epsilon
    up, up_rest = _ratios(mode, count, odds, floor)
    down, down_rest = _ratios(count - mode, count, math.exp(min(epsilon, LARGEST)), floor)
    weights = np.concatenate([down[::-1], [1.0], up])
    total = float(weights.sum())
    lows = np.arange(mode - len(down), mode + len(up) + 1, dtype=np.float64)
    steps = max(len(up), len(down)) + 1
    error = UNIT_ROUNDOFF * (64 + (16 + epsilon) * 2 * steps)
    missing = (up_rest + down_rest) / total * (1 + 1e-6)
    return Law((epsilon * (count - 2 * lows))[::-1], (weights / total)[::-1], error + 2 * missing, missing)


def _ratios(start: int, count: int, odds: float, floor: float) -> tuple[Array, float]:
    """Binomial masses at ``start + 1, start + 2, ...``, and a bound on the sum of those left out.

    Both are divided by the mass at the mode, ``start``.
    """
    least, wanted = math.exp(floor), 64
    while True:
        steps = min(wanted, count - start)
        j = start + np.arange(steps, dtype=np.float64)
        ratio = (count - j) / (j + 1) * odds
        masses: Array = np.cumprod(ratio, dtype=np.float64)
        if steps and masses[-1] < least:
            kept = int(np.argmax(masses < least))
            return masses[:kept], float(masses[kept]) / (1 - float(ratio[kept])) * (1 + 1e-6) + 1e-300
        if steps == count - start:
            return masses, 0.0
        wanted *= 2


def exact_points(kinds: Kinds) -> int:
    """Return how many values l of the module docstring can have: sums of losses of all kinds but the most numerous."""
    return math.prod(count + 1 for _, count in sorted(kinds, key=lambda kind: kind[1])[:-1])


def rounding_step(kinds: Kinds, error: float) -> float:
    """Return the step of the grid of Murtagh, Vadhan 2016 [MV16] for this error of the composed epsilon."""
    rounds = sum(count for _, count in kinds)
    return math.log1p(error / (rounds + math.fsum(epsilon * count for epsilon, count in kinds) + 1))


def rounding_work(kinds: Kinds, step: float) -> float:
    """Return the number of additions that :func:`rounded_law` needs."""
    rounds = sum(count for _, count in kinds)
    return rounds * (2 * math.fsum(count * (epsilon / step + 1) for epsilon, count in kinds) + 1)


def rounded_law(kinds: Kinds, step: float, side: Side) -> Law:
    """Return the law of the summed loss with every epsilon rounded to the grid: up for ``ABOVE``, down for ``BELOW``.

    Rounds are composed one after the other; only positive numbers are added.
    """
    places = [
        math.ceil(epsilon / step * (1 + 1e-12)) if side is Side.ABOVE else math.floor(epsilon / step * (1 - 1e-12))
        for epsilon, _ in kinds
    ]
    reach = sum(place * count for place, (_, count) in zip(places, kinds, strict=True))
    p = np.ones(1)
    for place, (_, count) in zip(places, kinds, strict=True):
        high, none = 1 / (1 + math.exp(-place * step)), np.zeros(2 * place)
        for _ in range(count if place else 0):
            p = np.concatenate((none, high * p)) + np.concatenate((math.exp(-place * step) * high * p, none))
    seen = p > math.exp(FLOOR)
    rounds = sum(count for _, count in kinds)
    loss = step * np.arange(-reach, reach + 1, dtype=np.float64)
    return Law(loss[seen], p[seen], 32 * UNIT_ROUNDOFF * rounds, 2 * len(p) * math.exp(FLOOR))


def _log_sums_above(log_q: Array, law: Law) -> Array:
    """Logarithm of the Q-mass of all losses from each loss upwards.

    Q-masses underflow at losses of some hundreds. If they were taken as 0, the lower bound on delta would be P's whole
    tail, which is too large. Therefore they are added up in blocks of adjacent losses, in units of ``e^-l_b``, with
    ``l_b`` the first loss of block b. Let ``S_k(b)`` be the sum over the k blocks from b on. Starting from k = 1, k is
    doubled until all blocks are covered: ``S_2k(b) = S_k(b) + e^(l_b - l_(b+k)) S_k(b + k)``. All terms are positive.
    """
    widest = float(np.diff(law.loss).max(initial=0.0))
    width = int(min(BLOCK / widest, len(log_q) - 1)) + 1 if widest > 0 else len(log_q)
    first = law.loss[::width]
    starts = np.repeat(first, width)[: len(log_q)]
    masses = np.append(law.p * np.exp(starts - law.loss), np.zeros(-len(log_q) % width)).reshape(-1, width)
    within = np.cumsum(masses[:, ::-1], axis=1)[:, ::-1]
    total, k = within[:, 0].copy(), 1
    while k < len(total):
        total[:-k] = total[:-k] + total[k:] * np.exp(first[:-k] - first[k:])
        k *= 2
    within[:-1] += (total[1:] * np.exp(first[:-1] - first[1:]))[:, None]
    scaled: Array = np.log(within.ravel()[: len(log_q)]) - starts
    return scaled


class WorstCase:
    """Sum of the losses of independent kinds of rounds, with certified bounds on its delta and epsilon.

    Args:
        laws: law of the summed loss of each kind of round.
        size: upper bound on the sum of all losses.
    """

    def __init__(self, laws: Sequence[Law], size: float) -> None:
        *others, last = sorted(laws, key=lambda law: len(law.loss))
        loss, p = np.zeros(1), np.ones(1)
        for law in others:
            loss = (loss[:, None] + law.loss).ravel()
            p = (p[:, None] * law.p).ravel()
        self._loss, self._p = loss, p
        self._last = last.loss
        self._p_above = np.append(np.cumsum(last.p[::-1])[::-1], 0.0)
        self._log_q_above = np.append(_log_sums_above(np.log(last.p) - last.loss, last), -math.inf)
        self._missing = math.fsum(law.missing for law in laws) + 1e-300 * len(p)
        # exponents combine losses with logarithms of masses, down to the floor; sums err by a rounding per term
        exponents = 4 * abs(FLOOR) + 16 * size
        self._error = math.fsum(law.error for law in laws) + UNIT_ROUNDOFF * (64 + 2 * len(last.loss) + exponents)
        self._size = size
        self._slip = 16 * UNIT_ROUNDOFF * size

    def below(self, epsilon: float) -> float:
        """Return a lower bound on delta at epsilon."""
        value, size = self._value(epsilon + self._slip + 8 * UNIT_ROUNDOFF * epsilon)
        return max(value - self._error * size, 0.0)

    def above(self, epsilon: float) -> float:
        """Return an upper bound on delta at epsilon."""
        value, size = self._value(epsilon - self._slip - 8 * UNIT_ROUNDOFF * epsilon)
        return min(max(value, 0.0) + self._error * size + self._missing, 1.0)

    def epsilon(self, least: float, most: float) -> tuple[float, float]:
        """Return a lower bound on epsilon at delta ``most``, and an upper bound at delta ``least``, both positive."""
        high = self._size + 4 * self._slip
        if self.above(high) > least:
            return 0.0, high * (1 + 1e-15)
        return crossing(self.below, self.above, (least, most), high)

    def _value(self, epsilon: float) -> tuple[float, float]:
        """Delta at epsilon by the formula of the module docstring, and the sum of the absolute values of its terms.

        The terms are ``p S(epsilon - l)`` and ``p e^(epsilon - l) T(epsilon - l)`` for every l.
        """
        at = epsilon - self._loss
        index = np.searchsorted(self._last, at, side="right")
        first = self._p * self._p_above[index]
        second = self._p * np.exp(at + self._log_q_above[index])
        return float((first - second).sum()), float((first + second).sum())
