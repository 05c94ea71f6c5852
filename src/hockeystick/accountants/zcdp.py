"""``zcdp``: zero-concentrated differential privacy. An upper bound: one number rho per round, and rho adds up.

Dwork, Rothblum 2016 [DR16]; Bun, Steinke 2016 [BS16], Definition 1.1 and Lemma 1.7: if every round has
``D_alpha(P || Q) <= rho alpha`` for all alpha > 1, the composition has the same bound with the sum of all rounds' rho.
For Gaussian noise ``rho = mu^2/2`` (Proposition 1.6), which is exact. For losses in [-epsilon, epsilon]
``rho = epsilon tanh(epsilon/2)``, which is below the ``epsilon^2/2`` of Proposition 3.3; for Laplace noise
``rho = theta - 1 + e^-theta`` (proofs in ``pairs/concentrated.py``). The failure probability delta of a black box is
added to delta in full (Section 8). The sum of rho gives delta at the best real order, by Canonne, Kamath, Steinke 2020
[CKS20], Proposition 12:

    delta(epsilon) <= e^(t (1 + t) rho - t epsilon) t^t / (1 + t)^(1 + t)      for every t > 0

Cost: arithmetic. Known failure: rho is not amplified by sampling. A sampled Gaussian round has the same rho as one on
all records, so DP-SGD is accounted as if every batch were the whole dataset. At delta 0, the bound on epsilon is
infinite.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from hockeystick.accountants.published import UpperBoundAccountant
from hockeystick.accountants.shared.lattice import CARE
from hockeystick.directions.directions import Directions, compositions
from hockeystick.directions.finite import log_with
from hockeystick.directions.one_sided import log_left
from hockeystick.pairs import Composition, MixturePair, PoissonRemovePair, PoissonSubstitutionPair
from hockeystick.pairs.renyi import epsilon_from, log_delta_by
from hockeystick.values.adjacency import Direction

SAMPLED = (MixturePair, PoissonRemovePair, PoissonSubstitutionPair)
UNAMPLIFIED = "sampling amplifies concentrated DP only if the loss is bounded; here rounds count as if unsampled"
"""Note on a bound for a plan with sampled rounds of unbounded loss."""


class ZcdpAccountant(UpperBoundAccountant[Composition]):
    """Accountant that adds up rho over the rounds, and converts the sum to epsilon or delta at the best real order."""

    name = "zcdp"
    summary = "upper bound: zero-concentrated DP, the sum of the rounds' rho; sampling does not help"

    def subjects(self, directions: Directions) -> list[tuple[Direction, Composition]]:
        """Return the composition of each direction."""
        return compositions(directions, many=True)

    def looseness(self, directions: Directions) -> str | None:
        """Return a note if some sampled round has an unbounded loss, since rho then ignores the sampling."""
        pairs = (pair for _, composition in self.subjects(directions) for pair, _ in composition.rounds)
        loose = any(isinstance(pair, SAMPLED) and pair.loss_range[1] == math.inf for pair in pairs)
        return UNAMPLIFIED if loose else None

    def epsilon_above(self, rounds: Composition, delta: float) -> float:
        """Return the epsilon at which finite losses contribute at most ``delta`` less the mass at infinite loss."""
        infinite = rounds.infinite_mass_ends[1]
        if not rounds.rounds:
            return 0.0
        if delta <= infinite:
            return math.inf
        return epsilon_from(quadratic(rho(rounds)), log_left(delta, infinite)).value

    def log_delta_above(self, rounds: Composition, epsilon: float) -> float:
        """Return the log of the bound on delta: the bound for finite losses plus the mass at infinite loss."""
        if not rounds.rounds:
            return -math.inf
        return log_with(log_delta_by(quadratic(rho(rounds)), epsilon).value, rounds.infinite_mass_ends[1])


def rho(composition: Composition) -> float:
    """Return the sum of rho over the rounds, rounded up; ``inf`` if rho is infinite for some round."""
    return math.fsum(count * pair.rho for pair, count in composition.rounds) * (1 + CARE)


def quadratic(rho: float) -> Callable[[float], float]:
    """Return the log-moment bound ``t (1 + t) rho`` as a function of t, rounded up."""
    return lambda t: t * (1 + t) * rho * (1 + CARE) if rho else 0.0
