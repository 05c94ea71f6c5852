"""One epoch of random allocation of Gaussian steps: laws above and below that of its likelihood ratio, in balls.

A record is in each of T steps with probability w and in none of them with probability c, so that ``R = c + w (Y_1 +
... + Y_T)`` under Q with independent lognormal ``Y_j`` of mean 1 (``pairs/sampled/allocation.py``, ``uneven.py``, with
the proof that this pair dominates, and is attained). Laws above and below that of R are had in four steps, each of
which is one of the three operations of ``convex_order.py``: spread, merge, leave out.

1. The law of one Y is spread over, or merged on to, multiples of a width h; far out to some of these only.
2. Multiples up to a bound are the *bulk* B, those beyond are *jumps* J, which are rare and far. The law of the sum is
   that of ``sum_j C(T, j) B^(T - j) J^j``, products being convolutions. The terms of the first few j are formed, and
   the others are left out.
3. ``B^(T - j)`` is formed exactly but for the rounding down of masses (``ratio_rows.py``). Where it stands beside
   jumps, which are large, it is first spread over or merged into fewer points; so is ``J^j``.
4. The law of R is spread over, or merged on to, points at equal ratios (``ratio_mesh.py``), of which products of epochs
   are made.

Merging into the mean of some outcomes asks for no points: until the last step the law below is a list of masses and
moments, whatever they are the mean of.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate, pairwise
from operator import mul
from statistics import NormalDist
from typing import NamedTuple

import numpy as np
from flint import arb

from hockeystick.engines.proof.convex_order import Part, merged, spread, whole_below
from hockeystick.engines.proof.ratio_laws import Lognormal
from hockeystick.engines.proof.ratio_mesh import Mesh, far, multiples, ratios
from hockeystick.engines.proof.ratio_rows import Row, cost
from hockeystick.numerics.balls import Ball, ball

PIECES = 4
"""Parts of a cell about a point, even: what lies in one is merged before it is merged on to the point, which adds a
sixteenth to the variance that merging takes."""

RARE = 1e-3
"""Jumps an epoch under Q: with few of them, few terms are formed, and with fewer the bulk is longer."""

LIGHT = 0.5
"""Length of a tail, in that of the bulk of the sum, up to which it is not worth while to take it apart."""

DEVIATIONS = 2.4
"""Standard deviations of the sum on either side of its mean that a row covers, by the root of the bits of a mass."""

SHARE = 0.5
"""Width of a cell far out, as a share of the point it is about, in that of the bulk in standard deviations."""

FEWEST = 800.0
"""Points of the bulk of a sum, over the distance of neighbours in standard deviations: few steps would have fewer, and
little of their laws is as wide as their deviations."""

LOST = 1e-9
"""Share of a bulk that may be left out where it is merged on to points beside jumps; of more it is merged into its
mean."""

BESIDE, MOST = 2.0, 400.0
"""Distance of points where there are jumps, in that of the bulk's to as many standard deviations; and how many there
are at the most, over the distance of neighbours in standard deviations."""

PART, TAIL, SUMMED, PRODUCTS = 10_000.0, 12_000.0, 1000.0, 8.0
"""Units of work of a point of a step and of one of its normal tails, and of a point of a sum besides its products;
products of the length of the longest that a power of it takes, on both sides."""


class Sides(NamedTuple):
    """A law above and one below, as rows of the same bits."""

    above: Row
    below: Row


@dataclass(frozen=True, slots=True)
class Epoch:
    """The likelihood ratio of an epoch.

    Attributes:
        mu_squared: the square of the distance of the two laws of a step, in standard deviations.
        weight: probability of each step.
        steps: how many there are.
    """

    mu_squared: Fraction
    weight: Fraction
    steps: int

    @property
    def constant(self) -> Fraction:
        """The probability of none of them."""
        return 1 - self.weight * self.steps

    @property
    def step(self) -> Lognormal:
        """The likelihood ratio of a step that is known to hold the record."""
        return Lognormal(self.mu_squared)


@dataclass(frozen=True, slots=True)
class EpochMesh:
    """Where an epoch is put on points; floating point chooses.

    Attributes:
        epoch: what is put there.
        mesh: how finely.
        epochs: how many there are: each may cut its share of the tails.
    """

    epoch: Epoch
    mesh: Mesh
    epochs: int

    @property
    def farthest(self) -> float:
        """The place up to which a step is put on points: beyond it is too little under P and under Q."""
        share = self.mesh.log_tail - math.log(self.epochs)
        return max(far(share) + self.epoch.step.mu, far(share - math.log(self.epoch.steps)))

    @property
    def place(self) -> float:
        """The place from which on a step is a jump; the farthest where there are none."""
        rare = -NormalDist().inv_cdf(min(RARE / self.epoch.steps, 0.5))
        step, last = self.epoch.step, self.farthest
        if rare >= last or step.at(last) - step.at(rare) < LIGHT * self._window(rare):
            return last
        return rare

    def _window(self, place: float) -> float:
        """The length of the bulk of the sum, about."""
        bits = self.mesh.bits(self.epoch.steps)
        half = DEVIATIONS / 2 * math.sqrt(bits * self.epoch.steps) * self.epoch.step.deviation(place)
        return min(half, self.epoch.steps) + half

    @property
    def width(self) -> float:
        """The distance h of neighbouring points of a sum."""
        few = self._window(self.place) * self.mesh.fine / FEWEST
        return min(self.mesh.fine * self.epoch.step.deviation(self.place), few)

    @property
    def deviation(self) -> float:
        """The standard deviation of the ratio of the epoch, but for jumps."""
        return float(self.epoch.weight) * self.spread

    @property
    def jumps(self) -> int:
        """How many jumps an epoch has at the most: more have too little mass."""
        if self.place == self.farthest:
            return 0
        share, count, log_mass = self.mesh.log_tail - math.log(self.epochs), 0, 0.0
        while log_mass > share and count < self.epoch.steps:
            count += 1
            log_mass += math.log(RARE / count)
        return min(count + 1, self.epoch.steps)

    @property
    def spacing(self) -> int:
        """The distance, in units of h, of the points on which bulk and jumps are put beside each other."""
        far = self.epoch.step.at(self.farthest) / self.width
        wide = BESIDE * self.mesh.fine * self.spread / self.width
        return max(round(wide), math.ceil(far * self.mesh.fine / MOST), 1)

    @property
    def spread(self) -> float:
        """The standard deviation of the sum, but for jumps."""
        return math.sqrt(self.epoch.steps) * self.epoch.step.deviation(self.place)

    @property
    def units(self) -> float:
        """Units of work, about."""
        step, fine = self.epoch.step, self.mesh.fine
        far = step.at(self.farthest) / self.width
        points = (2.0 + math.log(max(far * fine, 1.0))) / (SHARE * fine)
        bulk = (self._window(self.place) + 2 * step.at(self.place)) / self.width
        jumps = self.jumps and self.jumps * (far / self.spacing + 2 * bulk / self.spacing)
        bits = self.mesh.bits(self.epoch.steps)
        products = PRODUCTS * cost(bulk, bits) + 2 * self.jumps * cost(bulk, bits) + 8 * cost(jumps, bits)
        return points * (PIECES * TAIL + PART) + products + SUMMED * (bulk * (1 + self.jumps) + 3 * jumps)


class _Atoms(NamedTuple):
    """Points, as multiples of h, and masses as whole numbers."""

    at: list[int]
    masses: list[int]


def laws(mesh: EpochMesh, kappa: float, bits: int) -> Sides:
    """The laws of the ratio of an epoch, on points at equal ratios ``e^(kappa (q + 1/2))``."""
    step = _step(mesh, bits)
    above, below = _sum(mesh, step.above, bits, True), _sum(mesh, step.below, bits, False)
    first, count = _range(mesh, above[0].sums, kappa)
    points = ratios(kappa, first, count)
    over = spread(points, _cells(mesh, above, points))
    under = _merged_from(points, _pieces(mesh, below, kappa, first, count), min(max(-first, 1), count - 1))
    return Sides(*(Row.of([whole_below(mass, bits) for mass in side], first, bits) for side in (over, under)))


class _Step(NamedTuple):
    """The laws of one Y."""

    above: _Atoms
    below: _Atoms


def _step(mesh: EpochMesh, bits: int) -> _Step:
    """One Y, spread over multiples of h and merged on to them."""
    law, width = mesh.epoch.step, arb(mesh.width)
    at = multiples(mesh.width, law.at(mesh.farthest), SHARE * mesh.mesh.fine * min(1.5 * law.mu, 1.0))
    edges = [arb(PIECES * a + i * (b - a)) / PIECES * width for a, b in pairwise(at) for i in range(PIECES)]
    tails = [law.tail(edge) for edge in [*edges, arb(at[-1]) * width]]
    parts = [Part(a.mass - b.mass, a.moment - b.moment) for a, b in pairwise(tails)]
    cells = [Part(a.mass - b.mass, a.moment - b.moment) for a, b in pairwise(tails[::PIECES])]
    points = [arb(i) * width for i in at]
    start = min(max(bisect_right(at, 1.0 / mesh.width), 2), len(at) - 1)
    over = spread(points, cells)
    under = merged(points, parts, start, PIECES * (start - 1) + PIECES // 2)
    return _Step(*(_Atoms(at, [whole_below(mass, bits) for mass in side]) for side in (over, under)))


def _sum(mesh: EpochMesh, step: _Atoms, bits: int, above: bool) -> list[_Lattice]:
    """The sum of the steps of an epoch: without jumps, and with them.

    With ``J' = T J`` the term of j jumps is ``(T - 1) ... (T - j + 1) / (j! T^(j - 1)) B^(T - j) J'^j``, of masses that
    a row has bits for.
    """
    steps = mesh.epoch.steps
    bulk = bisect_right(step.at, mesh.epoch.step.at(mesh.place) / mesh.width) if mesh.jumps else len(step.at)
    one = Row.of(_dense(step.at[:bulk], step.masses[:bulk]), 0, bits)
    rows = [one.power(steps - mesh.jumps)]
    for _ in range(mesh.jumps):
        rows.append(rows[-1].times(one))
    found = [_Lattice(_Sums.of(rows[-1]), 1, arb(0))]
    if mesh.jumps and bulk < len(step.at):
        spacing = mesh.spacing
        rare = _Sums(step.at[bulk:], [steps * mass for mass in step.masses[bulk:]], bits)
        jump = _spread_on(rare, spacing) if above else _merged_on(rare, spacing, upward=True)
        if not above and sum(jump.masses()) < whole_below(rare.mass * (1 - LOST), bits):
            # points too far apart: one jump is left as it is, beside the mean of all other steps
            whole = _whole(_Sums.of(rows[mesh.jumps - 1]))
            if not whole.mass > 0:  # rounded away: jumps are left out
                return found
            return [*found, _Lattice(rare.scaled(whole.mass), 1, whole.moment / whole.mass)]
        jumps, orders = jump, Fraction(1)
        for number in range(1, mesh.jumps + 1):
            if number > 1:
                jumps, orders = jumps.times(jump), orders * Fraction(steps - number + 1, number * steps)
            rest = _Sums.of(rows[mesh.jumps - number])
            beside, offset = (_spread_on(rest, spacing), arb(0)) if above else _beside(rest, spacing)
            found.append(_Lattice(_Sums.of(beside.times(jumps).scaled(orders)), spacing, offset))
    return found


class _Lattice(NamedTuple):
    """Points that are multiples of a spacing, from an offset on, in units of h."""

    sums: _Sums
    spacing: int
    offset: Ball


def _dense(at: Sequence[int], masses: Sequence[int]) -> list[int]:
    """Masses at all whole numbers from 0 on, from those at some."""
    out = [0] * (at[-1] + 1)
    for place, mass in zip(at, masses, strict=True):
        out[place] = mass
    return out


class _Sums:
    """Masses and moments of all points before each of them, as whole numbers over a power of two.

    Args:
        at: increasing whole numbers.
        masses: of each of them.
        bits: of a mass.
    """

    def __init__(self, at: Sequence[int], masses: Sequence[int], bits: int) -> None:
        self._at, self.bits = at, bits
        self._scale = arb(2) ** -bits
        self._mass = list(accumulate(masses, initial=0))
        self._moment = list(accumulate(map(mul, at, masses), initial=0))

    @classmethod
    def of(cls, row: Row) -> _Sums:
        """The sums of the masses of a row."""
        return cls(range(row.first, row.first + len(row)), row.masses(), row.bits)

    @property
    def mass(self) -> Ball:
        """The mass of all points."""
        return arb(self._mass[-1]) * self._scale

    def scaled(self, factor: Ball) -> _Sums:
        """All masses by a factor of at most 1, rounded down."""
        share = whole_below(factor, self.bits)
        return _Sums(self._at, [(b - a) * share >> self.bits for a, b in pairwise(self._mass)], self.bits)

    @property
    def ends(self) -> tuple[int, int]:
        """The first point and the last one; 0 where rounding has left none."""
        return (self._at[0], self._at[-1]) if self._at else (0, 0)

    def lightest(self, mass: float) -> int:
        """The first point up to which there is more than a mass; 0 where rounding has left none."""
        place = bisect_right(self._mass, int(Fraction(mass) * 2**self.bits)) - 1
        return self._at[min(max(place, 0), len(self._at) - 1)] if self._at else 0

    def _before(self, edge: int) -> int:
        """How many points are below a whole number."""
        if isinstance(self._at, range):
            return min(max(edge - self._at.start, 0), len(self._at))
        return bisect_left(self._at, edge)

    def between(self, low: int, high: int) -> Part:
        """The mass of the points from low to below high, and its moment."""
        i, j = self._before(low), self._before(high)
        if j <= i or self._mass[i] == self._mass[j]:
            return NOTHING
        mass, moment = self._mass[j] - self._mass[i], self._moment[j] - self._moment[i]
        return Part(arb(mass) * self._scale, arb(moment) * self._scale)


def _multiples(sums: _Sums, spacing: int) -> range:
    """Multiples of a spacing around all points, divided by it."""
    first, last = sums.ends
    return range(first // spacing, last // spacing + 2)


def _spread_on(sums: _Sums, spacing: int) -> Row:
    """Some points spread over multiples of a spacing."""
    points = _multiples(sums, spacing)
    parts = [sums.between(q * spacing, (q + 1) * spacing) for q in points[:-1]]
    masses = spread([arb(q * spacing) for q in points], parts)
    return Row.of([whole_below(mass, sums.bits) for mass in masses], points[0], sums.bits)


def _merged_on(sums: _Sums, spacing: int, upward: bool = False) -> Row:
    """Some points merged on to multiples of a spacing: from their mean, or from the lowest on, where most are."""
    points = _multiples(sums, spacing)
    edges = [q * spacing + i * spacing // PIECES for q in points[:-1] for i in range(PIECES)]
    parts = [sums.between(a, b) for a, b in pairwise([*edges, points[-1] * spacing])]
    whole = sums.between(points[0] * spacing, points[-1] * spacing)
    start = min(max(int(_mean(whole) / spacing) - points[0] + 1, 1), len(points) - 1) if whole.mass > 0 else 1
    start = 0 if upward else start
    masses = _merged_from([arb(q * spacing) for q in points], parts, start)
    return Row.of([whole_below(mass, sums.bits) for mass in masses], points[0], sums.bits)


def _beside(rest: _Sums, spacing: int) -> tuple[Row, Ball]:
    """Some points merged on to multiples of a spacing, with an offset; all into their mean where these are too far."""
    found, whole = _merged_on(rest, spacing), _whole(rest)
    if sum(found.masses()) >= whole_below(whole.mass * (1 - LOST), rest.bits):
        return found, arb(0)
    return Row.of([whole_below(whole.mass, rest.bits)], 0, rest.bits), whole.moment / whole.mass


def _whole(sums: _Sums) -> Part:
    """All of some points."""
    return sums.between(sums.ends[0], sums.ends[1] + 1)


def _merged_from(points: Sequence[Ball], parts: Sequence[Part], start: int) -> list[Ball]:
    """Parts merged on to points, from halfway between two on; PIECES of them lie between each two."""
    middle = PIECES * (start - 1) + PIECES // 2 if start else 0
    seen = [i for i, part in enumerate(parts) if part.mass > 0]
    return merged(points, [parts[i] for i in seen], start, sum(i < middle for i in seen))


def _range(mesh: EpochMesh, sums: _Sums, kappa: float) -> tuple[int, int]:
    """The first of the points at equal ratios, and how many there are; beyond are light tails."""
    light = math.exp(max(mesh.mesh.log_tail - math.log(mesh.epochs), -700.0))
    low = sums.lightest(light)
    high = sums.ends[1] + 1 + (mesh.epoch.step.at(mesh.farthest) / mesh.width if mesh.jumps else 0.0)
    share, constant = float(mesh.epoch.weight) * mesh.width, float(mesh.epoch.constant)
    first = math.floor(math.log(constant + share * max(low, 1)) / kappa) - 2
    return first, max(math.ceil(math.log(constant + share * high) / kappa) + 2 - first, 2 - first)


def _constant(mesh: EpochMesh, offset: Ball) -> Ball:
    """The ratio where the sum is an offset."""
    return ball(mesh.epoch.constant) + ball(mesh.epoch.weight) * arb(mesh.width) * offset


def _unit(mesh: EpochMesh, spacing: int) -> Ball:
    """The distance of neighbouring ratios."""
    return ball(mesh.epoch.weight) * arb(mesh.width) * spacing


def _ratio(part: Part, constant: Ball, unit: Ball) -> Part:
    """Outcomes of the ratio, from those of a row."""
    return Part(part.mass, constant * part.mass + unit * part.moment)


def _cells(mesh: EpochMesh, lattices: Sequence[_Lattice], points: Sequence[Ball]) -> list[Part]:
    """What certainly lies between each two of the points at equal ratios; points of a row in doubt are left out."""
    found = [NOTHING] * (len(points) - 1)
    for sums, spacing, offset in lattices:
        constant, unit = _constant(mesh, offset), _unit(mesh, spacing)
        places = [(point - constant) / unit for point in points]
        low = [int(place.upper().ceil().unique_fmpz()) for place in places[:-1]]
        high = [int(place.lower().floor().unique_fmpz()) for place in places[1:]]
        for cell, (a, b) in enumerate(zip(low, high, strict=True)):
            found[cell] = _added(found[cell], _ratio(sums.between(a, b + 1), constant, unit))
    return found


def _pieces(mesh: EpochMesh, lattices: Sequence[_Lattice], kappa: float, first: int, count: int) -> list[Part]:
    """What lies, about, in each of PIECES parts of the cells between the points at equal ratios."""
    total = (count - 1) * PIECES
    ratio = np.exp(kappa * (first + 0.5 + np.arange(total + 1) / PIECES))
    found = [NOTHING] * total
    for sums, spacing, offset in lattices:
        constant, unit = _constant(mesh, offset), _unit(mesh, spacing)
        edges = [int(edge) for edge in np.ceil((ratio - float(constant.mid())) / float(unit.mid()))]
        for piece, (a, b) in enumerate(pairwise(edges)):
            if b > a:
                found[piece] = _added(found[piece], _ratio(sums.between(a, b), constant, unit))
    return found


NOTHING = Part(arb(0), arb(0))
"""No outcomes."""


def _added(some: Part, more: Part) -> Part:
    return Part(some.mass + more.mass, some.moment + more.moment)


def _mean(part: Part) -> float:
    """The mean of some outcomes, about."""
    return float((part.moment / part.mass).mid())
