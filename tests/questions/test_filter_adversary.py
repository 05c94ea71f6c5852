"""Filters and the odometer against the worst who chooses: by dynamic programming over all ways to choose.

The rounds are black boxes, each the worst of its (epsilon, delta). After each round the adversary sees its loss, and
chooses the next one, or ends. The most that the probability of a loss above the promise can be is the value of a game
with finitely many states: how often each kind of round was run, and the loss so far.
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


def most_exceeded(start: Guarantees, promised: Callable[[Guarantees], float], most: int) -> float:
    """The largest probability, over all adversaries, that the loss exceeds what is promised when they end."""

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
    def limit(counts: Counts) -> float:
        return promised(after(counts)) / UNIT

    @cache
    def value(counts: Counts, loss: int) -> float:
        if loss > limit(counts) * (1 + 1e-9):
            return 1.0  # to go on cannot be better
        best = 0.0
        for i in choices(counts):
            size, delta = KINDS[i]
            then = (*counts[:i], counts[i] + 1, *counts[i + 1 :])
            up = 1 / (1 + math.exp(-size * UNIT))
            finite = up * value(then, loss + size) + (1 - up) * value(then, loss - size)
            best = max(best, delta + (1 - delta) * finite)
        return best

    return value((0,) * len(KINDS), 0)


@pytest.mark.parametrize(("epsilon", "slack"), [(1.5, 0.2), (1.0, 0.1), (2.0, 0.24)])
def test_nobody_who_chooses_rounds_exceeds_the_target_with_more_than_delta(epsilon: float, slack: float) -> None:
    """Basic and advanced composition side by side, each of which is the one that allows more somewhere."""
    budget = filters.ApproximateDpFilter(epsilon, 0.25, slack=slack)
    large, small, _ = ROUNDS
    basic, advanced = copy.copy(budget), copy.copy(budget)
    while basic.allows(large):
        basic.spend(large)
    while advanced.allows(small):
        advanced.spend(small)
    assert sum(0.5 for _ in basic.history) == epsilon  # of which advanced composition allows less
    assert UNIT * len(advanced.history) > epsilon  # which basic composition does not allow
    found = most_exceeded(budget, lambda _: epsilon, most=40)
    assert 0.1 * slack < found <= 0.25


def test_nobody_who_chooses_rounds_and_when_to_look_exceeds_the_odometer() -> None:
    """At no moment: the adversary ends when the loss is above what the odometer says at that moment."""
    odometer = filters.Odometer(delta=0.25, expected=1.5, slack=0.2)

    def promised(meter: Guarantees) -> float:
        assert isinstance(meter, filters.Odometer)
        return meter.spent

    found = most_exceeded(odometer, promised, most=15)
    assert 0.05 < found <= 0.25
