"""``advanced``: advanced composition. An upper bound: epsilon grows with the square root of the number of rounds.

For rounds that are (epsilon_i, delta_i), both ways round, and any slack delta' > 0, with ``V = sum epsilon_i^2``:

- Dwork, Rothblum, Vadhan 2010 [DRV10], Theorem III.3, its proof with unequal epsilons:
  ``epsilon = sum epsilon_i (e^epsilon_i - 1) + sqrt(2 V log(1/delta'))`` at ``delta' + sum delta_i``;
- Kairouz, Oh, Viswanath 2015 [KOV15], Theorem 3.5: the least of ``sum epsilon_i`` and ``m + sqrt(2 V s)``,
  with ``m = sum epsilon_i tanh(epsilon_i / 2)`` and ``s`` either of ``log(1/delta')`` and ``log(e + sqrt(V)/delta')``,
  at ``1 - (1 - delta') prod (1 - delta_i)``. As ``tanh(x/2) <= x/2`` it covers ``V/2 + sqrt(2 V log(1/delta'))``, that
  is zCDP.

Proof: the worst loss is epsilon_i or -epsilon_i, of mean ``epsilon_i tanh(epsilon_i/2)``, so by Hoeffding's inequality
``P(L > m + x) <= e^(-x^2/2V)``, which is at least delta(m + x). Moreover ``delta(m + x) = int_0^inf e^-u P(L > m + x +
u) du <= e^(-x^2/2V) / (1 + x/V)``, at most ``sqrt(V) e^(-x^2/2V)`` for ``x >= sqrt(V)``: hence the second s.

The option ``sharper`` is 1 for the second, 0 for the first. A search in one variable splits delta between slack and
rounds, the price of delta splits it between kinds of rounds. Each round's epsilon comes from its own privacy curve, in
both directions, with the rounding charged. Simple composition is used where it is smaller.

Cost: some twenty inversions of a privacy curve for each kind of round, whatever the number of rounds. Known failure:
per-round guarantees forget that a sampled round rarely has a large loss; for DP-SGD epsilon is tens to hundreds of
times too large. Under ``add`` or ``remove`` alone the other direction counts too. Delta at an epsilon is searched for
with per-round deltas down to 1e-30 or none, and to about 1 %.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Annotated, ClassVar

import numpy as np
import numpy.typing as npt

from hockeystick.accountants.base import Accountant
from hockeystick.accountants.shared.round_guarantee import (
    LEAST,
    REFINEMENTS,
    Kinds,
    epsilons,
    least_over_prices,
    least_over_slack,
    mutual_guarantees,
    split,
)
from hockeystick.directions.directions import Directions
from hockeystick.directions.one_sided import delta_bound, epsilon_bound, worst
from hockeystick.numerics.rounding import UNIT_ROUNDOFF
from hockeystick.values import domains
from hockeystick.values.bounds import DeltaUpperBound, UpperBound

Array = npt.NDArray[np.float64]

MAX_LOG_INVERSE = 600.0  # largest log(1/delta') whose exponential is formed
CARE = 64 * UNIT_ROUNDOFF  # relative rounding of the formulas below, whose terms are positive; LEAST covers underflow


@dataclass(frozen=True)
class AdvancedAccountant(Accountant):
    """Advanced composition of per-round guarantees.

    Args:
        sharper: 1 for Kairouz, Oh, Viswanath 2015 [KOV15]; 0 for Dwork, Rothblum, Vadhan 2010 [DRV10].
    """

    sharper: Annotated[int, domains.whole_numbers(0, 1).of("1: the theorem of 2015; 0: that of 2010")] = 1

    name: ClassVar[str] = "advanced"
    summary: ClassVar[str] = "upper bound: advanced composition of per-round (epsilon, delta)"

    def epsilon(self, directions: Directions, delta: float, gap: float | None) -> UpperBound:
        """Return the bound at the best split of delta."""
        self.refuse_gap(gap)
        subjects = mutual_guarantees(directions)
        direction, found = worst(subjects, lambda kinds: self._epsilon(kinds, delta))
        return epsilon_bound(self.name, direction, found)

    def delta(self, directions: Directions, epsilon: float, gap: float | None) -> DeltaUpperBound:
        """Return the smallest delta whose bound on epsilon suffices."""
        self.refuse_gap(gap)
        direction, found = worst(mutual_guarantees(directions), lambda kinds: self._log_delta(kinds, epsilon))
        return delta_bound(self.name, direction, found)

    def _epsilon(self, kinds: Kinds, delta: float) -> float:
        if not kinds:
            return 0.0
        budget = -math.log1p(-delta) * (1 - CARE) if self.sharper else delta
        least = [kind.least_delta for kind, _ in kinds]
        spent = math.fsum(count * self._units(d) for d, (_, count) in zip(least, kinds, strict=True)) * (1 + CARE)
        edges = [kind.edge for kind, _ in kinds]
        best = math.inf
        if spent <= budget:
            best = min(self._composed(kinds, edges, 0.0), self._composed(kinds, edges, budget - spent))
        if budget > 0:
            best = min(best, self._at(kinds, budget, 0.0), least_over_slack(budget, partial(self._at, kinds, budget)))
        return best

    def _log_delta(self, kinds: Kinds, epsilon: float) -> float:
        """Logarithm of the smallest delta at which the bound is epsilon, over the prices of delta."""

        def value(each: list[float], deltas: list[float]) -> float:
            counts = [count for _, count in kinds]
            slack = self._slack(counts, each, epsilon)
            if slack >= 1:
                return 1.0
            units = math.fsum(count * self._units(delta) for count, delta in zip(counts, deltas, strict=True))
            units = (units + self._units(slack)) * (1 + CARE)
            return min(-math.expm1(-units) * (1 + CARE) if self.sharper else units, 1.0)

        least = least_over_prices(kinds, epsilon, value) if kinds else 0.0
        return min(math.log(least) + CARE * (1 - math.log(least)), 0.0) if least > 0 else -math.inf

    def _slack(self, counts: Sequence[int], each: Sequence[float], epsilon: float) -> float:
        """The smallest delta' with which the theorem gives epsilon; 1 if there is none."""
        if any(math.isinf(part) for part in each):
            return 1.0
        if math.fsum(count * part for count, part in zip(counts, each, strict=True)) * (1 + CARE) <= epsilon:
            return 0.0
        square = (math.fsum(count * part * part for count, part in zip(counts, each, strict=True)) + LEAST) * (1 + CARE)
        mean = math.fsum(count * part * self._drift(part) for count, part in zip(counts, each, strict=True))
        x = epsilon * (1 - CARE) - mean * (1 + CARE)
        if x <= 0:
            return 1.0
        depth = x * x / (2 * square) * (1 - CARE)
        slack = max(math.exp(-depth) * (1 + CARE), LEAST)
        if self.sharper and 2 < depth < MAX_LOG_INVERSE:
            slack = min(slack, math.sqrt(square) / (math.exp(depth) - math.e) * (1 + CARE) * (1 + depth * CARE))
        return min(slack * (1 + depth * CARE), 1.0)

    def _at(self, kinds: Kinds, budget: float, slack: float, refinements: int = REFINEMENTS) -> float:
        """The bound with this slack, and the rest of the budget split between the rounds."""
        units = split(kinds, (budget - slack) * (1 - CARE), np.square if slack else np.abs)
        if units is None:
            return math.inf
        deltas = [-math.expm1(-unit) * (1 - CARE) for unit in units] if self.sharper else units
        if any(delta < kind.least_delta for delta, (kind, _) in zip(deltas, kinds, strict=True)):
            return math.inf
        return self._composed(kinds, epsilons(kinds, deltas, refinements), slack)

    def _composed(self, kinds: Kinds, each: Sequence[float], slack: float) -> float:
        """Epsilon of the whole from those of the rounds, by the theorem."""
        counts = [count for _, count in kinds]
        if any(math.isinf(epsilon) for epsilon in each):
            return math.inf
        total = math.fsum(count * epsilon for count, epsilon in zip(counts, each, strict=True)) * (1 + CARE)
        slack = (-math.expm1(-slack) if self.sharper else slack) * (1 - CARE)
        if slack <= 0:
            return total
        square = math.fsum(count * epsilon * epsilon for count, epsilon in zip(counts, each, strict=True)) + LEAST
        mean = math.fsum(count * epsilon * self._drift(epsilon) for count, epsilon in zip(counts, each, strict=True))
        depth = -math.log(slack)
        if self.sharper:
            depth = min(depth, math.log(math.e + math.sqrt(square) / slack))
        return min(total, (mean + math.sqrt(2 * square * depth)) * (1 + CARE))

    def _drift(self, epsilon: float) -> float:
        """Mean of a round's loss, or a bound on it, divided by epsilon."""
        return math.tanh(0.5 * epsilon) if self.sharper else math.expm1(min(epsilon, 700.0))

    def _units(self, delta: float) -> float:
        return (-math.log1p(-delta) if delta < 1 else math.inf) if self.sharper else delta
