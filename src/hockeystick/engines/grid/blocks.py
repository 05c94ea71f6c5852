"""Rounds with finitely many losses, composed exactly into blocks before they are placed on a grid.

If an isolated atom is not at a grid point, it has no neighbours to merge with. A lower bound must then round its loss
down, by up to one gap of the grid in every round, whereas a dense law loses only a fraction of the square of the gap.
Sums of the losses of a few rounds are dense, and their law is exact (``pairs/product.py``). So k rounds of a pair are
replaced by ``k // b`` blocks of b rounds each, and by one block of the other ``k mod b`` rounds. The composition is the
same, so nothing is charged for this step, and losses are rounded about k / b times instead of k times. Rounds whose
atoms form one lattice stay single if the grid can hold all sums of their losses.
"""

from __future__ import annotations

from hockeystick.engines.grid.layout import atom_distance
from hockeystick.numerics.arrays import MOST_POINTS
from hockeystick.pairs import Composition, DominatingPair
from hockeystick.pairs.product import product, terms

MOST_ATOMS = 40_000
"""Largest number of sums of losses listed for one block. Each sum takes about as long as a cell of the grid."""


def blocked(composition: Composition) -> Composition:
    """Return the same composition, with rounds grouped into blocks if their atoms have no useful lattice."""
    unit, common, _ = atom_distance(composition)
    ranges = [(pair.loss_range, count) for pair, count in composition.rounds if pair.smooth is None]
    fits = common and sum(count * (high - low) for (low, high), count in ranges) <= MOST_POINTS * unit
    rounds: list[tuple[DominatingPair, int]] = []
    for (pair, count), lattice in zip(composition.rounds, composition.lattices, strict=True):
        size = 1 if pair.smooth is not None or (fits and lattice.alone) else _size(pair, count)
        if size == 1:
            rounds.append((pair, count))
            continue
        rounds.append((product(((pair, size),)), count // size))
        if count % size:
            rounds.append((product(((pair, count % size),)), 1))
    return Composition(rounds)


def _size(pair: DominatingPair, count: int) -> int:
    """Return the largest number of rounds, at most ``count``, whose sums of losses are not too many to list."""
    atoms = len(pair.atoms.seen().loss)
    low, high = 1, count + 1
    while high - low > 1:
        middle = (low + high) // 2
        if terms(atoms, middle) <= MOST_ATOMS:
            low = middle
        else:
            high = middle
    return low
