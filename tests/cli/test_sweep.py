"""The command ``hockeystick sweep``: grids as people write them, where rows go, how an interruption ends."""

from __future__ import annotations

import csv
import io
import sys
from pathlib import Path

import pytest

import hockeystick as hs
from command import refused, run
from hockeystick.cli import progress
from hockeystick.cli.grids import grids
from hockeystick.values.errors import InvalidInputError

SIZES = ("--batch-size", "256", "--dataset-size", "60000", "--delta", "1e-5")
FLAGS = (*SIZES, "--epochs", "10")
PLAN = hs.dp_sgd(1.0, batch_size=256, dataset_size=60_000, epochs=10, delta=1e-5)


def values(text: str) -> tuple[float, ...]:
    (found,) = grids(None, None, (text,)).values()  # type: ignore[arg-type]  # it looks at neither
    return found


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("noise_multiplier=0.1:0.4:4", (0.1, 0.2, 0.3, 0.4)),
        ("steps=1000,60_000", (1000.0, 60000.0)),
        ("delta=1/4,1%", (0.25, 0.01)),
        ("delta=1/60000", (1.6666666666666664e-05,)),
        ("sample_rate=1/60000", (1.6666666666666667e-05,)),
        ("epochs=1:4:7", (1.0, 2.0, 3.0, 4.0)),
    ],
)
def test_values_as_people_write_them(text: str, found: tuple[float, ...]) -> None:
    assert values(text) == found


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("noise_multiplier", "--grid must be NAME=VALUES"),
        ("=1", "--grid must be NAME=VALUES"),
        ("noise=", "--grid must be NAME=VALUES"),
        ("noise=1:2", "--grid must be NAME=VALUES"),
        ("noise=lin:1:2:3", "--grid must be NAME=VALUES"),
        ("noise=1:2:1", "the number of values must be a whole number from 2"),
        ("noise=1:2:2.5", "the number of values must be a whole number from 2"),
        ("noise=2:1:5", "must run from a number to a larger one"),
        ("noise=1:inf:5", "must run from a number to a larger one"),
        ("noise=1,b", "--grid noise: 'b' is not a number"),
        ("noise=1,,2", "--grid noise: '' is not a number"),
    ],
)
def test_what_is_no_grid_is_refused(text: str, said: str) -> None:
    with pytest.raises(InvalidInputError, match=said.replace("(", r"\(")):
        values(text)


def test_rows_go_to_standard_output_and_what_they_assume_beside_them() -> None:
    result = run("sweep", *SIZES, "--grid", "noise_multiplier=0.8:1.2:2", "--grid", "epochs=10,20")
    assert result.exit_code == 0
    assert result.stdout == hs.sweep(PLAN, {"noise_multiplier": [0.8, 1.2], "epochs": [10, 20]}).to_csv()
    assert result.stderr.startswith("sampling poisson")


def test_a_file_is_written_and_the_answer_says_what_is_in_it(tmp_path: Path) -> None:
    plan = tmp_path / "plan.toml"
    PLAN.save(plan)
    output = tmp_path / "a.csv"
    result = run(
        "sweep", plan, "--grid", "batch-size=256,1024,1e6", "--grid", "epochs=10", "--target", "epsilon=3", "-o", output
    )
    assert result.exit_code == 0
    headline, _, *lines = result.stdout.splitlines()
    assert headline.startswith("3 rows in ")
    assert any(line.startswith("1 without answer") for line in lines)
    rows = list(csv.DictReader(io.StringIO(output.read_text(encoding="utf-8"))))
    assert [row["guarantee"] for row in rows] == ["certified", "certified", "refused"]
    assert float(rows[0]["noise_multiplier"]) == pytest.approx(
        hs.calibrate(PLAN, "noise-multiplier", hs.targets.Epsilon(3.0, 1e-5)).value, rel=1e-6
    )


def test_other_targets_by_their_names() -> None:
    few = ("--sample-rate", "0.01")
    result = run("sweep", *few, "--grid", "steps=100", "--target", "advantage=0.05")
    assert result.stdout.splitlines()[1].startswith("100,")
    assert "guarantee" in result.stdout
    both = run("sweep", *few, "--grid", "steps=100", "--target", "epsilon=1,delta=1e-5").stdout
    assert both == run("sweep", *few, "--delta", "1e-5", "--grid", "steps=100", "--target", "epsilon=1").stdout
    count = ("--sample-rate", "0.01", "--delta", "1e-5", "--grid", "noise_multiplier=1,2")
    assert run("sweep", *count, "--target", "epsilon=1", "--parameter", "steps").exit_code == 0


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("--grid", "noise=1"), "no plan: give a PLAN file"),
        ((*FLAGS,), "Missing option '--grid'."),
        ((*FLAGS, "--grid", "scale=1", "--noise-multiplier", "1"), "no round of the plan has the key 'scale'"),
        ((*FLAGS, "--grid", "nois_multiplier=1", "--noise-multiplier", "1"), "did you mean 'noise_multiplier'?"),
        ((*FLAGS, "--grid", "noise_multiplier=1", "--grid", "noise-multiplier=2"), "is given twice"),
        ((*FLAGS, "--grid", "noise_multiplier=1", "-o", "a.xlsx"), "name of a sweep's file must end in .csv"),
        ((*FLAGS, "--grid", "noise_multiplier=1", "-o", "no/a.csv"), "its folder does not exist"),
        ((*SIZES, "--grid", "epochs=1", "--target", "3"), "--target must be NAME=NUMBER"),
        ((*SIZES, "--grid", "epochs=1", "--target", "mu=1"), "--delta cannot be combined with --target mu"),
    ],
)  # fmt: skip
def test_what_makes_no_sense_takes_one_line(args: tuple[str, ...], said: str) -> None:
    assert said in refused("sweep", *args)


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("--sigma", "1", "--grid", "noise_multiplier=1,2"),
         "--noise-multiplier (--sigma) would have no effect because noise-multiplier is in --grid; leave it out"),
        (("--sigma", "1", "--grid", "steps=1,2"),
         "--epochs would have no effect because steps is in --grid; leave it out"),
        (("--sigma", "1", "--grid", "delta=1e-6", "--target", "epsilon=2"),
         "--noise-multiplier (--sigma) would have no effect because noise-multiplier is found by --target; leave "
         "it out"),
    ],
)  # fmt: skip
def test_a_flag_that_would_not_be_used_is_refused(args: tuple[str, ...], said: str) -> None:
    assert refused("sweep", *FLAGS, *args) == said


def test_aliases_of_flags_name_parameters_too() -> None:
    for one, other in (
        (("sweep", *SIZES, "--grid", "sigma=1,2", "--epochs", "5"),
         ("sweep", *SIZES, "--grid", "noise_multiplier=1,2", "--epochs", "5")),
        (("sweep", *SIZES, "--grid", "epochs=5", "--target", "epsilon=3", "--parameter", "sigma"),
         ("sweep", *SIZES, "--grid", "epochs=5", "--target", "epsilon=3", "--parameter", "noise-multiplier")),
        (("calibrate", "sigma", *FLAGS, "--epsilon", "3"), ("calibrate", "noise-multiplier", *FLAGS, "--epsilon", "3")),
    ):  # fmt: skip
        said = run(*one)
        assert said.exit_code == 0, said.stderr
        assert said.stdout == run(*other).stdout
    assert refused("sweep", *FLAGS, "--grid", "sigma=1", "--grid", "noise_multiplier=2") == (
        "--grid noise_multiplier is given twice; give it once"
    )


def test_progress_is_for_terminals(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    for screen, shown in ((io.StringIO(), False), (Terminal(), True)):
        monkeypatch.setattr(sys, "stderr", screen)
        with progress.progress("sweeping") as say:
            say("sweeping: 5 of 10")
        assert ("sweeping: 5 of 10" in screen.getvalue()) == shown
        assert screen.getvalue().endswith(progress.CLEARED) == shown  # nothing stays on the screen


def test_the_grid_of_the_readme_is_taken_by_its_plan_of_two_kinds(tmp_path: Path) -> None:
    plan = tmp_path / "plan.toml"
    (hs.dp_sgd(1.0, batch_size=600, dataset_size=60_000, epochs=100, delta=1e-6) + 5 * hs.Round(hs.Laplace(10.0))).save(
        plan
    )
    result = run("sweep", plan, "--grid", "noise_multiplier=0.5:2:2", "--grid", "epochs=10,20")
    assert result.exit_code == 0
    assert [row["steps"] for row in csv.DictReader(io.StringIO(result.stdout))] == ["1005", "2005"] * 2
    line = refused("sweep", plan, "--grid", "steps=10,20")
    assert "--steps is ambiguous in a plan with 2 kinds of rounds" in line
    assert "calibrate another parameter" in line


def test_who_gives_an_epsilon_and_a_delta_is_told_of_the_target() -> None:
    line = refused("sweep", *SIZES, "--noise-multiplier", "1", "--epsilon", "3", "--grid", "epochs=10,20")
    assert "leave delta out, or give target instead of epsilon" in line
