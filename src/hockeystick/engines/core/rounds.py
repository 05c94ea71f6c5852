"""Conversion of the Gaussian rounds of plans, in one direction, into a batch (``engines/core/ask.py``)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from hockeystick.engines.core.ask import Found
from hockeystick.engines.core.rows import Plans, Rows
from hockeystick.pairs import RenyiCurve
from hockeystick.pairs.gaussian import GaussianPair
from hockeystick.pairs.sampled.poisson import PoissonAddPair, PoissonRemovePair
from hockeystick.values.interval import Interval

MOST_KINDS = 30_000  # kinds of sampled rounds, which take 3 to 10 s and up to a gigabyte
DISTANCES = (1e-3, 20.0)  # mu, one over the noise multiplier: within this range few nodes are needed
LARGEST_RATE = 0.9  # beyond, a chord of the rounding errors is steep
MOST_ROUNDS = 10**8  # of one kind: beyond, rounding is charged more exactly by a contour


class GaussianRounds(NamedTuple):
    """One direction of a plan of Gaussian rounds.

    Attributes:
        kinds: mu, sampling rate and count of each kind of sampled rounds, sorted.
        add: whether a record is added.
        variance: v of all unsampled rounds together; they equal one round with ``v = sum k mu^2`` (Dong, Roth, Su 2022
            [DRS22], Corollary 3.3).
    """

    kinds: tuple[tuple[float, float, int], ...]
    add: bool
    variance: float

    @classmethod
    def of(cls, rounds: Sequence[tuple[RenyiCurve, int]]) -> GaussianRounds | None:
        """Return the rounds of one direction; ``None`` unless all are Gaussian, with 1 to MOST_KINDS sampled kinds."""
        counts: dict[tuple[float, float], int] = {}
        adding, variances = set(), []
        for pair, count in rounds:
            if type(pair) is GaussianPair:
                variances.append(count * pair.mu * pair.mu)
            elif isinstance(pair, PoissonRemovePair | PoissonAddPair) and type(pair.base) is GaussianPair:
                adding.add(pair.add)
                kind = (pair.base.mu, pair.rate)
                counts[kind] = counts.get(kind, 0) + count
            else:
                return None
        kinds = tuple((mu, rate, count) for (mu, rate), count in sorted(counts.items()) if count)
        if len(adding) != 1 or not 0 < len(kinds) <= MOST_KINDS:
            return None
        if not all(
            DISTANCES[0] <= mu <= DISTANCES[1] and rate <= LARGEST_RATE and count <= MOST_ROUNDS
            for mu, rate, count in kinds
        ):
            return None
        return cls(kinds, adding.pop(), math.fsum(variances))


def plans_of(some: Sequence[GaussianRounds]) -> Plans:
    """Return the rounds of some plans, all with equally many kinds, as a batch."""
    kinds = len(some[0].kinds)
    mu, rate, count = np.array([kind for one in some for kind in one.kinds], dtype=np.float64).T.copy()
    rows = Rows(mu, rate, count, np.repeat([one.add for one in some], kinds))
    return Plans(rows, np.array([one.variance for one in some]), kinds)


def intervals(found: Found) -> list[Interval | None]:
    """Return the answer for each plan of a batch; ``None`` if there is none."""
    columns = (found.lower, found.estimate, found.upper, found.tilt)
    return [
        Interval(lower, estimate, upper, None, "contour", tilt) if lower <= upper < math.inf else None
        for lower, estimate, upper, tilt in zip(*(column.tolist() for column in columns), strict=True)
    ]
