"""Guarantee of one round as a black box, exact or rounded up."""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction

import numpy as np

from hockeystick.numerics.decimals import decimal
from hockeystick.numerics.rounding import TINY
from hockeystick.pairs import DominatingPair
from hockeystick.pairs.base import rounding_of
from hockeystick.pairs.composition import RELATIVE
from hockeystick.values.errors import UnsupportedError

UNBOUNDED = (
    "the loss of this round is unbounded: it has no epsilon of its own; give it as an ApproximateDP round, or use "
    "'rdp', 'zcdp' or 'gdp'"
)
"""Reason for refusing a round with an unbounded loss."""


def largest_loss(pair: DominatingPair) -> Fraction:
    """Return the largest finite loss of a pair, at least 0.

    Raises:
        UnsupportedError: the losses are unbounded.
    """
    high = pair.loss_range[1]
    if high == math.inf:
        raise UnsupportedError(UNBOUNDED)
    exact = pair.exact_supremum
    return max(Fraction(high) + Fraction(pair.supremum_error) if exact is None else exact, Fraction(0))


def guarantee(pairs: Iterable[DominatingPair]) -> tuple[Fraction, Fraction]:
    """Return an (epsilon, delta) of a round in each direction of the pairs, and in the opposites.

    All finite losses lie in [-epsilon, epsilon], and neither law of a pair has more than delta where the other has no
    mass. The opposite matters even under an adjacency of one direction: a Poisson-sampled black box under ``add`` has
    no infinite loss, but losses of ``log 1/(1 - q)`` that no loss below 0 compensates. Only a mutual guarantee is
    dominated by the black box of the same epsilon and delta (Kairouz, Oh, Viswanath 2015 [KOV15], Theorem 3.4).

    Raises:
        UnsupportedError: the finite losses are unbounded.
    """
    found = [(_largest_size(pair), _apart(pair)) for pair in pairs]
    return max(epsilon for epsilon, _ in found), max(delta for _, delta in found)


def _largest_size(pair: DominatingPair) -> Fraction:
    """Largest absolute value of a finite loss."""
    low, high = pair.loss_range
    if low == -math.inf:
        raise UnsupportedError(UNBOUNDED)
    top = largest_loss(pair)
    return top if low == -high else max(top, Fraction(-low) + Fraction(rounding_of(low, pair.atoms.units)))


def _apart(pair: DominatingPair) -> Fraction:
    """Larger of the two masses that one law has where the other has none."""
    if pair.worst_of is not None:
        return decimal(pair.worst_of[1])
    atoms = pair.atoms
    alone = ((atoms.loss == math.inf, atoms.log_p), (atoms.loss == -math.inf, atoms.log_q))
    lost = max(float(np.exp(log_mass[at]).sum()) for at, log_mass in alone)
    return Fraction(lost) * (1 + Fraction(RELATIVE)) + 4 * Fraction(TINY) if np.isinf(atoms.loss).any() else Fraction(0)
