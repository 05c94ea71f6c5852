"""Noise multipliers that are searched side by side: each meets its target, is least, and depends on its plan alone."""

from __future__ import annotations

import math
import random

import numpy as np
import pytest

import hockeystick as hs
from hockeystick.questions import noises as module
from hockeystick.questions.many import Answers, Kind, kind_of
from hockeystick.questions.noises import noises
from hockeystick.values.adjacency import Adjacency

TOLERANCE = 1e-6


def drawn(many: int, seed: int = 3) -> tuple[list[hs.Plan], list[float], list[float]]:
    """Everyday plans, each with a target epsilon and a delta."""
    draw = random.Random(seed)

    def between(low: float, high: float) -> float:
        return math.exp(draw.uniform(math.log(low), math.log(high)))

    sides = list(Adjacency)[:3]
    plans = [
        hs.dp_sgd(1.0, between(1e-3, 0.2), round(between(100, 30_000)), adjacency=draw.choice(sides))
        for _ in range(many)
    ]
    return plans, [between(0.1, 10) for _ in plans], [between(1e-8, 1e-5) for _ in plans]


def test_each_noise_meets_its_target_and_is_least() -> None:
    plans, targets, deltas = drawn(40)
    found = noises(plans, targets, deltas, TOLERANCE)
    assert sum(each is not None for each in found) >= 30
    for plan, target, delta, each in zip(plans, targets, deltas, found, strict=True):
        if each is None:
            continue
        kind = kind_of(plan)
        assert kind is not None
        at = hs.dp_sgd(each.value, *kind[1:3], adjacency=plan.adjacency).epsilon(delta)
        below = hs.dp_sgd(each.value * (1 - TOLERANCE), *kind[1:3], adjacency=plan.adjacency).epsilon(delta)
        assert each.achieved.lower <= at.upper
        assert at.lower <= each.achieved.upper <= target
        assert below.upper > target


def test_a_noise_depends_on_its_plan_alone() -> None:
    plans, targets, deltas = drawn(20)
    together = noises(plans, targets, deltas, TOLERANCE)
    backward = noises(plans[::-1], targets[::-1], deltas[::-1], TOLERANCE)
    assert together == backward[::-1]
    for at in (0, 7, 19):
        assert noises(plans[at : at + 1], targets[at : at + 1], deltas[at : at + 1], TOLERANCE) == [together[at]]


def test_what_is_no_kind_of_the_batch_is_left() -> None:
    plans = [hs.dp_sgd(1.0, 1.0, 5), hs.Plan([]), hs.dp_sgd(1.0, 0.01, 100), hs.dp_sgd(1.0, 0.01, 100)]
    assert noises(plans, [1.0, 1.0, 0.0, 1.0], [1e-5, 1e-5, 1e-5, 0.0], TOLERANCE) == [None] * 4


class Scripted:
    """Epsilon 2 / noise, in an interval that is as wide as is said, and only so often."""

    def __init__(self, below: float, above: float, times: int = 100) -> None:
        self.below, self.above, self.times = below, above, times

    def __call__(self, kinds: list[Kind], delta: object, gap: object) -> Answers:
        found = Answers.none(len(kinds))
        epsilon = 2 / np.array([kind.noise for kind in kinds])
        if self.times:
            found.ends[:] = epsilon * (1 - self.below), epsilon, epsilon * (1 + self.above)
        self.times = max(self.times - 1, 0)
        return found


@pytest.mark.parametrize(
    ("script", "answered"),
    [
        (Scripted(0.0, 0.0), True),
        (Scripted(1e-7, 1e-7), True),
        (Scripted(0.0, 1e-6), False),  # the upper end beside the root is above the target
        (Scripted(1e-6, 0.0), False),  # the lower end below the root does not show that the target is missed
        (Scripted(0.0, 0.0, times=3), False),
    ],
)
def test_nothing_but_certified_ends_counts(monkeypatch: pytest.MonkeyPatch, script: Scripted, answered: bool) -> None:
    monkeypatch.setattr(module, "epsilons_of_kinds", script)
    (found,) = noises([hs.dp_sgd(1.0, 0.01, 1000)], [1.0], [1e-5], TOLERANCE)
    assert (found is not None) == answered
    if found is not None:
        assert 2.0 <= found.value <= 2.0 * (1 + TOLERANCE)
        assert found.achieved.upper <= 1.0
