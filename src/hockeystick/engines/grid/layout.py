"""Grids of a composition: one for all rounds if that is small enough, else several in stages.

If a round has few atoms, they must lie on its grid, as they have no neighbours to merge with. Two atoms lie on any grid
whose gap divides their distance, since the offset of the grid is free. A pair may state a lattice that contains all its
atoms (``spacing``); on that grid, nothing needs to be spread or merged. Many atoms without such a lattice are dense,
and are treated like densities.

Two cases need a separate grid for each kind of round: the distances between atoms have no useful common divisor, or a
grid that holds the atoms of all kinds would be too fine. Each kind is then composed on its own lattice, and the
resulting block is moved to the common grid (``stages.py``).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from hockeystick.engines.grid.cells import MAX_LIFT
from hockeystick.pairs import Composition

MAX_PARTS = 1000  # largest number of grid steps within the widest distance of two atoms
DIRECT_POINTS = 1 << 16  # points of a grid above which a stage is worthwhile
WINDOW_DEVIATIONS = 16.0  # width of a window, in standard deviations of a sum of many rounds
STAGE_POINTS = 4000  # overhead of a stage, in points, besides the points of its grids
MAX_STAGES = 6  # largest number of stages before the last grid
DIVISORS = 500  # divisors tried to find blocks of equal size
LEAST_POINTS = 16  # fewest points of a window
LATTICE_POINTS = 1 << 19  # largest window for which the lattice of many atoms is the grid


@dataclass(frozen=True, slots=True)
class Spread:
    """The losses of one round: width of their range (``span``), and standard deviation under the tilted law."""

    span: float
    deviation: float

    def of(self, rounds: int) -> float:
        """Return the approximate width of the window that the sum of the losses of several rounds needs."""
        return min(max(WINDOW_DEVIATIONS * self.deviation * math.sqrt(rounds), self.span), rounds * self.span)


@dataclass(frozen=True, slots=True)
class Level:
    """One stage of a composition: blocks are composed of smaller blocks, and then moved to a coarser grid.

    Attributes:
        recipes: for each law of this level, the numbers of copies of the laws of the level below that compose it.
        rounds: number of rounds in the largest block of this level.
        blocks: largest number of blocks of this level in the whole composition, counting all sizes together.
        gap: gap of the grid to which the blocks are moved.
    """

    recipes: tuple[tuple[int, ...], ...]
    rounds: int
    blocks: int
    gap: float


@dataclass(frozen=True, slots=True)
class Route:
    """The stages by which the rounds of one kind enter the sum of all losses.

    Attributes:
        gap: desired gap of the grid of one round.
        unit: distance between the round's atoms, which must be a multiple of the gap; 0 if no atoms need it.
        exact: whether all losses lie on the grid (two atoms, or a known lattice), so that a finer gap is no better.
        levels: levels from the smallest blocks to the largest; none if single rounds go into the sum.
        copies: number of copies in the sum of each law of the last level, or of the law of one round.
    """

    gap: float
    unit: float
    exact: bool
    levels: tuple[Level, ...]
    copies: tuple[int, ...]

    def first_gap(self, scale: float, t: float, least: float) -> float:
        """Return the gap of the grid of one round after all gaps are multiplied by ``scale``.

        The gap is at least ``least`` if the atoms allow it.
        """
        gap = max(min(self.gap * (1.0 if self.exact else scale), MAX_LIFT / t), least)
        if self.unit == 0 or self.unit < least:
            return gap
        parts = max(1, math.ceil(self.unit / gap - 1e-9))
        return self.unit / (parts if self.unit / parts >= least else max(1, parts - 1))


@dataclass(frozen=True, slots=True)
class Layout:
    """The grids of a composition: the stages of each kind of round, and the gap of their common grid.

    Attributes:
        gap: gap of the common grid, on which all losses are summed.
        routes: stages of each kind of round.
        staged: whether there are stages.
        fixed: whether all losses lie on the grid, so that its gap is not changed.
    """

    gap: float
    routes: tuple[Route, ...]
    staged: bool
    fixed: bool

    @classmethod
    def of(
        cls,
        composition: Composition,
        t: float,
        asked: float,
        width: float,
        reaches: Sequence[Spread],
        staged: bool = True,
    ) -> Layout:
        """Return grids for which the error law (``run.py``) predicts log deltas of the two sides ``asked`` apart.

        Args:
            composition: the rounds of one direction.
            t: tilt of the masses.
            asked: requested difference between the log deltas of the upper and the lower law.
            width: width of the window that holds the sum of the losses.
            reaches: ranges of the losses of one round, for each kind.
            staged: whether stages are allowed even where one grid would do.
        """
        unit, common, alone = atom_distance(composition, width / LATTICE_POINTS)
        finest = math.sqrt(8 * asked / (composition.count * t * (1 + t)))
        exact = alone and common
        gap = unit if exact else min(finest, unit if unit and common else width / LEAST_POINTS)
        routes = [Route(gap, unit, exact, (), (count,)) for _, count in composition.rounds]
        direct = cls(gap, tuple(routes), False, exact)
        if common and (not staged or direct.points(width, reaches) <= DIRECT_POINTS):
            return direct
        choices = [cls._in_stages(composition, t, asked, width, stages) for stages in range(1, MAX_STAGES + 1)]
        return min([direct, *choices] if common else choices, key=lambda one: one.points(width, reaches))

    def points(self, width: float, reaches: Sequence[Spread]) -> float:
        """Return the approximate number of points of all grids together, including the overhead of each stage."""
        total = width / self.gap
        for route, one in zip(self.routes, reaches, strict=True):
            gaps = [route.gap, *(level.gap for level in route.levels)]
            total += 0 if route.exact else one.span / route.gap
            for level, gap in zip(route.levels, gaps, strict=False):
                total += len(level.recipes) * (one.of(level.rounds) / gap + STAGE_POINTS)
        return total

    @classmethod
    def _in_stages(cls, composition: Composition, t: float, asked: float, width: float, stages: int) -> Layout:
        def gap_for(blocks: float) -> float:
            return min(math.sqrt(8 * (asked / stages) / (blocks * t * (1 + t))), width / LEAST_POINTS)

        tops = []
        lattices = composition.lattices
        for lattice, (_, count) in zip(lattices, composition.rounds, strict=True):
            atomic = lattice.distance(width / LATTICE_POINTS) is not None
            parts = math.ceil(count ** (1 / stages) * (1 - 1e-12)) if stages > 1 else 1 if atomic else count
            tops.append(count if parts > count // 2 and not atomic else min(parts, count))
        gap = gap_for(sum(tops))
        routes = []
        for lattice, (_, count), top in zip(lattices, composition.rounds, tops, strict=True):
            unit = float(lattice.distance(width / LATTICE_POINTS) or 0.0)
            exact = unit > 0 and lattice.alone
            if top == count and unit == 0:
                routes.append(Route(gap, 0.0, False, (), (count,)))
                continue
            first = unit if exact else min(gap_for(count), unit or math.inf)
            levels, copies = _levels(count, top, max(stages - 1, 1), gap, gap_for, first)
            routes.append(Route(first, unit, exact, levels, copies))
        return cls(gap, tuple(routes), True, False)


def atom_distance(composition: Composition, least: float = 0.0) -> tuple[float, bool, bool]:
    """Return a grid gap that suits the distances between the atoms of all pairs, and two flags.

    Args:
        composition: the rounds of one direction.
        least: distance below which many atoms are treated like a density.

    Returns:
        ``(unit, common, alone)``: the gap, which is 0 if there are no atoms; whether the atoms of every pair lie on
        multiples of the gap; whether all losses are atoms on known lattices.
    """
    lattices = composition.lattices
    distances = [found for lattice in lattices if (found := lattice.distance(least)) is not None]
    if not distances:
        return 0.0, True, False
    exact = [found for found in distances if isinstance(found, Fraction)]
    unit = float(max(distances))
    common = len(exact) == len(distances)
    if common:
        # in fractions: the common divisor of many long decimals may be below the range of a double
        widest, divisor = max(exact), exact[0]
        for span in exact[1:]:
            divisor = Fraction(
                math.gcd(divisor.numerator * span.denominator, span.numerator * divisor.denominator),
                divisor.denominator * span.denominator,
            )
            if widest > MAX_PARTS * divisor:  # hopeless: further common divisors are smaller still
                common = False
                break
        unit = float(divisor) if common else unit
    common = common or float(min(distances)) == unit
    return unit, common, all(lattice.alone and lattice.distance(least) is not None for lattice in lattices)


def _levels(
    count: int, top: int, depth: int, gap: float, gap_for: Callable[[float], float], least: float
) -> tuple[tuple[Level, ...], tuple[int, ...]]:
    """Return the levels, lowest first, that combine ``count`` rounds into about ``top`` blocks, and the block counts.

    The block counts are a tuple, with one entry for each size of block on the last level.
    """
    size, copies = _split(count, top)
    sizes = (size, size + 1)[: len(copies)]
    levels: list[Level] = []
    parts = top
    for _ in range(depth):
        blocks = max(1, count // sizes[0])
        last = len(levels) == depth - 1 or sizes[0] < 2 * parts
        if last:
            recipes: tuple[tuple[int, ...], ...] = tuple((one,) for one in sizes)
        else:
            below, counts = _split(sizes[0], parts, len(sizes) == 1)
            counts = (*counts, 0)[:2] if len(sizes) == 2 else counts
            recipes = (counts,) if len(sizes) == 1 else (counts, (counts[0] - 1, counts[1] + 1))
        levels.insert(0, Level(recipes, sizes[-1], blocks, gap if not levels else max(gap_for(blocks), least)))
        if last:
            break
        sizes = (below, below + 1)[: len(recipes[0])]
    return tuple(levels), copies


def _split(count: int, parts: int, equal: bool = True) -> tuple[int, tuple[int, ...]]:
    """Split ``count`` rounds into about ``parts`` blocks of m or m + 1 rounds.

    With ``count = a m + b (m + 1)``, a + b about ``parts`` and a >= 1, return m and (a, b), or m and (a,) if b = 0. If
    ``equal``, a divisor of ``count`` near ``parts`` is preferred, so that all blocks have the same size.
    """
    if equal:
        for divisor in range(parts, min(parts + DIVISORS, 2 * parts) + 1):
            if count % divisor == 0:
                return count // divisor, (divisor,)
    size = count // parts
    more = count - size * parts
    return size, (parts - more, more) if more else (parts,)
