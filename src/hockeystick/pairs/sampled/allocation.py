"""The pair of one epoch of random allocation, in which each record is in at most one of T Gaussian steps.

The record is in step j with probability ``w_j``, and in no step with probability c. Its contribution has a norm of at
most mu standard deviations of the noise. The pair consists of two laws of the T results of an epoch: ``P = c N(0, I_T)
+ sum_j w_j N(e_j mu, I_T)`` with the record, and ``Q = N(0, I_T)`` without it.

**The pair dominates** every epoch of T such steps, even if a step depends on earlier results (Chua et al. 2025
[CGH+25], Theorem 3.1; Feldman, Shenfeld 2025 [FS25]). Let the data be given, the results before step i, and the steps
of all other records, which have the same law with and without this record. Step i releases ``f_i + c_i [i = j] +
noise``. The vectors f_i and c_i depend only on what is given, and ``|c_i| <= mu`` standard deviations of the noise.
This release is a randomised function of ``X_i = mu [i = j] + N(0, 1)``, namely (in standard deviations, with noise
orthogonal to c_i at the end)

    f_i + (X_i |c_i| / mu + N(0, 1 - |c_i|^2 / mu^2)) c_i / |c_i| + noise across c_i .

The function is the same for every j, and also if the record is in no step. So all results together are a randomised
function of ``(X_1, ..., X_T)``, whose law is P with the record and Q without it. *The pair is tight*: if ``f_i = 0``
and all c_i are the same vector of norm mu, the results along this vector are ``(X_1, ..., X_T)``.

Several epochs are a product of such pairs if each epoch draws a new, secret assignment. An assignment that is kept for
m epochs makes them one epoch, in which every step is released m times. The pair covers

- an epoch of t equally likely steps, ``w = 1/t`` and ``c = 0``;
- a smaller last batch: t - 1 steps of b records and one of b', ``w = b / n`` and ``b' / n``, ``n = (t - 1) b + b'``;
- an epoch that is stopped after r of t steps: ``T = r``, ``w = 1/t``, ``c = (t - r) / t``;
- random check-in: a record participates with probability p, and then in one of t steps, ``w = p/t``, ``c = 1 - p``;

and any combination of these. Only the moments of the loss are known, for real and complex exponents
(``allocation_law.py``, ``allocation_line.py``), not its atoms or densities. So only engines that work with moments can
answer.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from hockeystick.numerics.budget import allows
from hockeystick.pairs.base import Atoms, DominatingPair
from hockeystick.pairs.gaussian import GaussianPair
from hockeystick.pairs.moment import MOST_EXPONENT
from hockeystick.pairs.sampled.allocation_decay import AllocationEnvelope
from hockeystick.pairs.sampled.allocation_law import AllocationLaw, Groups
from hockeystick.pairs.sampled.allocation_line import AllocationLine
from hockeystick.pairs.sampled.markov_law import LARGEST, RatioLaw
from hockeystick.pairs.sampled.poisson import PoissonAddPair, PoissonRemovePair
from hockeystick.pairs.sampled.summed_line import kept_upper
from hockeystick.pairs.transform import MOST_EVALUATIONS
from hockeystick.values.errors import NotApplicableError

Array = npt.NDArray[np.float64]

HIGHEST_TILT = 44.0  # highest tilt of a line for remove, where Lambda has the power 1 + t
OF_EVALUATION = 15.0  # units of work of one evaluation of an elementary function
SHARE = 1e-4  # fraction of K(t) by which an upper bound may exceed K(t) if no slack is given
TOLERANCE = 1e-9  # relative size of the remainders of a line that is used for an upper bound on K(t) alone
FARTHEST = 300.0  # highest tilt of a line for add
MANY, RARE = 1000, 1e-3  # above MANY steps, a guide leaves out the values of a step of probability RARE / steps
OF_ONE, OF_OTHERS, CLOSER = 120, 24, 4.0  # in a guide, numbers of values of two terms of Lambda; density near 0


@dataclass(frozen=True, slots=True)
class AllocationTransform:
    """The characteristic function of the loss of one epoch.

    Args:
        law: law of the likelihood ratio of the epoch.
        add: True if the record is added, False if it is removed.
    """

    law: RatioLaw
    add: bool

    @property
    def most_evaluations(self) -> float:
        """Largest number of evaluations of elementary functions that the values along one line may cost."""
        return MOST_EVALUATIONS + self.law.patience / OF_EVALUATION

    @property
    def highest_tilt(self) -> float:
        """The largest t for which :meth:`line` is available."""
        return FARTHEST if self.add else min(HIGHEST_TILT, self.law.highest - 1.5)

    def _power(self, t: float) -> float:
        return -t if self.add else 1 + t

    def line(self, t: float, reach: float, tolerance: float) -> AllocationLine:
        """Return the values of K at ``t + is`` for ``|s| <= reach``, computed by Mellin's integral."""
        return AllocationLine(self.law, self._power(t), -1 if self.add else 1, reach, tolerance)

    def envelope(self, t: float, count: int) -> AllocationEnvelope:
        """Return a bound on how fast the characteristic function decays at ``t + is`` as s grows."""
        return AllocationEnvelope(self.law, self._power(t))

    def upper(self, t: float, slack: float | None) -> float:
        """Upper bound on K(t), by quadrature or from integer moments.

        The bound exceeds K(t) by about ``slack`` or, if ``slack`` is ``None``, by about SHARE times K(t).
        """
        law = self.law
        above = float(np.nextafter(np.float32(t), np.float32(math.inf)))  # a larger tilt of few digits: K increases
        if not self.add:
            found, bent = law.log_moment_above(1 + t)
            if bent <= (SHARE * found if slack is None else slack) or 1 + t > law.highest - 1.0:
                return found
            return min(found, kept_upper(self, above, TOLERANCE))
        rough = law.log_power_above(-t)
        if t > FARTHEST or not law.has_lines(self.add):
            return rough
        # long lines are charged to the budget of the query
        if law.patience and not allows(OF_EVALUATION * self.line(above, 0.0, TOLERANCE).cost(1)):
            return rough
        return min(rough, kept_upper(self, above, TOLERANCE))


@dataclass(frozen=True, slots=True)
class AllocationPair(DominatingPair):
    """The pair of one epoch, made by :func:`epoch`; only the moments of its loss are known.

    Args:
        law: law of the likelihood ratio.
        add: True if the record is added, False if it is removed.
    """

    law: RatioLaw
    add: bool

    seconds: ClassVar[float] = 0.05

    @property
    def atoms(self) -> Atoms:
        """Not available: only the moments of the loss are known, not its law.

        Raises:
            NotApplicableError: always.
        """
        raise NotApplicableError(_NO_LAW)

    @property
    def smooth(self) -> None:
        """Not available: only the moments of the loss are known, not its law.

        Raises:
            NotApplicableError: always.
        """
        raise NotApplicableError(_NO_LAW)

    infinite_mass: ClassVar[float] = 0.0
    """The probability of infinite loss, 0, because normal densities are positive everywhere."""

    @property
    def loss_range(self) -> tuple[float, float]:
        """Bounds on the loss: the likelihood ratio takes all values above the probability c of being in no step."""
        least = _log(self.law.constant)
        return (-math.inf, -least) if self.add else (least, math.inf)

    @property
    def transform(self) -> AllocationTransform | None:
        """The characteristic function, by Mellin's integral; ``None`` if it is not available in this direction."""
        return AllocationTransform(self.law, self.add) if self.law.has_lines(self.add) else None

    @property
    def patience(self) -> float:  # type: ignore[override]
        """Additional units of work that an engine may spend on a question about the pair."""
        return self.law.patience

    @property
    def rho(self) -> float:
        """A rho of zero-concentrated privacy: ``K(t) <= t (1 + t) rho`` for all t > 0."""
        return self.law.rho

    @property
    def mirror(self) -> AllocationPair:
        """The pair with P and Q exchanged, for the other direction."""
        return replace(self, add=not self.add)

    @property
    def wider(self) -> tuple[tuple[DominatingPair, int], ...]:
        """(pair, count) tuples of better-known pairs whose product dominates this pair, or this pair itself."""
        if self.law.wider is None:
            return ((self, 1),)
        mu, law = self.law.wider
        return (GaussianPair(mu), 1), (AllocationPair(law, self.add), 1)

    def log_moment(self, t: float) -> float:
        """Upper bound on K(t), by quadrature or from integer moments; its excess is about SHARE times K(t)."""
        return AllocationTransform(self.law, self.add).upper(t, None)

    @property
    def limit_variance(self) -> float:
        """The variance ``E_Q (Lambda - 1)^2``, which an epoch adds to mu^2 in the central limit theorem."""
        return self.law.variance

    def standing_in(self, log_floor: float) -> tuple[Array, Array]:
        """Return losses and log-masses that approximate the law; engines search with them for an evaluation point."""
        log, log_q = _likely_losses(self.law.like, log_floor)
        return (-log, log_q) if self.add else (log, log_q + log)


def epoch(mu: float, groups: Groups, constant: Fraction, add: bool) -> DominatingPair:
    """Return the pair of an epoch; for a single step, a Gaussian pair, Poisson-sampled if the record may be in no step.

    For a single step that has the record with probability w, the sampling rate is w, rounded to a double.

    Args:
        mu: distance of the two laws of a step, in standard deviations.
        groups: probability of each step of a group, and the number of its steps; empty groups are left out, and groups
            of equal probability are merged.
        constant: probability that the record is in no step.
        add: True if the record is added, False if it is removed.

    >>> epoch(1.0, ((Fraction(1, 3), 2), (Fraction(1, 3), 1)), Fraction(0), False).law.groups
    ((Fraction(1, 3), 3),)
    """
    merged: dict[Fraction, int] = {}
    for weight, count in groups:
        if count:
            merged[weight] = merged.get(weight, 0) + count
    if sum(merged.values()) == 1:
        (weight,) = merged
        pair = GaussianPair(mu)
        return (PoissonAddPair if add else PoissonRemovePair)(pair, float(weight)) if constant else pair
    return AllocationPair(AllocationLaw(mu, constant, tuple(sorted(merged.items(), reverse=True))), add)


def _log(share: Fraction) -> float:
    """Return the logarithm of a fraction, with a relative error of a few roundings."""
    if not share:
        return -math.inf
    return math.log(share) if share < Fraction(1, 2) else math.log1p(-float(1 - share))


def _likely_losses(law: AllocationLaw, log_floor: float) -> tuple[Array, Array]:
    """Return values of ``log Lambda`` and log-masses that approximate its law under Q, to guide a search only.

    These values certify nothing. Lambda is ``c + S``, where S is a sum of lognormal variables, one for each step.
    First, S is approximated given that the record is in a step of the first group. The variable of that step keeps its
    law. A lognormal variable of the same mean and variance replaces the sum of all other variables. If there are more
    than MANY steps, extremely improbable values of the other variables are left out, since they dominate the variance
    but hardly matter for the law. Then the masses are divided by ``S / (1 - c)``, the density of this law of S relative
    to the law of S under Q.
    """
    from scipy.special import ndtr, ndtri

    mu, first, present = law.mu, float(law.groups[0][0]), float(1 - law.constant)
    z = -float(ndtri(RARE / law.steps)) if law.steps > MANY else math.inf
    rest = (present - first) * float(ndtr(z - mu))
    square = math.exp(min(mu * mu, LARGEST)) * float(ndtr(z - 2 * mu)) - float(ndtr(z - mu)) ** 2
    variance = max(square, 0.0) * max(law.squares - first * first, 0.0)
    width = math.sqrt(math.log1p(variance / rest**2)) if rest > 0 else 0.0
    x, log_mass = _normal(OF_ONE, log_floor)
    y, log_beside = _normal(OF_OTHERS, log_floor)
    one = first * np.exp(np.clip(mu * x + 0.5 * mu * mu, -LARGEST, LARGEST))
    others = rest * np.exp(np.clip(width * y - 0.5 * width * width, -LARGEST, LARGEST))
    total = np.add.outer(one, others).ravel()
    log_q = np.add.outer(log_mass, log_beside).ravel() + math.log(present) - np.log(total)
    return np.log(float(law.constant) + total), log_q


def _normal(values: int, log_floor: float) -> tuple[Array, Array]:
    """Return values of a standard normal variable, spaced more closely around 0, and the logarithms of their masses."""
    place = np.linspace(-CLOSER, CLOSER, values)
    reach = math.sqrt(2 * min(max(-log_floor, 20.0), MOST_EXPONENT))
    x = reach * np.sinh(place) / math.sinh(CLOSER)
    log_mass = -0.5 * np.square(x) + np.log(np.cosh(place))
    return x, log_mass - math.log(float(np.exp(log_mass).sum()))


_NO_LAW = (
    "only the moments of an epoch of random allocation are known, not the distribution of its loss; "
    "use accountant 'auto', 'contour' or 'rdp'"
)
"""Error message where the law of the loss is needed."""
