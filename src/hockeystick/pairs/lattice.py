"""The lattice that contains the losses of a pair's atoms, to which engines fit the grid of losses."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hockeystick.pairs.base import DominatingPair

if TYPE_CHECKING:
    from fractions import Fraction

DENSE = 200  # number of atoms of one round above which the atoms are treated like a density


@dataclass(frozen=True, slots=True)
class Lattice:
    """The lattice of the atoms of one kind of round, for the choice of a grid.

    Attributes:
        number: number of finite atoms.
        spacing: the lattice spacing, of which all differences of finite losses are whole multiples; a fraction if
            exact, and ``None`` if unknown.
        outermost: difference of the largest and the least finite loss, a fraction if known exactly; ``None`` if it is
            infinite or 0.
        alone: True if the pair has no densities, and has either two finite losses or a known spacing.
    """

    number: int
    spacing: Fraction | float | None
    outermost: Fraction | float | None
    alone: bool

    @classmethod
    def of(cls, pair: DominatingPair) -> Lattice:
        """Return the lattice of the atoms of ``pair``."""
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
        """Return the distance that a grid must fit: the spacing if known, else the distance of the outermost two atoms.

        Args:
            least: spacing below which a large number of atoms is treated like a density.

        Returns:
            A fraction if known exactly; ``None`` if there are no atoms, or if they are treated like a density.
        """
        if self.spacing is not None and (self.spacing >= least or self.number <= DENSE):
            return self.spacing
        return self.outermost if 0 < self.number <= DENSE else None
