"""Largest probability of many right guesses in one run, given a whole trade-off function.

The setting is that of ``audit.py``: m canaries, each in the data by its own fair coin, and c guesses, of which C are
right. Let fbar be 1 minus the trade-off function of the run, which is concave and increasing: the laws P, Q of the
release on any two neighbouring data sets, in either order, satisfy ``P(A) <= fbar(Q(A))`` for all events A.
Mahloujifar, Melis and Chaudhuri 2025 [MMC25] bound the law of C by a recursion over fbar. The inequality behind it, for
two values per canary, and the optimality of the recursion are proved here.

**The inequality.** Write ``p_j = P(C = j)``, and for i from c down to 0

    S_i = P(C >= i),   R_i = E[C; C >= i],   H_i = E[c - C; C >= i],   so that   R_i + H_i = c S_i .

Then ``R_(i+1) / m <= fbar(H_i / m)``. *Proof*: fix the coins of all canaries but one, called l. Let ``A_b`` be the set
of releases on which l is guessed to be b (1: in) and i or more of the other guesses are right. With the laws ``P_0,
P_1`` of the release for the two values of l,

    P(l is guessed right, C >= i + 1 | others) = (P_0(A_0) + P_1(A_1)) / 2,
    P(l is guessed wrong, C >= i | others) = (P_1(A_0) + P_0(A_1)) / 2 ,

The first probability is at most fbar of the second, since ``P_0(A_0) <= fbar(P_1(A_0))``, ``P_1(A_1) <=
fbar(P_0(A_1))`` and fbar is concave. When both are averaged over the other coins and over l, the first becomes
``R_(i+1) / m`` and the second ``H_i / m``, and the inequality stays, again as fbar is concave.

An attacker with fewer than c guesses may add random ones, which can only increase the number of right guesses: the
bound holds for *at most* c guesses.

**The recursion.** Let g be at most the inverse of fbar, so that ``H_i >= m g(R_(i+1) / m)``, and suppose ``S_v >=
beta``. For every i, since both sides are sums over ``j >= i`` and ``sum_(j >= i) (j - i) p_j = sum_(l > i) S_l``,

    (c - i) R_i = i H_i + c sum_(l > i) S_l ,   c S_i = R_i + H_i .

All signs are positive, so lower bounds on S_l for l > i, on R_(i+1) and on H_i give lower bounds on R_i and S_i. The
recursion begins with ``R_v >= v beta``, goes down from v, and takes ``m g(R_(i+1) / m)`` as the bound on H_i. S, R and
H all rise as i falls, so a lower bound for one i also holds for smaller i, and is kept there unless a better one is
known. (Nothing is known of H_v: an attacker with v right guesses may always be right.) If the lower bound on some S_i
exceeds 1, the assumption ``S_v >= beta`` is refuted: v or more right guesses have a probability below beta, whatever
the attack.

The recursion may skip values of i, which weakens the bounds on S, R and H, and it may end anywhere. It takes at most
:data:`MOST_STEPS` steps, and each step skips to an i that is smaller by ``sqrt(c) / RESOLUTION``.

**The curve.** A point (eps, delta) that holds in both orders means ``P(A) <= e^eps Q(A) + delta``, and for the
complements ``1 - Q(A) <= e^eps (1 - P(A)) + delta``. So ``g(r)`` may be the largest of 0 and the lines

    e^-eps (r - delta) ,   e^eps (r - delta - (1 - delta) (1 - e^-eps))

over any number of points (eps, delta) of a certified curve. Each line alone is a lower bound.

**Rounding.** All quantities are positive and computed by a few operations each. Each is multiplied by :data:`DOWN`,
which is slightly below 1, before it is stored.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable

import numpy as np

RESOLUTION = 512
"""Steps of the descent per about two standard deviations of the number of right guesses."""

MOST_STEPS = 10_000
"""Largest number of steps of a descent: some ten milliseconds."""

DOWN = 1 - 2.0**-49
"""Factor that moves a number computed with up to seven roundings below the exact one."""

LEAST = -670.0
"""Logarithm of the least p-value that is searched for."""

HALVINGS = 30
"""Number of halvings of a bracket; they find the logarithm of a p-value to 1e-6."""


class WrongGuesses:
    """The function g of the module docstring: a lower bound on the inverse of fbar, from points of a certified curve.

    Args:
        points: pairs of an epsilon, 0 or greater, and an upper bound on delta that holds for both orders of the two
            data sets.
    """

    def __init__(self, points: Iterable[tuple[float, float]]) -> None:
        lines = []
        for epsilon, delta in points:
            root = delta * (2 - DOWN)
            mirrored = (delta - (1 - delta) * math.expm1(-epsilon)) * (2 - DOWN)
            lines.append((math.exp(-epsilon) * DOWN, root))
            if epsilon < 700 and mirrored < 1:
                lines.append((math.exp(epsilon) * DOWN, mirrored))
        self._slopes, self._roots = np.array(lines).T

    def __call__(self, r: float) -> float:
        """Return g(r), at least 0: the largest of the lines at r."""
        return max(float((self._slopes * (r - self._roots)).max()) * DOWN, 0.0)


def impossible(canaries: int, guesses: int, correct: int, least_wrong: WrongGuesses, beta: float) -> bool:
    """Return True if the recursion shows that ``correct`` or more right guesses have a probability below beta.

    Args:
        canaries: m.
        guesses: c, at most m.
        correct: v, from 1 to c.
        least_wrong: the bound g of the plan.
        beta: probability in (0, 1].
    """
    stride = max(1, math.isqrt(guesses) // RESOLUTION)
    reached, right, wrong, beyond = beta, correct * beta * DOWN, 0.0, 0.0  # below S_i, R_i, H_i, sum_(l > i) S_l
    at = correct
    for _ in range(MOST_STEPS):
        if not at:
            return False
        below = max(at - stride, 0)
        beyond = (beyond + reached * (at - below)) * DOWN
        at = below
        wrong = max(wrong, canaries * least_wrong(right / canaries * DOWN) * DOWN)
        known = (at * wrong + guesses * beyond) / (guesses - at) * DOWN
        reached = max(reached, (known + wrong) / guesses * DOWN)
        right = max(right, known)
        if reached > 1:
            return True
    return False


def p_value(canaries: int, guesses: int, correct: int, least_wrong: WrongGuesses) -> float:
    """Upper bound by the recursion on the probability of ``correct`` or more right guesses.

    Args:
        canaries: m.
        guesses: c, at most m.
        correct: v, at most c.
        least_wrong: the bound g of the plan.

    >>> pure = WrongGuesses([(0.0, 0.4621171572600098), (1.0, 0.0)])  # randomised response at epsilon 1
    >>> print(f"{p_value(canaries=1000, guesses=100, correct=80, least_wrong=pure):.4f}")
    0.0845
    """

    def excluded(log_beta: float) -> bool:
        return impossible(canaries, guesses, correct, least_wrong, math.exp(log_beta))

    return math.exp(halved(excluded, LEAST, 0.0)[1])


def halved(holds: Callable[[float], bool], low: float, high: float) -> tuple[float, float]:
    """Return a bracket, shorter by the factor 2^30, of the place from which a condition holds.

    The condition is evaluated at the middle of the bracket in each step, never at its ends. If it holds at no place
    tried, the upper end stays ``high``. If it holds at all of them, the lower end stays ``low``.

    >>> low, high = halved(lambda x: x * x >= 2, 1.0, 2.0)
    >>> low < 2**0.5 <= high < low * (1 + 1e-8)
    True
    """
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        low, high = (low, middle) if holds(middle) else (middle, high)
    return low, high
