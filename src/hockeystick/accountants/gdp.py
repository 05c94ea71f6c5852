"""``gdp``: Gaussian differential privacy. Certified where all rounds are Gaussian; otherwise a central-limit estimate.

Dong, Roth, Su 2022 [DRS22]: rounds of Gaussian noise together form one Gaussian experiment, N(mu, 1) against
N(0, 1) with ``mu^2 = sum mu_i^2`` (Corollary 3.3). Its curve is enclosed by quadrature
(``pairs/gaussian_curve.py``).

Compositions of other rounds tend to a Gaussian experiment as their number grows. Poisson-sampled rounds use the central
limit theorem of Bu, Dong, Long, Su 2020 [BDLS20]: ``mu = q sqrt(T chi^2)`` for T rounds at rate q, in both directions;
for Gaussian noise of deviation s ``chi^2 = e^(1/s^2) - 1``. The remaining rounds use Theorem 3.5 of Dong, Roth, Su:
``mu = (E_P L - E_Q L) / sqrt(Var_P L)``. Numerator and variance are computed for each round by quadrature, and summed
over the rounds; a sampled round adds its mu^2 to both sums. The failure probability of black boxes is added to delta in
full.

With ``own_moments=1`` the sum of the losses is replaced by the normal law with the same mean and variance, as in the
central limit theorem of Sommer, Meiser, Mohammadi 2019 [SMM19]. The variance of the loss of a Gaussian experiment is
twice its mean; this normal law need not have that property. With m and s^2 the sums of the means and of the variances
of the losses,

    delta = Q((eps - m) / s) - e^(eps - m + s^2 / 2) Q((eps - m + s^2) / s),   Q the normal tail.

Cost: a few arithmetic operations. Known failure: the result is only an estimate, which may be too large or too small.
The method treats the tails of the loss as normal. The tails of sampled rounds are heavier, so the estimate of epsilon
is too small at small delta (Gopi, Lee, Wutschitz 2021 [GLW21], Figure 1). For noise multiplier 0.8, sample rate 0.004,
1000 rounds and delta 1e-6, the estimate is 1.04, and the true epsilon is 1.66.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, NamedTuple

import numpy as np

from hockeystick.accountants.published import PublishedAccountant
from hockeystick.accountants.shared.privacy_curve import PrivacyCurve
from hockeystick.accountants.shared.tilted_moments import BERRY_ESSEEN
from hockeystick.directions.directions import Directions, compositions
from hockeystick.directions.finite import UNBOUNDED
from hockeystick.directions.one_sided import NO_EPSILON
from hockeystick.directions.two_sided import delta_interval, epsilon_interval, without_lower
from hockeystick.numerics.roots import root
from hockeystick.pairs import Composition, DominatingPair, GaussianPair
from hockeystick.pairs.gaussian_curve import epsilon_ends, log_delta_ends
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


class Moments(NamedTuple):
    """Moments of finite losses, which add up over rounds.

    Attributes:
        mean: ``E_P L``.
        square: ``Var_P L``.
        third: ``E_P |L - E_P L|^3``.
        apart: contribution to the numerator of mu: ``E_P L - E_Q L``, or mu^2 for a sampled round.
        variance: contribution to the square of the denominator of mu: ``Var_P L``, or mu^2 for a sampled round.
    """

    mean: float
    square: float
    third: float
    apart: float
    variance: float


@dataclass(frozen=True)
class GdpAccountant(PublishedAccountant):
    """Accountant that replaces all rounds by one Gaussian experiment, N(mu, 1) against N(0, 1).

    The replacement is exact for Gaussian rounds, and otherwise the limit of many rounds.

    Args:
        own_moments: 1 to replace the sum of the losses by the normal law with its mean and variance, unless all rounds
            are Gaussian.
    """

    own_moments: Annotated[
        int, domains.whole_numbers(0, 1).of("1 for the normal distribution with the losses' own mean and variance")
    ] = 0

    name = "gdp"
    summary = "certified for unsampled Gaussian rounds, otherwise an estimate: the central limit theorem"

    def epsilon_at(self, directions: Directions, delta: float) -> Answer:
        """Return a certified interval for epsilon if all rounds are Gaussian, else the estimate by the limit law."""
        found = compositions(directions)
        exact = _exact(found)
        if exact is not None:
            direction, mu = exact
            if delta == 0 and mu > 0:
                ends = (math.inf, math.inf)
                return without_lower(directions, epsilon_interval(self.name, direction, ends, UNBOUNDED))
            ends = epsilon_ends((math.log(delta), math.log(delta)), mu) if mu > 0 else (0.0, 0.0)
            return without_lower(directions, epsilon_interval(self.name, direction, ends))
        asked = [(self._epsilon(composition, delta), direction, composition) for direction, composition in found]
        value, direction, composition = max(asked, key=lambda item: item[0])
        doubt = _doubt(composition, delta) or (NO_EPSILON if math.isinf(value) else None)
        return Estimate(value, self.name, direction.value, doubt)

    def delta_at(self, directions: Directions, epsilon: float) -> DeltaAnswer:
        """Return a certified interval for delta if all rounds are Gaussian, else the estimate by the limit law."""
        found = compositions(directions)
        exact = _exact(found)
        if exact is not None:
            direction, mu = exact
            log_ends = log_delta_ends(epsilon, mu) if mu > 0 else (-math.inf, -math.inf)
            return without_lower(directions, delta_interval(self.name, direction, log_ends))
        asked = [(self._log_delta(composition, epsilon), direction, composition) for direction, composition in found]
        log_value, direction, composition = max(asked, key=lambda item: item[0])
        value = math.exp(log_value)
        reason = _doubt(composition, value)
        log = Estimate(log_value, self.name, direction.value, reason)
        return DeltaEstimate(value, self.name, direction.value, reason, log_delta=log)

    def _epsilon(self, composition: Composition, delta: float) -> float:
        limit, lost = NormalLaw.of(composition, self.own_moments), composition.infinite_mass
        if delta < lost or (delta == lost and limit.variance > 0):
            return math.inf
        return limit.epsilon(math.log((delta - lost) / (1 - lost)) if delta > lost else -math.inf)

    def _log_delta(self, composition: Composition, epsilon: float) -> float:
        finite, lost = NormalLaw.of(composition, self.own_moments).log_delta(epsilon), composition.infinite_mass
        return finite if lost == 0 else math.log(lost + (1 - lost) * math.exp(finite))


def _exact(directions: list[tuple[Direction, Composition]]) -> tuple[Direction, float] | None:
    """Return the direction with the largest mu, and this mu, if all rounds are Gaussian; ``None`` otherwise.

    The given compositions have all Gaussian rounds merged into one.
    """
    found: list[tuple[Direction, float]] = []
    for direction, composition in directions:
        pairs = [pair for pair, _ in composition.rounds]
        mus = [pair.mu for pair in pairs if isinstance(pair, GaussianPair)]
        if len(pairs) > 1 or len(mus) < len(pairs):
            return None
        found.append((direction, mus[0] if mus else 0.0))
    return max(found, key=lambda item: item[1])


class NormalLaw(NamedTuple):
    """Normal law that replaces the sum of finite losses.

    Attributes:
        mean: mean of the law.
        variance: variance of the law.
        experiment: True if the law is the loss of a Gaussian experiment, whose curve is then computed by quadrature.
    """

    mean: float
    variance: float
    experiment: bool

    @classmethod
    def of(cls, composition: Composition, own_moments: int) -> NormalLaw:
        """Return the normal law for a composition.

        It has the mean and variance of the summed loss if ``own_moments`` is 1; otherwise it is the loss of a Gaussian
        experiment.

        Raises:
            NotApplicableError: the variance exceeds the range of a double.
        """
        total = moments(composition)
        variance = total.square if own_moments else total.variance
        if not variance < math.inf:
            raise NotApplicableError(CHI_SQUARED_OVERFLOWS)
        if own_moments:
            return cls(total.mean, variance, False)
        mu = total.apart / math.sqrt(variance) if variance > 0 else 0.0
        return cls(mu**2 / 2, mu**2, True)

    def epsilon(self, log_delta: float) -> float:
        """Return the epsilon >= 0 at which the law has this log delta."""
        if self.variance == 0:
            return max(self.mean, 0.0)
        if self.experiment:
            return epsilon_ends((log_delta, log_delta), math.sqrt(self.variance))[1]
        if self.log_delta(0.0) <= log_delta:
            return 0.0
        high = abs(self.mean) + math.sqrt(self.variance)
        while self.log_delta(high) > log_delta:
            high *= 2
        return root(lambda at: max(self.log_delta(at), -1e4) - log_delta, 0.0, high, xtol=2e-12, rtol=2**-50)

    def log_delta(self, epsilon: float) -> float:
        """Return log delta at epsilon: the logarithm of ``E (1 - e^(eps - S))_+`` for S with this law."""
        from scipy.special import log_ndtr

        above = self.mean - epsilon
        if self.variance == 0:
            return math.log(-math.expm1(-above)) if above > 0 else -math.inf
        deviation = math.sqrt(self.variance)
        if self.experiment:
            return log_delta_ends(epsilon, deviation)[1]
        first = float(log_ndtr(above / deviation))
        second = self.variance / 2 - above + float(log_ndtr((above - self.variance) / deviation))
        return min(first + math.log(-math.expm1(second - first)), 0.0) if second < first else -math.inf


def moments(composition: Composition) -> Moments:
    """Return the moments of the sum of all rounds' losses, given that these are finite."""
    parts = [(_moments(pair), count) for pair, count in composition.rounds]
    return Moments(*(math.fsum(count * part[i] for part, count in parts) for i in range(len(Moments._fields))))


def _moments(pair: DominatingPair) -> Moments:
    """Moments of one round, given that its loss is finite."""
    if isinstance(pair, GaussianPair):
        square = pair.mu**2
        return Moments(square / 2, square, 0.0, square, square)
    loss, log_p = PrivacyCurve(pair).nodes
    p, q = np.exp(log_p), np.exp(log_p - loss)
    p, q = p / p.sum(), q / q.sum()
    mean = float((p * loss).sum())
    off = np.abs(loss - mean)
    square, third = (float((p * off**power).sum()) for power in (2, 3))
    if pair.limit_variance is not None:
        return Moments(mean, square, third, pair.limit_variance, pair.limit_variance)
    return Moments(mean, square, third, mean - float((q * loss).sum()), square)


def _doubt(composition: Composition, delta: float) -> str | None:
    """Note with the error bound of the normal limit (Berry-Esseen); ``None`` if the loss is constant."""
    total = moments(composition)
    if total.variance == 0:
        return None
    log_error = math.log(BERRY_ESSEEN * total.third) - 1.5 * math.log(total.variance) if total.third > 0 else -math.inf
    error = math.exp(min(log_error, 0.0))  # two distribution functions differ by at most 1
    return (
        "the estimate is a limit for many rounds; for this number of rounds its tails are known only to within "
        f"{error:.1g} (Berry-Esseen), and delta is {six_digits(delta)}"
    )
