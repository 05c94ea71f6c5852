"""Law of the summed loss of the worst mechanisms with given per-round epsilons, on finitely many points, and its delta.

The worst round with losses in [-epsilon_i, epsilon_i] is binary randomised response (Kairouz, Oh, Viswanath 2015
[KOV15], Theorem 3.4): loss epsilon_i with probability ``1/(1 + e^-epsilon_i)``, else -epsilon_i. Equal rounds
make a binomial law, different ones a lattice of products of binomials. Sum the last kind of round in order
of its loss, and let S(x) be its P-mass and T(x) its Q-mass above x. Then

    delta(epsilon) = sum of p (S(epsilon - l) - e^(epsilon - l) T(epsilon - l)) over the lattice of the others,

l the loss of the others and p its P-mass. If that lattice is too large, epsilons are rounded to the grid of Murtagh,
Vadhan 2016 [MV16], Theorem 1.7 and its proof: up for an upper end, down for a lower one.

Masses are computed outward from the mode, by the ratio of each to its neighbour, and normalised to 1, so that each errs
by a few roundings per step. Terms below a floor are dropped; the upper end counts their mass. Losses err by roundings
of the sum of epsilons, which are charged by moving epsilon.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from hockeystick.numerics.arrays import Array
from hockeystick.numerics.rounding import LARGEST, UNIT_ROUNDOFF
from hockeystick.pairs.gaussian_curve import crossing
from hockeystick.values.errors import NotApplicableError
from hockeystick.values.side import Side

MAX_STEPS = 4_000_000  # largest number of steps of a binomial law on either side of its mode
FLOOR = -690.0  # log of the smallest mass relative to the mode's
BLOCK = 2.0  # length of a block of losses: e^-2 times the floor keeps full precision
APART = 1500.0  # distance of losses beyond which the farther Q-mass is negligible


Kinds = Sequence[tuple[float, int]]  # epsilon > 0 and count


class Law(NamedTuple):
    """Losses in ascending order with P-masses; bounds on the relative error of the masses and on the neglected mass."""

    loss: Array
    p: Array
    error: float
    missing: float


def binomial_law(epsilon: float, count: int, floor: float = FLOOR) -> Law:
    """Return the law of the loss of ``count`` rounds of randomised response.

    Masses below ``e^floor`` times the largest are left out.
    """
    odds = math.exp(-epsilon)
    mode = min(int((count + 1) * odds / (1 + odds)), count)  # of the number of rounds with loss -epsilon
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
    """Masses of ``start + 1, start + 2, ...``, and a bound on the neglected sum, all relative to the mode's mass."""
    least, wanted = math.exp(floor), 64
    while True:
        steps = min(wanted, count - start)
        j = start + np.arange(steps, dtype=np.float64)
        ratio = (count - j) / (j + 1) * odds
        masses: Array = np.cumprod(ratio, dtype=np.float64)
        if steps == count - start and (not steps or masses[-1] >= least):
            return masses, 0.0
        if masses[-1] < least:
            kept = int(np.argmax(masses < least))
            after = float(ratio[kept])
            return masses[:kept], float(masses[kept]) / (1 - after) * (1 + 1e-6) + 1e-300
        wanted *= 2
        if wanted > 2 * MAX_STEPS:
            raise NotApplicableError("too many rounds for an exact distribution, which would need millions of points")


def exact_points(kinds: Kinds) -> int:
    """Return the number of points of the lattice of all kinds but the largest."""
    return math.prod(count + 1 for _, count in sorted(kinds, key=lambda kind: kind[1])[:-1])


def rounding_step(kinds: Kinds, error: float) -> float:
    """Return the grid of Murtagh, Vadhan 2016 [MV16] on which epsilon has the requested additive error."""
    rounds = sum(count for _, count in kinds)
    return math.log1p(error / (rounds + math.fsum(epsilon * count for epsilon, count in kinds) + 1))


def rounding_work(kinds: Kinds, step: float) -> float:
    """Return the number of terms that :func:`rounded_law` adds up."""
    rounds = sum(count for _, count in kinds)
    return rounds * (2 * math.fsum(count * (epsilon / step + 1) for epsilon, count in kinds) + 1)


def rounded_law(kinds: Kinds, step: float, side: Side) -> Law:
    """Return the law of the loss with every epsilon rounded to the grid, up or down by ``side``.

    Rounds are composed one after the other; all terms are positive.
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
    """Logarithm of the Q-mass at each loss and all losses above it.

    At losses of some hundreds Q-masses underflow; without them the lower end of delta would be P's whole tail, which is
    too large. They are therefore added up in blocks of adjacent losses, relative to the first loss ``l_b`` of block b.
    Let ``S_k(b)`` be the sum over the k blocks from b on; k is doubled until it covers all blocks above b: ``S_2k(b) =
    S_k(b) + e^(l_b - l_(b+k)) S_k(b + k)``. All terms are positive.
    """
    if not len(log_q) or float(log_q.min()) > -LARGEST:
        plain: Array = np.log(np.cumsum(np.exp(log_q[::-1]))[::-1])
        return plain
    widest = float(np.diff(law.loss).max(initial=0.0))
    width = int(min(BLOCK / widest, len(log_q) - 1)) + 1 if widest > 0 else len(log_q)
    first = law.loss[::width]
    starts = np.repeat(first, width)[: len(log_q)]
    masses = np.append(law.p * np.exp(starts - law.loss), np.zeros(-len(log_q) % width)).reshape(-1, width)
    within = np.cumsum(masses[:, ::-1], axis=1)[:, ::-1]
    total, k = within[:, 0].copy(), 1
    while k < len(total):
        apart = first[k:] - first[:-k]
        if float(apart.min()) > APART:
            break
        total[:-k] = total[:-k] + total[k:] * np.exp(-apart)
        k *= 2
    within[:-1] += (total[1:] * np.exp(first[:-1] - first[1:]))[:, None]
    scaled: Array = np.log(within.ravel()[: len(log_q)]) - starts
    return scaled


class WorstCase:
    """Sum of independent losses, with certified ends of its delta and epsilon.

    Args:
        laws: law of each kind of round.
        size: upper bound on the sum of losses.
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
        """Return the lower end of delta."""
        value, size = self._value(epsilon + self._slip + 8 * UNIT_ROUNDOFF * epsilon)
        return max(value - self._error * size, 0.0)

    def above(self, epsilon: float) -> float:
        """Return the upper end of delta."""
        value, size = self._value(epsilon - self._slip - 8 * UNIT_ROUNDOFF * epsilon)
        return min(max(value, 0.0) + self._error * size + self._missing, 1.0)

    def epsilon(self, least: float, most: float) -> tuple[float, float]:
        """Return certified ends of the epsilon at which delta lies between two positive numbers."""
        high = self._size + 4 * self._slip
        if self.above(high) > least:
            return 0.0, high * (1 + 1e-15)
        return crossing(self.below, self.above, (least, most), high)

    def _value(self, epsilon: float) -> tuple[float, float]:
        """The P-sum minus the Q-sum of delta (module docstring), and the P-sum plus the Q-sum."""
        at = epsilon - self._loss
        index = np.searchsorted(self._last, at, side="right")
        first = self._p * self._p_above[index]
        second = self._p * np.exp(at + self._log_q_above[index])
        return float((first - second).sum()), float((first + second).sum())
