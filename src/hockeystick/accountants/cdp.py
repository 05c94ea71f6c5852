"""``cdp``: concentrated differential privacy as it was first defined, (mu, tau). An upper bound: mu and tau^2 add up.

Dwork, Rothblum 2016 [DR16]: a round is (mu, tau)-concentrated if the mean of its loss is at most mu, and the loss
minus its mean is subgaussian, ``E e^(t (L - E L)) <= e^(t^2 tau^2 / 2)``. A composition has the sum of the mu, and the
root of the sum of the tau^2, since losses are independent. The (mu, tau) of a round:

- Gaussian noise: L is normal, ``mu = m^2/2`` and ``tau = m`` at distance m; exact.
- Losses in [a, b]: ``tau = (b - a)/2`` by Hoeffding's lemma. The mean is at most the Kullback-Leibler divergence, which
  is at most the rho of ``zcdp``; for atoms it is summed. If only epsilon is known, ``mu = epsilon tanh(epsilon/2)`` and
  ``tau = epsilon``; the paper has ``mu = epsilon (e^epsilon - 1)/2``.
- Poisson-sampled Gaussian noise: the loss, as a function of the outcome, has slope at most m (2 m where a record is
  replaced). Conditional on the component of P that the outcome is drawn from, it is therefore subgaussian with tau
  equal to this slope (concentration of Lipschitz functions of a normal variable). The conditional means are no further
  apart than the slope times the distance m, and Hoeffding's lemma applies to them: removing, ``tau^2 = m^2 + m^4/4``;
  adding, P has one component and ``tau = m``; replacing, ``tau^2 = 4 m^2 + m^4``. The mean is at most ``K(t)/t`` for
  any t > 0, by Jensen's inequality.

Losses of other rounds need not be subgaussian: such rounds are refused. Mass at infinite loss counts in full; the rest
is conditional on a finite loss. The bound ``K(t) <= mu t + tau^2 t^2/2`` is converted at the best real order by
Canonne, Kamath, Steinke 2020 [CKS20], Proposition 12. The result is never above the tail bound ``delta <= e^(-(epsilon
- mu)^2 / (2 tau^2))``.

Cost: three moments for each kind of sampled round. Known failure: sampling reduces mu but not tau: there is no
amplification, as for ``zcdp``. For Gaussian noise alone ``cdp`` and ``zcdp`` agree. There is no pure epsilon.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from hockeystick.accountants.zcdp import CARE, MomentAccountant, Moments
from hockeystick.pairs import (
    Composition,
    DominatingPair,
    GaussianPair,
    PoissonAddPair,
    PoissonRemovePair,
    PoissonSubstitutionPair,
)
from hockeystick.pairs.base import rounding_of
from hockeystick.values.errors import NotApplicableError

ORDERS = (1e-3, 1e-2, 1e-1)
"""Orders at which moments bound the mean; more of them would gain little."""

UNAMPLIFIED = "sampling amplifies only the mean of the loss, not tau, which counts as if every round saw all records"
"""Note on a bound for a plan with sampling."""


class Concentrated(NamedTuple):
    """Upper bounds ``mean`` on ``E L`` and ``square`` on tau^2, the squared subgaussian parameter of ``L - E L``."""

    mean: float
    square: float


class CdpAccountant(MomentAccountant):
    """Sums of mu and of tau^2, converted at the best order."""

    name = "cdp"
    summary = "upper bound: concentrated DP (mu, tau), subgaussian losses; sampling helps little"

    def moments(self, composition: Composition) -> list[Moments]:
        """Return the bound ``mu t + tau^2 t^2/2``."""
        found = concentrated(composition)
        return [Moments(lambda t: t * (found.mean + 0.5 * t * found.square) * (1 + CARE))]

    def note(self, pair: DominatingPair) -> str | None:
        """Return a note if the round is sampled."""
        return None if _sampled(pair) is None else UNAMPLIFIED


def concentrated(composition: Composition) -> Concentrated:
    """Return the sums of mu and of tau^2 over the rounds, rounded up."""
    found = [(of(pair), count) for pair, count in composition.rounds]
    mean = math.fsum(count * part.mean for part, count in found)
    return Concentrated(mean * (1 + CARE), math.fsum(count * part.square for part, count in found) * (1 + CARE))


def of(pair: DominatingPair) -> Concentrated:
    """Return (mu, tau^2) of one round.

    Raises:
        NotApplicableError: no tau is known for the round.
    """
    if isinstance(pair, GaussianPair):
        return Concentrated(0.5 * pair.mu**2 * (1 + CARE), pair.mu**2 * (1 + CARE))
    square = _sampled(pair)
    if square is not None:
        return Concentrated(max(min(pair.log_moment(t) / t for t in ORDERS), 0.0) * (1 + CARE), square * (1 + CARE))
    low, high = pair.loss_range
    if not (math.isfinite(low) and math.isfinite(high)) or (pair.infinite_mass and pair.smooth is not None):
        raise NotApplicableError(
            "the loss of a round is unbounded and not known to be subgaussian; use accountant 'rdp' or 'auto'"
        )
    half = 0.5 * (high - low) + pair.supremum_error + rounding_of(low)
    return Concentrated(_mean(pair), half * half * (1 + CARE))


def _sampled(pair: DominatingPair) -> float | None:
    """tau^2 of a Poisson-sampled Gaussian round; None for others."""
    if isinstance(pair, PoissonSubstitutionPair):
        return 4 * pair.mu**2 + pair.mu**4
    if isinstance(pair, PoissonRemovePair | PoissonAddPair) and isinstance(pair.base, GaussianPair):
        mu = pair.base.mu
        return mu**2 if isinstance(pair, PoissonAddPair) else mu**2 + 0.25 * mu**4
    return None


def _mean(pair: DominatingPair) -> float:
    """Upper bound on the mean of a bounded loss, given that it is finite."""
    if pair.smooth is not None:
        return min(pair.rho, max(pair.loss_range[1] + pair.supremum_error, 0.0))
    atoms = pair.atoms.finite()
    seen = np.isfinite(atoms.log_p)
    loss, mass = atoms.loss[seen], np.exp(atoms.log_p[seen])
    if not mass.sum() > 0:
        return 0.0
    care = sum(rounding_of(float(size), atoms.units) for size in np.abs(loss))
    size = float((mass * np.abs(loss)).sum() / mass.sum())
    return max(float((mass * loss).sum() / mass.sum()) + 64 * CARE * size + care, 0.0)
