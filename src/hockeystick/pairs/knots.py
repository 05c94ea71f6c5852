"""A pair of laws on the line, known by masses between knots: one pair that dominates it and one that it dominates.

Let the line be cut into cells, and let P and Q have the masses ``P_i`` and ``Q_i`` in cell i; of them ``p_i`` and
``q_i`` are known, off by at most ``e_i`` and ``f_i``.

**Below.** Telling no more of an outcome than its cell is processing: the pair of the cells' masses is dominated,
whatever P and Q are. ``p_i - e_i`` is no more than P has there, and ``q_i + f_i`` no less than Q has: ``sum (p_i - e_i
- alpha (q_i + f_i))_+`` is below the divergence, and so are its products.

**Above**, if in cell i the likelihood ratio lies between ``a_i`` and ``b_i``. Take from the cell the parts P' and Q'
proportional to P and Q with the masses ``p' = p_i - e_i`` and ``q' = q_i - f_i``; their ratio lies between ``a' = a_i
(1 - h)`` and ``b' = b_i / (1 - h)``, with h at most ``2 e_i / p_i + 2 f_i / q_i``. Spreading the ratio to the two ends
with its mean kept makes the adversary stronger (Doroshenko et al. 2022 [DGK+22]): the Q-masses ``(b' q' - p') / (b' -
a')`` at a' and ``(p'
- a' q') / (b' - a')`` at b', and P-masses of a' and b' times as much. Where b' is infinite the rest ``p' - a' q'`` of P
has infinite loss. What was not taken, ``1 - sum p'`` of P and ``1 - sum q'`` of Q, goes to an outcome of its own, which
only P has, and one that only Q has: drawing it anew gives back the whole laws, so that the pair dominates.

**Ratios that increase.** If dP/dQ does not decrease along the line, its values in a cell lie between the mean of the
cell before, ``P_{i-1} / Q_{i-1}``, and that of the cell after; below the first cell there is 0, above the last one
infinity. Where densities are known, they lie between its values at the two knots.

Both pairs are made in fractions of the doubles that were given, so that nothing is rounded.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import TypeAlias

from hockeystick.pairs.finite import FinitePair

ONE, ZERO = Fraction(1), Fraction(0)  # as fractions

Ratio: TypeAlias = Fraction | None
"""A likelihood ratio; ``None`` is infinite."""


def masses_below(
    p: Sequence[Fraction], q: Sequence[Fraction], e: Sequence[Fraction], f: Sequence[Fraction]
) -> FinitePair:
    """The pair of the cells, each mass on the side on which less is told.

    Args:
        p: masses of the cells under P.
        q: masses of the cells under Q.
        e: by how much each of p may be off.
        f: by how much each of q may be off.
    """
    least = tuple(max(mass - error, ZERO) for mass, error in zip(p, e, strict=True))
    return FinitePair(least, tuple(mass + error for mass, error in zip(q, f, strict=True)))


def neighbours(
    p: Sequence[Fraction], q: Sequence[Fraction], e: Sequence[Fraction], f: Sequence[Fraction]
) -> list[tuple[Fraction, Ratio]]:
    """Between what the likelihood ratio lies in each cell, if it does not decrease: what the cells beside it say."""
    least: list[Fraction] = []
    reached = ZERO
    for mass, other, error, doubt in zip(p, q, e, f, strict=True):
        least.append(reached)
        reached = max(reached, max(mass - error, ZERO) / (other + doubt)) if other + doubt else reached
    most: list[Ratio] = []
    ceiling: Ratio = None
    for mass, other, error, doubt in reversed(list(zip(p, q, e, f, strict=True))):
        most.append(ceiling)
        if other > doubt:
            here = (mass + error) / (other - doubt)
            ceiling = here if ceiling is None else min(ceiling, here)
    return list(zip(least, reversed(most), strict=True))


def spread_above(
    p: Sequence[Fraction],
    q: Sequence[Fraction],
    e: Sequence[Fraction],
    f: Sequence[Fraction],
    between: Sequence[tuple[Fraction, Ratio]],
) -> FinitePair:
    """The pair that dominates, if the likelihood ratio of cell i lies in ``between[i]``; see the module.

    Args:
        p: masses of the cells under P.
        q: masses of the cells under Q.
        e: by how much each of p may be off.
        f: by how much each of q may be off.
        between: two ends of the ratio in each cell.
    """
    with_: list[Fraction] = []
    without: list[Fraction] = []
    for mass, other, error, doubt, (low, high) in zip(p, q, e, f, between, strict=True):
        kept_p, kept_q = max(mass - error, ZERO), max(other - doubt, ZERO)
        off = (2 * error / mass if mass else ZERO) + (2 * doubt / other if other else ZERO)
        low, high = (low * (1 - off), high / (1 - off) if high is not None else None) if off < 1 else (ZERO, None)
        atoms = _split(kept_p, kept_q, low, high)
        with_ += [one for one, _ in atoms]
        without += [other_mass for _, other_mass in atoms]
    rest_p, rest_q = ONE - sum(with_), ONE - sum(without)
    # more than all can only be the errors' doing: then nothing is missing
    return FinitePair((*with_, max(rest_p, ZERO), ZERO), (*without, ZERO, max(rest_q, ZERO)))


def _split(p: Fraction, q: Fraction, low: Fraction, high: Ratio) -> list[tuple[Fraction, Fraction]]:
    """Masses under P and Q at the two ends between which the ratio p / q lies; as they are where it does not."""
    if high is None:
        at_low = min(q, p / low) if low else q
        return [(low * at_low, at_low), (p - low * at_low, q - at_low)]
    if not low * q <= p <= high * q or low == high:
        return [(p, ZERO), (ZERO, q)]  # the ends contradict the masses: no more is known than the masses
    at_low = (high * q - p) / (high - low)
    return [(low * at_low, at_low), (high * (q - at_low), q - at_low)]
