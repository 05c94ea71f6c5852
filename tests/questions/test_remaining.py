"""What may still be run: the count is the largest that meets the target, whatever it counts."""

from __future__ import annotations

import pytest

import hockeystick as hs
from hockeystick.questions.remaining import remaining
from hockeystick.report.remaining import remaining_answer
from hockeystick.values.errors import InvalidInputError

SGD = hs.dp_sgd(1.1, batch_size=256, dataset_size=60_000, epochs=60, delta=1e-5)


def test_epochs_remain_of_a_plan_that_says_epochs() -> None:
    """The total of all epochs, asked anew, is within the target, and one more is not."""
    found = remaining(SGD, 3.0, 1e-5)
    assert (found.count, found.unit) == (30, "epochs")
    for more, met in ((found.count, True), (found.count + 1, False)):
        total = hs.dp_sgd(1.1, batch_size=256, dataset_size=60_000, epochs=60 + more).epsilon(1e-5)
        assert (total.upper <= 3.0) is met
    assert found.spent == SGD.epsilon()


def test_steps_remain_of_a_plan_that_says_steps() -> None:
    """As many as an accountant finds that is stepped."""
    accountant = hs.Accountant()
    accountant.step(noise_multiplier=1.0, sample_rate=0.01, count=1000)
    found = remaining(accountant.plan, 3.0, 1e-6)
    expected = accountant.remaining(noise_multiplier=1.0, sample_rate=0.01, epsilon=3.0, delta=1e-6)
    assert (found.count, found.unit) == (expected, "steps")


def test_rounds_remain_by_plain_addition_where_that_is_exact() -> None:
    """Pure answers at delta 0: each costs a quarter."""
    answers = hs.Plan([hs.Round(hs.RandomizedResponse(epsilon=0.25), count=3)])
    found = remaining(answers, 2.01, 0.0)
    assert (found.count, found.unit) == (5, "rounds")
    assert remaining_answer(answers, found).headline == "5 more rounds keep epsilon <= 2.01 at delta = 0"


def test_as_many_remain_as_a_plan_may_have() -> None:
    """The search ends at the end of the domain, without a neighbour; what one more costs is asked all the same."""
    found = remaining(hs.Plan([hs.Round(hs.RandomizedResponse(0.0), count=3)]), 5.0, 0.0)
    assert found.count == 10**12 - 4
    assert found.achieved.ends["upper"] == found.beside.ends["upper"] == 0.0


def test_one_more_than_a_plan_may_have_costs_one_more(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each answer costs a quarter: 16 beside 3 where 20 is the most, and one more makes 20."""
    monkeypatch.setattr("hockeystick.questions.remaining.MAX_COUNT", 20)
    found = remaining(hs.Plan([hs.Round(hs.RandomizedResponse(0.25), count=3)]), 10.0, 0.0)
    assert found.count == 16
    assert found.achieved.ends["upper"] == pytest.approx(4.75, rel=1e-12)
    assert found.beside.ends["upper"] == pytest.approx(5.0, rel=1e-12)


def test_nothing_remains_where_it_is_spent() -> None:
    found = remaining(SGD, 1.0, 1e-5)
    assert (found.count, found.achieved) == (0, found.spent)
    answer = remaining_answer(SGD, found)
    assert answer.headline == "no more epochs within epsilon <= 1 at delta = 1e-5"
    assert [label for label, _ in answer.lines][:2] == ["spent so far", "with 1 more"]


def test_of_several_kinds_one_has_to_be_named() -> None:
    mixed = SGD + 3 * hs.Round(hs.Laplace(scale=20.0))
    with pytest.raises(InvalidInputError, match="2 kinds of rounds; give a plan with only the round to repeat"):
        remaining(mixed, 3.0, 1e-5)
    found = remaining(mixed, 3.0, 1e-5, hs.Round(hs.Laplace(scale=20.0), count=7))
    assert found.unit == "rounds"
    total = mixed + found.count * hs.Round(hs.Laplace(scale=20.0))
    assert total.epsilon(1e-5).upper <= 3.0 < (total + hs.Round(hs.Laplace(scale=20.0))).epsilon(1e-5).upper
    named = remaining(mixed, 3.0, 1e-5, SGD.rounds[0])
    assert (named.unit, 0 < named.count < 30) == ("epochs", True)
