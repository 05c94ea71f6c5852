"""Auditing: a test of whether an attack on one run contradicts the plan of that run.

Canaries are records, each of which is put into the data or left out by its own fair coin. Under ``zero-out``, each
canary is in the data, and its coin decides if it contributes or its contribution is set to zero. An attacker sees the
release, chooses r canaries, and guesses the coin of each of them; v of the r guesses are right. Many right guesses are
improbable under the plan, and therefore are evidence against it.

**The bound.** The plan has a certified curve: at every epsilon, a delta that covers both orders of two neighbouring
data sets. ``audit_recursion.py`` bounds the largest probability of v or more right guesses under any attack, in one
run, and however the canaries influence each other, from any points of such a curve (Mahloujifar, Melis, Chaudhuri 2025
[MMC25], after Steinke, Nasr, Jagielski 2023 [SNJ23], who bound it from a single point). It needs one property: given
all other coins, the two laws of the release for the two outcomes of a coin are those of neighbouring data sets. Under
``zero-out``, a coin decides between the contribution and none, so the two data sets are neighbours in that relation.

This bound is the p-value. If it is at most the significance, either something improbable has happened or the run did
not follow the plan as stated (its noise, sampling or clipping differs, or a batch leaks otherwise). A large p-value
does not support the plan: the attack may be weak.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from hockeystick.numerics.meet import bracket
from hockeystick.plan.audit_recursion import WrongGuesses, halved, impossible, p_value
from hockeystick.values import domains
from hockeystick.values.adjacency import Adjacency
from hockeystick.values.errors import UnsupportedError

if TYPE_CHECKING:
    from hockeystick.plan.plan import Plan

PLACES = 49
"""Number of epsilons at which a plan's curve is evaluated: four times as many lower a p-value by less than 1 %."""

FARTHEST = 40.0
"""Largest epsilon considered: beyond it, every guess may be right except with probability e^-40."""

LEAST_SHARE = 1e-3
"""Relative size below which two numbers are neglected: a delta, relative to the significance for each canary, and the
fall of delta beyond an epsilon, relative to delta. The curve is evaluated up to the epsilon where one is negligible."""

COINS = (Adjacency.ADD_OR_REMOVE, Adjacency.ZERO_OUT)
"""Adjacencies under which each canary can have its own fair coin: delta then covers both orders of two data sets."""

CANARIES = domains.whole_numbers(1, 10**9).of(
    "number of canaries, each included or contributing by a toss of its own fair coin"
)
"""Domain of the number of canaries."""

GUESSES = domains.whole_numbers().of("number of canaries whose inclusion was guessed")
"""Domain of the number of guesses."""

CORRECT = domains.whole_numbers().of("number of correct guesses")
"""Domain of the number of right guesses."""

SIGNIFICANCE = domains.Domain(
    "a number between 0 and 1",
    {"exclusiveMinimum": 0, "exclusiveMaximum": 1},
    "largest p-value that rejects the plan",
)
"""Domain of the significance."""


@dataclass(frozen=True)
class Audit:
    """Evidence about a plan from an attack on one run.

    Attributes:
        canaries: number of canaries.
        guesses: number of guesses.
        correct: number of right guesses.
        significance: largest p-value at which the plan is rejected.
        p_value: an upper bound on the probability of so many right guesses if the run followed the plan.
    """

    canaries: int
    guesses: int
    correct: int
    significance: float
    p_value: float

    @property
    def rejected(self) -> bool:
        """True if the p-value is at most the significance."""
        return self.p_value <= self.significance

    @property
    def verdict(self) -> str:
        """Conclusion in words."""
        if self.rejected:
            return (
                "rejected: under this plan, so many correct guesses have a probability of at most the significance; "
                "either the run did not follow the plan or the canaries were not drawn by fair coins"
            )
        return "not rejected: the guesses do not contradict this plan, which does not prove that the run followed it"

    def epsilon_below(self, delta: float) -> float:
        """Return an empirical lower bound on epsilon at a delta: the largest epsilon that the guesses reject, or 0.

        The bound concerns the run alone, not the plan. It holds with confidence ``1 - significance``, for one delta
        chosen beforehand.

        Raises:
            InvalidInputError: a delta outside [0, 1).
        """
        delta = domains.delta(delta, "delta", "at which the run's epsilon is bounded from below")

        def allowed(epsilon: float) -> bool:
            least_wrong = WrongGuesses([(epsilon, delta)])
            return not impossible(self.canaries, self.guesses, self.correct, least_wrong, self.significance)

        return halved(allowed, *bracket(allowed, 0.0, 1.0, FARTHEST))[0]


def audit(plan: Plan, canaries: int, guesses: int, correct: int, significance: float) -> Audit:
    """Return the audit of a plan by the number of right guesses; see :meth:`hockeystick.Plan.audit`."""
    canaries = int(CANARIES.check(canaries, "canaries"))
    guesses, correct = int(GUESSES.check(guesses, "guesses")), int(CORRECT.check(correct, "correct"))
    significance = SIGNIFICANCE.check(significance, "significance")
    domains.check_at_most("guesses", guesses, "canaries", canaries)
    domains.check_at_most("correct", correct, "guesses", guesses)
    if plan.adjacency not in COINS:
        raise UnsupportedError(
            "an audit requires adjacency 'add-or-remove' (canaries are included or left out) or 'zero-out' (they "
            f"contribute or do not); received {plan.adjacency.value!r}"
        )

    least = p_value(canaries, guesses, correct, _least_wrong(plan, canaries, significance))
    return Audit(canaries, guesses, correct, significance, least)


def _least_wrong(plan: Plan, canaries: int, significance: float) -> WrongGuesses:
    """Return the bound g of the recursion, from points of the certified curve up to where delta hardly falls."""
    rest = plan.delta(FARTHEST).ends["upper"] * (1 + LEAST_SHARE)
    far = plan.epsilon(min(max(LEAST_SHARE * significance / (2 * canaries), rest), 0.5)).ends["upper"]
    epsilons = np.linspace(0.0, min(far, FARTHEST), PLACES)
    try:
        deltas = plan.profile().delta(epsilons).upper.tolist()
    except UnsupportedError:
        deltas = [plan.delta(each).ends["upper"] for each in epsilons.tolist()]
    return WrongGuesses(zip(epsilons.tolist(), deltas, strict=True))
