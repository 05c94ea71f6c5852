"""Exact composition of rounds with finitely many losses each: one pair, which has a loss for every possible sum.

Let a round have the losses ``L_1, ..., L_m`` with masses ``p_1, ..., p_m``. Then k such rounds have the loss ``n_1 L_1
+ ... + n_m L_m`` with the multinomial mass ``k! / (n_1! ... n_m!) p_1^n_1 ... p_m^n_m``, for each of the ``C(k + m - 1,
m - 1)`` ways of writing k as a sum of m whole numbers n_i. With several kinds of rounds, each loss is a sum of one such
loss per kind. The product pair has exactly these losses, so that rounding is the only error.

Rounding, with u the unit round-off. In a sum of m products ``n_i L_i``, each loss is off by ``16 + units`` roundings of
itself. So the sum is off by at most ``(m + 20 + units) u sum n_i |L_i| + sum n_i slip_i``. The log-mass is the sum of
``log k!``, all ``-log n_i!`` and all ``n_i log p_i``. Only the first of these terms is positive, so that the sum of
their absolute values is at most ``2 log k! + |log mass|``. Logarithms of factorials have an error of at most 32
roundings of themselves, because Stirling's series begins with ``n log n - n``, and from n = 100 on each of these two
terms is less than twice as large as their difference. Every ``log p_i`` may be off by 16 roundings of itself and of 1.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property, lru_cache

import numpy as np

from hockeystick.numerics.rounding import UNIT_ROUNDOFF
from hockeystick.pairs import moment
from hockeystick.pairs.base import Array, Atoms, DominatingPair

LOSS_CARE = 20  # number of roundings charged for a sum of losses, besides one for each term
MASS_CARE = 56  # number of roundings charged for a log-mass, besides one for each term
BY_SERIES = 100  # largest n for which log n! is computed from a whole number, not by Stirling's series


class ProductPair(DominatingPair):
    """The product of pairs with finitely many losses; its atoms are the finite sums with mass under P.

    Args:
        rounds: (pair, count) for each kind of round; no pair has a smooth part.
    """

    def __init__(self, rounds: Sequence[tuple[DominatingPair, int]]) -> None:
        self._rounds = tuple(rounds)

    @cached_property
    def atoms(self) -> Atoms:
        """The atoms at all sums of finite losses, with bounds on their errors."""
        parts = [power(pair.atoms.seen(), count) for pair, count in self._rounds]
        out = parts[0]
        for part in parts[1:]:
            out = _sum(out, part)
        return out

    @property
    def supremum_error(self) -> float:
        """The largest error of a loss that the atoms declare."""
        return float(np.max(self.atoms.slip))

    def log_moment(self, t: float) -> float:
        """Upper bound on the log-moment K(t): the sum of the bounds of all rounds, without enumerating atoms."""
        total = math.fsum(count * pair.log_moment(t) for pair, count in self._rounds)
        return moment.rounded_up(total, abs(total))


@lru_cache(maxsize=64)
def product(rounds: tuple[tuple[DominatingPair, int], ...]) -> ProductPair:
    """Return the product of pairs with finitely many losses; it is cached, because a grid needs it repeatedly."""
    return ProductPair(rounds)


def terms(atoms: int, rounds: int) -> int:
    """Return the number of sums that the losses of ``rounds`` rounds with ``atoms`` atoms each can form."""
    return math.comb(rounds + atoms - 1, atoms - 1) if atoms else 0


@lru_cache(maxsize=4)
def _log_factorials(most: int) -> Array:
    """Return ``log n!`` for n from 0 to ``most``, by Stirling's series for n above 100.

    The remainder of the series after ``1/12n - 1/360n^3 + 1/1260n^5`` is below ``1/1680n^7``, which is 6e-18.
    """
    few = np.array([math.log(math.factorial(n)) for n in range(min(most, BY_SERIES) + 1)])
    n = np.arange(BY_SERIES + 1, most + 1, dtype=np.float64)
    inverse = 1 / n
    series = inverse / 12 - inverse**3 / 360 + inverse**5 / 1260
    table: Array = np.concatenate([few, (n + 0.5) * np.log(n) - n + (0.5 * math.log(2 * math.pi) + series)])
    return table


def power(atoms: Atoms, count: int) -> Atoms:
    """Return the law of the sum of ``count`` independent losses; it is empty if ``atoms`` is empty.

    Args:
        atoms: atoms of one round, each with a finite loss and with mass under P.
        count: 1 or greater.
    """
    if count == 1 or not len(atoms.loss):
        return _with_slips(atoms)
    if len(atoms.loss) == 1:
        return _repeated(atoms, count)
    m, factorials = len(atoms.loss), _log_factorials(count)
    whole = float(factorials[count])
    left = np.array([count], dtype=np.intp)
    loss, size, slip = np.zeros(1), np.zeros(1), np.zeros(1)
    log_p, log_q = np.full(1, whole), np.full(1, whole)
    own = np.broadcast_to(np.asarray(atoms.slip), atoms.loss.shape)
    own_log = np.broadcast_to(np.asarray(atoms.log_slip), atoms.loss.shape)
    log_slip = np.zeros(1)
    for i in range(m):
        last = i == m - 1
        sizes = np.ones(len(left), dtype=np.intp) if last else left + 1
        of = np.repeat(np.arange(len(left)), sizes)
        n = left if last else np.arange(len(of)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        times: Array = n.astype(np.float64)
        left = left[of] - n
        loss = loss[of] + times * atoms.loss[i]
        size = size[of] + times * abs(atoms.loss[i])
        slip = slip[of] + times * own[i]
        log_slip = log_slip[of] + times * own_log[i]
        log_p = log_p[of] + times * atoms.log_p[i] - factorials[n]
        log_q = log_q[of] + times * atoms.log_q[i] - factorials[n]
    slip = (1 + 1e-9) * slip + (m + LOSS_CARE + atoms.units) * UNIT_ROUNDOFF * size
    log_slip = (1 + 1e-9) * log_slip + UNIT_ROUNDOFF * ((m + MASS_CARE) * (3 * whole + np.abs(log_p)) + 16 * count)
    return Atoms(loss, log_p, log_q, 0.0, slip, log_slip)


def _repeated(atoms: Atoms, count: int) -> Atoms:
    """Return the law of the sum of ``count`` losses of a round with a single atom.

    Multiplying the loss and the log-mass by ``count`` adds a relative error of one unit round-off to their errors.
    """
    once = _with_slips(atoms)
    loss, log_p, log_q = count * once.loss, count * once.log_p, count * once.log_q
    slip = (1 + 1e-9) * count * once.slip + UNIT_ROUNDOFF * np.abs(loss)
    log_slip = (1 + 1e-9) * count * once.log_slip + UNIT_ROUNDOFF * np.abs(log_p)
    return Atoms(loss, log_p, log_q, 0.0, slip, log_slip)


def _with_slips(atoms: Atoms) -> Atoms:
    slip = np.asarray(atoms.slip) + (LOSS_CARE + atoms.units) * UNIT_ROUNDOFF * np.abs(atoms.loss)
    log_slip = np.asarray(atoms.log_slip) + 16 * UNIT_ROUNDOFF * (1 + np.abs(atoms.log_p))
    return Atoms(atoms.loss, atoms.log_p, atoms.log_q, 0.0, slip, log_slip)


def _sum(first: Atoms, second: Atoms) -> Atoms:
    """Return the law of the sum of two independent losses."""

    def added(x: Array | float, y: Array | float) -> Array:
        out: Array = np.add.outer(np.asarray(x), np.asarray(y)).ravel()
        return out

    loss, log_p = added(first.loss, second.loss), added(first.log_p, second.log_p)
    rounding = 2 * UNIT_ROUNDOFF
    slip = added(first.slip, second.slip) + rounding * added(np.abs(first.loss), np.abs(second.loss))
    log_slip = added(first.log_slip, second.log_slip) + rounding * np.abs(log_p)
    return Atoms(loss, log_p, added(first.log_q, second.log_q), 0.0, slip, log_slip)
