"""The stateful accountant: bit for bit the plan, through any order, folding and checkpoint."""

from __future__ import annotations

import copy
import json
import pickle
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hockeystick as hs

steps = st.lists(
    st.tuples(st.sampled_from([0.9, 1.0, 1.5]), st.sampled_from([0.01, 0.02]), st.integers(0, 40)),
    min_size=1,
    max_size=8,
)


def stepped(history: list[tuple[float, float, int]]) -> hs.Accountant:
    accountant = hs.Accountant()
    for noise, rate, count in history:
        accountant.step(noise_multiplier=noise, sample_rate=rate, count=count)
    return accountant


@given(steps)
def test_the_history_adds_up_to_the_plan(history: list[tuple[float, float, int]]) -> None:
    """Equal steps in a row are one entry; the plan is that of all steps; so is the number of steps."""
    accountant = stepped(history)
    rounds = [hs.Round(hs.Gaussian(noise), hs.Poisson(rate), count) for noise, rate, count in history]
    if len(accountant):
        assert accountant.plan == hs.Plan(rounds)
    assert len(accountant) == sum(count for *_, count in history)
    kinds = [(item.mechanism, item.sampling) for item in accountant.history]
    assert all(a != b for a, b in pairwise(kinds))


def test_answers_are_those_of_the_plan_bit_for_bit() -> None:
    """One at a time, in between two questions, or at once."""
    accountant = hs.Accountant()
    for _ in range(12):
        accountant.step(noise_multiplier=1.1, sample_rate=0.01)
        accountant.epsilon(1e-6)
    plan = hs.dp_sgd(1.1, 0.01, 12)
    for found, other in (
        (accountant.epsilon(1e-6), plan.epsilon(1e-6)),
        (accountant.delta(0.1), plan.delta(0.1)),
    ):
        assert (found.lower, found.estimate, found.upper) == (other.lower, other.estimate, other.upper)


@settings(deadline=None, max_examples=40)
@given(steps, st.integers(0, 8))
def test_a_checkpoint_changes_nothing(history: list[tuple[float, float, int]], at: int) -> None:
    """Saved as JSON, loaded into a fresh one, and gone on with."""
    before = stepped(history[:at])
    resumed = hs.Accountant("remove")
    resumed.load_state_dict(json.loads(json.dumps(before.state_dict())))
    for noise, rate, count in history[at:]:
        resumed.step(noise_multiplier=noise, sample_rate=rate, count=count)
    assert resumed.history == stepped(history).history
    assert resumed.state_dict() == stepped(history).state_dict()


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda each: pickle.loads(pickle.dumps(each))])
def test_a_copy_goes_on_by_itself(copied: Callable[[hs.Accountant], hs.Accountant]) -> None:
    """Steps like the last one, which are folded into it, and others; of the copy and of what was copied."""
    first = hs.Accountant("remove")
    first.step(noise_multiplier=1.0, sample_rate=0.01, count=3)
    second = copied(first)
    assert second.state_dict() == first.state_dict()
    second.step(noise_multiplier=1.0, sample_rate=0.01)
    second.step(noise_multiplier=2.0, sample_rate=0.01)
    assert (len(first), len(second)) == (3, 5)
    first.step(noise_multiplier=1.5, sample_rate=0.01)
    assert [item.count for item in first.history] == [3, 1]
    assert [item.count for item in second.history] == [4, 1]


def test_other_rounds_may_be_stepped_too() -> None:
    """Any mechanism, under any adjacency."""
    accountant = hs.Accountant("replace-one")
    accountant.step(hs.Round(hs.Laplace(scale=10.0)), count=5)
    accountant.step(hs.Round(hs.Gaussian(3.0), count=2))
    assert len(accountant) == 7
    other = hs.Accountant()
    other.load_state_dict(accountant.state_dict())
    assert other.plan == accountant.plan


def test_nothing_run_costs_nothing() -> None:
    """An empty history is private."""
    assert hs.Accountant().epsilon(1e-6).upper == 0.0
    assert hs.Accountant().delta(0.0).upper == 0.0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "a step needs noise_multiplier and sample_rate"),
        ({"noise_multiplier": 1.0}, "received noise_multiplier 1.0, sample_rate None"),
        ({"noise_multiplier": 1.0, "sample_rate": 2.0}, "sample_rate must be 1 or a number from 1e-10 to 1 - 1e-6"),
        ({"noise_multiplier": 1.0, "sample_rate": 0.1, "count": -1}, "count must be a whole number"),
        ({"item": 3}, "a step must be a Round; received 3"),
        ({"item": hs.Round(hs.Gaussian(1.0)), "sample_rate": 0.1}, "received both"),
    ],
)
def test_what_cannot_be_recorded_is_refused_and_changes_nothing(arguments: dict[str, Any], message: str) -> None:
    """One line that names what was received."""
    accountant = hs.Accountant()
    with pytest.raises(hs.InvalidInputError, match=message):
        accountant.step(**arguments)
    assert accountant.history == ()


@pytest.mark.parametrize(
    "state",
    [
        {},
        [],
        {"adjacency": "add", "history": [{"mechanism": "gauss"}]},
        {"history": []},
        {"adjacency": "add", "history": None},
        {"adjacency": "add", "history": 3},
        {"adjacency": "add", "history": "gaussian"},
        {"adjacency": None, "history": []},
    ],
)
def test_a_broken_state_is_refused_and_changes_nothing(state: Any) -> None:
    """Whole or not at all."""
    accountant = stepped([(1.0, 0.01, 3)])
    with pytest.raises(hs.InvalidInputError):
        accountant.load_state_dict(state)
    assert len(accountant) == 3
