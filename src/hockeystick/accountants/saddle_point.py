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

  d by the theorem of Berry and Esseen (``accountants/shared/normal_form.py``). K, mean, variance and third absolute
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
from typing import Annotated

from hockeystick.accountants.published import PublishedAccountant
from hockeystick.accountants.shared.normal_form import NormalForm
from hockeystick.accountants.shared.tilted import Cumulants, TiltedComposition
from hockeystick.directions import finite
from hockeystick.directions.directions import Directions
from hockeystick.numerics.roots import root
from hockeystick.pairs import Composition
from hockeystick.values import domains
from hockeystick.values.bounds import Bound, DeltaBound, DeltaEstimate, Estimate
from hockeystick.values.errors import NotApplicableError

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
            return log_delta - expansion(tilted.at(t), t, epsilon_of(tilted, t), self.order)

        return 0.0 if excess(start) >= 0 else epsilon_of(tilted, math.exp(increasing_root(excess, start)))


def epsilon_of(tilted: TiltedComposition, t: float) -> float:
    """Return the epsilon whose saddle point is t: ``K'(t) - 1/t - 1/(1 + t)``, increasing in t."""
    return tilted.at(t).mean - 1 / t - 1 / (1 + t)


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


def normal_delta(composition: Composition, epsilon: float) -> finite.Ends:
    """Return certified ends of delta by the normal law at the saddle point of epsilon."""
    tilted = TiltedComposition(composition)
    return NormalForm(tilted, tilt_of(tilted, epsilon)).delta(epsilon)


def normal_epsilon(composition: Composition, deltas: tuple[float, float]) -> finite.Ends:
    """Return ends of epsilon: where the upper end of delta is at most delta, and where its lower end is at least delta.

    Every such pair of epsilons is valid.
    """
    tilted = TiltedComposition(composition)
    start = math.log(tilt_of(tilted, 0.0))

    def at(log_t: float) -> tuple[float, finite.Ends]:
        epsilon = max(epsilon_of(tilted, math.exp(log_t)), 0.0)
        return epsilon, NormalForm(tilted, math.exp(log_t)).delta(epsilon)

    upper = _last_before(lambda log_t: at(log_t)[1].upper <= deltas[0], start)[1]
    lower = _last_before(lambda log_t: at(log_t)[1].lower < deltas[1], start)[0]
    high = 0.0 if upper == start and NormalForm(tilted, math.exp(start)).delta(0.0).upper <= deltas[0] else at(upper)[0]
    low = 0.0 if lower == start else min(at(lower)[0], high)
    return finite.Ends(low, _guess(tilted, start, deltas[0], low, high), high)


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
