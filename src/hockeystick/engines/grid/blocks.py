"""Rounds with finitely many losses, composed exactly into blocks before they are placed on a grid.

An isolated atom has no neighbours to merge with. A lower bound must therefore round its loss down, by up to one cell of
the grid in every round, whereas a dense law loses only a fraction of the square of the cell. Sums of the losses of a
few rounds are dense, and their law is exact (``pairs/product.py``). So k rounds of a pair, ``(pair, k)``, are replaced
by ``(pair^b, k // b)``, which are blocks of b rounds, and by one block ``pair^(k mod b)``. The composition is the same,
so nothing is charged for this step, and losses are rounded about k / b times instead of k times.
"""

from __future__ import annotations

from hockeystick.pairs import Composition, DominatingPair
from hockeystick.pairs.product import product, terms

MOST_ATOMS = 40_000
"""Largest number of sums listed for one block: each takes about as long as a cell."""

FEW, MANY = 3, 2000
"""Range of the number of atoms of one round: with fewer a lattice holds all of them, with more they are dense."""


def blocked(composition: Composition) -> Composition:
    """Return the same composition, with rounds grouped into blocks if their losses are atoms on no known lattice."""
    rounds: list[tuple[DominatingPair, int]] = []
    for pair, count in composition.rounds:
        size = _size(pair, count)
        if size == 1:
            rounds.append((pair, count))
            continue
        rounds.append((product(((pair, size),)), count // size))
        if count % size:
            rounds.append((product(((pair, count % size),)), 1))
    return (
        composition
        if len(rounds) == len(composition.rounds)
        and all(new is old for (new, _), (old, _) in zip(rounds, composition.rounds, strict=True))
        else Composition(rounds)
    )


def _size(pair: DominatingPair, count: int) -> int:
    """Return the number of rounds in a block; 1 if the rounds are not grouped."""
    if count == 1 or pair.smooth is not None or pair.spacing is not None:
        return 1
    atoms = len(pair.atoms.seen().loss)
    if not FEW <= atoms <= MANY:
        return 1
    low, high = 1, count + 1  # the largest size whose sums are not too many, by bisection
    while high - low > 1:
        middle = (low + high) // 2
        if terms(atoms, middle) <= MOST_ATOMS:
            low = middle
        else:
            high = middle
    return low
