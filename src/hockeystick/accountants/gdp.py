"""``gdp``: Gaussian differential privacy. Certified where all rounds are Gaussian; otherwise a central-limit estimate.

Dong, Roth, Su 2022 [DRS22]: rounds of Gaussian noise together form one Gaussian experiment, N(mu, 1) against
N(0, 1) with ``mu^2 = sum mu_i^2`` (Corollary 3.3). Its curve is enclosed by quadrature
(``accountants/shared/gaussian_curve.py``).

Compositions of other rounds tend to a Gaussian experiment as their number grows. Poisson-sampled rounds use the central
limit theorem of Bu, Dong, Long, Su 2020 [BDLS20]: ``mu = q sqrt(T chi^2)``, for Gaussian noise ``chi^2 = e^(1/s^2) -
1``, in both directions. The remaining rounds use Theorem 3.5 of Dong, Roth, Su: ``mu = (E_P L - E_Q L) / sqrt(Var_P
L)``, by quadrature, numerator and variance summed over the rounds; a sampled round contributes its mu^2 to both sums.
The failure probability of black boxes counts in full.

With ``own_moments=1`` the sum of the losses is replaced by the normal law with the same mean and variance, as in the
central limit theorem of Sommer, Meiser, Mohammadi 2019 [SMM19]. Its variance need not be twice its mean, so that it
need not be the loss of a Gaussian experiment; with m and s^2 the sums of means and variances,

    delta = Q((eps - m) / s) - e^(eps - m + s^2 / 2) Q((eps - m + s^2) / s),   Q the normal tail.

Cost: arithmetic. Known failure: an estimate only, with no side. It treats the tails of the loss as normal; with sampled
rounds they are heavier, and it under-reports epsilon at small delta (Gopi, Lee, Wutschitz 2021 [GLW21], Figure 1): for
noise 0.8, rate 0.004, 1000 rounds, delta 1e-6 it gives 1.04, and the truth is 1.66.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, ClassVar, NamedTuple

import numpy as np

from hockeystick.accountants.published import PublishedAccountant
from hockeystick.accountants.shared.gaussian_curve import epsilon_ends, log_delta_ends
from hockeystick.accountants.shared.privacy_curve import PrivacyCurve
from hockeystick.directions.directions import Directions, compositions
from hockeystick.directions.one_sided import NO_EPSILON
from hockeystick.directions.two_sided import delta_interval, epsilon_interval, without_lower
from hockeystick.numerics.roots import root
from hockeystick.pairs import Composition, DominatingPair
from hockeystick.values import domains
from hockeystick.values.adjacency import Direction
from hockeystick.values.bounds import Answer, DeltaAnswer, DeltaEstimate, Estimate
from hockeystick.values.errors import NotApplicableError
from hockeystick.values.outward import six_digits

CHI_SQUARED_OVERFLOWS = (
    "the chi-squared divergence of a sampled round exceeds the range of a double, where the central limit theorem "
    "does not apply; use more noise, or accountant 'contour' or 'rdp'"
)
"""Reason for refusing a plan whose rounds have too large a chi-squared divergence."""

BERRY_ESSEEN = 0.56  # Shevtsova 2010 [She10], for sums of unequal terms


class Limit(NamedTuple):
    """Contribution of a round to ``E_P L - E_Q L``, to ``Var_P L``, and to ``E_P |L - E_P L|^3``."""

    apart: float
    variance: float
    third: float


@dataclass(frozen=True)
class GdpAccountant(PublishedAccountant):
    """Accountant that replaces all rounds by one Gaussian experiment: exact, or the limit of many rounds.

    Args:
        own_moments: 1 to replace the loss by the normal law with its mean and variance, unless an exact answer exists.
    """

    own_moments: Annotated[
        int, domains.whole_numbers(0, 1).of("1 for the normal distribution with the losses' own mean and variance")
    ] = 0

    name: ClassVar[str] = "gdp"
    summary: ClassVar[str] = "certified for unsampled Gaussian rounds, otherwise an estimate: the central limit theorem"

    def epsilon_at(self, directions: Directions, delta: float) -> Answer:
        """Return epsilon on the Gaussian experiment's curve: certified if all rounds are Gaussian, else an estimate."""
        found = compositions(directions)
        exact = _exact(found)
        if exact is not None:
            direction, mu = exact
            if delta == 0 and mu > 0:
                reason = "delta is 0 and the privacy loss is unbounded, so no epsilon is finite"
                return without_lower(directions, epsilon_interval(self.name, direction, (math.inf, math.inf), reason))
            ends = epsilon_ends((math.log(delta), math.log(delta)), mu) if mu > 0 else (0.0, 0.0)
            return without_lower(directions, epsilon_interval(self.name, direction, ends))
        ask = _normal_epsilon if self.own_moments else _epsilon
        asked = [(ask(composition, delta), direction, composition) for direction, composition in found]
        value, direction, composition = max(asked, key=lambda item: item[0])
        doubt = _doubt(composition, delta) or (NO_EPSILON if math.isinf(value) else None)
        return Estimate(value, self.name, direction.value, doubt)

    def delta_at(self, directions: Directions, epsilon: float) -> DeltaAnswer:
        """Return delta on the Gaussian experiment's curve: certified if all rounds are Gaussian, else an estimate."""
        found = compositions(directions)
        exact = _exact(found)
        if exact is not None:
            direction, mu = exact
            log_ends = log_delta_ends(epsilon, mu) if mu > 0 else (-math.inf, -math.inf)
            return without_lower(directions, delta_interval(self.name, direction, log_ends))
        ask = _normal_log_delta if self.own_moments else _log_delta
        asked = [(ask(composition, epsilon), direction, composition) for direction, composition in found]
        log_value, direction, composition = max(asked, key=lambda item: item[0])
        value = math.exp(log_value)
        reason = _doubt(composition, value)
        log = Estimate(log_value, self.name, direction.value, reason)
        return DeltaEstimate(value, self.name, direction.value, reason, log_delta=log)


def _exact(directions: list[tuple[Direction, Composition]]) -> tuple[Direction, float] | None:
    """Return the direction with the largest mu if all rounds are Gaussian, and hence folded into one."""
    found: list[tuple[Direction, float]] = []
    for direction, composition in directions:
        mus = [pair.gdp_mu for pair, _ in composition.rounds]
        if len(mus) > 1 or None in mus:
            return None
        found.append((direction, mus[0] if mus and mus[0] is not None else 0.0))
    return max(found, key=lambda item: item[1])


def limit_mu(composition: Composition) -> float:
    """Return mu of the central limit; 0 if all losses are 0.

    Raises:
        NotApplicableError: the variances of the losses overflow.
    """
    parts = [(_limit(pair), count) for pair, count in composition.rounds]
    variance = math.fsum(count * part.variance for part, count in parts)
    if not variance < math.inf:
        raise NotApplicableError(CHI_SQUARED_OVERFLOWS)
    return math.fsum(count * part.apart for part, count in parts) / math.sqrt(variance) if variance > 0 else 0.0


def _limit(pair: DominatingPair) -> Limit:
    """Moments of one round, given that its loss is finite."""
    if pair.gdp_mu is not None:
        return Limit(pair.gdp_mu**2, pair.gdp_mu**2, 0.0)
    loss, log_p = PrivacyCurve(pair).nodes
    p, q = np.exp(log_p), np.exp(log_p - loss)
    p, q = p / p.sum(), q / q.sum()
    mean = float((p * loss).sum())
    off = np.abs(loss - mean)
    third = float((p * off**3).sum())
    if pair.limit_variance is not None:
        return Limit(pair.limit_variance, pair.limit_variance, third)
    return Limit(mean - float((q * loss).sum()), float((p * off**2).sum()), third)


def _doubt(composition: Composition, delta: float) -> str | None:
    """Note with a bound on the distance between the distribution functions of the loss and of the normal limit."""
    parts = [(_limit(pair), count) for pair, count in composition.rounds]
    variance = math.fsum(count * part.variance for part, count in parts)
    if variance == 0:
        return None
    third = math.fsum(count * part.third for part, count in parts)
    log_error = math.log(BERRY_ESSEEN * third) - 1.5 * math.log(variance) if third > 0 else -math.inf
    error = math.exp(min(log_error, 0.0))  # two distribution functions differ by at most 1
    return (
        "the estimate is a limit for many rounds; for this number of rounds its tails are known only to within "
        f"{error:.1g} (Berry-Esseen), and delta is {six_digits(delta)}"
    )


def _epsilon(composition: Composition, delta: float) -> float:
    mu, lost = limit_mu(composition), composition.infinite_mass
    if delta < lost or (delta <= lost and mu > 0):
        return math.inf
    if mu == 0:
        return 0.0
    log_delta = math.log((delta - lost) / (1 - lost))
    return epsilon_ends((log_delta, log_delta), mu)[1]


def _log_delta(composition: Composition, epsilon: float) -> float:
    mu, lost = limit_mu(composition), composition.infinite_mass
    finite = log_delta_ends(epsilon, mu)[1] if mu > 0 else -math.inf
    return finite if lost == 0 else math.log(lost + (1 - lost) * math.exp(finite))


def _own_moments(composition: Composition) -> tuple[float, float]:
    """Mean and variance of the sum of the finite losses.

    Raises:
        NotApplicableError: they overflow.
    """
    mean = variance = 0.0
    for pair, count in composition.rounds:
        if pair.gdp_mu is not None:
            mean, variance = mean + count * pair.gdp_mu**2 / 2, variance + count * pair.gdp_mu**2
            continue
        loss, log_p = PrivacyCurve(pair).nodes
        p = np.exp(log_p)
        p = p / p.sum()
        own = float((p * loss).sum())
        mean, variance = mean + count * own, variance + count * float((p * np.square(loss - own)).sum())
    if not variance < math.inf:
        raise NotApplicableError(CHI_SQUARED_OVERFLOWS)
    return mean, variance


def _normal_delta(epsilon: float, mean: float, variance: float) -> float:
    """Logarithm of ``E (1 - e^(eps - S))_+`` for a normal S, at most 0."""
    from scipy.special import log_ndtr

    if variance == 0:
        return math.log(-math.expm1(epsilon - mean)) if mean > epsilon else -math.inf
    deviation = math.sqrt(variance)
    first = float(log_ndtr((mean - epsilon) / deviation))
    second = epsilon - mean + variance / 2 + float(log_ndtr((mean - epsilon - variance) / deviation))
    return min(first + math.log(-math.expm1(second - first)), 0.0) if second < first else -math.inf


def _normal_log_delta(composition: Composition, epsilon: float) -> float:
    finite, lost = _normal_delta(epsilon, *_own_moments(composition)), composition.infinite_mass
    return finite if lost == 0 else math.log(lost + (1 - lost) * math.exp(finite))


def _normal_epsilon(composition: Composition, delta: float) -> float:
    (mean, variance), lost = _own_moments(composition), composition.infinite_mass
    if delta < lost or (delta <= lost and variance > 0):
        return math.inf
    if variance == 0:
        return max(mean, 0.0)
    target = math.log((delta - lost) / (1 - lost))
    if _normal_delta(0.0, mean, variance) <= target:
        return 0.0
    high = abs(mean) + math.sqrt(variance)
    while _normal_delta(high, mean, variance) > target:
        high *= 2
    return root(
        lambda epsilon: max(_normal_delta(epsilon, mean, variance), -1e4) - target, 0.0, high, xtol=2e-12, rtol=2**-50
    )
