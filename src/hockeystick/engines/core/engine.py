"""One direction of Poisson-sampled and unsampled Gaussian rounds, as a batch of one plan (``engines/core/ask.py``)."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from hockeystick.engines.base import DEFAULT_GAP, TOO_WIDE
from hockeystick.engines.core.aim import Asked
from hockeystick.engines.core.ask import solve
from hockeystick.engines.core.rows import Plans, Rows
from hockeystick.numerics.work import charge
from hockeystick.pairs import Composition
from hockeystick.pairs.gaussian import GaussianPair
from hockeystick.pairs.sampled.bundles import DISTANCES, LARGEST_RATE, MOST_ROUNDS
from hockeystick.pairs.sampled.poisson import PoissonAddPair, PoissonRemovePair
from hockeystick.values.errors import NotApplicableError
from hockeystick.values.interval import Interval

SUM = 3e6  # units of work of one answer
MOST_KINDS = 11  # of sampled rounds: more are one factor of a contour (``engines/contour/bundle.py``)
OTHER = "the core takes a few kinds of sampled Gaussian rounds of one direction, beside unsampled ones"
NOTHING = "nodes or points are too many for the core, or it does not find where to lay them"


class CoreEngine:
    """Certified epsilon and log delta of one direction with finite losses.

    Args:
        composition: pairs and counts.

    Raises:
        NotApplicableError: a round is no Gaussian one, kinds are many, or both directions are mixed.
    """

    def __init__(self, composition: Composition) -> None:
        sampled: list[tuple[float, float, int]] = []
        adding, variances = set(), []
        for pair, count in composition.rounds:
            if type(pair) is GaussianPair:
                variances.append(count * pair.mu * pair.mu)
            elif isinstance(pair, PoissonRemovePair | PoissonAddPair) and type(pair.base) is GaussianPair:
                adding.add(pair.add)
                sampled.append((pair.base.mu, pair.rate, count))
            else:
                raise NotApplicableError(OTHER)
        if len(adding) != 1 or len(sampled) > MOST_KINDS:
            raise NotApplicableError(OTHER)
        mu, rate, count = np.array(sampled, dtype=np.float64).T.copy()
        if mu.min() < DISTANCES[0] or mu.max() > DISTANCES[1] or rate.max() > LARGEST_RATE or count.max() > MOST_ROUNDS:
            raise NotApplicableError(OTHER)
        rows = Rows(mu, rate, count, np.log(rate), np.full(len(mu), adding.pop()))
        self._plans = Plans(rows, np.array([math.fsum(variances)]), len(mu))

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
        charge(SUM, "a sum over a line")
        found = solve(self._plans, asked)
        lower, estimate, upper, tilt = (
            float(each[0]) for each in (found.lower, found.estimate, found.upper, found.tilt)
        )
        if not (math.isfinite(upper) and lower <= upper):
            raise NotApplicableError(NOTHING)
        return Interval(lower, estimate, upper, None if upper - lower <= width(upper) else TOO_WIDE, "contour", tilt)
