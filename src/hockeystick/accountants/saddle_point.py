"""``saddle-point``: steepest descent at the saddle point (an estimate), or a normal law with its error (certified).

Alghamdi, Asoodeh, Calmon, Gomez, Kosut, Sankar 2023 [AAC+23]. With K the cumulant generating function of the
composed loss and any t > 0

    delta(eps) = 1/(2 pi) int e^(F(t + is)) ds,      F(z) = K(z) - eps z - log z - log(1 + z),

and t is taken at the saddle point, where F'(t) = 0. The option ``order`` selects the approximation:

- ``order=1``: ``e^F / sqrt(2 pi F'')``.
- ``order=2`` (the default): this times ``1 + F''''/(8 F''^2) - 5 F'''^2/(24 F''^3)``.
- ``order=0``: the sum of losses, tilted by t, is replaced by a normal Z with its mean and variance. Let d be the
  Kolmogorov distance of the two laws, and ``f(x) = e^(-tx) (1 - e^-x)_+``, which has total variation
  ``2 t^t / (1 + t)^(1 + t)``. Then

      |delta - e^(K(t) - t eps) E f(Z - eps)| <= e^(K(t) - t eps) 2 d t^t / (1 + t)^(1 + t),

  with a bound on d by the theorem of Berry and Esseen (:class:`NormalForm`). K, mean, variance and third absolute
  moment are known up to certified bounds (``accountants/shared/tilted_moments.py``). The upper bound by K(t) alone,
  from ``f <= t^t / (1 + t)^(1 + t)``, is used where it is smaller.

Cost: some dozens of sums over the nodes of one round, whatever the number of rounds. Known failure: where rare large
losses dominate delta (small rates with little noise) the estimate is off by a factor, and the certified half-width at
``order=0`` is from 0.1 delta to many times delta even for a thousand rounds.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, NamedTuple

from hockeystick.accountants.published import PublishedAccountant
from hockeystick.accountants.shared.lattice import RELATIVE
from hockeystick.accountants.shared.tilted import Cumulants, TiltedComposition
from hockeystick.accountants.shared.tilted_moments import BERRY_ESSEEN, moments_of, representable
from hockeystick.directions import finite
from hockeystick.directions.directions import Directions
from hockeystick.numerics.roots import root
from hockeystick.numerics.rounding import TINY, UNIT_ROUNDOFF
from hockeystick.pairs import Composition
from hockeystick.pairs.gaussian import GaussianPair
from hockeystick.pairs.renyi import log_peak
from hockeystick.values import domains
from hockeystick.values.bounds import Bound, DeltaBound, DeltaEstimate, Estimate
from hockeystick.values.errors import NotApplicableError
from hockeystick.values.interval import Interval

LOG_T_RANGE = (-40.0, 40.0)  # range of log t in the search for a tilt
STRIDE = math.log(3.0)  # step of log t while bracketing a root


@dataclass(frozen=True)
class SaddlePointAccountant(PublishedAccountant):
    """Accountant by the saddle-point approximation in each direction; the larger of the two values is the answer."""

    order: Annotated[
        int,
        domains.whole_numbers(0, 2).of(
            "number of terms of the expansion; 0 for the normal distribution with its certified error"
        ),
    ] = 2

    name = "saddle-point"
    summary = "estimate: steepest descent at the saddle point (order=0: certified, normal distribution and its error)"

    def epsilon_at(self, directions: Directions, delta: float) -> Bound | Estimate:
        """Return an estimate of epsilon by steepest descent, or for ``order=0`` an interval by the normal law."""
        if self.order == 0:
            return finite.bounded_epsilon(directions, delta, self.name, normal_epsilon)
        return finite.estimated_epsilon(directions, delta, self.name, self._epsilon)

    def delta_at(self, directions: Directions, epsilon: float) -> DeltaBound | DeltaEstimate:
        """Return an estimate of delta by steepest descent, or for ``order=0`` an interval by the normal law."""
        if self.order == 0:
            return finite.bounded_delta(directions, epsilon, self.name, normal_delta)
        return finite.estimated_delta(directions, epsilon, self.name, self._log_delta)

    def _log_delta(self, composition: Composition, epsilon: float) -> float:
        tilted = TiltedComposition(composition)
        t = tilt_of(tilted, epsilon)
        return expansion(tilted.at(t), t, epsilon, self.order)

    def _epsilon(self, composition: Composition, delta: float) -> float:
        tilted, log_delta = TiltedComposition(composition), math.log(delta)
        start = math.log(tilt_of(tilted, 0.0))

        def excess(log_t: float) -> float:
            t = math.exp(log_t)
            found = tilted.at(t)
            return log_delta - expansion(found, t, epsilon_from(found, t), self.order)

        return 0.0 if excess(start) >= 0 else epsilon_of(tilted, math.exp(increasing_root(excess, start)))


def epsilon_from(found: Cumulants, t: float) -> float:
    """Return the epsilon whose saddle point is t: ``K'(t) - 1/t - 1/(1 + t)``, increasing in t."""
    return found.mean - 1 / t - 1 / (1 + t)


def epsilon_of(tilted: TiltedComposition, t: float) -> float:
    """Return the epsilon whose saddle point is t."""
    return epsilon_from(tilted.at(t), t)


def tilt_of(tilted: TiltedComposition, epsilon: float) -> float:
    """Return the saddle point t of epsilon: the minimum of F, which is convex on t > 0."""
    return math.exp(increasing_root(lambda log_t: epsilon_of(tilted, math.exp(log_t)) - epsilon, 0.0))


def expansion(found: Cumulants, t: float, epsilon: float, order: int) -> float:
    """Return the logarithm of the steepest-descent estimate of delta, at most 0.

    Raises:
        NotApplicableError: the second term of the expansion nearly cancels the first.
    """
    second = found.variance + t**-2 + (1 + t) ** -2
    log = found.log - epsilon * t - math.log(t) - math.log1p(t) - 0.5 * math.log(2 * math.pi * second)
    if order == 2:
        third = found.third - 2 * t**-3 - 2 * (1 + t) ** -3
        fourth = found.fourth + 6 * t**-4 + 6 * (1 + t) ** -4
        correction = fourth / (8 * second**2) - 5 * third**2 / (24 * second**3)
        if correction <= -0.9:
            raise NotApplicableError(
                f"the second term of the expansion is {correction:.3g} of the first, because the loss is far from "
                "normal; set order to 1, or use accountant 'contour' or 'grid'"
            )
        log += math.log1p(correction)
    return min(log, 0.0)


def normal_delta(composition: Composition, epsilon: float) -> Interval:
    """Return certified ends of delta from the normal law, with the tilt at the saddle point of epsilon."""
    tilted = TiltedComposition(composition)
    return NormalForm(tilted, tilt_of(tilted, epsilon)).log_delta(epsilon)


def normal_epsilon(composition: Composition, deltas: tuple[float, float]) -> Interval:
    """Return certified ends of epsilon, by a search among saddle points.

    At the upper end, the upper bound on delta is at most ``deltas[0]``. At the lower end, the lower bound on delta is
    at least ``deltas[1]``. Any two epsilons with these properties are valid ends.
    """
    tilted = TiltedComposition(composition)
    start = math.log(tilt_of(tilted, 0.0))

    least, most = map(math.log, deltas)

    def at(log_t: float) -> tuple[float, Interval]:
        epsilon = max(epsilon_of(tilted, math.exp(log_t)), 0.0)
        return epsilon, NormalForm(tilted, math.exp(log_t)).log_delta(epsilon)

    upper = _last_before(lambda log_t: at(log_t)[1].upper <= least, start)[1]
    lower = _last_before(lambda log_t: at(log_t)[1].lower < most, start)[0]
    high = 0.0 if upper == start and NormalForm(tilted, math.exp(start)).log_delta(0.0).upper <= least else at(upper)[0]
    low = 0.0 if lower == start else min(at(lower)[0], high)
    return Interval(low, _guess(tilted, start, least, low, high), high)


def _guess(tilted: TiltedComposition, start: float, log_delta: float, low: float, high: float) -> float:
    """The epsilon at which the normal law, without its error bound, gives this log delta, clipped to [low, high]."""

    def excess(log_t: float) -> float:
        t = math.exp(log_t)
        return log_delta - NormalForm(tilted, t).log_value(max(epsilon_of(tilted, t), 0.0))

    if excess(start) >= 0:
        return low
    return min(max(epsilon_of(tilted, math.exp(increasing_root(excess, start))), low), high)


def _last_before(holds: Callable[[float], bool], start: float) -> tuple[float, float]:
    """Return two nearby values of log t, such that ``holds`` is false at the first and true at the second.

    Both are ``start`` if ``holds`` is true at ``start``.

    Raises:
        NotApplicableError: ``holds`` is false everywhere in the range of t.
    """
    before = after = start
    while not holds(after):
        before, after = after, after + 0.25
        if after > LOG_T_RANGE[1]:
            raise NotApplicableError("delta is too small for one moment; use accountant 'contour' or 'grid'")
    while after - before > 1e-4:
        middle = 0.5 * (before + after)
        before, after = (before, middle) if holds(middle) else (middle, after)
    return before, after


def increasing_root(f: Callable[[float], float], start: float) -> float:
    """Return the log t at which a function of log t, increasing through 0, is 0.

    Raises:
        NotApplicableError: there is no root within the range of t.
    """
    value, low, high = f(start), start, start
    while value > 0 and low > LOG_T_RANGE[0]:
        high, low = low, low - STRIDE
        value = f(low)
    upper = f(high)
    while upper < 0 and high < LOG_T_RANGE[1]:
        low, high = high, high + STRIDE
        upper = f(high)
    if value > 0 or upper < 0:
        raise NotApplicableError(
            "no saddle point exists, because epsilon is too close to the largest loss or delta is too small; use "
            "accountant 'contour' or 'grid'"
        )
    return root(f, low, high, xtol=1e-13, rtol=1e-14) if high > low else start


class _Sum(NamedTuple):
    """Tilted sum of losses, and the normal law that replaces it.

    Attributes:
        low: lower bound on K(t).
        high: upper bound on K(t).
        mean: mean of the normal law.
        variance: variance of the normal law.
        distance: bound on the Kolmogorov distance of the normal law from the tilted sum.
    """

    low: float
    high: float
    mean: float
    variance: float
    distance: float


@dataclass(frozen=True)
class NormalForm:
    """Normal law in place of the tilted sum of losses, at one tilt, with a certified error.

    Let S be the tilted sum and ``f(x) = e^(-tx) (1 - e^-x)_+``; then ``delta = e^(K(t) - t eps) E f(S - eps)``. For Z
    normal with mean m and variance v,

        E f(Z - eps) = e^(-g^2/2) [e(t sqrt(v) - g) - e((t + 1) sqrt(v) - g)] / 2,

    with ``g = (m - eps) / sqrt(v)`` and ``e(z) = erfcx(z / sqrt(2))``. As x grows, f rises from 0 to its peak
    ``t^t / (1 + t)^(1 + t)`` and falls back to 0. Integration by parts shows that ``|E f(S - eps) - E f(Z - eps)|`` is
    at most twice the peak times the Kolmogorov distance of S and Z. This distance is at most the sum of two terms. The
    first is ``0.56 sum E |X_i|^3 / V^(3/2)``, with X_i the centred tilted losses and V the variance of S (Berry,
    Esseen; the constant for different summands is by Shevtsova 2010 [She10]). The second bounds the distance between
    two normal laws, one with the true mean and variance, one with m and v. It is
    ``|dm| / sqrt(2 pi v) + (s - 1) / sqrt(2 pi e)``, with dm the difference of the means, and s >= 1 the ratio of the
    larger to the smaller standard deviation. Gaussian rounds stay Gaussian under the tilt. Each can be divided into any
    number of independent Gaussian parts, and the sum of the parts' third moments vanishes as their number grows. Hence
    Gaussian rounds enter the first term through V only.
    """

    tilted: TiltedComposition
    tilt: float

    @property
    def t(self) -> float:
        """Tilt used: ``tilt`` rounded to 24 bits."""
        return representable(self.tilt)

    def log_value(self, epsilon: float) -> float:
        """Return log delta by the normal law, without its error bound."""
        return self._sum.high - self.t * epsilon + math.log(max(self._expectation(epsilon)[0], TINY))

    def log_delta(self, epsilon: float) -> Interval:
        """Return certified ends of log delta.

        The upper end comes from the smaller of two bounds on delta: the normal law's value plus its error, and
        ``e^(K - t eps) t^t / (1 + t)^(1 + t)``.
        """
        found, t = self._sum, self.t
        value, error = self._expectation(epsilon)
        peak = math.exp(log_peak(t)) * (1 + RELATIVE)
        width = 2 * found.distance * peak + error
        # the logarithm of a double is at most 745 in absolute value
        slack = RELATIVE + 8 * UNIT_ROUNDOFF * (745 + abs(found.high) + abs(found.low) + t * epsilon)
        most, least = max(min(value + width, peak), TINY), value - width
        upper = min(found.high - t * epsilon + slack + math.log(most), 0.0)
        lower = min(found.low - t * epsilon - slack + math.log(least), upper) if least > 0 else -math.inf
        return Interval(lower, min(max(self.log_value(epsilon), lower), upper), upper)

    @cached_property
    def _sum(self) -> _Sum:
        t = self.t
        rows = []
        for (pair, count), about in zip(self.tilted.composition.rounds, self.tilted.rounds_at(t), strict=True):
            found = moments_of(pair, t, about)
            third = 0.0 if isinstance(pair, GaussianPair) else found.third
            rows.append([count * value for value in (*found.log, *found.mean, *found.variance, third)])
        low, high, mean_low, mean_high, least, most, third = map(math.fsum, zip(*rows, strict=True))
        mean, variance = 0.5 * (mean_low + mean_high), 0.5 * (least + most)
        distance = 1.0
        if least > 0:
            ratio = math.sqrt(max(most / variance, variance / least)) * (1 + RELATIVE)
            apart = (0.5 * (mean_high - mean_low) + RELATIVE * abs(mean)) / math.sqrt(2 * math.pi * variance)
            spread = (ratio - 1) / math.sqrt(2 * math.pi * math.e)
            distance = min(BERRY_ESSEEN * third / least**1.5 + apart + spread, 1.0) * (1 + RELATIVE)
        return _Sum(low, high, mean, variance, distance)

    def _expectation(self, epsilon: float) -> tuple[float, float]:
        """``E f(Z - eps)`` and a bound on its rounding error; (0, inf) if it cannot be evaluated."""
        from scipy.special import erfcx

        found, t = self._sum, self.t
        if not found.variance > 0:
            return 0.0, math.inf
        s = math.sqrt(found.variance)
        g = (found.mean - epsilon) / s
        ends = (t * s - g, (t + 1) * s - g)
        if min(ends) < -36 or abs(g) > 36:
            return 0.0, math.inf
        first, second = (math.exp(-0.5 * g * g) * float(erfcx(z / math.sqrt(2))) / 2 for z in ends)
        size = sum(value * (1 + z * z + g * g) for value, z in zip((first, second), ends, strict=True))
        return max(first - second, 0.0), 256 * UNIT_ROUNDOFF * size
