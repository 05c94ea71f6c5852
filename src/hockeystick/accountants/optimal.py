"""``optimal``: optimal composition of per-round (epsilon, delta). Certified where a round is known by these alone.

Kairouz, Oh, Viswanath 2015 [KOV15], Theorem 3.3: mechanisms that are (epsilon_i, delta_i) are at worst as bad
as a failure with probability delta_i, and else randomised response. With ``delta'`` that of the composed randomised
responses at epsilon (binomials, ``shared/worst_case_law.py``), the composition satisfies exactly

    delta(epsilon) = 1 - (1 - delta'(epsilon)) prod (1 - delta_i).

For unequal epsilons the sum over all outcomes is #P-hard (Murtagh, Vadhan 2016 [MV16]), but easy while few
epsilons are different; else each is rounded to a grid as there, so that epsilon is found to the ``error`` asked.

Where all rounds are black boxes or randomised response that is the truth, and both ends are certified. Other rounds are
taken for black boxes with a guarantee from their own privacy curves, in both directions: an upper bound, at the best
share of delta' in delta found by a search in one variable.

Cost: for n rounds of one kind sqrt(n) terms; for several kinds the product of the counts of all but the largest; on
the grid about ``n^2 sum epsilon_i / error``. Known failure: per-round guarantees forget that a sampled round rarely
has a large loss; for DP-SGD epsilon is tens to hundreds of times too large. Under ``add`` or ``remove`` alone the other
direction counts too. Delta at an epsilon is then searched for with per-round deltas down to 1e-30 or none, and to
about 1 %.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Annotated, ClassVar

import numpy as np

from hockeystick.accountants.base import Accountant
from hockeystick.accountants.saddle_point import epsilon_of, expansion
from hockeystick.accountants.shared.round_guarantee import (
    LARGEST,
    REFINEMENTS,
    Kinds,
    epsilons,
    least_over_prices,
    least_over_slack,
    mutual_guarantees,
    split,
)
from hockeystick.accountants.shared.tilted import Cumulants
from hockeystick.accountants.shared.worst_case_law import (
    FLOOR,
    WorstCase,
    binomial_law,
    exact_points,
    rounded_law,
    rounding_step,
    rounding_work,
)
from hockeystick.directions.directions import Directions, compositions
from hockeystick.directions.one_sided import delta_bound, epsilon_bound, worst
from hockeystick.directions.two_sided import delta_interval, epsilon_interval, without_lower
from hockeystick.numerics.roots import root
from hockeystick.numerics.rounding import UNIT_ROUNDOFF
from hockeystick.pairs import Composition
from hockeystick.values import domains
from hockeystick.values.bounds import Answer, DeltaAnswer
from hockeystick.values.errors import NotApplicableError
from hockeystick.values.side import Side

CARE = 64 * UNIT_ROUNDOFF  # relative, for dozens of roundings
MAX_EXACT, MAX_WORK = 1_000_000, 3e8  # limits of the exact law's points and the rounded one's terms: seconds
MAX_WIDTH = 500_000  # largest binomial law, in points, for which the share of the slack is searched
STANDARD_DEVIATIONS = 80  # approximate span of such a law
MAX_SEARCHED = 20_000  # largest exact law, in points, for which the slack's share is searched by 25 epsilons
NOT_SEARCHED = "half of delta is the slack: to search for its best share would take too long with so many rounds"
"""Note on a bound whose share of delta was not searched."""

DEVIATIONS, LARGER = 12.0, 40.0
"""Standard deviations and e-folds by which a loss is far above epsilon: delta' is then within e^-40 of 1."""

LOG_TILTS = (-80.0, 80.0)  # range of log t of the saddle points of sums of losses
DEPTH = 45.0  # e-folds below the target at which masses are neglected
Boxes = Sequence[tuple[float, int]]


@dataclass(frozen=True)
class OptimalAccountant(Accountant):
    """Optimal composition of black boxes.

    Args:
        error: absolute error of epsilon if epsilons must be rounded to a grid.
    """

    error: Annotated[float, domains.POSITIVE.of("error of epsilon where many epsilons are different")] = 1e-3

    name: ClassVar[str] = "optimal"
    summary: ClassVar[str] = "certified for black boxes, else an upper bound: optimal composition of (epsilon, delta)"

    def epsilon(self, directions: Directions, delta: float, gap: float | None) -> Answer:
        """Return the dual of the curve, or the bound at the best split of delta."""
        self.refuse_gap(gap)
        found = compositions(directions)
        if all(_boxes(composition) is not None for _, composition in found):
            direction, composition = found[0]  # black boxes are the same in every direction
            ends = self._exact_epsilon(composition, delta)
            reason = "delta is not above the probability with which the black boxes fail"
            answer = epsilon_interval(self.name, direction, ends, reason if math.isinf(ends[1]) else None)
            return without_lower(directions, answer)
        subjects = mutual_guarantees(directions)
        direction, upper = worst(subjects, lambda kinds: self._epsilon(kinds, delta))
        if math.isinf(upper):
            return epsilon_bound(self.name, direction, upper)
        searched = all(_searchable(kinds) for _, kinds in subjects)
        return epsilon_bound(self.name, direction, upper, None if searched else NOT_SEARCHED)

    def delta(self, directions: Directions, epsilon: float, gap: float | None) -> DeltaAnswer:
        """Return the curve, or the smallest delta whose bound on epsilon suffices."""
        self.refuse_gap(gap)
        found = compositions(directions)
        if all(_boxes(composition) is not None for _, composition in found):
            direction, composition = found[0]
            return without_lower(
                directions, delta_interval(self.name, direction, self._exact_log_delta(composition, epsilon))
            )
        direction, upper = worst(mutual_guarantees(directions), lambda kinds: self._log_delta(kinds, epsilon))
        return delta_bound(self.name, direction, upper)

    def _exact_epsilon(self, composition: Composition, delta: float) -> tuple[float, float]:
        boxes, edge = _boxes(composition), composition.largest_loss
        assert boxes is not None
        assert edge is not None
        least, most = composition.infinite_mass_ends
        if delta < least:
            return math.inf, math.inf
        if delta <= most:
            return edge if delta == 0 else (0.0, math.inf)
        if not boxes:
            return 0.0, 0.0
        target = (delta - most) / (1 - most) * (1 - CARE), (delta - least) / (1 - least) * (1 + CARE)
        low, high = (law.epsilon(*target) for law in self._laws(boxes, max(math.log(target[0]) - DEPTH, FLOOR)))
        return min(low[0], edge[1]), min(high[1], edge[1])

    def _exact_log_delta(self, composition: Composition, epsilon: float) -> tuple[float, float]:
        boxes, edge = _boxes(composition), composition.largest_loss
        assert boxes is not None
        assert edge is not None
        least, most = composition.infinite_mass_ends
        low = high = 0.0
        if boxes and epsilon < edge[1]:
            lower, upper = self._laws(boxes, FLOOR)
            low, high = lower.delta(epsilon)[0], upper.delta(epsilon)[1]
        low, high = (least + (1 - most) * low) * (1 - CARE), (most + (1 - least) * high) * (1 + CARE)
        below = math.log(low) - CARE * (1 - math.log(low)) if low > 0 else -math.inf
        above = math.log(high) + CARE * (1 - math.log(high)) if high > 0 else -math.inf
        return below, min(above, 0.0)

    def _laws(self, boxes: Boxes, floor: float) -> tuple[WorstCase, WorstCase]:
        """Composed law from below and from above, which are equal if no epsilon is rounded."""
        if exact_points(boxes) <= MAX_EXACT:
            law = _exact_law(boxes, floor)
            return law, law
        step = self._step(boxes)
        size = math.fsum(count * (epsilon + 2 * step) for epsilon, count in boxes)
        down, up = (WorstCase([rounded_law(boxes, step, side)], size) for side in (Side.BELOW, Side.ABOVE))
        return down, up

    def _step(self, boxes: Boxes) -> float:
        step = rounding_step(boxes, self.error)
        work = rounding_work(boxes, step)
        if work > MAX_WORK:
            raise NotApplicableError(
                f"{len(boxes)} different epsilons need {work:.1e} terms at error {self.error:g}: raise the option "
                f"error to {self.error * work / MAX_WORK * 1.1:.1e} or more"
            )
        return step

    def _epsilon(self, kinds: Kinds, delta: float) -> float:
        """Upper bound for rounds that are no black boxes."""
        budget = -math.log1p(-delta) * (1 - CARE)
        if any(kind.least_delta >= 1 for kind, _ in kinds):
            return math.inf
        spent = math.fsum(-count * math.log1p(-kind.least_delta) for kind, count in kinds) * (1 + CARE)
        best = math.inf
        if spent <= budget:
            best = self._composed(kinds, [kind.edge for kind, _ in kinds], budget - spent)
        return min(best, self._searched(kinds, budget)) if budget > 0 else best

    def _log_delta(self, kinds: Kinds, epsilon: float) -> float:
        """Logarithm of an upper bound on delta for rounds that are no black boxes, over the prices of delta."""

        def value(each: list[float], deltas: list[float], slack_of: Callable[[Boxes, float], float]) -> float:
            boxes = [(part, count) for part, (_, count) in zip(each, kinds, strict=True) if part > 0]
            if any(math.isinf(part) for part, _ in boxes) or any(d >= 1 for d in deltas):
                return 1.0
            total = math.fsum(part * count for part, count in boxes) * (1 + CARE)
            slack = slack_of(boxes, epsilon) if total > epsilon else 0.0
            if slack >= 1:
                return 1.0
            units = math.fsum(-count * math.log1p(-d) for d, (_, count) in zip(deltas, kinds, strict=True))
            return min(-math.expm1(-(units - math.log1p(-slack)) * (1 + CARE)) * (1 + CARE), 1.0)

        guess = None if _searchable(kinds) else partial(value, slack_of=_guessed_slack)
        least = least_over_prices(kinds, epsilon, partial(value, slack_of=self._slack), guess) if kinds else 0.0
        return min(math.log(least) + CARE * (1 - math.log(least)), 0.0) if least > 0 else -math.inf

    def _slack(self, boxes: Boxes, epsilon: float) -> float:
        """Upper bound on delta' at epsilon; 1 if all but a negligible part of the losses are far larger."""
        plain = _cumulants(boxes, 0.0)
        if plain.mean - DEVIATIONS * math.sqrt(plain.variance) > epsilon + LARGER:
            return 1.0
        return self._laws(boxes, FLOOR)[1].delta(epsilon)[1]

    def _searched(self, kinds: Kinds, budget: float) -> float:
        if not _searchable(kinds):
            return self._at(kinds, budget, 0.5 * budget)
        return least_over_slack(budget, partial(self._at, kinds, budget))

    def _at(self, kinds: Kinds, budget: float, slack: float, refinements: int = REFINEMENTS) -> float:
        units = split(kinds, (budget - slack) * (1 - CARE), np.square)
        if units is None:
            return math.inf
        deltas = [-math.expm1(-unit) * (1 - CARE) for unit in units]
        if any(delta < kind.least_delta for delta, (kind, _) in zip(deltas, kinds, strict=True)):
            return math.inf
        return self._composed(kinds, epsilons(kinds, deltas, refinements), slack)

    def _composed(self, kinds: Kinds, each: Sequence[float], slack: float) -> float:
        """Epsilon of the composed randomised responses at delta' = ``1 - e^-slack``."""
        if any(math.isinf(epsilon) for epsilon in each):
            return math.inf
        boxes = [(epsilon, count) for epsilon, (_, count) in zip(each, kinds, strict=True) if epsilon > 0]
        total = math.fsum(epsilon * count for epsilon, count in boxes) * (1 + CARE)
        target = -math.expm1(-slack) * (1 - CARE)
        if not boxes or target <= 0:
            return total
        floor = max(math.log(target) - DEPTH, FLOOR)
        return min(self._laws(boxes, floor)[1].epsilon(target, target)[1], total)


def _exact_law(boxes: Boxes, floor: float) -> WorstCase:
    laws = [binomial_law(epsilon, count, floor) for epsilon, count in boxes]
    return WorstCase(laws, math.fsum(epsilon * count for epsilon, count in boxes) * (1 + CARE))


def _cumulants(boxes: Boxes, t: float) -> Cumulants:
    """K of the sum of losses of randomised responses, its mean and its variance, for all kinds together."""
    epsilon, count = np.array(boxes, dtype=np.float64).T
    with np.errstate(over="ignore"):  # a sum that overflows is above every epsilon
        half = epsilon * (t + 0.5)
        log = count @ (np.logaddexp(half, -half) - np.logaddexp(0.5 * epsilon, -0.5 * epsilon))
        mean = count @ (epsilon * np.tanh(half))
        variance = count @ np.square(epsilon / np.cosh(np.minimum(half, LARGEST)))
    return Cumulants(float(log), float(mean), float(variance), math.nan, math.nan)


def _guessed_slack(boxes: Boxes, epsilon: float) -> float:
    """Guess of delta' at epsilon by the leading saddle-point term."""

    def over(log_tilt: float) -> float:
        t = math.exp(log_tilt)
        return epsilon_of(_cumulants(boxes, t), t) - epsilon

    if not over(LOG_TILTS[1]) > 0:
        return 0.0  # so near the largest loss that almost no mass is above
    t = math.exp(root(over, *LOG_TILTS, xtol=1e-9, rtol=1e-9))
    return math.exp(expansion(_cumulants(boxes, t), t, epsilon, order=1))


def _searchable(kinds: Kinds) -> bool:
    widest = STANDARD_DEVIATIONS * math.sqrt(max((count for _, count in kinds), default=0))
    return widest <= MAX_WIDTH and exact_points([(0.0, count) for _, count in kinds]) <= MAX_SEARCHED


def _boxes(composition: Composition) -> Boxes | None:
    """Epsilon > 0 and count of each kind of round, if all are black boxes."""
    counts: dict[float, int] = {}
    for pair, count in composition.rounds:
        if pair.worst_of is None:
            return None
        epsilon = pair.worst_of[0]
        if epsilon > 0:
            counts[epsilon] = counts.get(epsilon, 0) + count
    return list(counts.items())
