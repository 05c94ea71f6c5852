"""An accountant that is stepped and asked in turn: the plan's truth, the same bits by every way there."""

from __future__ import annotations

import copy
import json
import pickle
import threading
import time

import pytest

import hockeystick as hs

SCHEDULE = [(0.8 + 0.06 * number, 0.05) for number in range(20)]


def stepped(schedule: list[tuple[float, float]], adjacency: str = "add-or-remove", ask: bool = False) -> hs.Accountant:
    accountant = hs.Accountant(adjacency)
    for noise, rate in schedule:
        accountant.step(noise_multiplier=noise, sample_rate=rate)
        if ask:
            accountant.epsilon(1e-6)
    return accountant


def ends(found: hs.Bound) -> tuple[float, float, float]:
    return found.lower, found.estimate, found.upper


@pytest.mark.parametrize(
    ("schedule", "adjacency"),
    [
        (SCHEDULE, "add-or-remove"),
        ([(5.0 + 0.2 * number, 0.01) for number in range(30)], "add-or-remove"),  # either direction may be the worse
        ([(1.0, 0.01 + 0.001 * (number % 9)) for number in range(60)], "zero-out"),
        (SCHEDULE, "remove"),
    ],
)
def test_it_answers_as_the_plan_does(schedule: list[tuple[float, float]], adjacency: str) -> None:
    """To the last bit, with the same assumptions."""
    accountant = stepped(schedule, adjacency)
    found = accountant.epsilon(1e-6)
    assert found == accountant.plan.epsilon(1e-6)
    assert found.relative_gap <= 1e-6
    assert accountant.delta(found.upper) == accountant.plan.delta(found.upper)


@pytest.mark.parametrize("verb", ["epsilon", "delta"])
def test_an_option_that_only_plans_take_is_refused_in_one_line(verb: str) -> None:
    accountant = hs.Accountant()
    accountant.step(noise_multiplier=1.0, sample_rate=0.01)
    with pytest.raises(hs.InvalidInputError, match=rf"{verb} has no argument 'accountant'") as raised:
        getattr(accountant, verb)(1e-6, accountant="rdp")
    assert raised.value.field == "accountant"
    assert "\n" not in str(raised.value)


def test_every_way_there_has_the_same_bits() -> None:
    """Asked after each step, once at the end, as a copy, or from a saved state in the middle."""
    asked = stepped(SCHEDULE, ask=True)
    expected = ends(asked.epsilon(1e-6))
    assert ends(stepped(SCHEDULE).epsilon(1e-6)) == expected
    assert ends(copy.copy(asked).epsilon(1e-6)) == expected
    assert ends(pickle.loads(pickle.dumps(asked)).epsilon(1e-6)) == expected
    resumed = hs.Accountant()
    resumed.load_state_dict(json.loads(json.dumps(stepped(SCHEDULE[:12], ask=True).state_dict())))
    for noise, rate in SCHEDULE[12:]:
        resumed.step(noise_multiplier=noise, sample_rate=rate)
    assert ends(resumed.epsilon(1e-6)) == expected


def test_a_last_kind_that_goes_on_counts_as_often() -> None:
    """Its rounds are one entry: asked in between, or recorded at once."""
    slowly, atonce = stepped(SCHEDULE), stepped(SCHEDULE)
    for _ in range(30):
        slowly.step(noise_multiplier=3.0, sample_rate=0.02)
        slowly.epsilon(1e-6)
    atonce.step(noise_multiplier=3.0, sample_rate=0.02, count=30)
    assert ends(slowly.epsilon(1e-6)) == ends(atonce.epsilon(1e-6))


def test_a_loaded_state_is_asked_anew() -> None:
    """The steps taken before it was loaded do not count."""
    accountant = stepped(SCHEDULE, ask=True)
    accountant.load_state_dict(stepped(SCHEDULE[:10]).state_dict())
    assert ends(accountant.epsilon(1e-6)) == ends(stepped(SCHEDULE[:10]).epsilon(1e-6))


def test_a_copy_goes_on_by_itself() -> None:
    """A step of either is no step of the other."""
    accountant = stepped(SCHEDULE, ask=True)
    other = copy.copy(accountant)
    other.step(noise_multiplier=0.7, sample_rate=0.02)
    before = ends(accountant.epsilon(1e-6))
    assert other.epsilon(1e-6).lower > before[2]
    assert ends(accountant.epsilon(1e-6)) == before


@pytest.mark.parametrize(("name", "value"), [("delta", 1.5), ("epsilon", -1.0)])
def test_values_outside_their_domains_are_refused(name: str, value: float) -> None:
    """As the plan refuses them, and so is a gap."""
    accountant = stepped(SCHEDULE)
    ask = accountant.epsilon if name == "delta" else accountant.delta
    with pytest.raises(hs.InvalidInputError, match=name):
        ask(value)
    with pytest.raises(hs.InvalidInputError, match="gap"):
        ask(0.1, gap=2.0)


@pytest.mark.parametrize("adjacency", ["add-or-remove", "remove", "zero-out"])
def test_of_one_kind_it_is_the_plan_to_the_last_bit(adjacency: str) -> None:
    """However many steps were taken when it was asked."""
    for noise, rate, counts in ((0.8, 0.01, (1, 1, 500)), (4.0, 1e-4, (3, 4)), (0.6, 0.3, (40, 1000))):
        accountant = hs.Accountant(adjacency)
        for count in counts:
            accountant.step(noise_multiplier=noise, sample_rate=rate, count=count)
            found = accountant.epsilon(1e-6)
            assert found == accountant.plan.epsilon(1e-6)
            assert accountant.delta(found.upper or 0.1) == accountant.plan.delta(found.upper or 0.1)


def test_a_step_like_the_last_one_is_the_same_round() -> None:
    """Whether it was looked at or not; and what looks like a number is looked at each time."""
    accountant, other = hs.Accountant(), hs.Accountant()
    for _ in range(3):
        accountant.step(noise_multiplier=1.0, sample_rate=0.5)
        other.step(hs.Round(hs.Gaussian(1.0), hs.Poisson(0.5)))
    assert accountant.history == other.history
    with pytest.raises(hs.InvalidInputError):
        accountant.step(noise_multiplier=True, sample_rate=0.5)


def test_steps_of_several_threads_are_all_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """A thread that is interrupted between reading the last entry and writing it loses no step of another one."""
    joined = hs.Round.joined

    def slowly(self: hs.Round, other: hs.Round) -> hs.Round | None:
        found = joined(self, other)
        time.sleep(1e-3)
        return found

    monkeypatch.setattr(hs.Round, "joined", slowly)
    accountant = hs.Accountant()

    def step() -> None:
        for _ in range(10):
            accountant.step(noise_multiplier=1.0, sample_rate=0.01)

    threads = [threading.Thread(target=step) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(accountant) == 40
