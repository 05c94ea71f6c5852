"""A plan that says epochs keeps them: the number of steps follows, whatever is done with the plan."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import hockeystick as hs
from hockeystick import targets
from hockeystick.questions import parameters
from hockeystick.report.calibration import calibration_answer

RECORDS = 60_000
SIZES: dict[str, Any] = {"batch_size": 256, "dataset_size": RECORDS, "epochs": 60}
PLAN = hs.dp_sgd(1.1, **SIZES)
TARGET = targets.Epsilon(3.0, 1e-5)


@pytest.fixture(scope="module")
def found() -> hs.Calibration:
    return hs.calibrate(PLAN, "batch-size", TARGET)


def test_a_batch_size_is_found_for_the_epochs_that_were_said(found: hs.Calibration) -> None:
    """The steps of an epoch follow from the batch size that is tried; 60 epochs stay 60 epochs."""
    assert found.value == 381
    assert found.plan == hs.dp_sgd(1.1, **{**SIZES, "batch_size": 381})
    assert found.plan.rounds[0].epochs == 60
    assert found.beside is not None
    assert found.beside[0] == 382
    assert hs.dp_sgd(1.1, **{**SIZES, "batch_size": 382}).epsilon(1e-5).lower > 3.0


@pytest.mark.parametrize("start", [1, 20, 5000, RECORDS])
def test_the_batch_size_that_is_found_does_not_depend_on_the_first_one(start: int) -> None:
    plan = hs.dp_sgd(1.1, **{**SIZES, "batch_size": start})
    assert hs.calibrate(plan, "batch-size", TARGET).value == 381


def test_between_two_stairs_the_largest_batch_is_found() -> None:
    """Batches of 30 to 59 of 60 records take two steps an epoch: among them, and against 60, each one is tried."""
    for target in (targets.Epsilon(epsilon, 1e-3) for epsilon in (3.0, 4.0, 4.6)):
        found = hs.calibrate(hs.dp_sgd(1.0, batch_size=7, dataset_size=60, epochs=2), "batch-size", target)
        meeting = [
            target.met(hs.dp_sgd(1.0, batch_size=n, dataset_size=60, epochs=2).epsilon(1e-3)) for n in range(1, 61)
        ]
        assert meeting[int(found.value) - 1]
        assert int(found.value) == 60 or not meeting[int(found.value)]
        assert int(found.value) in {n for n in range(1, 61) if meeting[n - 1] and (n == 60 or not meeting[n])}


def test_the_whole_dataset_is_one_step_an_epoch() -> None:
    found = hs.calibrate(hs.dp_sgd(20.0, **SIZES), "batch-size", targets.Epsilon(50.0, 1e-5))
    assert (found.value, found.beside, found.plan.steps) == (RECORDS, None, 60)


def test_no_batch_is_small_enough() -> None:
    with pytest.raises(hs.UnreachableError, match=r"no batch-size meets epsilon 0.001.* at batch-size = 1"):
        hs.calibrate(
            hs.dp_sgd(0.5, batch_size=4, dataset_size=10, epochs=60), "batch-size", targets.Epsilon(1e-3, 1e-5)
        )


def test_a_rate_is_found_for_the_epochs_and_the_dataset_stays() -> None:
    """With sizes, a rate q of N records takes ceil(1/q) steps an epoch; N goes on to warn of a delta above 1/N."""
    found = hs.calibrate(PLAN, "sample-rate", TARGET)
    scheme = found.plan.rounds[0].sampling
    assert isinstance(scheme, hs.Poisson)
    assert (scheme.sample_rate, scheme.dataset_size, found.plan.rounds[0].epochs) == (found.value, RECORDS, 60)
    assert found.plan.steps == 60 * 157
    assert TARGET.met(found.achieved)
    for start in (1e-5, 1.0):
        again = hs.calibrate(hs.dp_sgd(1.1, start, epochs=60), "sample-rate", TARGET)
        assert again.value == pytest.approx(found.value, rel=2e-6)


@pytest.mark.parametrize("name", ["noise-multiplier", "noise"])
def test_other_parameters_leave_the_epochs(name: str) -> None:
    assert hs.calibrate(PLAN, name, TARGET).plan.rounds[0].epochs == 60


def test_steps_that_are_set_take_the_place_of_epochs() -> None:
    steps, epochs = (hs.calibrate(PLAN, name, TARGET) for name in ("steps", "epochs"))
    assert (steps.plan.rounds[0].epochs, steps.plan.steps) == (None, steps.value)
    assert (epochs.plan.rounds[0].epochs, epochs.plan.steps) == (epochs.value, 235 * epochs.value)


@pytest.mark.parametrize("ending", ["toml", "json"])
def test_files_keep_them(tmp_path: Path, ending: str) -> None:
    PLAN.save(tmp_path / f"plan.{ending}")
    read = hs.load_plan(tmp_path / f"plan.{ending}")
    assert read == PLAN
    assert read.rounds[0].epochs == 60
    assert hs.calibrate(read, "batch-size", TARGET).value == 381


def test_sums_and_multiples_keep_them() -> None:
    more = PLAN + hs.dp_sgd(1.1, **{**SIZES, "epochs": 30})
    assert [(item.epochs, item.count) for item in more.rounds] == [(90, 90 * 235)]
    assert [item.epochs for item in (2 * PLAN).rounds] == [120]
    steps = hs.dp_sgd(1.1, batch_size=256, dataset_size=RECORDS, steps=100)
    assert [(item.epochs, item.count) for item in (PLAN + steps).rounds] == [(None, 100), (60, 14_100)]


def test_how_it_is_said_does_not_move_a_bit() -> None:
    """Epochs, steps and both together are the same composition."""
    steps = hs.dp_sgd(1.1, batch_size=256, dataset_size=RECORDS, steps=14_100)
    parts = hs.dp_sgd(1.1, batch_size=256, dataset_size=RECORDS, steps=14_100 - 235 * 7) + hs.dp_sgd(
        1.1, **{**SIZES, "epochs": 7}
    )
    for accountant in ("auto", "rdp", "prv"):
        answers = [plan.epsilon(1e-5, accountant=accountant) for plan in (PLAN, steps, parts)]
        assert answers[0] == answers[1] == answers[2]
    proved = [plan.epsilon(1e-5, proof=True) for plan in (PLAN, parts)]
    assert proved[0] == proved[1]


def test_an_accountant_keeps_them() -> None:
    accountant = hs.Accountant()
    for _ in range(2):
        accountant.step(PLAN.rounds[0])
    accountant.step(hs.Round(hs.Gaussian(1.1), hs.Poisson(batch_size=256, dataset_size=RECORDS)), count=5)
    assert [(item.epochs, item.count) for item in accountant.history] == [(120, 28_200), (None, 5)]
    other = hs.Accountant()
    other.load_state_dict(accountant.state_dict())
    assert other.history == accountant.history


def test_a_count_that_contradicts_the_epochs_is_refused() -> None:
    sampling = hs.Poisson(batch_size=256, dataset_size=RECORDS)
    with pytest.raises(hs.InvalidInputError, match="give either count or epochs; received count 7 and 2 epochs of 235"):
        hs.Round(hs.Gaussian(1.0), sampling, 7, epochs=2)
    with pytest.raises(hs.InvalidInputError, match="give either count or epochs"):
        replace(PLAN.rounds[0], sampling=hs.Poisson(batch_size=512, dataset_size=RECORDS))
    with pytest.raises(hs.InvalidInputError, match="received sampling 'none'"):
        hs.Round(hs.Gaussian(1.0), epochs=2)


def test_a_rate_is_shown_so_that_the_steps_of_an_epoch_stay() -> None:
    """1/3, the least rate of three steps an epoch, is no rate of three steps once it is rounded down to digits."""
    target = targets.Epsilon(hs.dp_sgd(1.0, 1 / 3, epochs=2).epsilon(1e-5).upper * (1 + 1e-9), 1e-5)
    found = hs.calibrate(hs.dp_sgd(1.0, 0.1, epochs=2), "sample-rate", target)
    assert found.plan.steps == 6
    shown = float(calibration_answer(found).headline.split()[2])
    assert hs.dp_sgd(1.0, shown, epochs=2).steps == 6
    assert target.met(hs.dp_sgd(1.0, shown, epochs=2).epsilon(1e-5))


def test_batches_of_a_fixed_size_can_be_changed() -> None:
    plan = hs.Plan([hs.Round(hs.Gaussian(2.0), hs.WithoutReplacement(100, 1000), epochs=3)], "replace-one")
    _, build = parameters.of_plan(plan, "batch-size")
    changed = build(250).rounds[0]
    assert (changed.sampling, changed.epochs, changed.count) == (hs.WithoutReplacement(250, 1000), 3, 12)


def test_epochs_take_the_place_of_steps_that_were_said() -> None:
    """22 steps are no whole number of epochs of three."""
    rounds = [hs.Round(hs.Gaussian(5.66), hs.Poisson(batch_size=2, dataset_size=5), count=22)]
    assert rounds[0].changed(epochs=7).count == 21
    found = hs.calibrate(hs.Plan(rounds), "epochs", targets.Epsilon(9.9, 5e-5))
    assert found.plan.steps == 3 * found.value
    assert found.plan.rounds[0].epochs == found.value
