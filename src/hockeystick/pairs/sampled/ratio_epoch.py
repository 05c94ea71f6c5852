"""One epoch of random allocation of any mechanism with bounded likelihood ratios: a pair above, and one below.

Let (P, Q) dominate a step when a record takes part in it, and let the record be in step j with probability w_j, in none
of those that are taken with probability c. With the record the outcome of an epoch is ``c Q^t + sum_j w_j Q^(j-1) x P x
Q^(t-j)``, without it ``Q^t``.

**It dominates** every epoch, whatever each step makes of earlier results (Feldman, Shenfeld 2025 [FS25]). Let the
results before step i be given, the data, and the allocation of all other records, which has the same law with and
without this one. Step i releases A_i if the record is in it, and B_i if not, and ``H_a(A_i || B_i) <= H_a(P || Q)`` for
all ``a >= 0``. So (Dong, Roth, Su 2022 [DRS22], Theorem 2.10, after Blackwell) one random function takes
P to A_i and Q to B_i, the same one whatever j is, as it depends on what was given alone. All results together are a
random function of independent outcomes ``(X_1, ..., X_t)``, X_j of law P and the others of law Q: of the pair. *It is
tight* where (P, Q) is attained by one instance of a step: with that in every step the results are the pair.

**Its likelihood ratio** is ``Lambda = c + sum_j w_j W_j`` with independent ``W_j = (dP/dQ)(X_j)`` under Q^t, and with
it all divergences: ``H_a(with || without) = E (Lambda - a)_+`` and ``H_a(without || with) = E (1 - a Lambda)_+``, to
the first of which what P has where Q has nothing is added, with the probability of being in any step. Both are convex
in every W_j. Replace the law of W by one that is larger in convex order (``ratio_lattice.py``) and neither is smaller;
by one that is smaller, and neither is larger. The same holds of any number of epochs, whose divergence is the mean of a
convex function of each Lambda. On a lattice the law of the sum of the W_j is that of whole numbers (``ratio_sum.py``),
all of whose masses are bounded; masses that are larger make each divergence larger, as the integrands are not negative,
and smaller ones smaller. Last, the many values of Lambda become few: above, those between two kept values are split
between these with the mean kept; below, they are merged into their mean.

**What bounds leave out.** Masses beyond the sums that are listed are taken to the least and to the largest value that
there is, above; below they are left out. Values of Lambda are off by relative roundings, and by absolute ones that are
relative to the largest ratio: every loss is moved by as much, up above and down below.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from hockeystick.numerics.rounding import UNIT_ROUNDOFF, next_up
from hockeystick.numerics.work import remembered
from hockeystick.pairs.base import Array, DominatingPair
from hockeystick.pairs.sampled.ratio_lattice import SNAP, Lattice, lattice_for, merged, off, spread, step_law
from hockeystick.pairs.sampled.ratio_sum import Summed, summed
from hockeystick.pairs.tabulated import TabulatedPair

Index = npt.NDArray[np.int64]

Groups = tuple[tuple[Fraction, int], ...]
"""Weights w_j, and how many steps have each; none where there are no such steps."""

FINEST = 8192
"""Cells of the lattice of one ratio, at most: a law of 8 steps then fits into one transform."""

RESOLVED = 5_000.0
"""Cells to a standard deviation of the sum, at most: a transform has twenty deviations."""

MOST_STEPS = 1_000_000
"""Steps of an epoch, at most: of more, on the coarsest lattice, a transform has more than a million points."""

COARSEST = 64
"""Cells of the lattice of one ratio, at least."""

KEPT = 3000
"""Values of Lambda that are kept, about, of more: engines take a second for some thousands."""

HEAVY, NEIGHBOURS = 0.3, 4
"""Share of the mass around it from which on a single value is kept, and how far that is: of a smooth law none is."""

CORE = 12.0  # standard deviations of Lambda on either side of 1

SUMMED = 32  # roundings of a sum over the values between two that are kept, besides one for each
LAWS = 16  # epochs whose laws are kept, of up to a few MB each


@dataclass(frozen=True, slots=True)
class Values:
    """Values of Lambda with masses under Q.

    Attributes:
        ratios: shape (n,), increasing, from 0.
        masses: shape (n,), those above rounded up, or those below rounded down.
        moved: shape (n,), by how much the logarithm of each value may be off.
    """

    ratios: Array
    masses: Array
    moved: Array


@dataclass(frozen=True, slots=True)
class EpochLaw:
    """What is known of Lambda.

    Attributes:
        above: a law larger in convex order.
        below: one that is smaller.
        infinite: probability of an infinite loss, rounded up.
    """

    above: Values
    below: Values
    infinite: float


def supported(pair: DominatingPair) -> bool:
    """Whether the likelihood ratio of a step is bounded, and of a kind that is known here."""
    return step_law(pair) is not None


def epoch_pairs(
    pair: DominatingPair, groups: Groups, constant: Fraction, add: bool
) -> tuple[TabulatedPair, TabulatedPair]:
    """One epoch: a pair that dominates it, and one that it dominates.

    Args:
        pair: of one step, its law with the record against that without it; see :func:`supported`.
        groups: probabilities of the steps that are taken.
        constant: that of none of them.
        add: whether the record is added; else it is removed.
    """
    law = epoch_law(pair, groups, constant)
    return _pair(law.above, law.infinite, add, +1), _pair(law.below, law.infinite, add, -1)


@remembered(LAWS)
def epoch_law(pair: DominatingPair, groups: Groups, constant: Fraction) -> EpochLaw:
    """The two laws of Lambda, for both orders of the laws of an epoch."""
    step = step_law(pair)
    assert step is not None
    steps = sum(count for _, count in groups)
    low, high = step.range
    finest = FINEST
    if step.deviation > 0:
        finest = int(min(max(RESOLVED * (high - low) / (step.deviation * math.sqrt(steps)), COARSEST), FINEST))
    groups = tuple((weight, count) for weight, count in groups if count)
    first = max(weight for weight, _ in groups)
    lattice = lattice_for(step, finest, tuple(float(weight / first) for weight, _ in groups))
    relative, absolute = off(step, lattice)
    start = float(constant)
    parts_above: list[tuple[Array, int]] = []
    parts_below: list[tuple[Array, int]] = []
    for weight, count in groups:
        share = float(weight / first)
        grid = lattice
        if share < 1:
            cells = math.ceil((high - low) * share / lattice.step + SNAP)
            grid = Lattice(lattice.start * share, lattice.step, max(cells, 1))
        parts_above.append((spread(step, grid, share), count))
        parts_below.append((merged(step, grid, share), count))
        start += float(weight * count) * low
    unit = float(first) * lattice.step
    last = sum((len(masses) - 1) * count for masses, count in parts_above)
    off_by = relative + 32 * UNIT_ROUNDOFF, absolute
    above, below = summed(parts_above, True), summed(parts_below, False)
    deviation = step.deviation * math.sqrt(sum(float(weight) ** 2 * count for weight, count in groups))
    kept_above = _split(above, _kept(above, start, unit, deviation), last, start, unit, off_by)
    kept_below = _joined(below, _kept(below, start, unit, deviation), start, unit, off_by)
    return EpochLaw(kept_above, kept_below, next_up(step.infinite * float(1 - constant), 8) if step.infinite else 0.0)


def _kept(law: Summed, start: float, unit: float, deviation: float) -> Index:
    """Positions in the list of masses that are kept, increasing, from the first to the last.

    Of a long list they are at equal distances over all of it, at equal ratios, within CORE deviations of 1, and where
    one mass outweighs those around it. Which ones are kept changes the width of the bounds and not whether they hold.
    """
    n = len(law.masses)
    seen = np.flatnonzero(law.masses)
    if len(seen) <= KEPT:
        return np.union1d(seen, [0, n - 1]).astype(np.int64)
    low, high = start + unit * law.first, start + unit * (law.first + n - 1)
    centre, reach = (1.0 - low) / unit, CORE * deviation / unit
    even = np.linspace(0.0, n - 1.0, KEPT // 4)
    ratios = (np.geomspace(max(low, unit), high, KEPT // 4) - low) / unit
    core = np.linspace(max(centre - reach, 0.0), min(centre + reach, n - 1.0), KEPT // 2)
    positions = np.concatenate([even, ratios, core, _heavy(law.masses)])
    return np.unique(np.clip(np.round(positions), 0, n - 1).astype(np.int64))


def _heavy(masses: Array) -> Index:
    """Positions with a share of at least HEAVY of what lies within NEIGHBOURS of them, with those on either side."""
    around = np.convolve(masses, np.ones(2 * NEIGHBOURS + 1))[NEIGHBOURS:-NEIGHBOURS]
    heavy = np.flatnonzero(masses > HEAVY * around)
    if len(heavy) > KEPT // 4:
        heavy = heavy[np.argsort(masses[heavy])[-(KEPT // 4) :]]
    return np.concatenate([heavy - 1, heavy, heavy + 1])


def _values(positions: Array, start: float, unit: float, off_by: tuple[float, float]) -> tuple[Array, Array]:
    """Values of Lambda at sums, and by how much their logarithms may be off."""
    ratios = start + unit * positions
    with np.errstate(divide="ignore", invalid="ignore"):
        moved = np.where(ratios > 0, (off_by[0] + off_by[1] / ratios) * (1 + 1e-6), 0.0)
    return ratios, moved


def _split(law: Summed, kept: Index, last: int, start: float, unit: float, off_by: tuple[float, float]) -> Values:
    """Every mass split between the kept values on either side of it, and what is beyond the list at the ends."""
    n = len(law.masses)
    at = np.arange(n)
    cell = np.clip(np.searchsorted(kept, at, side="right") - 1, 0, max(len(kept) - 2, 0))
    width = np.maximum(np.diff(kept), 1) if len(kept) > 1 else np.ones(1)
    share = (at - kept[cell]) / width[cell]
    low = np.bincount(cell, law.masses * (1 - share), len(kept) + 1)
    high = np.bincount(cell + 1, law.masses * share, len(kept) + 1)
    masses = np.asarray(low + high, dtype=np.float64)[: len(kept)] * (1 + UNIT_ROUNDOFF * (SUMMED + float(width.max())))
    sums = np.concatenate([[0.0], law.first + kept.astype(np.float64), [float(last)]])
    ratios, moved = _values(sums, start, unit, off_by)
    return Values(ratios, np.concatenate([[law.below], masses, [law.beyond]]), moved)


def _joined(law: Summed, kept: Index, start: float, unit: float, off_by: tuple[float, float]) -> Values:
    """All masses from one kept value to below the next merged into their mean."""
    starts = kept.astype(np.int64)
    masses = np.add.reduceat(law.masses, starts)
    lengths = np.diff(starts, append=len(law.masses))
    inside = np.arange(len(law.masses)) - np.repeat(starts, lengths)
    first = np.add.reduceat(law.masses * inside, starts)
    with np.errstate(divide="ignore", invalid="ignore"):
        mean = np.where(masses > 0, first / masses, 0.0)
    longest = float(lengths.max())
    care = UNIT_ROUNDOFF * (SUMMED + longest)
    places = (law.first + starts).astype(np.float64) + mean
    ratios, moved = _values(places, start, unit, (off_by[0], off_by[1] + 2 * care * longest * unit))
    return Values(ratios, masses * (1 - care), moved)


def _pair(values: Values, infinite: float, add: bool, sign: int) -> TabulatedPair:
    """The law of the loss of an epoch, every loss moved by what it may be off."""
    seen = values.masses > 0
    ratios, masses, moved = values.ratios[seen], values.masses[seen], values.moved[seen]
    zero = float(masses[ratios <= 0].sum())
    ratios, masses, moved = (each[ratios > 0] for each in (ratios, masses, moved))
    loss, log_q = np.log(ratios), np.log(masses)
    if add:
        loss = (-loss + sign * moved)[::-1]
        return TabulatedPair(tuple(loss.tolist()), tuple(log_q[::-1].tolist()), zero)
    loss = loss + sign * moved
    sure = infinite if sign > 0 else infinite * (1 - 1e-9)
    return TabulatedPair(tuple(loss.tolist()), tuple((log_q + loss).tolist()), sure)
