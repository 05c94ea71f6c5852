"""Choice of the rounds that are bundled: many different Poisson-sampled Gaussians, which a contour takes as one factor.

The factor itself, and what its errors are, is in ``engines/contour/bundle.py``.
"""

from __future__ import annotations

from hockeystick.pairs.base import DominatingPair
from hockeystick.pairs.gaussian import GaussianPair
from hockeystick.pairs.sampled.poisson import PoissonAddPair, PoissonRemovePair

FEWEST = 12
"""Kinds from which on they are bundled: fewer are as quick one by one, and their paths are kept for many questions."""

MOST = 100_000
"""Kinds up to which they are: of more than that, one answer takes ten seconds."""

DISTANCES = (1e-3, 20.0)  # mu, one over the noise multiplier, between which nodes are few
LARGEST_RATE = 0.9  # beyond, a chord of the rounding errors is steep
MOST_ROUNDS = 10**8  # beyond, rounding is charged more exactly for each kind by itself

Rounds = tuple[tuple[DominatingPair, int], ...]
SampledKind = tuple[float, float, int]
"""mu (one over the noise multiplier), sampling rate and number of rounds."""

BundleSplit = tuple[list[SampledKind], bool, list[tuple[DominatingPair, int]]]
"""The kinds that are bundled, whether a record is added in their direction, and the other rounds."""


def bundle_split(rounds: Rounds) -> BundleSplit | None:
    """Split the kinds into those that are bundled and the others.

    All sampled Gaussians are of one direction but where somebody composes pairs of both: then those of the direction
    that has more kinds are bundled. ``None`` where the kinds are few or far too many, or the rounds too many.
    """
    if not FEWEST <= len(rounds) <= MOST:
        return None
    adding = sum(type(pair) is PoissonAddPair for pair, _ in rounds)
    removing = sum(type(pair) is PoissonRemovePair for pair, _ in rounds)
    add = adding > removing
    if max(adding, removing) < FEWEST:
        return None
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
