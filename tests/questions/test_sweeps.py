"""Sweeps: what is asked at each point, what becomes of one without an answer, what people choose by."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hockeystick as hs
from hockeystick.questions import many
from hockeystick.questions.parameters import PARAMETERS
from hockeystick.questions.sweeps import grid as grids
from hockeystick.targets import Advantage, Epsilon

DELTA = 1e-5
PLAN = hs.dp_sgd(1.0, batch_size=256, dataset_size=60_000, epochs=15, delta=DELTA)
STEPPED = hs.dp_sgd(1.0, sample_rate=0.01, steps=1000, delta=DELTA)
SMALL: Mapping[str, Any] = {"noise_multiplier": [0.8, 1.2, 2.0], "steps": [100, 1000]}


def test_rows_are_what_single_plans_answer() -> None:
    found = hs.sweep(STEPPED, SMALL)
    for row in found.rows:
        alone = hs.dp_sgd(row["noise_multiplier"], 0.01, row["steps"]).epsilon(DELTA)
        assert row["lower"] <= alone.upper
        assert alone.lower <= row["upper"]
        assert row["upper"] - row["lower"] <= 1e-6 * row["upper"]
    assert [(row["noise_multiplier"], row["steps"]) for row in found.rows[:3]] == [(0.8, 100), (0.8, 1000), (1.2, 100)]


def test_rows_are_those_of_many_plans_to_the_last_bit() -> None:
    noises = [0.7, 1.3, 2.9]
    found = hs.sweep(STEPPED, {"noise-multiplier": noises})
    assert found.columns["upper"] == tuple(hs.epsilons([hs.dp_sgd(n, 0.01, 1000) for n in noises], DELTA).upper)


def test_plans_that_are_asked_one_by_one_have_their_own_bits() -> None:
    plan = hs.Plan([hs.Round(hs.Laplace(10.0), count=20)], delta=DELTA)
    found = hs.sweep(plan, {"scale": [5, 10], "steps": [10, 20]})
    alone = hs.Plan([hs.Round(hs.Laplace(5.0), count=20)]).epsilon(DELTA)
    assert (found.rows[1]["lower"], found.rows[1]["upper"]) == (alone.lower, alone.upper)


def test_a_template_that_says_epochs_keeps_them() -> None:
    found = hs.sweep(PLAN, {"epochs": [10, 20], "batch_size": [256, 1000]})
    assert found.columns["steps"] == (2350, 600, 4700, 1200)
    assert hs.sweep(PLAN, {"batch_size": [1000]}).columns["steps"] == (900,)
    assert hs.sweep(PLAN, {"batch_size": [1000], "steps": [7]}).columns["gradients"] == (7000.0,)
    swapped = hs.sweep(PLAN, {"batch_size": [256, 1000], "epochs": [10, 20]})
    assert sorted(found.columns["upper"]) == sorted(swapped.columns["upper"])


def test_every_parameter_has_a_place_in_the_order_of_setting() -> None:
    assert set(grids.SETTING) == set(PARAMETERS)


def test_delta_may_be_an_axis_and_may_be_what_is_asked() -> None:
    found = hs.sweep(STEPPED, {"delta": [1e-5, 1e-8], "noise_multiplier": [1.0]})
    assert found.rows[1]["lower"] <= STEPPED.epsilon(1e-8).upper
    assert found.rows[1]["upper"] >= STEPPED.epsilon(1e-8).lower
    deltas = hs.sweep(STEPPED, {"noise_multiplier": [1.0, 2.0]}, epsilon=1.0)
    assert deltas.question.startswith("delta at epsilon = 1")
    assert deltas.columns["upper"] == tuple(hs.deltas([STEPPED, hs.dp_sgd(2.0, 0.01, 1000)], 1.0).upper)


def test_a_target_gives_the_noise_and_what_it_achieves() -> None:
    found = hs.sweep(PLAN, {"batch_size": [256, 1024], "delta": [1e-5, 1e-7]}, target=2.0)
    for row in found.rows:
        plan = hs.dp_sgd(row["noise_multiplier"], batch_size=row["batch_size"], dataset_size=60_000, epochs=15)
        epsilon = plan.epsilon(row["delta"])
        assert epsilon.upper <= 2.0
        assert row["upper"] <= 2.0
        assert epsilon.lower <= row["upper"]
        less = hs.dp_sgd(
            row["noise_multiplier"] * (1 - 3e-6), batch_size=row["batch_size"], dataset_size=60_000, epochs=15
        )
        assert less.epsilon(row["delta"]).lower > 2.0


def test_other_targets_and_other_parameters() -> None:
    found = hs.sweep(STEPPED, {"noise_multiplier": [1.0, 2.0]}, target=2.0, parameter="steps")
    for row in found.rows:
        assert type(row["steps"]) is int
        assert hs.dp_sgd(row["noise_multiplier"], 0.01, row["steps"]).epsilon(DELTA).upper <= 2.0
        assert hs.dp_sgd(row["noise_multiplier"], 0.01, row["steps"] + 1).epsilon(DELTA).lower > 2.0
    advantage = hs.sweep(STEPPED, {"steps": [100]}, target=Advantage(0.05)).rows[0]
    assert hs.dp_sgd(advantage["noise_multiplier"], 0.01, 100).profile().advantage().upper <= 0.05 * (1 + 1e-9)


WRONG = {"batch_size": [256, 70_000], "noise_multiplier": [-1.0, 1.0]}
"""A grid of four points of which one is a plan: a batch is larger than the dataset, a noise is below 0."""


def test_a_wrong_row_says_why_and_the_others_are_answered() -> None:
    found = hs.sweep(PLAN, WRONG)
    assert found.unanswered == 3
    assert found.columns["guarantee"] == ("refused", "certified", "refused", "refused")
    assert "noise_multiplier must be" in found.rows[0]["reason"]
    assert "received 70000 and 60000" in found.rows[3]["reason"]
    assert math.isnan(found.rows[0]["upper"])
    assert found.rows[1]["upper"] == hs.sweep(PLAN, {"batch_size": [256]}).rows[0]["upper"]


def test_one_plan_that_is_refused_among_many_takes_no_other_with_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """A refusal of a plan that the batch takes, which none of them has today."""
    real = many._by_batch

    def refusing(keys: Any, *args: Any) -> Any:
        return real([key for key in keys if key.rounds.kinds[0][2] != 200], *args)

    def refused(*_: Any, **__: Any) -> None:
        raise hs.UnsupportedError("not this")

    monkeypatch.setattr(many, "_by_batch", refusing)
    monkeypatch.setattr(hs.Plan, "epsilon", refused)
    found = hs.sweep(STEPPED, {"steps": [100, 200, 300]})
    assert [row["guarantee"] for row in found.rows] == ["certified", "refused", "certified"]
    assert found.rows[1]["reason"] == "not this"


@pytest.mark.long
def test_noises_that_are_not_found_side_by_side_are_asked_by_themselves() -> None:
    """Unsampled rounds, and a plan of few rounds at a tiny rate, beside everyday ones; bits are of each point alone."""
    grid = {"sample_rate": [1e-8, 0.01, 1.0], "steps": [3, 1000]}
    found = hs.sweep(STEPPED, grid, target=0.5)
    assert found.unanswered == 0
    for row in found.rows:
        alone = hs.sweep(STEPPED, {name: [row[name]] for name in grid}, target=0.5).rows[0]
        assert alone == row
        plan = hs.dp_sgd(1.0, row["sample_rate"], row["steps"])
        single = hs.calibrate(plan, "noise-multiplier", Epsilon(0.5, DELTA))
        assert row["upper"] <= 0.5
        assert single.limited or row["noise_multiplier"] == pytest.approx(single.value, rel=1e-6)


@pytest.mark.parametrize(
    ("plan", "grid", "options", "said"),
    [
        (PLAN, {}, {}, "grid must map parameter names to values"),
        (PLAN, [1.0], {}, "grid must map parameter names to values"),
        (PLAN, {"noise_multiplie": [1.0]}, {}, "did you mean 'noise_multiplier'"),
        (PLAN, {7: [1.0]}, {}, "grid must be one of"),
        (PLAN, {"noise_multiplier": []}, {}, "noise_multiplier has no values"),
        (PLAN, {"noise_multiplier": [1.0, 1]}, {}, "2 values but only 1 distinct"),
        (PLAN, {"noise_multiplier": "1.0"}, {}, "must be a finite number; received '1.0'"),
        (PLAN, {"noise_multiplier": [math.nan]}, {}, "must be a finite number; received nan"),
        (PLAN, {"epochs": [1.5]}, {}, "epochs must be a whole number"),
        (PLAN, {"delta": [1.0]}, {}, "delta must be 0 or a number, at least 1e-300 and less than 1"),
        (PLAN, {"steps": [1], "epochs": [1]}, {}, "steps and epochs determine each other"),
        (PLAN, {"batch-size": [1], "batch_size": [1]}, {}, "batch_size is given twice"),
        (PLAN, {"batch_size": [1], "sample-rate": [0.1]}, {}, "sample-rate and batch-size determine each other"),
        (PLAN, {"noise": [1], "steps": [1]}, {"target": 1.0}, "noise and noise-multiplier determine each other"),
        (PLAN, {"noise_multiplier": [1]}, {"target": 1.0}, "noise-multiplier is calibrated"),
        (PLAN, {"scale": [1]}, {}, "no round of the plan has the key 'scale'"),
        (STEPPED, {"batch_size": [1]}, {}, "no round of the plan has the key 'batch_size'"),
        (PLAN, {"noise_multiplier": np.arange(1, 10_002), "epochs": range(1, 1001)}, {}, "at most 10,000,000 points"),
        (PLAN, {"delta": [1e-5]}, {"delta": 1e-5}, "delta is also in the grid"),
        (PLAN, {"epochs": [1]}, {"epsilon": 1.0, "delta": 1e-5}, "leave delta out"),
        (PLAN, {"epochs": [1]}, {"epsilon": 1.0, "target": 1.0}, "received both"),
        (PLAN, {"epochs": [1]}, {"target": Epsilon(1.0, 1e-5), "delta": 1e-5}, "a target object has its own delta"),
        (PLAN, {"epochs": [1]}, {"target": "3"}, "target must be an epsilon"),
        (PLAN, {"epochs": [1]}, {"parameter": "steps"}, "parameter requires target"),
        (PLAN, {"epochs": [1]}, {"target": 1.0, "parameter": "steps"}, "steps and epochs determine each other"),
        (PLAN, {"epochs": [1]}, {"gap": 2.0}, "gap must be"),
        ("plan", {"epochs": [1]}, {}, "template must be a Plan"),
        (hs.dp_sgd(1.0, 0.01, 10), {"steps": [1]}, {}, "no delta"),
    ],
)  # fmt: skip
def test_a_sweep_that_makes_no_sense_is_refused_before_it_begins(
    plan: Any, grid: Any, options: dict[str, Any], said: str
) -> None:
    with pytest.raises(hs.InvalidInputError) as raised:
        hs.sweep(plan, grid, **options)
    assert said in str(raised.value)
    assert "\n" not in str(raised.value)


def test_bits_depend_neither_on_the_order_nor_on_the_other_points() -> None:
    noises = np.linspace(0.6, 3.0, 12).tolist()
    here = hs.sweep(STEPPED, {"noise_multiplier": noises, "steps": [100, 300]})
    for at, noise in reversed(list(enumerate(noises))):
        assert (
            hs.sweep(STEPPED, {"noise_multiplier": [noise], "steps": [100, 300]}).rows == here.rows[2 * at : 2 * at + 2]
        )


def test_points_are_asked_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    grid = {"noise_multiplier": np.linspace(0.6, 3.0, 12).tolist(), "steps": [100, 300]}
    whole = hs.sweep(STEPPED, grid).to_csv()
    monkeypatch.setattr("hockeystick.questions.sweeps.sweep.TOGETHER", 7)
    assert hs.sweep(STEPPED, grid).to_csv() == whole


def test_progress_is_told_from_nothing_to_all() -> None:
    told: list[tuple[int, int]] = []
    hs.sweep(STEPPED, SMALL, progress=lambda done, of: told.append((done, of)))
    assert told[0] == (0, 6)
    assert told[-1] == (6, 6)


def test_text_has_every_digit_and_nothing_where_there_is_none(tmp_path: Path) -> None:
    found = hs.sweep(PLAN, WRONG)
    found.to_csv(tmp_path / "a.csv")
    text = (tmp_path / "a.csv").read_text(encoding="utf-8")
    assert text == found.to_csv()
    read = list(csv.DictReader(io.StringIO(text)))
    assert list(read[0]) == list(found.columns)
    assert float(read[1]["upper"]) == found.rows[1]["upper"]
    assert read[0]["upper"] == read[0]["noise_per_coordinate"] == ""
    assert read[0]["reason"] == found.rows[0]["reason"]


def test_utility_is_noise_of_the_averaged_gradient() -> None:
    row = hs.sweep(PLAN, {"batch_size": [1000], "noise_multiplier": [2.0]}).rows[0]
    assert row["noise_per_coordinate"] == 2.0 / 1000
    assert row["gradients"] == 1000.0 * 900
    assert "noise_per_coordinate" not in hs.sweep(STEPPED, SMALL).columns


def test_what_numbers_assume_is_said_once_and_a_large_delta_is_warned_of() -> None:
    found = hs.sweep(PLAN, {"delta": [1e-5, 1e-2]})
    assert [text.partition(":")[0] for text in found.assumptions] == ["sampling poisson"]
    assert "1/60000" in found.warnings[0]
    assert hs.sweep(PLAN, {"delta": [1e-5]}).warnings == ()
