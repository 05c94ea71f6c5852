"""Plans from histories of training; the rest of the integrations is tested beside the packages they are for."""

from __future__ import annotations

from typing import Any

import pytest

import hockeystick as hs
from hockeystick.integrations.history import entries, plan_from_history


def test_a_history_is_the_plan_of_its_steps() -> None:
    plan = plan_from_history([(1.0, 0.01, 100), [2.0, 0.05, 200], (1.0, 0.01, 200)], delta=1e-5)
    assert plan == hs.dp_sgd(1.0, 0.01, 300, delta=1e-5) + hs.dp_sgd(2.0, 0.05, 200)
    assert plan_from_history([], "replace-one") == hs.Plan([], "replace-one")


def test_entries_keep_their_order_and_steps_without_noise() -> None:
    assert list(entries(iter([(0, 1, 2), (1.5, 0.5, 1e3)]))) == [(0.0, 1.0, 2), (1.5, 0.5, 1000)]


@pytest.mark.parametrize(
    ("history", "message"),
    [
        (3, "history must be a list of .*; received 3"),
        ([(1.0, 0.1)], "history entry 1 must be .noise_multiplier, sample_rate, steps.; received"),
        ([5], "history entry 1 must be"),
        ([(1.0, 0.1, 1), ("a", 0.1, 1)], "history entry 2: noise_multiplier must be .*; received 'a'"),
        (
            [(0.0, 0.1, 1)],
            "history entry 1: noise_multiplier must be greater than 0; received 0.0, which makes epsilon",
        ),
        ([(1.0, 0.0, 1)], "history entry 1: sample_rate must be"),
        ([(1.0, 0.1, 1.5)], "history entry 1: steps must be a whole number"),
    ],
)
def test_what_is_wrong_is_named(history: Any, message: str) -> None:
    with pytest.raises(hs.InvalidInputError, match=message) as caught:
        plan_from_history(history)
    assert "\n" not in str(caught.value)
