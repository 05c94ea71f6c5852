"""``evolving``: small groups of rounds on a fine, narrow lattice, their sums on a coarser, wider one. Two-sided.

Ghazi, Kamath, Kumar, Manurangsi 2022, "Faster Privacy Accounting via Evolving Discretization" [GKKM22]: stage 1 rounds
the loss of each round to a fine lattice, and keeps its mean (``accountants/shared/rounded.py``). Rounds are then
composed in groups. Stage 2 rounds the sum of each group to a wider lattice, and again keeps its mean
(TwoStageSelfComposePRV, TwoStageComposePRV). The paper also has methods of more than two stages, which are not
implemented.

Stage i rounds N_i sums to a lattice of gap h_i, and each of these sums lies outside the domain of the lattice with
probability p_i. Let S be the true and S~ the rounded sum of all losses. Hoeffding's inequality within each stage, and
the union bound over both, give

    |S - S~| <= sum_i h_i sqrt((N_i / 2) log(2 / eta_i))    except with probability    sum_i (eta_i + N_i p_i),

and epsilon is bracketed as by ``prv``: ``eps~(delta + delta_error) - eps_error`` and
``eps~(delta - delta_error) + eps_error``. Each stage gets half of eps_error, and half of a sixth of delta_error for
Hoeffding's inequality; the rest of delta_error is for losses outside the domains. The sum of a group is computed on a
circle. Mass that wraps around the circle is counted twice, since it is missing at one place and added at another. The
error of each group's Fourier transform is added to its masses for the upper end and subtracted from them for the lower
end.

Cost: for k rounds, the number of points of either stage is proportional to ``k^(1/4) / eps_error``; a group is one
power of a Fourier transform, whatever its size. Known failure: groups are composed without exponential tilting. The
rounding error of the Fourier transform is therefore relative to 1, and a delta below about 1e-10 is refused. If the
loss of a single round may be as large as the whole sum, the fine lattice must be as long as the coarse one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from hockeystick.accountants.prv import HOEFFDING, CouplingAccountant, Rounds, check_domains
from hockeystick.accountants.shared.lattice import (
    UNDERFLOW,
    LatticeLaw,
    Laws,
    infinite_mass,
    points_of,
    window_of,
)
from hockeystick.accountants.shared.rounded import Rounded, deviation, sides
from hockeystick.numerics.arrays import Array
from hockeystick.numerics.lattice import Tail, Window, convolved
from hockeystick.numerics.rounding import UNIT_ROUNDOFF
from hockeystick.pairs import Composition
from hockeystick.values.errors import NotApplicableError
from hockeystick.values.side import Side

Group = tuple[tuple[int, int], ...]
"""Rounds of one group: pairs (index of a law, number of its rounds in the group)."""

MAX_GROUPED_POINTS = 9_000_000
"""Largest sum over all groups of the window's points times the kinds of rounds: about 1.5 seconds for both ends."""

LOST = math.log(16.0)  # log of the ratio of a stage's share of delta_error to the mass that all its domains may lose


@dataclass
class Evolution:
    """Rounded laws after one stage or both, with their accumulated errors.

    Attributes:
        laws: pairs (law, count) of the rounds after one stage, or of the sums of groups after both.
        bias: bound on the part of the error of the rounded sum that comes from means not kept exactly.
        lost: bound on the probability that some loss or some sum of a group lies outside its domain.
        error: bound on the mass misplaced by the rounding of Fourier transforms.
        points: number of points of all lattices of rounds and groups.
    """

    laws: Rounds
    bias: float
    lost: float
    error: float
    points: int


@dataclass(frozen=True)
class EvolvingAccountant(CouplingAccountant):
    """Accountant that rounds the loss of each round to a fine lattice, and the sum of each group to a wider lattice."""

    name = "evolving"
    summary = "certified: mean-preserving rounding to two lattices, the second one wider, +- eps_error"

    def coupled(self, composition: Composition, log_error: float, delta: float) -> tuple[Rounds, float]:
        """Return the laws after both stages, and eps_error plus the bias of all means.

        Raises:
            NotApplicableError: the rounding of the Fourier transforms is too large for this delta, or a lattice has too
                many points.
        """
        found = self.evolve(composition, log_error)
        if found.error > 0.5 * delta:
            raise NotApplicableError(
                f"the rounding of the Fourier transforms, up to {found.error:.1e}, is too large for a delta of "
                f"{delta:.1e}; use a larger delta or accountant 'prv'"
            )
        return found.laws, float(self.eps_error + found.bias) * (1 + 1e-14)

    def evolve(self, composition: Composition, log_error: float) -> Evolution:
        """Return the rounded laws whose composition is the sum of all rounds.

        They are the laws of the groups after both stages. If the rounds are too few for groups, they are the laws of
        the rounds after the first stage.

        Raises:
            NotApplicableError: a lattice has too many points, or the domains would lose more mass than ``delta_error``
                allows.
        """
        groups = _groups([count for _, count in composition.rounds])
        stages = 2 if groups else 1
        log_eta = log_error - HOEFFDING - math.log(stages)

        def gap(number: int) -> float:
            return self.eps_error / stages / deviation(number, log_eta)

        def log_lost(number: int) -> float:
            return log_error - LOST - math.log(stages * number)

        rounds = self.rounds_of(composition, gap(composition.count), log_lost(composition.count) - 8.0)
        evolution = Evolution(
            rounds,
            bias=sum(count * law.bias for law, count in rounds),
            lost=sum(count * law.lost for law, count in rounds),
            error=0.0,
            points=sum(len(law.above.mass) for law, _ in rounds),
        )
        if groups:
            number = sum(times for _, times in groups)
            evolution = self._grouped(evolution, groups, gap(number), log_lost(number))
        check_domains(evolution.lost, log_error)
        return evolution

    def _grouped(
        self, before: Evolution, groups: Sequence[tuple[Group, int]], gap: float, log_lost: float
    ) -> Evolution:
        after = Evolution([], before.bias, before.lost, before.error, before.points)
        windows: list[Window] = []
        points = 0
        for group, _ in groups:  # count all windows before composing the first group
            laws = [(before.laws[i][0].above, count) for i, count in group]
            windows.append(window_of(laws, 0.0, log_lost - math.log(4)))
            points += points_of(windows[-1], laws[0][0].gap) * len(laws)
            if points > MAX_GROUPED_POINTS:
                raise NotApplicableError(
                    f"the groups of rounds would need {points:.1e} lattice points or more; {self.remedy}"
                )
        for (group, times), window in zip(groups, windows, strict=True):
            above, below = sides([(before.laws[i][0], count) for i, count in group])
            found = Grouped.of(above, below, window)
            law = _coarsened(found, above[0][0].gap, gap)
            after.laws.append((law, times))
            after.points += len(found.most)
            after.bias += times * (law.bias + gap * law.lost)
            after.lost += times * law.lost
            after.error += times * 2 * found.error
        return after


class Grouped(NamedTuple):
    """Law of the sum of the rounds of one group, on a circle of n lattice points.

    Attributes:
        first: loss of entry 0.
        most: masses rounded up, shape (n,).
        least: masses rounded down, shape (n,).
        slip: bound on the error of every loss.
        outside: bound on the mass of sums outside the circle.
        error: bound on the mass misplaced by the Fourier transform.
        infinite: upper bound on the mass at plus infinity; it includes masses set to 0 because the transform's error
            exceeds them.
    """

    first: float
    most: Array
    least: Array
    slip: float
    outside: float
    error: float
    infinite: float

    @classmethod
    def of(cls, above: Laws, below: Laws, window: Window) -> Grouped:
        """Return the law of the sum of the rounds of a group, from their laws with masses rounded up and down.

        No tilt is applied.
        """
        gap = above[0][0].gap
        n = points_of(window, gap)
        origin = math.fsum(count * law.first for law, count in above)
        start = math.floor((window.low - origin) / gap)
        ends, outside, error = [], 0.0, 0.0
        for laws, side in ((below, Side.BELOW), (above, Side.ABOVE)):
            counted = [(law.tilted(0.0, side), count) for law, count in laws]
            power = convolved(counted, start, n)
            log_scale = power.log_scale + math.fsum(count * law.mesh.kappa for law, count in counted)
            size = math.fsum(count * abs(law.mesh.kappa) for law, count in counted) + abs(log_scale)
            relative = 2 * power.scale_error + 16 * UNIT_ROUNDOFF * (1 + size)
            scale = math.exp(log_scale) * (1 + side * relative)
            # drops masses below the transform's error: they are at most twice this error, and a tilt would amplify them
            seen = power.values > power.error
            ends.append(np.where(seen, power.values + side * power.error, 0.0) * scale)
            error, lost = n * power.error * scale, 2 * (n - int(seen.sum())) * power.error * scale
            # covers mass that wraps around the circle, and the upper law's mass beyond either end of it
            low, high = origin + start * gap, origin + (start + n) * gap
            reach = math.fsum(count * abs(law.first) for law, count in laws) + (abs(start) + n) * gap
            slip = math.fsum(count * law.slip for law, count in laws) + 16 * UNIT_ROUNDOFF * reach
            tails = Tail(counted, window.theta_low, -1), Tail(counted, window.theta_high, +1)
            beyond = math.exp(tails[0].log_beyond(low + 2 * slip)) + math.exp(tails[1].log_beyond(high - 2 * slip))
            outside = beyond * scale + UNDERFLOW * n
        return cls(low, ends[1], ends[0], slip, outside, error, min(infinite_mass(above) + lost, 1.0))


def _groups(counts: list[int]) -> list[tuple[Group, int]]:
    """Divide k rounds into groups of about sqrt(k) rounds, and return each group with its multiplicity.

    Equal rounds are grouped first. The list is empty if one group would hold all rounds.
    """
    size = max(math.ceil(math.sqrt(sum(counts)) - 1e-9), 2)
    if sum(counts) <= size:
        return []
    groups: list[tuple[Group, int]] = [(((i, size),), count // size) for i, count in enumerate(counts) if count >= size]
    open_group: list[tuple[int, int]] = []
    room = size
    for i, count in enumerate(counts):
        left = count % size
        while left:
            taken = min(left, room)
            open_group.append((i, taken))
            left, room = left - taken, room - taken
            if room == 0:
                groups.append((tuple(open_group), 1))
                open_group, room = [], size
    if open_group:
        groups.append((tuple(open_group), 1))
    return groups


def _coarsened(group: Grouped, fine: float, gap: float) -> Rounded:
    """Round the sum of a group to a wider lattice, and keep its mean.

    The mean is computed from the masses rounded up. Rounding moves each loss by at most half a gap, so that the error
    of the mean is at most a gap times the uncertain fraction of the mass.
    """
    first, most, least, slip = group.first, group.most, group.least, group.slip
    losses = first + fine * np.arange(len(most), dtype=np.float64)
    at = np.rint(losses / gap).astype(np.intp)
    start = int(at[0])
    total = float(most.sum())
    if not total > 0:
        raise NotApplicableError("a group of rounds has no probability at finite losses within range")
    shift = float((most * (losses - gap * at)).sum()) / total
    doubt = (float((most - least).sum()) + group.infinite) / max(float(least.sum()), 1e-300)
    scale = float(np.abs(losses[[0, -1]]).max()) + gap
    slip += 16 * UNIT_ROUNDOFF * scale
    up, down = (np.bincount(at - start, weights=mass).astype(np.float64) for mass in (most, least))
    above = LatticeLaw(gap * start + shift, gap, up * (1 + 1e-13), group.infinite, slip)
    below = LatticeLaw(gap * start + shift, gap, down * (1 - 1e-13), 0.0, slip)
    # mass outside the circle is missing at the right place and added at a wrong one
    return Rounded(above, below, gap * doubt + slip, 2 * group.outside)
