"""The gap of the grid of a composition.

If a round has few atoms, these must be grid points, as they have no neighbours to merge with. Two atoms are points of
any grid whose gap divides their distance, since the offset of the grid is free. A pair may state the ``spacing`` of a
lattice that contains all its atoms; on that grid, nothing needs to be spread or merged. Many atoms without such a
lattice are dense, and are treated like densities. Rounds whose atoms fit no common grid are first composed into blocks
(``blocks.py``).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from hockeystick.engines.grid.cells import MAX_LIFT
from hockeystick.pairs import Composition

MAX_PARTS = 1000  # largest number of grid steps within the widest distance of two atoms
LEAST_POINTS = 16  # fewest points of a window
LATTICE_POINTS = 1 << 19  # largest window for which the lattice of many atoms is the grid


@dataclass(frozen=True, slots=True)
class Layout:
    """The grid on which the losses of all rounds are summed.

    Attributes:
        gap: desired gap.
        unit: distance between atoms, which must be a multiple of the gap; 0 if atoms do not restrict the gap.
        exact: True if all losses are grid points (two atoms, or a known lattice), so that a finer gap is no better.
    """

    gap: float
    unit: float
    exact: bool

    @classmethod
    def of(cls, composition: Composition, t: float, asked: float, width: float) -> Layout:
        """Return the grid on which the two log deltas differ by ``asked``, as the error law of ``run.py`` predicts.

        Args:
            composition: the rounds of one direction.
            t: tilt of the masses.
            asked: requested difference between the log deltas of the upper and the lower law.
            width: width of the window in which the law of the sum of the losses is computed.
        """
        unit, common, alone = atom_distance(composition, width / LATTICE_POINTS)
        if not common:
            unit = 0.0
        finest = math.sqrt(8 * asked / (composition.count * t * (1 + t)))
        exact = alone and common
        return cls(unit if exact else min(finest, unit or width / LEAST_POINTS), unit, exact)

    def fitted(self, gap: float, t: float, least: float) -> float:
        """Return the gap nearest to ``gap`` that the atoms allow, and that is at least ``least`` if possible."""
        gap = max(min(self.gap if self.exact else gap, MAX_LIFT / t), least)
        if self.unit == 0 or self.unit < least:
            return gap
        parts = max(1, math.ceil(self.unit / gap - 1e-9))
        return self.unit / (parts if self.unit / parts >= least else max(1, parts - 1))


def atom_distance(composition: Composition, least: float = 0.0) -> tuple[float, bool, bool]:
    """Return a grid gap that divides the distances between the atoms of all pairs if possible, and two flags.

    Args:
        composition: the rounds of one direction.
        least: distance below which many atoms are treated like a density.

    Returns:
        ``(unit, common, alone)``: the gap, which is 0 if there are no atoms; True if the distances between the atoms of
        every pair are multiples of the gap; True if all losses are atoms on known lattices.
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
            if widest > MAX_PARTS * divisor:  # too small already, and further common divisors are smaller still
                common = False
                break
        unit = float(divisor) if common else unit
    common = common or float(min(distances)) == unit
    return unit, common, all(lattice.alone and lattice.distance(least) is not None for lattice in lattices)
