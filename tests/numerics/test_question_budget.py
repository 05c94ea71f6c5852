"""The budget of a question, and what a question does when it is used up."""

from __future__ import annotations

import math

import pytest

import hockeystick as hs
from hockeystick.numerics import budget
from hockeystick.numerics.budget import Budget, allows, left, question, share


def test_a_step_that_does_not_fit_takes_nothing() -> None:
    with Budget(10.0) as units:
        assert allows(6.0)
        assert not allows(6.0)
        assert units.left == left() == 4.0


def test_an_inner_budget_takes_from_the_outer_one() -> None:
    with Budget(100.0) as outer:
        with share(0.5) as inner:
            assert inner.left == 50.0
            assert not allows(60.0)
            assert allows(30.0)
        assert outer.left == 70.0
        with question() as again:
            assert again.left == 70.0
            assert allows(70.0)
        assert left() == 0.0
        assert not allows(1.0)


def test_blocks_of_one_budget_share_its_units() -> None:
    kept = Budget(10.0)
    with Budget(100.0) as outer:
        for _ in range(2):
            with kept:
                assert allows(4.0)
        with kept:
            assert not allows(4.0)
    assert kept.left == 2.0
    assert outer.left == 92.0


def test_a_budget_is_closed_by_an_error() -> None:
    with pytest.raises(RuntimeError), Budget(1.0):
        raise RuntimeError
    assert left() == budget.CALL


def test_without_a_budget_a_step_of_one_question_is_allowed() -> None:
    assert allows(budget.CALL)
    assert not allows(1.01 * budget.CALL)


@pytest.mark.parametrize("units", [1.0, 1e5, 1e7])
def test_an_answer_on_a_small_budget_is_wider_and_still_certified(
    units: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What no budget allows is left out, and the interval says why it is wide."""
    plan = hs.Plan([hs.Round(hs.Laplace(2.0), hs.Poisson(0.1), 50), hs.Round(hs.DiscreteGaussian(3.0), count=7)])
    whole = plan.epsilon(1e-6)
    monkeypatch.setattr(budget, "CALL", units)
    found = plan.epsilon(1e-6)
    assert found.lower <= whole.upper
    assert whole.lower <= found.upper < math.inf
    assert found.upper - found.lower <= 1e-5 or found.reason
