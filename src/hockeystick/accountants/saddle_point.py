"""``saddle-point``: steepest descent at the saddle point (an estimate), or a normal law with its error (certified).

Alghamdi, Asoodeh, Calmon, Gomez, Kosut, Sankar 2023 [AAC+23]. With K the cumulant generating function of the
composed loss and any t > 0

    delta(eps) = 1/(2 pi) int e^(F(t + is)) ds,      F(z) = K(z) - eps z - log z - log(1 + z),

t taken at the saddle point F'(t) = 0:

- ``order=1``: ``e^F / sqrt(2 pi F'')``; ``order=2`` (the default) times ``1 + F''''/(8 F''^2) - 5 F'''^2/(24 F''^3)``;
- ``order=0``: the tilted sum is replaced by the normal law of its mean and variance. With
  ``f(x) = e^(-tx) (1 - e^-x)_+``, whose total variation is ``2 t^t / (1 + t)^(1 + t)``, and d the Kolmogorov distance
  of the two laws

      |delta - e^(K(t) - t eps) E f(Z - eps)| <= e^(K(t) - t eps) 2 d t^t / (1 + t)^(1 + t),

  d by the theorem of Berry and Esseen (:class:`NormalForm`). K, mean, variance and third absolute
  moment are themselves bounded (``accountants/shared/tilted_moments.py``). The bound by a single moment, from ``f <=
  t^t / (1 + t)^(1 + t)``, is used where it is smaller.

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
from hockeystick.accountants.shared.tilted import Cumulants, TiltedComposition
from hockeystick.accountants.shared.tilted_moments import BERRY_ESSEEN, RELATIVE_SLACK, moments_of, representable
from hockeystick.directions import finite
from hockeystick.directions.directions import Directions
from hockeystick.numerics.roots import root
from hockeystick.numerics.rounding import LARGEST, TINY, UNIT_ROUNDOFF, next_down, next_up
from hockeystick.pairs import Composition
from hockeystick.pairs.gaussian import GaussianPair
from hockeystick.pairs.renyi import log_peak
from hockeystick.values import domains
from hockeystick.values.bounds import Bound, DeltaBound, DeltaEstimate, Estimate
from hockeystick.values.errors import NotApplicableError
from hockeystick.values.interval import Interval

LOG_T_RANGE = (-40.0, 40.0)  # range of log t in the search of a tilt
STRIDE = math.log(3.0)  # step of log t while bracketing a root
BISECTIONS = 12  # bisections of a range of 0.25 in log t


@dataclass(frozen=True)
class SaddlePointAccountant(PublishedAccountant):
    """Saddle-point approximation of each direction; the maximum is taken last."""

    order: Annotated[
        int,
        domains.whole_numbers(0, 2).of(
            "number of terms of the expansion; 0 for the normal distribution with its certified error"
        ),
    ] = 2

    name = "saddle-point"
    summary = "estimate: steepest descent at the saddle point (order=0: certified, normal distribution and its error)"

    def epsilon_at(self, directions: Directions, delta: float) -> Bound | Estimate:
        """Return the epsilon whose saddle point gives delta."""
        if self.order == 0:
            return finite.bounded_epsilon(directions, delta, self.name, normal_epsilon)
        return finite.estimated_epsilon(directions, delta, self.name, self._epsilon)

    def delta_at(self, directions: Directions, epsilon: float) -> DeltaBound | DeltaEstimate:
        """Return delta by the expansion at the saddle point of epsilon."""
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
    """Return the saddle point of epsilon; F is convex on t > 0."""
    return math.exp(increasing_root(lambda log_t: epsilon_of(tilted, math.exp(log_t)) - epsilon, 0.0))


def expansion(found: Cumulants, t: float, epsilon: float, order: int) -> float:
    """Return the logarithm of the steepest-descent estimate of delta, at most 0.

    Raises:
        NotApplicableError: the correction cancels the leading term.
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
    """Return certified ends of delta by the normal law at the saddle point of epsilon."""
    tilted = TiltedComposition(composition)
    return NormalForm(tilted, tilt_of(tilted, epsilon)).delta(epsilon)


def normal_epsilon(composition: Composition, deltas: tuple[float, float]) -> Interval:
    """Return ends of epsilon: where the upper end of delta is at most delta, and where its lower end is at least delta.

    Every such pair of epsilons is valid.
    """
    tilted = TiltedComposition(composition)
    start = math.log(tilt_of(tilted, 0.0))

    def at(log_t: float) -> tuple[float, Interval]:
        epsilon = max(epsilon_of(tilted, math.exp(log_t)), 0.0)
        return epsilon, NormalForm(tilted, math.exp(log_t)).delta(epsilon)

    upper = _last_before(lambda log_t: at(log_t)[1].upper <= deltas[0], start)[1]
    lower = _last_before(lambda log_t: at(log_t)[1].lower < deltas[1], start)[0]
    high = 0.0 if upper == start and NormalForm(tilted, math.exp(start)).delta(0.0).upper <= deltas[0] else at(upper)[0]
    low = 0.0 if lower == start else min(at(lower)[0], high)
    return Interval(low, _guess(tilted, start, deltas[0], low, high), high)


def _guess(tilted: TiltedComposition, start: float, delta: float, low: float, high: float) -> float:
    """Log t at which the normal law, without its error, gives this delta, clipped to [low, high]."""

    def excess(log_t: float) -> float:
        t = math.exp(log_t)
        return delta - NormalForm(tilted, t).value(max(epsilon_of(tilted, t), 0.0))

    if excess(start) >= 0:
        return low
    return min(max(epsilon_of(tilted, math.exp(increasing_root(excess, start))), low), high)


def _last_before(holds: Callable[[float], bool], start: float) -> tuple[float, float]:
    """Two nearby points of log t between which a condition starts to hold; both ``start`` if it holds at ``start``.

    Raises:
        NotApplicableError: the condition never holds.
    """
    before = after = start
    while not holds(after):
        before, after = after, after + 0.25
        if after > LOG_T_RANGE[1]:
            raise NotApplicableError("delta is too small for one moment; use accountant 'contour' or 'grid'")
    for _ in range(BISECTIONS if after > before else 0):
        middle = 0.5 * (before + after)
        before, after = (before, middle) if holds(middle) else (middle, after)
    return before, after


def increasing_root(f: Callable[[float], float], start: float) -> float:
    """Return the root in log t of a function that increases through 0.

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
    """Lower and upper bounds on K, mean and variance of the normal law, and a bound on the Kolmogorov distance."""

    low: float
    high: float
    mean: float
    variance: float
    distance: float


@dataclass(frozen=True)
class NormalForm:
    """Normal law in place of the tilted sum of losses, at one tilt, with a certified error.

    With S the tilted sum and ``f(x) = e^(-tx) (1 - e^-x)_+``, ``delta = e^(K(t) - t eps) E f(S - eps)``. For Z normal
    with mean m and variance v

        E f(Z - eps) = e^(-g^2/2) [e(t sqrt(v) - g) - e((t + 1) sqrt(v) - g)] / 2,

    ``g = (m - eps) / sqrt(v)``, ``e(z) = erfcx(z / sqrt(2))``. f rises from 0 to ``t^t / (1 + t)^(1 + t)`` and falls
    back: ``|E f(S - eps) - E f(Z - eps)|`` is at most twice that peak times the Kolmogorov distance of S and Z
    (integrate by parts). This distance is at most the sum of two terms. The first is ``0.56 sum E |X_i|^3 / V^(3/2)``
    (Berry, Esseen; the constant for different summands by Shevtsova 2010 [She10]). The second is the distance of the
    normal law with the true mean and variance from the normal law used, ``|dm| / sqrt(2 pi v) + (s - 1) / sqrt(2 pi
    e)``, s the larger ratio of the two standard deviations. Gaussian rounds stay Gaussian under the tilt. Each can be
    divided into any number of parts, whose third moments vanish as their number grows: Gaussian rounds count in V
    alone.
    """

    tilted: TiltedComposition
    tilt: float

    @property
    def t(self) -> float:
        """Tilt used: ``tilt`` rounded to 24 bits."""
        return representable(self.tilt)

    def value(self, epsilon: float) -> float:
        """Return delta by the normal law, without its error."""
        found = self._sum
        return math.exp(min(found.high - self.t * epsilon, LARGEST)) * self._expectation(epsilon)[0]

    def delta(self, epsilon: float) -> Interval:
        """Return certified ends of delta; the upper one is the moment bound if that is smaller.

        The moment bound is ``e^(K - t eps) t^t / (1 + t)^(1 + t)``.
        """
        found, t = self._sum, self.t
        value, error = self._expectation(epsilon)
        peak = math.exp(log_peak(t)) * (1 + RELATIVE_SLACK)
        width = 2 * found.distance * peak + error
        slack = RELATIVE_SLACK + 8 * UNIT_ROUNDOFF * (abs(found.high) + abs(found.low) + t * epsilon)
        upper = math.exp(min(found.high - t * epsilon + slack, LARGEST)) * min(value + width, peak)
        upper = next_up(upper, 2) if upper > 0 else TINY  # positive, even if it underflows
        lower = math.exp(min(found.low - t * epsilon - slack, LARGEST)) * max(value - width, 0.0)
        lower, upper = min(next_down(lower, 2), 1.0) if lower > 0 else 0.0, min(upper, 1.0)
        return Interval(lower, min(max(self.value(epsilon), lower), upper), upper)

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
            ratio = math.sqrt(max(most / variance, variance / least)) * (1 + RELATIVE_SLACK)
            apart = (0.5 * (mean_high - mean_low) + RELATIVE_SLACK * abs(mean)) / math.sqrt(2 * math.pi * variance)
            spread = (ratio - 1) / math.sqrt(2 * math.pi * math.e)
            distance = min(BERRY_ESSEEN * third / least**1.5 + apart + spread, 1.0) * (1 + RELATIVE_SLACK)
        return _Sum(low, high, mean, variance, distance)

    def _expectation(self, epsilon: float) -> tuple[float, float]:
        """``E f(Z - eps)`` and a bound on its rounding error; (0, inf) on overflow."""
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
