"""Lattice of the atoms of a pair, which a grid must account for."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hockeystick.pairs.base import DominatingPair

if TYPE_CHECKING:
    from fractions import Fraction

DENSE = 200  # number of atoms of one round from which on they behave like a density


@dataclass(frozen=True, slots=True)
class Lattice:
    """Lattice of the atoms of one kind of round, for a grid.

    Attributes:
        number: number of finite atoms.
        spacing: spacing of the lattice on which all of them lie, if known; a fraction if known exactly.
        outermost: distance of the first atom from the last, a fraction if known exactly; ``None`` if it is infinite or
            0.
        alone: True if the finite losses are exactly two atoms, or atoms with a known lattice.
    """

    number: int
    spacing: Fraction | float | None
    outermost: Fraction | float | None
    alone: bool

    @classmethod
    def of(cls, pair: DominatingPair) -> Lattice:
        """Return the lattice of the atoms of this pair, for a grid."""
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
        """Return the relevant distance: the spacing of all atoms if known, else the distance of the outermost two.

        Args:
            least: a distance below which atoms behave like a density.

        Returns:
            A fraction if known exactly; ``None`` if there are no atoms, or they are dense.
        """
        if self.spacing is not None and (self.spacing >= least or self.number <= DENSE):
            return self.spacing
        return self.outermost if 0 < self.number <= DENSE else None
