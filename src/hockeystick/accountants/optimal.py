"""``optimal``: optimal composition of per-round (epsilon, delta). Certified for black boxes, else an upper bound.

Kairouz, Oh, Viswanath 2015 [KOV15], Theorem 3.3: the worst (epsilon_i, delta_i)-differentially private mechanism fails
(its loss is infinite) with probability delta_i, and is randomised response otherwise. Let ``delta'(epsilon)`` be the
delta of the composed randomised responses, whose losses are binomial (``shared/worst_case_law.py``). The worst
composition then has exactly

    delta(epsilon) = 1 - (1 - delta'(epsilon)) prod (1 - delta_i).

For unequal epsilons the computation is #P-hard (Murtagh, Vadhan 2016 [MV16]), but easy if there are few distinct
epsilons. If there are many, each is rounded to a grid as in that paper, fine enough for the requested ``error`` of the
composed epsilon.

If all rounds are black boxes or randomised response, this formula is exact, and both ends are certified. Any other
round is replaced by a black box, with an (epsilon_i, delta_i) read from the round's own privacy curve in both
directions. The result is then an upper bound. Half of delta, none or all of it is reserved for delta'.

Cost: for n rounds of one kind, sqrt(n) terms; for several kinds, as many terms as the product of all counts except the
largest; on the grid, about ``n^2 sum epsilon_i / error`` terms. Known failure: per-round guarantees ignore that a
sampled round rarely has a large loss; for DP-SGD, epsilon is tens to hundreds of times too large. Even if the plan has
only the direction ``add`` or ``remove``, the bound also depends on the opposite direction. If the result is an upper
bound, the answer for a given epsilon is the smallest delta at which the bound on epsilon is at most the given one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated

from hockeystick.accountants.published import enclosed
from hockeystick.accountants.shared.lattice import CARE, FEW_POINTS
from hockeystick.accountants.shared.round_guarantee import Kinds, SplitAccountant
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
from hockeystick.directions.finite import bounded_delta, bounded_epsilon
from hockeystick.pairs import BlackBoxPair, Composition
from hockeystick.values import domains
from hockeystick.values.bounds import Answer, DeltaAnswer
from hockeystick.values.errors import NotApplicableError
from hockeystick.values.interval import Interval
from hockeystick.values.side import Side

MAX_WORK = 3e8  # largest number of additions for the rounded law, which take some seconds
DEPTH = 45.0  # log of the ratio of the target delta to the masses that are neglected
Boxes = Sequence[tuple[float, int]]


@dataclass(frozen=True)
class OptimalAccountant(SplitAccountant):
    """Accountant by optimal composition of (epsilon_i, delta_i) guarantees.

    Args:
        error: absolute error of the composed epsilon if the epsilons of the rounds must be rounded to a grid.
    """

    error: Annotated[float, domains.POSITIVE.of("absolute error of epsilon if many epsilons differ")] = 1e-3

    name = "optimal"
    summary = "certified for black boxes, otherwise an upper bound: optimal composition of (epsilon, delta)"

    def epsilon_at(self, directions: Directions, delta: float) -> Answer:
        """Return certified ends of epsilon if all rounds are black boxes, else an upper bound."""
        if any(_boxes(composition) is None for _, composition in compositions(directions)):
            return super().epsilon_at(directions, delta)
        return bounded_epsilon(directions, delta, self.name, self._epsilon_ends)

    def delta_at(self, directions: Directions, epsilon: float) -> DeltaAnswer:
        """Return certified ends of delta if all rounds are black boxes, else an upper bound.

        The upper bound is the smallest delta at which the bound on epsilon is at most the given epsilon.
        """
        if any(_boxes(composition) is None for _, composition in compositions(directions)):
            return super().delta_at(directions, epsilon)
        return bounded_delta(directions, epsilon, self.name, self._log_delta_ends)

    def _epsilon_ends(self, composition: Composition, deltas: tuple[float, float]) -> Interval:
        """Certified ends of epsilon for black boxes; ``deltas`` enclose ``delta' prod (1 - delta_i)``."""
        boxes = _boxes(composition)
        if not boxes:
            return Interval(0.0, 0.0, 0.0)
        least, most = composition.infinite_mass_ends
        target = deltas[0] / (1 - least) * (1 - CARE), deltas[1] / (1 - most) * (1 + CARE)
        below, above = self._laws(boxes, max(math.log(target[0]) - DEPTH, FLOOR))
        low, high = below.epsilon(*target)[0], above.epsilon(*target)[1]
        return enclosed(low, high)

    def _log_delta_ends(self, composition: Composition, epsilon: float) -> Interval:
        """Certified ends of ``log(delta' prod (1 - delta_i))``, the log delta of the finite losses of black boxes."""
        least, most = composition.infinite_mass_ends
        below, above = self._laws(_boxes(composition) or [], FLOOR)
        low, high = (1 - most) * below.below(epsilon) * (1 - CARE), (1 - least) * above.above(epsilon) * (1 + CARE)
        log_low, log_high = (math.log(end) if end > 0 else -math.inf for end in (low, high))
        return enclosed(log_low * (1 + CARE), log_high * (1 - CARE))

    def _laws(self, boxes: Boxes, floor: float) -> tuple[WorstCase, WorstCase]:
        """Return composed laws for the lower and the upper end; they are the same law if no epsilon is rounded."""
        if exact_points(boxes) <= FEW_POINTS:
            laws = [binomial_law(epsilon, count, floor) for epsilon, count in boxes]
            law = WorstCase(laws, math.fsum(epsilon * count for epsilon, count in boxes) * (1 + CARE))
            return law, law
        step = rounding_step(boxes, self.error)
        work = rounding_work(boxes, step)
        if work > MAX_WORK:
            raise NotApplicableError(
                f"{len(boxes)} different epsilons need {work:.1e} terms at error {self.error:g}; raise the option "
                f"error to at least {self.error * work / MAX_WORK * 1.1:.1e}"
            )
        size = math.fsum(count * (epsilon + 2 * step) for epsilon, count in boxes)
        down, up = (WorstCase([rounded_law(boxes, step, side)], size) for side in (Side.BELOW, Side.ABOVE))
        return down, up

    def composed(self, kinds: Kinds, each: Sequence[float], slack: float) -> float:
        """Return an upper bound on epsilon of the composed randomised responses at ``delta' = 1 - e^-slack``."""
        boxes = [(epsilon, count) for epsilon, (_, count) in zip(each, kinds, strict=True) if epsilon > 0]
        total = math.fsum(epsilon * count for epsilon, count in boxes) * (1 + CARE)
        target = -math.expm1(-slack) * (1 - CARE)
        if not boxes or target <= 0:
            return total
        work = rounding_work(boxes, rounding_step(boxes, self.error))
        coarse = replace(self, error=self.error * max(1.1 * work / MAX_WORK, 1.0))  # any grid gives an upper bound
        floor = max(math.log(target) - DEPTH, FLOOR)
        return min(coarse._laws(boxes, floor)[1].epsilon(target, target)[1], total)


def _boxes(composition: Composition) -> Boxes | None:
    """The distinct epsilons > 0 of the rounds with their counts, if all rounds are black boxes; ``None`` otherwise."""
    counts: dict[float, int] = {}
    for pair, count in composition.rounds:
        if not isinstance(pair, BlackBoxPair):
            return None
        if pair.epsilon > 0:
            counts[pair.epsilon] = counts.get(pair.epsilon, 0) + count
    return list(counts.items())
