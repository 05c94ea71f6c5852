"""Adaptive composition of rounds of bounded range: one pair that dominates several rounds together.

A round has *bounded range* epsilon if its losses lie in an interval of that length. The largest privacy curve of one
such round (``bounded_range.py``) is attained by a different round at each argument a, so its composition with itself is
not sharp. A sharper bound holds for several rounds together (Dong, Durfee, Rogers 2020 [DDR20], on adaptive
composition). Let ``D_k(a)`` be the largest hockey-stick divergence at a of any k rounds, each chosen in view of earlier
outcomes, and let ``D_0(a) = (1 - a)_+``. Let G_t be the pair with the losses t and ``t - epsilon``, and x_t its P-mass
at t. Then

    D_(k+1)(a) <= max_(0 <= t <= epsilon)  x_t D_k(a e^-t) + (1 - x_t) D_k(a e^(epsilon - t)) .

*Proof*. Let R be the likelihood ratio of the first round under Q. Given the outcome of the first round, the other
rounds contribute ``R H(a / R)`` with ``H <= D_k``. D_k is convex, as a maximum of convex functions, so that ``R D_k(a /
R)`` is convex in R. R lies in ``[e^(t - epsilon), e^t]`` for some t and has mean 1. Hence the mean of ``R D_k(a / R)``
is the largest if R takes only the values ``e^(t - epsilon)`` and ``e^t``.

**With other rounds in between.** The pair of the curve D_k, composed with pairs that dominate other rounds, dominates
the composition of all these rounds in any order. The proof is by induction from the last round. Suppose that the last
rounds are dominated by the curve ``E_G D_j(a e^-G)``, where j of them are of bounded range and G is the loss of the
others. If the round before them is of bounded range, with the loss L of some G_t, the curve becomes at most ``max_t E_L
E_G D_j(a e^(-G - L)) <= E_G max_t E_L D_j(a e^(-G - L))``, which is ``E_G D_(j+1)(a e^-G)``. If it is any other round,
its loss is added to G.

**On a grid.** ``a_j = e^(j h)`` with ``h = epsilon / N``. Given upper bounds on D_k at all a_j, let D' be the piecewise
linear function through them. As D_k is convex, it is at most D'. With ``s = e^t``, ``r = e^-epsilon``, and t between c
h and (c + 1) h, both arguments at ``a = a_i`` lie between neighbouring grid points: ``a / s`` in the piece that begins
at index ``i - c - 1``, and ``a / (s r)`` in the piece N indices further. At an argument b, D' is ``u_2 + v_2 b`` in the
first piece and ``u_1 + v_1 b`` in the second. Then the right side of the recursion is

    [ r (u_1 - u_2) s  +  u_2 - r u_1 + a (v_1 - r v_2)  +  a (v_2 - v_1) / s ] / (1 - r) = A s + B + C / s .

Where neither A nor C is positive, the largest value of this expression over all s is ``B - 2 sqrt(A C)``, at ``s =
sqrt(C / A)``; if this s is not between ``e^(c h)`` and ``e^((c + 1) h)``, the largest value is that at the nearer of
these ends. The maximum over t is then exact, and the grid over a adds an error of order ``h^2``. If A or C is positive,
``A s`` and ``C / s`` are bounded separately. With P and Q exchanged a round has the same range, so that ``D_k(1/a) = 1
- (1 - D_k(a)) / a``. Therefore D_k is computed only for a >= 1. It is 0 for ``a >= e^(k epsilon)``.

**Rounding.** No error of the values of D' has to be considered, as D' may be any upper bound. ``v = (D'(a_(m+1)) -
D'(a_m)) / (a_m expm1(h))`` and ``u = D'(a_m) + |v| a_m`` are computed by a few operations without cancellation. A power
``e^(j h)`` has a relative error of at most :data:`POWER`, as ``|j h| <= LARGEST``. So the errors of A, B and C are at
most a few times :data:`POWER`, relative to the sizes of their terms. A bound on them is added (:data:`SLIP`).
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from hockeystick.pairs.base import Array
from hockeystick.pairs.finite import FinitePair
from hockeystick.pairs.points import largest_curve

STEPS = 32
"""Number N of grid steps per epsilon, with which the epsilon of a block is about 1e-3 above the optimum."""

MOST_ROUNDS = 16
"""Largest number of rounds in one block: more rounds are split into several blocks and a remainder."""

LEAST = Fraction(1, 500)
"""Least epsilon of rounds in a block: below it, roundings outweigh the gain."""

LARGEST = 400
"""Largest sum of the epsilons of a block, which keeps all powers within the range of a double."""

POWER = 2e-13
"""Bound on the relative error of a computed ``e^x`` with ``|x| <= LARGEST + 3``, where x itself is rounded."""

SLIP = 8 * POWER
"""Error of the coefficients A, B and C (see the module), relative to the sizes of their terms."""


def blocks(epsilon: Fraction, rounds: int) -> list[tuple[FinitePair, int]]:
    """Return (pair, count) tuples whose product dominates ``rounds`` rounds of bounded range epsilon.

    The list is empty where no block of two or more rounds can be formed, or where the roundings of a block would
    outweigh its gain.

    Args:
        epsilon: length of the range, greater than 0.
        rounds: number of rounds.
    """
    size = min(MOST_ROUNDS, int(LARGEST / epsilon))
    if epsilon < LEAST or min(rounds, size) < 2:
        return []
    whole, rest = divmod(rounds, size)
    found = [(block_pair(epsilon, size), whole)] if whole else []
    return [*found, (block_pair(epsilon, rest), 1)] if rest else found


@lru_cache
def block_pair(epsilon: Fraction, rounds: int) -> FinitePair:
    """Return a pair whose privacy curve is an upper bound on D_k, the largest curve of k rounds (see the module).

    Args:
        epsilon: length of the range of every round.
        rounds: k; at most :data:`MOST_ROUNDS`.
    """
    values = curve(float(epsilon), rounds)
    step = epsilon / STEPS
    return largest_curve([j * step for j in range(len(values))], [Fraction(value) for value in values.tolist()])


def curve(epsilon: float, rounds: int) -> Array:
    """Upper bounds on ``D_k(e^(j epsilon / STEPS))`` for j from 0 to ``k STEPS``, where k is ``rounds``.

    D_k is the largest hockey-stick divergence of k rounds of bounded range epsilon.

    >>> round(float(curve(0.5, 10)[160]), 5)  # at epsilon 2.5
    0.00056
    """
    h, n = epsilon / STEPS, STEPS
    found = np.zeros(1)  # no rounds yet: D_0(1) = 0
    for k in range(rounds):
        found = _one_more(found, h, n, np.arange((k + 1) * n + 1))
    return found


def _one_more(values: Array, h: float, n: int, at: npt.NDArray[np.intp]) -> Array:
    """Return bounds on D_(k+1) at the grid indices ``at``, from bounds ``values`` on D_k at the indices 0 to ``k n``.

    D_k is the largest hockey-stick divergence of k rounds. Grid index j means the argument ``e^(j h)``.
    """
    first, last = -n - 1, at[-1] + n + 1  # range of grid indices that are needed
    j = np.arange(first, last + 1)
    d = np.zeros(len(j))
    known = len(values)
    d[-first : -first + known] = values
    below = -np.arange(first, 0)  # points a_j < 1: by the symmetry of D_k, from its values at 1 / a_j
    mirrored = np.where(below < known, values[np.minimum(below, known - 1)], 0.0)
    d[:-first] = (-np.expm1(-below * h) + np.exp(-below * h) * mirrored) * (1 + SLIP)
    a = np.exp(j * h)
    slope = np.diff(d) / (a[:-1] * np.expm1(h))
    start = d[:-1] + np.abs(slope) * a[:-1]
    # rounding may make a slope positive; the intercept still belongs to the line through both ends of the piece
    start = np.where(slope > 0, d[:-1] - slope * a[:-1], start)
    c = np.arange(n)
    piece = at[:, None] - c - 1 - first
    u2, v2, u1, v1 = start[piece], slope[piece], start[piece + n], slope[piece + n]
    low, high, r = np.exp(c * h), np.exp((c + 1) * h), np.exp(-n * h)
    here = np.exp(at * h)[:, None]
    linear, middle, inverse = r * (u1 - u2), u2 - r * u1 + here * (v1 - r * v2), here * (v2 - v1)
    sizes = (np.abs(u1) + np.abs(u2)) * (1 + high) + here * (np.abs(v1) + np.abs(v2)) * (1 + 1 / low)
    best = np.maximum(linear * low, linear * high) + np.maximum(inverse / low, inverse / high)
    falls = (linear < 0) & (inverse < 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        place = np.sqrt(inverse / linear)
        inside = -2 * np.sqrt(linear * inverse)
        ends = np.where(place < low, linear * low + inverse / low, linear * high + inverse / high)
        near = (place >= low * (1 - 1e-6)) & (place <= high * (1 + 1e-6))
    best = np.where(falls, np.where(near, inside, ends), best)
    most = ((best + middle + SLIP * sizes) / -np.expm1(-n * h) * (1 + SLIP)).max(axis=1)
    most[-1] = 0.0  # beyond the largest loss of all rounds
    out: Array = np.minimum(most, 1.0)
    return out
