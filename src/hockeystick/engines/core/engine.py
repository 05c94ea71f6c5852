"""One direction of Poisson-sampled and unsampled Gaussian rounds, as a batch of one plan (``engines/core/ask.py``)."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from hockeystick.engines.base import DEFAULT_GAP, TOO_WIDE
from hockeystick.engines.core.aim import Asked
from hockeystick.engines.core.ask import Found, solve
from hockeystick.engines.core.rows import Plans, Rows
from hockeystick.pairs import Composition, RenyiCurve
from hockeystick.pairs.gaussian import GaussianPair
from hockeystick.pairs.sampled.bundles import DISTANCES, LARGEST_RATE, MOST_ROUNDS
from hockeystick.pairs.sampled.poisson import PoissonAddPair, PoissonRemovePair
from hockeystick.values.errors import NotApplicableError
from hockeystick.values.interval import Interval

MOST_KINDS = 11  # of sampled rounds: more are one factor of a contour (``engines/contour/bundle.py``)
OTHER = "the core takes a few kinds of sampled Gaussian rounds of one direction, beside unsampled ones"
NOTHING = "nodes or points are too many for the core, or it does not find where to lay them"


class GaussianRounds(NamedTuple):
    """One direction of a plan of Gaussian rounds.

    Attributes:
        kinds: mu, sampling rate and count of each kind of sampled rounds.
        add: whether a record is added.
        variance: v of all unsampled rounds, which are one of ``v = sum k mu^2`` (Dong, Roth, Su 2022 [DRS22],
            Corollary 3.3).
    """

    kinds: tuple[tuple[float, float, int], ...]
    add: bool
    variance: float

    @classmethod
    def of(cls, rounds: Sequence[tuple[RenyiCurve, int]]) -> GaussianRounds | None:
        """The direction with these pairs and counts; ``None`` unless they are Gaussian, and kinds sampled and few."""
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
        """The direction as a batch of one plan."""
        mu, rate, count = np.array(self.kinds, dtype=np.float64).T.copy()
        rows = Rows(mu, rate, count, np.log(rate), np.full(len(mu), self.add))
        return Plans(rows, np.array([self.variance]), len(mu))


class CoreEngine:
    """Certified epsilon and log delta of one direction with finite losses.

    Args:
        composition: pairs and counts.

    Raises:
        NotApplicableError: a round is no Gaussian one, kinds are many, or both directions are mixed.
    """

    def __init__(self, composition: Composition) -> None:
        rounds = GaussianRounds.of(composition.rounds)
        if rounds is None:
            raise NotApplicableError(OTHER)
        self._plans = rounds.plans

    def epsilon(self, log_delta: tuple[float, float], gap: float | None) -> Interval:
        """Interval of ``inf {eps >= 0: log E (1 - e^(eps - L))_+ <= log_delta}``, relative width about gap.

        Raises:
            NotApplicableError: there is no sum that can be laid.
        """
        if log_delta[0] == -math.inf:
            raise NotApplicableError("the delta that is left is below the range of a double")
        gap = gap or DEFAULT_GAP
        return self._solved(Asked.epsilons(np.array([log_delta[::-1]]), gap), lambda found: gap * found)

    def log_delta(self, epsilon: float, gap: float | None) -> Interval:
        """Interval of ``log E (1 - e^(eps - L))_+`` at an epsilon below the supremum, of width at most about gap.

        Raises:
            NotApplicableError: there is no sum that can be laid.
        """
        gap = gap or DEFAULT_GAP
        if not epsilon > 0:
            raise NotApplicableError(NOTHING)
        return self._solved(Asked.log_deltas(np.array([epsilon]), gap), lambda _: gap)

    def _solved(self, asked: Asked, width: Callable[[float], float]) -> Interval:
        found = interval(solve(self._plans, asked))
        if found is None:
            raise NotApplicableError(NOTHING)
        return found if found.upper - found.lower <= width(found.upper) else replace(found, limited=TOO_WIDE)


def interval(found: Found) -> Interval | None:
    """The answer to a batch of one plan; ``None`` without one."""
    ends = (found.lower, found.estimate, found.upper)
    lower, estimate, upper, tilt = (float(each[0]) for each in (*ends, found.tilt))
    return Interval(lower, estimate, upper, None, "contour", tilt) if lower <= upper < math.inf else None
