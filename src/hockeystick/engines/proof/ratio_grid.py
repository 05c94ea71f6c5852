"""delta of epochs of random allocation, between laws of the likelihood ratio above and below the true one.

Rounds are independent, so that the likelihood ratio of all is a product. That of each kind is put on points ``r_q =
e^(kappa (q + 1/2))``, once from above and once from below in convex order (``convex_order.py``, with the proof that
products keep the order and that masses may be left out). The product of c rounds is on ``e^(kappa (q + c / 2))``, and
its law a product of polynomials over the integers, each coefficient rounded down (``ratio_rows.py``). With masses n_i
of the law above at points r_i, ``nu = sum n_i`` and ``pi = sum n_i r_i``,

    removing:  delta(eps) <= sum_{r_i > e^eps} n_i (r_i - e^eps) + 1 - pi ,
    adding:    delta(eps) <= sum_{r_i < e^-eps} n_i (1 - e^eps r_i) + 1 - nu ,

and with the masses of the law below delta is at least the same sums, without what is missing from 1. All of it is
evaluated in balls. The two ends differ by about the square of the distance of the points: first-order terms cancel, as
both laws keep every mean.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import accumulate

from flint import arb

from hockeystick.engines.proof.allocation_epoch import Epoch, EpochMesh, Sides, laws
from hockeystick.engines.proof.enclosure import Enclosure
from hockeystick.engines.proof.ratio_mesh import GUARD_BITS, Mesh
from hockeystick.engines.proof.ratio_rows import Row, cost
from hockeystick.numerics.balls import Ball, precision
from hockeystick.numerics.work import charge, left

Kinds = tuple[tuple[Epoch, int], ...]
"""Epochs, and how many there are of each."""

COARSEST = 0.5
"""The largest distance of points, in standard deviations."""

BELOW, TAIL_STEP, REACH_STEP = 11.0, 2.0, 4.0
"""Log of how far below delta far tails are cut, and what its log and epsilon are rounded to: so that both directions
of a question, which have the same laws, ask for the same ones."""

ATTEMPTS, AIM, MOST_FINER, WORTH = 3, 0.7, 0.2, 0.85
"""How often laws are laid out; what gap the next ones are to have, in that asked for; by what factor their points are
closer at the most; and at the least, or nothing is gained."""

ALLOWED, STEP = 0.9, 1.1
"""Share of the work that is left, which laws may take; factor by which points move apart until they do."""

CLOSE = 1e-15
"""Relative distance of two doubles that are neighbours, about."""

KEPT = 8  # products of laws that are kept, of up to some megabytes each
SINGLE = 3.0  # how much finer the points are where no products are made of them
LEDGER = 1500.0  # units of work of a point whose masses are summed
TOO_LONG = "the laws of its likelihood ratio have too many points"
"""What is said to take too long."""


@dataclass(frozen=True, slots=True)
class Product:
    """The laws of a plan's likelihood ratio: the mass at ``e^(kappa (i + half / 2))`` stands at i of each row."""

    kappa: float
    half: int
    sides: Sides


@dataclass(frozen=True, slots=True)
class Plan:
    """What is put on points, and how.

    Attributes:
        kinds: the epochs.
        mesh: how finely and how far.
    """

    kinds: Kinds
    mesh: Mesh

    @property
    def epochs(self) -> int:
        """How many epochs there are."""
        return sum(count for _, count in self.kinds)

    def meshes(self) -> list[tuple[EpochMesh, int]]:
        """The points of each kind of epoch, and its count."""
        return [(EpochMesh(epoch, self.mesh, self.epochs), count) for epoch, count in self.kinds]

    @property
    def kappa(self) -> float:
        """The distance of neighbouring losses: a share of the root mean square deviation of an epoch's."""
        square = sum(count * math.log1p(mesh.deviation**2) for mesh, count in self.meshes()) / self.epochs
        return self.mesh.fine * math.sqrt(square) / (SINGLE if self.epochs == 1 else 1.0)

    @property
    def bits(self) -> int:
        """Bits of a mass."""
        return self.mesh.bits(float(self.epochs) * max(epoch.steps for epoch, _ in self.kinds))

    @property
    def units(self) -> float:
        """Units of work, about."""
        kappa, longest = self.kappa, 0.0
        out = 0.0
        for mesh, count in self.meshes():
            step = mesh.epoch.step
            top = math.log1p(float(mesh.epoch.weight) * step.at(mesh.farthest))
            points = (min(12.0 * mesh.deviation, 12.0 * step.mu) + top) / kappa
            longest += math.sqrt(count) * points
            out += mesh.units + 4 * LEDGER * 4 * points + 2 * 8 * cost(math.sqrt(count) * points, self.bits)
        return out + 2 * LEDGER * longest


def product(plan: Plan) -> Product:
    """The laws of the likelihood ratio of a plan; what it takes is paid for before it is begun.

    Raises:
        WorkLimitError: it would take too long.
    """
    charge(plan.units, TOO_LONG)
    return _product(plan)


@lru_cache(maxsize=KEPT)
def _product(plan: Plan) -> Product:
    bits, kappa = plan.bits, plan.kappa
    above, below = Row.one(bits), Row.one(bits)
    with precision(bits + GUARD_BITS):
        for mesh, count in plan.meshes():
            sides = laws(mesh, kappa, bits)
            above = above.times(sides.above.power(count))
            below = below.times(sides.below.power(count))
    return Product(kappa, plan.epochs, Sides(above, below))


class RatioGrid:
    """delta(eps) of epochs of random allocation, in one direction.

    Args:
        found: the laws of the plan's likelihood ratio.
        add: whether the record is added; else it is removed.
    """

    name = "likelihood-ratio grid"

    def __init__(self, found: Product, add: bool) -> None:
        self._found, self._add = found, add
        self._bits = found.sides.above.bits + GUARD_BITS

    @cached_property
    def _ledgers(self) -> tuple[_Ledger, _Ledger]:
        with precision(self._bits):
            return _Ledger(self._found, self._found.sides.above), _Ledger(self._found, self._found.sides.below)

    def upper(self, epsilon: float | Ball) -> Ball:
        """An upper bound on delta."""
        with precision(self._bits):
            above = self._ledgers[0]
            if self._add:
                return (above.lack(arb(epsilon)) + 1 - above.mass).upper()
            return (above.excess(arb(epsilon)) + 1 - above.moment).upper()

    def lower(self, epsilon: float | Ball) -> Ball:
        """A lower bound on delta."""
        with precision(self._bits):
            below = self._ledgers[1]
            return (below.lack(arb(epsilon)) if self._add else below.excess(arb(epsilon))).lower()

    def delta(self, epsilon: Ball) -> Enclosure:
        """Proved ends of delta at an epsilon >= 0."""
        return Enclosure(self.lower(epsilon), self.upper(epsilon).min(arb(1)))

    def epsilon(self, target: Enclosure, most: float) -> tuple[float, float]:
        """Doubles at which the ends of delta are on the right side of the target, as close as they come.

        The upper one is infinite where the law above says so of all epsilons up to most.
        """
        _, upper = _around(lambda epsilon: bool(self.upper(epsilon) <= target.lower), most)
        lower, _ = _around(lambda epsilon: not self.lower(epsilon) > target.upper, most)
        return lower, upper


class _Ledger:
    """Sums of the masses of a row from either end, with and without their ratios."""

    def __init__(self, found: Product, row: Row) -> None:
        self._kappa, self._half, self._first = found.kappa, found.half, row.first
        scale = arb(2) ** -row.bits
        step = arb(found.kappa)
        masses = row.masses()
        self._mass = [arb(mass) * scale for mass in accumulate(masses, initial=0)]
        ratios = ((step * arb(2 * (row.first + i) + found.half) / 2).exp() for i in range(len(masses)))
        terms = [arb(mass) * scale * ratio for mass, ratio in zip(masses, ratios, strict=True)]
        self._moment = [arb(0), *accumulate(terms)]

    @property
    def mass(self) -> Ball:
        """Of all, under Q."""
        return self._mass[-1]

    @property
    def moment(self) -> Ball:
        """Mass of all under P."""
        return self._moment[-1]

    def _below(self, log_ratio: Ball) -> tuple[int, int]:
        """How many points are below a ratio, at the least and at the most."""
        place = log_ratio / arb(self._kappa) - arb(self._half) / 2
        least, most = place.lower().ceil().unique_fmpz(), place.upper().ceil().unique_fmpz()
        return tuple(min(max(int(edge) - self._first, 0), len(self._mass) - 1) for edge in (least, most))  # type: ignore[return-value]

    def excess(self, epsilon: Ball) -> Ball:
        """``sum n_i (r_i - e^eps)_+``: of all sums over the last points the largest one."""
        ratio = epsilon.exp()
        found = [self.moment - self._moment[i] - ratio * (self.mass - self._mass[i]) for i in self._below(epsilon)]
        return found[0].max(found[1]).max(arb(0))

    def lack(self, epsilon: Ball) -> Ball:
        """``sum n_i (1 - e^eps r_i)_+``: of all sums over the first points the largest one."""
        ratio = epsilon.exp()
        found = [self._mass[i] - ratio * self._moment[i] for i in self._below(-epsilon)]
        return found[0].max(found[1]).max(arb(0))


class RatioSearch:
    """Laws as fine as a question wants them, and as the work that is left allows.

    The two ends differ by about the square of the distance of the points, so that one answer says how fine the next
    has to be. All answers hold; what is kept is what they have in common.

    Args:
        kinds: the epochs.
        add: whether the record is added; else it is removed.
        log_delta: log of about the delta that is asked about.
        reach: about the largest epsilon that is looked at.
    """

    def __init__(self, kinds: Kinds, add: bool, log_delta: float, reach: float) -> None:
        self._kinds, self._add = kinds, add
        self._log_tail = TAIL_STEP * math.floor(min(log_delta, 0.0) / TAIL_STEP) - BELOW
        self._reach = REACH_STEP * math.ceil((reach + 1.0) / REACH_STEP)

    def plan(self, fine: float) -> Plan:
        """What is laid out at a distance of the points."""
        return Plan(self._kinds, Mesh(fine, self._log_tail, self._reach))

    def grid(self, fine: float) -> RatioGrid:
        """The laws at a distance of the points.

        Raises:
            WorkLimitError: they would take too long.
        """
        return RatioGrid(product(self.plan(fine)), self._add)

    def glanced(self, fine: float) -> RatioGrid:
        """The laws at a distance of the points, or at a larger one that the work that is left holds.

        Raises:
            WorkLimitError: there is none.
        """
        return self.grid(self._affordable(fine, COARSEST))

    def refined(self, ends: Callable[[RatioGrid], tuple[float, float]], gap: float, fine: float) -> tuple[float, float]:
        """The ends of a number, to a relative gap if that is to be had.

        Args:
            ends: the number's from the laws.
            gap: relative width that is wanted.
            fine: distance of points to begin with.

        Raises:
            WorkLimitError: not even coarse laws are to be had.
        """
        fine = self._affordable(min(fine, COARSEST), COARSEST)
        lower, upper = 0.0, math.inf
        for _ in range(ATTEMPTS):
            found = ends(self.grid(fine))
            lower, upper = max(lower, found[0]), min(upper, found[1])
            width = (upper - lower) / upper if 0 < upper < math.inf else float(upper > 0)
            if width <= gap:
                break
            finer = self._affordable(fine * max(math.sqrt(AIM * gap / width), MOST_FINER), fine)
            if finer > WORTH * fine:
                break
            fine = finer
        return lower, upper

    def _affordable(self, fine: float, most: float) -> float:
        """The distance of points, or the least larger one that the work that is left holds; not above another one."""
        while fine < most and self.plan(fine).units > ALLOWED * left():
            fine = min(STEP * fine, most)
        return fine


def _around(holds: Callable[[float], bool], most: float) -> tuple[float, float]:
    """Two neighbouring doubles, about, of which something that holds from somewhere on holds of the second alone.

    Both are 0 where it holds of 0, and the second is infinite where it does not hold of the largest that is looked at.
    """
    if holds(0.0):
        return 0.0, 0.0
    low, high = 0.0, min(1.0, most)
    while not holds(high):
        if high >= most:
            return high, math.inf
        low, high = high, min(2 * high, most)
    while high - low > CLOSE * high:
        middle = low + 0.5 * (high - low)
        if not low < middle < high:
            break
        low, high = (low, middle) if holds(middle) else (middle, high)
    return low, high
