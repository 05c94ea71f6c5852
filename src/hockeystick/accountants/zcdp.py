"""``zcdp``: zero-concentrated differential privacy. An upper bound: one number rho per round, and rho adds up.

Dwork, Rothblum 2016 [DR16]; Bun, Steinke 2016 [BS16], Definition 1.1 and Lemma 1.7: if every round has
``D_alpha(P || Q) <= rho alpha`` for all alpha > 1, the composition has the same bound with the sum of the rho.
Gaussian noise has ``rho = mu^2/2`` (Proposition 1.6), which is exact; losses in [-epsilon, epsilon] have ``epsilon
tanh(epsilon/2)``, below the ``epsilon^2/2`` of Proposition 3.3, and Laplace noise ``theta - 1 + e^-theta`` (proofs in
``pairs/concentrated.py``). Black boxes fail with their probability delta, which counts in full (Section 8).
The sum is converted at the best real order by Canonne, Kamath, Steinke 2020 [CKS20], Proposition 12:

    delta(epsilon) <= e^(t (1 + t) rho - t epsilon) t^t / (1 + t)^(1 + t)      for every t > 0

Cost: arithmetic. Known failure: sampling does not amplify it. A sampled Gaussian round has the same rho as one on all
records, so DP-SGD is accounted as if every batch were the whole dataset. There is no pure epsilon.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable
from typing import ClassVar, NamedTuple

from hockeystick.accountants.published import UpperBoundAccountant, log_delta_with
from hockeystick.directions.directions import Directions, compositions
from hockeystick.directions.one_sided import log_left
from hockeystick.numerics.rounding import UNIT_ROUNDOFF
from hockeystick.pairs import Composition, DominatingPair
from hockeystick.pairs.renyi import epsilon_from, log_delta_by
from hockeystick.values.adjacency import Direction

CARE = 16 * UNIT_ROUNDOFF  # relative: a dozen roundings
UNAMPLIFIED = "concentrated DP is not amplified by sampling, so every round counts as if it saw all records"
"""Note on a bound for a plan with sampling."""


class Moments(NamedTuple):
    """Upper bound on the log-moments K(t) as a function of t, and a t at which the bound is finite."""

    moment: Callable[[float], float]
    start: float = 1.0


class MomentAccountant(UpperBoundAccountant[Composition]):
    """Accountant that converts each bound on the log-moments at the best order, and returns the smallest result.

    Attributes:
        effort: time for one kind of sampled rounds, relative to the time for its moments; 0 if it has a closed form.
    """

    effort: ClassVar[float] = 1.0

    def subjects(self, directions: Directions) -> list[tuple[Direction, Composition]]:
        """Return the composition of each direction."""
        return compositions(directions, effort=self.effort)

    @abstractmethod
    def moments(self, composition: Composition) -> list[Moments]:
        """Return bounds on the log-moments of the finite losses, rounded up."""

    @abstractmethod
    def note(self, pair: DominatingPair) -> str | None:
        """Return a note that sampling hardly helps the bound of a round, if it does not."""

    def looseness(self, directions: Directions) -> str | None:
        """Return the first note on a round, if any."""
        for _, composition in self.subjects(directions):
            for pair, _ in composition.rounds:
                if found := self.note(pair):
                    return found
        return None

    def epsilon_above(self, rounds: Composition, delta: float) -> float:
        """Return the epsilon at which ``delta_finite`` is at most delta minus the mass at infinite loss."""
        infinite = rounds.infinite_mass_ends[1]
        if not rounds.rounds:
            return 0.0
        if delta <= infinite:
            return math.inf
        left = log_left(delta, infinite)
        return min(epsilon_from(found.moment, left, found.start).value for found in self.moments(rounds))

    def log_delta_above(self, rounds: Composition, epsilon: float) -> float:
        """Return the log of ``delta_finite`` plus the mass at infinite loss."""
        if not rounds.rounds:
            return -math.inf
        finite = min(log_delta_by(found.moment, epsilon, found.start).value for found in self.moments(rounds))
        return log_delta_with(rounds.infinite_mass_ends[1], finite)


class ZcdpAccountant(MomentAccountant):
    """Sums of rho, converted at the best order."""

    name = "zcdp"
    summary = "upper bound: zero-concentrated DP, the sum of the rounds' rho; sampling does not help"
    effort = 0.0

    def moments(self, composition: Composition) -> list[Moments]:
        """Return the bound ``t (1 + t) rho``."""
        return [Moments(quadratic(rho(composition)))]

    def note(self, pair: DominatingPair) -> str | None:
        """Return a note if sampling is ignored."""
        return UNAMPLIFIED if unamplified(pair) else None


def rho(composition: Composition) -> float:
    """Return the sum of rho over the rounds, rounded up; ``inf`` if rho is infinite for some round."""
    return math.fsum(count * pair.rho for pair, count in composition.rounds) * (1 + CARE)


def quadratic(rho: float) -> Callable[[float], float]:
    """Return the log-moment bound ``t (1 + t) rho`` as a function of t, rounded up."""
    return lambda t: t * (1 + t) * rho * (1 + CARE) if rho else 0.0


def unamplified(pair: DominatingPair) -> bool:
    """Return True if sampling does not reduce the rho of a round; for a round with bounded loss, it may reduce it."""
    return pair.sampled_from is not None and pair.rho >= pair.sampled_from[1]
