"""Pairs with finitely many losses that bound, from above and from below, a pair of laws known only cell by cell.

The outcomes are divided into cells. Cell i has the mass ``p_i`` under P, with an error of at most ``e_i``, and ``q_i``
under Q, with an error of at most ``f_i``. In cell i the likelihood ratio dP/dQ lies between ``a_i`` and ``b_i``.

A pair with finitely many losses is a list of ratios ``r_j`` with Q-masses ``w_j`` and P-masses ``r_j w_j``, a mass that
only P has, and a mass that only Q has. For every alpha the pair's hockey-stick divergence is ``sum_j w_j (r_j -
alpha)_+`` plus the mass that only P has. So the divergence does not decrease if a mass is made larger. This also holds
with P and Q exchanged, after Poisson sampling, and for every product. Hence a pair whose masses are rounded up
dominates the pair with the true masses at the same ratios.

**Above.** A pair dominates (P, Q) if the ratio in each cell takes only the values ``a`` and ``b``, with the same mean
(Doroshenko et al. 2022 [DGK+22]). The Q-masses are ``(b q - p) / (b - a)`` at a and ``(p - a q) / (b - a)`` at b. With
the errors e and f they are at most

    w_a = (b (q + f) - (p - e)) / (b - a),    w_b = (p + e - a (q - f)) / (b - a),

and each is also at most ``q + f``, and w_b at most ``(p + e) / b``. A narrow cell is widened first, as errors are
divided by its width ``b - a``. If b is infinite, the whole Q-mass is put at a, and only P has the remaining P-mass ``p
+ e - a (q - f)``. The case a = 0 is the same with P and Q exchanged.

**Below.** Revealing only the cell of an outcome is post-processing, so that (P, Q) dominates the pair of the cells'
masses. The loss ``log dP/dQ`` is a random variable under P, and the divergence of a product does not decrease if a loss
or its P-mass is made larger. Under P the mass of a cell is at least ``p - e``, and its ratio r is at least ``(p - e) /
(q + f)``. If the Q-mass ``w = q - f`` is placed at this lower bound, the P-mass is no larger than the true one. The
same holds for the mixture ``(1 - s) w + s w r`` that Poisson sampling makes. With P and Q exchanged, the bound needed
is ``r <= (p + e) / (q - f)``. So there are two pairs below (P, Q): one for each order of the laws.

**Both orders.** The maximum of the divergences of (P, Q) and of (Q, P) is convex in alpha, so that it is the curve of a
pair (Zhu, Dong, Wang 2022 [ZDW22], after Definition 7). Between neighbouring ratios of the two pairs it lies below its
chord. The chords form the curve of another pair, whose Q-mass at a ratio is the change of the slope there. The effect
of rounding is measured at every ratio, and all masses are multiplied by a factor that covers it.

**Ratios that increase.** If dP/dQ does not decrease along the line, its values in a cell lie between the mean ratio ``p
/ q`` of the cell before and that of the cell after. For the first cell the lower bound is 0, and for the last cell the
upper bound is infinity.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from hockeystick.numerics.rounding import UNIT_ROUNDOFF
from hockeystick.pairs import moment
from hockeystick.pairs.base import Array, Atoms, DominatingPair
from hockeystick.values.errors import InvalidInputError

ROUNDINGS = 16 * UNIT_ROUNDOFF  # bound on the relative error of a mass or a ratio computed by a few operations
NARROW = 3e-4  # width in the loss to which narrower cells are widened, in standard deviations of the loss
LARGEST = 650.0  # largest loss whose ratio ``e^loss`` is within the range of a double, with room for factors
STEEP = 300.0  # log of b / a above which the whole mass of a cell is counted twice, once at a and once at b


@dataclass(frozen=True)
class KnottedPair(DominatingPair):
    """A pair with finitely many losses, given by its masses.

    Attributes:
        losses: finite losses, increasing.
        log_p: log of the P-mass at each loss.
        log_q: log of the Q-mass at each loss, which equals ``log_p`` minus the loss.
        only_p: P-mass at loss +inf, where Q has none.
        only_q: Q-mass at loss -inf, where P has none.
    """

    losses: tuple[float, ...]
    log_p: tuple[float, ...]
    log_q: tuple[float, ...]
    only_p: float
    only_q: float

    @classmethod
    def of(cls, losses: Array, q: Array, only_p: float = 0.0, only_q: float = 0.0) -> KnottedPair:
        """Return the pair with the Q-masses ``q`` at the given losses, in any order; masses of 0 are dropped.

        Masses at equal losses are added.
        """
        known = q > 0
        order = np.argsort(losses[known], kind="stable")
        found, at = np.unique(losses[known][order], return_inverse=True)
        log_q = np.log(np.bincount(at, q[known][order], minlength=len(found)))
        return cls(tuple(found.tolist()), tuple((log_q + found).tolist()), tuple(log_q.tolist()), only_p, only_q)

    def __hash__(self) -> int:
        """Return the hash of the losses and masses, computed once, because caches use it thousands of times."""
        return self._hash

    @cached_property
    def _hash(self) -> int:
        return hash((self.losses, self.log_q, self.only_p, self.only_q))

    @cached_property
    def atoms(self) -> Atoms:
        """The atoms at all finite losses, at +inf for mass that only P has, and at -inf for mass that only Q has."""
        finite = Atoms(np.array(self.losses), np.array(self.log_p), np.array(self.log_q))
        return finite.beside(self.only_p, self.only_q)

    @cached_property
    def mirror(self) -> KnottedPair:
        """The pair with P and Q exchanged."""
        losses = tuple(-loss for loss in reversed(self.losses))
        return KnottedPair(losses, self.log_q[::-1], self.log_p[::-1], self.only_q, self.only_p)

    def log_moment(self, t: float) -> float:
        """Upper bound on the log-moment K(t), as a sum over the finite losses."""
        return moment.atoms(np.array(self.losses), np.array(self.log_p), t)


class Cells(NamedTuple):
    """The outcomes of two laws P and Q, divided into n cells; each array has shape (n,).

    Attributes:
        p: masses under P.
        q: masses under Q.
        p_error: bounds on the errors of p.
        q_error: bounds on the errors of q.
        least: lower bounds on dP/dQ in each cell.
        reverse: lower bounds on dQ/dP in each cell; 0 where dP/dQ is not bounded.
    """

    p: Array
    q: Array
    p_error: Array
    q_error: Array
    least: Array
    reverse: Array

    @property
    def mirror(self) -> Cells:
        """The cells with P and Q exchanged."""
        return Cells(self.q, self.p, self.q_error, self.p_error, self.reverse, self.least)


def increasing(p: Array, q: Array, p_error: Array, q_error: Array) -> tuple[Array, Array]:
    """Return the bounds ``least`` and ``reverse`` (see :class:`Cells`) of cells along which dP/dQ does not decrease.

    Raises:
        InvalidInputError: the masses show that dP/dQ decreases.
    """
    least, back = _reached(p, q, p_error, q_error), _reached(*(one[::-1] for one in (q, p, q_error, p_error)))[::-1]
    # the mean ratio of a cell is at least that of every cell before it
    with np.errstate(divide="ignore", invalid="ignore"):
        wrong = np.flatnonzero(
            ((p + p_error) * (1 + ROUNDINGS) < least * (q - q_error) * (1 - ROUNDINGS)) & (q > q_error)
        )
    if len(wrong):
        raise InvalidInputError(
            f"the ratio p / q decreases before cell {wrong[0] + 1}; for a ratio that is not increasing, pass least and "
            "reverse for each cell, or densities",
            "least",
        )
    return least, back


def _reached(p: Array, q: Array, p_error: Array, q_error: Array) -> Array:
    """Return, for each cell, the largest lower bound on the mean of dP/dQ in any of the earlier cells."""
    with np.errstate(divide="ignore", invalid="ignore"):
        mean = np.where(p > p_error, (p - p_error) / (q + q_error), 0.0) * (1 - ROUNDINGS)
    mean = np.where(np.isfinite(mean), mean, 0.0)  # a cell of P alone gives no bound for cells with mass under Q
    return np.concatenate([[0.0], np.maximum.accumulate(mean)[:-1]])


def spread_above(cells: Cells) -> KnottedPair:
    """Return a pair that dominates (P, Q), by spreading the ratio in each cell to the ends of its range.

    Raises:
        InvalidInputError: the mean ratio of a cell lies outside the range given for that cell.
    """
    p_most, q_most = (cells.p + cells.p_error) * (1 + ROUNDINGS), (cells.q + cells.q_error) * (1 + ROUNDINGS)
    p_least = np.maximum(cells.p - cells.p_error, 0.0) * (1 - ROUNDINGS)
    q_least = np.maximum(cells.q - cells.q_error, 0.0) * (1 - ROUNDINGS)
    wrong = np.flatnonzero(
        (cells.least * q_least * (1 - ROUNDINGS) > p_most) | (cells.reverse * p_least * (1 - ROUNDINGS) > q_most)
    )
    if len(wrong):
        raise InvalidInputError(
            f"the masses of cell {wrong[0] + 1} contradict the bounds least and reverse on their ratio; pass bounds "
            "that hold everywhere in the cell, or larger errors",
            "least",
        )
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        low, high = np.log(cells.least), -np.log(cells.reverse)
        low, high = low - ROUNDINGS * (1 + np.abs(low)), high + ROUNDINGS * (1 + np.abs(high))
        # with the bounds on the ratio, the P-mass bounds the Q-mass and vice versa (fmin: 0 times infinity is no bound)
        q_most = np.fmin(q_most, p_most * np.exp(-low) * (1 + ROUNDINGS))
        p_most = np.fmin(p_most, q_most * np.exp(high) * (1 + ROUNDINGS))
        both = np.isfinite(low) & np.isfinite(high)
        # narrow cells are widened, as errors are divided by the width
        more = np.where(both, np.maximum(_narrow(cells) - (high - low), 0.0) / 2, 0.0)
        low, high = low - more, high + more
        width = np.expm1(np.minimum(high - low, STEEP))
        # w_b = (p / a - q) / (b / a - 1) and w_a = (q - p / b) / (1 - a / b), plus the rounding of the subtraction
        steep, whole = high - low >= STEEP, p_most * np.exp(-high) * (1 + ROUNDINGS)
        scaled = p_most * np.exp(-low)
        at_high = np.where(steep, np.inf, (scaled - q_least + ROUNDINGS * (scaled + q_most)) / width)
        at_high = np.minimum(np.maximum(at_high, 0.0), np.minimum(q_most, whole))
        shrunk = p_least * np.exp(-high)
        at_low = (q_most - shrunk + ROUNDINGS * (q_most + shrunk)) / -np.expm1(low - high)
        at_low = np.where(steep, q_most, np.minimum(np.maximum(at_low, 0.0), q_most))
        # with one finite end, a law bounded by the ratio has all its mass there; the other law alone has the rest
        down, up = np.isfinite(low) & ~both, np.isfinite(high) & ~both
        at_low, at_high = np.where(both | down, np.where(down, q_most, at_low), 0.0), np.where(both, at_high, 0.0)
        at_high = np.where(up, whole, at_high)
        rest_p = np.where(down, p_most - np.exp(low) * (1 - ROUNDINGS) * q_least, np.where(both | up, 0.0, p_most))
        rest_q = np.where(up, q_most - np.exp(-high) * (1 - ROUNDINGS) * p_least, np.where(both | down, 0.0, q_most))
    only_p, only_q = (float(np.maximum(rest, 0.0).sum()) * (1 + 1e-12) for rest in (rest_p, rest_q))
    seen_low, seen_high = np.isfinite(low), np.isfinite(high)
    return KnottedPair.of(
        np.concatenate([low[seen_low], high[seen_high]]),
        np.concatenate([at_low[seen_low], at_high[seen_high]]),
        only_p,
        only_q,
    )


def _narrow(cells: Cells) -> float:
    """Return the width in the loss to which narrower cells are widened; any value is sound."""
    seen = (cells.p > 0) & (cells.q > 0)
    if not seen.any():
        return NARROW
    loss, mass = np.log(cells.p[seen] / cells.q[seen]), cells.p[seen] + cells.q[seen]
    mass = mass / mass.sum()
    deviation = float(np.sqrt(mass @ np.square(loss - mass @ loss)))
    return NARROW * min(max(deviation, 1e-9), 1.0)


def merged_below(cells: Cells) -> KnottedPair:
    """Return a pair that (P, Q) dominates: the pair that reveals only the cell of each outcome."""
    p_least = np.maximum(cells.p - cells.p_error, 0.0) * (1 - ROUNDINGS)
    q_least = np.maximum(cells.q - cells.q_error, 0.0) * (1 - ROUNDINGS)
    only_p = (cells.q == 0) & (cells.q_error == 0)
    seen = (p_least > 0) & (q_least > 0)
    if not (seen | (only_p & (p_least > 0))).any():
        return KnottedPair((0.0,), (0.0,), (0.0,), 0.0, 0.0)  # two equal laws, which every pair dominates
    ratio = p_least[seen] / (cells.q + cells.q_error)[seen] * (1 - ROUNDINGS)
    return KnottedPair.of(np.log(ratio), q_least[seen], float(p_least[only_p].sum()) * (1 - 1e-12))


def either_order(pair: KnottedPair) -> KnottedPair:
    """Return a pair that dominates both ``pair`` and the pair with P and Q exchanged."""
    first, second = _within(pair), _within(pair.mirror)
    losses = np.unique(np.concatenate([first.losses, second.losses]))
    only_p, only_q = max(first.only_p, second.only_p), max(first.only_q, second.only_q)
    if not len(losses):
        return KnottedPair((), (), (), only_p, only_q)
    # between adjacent losses the curve is replaced by its chord, which is nowhere below the curve
    apart = np.floor((losses - losses[0]) / _spacing(losses))
    losses = np.append(losses[:-1][np.diff(apart) > 0], losses[-1])
    roundings = 1 + ROUNDINGS * (8 + len(losses))
    curve = np.maximum(_curve(first, losses), _curve(second, losses)) * roundings
    # the divergence at alpha = 0, which is the total mass of P, and the slopes of the chords with their signs changed
    ratios, start = np.exp(np.append(-np.inf, losses)), max(_mass(first), _mass(second)) * roundings
    slopes = np.append(-np.diff(np.append(start, curve)) / np.diff(ratios), 0.0)
    q = np.maximum(slopes[:-1] - slopes[1:], 0.0)
    reached = _curve(KnottedPair.of(losses, q, only_p), losses)
    seen = curve > 0
    missing = max(float((curve[seen] / reached[seen]).max(initial=1.0)), 1.0) * roundings
    return KnottedPair.of(losses, q * missing, only_p * missing, max(only_q, 1 - float(q.sum())))


def _spacing(losses: Array) -> float:
    """Return the difference below which neighbouring losses are merged; any value is sound."""
    return max(float(np.median(np.diff(losses))), 1e-9) * 1e-3 if len(losses) > 1 else 1.0


def _within(pair: KnottedPair) -> KnottedPair:
    """Return the pair with every loss above :data:`LARGEST` replaced by an infinite loss."""
    losses, log_q = np.array(pair.losses), np.array(pair.log_q)
    beyond = losses > LARGEST
    if not beyond.any():
        return pair
    more = float(np.exp(np.array(pair.log_p)[beyond]).sum()) * (1 + 1e-12)
    return KnottedPair.of(losses[~beyond], np.exp(log_q[~beyond]), pair.only_p + more, pair.only_q)


def _mass(pair: KnottedPair) -> float:
    """Return the total mass of P."""
    return float(np.exp(np.array(pair.log_p)).sum()) + pair.only_p


def _curve(pair: KnottedPair, losses: Array) -> Array:
    """Return the hockey-stick divergence of a pair at ``alpha = e^loss`` for each of the given, increasing losses.

    Only positive terms are added, from the largest loss downwards, so that nothing cancels.
    """
    own, q = np.array(pair.losses), np.exp(np.array(pair.log_q))
    at = np.unique(np.concatenate([losses, own]))
    mass = np.zeros(len(at))
    mass[np.searchsorted(at, own)] = q
    above = np.cumsum(mass[::-1])[::-1]  # Q-mass at each loss and beyond
    falls = above[1:] * np.exp(at[:-1]) * np.expm1(np.diff(at))
    curve = np.append(np.cumsum(falls[::-1])[::-1], 0.0) + pair.only_p
    found: Array = curve[np.searchsorted(at, losses)]
    return found
