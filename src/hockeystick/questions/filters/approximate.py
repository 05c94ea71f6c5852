"""Approximate differential privacy: epsilons, or their squares, add up; so do deltas."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import ClassVar

from hockeystick.numerics.decimals import decimal
from hockeystick.plan.plan import Round
from hockeystick.questions.filters.base import SLACK, PrivacyFilter, Spending
from hockeystick.questions.filters.decimals import rounded_down, rounded_up
from hockeystick.questions.filters.guarantee import guarantee
from hockeystick.values import domains
from hockeystick.values.adjacency import Adjacency
from hockeystick.values.errors import InvalidInputError
from hockeystick.values.outward import six_digits


class Guarantees(Spending):
    """Rounds given by (epsilon_i, delta_i): sums of the epsilons, of their squares and of the deltas.

    The deltas add up to at most ``delta'' = delta - delta'``; delta', the slack, is reserved for finite losses.
    """

    def __init__(self, delta: float, slack: float | None, adjacency: Adjacency | str) -> None:
        super().__init__(adjacency, sums=3)
        given: object = delta
        if isinstance(given, int | float) and given == 0:
            raise InvalidInputError("delta must be greater than 0; received 0: with none, take PureDpFilter", "delta")
        self._delta = domains.TARGET_DELTA.check(delta, "delta")
        self._slack = 0.5 * self._delta if slack is None else domains.TARGET_DELTA.check(slack, "slack")
        if self._slack > self._delta:
            raise InvalidInputError(f"slack must be at most delta; received {slack!r} and {delta!r}", "slack")

    def _costs(self, item: Round) -> tuple[Fraction, ...]:
        epsilon, delta = guarantee(item.pair(direction) for direction in self._adjacency.directions)
        return epsilon, epsilon**2, delta

    def _fits(self, sums: tuple[Fraction, ...]) -> bool:
        return sums[2] <= self._room

    @property
    def _room(self) -> Fraction:
        """Exact limit of the sum of the rounds' deltas: ``delta'' = delta - delta'``."""
        return decimal(self._delta) - decimal(self._slack)

    @property
    def _log(self) -> float:
        """Logarithm of ``1 / delta'``."""
        return -math.log(self._slack)

    @property
    def spent_delta(self) -> float:
        """Sum of the deltas of the rounds so far, rounded up."""
        return rounded_up(self._sums[2])

    @property
    def budget_delta(self) -> float:
        """Limit of the sum of the rounds' deltas, which is delta less slack, rounded down."""
        return rounded_down(self._room)

    def said(self) -> str:
        """Return the spent and allowed sum of deltas as text."""
        return f"delta: {six_digits(self.spent_delta)} of {six_digits(self.budget_delta)} is spent"


class ApproximateDpFilter(Guarantees, PrivacyFilter):
    """Filter of rounds given by (epsilon_i, delta_i), allowed while basic or advanced composition meets the target.

    Let A, S and D be the sums of the epsilons, of their squares and of the deltas, with the new round. It is allowed if

        D <= delta'' = delta - delta'   and   (A <= epsilon   or   sqrt(2 S log(1/delta')) + S / 2 <= epsilon).

    Both rules are fixed at the start with the same slack delta', and either suffices at any moment: few large rounds
    meet the first, many small ones the second.

    **All allowed rounds together are (epsilon, delta)-private, however they are chosen.** Proof. Let P and Q be the
    laws of all outputs on neighbouring datasets, and T the last round run; it may depend on the outputs.

    1. *The losses.* Given the past, round i is a random function of the black-box pair of (epsilon_i, delta_i)
       (Kairouz, Oh, Viswanath 2015 [KOV15], Theorem 3.4): its outcome has loss +infinity with P-probability
       delta_i, else +-epsilon_i. Add these outcomes to the outputs: dropping them is post-processing, and the choice of
       rounds does not see them. So with ``L = L_T``, ``L_n`` the sum of the first n losses, ``delta_{P||Q} (epsilon) <=
       E_P (1 - e^(epsilon - L))_+ <= P(L > epsilon)``. 2. *Infinite losses.* delta_i is known before round i is run,
       and ``sum_{i <= T} delta_i <= delta''`` on every path. So ``P(some loss up to T is infinite) <= E_P sum_{i <= T}
       delta_i <= delta''``. 3. *Finite losses if basic composition holds at T.* ``L <= A <= epsilon`` for certain.
       4. *Finite losses if it does not.* Then advanced composition holds at T: ``S_T <= s``, s the number at which
       the formula is epsilon. For any t > 0 fixed beforehand ``M_n = exp(t L_n - t (1 + t) S_n / 2)``, and 0 once a
       loss was infinite, is a non-negative supermartingale with ``M_0 = 1``: the finite loss of a round has ``E_P e^(t
       L_i) <= exp(t (1 + t) epsilon_i^2 / 2)`` (Bun, Steinke 2016 [BS16], Proposition 3.3), for every past that chose
       epsilon_i. Hence ``E_P M_T <= 1`` (optional stopping; by Fatou's lemma also for unbounded T). Take ``t =
       sqrt(2 log(1/delta') / s)``. If ``L > epsilon`` and ``S_T <= s``, M_T is above ``exp(t epsilon - t (1 + t) s / 2)
       = 1/delta'``. By Markov's inequality this has probability at most delta'.

    Together ``P(L > epsilon) <= delta'' + delta' = delta``. The slack is reserved under basic composition, too, since
    the rule that holds at the end is not known beforehand.

    Args:
        epsilon: target epsilon.
        delta: target delta; the rounds get the part beyond ``slack``.
        slack: delta', by default half of delta.
        adjacency: neighbouring relation.

    >>> from hockeystick import ApproximateDP, Laplace
    >>> budget = ApproximateDpFilter(3.0, 1e-6)
    >>> budget.allows(Round(Laplace(1.0), count=3)), budget.allows(Round(Laplace(1.0), count=4))
    (True, False)
    >>> budget.spend(Round(ApproximateDP(0.01, 1e-10), count=2000))
    >>> budget.said()
    'epsilon: 2.50904 of 3 is spent; delta: 2e-7 of 5e-7 is spent'
    """

    name: ClassVar[str] = "approximate-dp"

    def __init__(
        self,
        epsilon: float,
        delta: float,
        slack: float | None = None,
        adjacency: Adjacency | str = Adjacency.ADD_OR_REMOVE,
    ) -> None:
        super().__init__(delta, slack, adjacency)
        self._epsilon = domains.POSITIVE.of("the target epsilon").check(epsilon, "epsilon")

    def _fits(self, sums: tuple[Fraction, ...]) -> bool:
        basic = sums[0] <= decimal(self._epsilon)
        return super()._fits(sums) and (basic or self._advanced(sums[1]) <= self._epsilon)

    def _advanced(self, squares: Fraction) -> float:
        """``sqrt(2 S log(1/delta')) + S / 2``, rounded up."""
        total = float(squares)
        return (math.sqrt(2 * self._log * total) + 0.5 * total) * (1 + SLACK)

    @property
    def currency(self) -> str:
        """Unit of the budget: epsilon, the smaller of basic and advanced composition."""
        return "epsilon"

    @property
    def spent(self) -> float:
        """Epsilon by the better of basic and advanced composition, rounded up. Deltas are in ``spent_delta``."""
        return min(rounded_up(self._sums[0]), self._advanced(self._sums[1]))

    @property
    def budget(self) -> float:
        """Target epsilon; ``budget_delta`` is the limit of the deltas."""
        return self._epsilon

    def budget_epsilon(self, delta: float) -> float:
        """Return the target at its delta or a larger one; infinity below."""
        return self._epsilon if domains.TARGET_DELTA.check(delta, "delta") >= self._delta else math.inf

    def said(self) -> str:
        """Return epsilon and delta, spent and budget, as text."""
        return f"{PrivacyFilter.said(self)}; {super().said()}"
