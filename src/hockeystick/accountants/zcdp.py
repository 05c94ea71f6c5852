"""``zcdp``: zero-concentrated differential privacy. An upper bound: one number rho a round, and rho adds up.

Dwork, Rothblum 2016 [DR16]; Bun, Steinke 2016 [BS16], Definition 1.1 and Lemma 1.7: where
``D_alpha(P || Q) <= rho alpha`` for all alpha > 1 of every round, sums of rho do the same for all rounds together.
Gaussian noise has ``rho = mu^2/2`` (Proposition 1.6), which is exact; losses in [-epsilon, epsilon] have ``epsilon
tanh(epsilon/2)``, below the ``epsilon^2/2`` of Proposition 3.3, and Laplace noise ``theta - 1 + e^-theta`` (proofs in
``pairs/concentrated.py``). Black boxes fail with their probability delta, which counts in full (Section 8).
Converted at the best real order by Canonne, Kamath, Steinke 2020 [CKS20], Proposition 12:

    delta(epsilon) <= e^(t (1 + t) rho - t epsilon) t^t / (1 + t)^(1 + t)      for every t > 0

Cost: arithmetic. Known failure: sampling does not amplify it. A sampled Gaussian has the rho of one that sees all
records, so that DP-SGD is accounted as if every batch were the whole dataset. There is no pure epsilon.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import ClassVar

from hockeystick.accountants.base import Accountant
from hockeystick.directions.directions import Directions, compositions
from hockeystick.directions.one_sided import delta_bound, epsilon_bound, log_left, worst
from hockeystick.numerics.rounding import UNIT_ROUNDOFF
from hockeystick.pairs import Composition, DominatingPair
from hockeystick.pairs.renyi import epsilon_from, log_delta_by
from hockeystick.values.bounds import DeltaUpperBound, UpperBound

CARE = 16 * UNIT_ROUNDOFF  # relative: a dozen roundings
UNAMPLIFIED = "concentrated privacy is not amplified by sampling: every round counts as one that sees all records"
"""Note on a bound for a plan with sampling."""


class ZcdpAccountant(Accountant):
    """Sums of rho, converted at the best order."""

    name: ClassVar[str] = "zcdp"
    summary: ClassVar[str] = "upper bound: zero-concentrated privacy, rho adds up; sampling does not help"

    def epsilon(self, directions: Directions, delta: float, gap: float | None) -> UpperBound:
        """Return the epsilon at which ``delta_finite`` is at most delta less the mass at infinite loss."""
        self.refuse_gap(gap)
        direction, found = worst(
            compositions(directions, many=True), lambda rounds: epsilon_at(rounds, quadratic(rho(rounds)), delta)
        )
        return epsilon_bound(self.name, direction, found, None if math.isinf(found) else looseness(directions))

    def delta(self, directions: Directions, epsilon: float, gap: float | None) -> DeltaUpperBound:
        """Return ``delta_finite`` plus the mass at infinite loss."""
        self.refuse_gap(gap)
        direction, found = worst(
            compositions(directions, many=True), lambda rounds: log_delta_at(rounds, quadratic(rho(rounds)), epsilon)
        )
        return delta_bound(self.name, direction, found, looseness(directions))


def rho(composition: Composition) -> float:
    """Return the sum over the rounds, rounded up; ``inf`` if some round has none."""
    return math.fsum(count * pair.rho for pair, count in composition.rounds) * (1 + CARE)


def quadratic(rho: float) -> Callable[[float], float]:
    """Return the log-moment bound ``t (1 + t) rho`` as a function of t, rounded up."""
    return lambda t: t * (1 + t) * rho * (1 + CARE) if rho else 0.0


def looseness(directions: Directions) -> str | None:
    """Return a note that sampling was ignored, or None."""
    composed = compositions(directions, many=True)
    ignored = any(unamplified(pair) for _, composition in composed for pair, _ in composition.rounds)
    return UNAMPLIFIED if ignored else None


def unamplified(pair: DominatingPair) -> bool:
    """Return True if a sampled round has no smaller rho than an unsampled one; a bounded loss may have."""
    return pair.sampled_from is not None and pair.rho >= pair.sampled_from[1]


def epsilon_at(composition: Composition, moment: Callable[[float], float], delta: float, start: float = 1.0) -> float:
    """Return an epsilon for the composition, given a bound on the log-moments of its finite losses."""
    infinite = composition.infinite_mass_ends[1]
    if not composition.rounds:
        return 0.0
    if delta <= infinite:
        return math.inf
    return epsilon_from(moment, log_left(delta, infinite), start).value


def log_delta_at(
    composition: Composition, moment: Callable[[float], float], epsilon: float, start: float = 1.0
) -> float:
    """Return a log delta for the composition, given a bound on the log-moments of its finite losses."""
    if not composition.rounds:
        return -math.inf
    infinite = composition.infinite_mass_ends[1]
    finite = log_delta_by(moment, epsilon, start).value
    if infinite == 0:
        return finite
    total = math.log(math.exp(finite) + infinite)
    return min(total + 1e-15 * (1 + abs(total)), 0.0)
