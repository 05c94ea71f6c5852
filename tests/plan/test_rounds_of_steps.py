"""A round may be many steps: what counts steps, and what counts rounds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import pytest

import hockeystick as hs
from toys import InTurn, register

EPOCH = hs.Round(hs.Gaussian(10.0), InTurn(1000))


@dataclass(frozen=True)
class TwoEpochs(InTurn):
    """A scheme whose theorem is about two passes over the data at once."""

    name: ClassVar[str] = "two-epochs"

    @property
    def steps_per_round(self) -> int:
        return 2 * self.period


def test_an_epoch_of_a_thousand_steps_is_one_round() -> None:
    """The pair of the round is composed once for each epoch, and a program takes a thousand steps in it."""
    plan = hs.Plan([7 * EPOCH])
    assert (plan.steps, plan.rounds[0].steps, plan.rounds[0].count) == (7000, 7000, 7)
    assert plan.epsilon(1e-6) == hs.Plan([7 * hs.Round(hs.Gaussian(10.0))]).epsilon(1e-6)
    assert (EPOCH + hs.Round(hs.Gaussian(3.0), count=5)).steps == 1005


def test_epochs_are_counted_in_steps() -> None:
    said = hs.Round(hs.Gaussian(10.0), InTurn(1000), epochs=6)
    assert (said.count, said.steps) == (6, 6000)
    assert said == hs.Round(hs.Gaussian(10.0), InTurn(1000), 6, 6)
    double = hs.Round(hs.Gaussian(10.0), TwoEpochs(1000), epochs=6)
    assert (double.count, double.steps) == (3, 6000)
    with pytest.raises(hs.InvalidInputError, match="whole rounds of 2000 steps; received 5 epochs of 1000 steps"):
        double.changed(epochs=5)
    with pytest.raises(hs.InvalidInputError, match="received count 6000 and 6 epochs"):
        hs.Round(hs.Gaussian(10.0), InTurn(1000), 6000, 6)


def test_the_stepped_accountant_counts_steps() -> None:
    accountant = hs.Accountant()
    accountant.step(EPOCH, count=3)
    accountant.step(noise_multiplier=1.0, sample_rate=0.01, count=2)
    assert len(accountant) == accountant.plan.steps == 3002
    assert accountant.remaining(noise_multiplier=1.0, sample_rate=0.01, epsilon=2.0, delta=1e-6) > 0


def test_steps_and_epochs_are_calibrated_in_whole_rounds() -> None:
    target = hs.targets.Epsilon(1.0, 1e-6)
    rounds = hs.calibrate(hs.Plan([hs.Round(hs.Gaussian(10.0))]), "steps", target).value
    steps = hs.calibrate(hs.Plan([EPOCH]), "steps", target)
    assert rounds > 1
    assert (steps.value, steps.plan.steps, steps.plan.rounds[0].count) == (1000 * rounds, 1000 * rounds, rounds)
    assert steps.beside is not None
    assert steps.beside[0] == 1000 * rounds + 1
    epochs = hs.calibrate(hs.Plan([EPOCH]), "epochs", target)
    assert (epochs.value, epochs.plan.steps) == (rounds, 1000 * rounds)


def test_plan_files_keep_rounds_and_epochs(monkeypatch: pytest.MonkeyPatch) -> None:
    register(monkeypatch, InTurn)
    for item in (7 * EPOCH, hs.Round(hs.Gaussian(10.0), InTurn(1000), epochs=7)):
        plan = hs.Plan([item])
        assert hs.Plan.from_dict(plan.to_dict()) == plan
        assert plan.to_dict()["round"][0]["period"] == 1000
