"""The atoms of a pair as a grid has to mind them: how far apart they lie, and whether there is anything else."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hockeystick.pairs.base import DominatingPair

if TYPE_CHECKING:
    from fractions import Fraction

DENSE = 200  # atoms of one round, from which on they are as good as a density


@dataclass(frozen=True, slots=True)
class Lattice:
    """Places of the atoms of one kind of rounds, for a grid.

    Attributes:
        number: of its finite atoms.
        spacing: the distance of the points on which all of them lie, where that is known; a fraction where exactly.
        outermost: the distance of the first one from the last one, a fraction where it is known exactly; ``None``
            where it is infinite or 0.
        alone: whether the finite losses are two atoms and nothing else, or atoms of which a lattice is known.
    """

    number: int
    spacing: Fraction | float | None
    outermost: Fraction | float | None
    alone: bool

    @classmethod
    def of(cls, pair: DominatingPair) -> Lattice:
        """Places of the atoms of this pair, for a grid."""
        number = len(pair.atoms.finite().loss)
        outermost: Fraction | float | None = None
        if number:
            low, high = pair.loss_range
            exact = pair.exact_supremum
            finite = math.isfinite(high - low) and high > low
            outermost = 2 * exact if exact else high - low if finite else None
        alone = pair.smooth is None and (number == 2 or pair.spacing is not None)
        return cls(number, pair.spacing, outermost, alone)

    def distance(self, least: float) -> Fraction | float | None:
        """The distance to mind: that of all atoms where it is known, else of the outermost two.

        Args:
            least: a distance below which atoms are as good as a density.

        Returns:
            A fraction where it is known exactly; ``None`` where there are no atoms, or they are dense.
        """
        if self.spacing is not None and (self.spacing >= least or self.number <= DENSE):
            return self.spacing
        return self.outermost if 0 < self.number <= DENSE else None
