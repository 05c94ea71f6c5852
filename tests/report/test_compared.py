"""``plan.compare()``: the answers of all accountants as a value, in the order and the words of the command."""

from __future__ import annotations

import pytest

import hockeystick as hs
from command import run
from hockeystick.accountants import ACCOUNTANTS

PLAN = hs.dp_sgd(noise_multiplier=1.0, sample_rate=0.01, steps=100, delta=1e-5)


def test_it_is_what_the_command_says() -> None:
    rows = PLAN.compare()
    assert {row.name for row in rows} == set(ACCOUNTANTS)
    lines = run(
        "compare", "--noise-multiplier", "1", "--sample-rate", "0.01", "--steps", "100", "--delta", "1e-5"
    ).stdout
    said = [line.split()[0] for line in lines.splitlines() if line.split() and line.split()[0] in ACCOUNTANTS]
    assert said[: len(rows)] == [row.name for row in rows]
    assert rows["auto"].answer == PLAN.epsilon()
    assert len(rows) == len(ACCOUNTANTS)
    with pytest.raises(KeyError, match="there is no accountant 'rpd'"):
        rows["rpd"]


def test_at_an_epsilon_deltas_are_compared() -> None:
    assert PLAN.compare(epsilon=1.0)["auto"].answer == PLAN.delta(1.0)


def test_all_rows_are_shown_as_text() -> None:
    rows = PLAN.compare()
    assert str(rows).count("\n") == len(rows) - 1
    assert "auto: " in str(rows)


def test_what_cannot_be_compared_is_refused() -> None:
    with pytest.raises(hs.InvalidInputError, match="received both"):
        PLAN.compare(1e-5, epsilon=1.0)
    with pytest.raises(hs.InvalidInputError, match="no delta"):
        hs.dp_sgd(1.0, 0.01, 10).compare()
    with pytest.raises(hs.InvalidInputError, match="delta must be"):
        PLAN.compare(2.0)
