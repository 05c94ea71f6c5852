"""``hockeystick new``: questions or flags become a plan file that every command reads."""

from __future__ import annotations

from pathlib import Path

import pytest

from command import refused, run
from hockeystick import load_plan


def test_five_answers_become_a_plan_and_its_epsilon(tmp_path: Path) -> None:
    made = tmp_path / "plan.toml"
    done = run("new", made, stdin="poisson\n60000\n256\n60\n0\n1.1\n")
    assert done.exit_code == 0
    assert done.stdout.startswith("epsilon <= 2.39 at delta = 1e-5\n")
    assert done.stderr.count("?") == 6
    assert run("epsilon", made).stdout == done.stdout
    lines = made.read_text().splitlines()
    assert all("  # " in line for line in lines if " = " in line and not line.startswith("#"))


def test_a_target_finds_the_noise_in_units_of_the_numbers(tmp_path: Path) -> None:
    made = tmp_path / "plan.toml"
    flags = ("--dataset-size", "5e3", "--count", "12", "--sensitivity", "3", "--epsilon", "1")
    done = run("new", made, "--release", "gaussian", *flags)
    assert "# Numbers of another kind" in made.read_text()
    said, _, rest = done.stdout.partition("\n\n")
    assert rest.startswith("epsilon <= 1.00 at delta = 1e-5\n")
    noise = float(said.removesuffix(".").rpartition(" ")[2])
    again = tmp_path / "again.toml"
    run("new", again, "--release", "gaussian", *flags[:-2], "--noise", repr(noise))
    # the division rounds the relative noise down again, by at most a unit in the last place
    assert load_plan(again).epsilon().upper == pytest.approx(1.0, rel=1e-5)


def test_an_answer_outside_its_domain_is_asked_for_again(tmp_path: Path) -> None:
    done = run("new", tmp_path / "plan.toml", stdin="laplace\n5,000\n5000\n1\n1\n0\n-5\n2\n")
    assert "'5,000' is not a number" in done.stderr
    assert "noise must be a finite number greater than 0; received -5" in done.stderr
    assert done.stdout.startswith("epsilon <= 0.500 at delta = 1e-5\n")
    again = run("new", tmp_path / "again.toml", "--delta", "1e-9", stdin="laplace\n1\n1\n0\n2\n")
    assert again.stdout.startswith("epsilon <= 0.500 at delta = 1e-9\n")
    tiny = ("--release", "laplace", "--dataset-size", "5e3", "--count", "1", "--sensitivity", "1e5", "--noise", "10")
    assert "noise / sensitivity must be" in refused("new", tmp_path / "other.toml", *tiny)
    meets = run("new", tmp_path / "meets.toml", stdin="laplace\n5000\n1\n1\n0.5\n")
    assert meets.stdout.startswith("To each number, add its own noise, drawn from the Laplace distribution with scale")
    assert "\n\nepsilon <= 0.500 at delta = 1e-5\n" in meets.stdout
    many = ("--release", "laplace", "--dataset-size", "5e3", "--count", "1", "--sensitivity", "1", "--epsilon", "1")
    assert "--delta must be below 1 / records = 0.0002" in refused(
        "new", tmp_path / "other.toml", *many, "--delta", "2e-4"
    )
    needless = ("--release", "laplace", "--dataset-size", "-5", "--delta", "1e-6")
    assert refused("new", tmp_path / "other.toml", *needless).startswith(
        "--dataset-size must be a whole number from 1 "
    )


def test_shuffled_batches_name_the_way_out(tmp_path: Path) -> None:
    flags = ("--dataset-size", "60000", "--batch-size", "256", "--epochs", "60", "--noise-multiplier", "1.1")
    done = run("new", tmp_path / "plan.toml", "--release", "shuffled", *flags)
    assert done.stdout.startswith("epsilon <= 191 ")
    assert "with Poisson batches: epsilon <= 2.39" in done.stdout


def test_what_does_not_go_together_is_refused_and_nothing_is_written(tmp_path: Path) -> None:
    made = tmp_path / "plan.toml"
    assert "--epochs does not go with" in refused("new", made, "--release", "laplace", "--epochs", "3")
    both = ("--noise", "3", "--epsilon", "1")
    assert "received both" in refused("new", made, "--release", "laplace", *both)
    sizes = ("--release", "laplace", "--dataset-size", "0", "--count", "1", "--sensitivity", "1", "--noise", "3")
    assert refused("new", made, *sizes).startswith("--dataset-size must be a whole number from 1 ")
    none = ("--release", "laplace", "--dataset-size", "9", "--count", "0", "--sensitivity", "1", "--epsilon", "1")
    assert refused("new", made, *none).startswith("--count must be a whole number from 1 ")
    assert ".toml" in refused("new", tmp_path / "data.csv")
    ended = run("new", made, "--release", "laplace", stdin="")
    assert ended.exit_code == 2
    assert "--dataset-size is missing" in ended.stderr
    assert not made.exists()
    made.write_text("mine")
    assert "exists" in refused("new", made)
    assert made.read_text() == "mine"


def test_people_who_have_no_plan_are_led_to_it(tmp_path: Path) -> None:
    assert "`hockeystick new --epsilon NUMBER`" in refused("--epsilon", "3")
    assert "`hockeystick new --epsilon NUMBER`" in refused("epsilon", "--epsilon", "3")
    assert "`hockeystick new`" in refused("report", tmp_path / "data.csv")
    state = tmp_path / "history.json"
    state.write_text('{"history": [[1.0, 0.01, 100]], "mechanism": "rdp"}')
    assert "accountant.plan.save" in refused("epsilon", state)


def test_a_file_in_place_of_a_command_leads_to_a_first_plan() -> None:
    done = run("answers.csv")
    assert done.exit_code == 2
    assert done.stderr.endswith("received 'answers.csv'; `hockeystick new` writes a first plan\n")


def test_a_calibrated_plan_is_written(tmp_path: Path) -> None:
    first, second = tmp_path / "first.toml", tmp_path / "second.toml"
    run("new", first, stdin="laplace\n5000\n2\n1\n0\n1\n")
    run("calibrate", "noise", first, "--epsilon", "0.5", "-o", second)
    assert run("epsilon", second).stdout.startswith("epsilon <= 0.500 at delta = 1e-5\n")
    assert ".toml" in refused("calibrate", "noise", first, "--epsilon", "0.5", "-o", tmp_path / "plan.txt")
