"""Conversion of Gaussian rounds of many plans into the arrays of the core engine, and of its answers into intervals."""

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

MOST_KINDS = 30_000  # largest number of kinds of sampled rounds, which take 3 to 10 s and up to a gigabyte
DISTANCES = (1e-3, 20.0)  # smallest and largest mu (one over the noise multiplier), so that few nodes are needed
LARGEST_RATE = 0.9  # largest sampling rate; the charge for rounding grows with 1 / (1 - rate)^2
MOST_ROUNDS = 10**8  # largest number of rounds of one kind; for more, the contour engine charges less for rounding


class GaussianRounds(NamedTuple):
    """One direction of a plan of Gaussian rounds.

    Attributes:
        kinds: mu, sampling rate and count of each kind of sampled rounds, sorted.
        add: True if a record is added, False if it is removed.
        variance: ``v = sum k mu^2`` over the unsampled rounds, which together equal one round with ``mu^2 = v`` (Dong,
            Roth, Su 2022 [DRS22], Corollary 3.3).
    """

    kinds: tuple[tuple[float, float, int], ...]
    add: bool
    variance: float

    @classmethod
    def of(cls, rounds: Sequence[tuple[RenyiCurve, int]]) -> GaussianRounds | None:
        """Return the rounds of one direction, or ``None`` if the core engine does not handle them.

        It handles Gaussian rounds with 1 to MOST_KINDS sampled kinds, whose parameters are within the limits above.
        """
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
    """Return the arrays of the core engine for the rounds of some plans, all with equally many kinds."""
    kinds = len(some[0].kinds)
    mu, rate, count = np.array([kind for one in some for kind in one.kinds], dtype=np.float64).T.copy()
    rows = Rows(mu, rate, count, np.repeat([one.add for one in some], kinds))
    return Plans(rows, np.array([one.variance for one in some]), kinds)


def intervals(found: Found) -> list[Interval | None]:
    """Return the answer for each plan as an interval; ``None`` for a plan without an answer."""
    columns = (found.lower, found.estimate, found.upper, found.tilt)
    return [
        Interval(lower, estimate, upper, None, "contour", tilt) if lower <= upper < math.inf else None
        for lower, estimate, upper, tilt in zip(*(column.tolist() for column in columns), strict=True)
    ]
