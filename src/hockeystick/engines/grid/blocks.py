"""Rounds with finitely many losses, put together before they are put on a grid.

Merging outcomes finds isolated atoms no neighbours: a lower bound has to round each of them down, by up to a cell a
round, where a dense law loses a share of the cell's square. Sums of a few rounds are dense, and are exact
(``pairs/product.py``): the composition of ``(pair, k)`` is that of ``(pair^b, k // b)`` and of ``pair^(k mod b)``. It
is the same composition, so that nothing is charged for it; the grid is met k / b times in place of k, too.
"""

from __future__ import annotations

from hockeystick.pairs import Composition, DominatingPair
from hockeystick.pairs.product import product, seen, terms

MOST_ATOMS = 40_000
"""Sums of one block that are listed, at most: each takes about as long as a cell."""

FEW, MANY = 3, 2000
"""Atoms of one round, from as many on as no lattice holds all of them, up to as many as are dense by themselves."""


def blocked(composition: Composition) -> Composition:
    """An equal composition whose rounds with atoms alone, if no lattice is known to hold them, are in blocks."""
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
    """Number of rounds in a block; 1 where the round is left as it is."""
    if count == 1 or pair.smooth is not None or pair.spacing is not None:
        return 1
    atoms = len(seen(pair).loss)
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
