"""Filters and the odometer against the worst who chooses: by dynamic programming over all ways to choose.

The rounds are black boxes, each the worst of its (epsilon, delta). After each round the adversary sees its loss L, and
chooses the next one, or ends. The most that an adversary reaches is the value of a game with finitely many states: how
often each kind of round was run, and the loss so far. Of a filter it is delta, ``E (1 - e^(epsilon - L))_+``; of an
odometer the probability of a loss above what it says.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from functools import cache

import pytest

import hockeystick as hs
from hockeystick import filters
from hockeystick.questions.filters.approximate import Guarantees

UNIT = 0.125
KINDS = ((4, 0.0), (1, 0.0), (1, 0.02))  # epsilon in units, delta
ROUNDS = [hs.Round(hs.ApproximateDP(size * UNIT, delta)) for size, delta in KINDS]
Counts = tuple[int, ...]


def most_reached(
    start: Guarantees, reached: Callable[[Guarantees, float], float], most: int, *, ends: bool = False
) -> float:
    """The largest mean, over all adversaries, of what a loss reaches when they end.

    With ``ends`` an adversary ends as soon as it reaches 1.
    """

    @cache
    def after(counts: Counts) -> Guarantees:
        meter = copy.copy(start)
        for item, count in zip(ROUNDS, counts, strict=True):
            if count:
                meter.spend(count * item)
        return meter

    @cache
    def choices(counts: Counts) -> list[int]:
        return [i for i, item in enumerate(ROUNDS) if counts[i] < most and after(counts).allows(item)]

    @cache
    def value(counts: Counts, loss: int) -> float:
        best = reached(after(counts), loss * UNIT)
        if ends and best == 1.0:
            return best
        for i in choices(counts):
            size, delta = KINDS[i]
            then = (*counts[:i], counts[i] + 1, *counts[i + 1 :])
            up = 1 / (1 + math.exp(-size * UNIT))
            finite = up * value(then, loss + size) + (1 - up) * value(then, loss - size)
            best = max(best, delta + (1 - delta) * finite)
        return best

    return value((0,) * len(KINDS), 0)


@pytest.mark.parametrize(("epsilon", "slack"), [(1.5, 0.02), (1.0, 0.01), (2.0, 0.03)])
def test_nobody_who_chooses_rounds_exceeds_the_target_with_more_than_delta(epsilon: float, slack: float) -> None:
    """The sum of losses and that of rhos side by side, each of which is the one that allows more somewhere."""
    budget = filters.ApproximateDpFilter(epsilon, slack + 0.045, slack=slack)
    large, small, _ = ROUNDS
    basic, concentrated = copy.copy(budget), copy.copy(budget)
    while basic.allows(large):
        basic.spend(large)
    while concentrated.allows(small):
        concentrated.spend(small)
    assert sum(0.5 for _ in basic.history) == epsilon  # of which the rhos allow less
    assert UNIT * len(concentrated.history) > epsilon  # which the losses do not allow
    found = most_reached(budget, lambda _, loss: max(1 - math.exp(epsilon - loss), 0.0), most=40)
    assert 0.04 < found <= slack + 0.045


@pytest.mark.parametrize("epsilon", [0.75, 1.5, 3.0])
def test_nobody_who_chooses_small_rounds_exceeds_the_rho_of_the_target(epsilon: float) -> None:
    """Where nothing fails the slack alone is there, and a good part of it is reached."""
    slack = 0.02
    budget = filters.ApproximateDpFilter(epsilon, slack, slack=slack)
    found = most_reached(budget, lambda _, loss: max(1 - math.exp(epsilon - loss), 0.0), most=150)
    assert 0.15 * slack < found <= slack


def test_nobody_who_chooses_rounds_and_when_to_look_exceeds_the_odometer() -> None:
    """At no moment: the adversary ends when the loss is above what the odometer says at that moment."""
    odometer = filters.Odometer(delta=0.25, expected=1.5, slack=0.2)

    def above(meter: Guarantees, loss: float) -> float:
        assert isinstance(meter, filters.Odometer)
        return float(loss > meter.spent * (1 + 1e-9))

    found = most_reached(odometer, above, most=15, ends=True)
    assert 0.05 < found <= 0.25
