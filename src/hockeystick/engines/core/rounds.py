"""Conversion of one direction of Gaussian rounds into a batch of one plan (``engines/core/ask.py``)."""

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
        kinds: mu, sampling rate and count of each kind of sampled rounds.
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
        kinds = tuple((mu, rate, count) for (mu, rate), count in counts.items() if count)
        if len(adding) != 1 or not 0 < len(kinds) <= MOST_KINDS:
            return None
        if not all(
            DISTANCES[0] <= mu <= DISTANCES[1] and rate <= LARGEST_RATE and count <= MOST_ROUNDS
            for mu, rate, count in kinds
        ):
            return None
        return cls(kinds, adding.pop(), math.fsum(variances))

    @property
    def plans(self) -> Plans:
        """Return the direction as a batch of one plan."""
        mu, rate, count = np.array(self.kinds, dtype=np.float64).T.copy()
        rows = Rows(mu, rate, count, np.full(len(mu), self.add))
        return Plans(rows, np.array([self.variance]), len(mu))


def interval(found: Found) -> Interval | None:
    """Return the answer for a batch of one plan; ``None`` if there is none."""
    ends = (found.lower, found.estimate, found.upper)
    lower, estimate, upper, tilt = (float(each[0]) for each in (*ends, found.tilt))
    return Interval(lower, estimate, upper, None, "contour", tilt) if lower <= upper < math.inf else None
