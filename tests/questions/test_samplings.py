"""The same training under every scheme: rows follow from the plan, numbers are those of the plans they show."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest

import hockeystick as hs
from command import runner
from hockeystick.cli import main
from hockeystick.plan.sampling import Sampling
from hockeystick.plan.sampling.registry import SAMPLINGS
from hockeystick.questions.samplings import known_of, resampled
from hockeystick.report.loaders import LOADERS

SIZES: dict[str, Any] = {"batch_size": 256, "dataset_size": 60_000}
SGD = hs.dp_sgd(1.1, **SIZES, epochs=60, adjacency="replace-one", delta=1e-5)
FLAGS = ["--noise-multiplier", "1.1", "--batch-size", "256", "--dataset-size", "60000", "--epochs", "60"]


@pytest.mark.long
def test_a_row_for_every_scheme_with_the_numbers_of_its_plan() -> None:
    rows = hs.samplings(SGD)
    assert [row.scheme for row in rows] == list(SAMPLINGS)
    for row in rows:
        if row.epsilon is None:
            assert row.reason
        else:
            assert row.plan is not None
            assert row.epsilon == row.plan.epsilon(1e-5)
            assert row.plan.steps >= SGD.steps
    found = {row.scheme.name: row for row in rows}
    assert found["poisson"].plan == SGD
    assert found["poisson"].noise_multiplier == pytest.approx(1.1, rel=1e-4)
    shuffled = found["shuffled"]
    assert shuffled.sampling == hs.Shuffled(**SIZES)
    assert shuffled.plan is not None
    assert (shuffled.plan.rounds[0].count, shuffled.plan.steps) == (60, 14_100)


@pytest.mark.long
def test_the_noise_reaches_the_target_and_hardly_more() -> None:
    for row in hs.samplings(SGD, epsilon=3.0):
        if row.noise_multiplier is not None and row.plan is not None:
            wide = row.scheme is hs.WithReplacement  # whose pair of a replaced record the grid has no fine mesh for
            for factor, met in ((1.0, True),) if wide else ((1.0, True), (0.999, False)):
                mechanism = hs.Gaussian(factor * row.noise_multiplier)
                plan = hs.Plan([item.changed(mechanism=mechanism) for item in row.plan.rounds], "replace-one")
                assert (plan.epsilon(1e-5).upper <= 3.0) is met


@pytest.mark.parametrize(
    ("sampling", "known"),
    [
        (
            hs.Poisson(**SIZES),
            {**SIZES, "sample_rate": 256 / 60_000, "steps_per_epoch": 235, "draws": 256, "max_batch_size": 320},
        ),
        (hs.Poisson(0.01), {"sample_rate": 0.01, "steps_per_epoch": 100}),
        (
            hs.Poisson(0.01, dataset_size=1000),
            {"sample_rate": 0.01, "steps_per_epoch": 100, "dataset_size": 1000, "batch_size": 10, "draws": 10,
             "max_batch_size": 23},
        ),
        (hs.Shuffled(50), {"sample_rate": 0.02, "steps_per_epoch": 50}),
    ],
)  # fmt: skip
def test_what_follows_from_a_scheme(sampling: Sampling, known: dict[str, float]) -> None:
    assert known_of(sampling) == known


def test_rounds_that_see_every_record_stay() -> None:
    mixed = hs.Round(hs.Gaussian(20.0), count=3) + SGD.rounds[0]
    mixed = hs.Plan(mixed.rounds, "replace-one")
    other = resampled(mixed, hs.Shuffled)
    assert hs.Round(hs.Gaussian(20.0), count=3) in other.rounds
    assert hs.Round(hs.Gaussian(1.1), hs.Shuffled(**SIZES), 60) in other.rounds
    rows = {row.scheme.name: row for row in hs.samplings(mixed, 1e-5, 5.0)}
    assert rows["poisson"].epsilon is not None
    assert rows["poisson"].noise_multiplier is None  # two noises: there is no one value
    assert rows["shuffled"].sampling == hs.Shuffled(**SIZES)


def test_epochs_that_have_begun_count_whole() -> None:
    begun = hs.dp_sgd(1.1, 0.01, 250, adjacency="replace-one")
    other = resampled(begun, hs.Shuffled)
    assert (other.rounds[0].count, other.steps) == (3, 300)


def test_a_key_that_does_not_follow_is_not_guessed() -> None:
    rows = {row.scheme.name: row for row in hs.samplings(hs.dp_sgd(1.1, 0.01, 100), 1e-5)}
    fixed = rows["without-replacement"]
    assert (fixed.plan, fixed.epsilon) == (None, None)
    assert fixed.reason == "batch_size does not follow from the plan; give a plan with sampling 'without-replacement'"
    assert rows["shuffled"].plan is not None
    assert rows["shuffled"].epsilon is None
    assert "give batch_size and dataset_size" in (rows["shuffled"].reason or "")


def test_what_is_refused() -> None:
    with pytest.raises(hs.InvalidInputError, match="no delta: the plan has no target delta"):
        hs.samplings(hs.dp_sgd(1.1, 0.01, 100))
    with pytest.raises(hs.InvalidInputError, match="no round of the plan is sampled"):
        hs.samplings(hs.Plan([hs.Round(hs.Gaussian(1.0))]), 1e-5)
    with pytest.raises(hs.InvalidInputError, match="delta must be"):
        hs.samplings(SGD, 2.0)
    with pytest.raises(hs.InvalidInputError, match="epsilon must be"):
        hs.samplings(SGD, 1e-5, {})  # type: ignore[arg-type]
    assert all(row.noise_multiplier is None for row in hs.samplings(SGD, epsilon=math.inf))


def test_loaders_are_known_of_every_scheme() -> None:
    for scheme in SAMPLINGS:
        assert LOADERS[scheme.name], scheme.name
    assert all(LOADERS.values())


@pytest.mark.slow
def test_the_command_shows_every_row() -> None:
    done = runner().invoke(main, ["sampling", *FLAGS, "--adjacency", "replace-one", "--delta", "1e-5"])
    assert done.exit_code == 0
    for scheme in SAMPLINGS:
        assert f"\n{scheme.name} " in done.stdout
    assert "epsilon at delta = 1e-5 under replace-one; noise for epsilon 4.23" in done.stdout
    assert "quote the upper end" in done.stdout
    assert "DataLoader(shuffle=True)" in done.stdout


@pytest.mark.slow
def test_as_json_it_is_what_the_library_says() -> None:
    done = runner().invoke(main, ["sampling", *FLAGS, "--delta", "1e-5", "--epsilon", "3", "--json"])
    found = json.loads(done.stdout)
    assert (found["adjacency"], found["delta"], found["epsilon"]) == ("add-or-remove", 1e-5, 3.0)
    rows = hs.samplings(hs.dp_sgd(1.1, **SIZES, epochs=60), 1e-5, 3.0)
    assert [item["scheme"] for item in found["samplings"]] == [row.scheme.name for row in rows]
    for item, row in zip(found["samplings"], rows, strict=True):
        assert item["noise_multiplier"] == row.noise_multiplier
        assert item["epsilon"] == (None if row.epsilon is None else dict(row.epsilon.ends))
        assert item["parameters"] == (None if row.sampling is None else row.sampling.keys())
        assert item["assumption"] == row.scheme.assumption
        assert bool(item["warnings"]) is (row.scheme is hs.Shuffled)


@pytest.mark.parametrize("name", ["shufled", "shuffle", "poison", "without-replacment"])
def test_an_unknown_scheme_is_told_the_nearest_there_is(name: str) -> None:
    near = {"shufled": "shuffled", "shuffle": "shuffled", "poison": "poisson"}.get(name, "without-replacement")
    done = runner().invoke(main, ["epsilon", *FLAGS, "--delta", "1e-5", "--sampling", name])
    assert done.exit_code == 2
    assert f"did you mean '{near}'?" in done.stderr
    with pytest.raises(hs.InvalidInputError, match=f"did you mean '{near}'"):
        hs.dp_sgd(1.1, **SIZES, epochs=60, sampling=name)


def test_flags_describe_shuffled_batches() -> None:
    flags = [*FLAGS, "--adjacency", "replace-one", "--delta", "1e-5", "--sampling", "shuffled", "--json"]
    found = json.loads(runner().invoke(main, ["epsilon", *flags]).stdout)
    bound = hs.Plan([hs.Round(hs.Gaussian(1.1), hs.Shuffled(**SIZES), 60)], "replace-one").epsilon(1e-5)
    assert (found["epsilon"]["lower"], found["epsilon"]["upper"]) == (bound.lower, bound.upper)
    assert hs.dp_sgd(1.1, **SIZES, epochs=60, sampling="shuffled").rounds[0].count == 60
    whole = hs.dp_sgd(1.1, steps_per_epoch=235, steps=14_100, sampling="shuffled")
    assert (whole.rounds[0].count, whole.steps) == (60, 14_100)
    with pytest.raises(hs.InvalidInputError, match="steps must make up whole epochs of 235 steps"):
        hs.dp_sgd(1.1, **SIZES, steps=1000, sampling="shuffled")
    with pytest.raises(hs.InvalidInputError, match="sample_rate cannot be used with sampling 'shuffled'"):
        hs.dp_sgd(1.1, 0.01, 100, sampling="shuffled")
