"""Approximate differential privacy: a filter and an odometer of rounds that may have infinite loss.

The deltas of the rounds add up, and so do their largest losses (or their rhos).
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import ClassVar

from hockeystick.plan.plan import Round
from hockeystick.questions.filters.additive import ZcdpFilter
from hockeystick.questions.filters.base import SLACK, Amounts, PrivacyFilter, Spending, rounded_down, rounded_up
from hockeystick.questions.filters.conversion import TARGET, balanced_tilt
from hockeystick.questions.filters.costs import BEYOND, charged
from hockeystick.values import domains
from hockeystick.values.adjacency import Adjacency, Direction
from hockeystick.values.exact import decimal
from hockeystick.values.outward import six_digits


class Guarantees(Spending):
    """Record of rounds that each have a delta, and also a largest loss, a rho, or both; all three numbers are added up.

    The deltas may add up to ``delta'' = delta - delta'``. The rest, the slack delta', is for the finite losses.
    """

    def __init__(self, delta: float, slack: float | None, adjacency: Adjacency | str) -> None:
        self._delta = domains.TARGET_DELTA.check(delta, "delta")
        self._slack = 0.5 * self._delta if slack is None else domains.TARGET_DELTA.check(slack, "slack")
        domains.check_at_most("slack", self._slack, "delta", self._delta)
        super().__init__(adjacency, (decimal(self._delta) - decimal(self._slack), BEYOND, BEYOND))

    def costs(self, item: Round, direction: Direction) -> Amounts:
        """Return the probability of an infinite loss, the largest finite loss, and the rho of one round."""
        costs = charged(ApproximateDpFilter.name, item, direction)
        return costs.failing, costs.loss, costs.rho

    @property
    def spent_delta(self) -> float:
        """Sum of the deltas of the rounds so far, rounded up."""
        return rounded_up(self._spent[0])

    @property
    def budget_delta(self) -> float:
        """Limit of the sum of the rounds' deltas: delta minus the slack, rounded down."""
        return rounded_down(self.limits[0])

    def said(self) -> str:
        """Return the spent and allowed sum of deltas as text."""
        return f"delta: {six_digits(self.spent_delta)} of {six_digits(self.budget_delta)} spent"


class ApproximateDpFilter(Guarantees, PrivacyFilter):
    """Filter of rounds with a largest loss or a rho, allowed while basic or concentrated composition meets the target.

    Let D, A and R be sums over all rounds including the new one, in one direction: D of the masses of infinite loss, A
    of the largest finite losses, R of the rhos. The new round is allowed if

        D <= delta'' = delta - delta'   and   (A <= epsilon   or   R <= rho).

    Here rho is the largest number with ``min_t e^(t (1 + t) rho - t epsilon) t^t / (1 + t)^(1 + t) <= delta'``, as in
    :meth:`ZcdpFilter.reaching`. Both rules are fixed at the start, and either suffices at any moment. A few large
    rounds meet the first rule, many small ones the second, and noise without a largest loss always needs the second.

    **All allowed rounds together are (epsilon, delta)-private, however they are chosen.** Proof. Let P and Q be the
    laws of all outputs on neighbouring datasets in one order, and T the last round run; it may depend on the outputs.

    1. *The losses.* Given the past, round i is a post-processing of its dominating pair (``costs.py``), or only its
       moments are known. Add the outcomes of the pairs to the outputs; the choice of rounds does not see these
       outcomes. Let L_n be the sum of the losses of the first n rounds, and ``L = L_T``. Then ``delta_{P||Q} (epsilon)
       <= E_P (1 - e^(epsilon - L))_+``.
    2. *Infinite losses.* Each delta_i is known before round i is run, and ``sum_{i <= T} delta_i <= delta''`` for every
       sequence of outputs. So ``P(some loss up to T is infinite) <= delta''``.
    3. *Finite losses if A <= epsilon at T.* ``L <= A <= epsilon`` with certainty, so they add nothing.
    4. *Finite losses if A > epsilon at T.* Then ``R_T <= rho``. Take the t > 0 of rho, which is fixed beforehand. Let
       ``M_n = exp(t L_n - t (1 + t) R_n)``, and 0 once a loss was infinite. It is a non-negative supermartingale with
       ``M_0 = 1``, since ``E_P [e^(t L_i); L_i < inf] <= e^(t (1 + t) rho_i)`` for every past that chose round i (Bun,
       Steinke 2016 [BS16]; Whitehouse, Ramdas, Rogers, Wu 2023 [WRRW23]). Hence ``E_P M_T <= 1`` (optional stopping; by
       Fatou's lemma also for unbounded T). As ``(1 - e^-x)_+ <= e^(t x) t^t / (1 + t)^(1 + t)`` (``pairs/renyi.py``),
       ``(1 - e^(epsilon - L))_+ <= M_T e^(t (1 + t) rho - t epsilon) t^t / (1 + t)^(1 + t) <= M_T delta'``. The mean of
       this bound is at most delta'.

    Together delta'' + delta' = delta. The slack delta' is reserved also while basic composition holds, since the rule
    that will hold at the end is not known beforehand.

    Args:
        epsilon: target epsilon, from 1e-6 to 1e4.
        delta: target delta; the rounds get the part beyond ``slack``.
        slack: delta', by default half of delta.
        adjacency: neighbouring relation.

    >>> from hockeystick import ApproximateDP, Gaussian, Laplace
    >>> budget = ApproximateDpFilter(3.0, 1e-6)
    >>> budget.allows(Round(Laplace(1.0), count=3)), budget.allows(Round(Laplace(1.0), count=4))
    (True, False)
    >>> budget.spend(Round(ApproximateDP(0.01, 1e-10), count=2000))
    >>> budget.said()
    'epsilon: 2.20604 of 3 spent; delta: 2e-7 of 5e-7 spent'
    >>> budget.allows(Round(Gaussian(10.0), count=15)), budget.allows(Round(Gaussian(10.0), count=16))
    (True, False)
    """

    name: ClassVar[str] = "approximate-dp"
    currency = "epsilon"  # the smaller of basic and concentrated composition

    def __init__(
        self,
        epsilon: float,
        delta: float,
        slack: float | None = None,
        adjacency: Adjacency | str = Adjacency.ADD_OR_REMOVE,
    ) -> None:
        super().__init__(delta, slack, adjacency)
        self._epsilon = TARGET.check(epsilon, "epsilon")
        self._concentrated = ZcdpFilter.reaching(self._epsilon, self._slack)
        self.limits = (self.limits[0], decimal(self._epsilon), self._concentrated.limits[0])

    def fits(self, sums: Amounts) -> bool:
        """Return True if the deltas are within their limit, and so are either the largest losses or the rhos."""
        failing, loss, rho = (spent <= limit for spent, limit in zip(sums, self.limits, strict=True))
        return failing and (loss or rho)

    def spent_of(self, sums: Amounts) -> float:
        """Return the epsilon of the better composition rule, rounded up; ``spent_delta`` has the deltas."""
        _, loss, rho = sums
        basic = rounded_up(loss)
        if not Fraction(0) < rho <= self.limits[2]:
            return basic
        return min(basic, ZcdpFilter(rounded_up(rho)).budget_epsilon(self._slack), self._epsilon)

    @property
    def budget(self) -> float:
        """Target epsilon; ``budget_delta`` is the limit of the deltas."""
        return self._epsilon

    def remaining_of(self, sums: Amounts) -> float:
        """Return the target epsilon minus ``spent_of(sums)``, rounded down."""
        return rounded_down(decimal(self._epsilon) - decimal(self.spent_of(sums)))

    def budget_epsilon(self, delta: float) -> float:
        """Return the target epsilon if delta is the target delta or larger; otherwise infinity."""
        return self._epsilon if domains.TARGET_DELTA.check(delta, "delta") >= self._delta else math.inf

    def said(self) -> str:
        """Return epsilon and delta, spent and budget, as text."""
        return f"{PrivacyFilter.said(self)}; {super().said()}"


class Odometer(Guarantees):
    """Odometer of the privacy spent: with probability ``1 - delta`` the loss never exceeds its reading.

    Let R_n be the sum of the rhos of the first n rounds, L_n the sum of their losses, and ``alpha > 1`` any order fixed
    beforehand. Then ``exp((alpha - 1) (L_n - alpha R_n))`` is a supermartingale that starts at 1, however the rounds
    were chosen ([BS16]; proof in :class:`ApproximateDpFilter`). By Ville's inequality, except with probability delta',
    ``L_n <= alpha R_n + log(1/delta') / (alpha - 1)`` holds at all n at once. This is the odometer of [WRRW23] that is
    tight at a preselected moment; alpha is the best order at that moment. Infinite losses have a total probability of
    at most delta''. If no loss is infinite, L_n is certainly at most the sum of the largest losses. So the smaller of
    the two bounds holds with the same probability.

    Args:
        delta: delta' + delta''.
        expected: epsilon at which the odometer is tightest.
        slack: delta', by default half of delta.
        adjacency: neighbouring relation.

    >>> from hockeystick import RandomizedResponse, Round
    >>> odometer = Odometer(delta=1e-6, expected=1.0)
    >>> odometer.spend(Round(RandomizedResponse(0.01), count=20))
    >>> odometer.spent
    0.2
    >>> odometer.spend(Round(RandomizedResponse(0.01), count=300))
    >>> print(f"{odometer.spent:.4f}")
    0.9798
    """

    name: ClassVar[str] = "odometer"

    def __init__(
        self,
        delta: float,
        expected: float,
        slack: float | None = None,
        adjacency: Adjacency | str = Adjacency.ADD_OR_REMOVE,
    ) -> None:
        super().__init__(delta, slack, adjacency)
        expected = TARGET.of("the expected epsilon").check(expected, "expected")
        self._log = -math.log(self._slack)  # log(1/delta')
        # alpha R + log(1/delta') / (alpha - 1) is least over alpha at the tilt that balances rho = R
        self._tilt = balanced_tilt(expected, self._log)

    @property
    def spent(self) -> float:
        """Epsilon spent so far."""
        _, loss, rho = self._spent
        return min(rounded_up(loss), self._line(rho))

    def _line(self, rho: Fraction) -> float:
        """Return ``alpha R + log(1/delta') / (alpha - 1)``, a bound on the loss from the sum R of rhos, rounded up."""
        return ((1 + self._tilt) * float(rho) + self._log / self._tilt) * (1 + SLACK)

    def epsilon(self, delta: float) -> float:
        """Return the epsilon spent so far if ``delta`` is at least the odometer's delta; otherwise infinity."""
        return self.spent if domains.TARGET_DELTA.check(delta, "delta") >= self._delta else math.inf

    def said(self) -> str:
        """Return the epsilon and the deltas spent so far, as text."""
        return f"epsilon: {self.spent:.6g} spent; {super().said()}"
