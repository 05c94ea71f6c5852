"""Chooses the rounds to bundle: many different Poisson-sampled Gaussians, which a contour takes as one factor.

The factor itself and its errors are in ``engines/contour/bundle.py``.
"""

from __future__ import annotations

from hockeystick.pairs.base import DominatingPair
from hockeystick.pairs.gaussian import GaussianPair
from hockeystick.pairs.sampled.poisson import PoissonAddPair, PoissonRemovePair

FEWEST = 12
"""Least number of kinds to bundle: fewer are as fast one by one, and their paths are cached for many questions."""

MOST = 100_000
"""Largest number of kinds to bundle: beyond it, one answer takes ten seconds."""

DISTANCES = (1e-3, 20.0)  # mu, one over the noise multiplier: within this range few nodes are needed
LARGEST_RATE = 0.9  # beyond, a chord of the rounding errors is steep
MOST_ROUNDS = 10**8  # beyond, rounding is charged more exactly for each kind separately

Rounds = tuple[tuple[DominatingPair, int], ...]
SampledKind = tuple[float, float, int]
"""mu (one over the noise multiplier), sampling rate and number of rounds."""

BundleSplit = tuple[list[SampledKind], bool, list[tuple[DominatingPair, int]]]
"""The bundled kinds, a flag that is True if their direction adds a record, and the other rounds."""


def bundle_split(rounds: Rounds) -> BundleSplit | None:
    """Split the kinds into those that are bundled and the others.

    Usually all sampled Gaussians have one direction; if pairs of both are composed, the direction with more kinds is
    bundled. Returns ``None`` if there are too few or far too many kinds, or too many rounds.
    """
    if not FEWEST <= len(rounds) <= MOST:
        return None
    adding = sum(type(pair) is PoissonAddPair for pair, _ in rounds)
    removing = sum(type(pair) is PoissonRemovePair for pair, _ in rounds)
    add = adding > removing
    kinds: list[SampledKind] = []
    others: list[tuple[DominatingPair, int]] = []
    for pair, count in rounds:
        if isinstance(pair, PoissonAddPair if add else PoissonRemovePair):
            base, rate = pair.base, pair.rate
            if type(base) is GaussianPair and DISTANCES[0] <= base.mu <= DISTANCES[1] and rate <= LARGEST_RATE:
                kinds.append((base.mu, rate, count))
                continue
        others.append((pair, count))
    if len(kinds) < FEWEST or sum(count for _, _, count in kinds) > MOST_ROUNDS:
        return None
    return kinds, add, others
