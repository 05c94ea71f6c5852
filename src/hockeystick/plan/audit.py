"""Auditing: a test of whether an attack on one run contradicts the plan of that run.

Canaries are records, each of which is put into the data or left out by its own fair coin. Under ``zero-out``, each
canary is in the data, and its coin decides if it contributes or its contribution is set to zero. An attacker sees the
release, chooses r canaries, and guesses the coin of each of them; v of the r guesses are right. Many right guesses are
improbable under the plan, and therefore are evidence against it.

**The bound** (Steinke, Nasr, Jagielski 2023 [SNJ23], the main result, for approximate differential privacy). Let the
run be (epsilon, delta)-differentially private under adding and removing a record, m the number of canaries, and
``f(v)`` the probability that a binomial number with r trials of chance ``e^epsilon / (1 + e^epsilon)`` is at least v.
Then v or more guesses are right with probability at most

    f(v) + 2 m delta max_{1 <= i <= m} (f(v - i) - f(v)) / i ,

whatever the attacker does, in one run, and however the canaries influence each other.

The proof needs one property: given all other coins, the two laws of the release for the two outcomes of a coin are
(epsilon, delta)-close in both orders. Under ``zero-out``, a coin decides between the contribution and none, so the two
data sets are neighbours in that relation. The plan's delta covers both directions of the relation, so the same bound
holds.

A plan has such a guarantee at every epsilon, with the delta of its own certified curve, so there is one such bound for
every epsilon. Another bound takes the whole curve at once (Mahloujifar, Melis, Chaudhuri 2025 [MMC25];
``audit_recursion.py`` has the recursion and its proof). All these numbers bound the largest probability of v or more
right guesses under any attack on the plan, and none of them is random. So the smallest of them is a bound, too; it is
the p-value here. If the p-value is at most the significance, either something improbable has happened or the run did
not follow the plan as stated (its noise, sampling or clipping differs, or a batch leaks otherwise). A large p-value
does not support the plan: the attack may be weak.

**Rounding.** The maximum over i is taken over blocks. In a block ``a <= i <= b``, the quotient is at most ``(f(v - b) -
f(v)) / a``, which is the quotient at b times ``b / a``. A block is a single i up to :data:`SINGLE`; beyond, blocks grow
by the factor :data:`GROWTH`, so that the second term of the bound is too large by at most this factor. Tails of the
binomial law are computed as incomplete beta functions, and raised by the fraction :data:`SPARE`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from hockeystick.plan.audit_recursion import WrongGuesses, impossible, recursion_p_value
from hockeystick.values import domains
from hockeystick.values.adjacency import Adjacency
from hockeystick.values.errors import UnsupportedError
from hockeystick.values.outward import UP, html_table, rounded

if TYPE_CHECKING:
    from hockeystick.plan.plan import Plan

Array = npt.NDArray[np.float64]

SINGLE = 500
"""Differences i of right guesses that are examined one by one."""

GROWTH = 1.02
"""Growth factor of the blocks of larger differences."""

SPARE = 1e-9
"""Generous relative error bound for the tails of a binomial law."""

MOST = 10**9
"""Largest number of canaries."""

PLACES, REFINED, TIMES = 17, 5, 3
"""Number of epsilons at which a plan's curve is first evaluated, then around the best one, and number of
refinements."""

DENSE = 193
"""Number of epsilons for the whole curve of a plan with a profile: lines through them are 1e-4 of a rate apart."""

FARTHEST = 40.0
"""Largest epsilon considered if the plan has a probability of unbounded loss: beyond it, every guess may be right
except with probability e^-40."""

LEAST_SHARE = 1e-3
"""Fraction of the significance up to which a delta is negligible: the search for epsilon ends there."""

COINS = (Adjacency.ADD_OR_REMOVE, Adjacency.ZERO_OUT)
"""Relations in which each canary can have its own fair coin, since the plan's delta covers both orders."""

CANARIES = domains.whole_numbers(1, MOST).of(
    "number of canaries, each included or contributing by a toss of its own fair coin"
)
"""Domain of the number of canaries."""

GUESSES = domains.whole_numbers(0, MOST).of("number of canaries whose inclusion was guessed")
"""Domain of the number of guesses."""

CORRECT = domains.whole_numbers(0, MOST).of("number of correct guesses")
"""Domain of the number of right guesses."""

SIGNIFICANCE = domains.Domain(
    "a number between 0 and 1",
    {"exclusiveMinimum": 0, "exclusiveMaximum": 1},
    "largest p-value that rejects the plan",
)
"""Domain of the significance."""


def p_value(canaries: int, guesses: int, correct: int, epsilon: float, delta: float) -> float:
    """Upper bound on the probability of at least ``correct`` right guesses in any (epsilon, delta)-private run.

    Args:
        canaries: m.
        guesses: r, at most m.
        correct: v, at most r.
        epsilon: 0 or greater.
        delta: delta at that epsilon.

    >>> round(p_value(canaries=1000, guesses=100, correct=80, epsilon=1.0, delta=1e-5), 4)
    0.073
    """
    if correct <= 0:
        return 1.0
    chance = min(1 / (1 + math.exp(-epsilon)) * (1 + 1e-15), 1.0)
    most = _tails(np.array([correct]), guesses, chance)[0]
    if delta == 0 or most >= 1:
        return min(float(most), 1.0)
    last = min(correct, canaries)  # beyond it f(v - i) is 1, and i grows
    ends = [*range(1, min(SINGLE, last) + 1)]
    while ends[-1] < last:
        ends.append(min(max(int(ends[-1] * GROWTH), ends[-1] + 1), last))
    upto = np.array(ends)
    starts = np.concatenate([[1], upto[:-1] + 1])
    tails = _tails(correct - upto, guesses, chance)
    worst = float(((tails - most * (1 - 2 * SPARE)) / starts).max())
    return min(float(most) + 2 * canaries * delta * worst * (1 + SPARE), 1.0)


def _tails(least: npt.NDArray[np.int64], trials: int, chance: float) -> Array:
    """Return upper bounds on the probability of at least ``least`` successes; 1 where ``least`` is at most 0."""
    from scipy.special import betainc

    at = np.maximum(least, 1).astype(np.float64)
    found = np.where(least <= 0, 1.0, betainc(at, trials - at + 1, chance))
    out: Array = np.minimum(found * (1 + SPARE), 1.0)
    return out


@dataclass(frozen=True)
class Audit:
    """Evidence about a plan from an attack on one run.

    Attributes:
        canaries: number of canaries.
        guesses: number of guesses.
        correct: number of right guesses.
        significance: largest p-value at which the plan is rejected.
        p_value: an upper bound on the probability of so many right guesses if the run followed the plan.
        epsilon: epsilon of that point on the plan's certified curve which alone gives the smallest p-value.
        delta: the plan's delta at that point.
        whole_curve: True if the p-value needs the whole curve; False if the point (epsilon, delta) alone gives it.
    """

    canaries: int
    guesses: int
    correct: int
    significance: float
    p_value: float
    epsilon: float
    delta: float
    whole_curve: bool

    def _repr_html_(self) -> str:
        """Return the audit as notebooks show it: the verdict, and the numbers behind it."""
        rows = [
            ("p-value", f"at most {rounded(self.p_value, '.3g', UP)}, at significance {self.significance!r}"),
            ("guesses", f"{self.correct} of {self.guesses} correct, {self.canaries} canaries"),
        ]
        return html_table(self.verdict, rows)

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

        counts = self.canaries, self.guesses, self.correct

        def rejected(epsilon: float) -> bool:
            if p_value(*counts, epsilon, delta) <= self.significance:
                return True
            return self.correct > 0 and impossible(*counts, WrongGuesses([(epsilon, delta)]), self.significance)

        if not rejected(0.0):
            return 0.0
        low, high = 0.0, 1.0
        while rejected(high) and high < FARTHEST:
            low, high = high, 2 * high
        for _ in range(60):
            middle = 0.5 * (low + high)
            low, high = (middle, high) if rejected(middle) else (low, middle)
        return low


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

    found, least_wrong = _searched(plan, canaries, guesses, correct, significance)
    least = recursion_p_value(canaries, guesses, correct, least_wrong, found[0])
    return Audit(canaries, guesses, correct, significance, least, *found[1:], whole_curve=least < found[0])


def rejects(plan: Plan, found: Audit) -> bool:
    """Return True if a plan is rejected by the guesses of an audit, which may be an audit of another plan.

    One run of the recursion decides if the p-value is at most the significance; the p-value itself is not computed.
    """
    counts = found.canaries, found.guesses, found.correct
    (point, _, _), least_wrong = _searched(plan, *counts, found.significance)
    return point <= found.significance or (found.correct > 0 and impossible(*counts, least_wrong, found.significance))


def _searched(
    plan: Plan, canaries: int, guesses: int, correct: int, significance: float
) -> tuple[tuple[float, float, float], WrongGuesses]:
    """Return the smallest p-value from one point, with its epsilon and delta, and the bound g from all points tried."""
    far = plan.epsilon(min(LEAST_SHARE * significance / (2 * canaries), 0.5)).ends["upper"]
    curve, dense = _curve(plan)
    points: list[tuple[float, float]] = []

    def best(epsilons: Array) -> tuple[float, float, float]:
        asked = list(zip(epsilons.tolist(), curve(epsilons).tolist(), strict=True))
        points.extend(asked)
        return min((p_value(canaries, guesses, correct, *point), *point) for point in asked)

    low, high = 0.0, min(far, FARTHEST)
    if dense:
        every = np.linspace(low, high, DENSE)
        points.extend(zip(every.tolist(), curve(every).tolist(), strict=True))
    found = best(np.linspace(low, high, PLACES))
    width = (high - low) / (PLACES - 1)
    for _ in range(TIMES):
        around = np.linspace(max(found[1] - width, low), min(found[1] + width, high), REFINED)
        found = min(found, best(around))
        width /= 2
    return found, WrongGuesses(points)


def _curve(plan: Plan) -> tuple[Callable[[Array], Array], bool]:
    """Return a function from epsilons to upper bounds on delta, and True if it is cheap (from a profile)."""
    try:
        profile = plan.profile()
        profile.delta(np.zeros(1))
    except UnsupportedError:
        return (lambda epsilons: np.array([plan.delta(each).ends["upper"] for each in epsilons.tolist()])), False
    return (lambda epsilons: profile.delta(epsilons).upper), True
