"""What a number is about goes with it: from every accountant, through every question, on every way out.

A delta of 1/n lets one of n records be published whole, and a number for Poisson sampling says nothing about shuffled
batches. Whoever asks in Python or for JSON is told both, as whoever reads the screen is.
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import hockeystick as hs
from hockeystick import targets
from hockeystick.cli import main
from hockeystick.plan.sampling import NoSampling
from hockeystick.plan.sampling.poisson import Poisson
from hockeystick.plan.sampling.without_replacement import WithoutReplacement

RECORDS = 60_000
SGD = hs.dp_sgd(1.1, batch_size=256, dataset_size=RECORDS, steps=200)
MIXED = SGD + hs.Round(hs.Gaussian(20.0))
SAFE, UNSAFE = 1e-6, 1 / RECORDS
POISSON = f"sampling poisson: {Poisson.assumption}"
NONE = f"sampling none: {NoSampling.assumption}"
FLAGS = ["--noise-multiplier", "1.1", "--batch-size", "256", "--dataset-size", str(RECORDS), "--steps", "200"]


def warned(found: hs.Bound | hs.UpperBound | hs.Estimate) -> bool:
    """Whether one line warns of the delta, and nothing else is warned of."""
    assert all("delta is at least 1/dataset_size = 1/60000" in text for text in found.warnings)
    return len(found.warnings) == 1


@pytest.mark.parametrize("name", ["auto", "grid", "rdp", "gdp", "prv"])
@pytest.mark.parametrize(("delta", "unsafe"), [(SAFE, False), (UNSAFE, True)])
def test_every_kind_of_epsilon_carries_them(name: str, delta: float, unsafe: bool) -> None:
    found = SGD.epsilon(delta, accountant=name)
    assert found.assumptions == (POISSON,)
    assert warned(found) is unsafe


@pytest.mark.parametrize("name", ["auto", "rdp", "gdp"])
@pytest.mark.parametrize(("epsilon", "unsafe"), [(3.0, False), (0.1, True)])
def test_every_kind_of_delta_carries_them_and_its_logarithm_too(name: str, epsilon: float, unsafe: bool) -> None:
    found = SGD.delta(epsilon, accountant=name)
    assert (found.quoted >= UNSAFE) is unsafe
    assert found.assumptions == found.log_delta.assumptions == (POISSON,)
    assert warned(found) is warned(found.log_delta) is unsafe


def test_a_proved_interval_carries_them_too() -> None:
    few = hs.dp_sgd(1.1, batch_size=256, dataset_size=RECORDS, steps=1)
    found = few.epsilon(UNSAFE, proof=True)
    assert found.guarantee == "proved"
    assert found.assumptions == (POISSON,)
    assert warned(found)
    assert few.log_delta(1.0).assumptions == (POISSON,)


def test_each_way_of_sampling_is_named_once() -> None:
    assert MIXED.epsilon(SAFE).assumptions == (POISSON, NONE)
    rounds = [hs.Round(hs.Gaussian(2.0 + i), WithoutReplacement(256, RECORDS)) for i in range(3)]
    found = hs.Plan(rounds, "replace-one").epsilon(SAFE, accountant="rdp")
    assert found.assumptions == (f"sampling without-replacement: {WithoutReplacement.assumption}",)


def test_the_smallest_dataset_of_a_plan_decides() -> None:
    small = SGD + hs.Round(hs.Gaussian(5.0), Poisson(batch_size=10, dataset_size=1000))
    assert not SGD.epsilon(1e-5).warnings
    assert not small.epsilon(math.nextafter(1e-3, 0)).warnings
    assert "1/1000" in small.epsilon(1e-3).warnings[0]
    assert not hs.dp_sgd(1.1, 0.01, 200).epsilon(0.5).warnings  # no plan can warn of a size that it does not say


def test_they_are_no_part_of_the_number() -> None:
    found = SGD.epsilon(UNSAFE)
    bare = hs.Bound(found.lower, found.estimate, found.upper)
    assert found == bare
    assert hash(found) == hash(bare)
    assert (bare.assumptions, bare.warnings) == ((), ())
    assert "1/dataset_size" in repr(found)


def test_a_stepped_accountant_carries_them() -> None:
    accountant = hs.Accountant()
    accountant.step(SGD.rounds[0])
    assert accountant.epsilon(UNSAFE).assumptions == accountant.delta(1.0).assumptions == (POISSON,)
    assert warned(accountant.epsilon(UNSAFE))


@pytest.mark.parametrize(
    ("target", "unsafe"),
    [
        (targets.Epsilon(1.0, delta=SAFE), False),
        (targets.Epsilon(1.0, delta=0.01), True),
        (targets.Delta(0.01, epsilon=0.5), True),
        (targets.GaussianDP(0.5), False),
        (targets.Advantage(0.1), False),
    ],
)
def test_what_a_calibration_achieves_carries_them(target: targets.Target, unsafe: bool) -> None:
    found = hs.calibrate(SGD, "noise-multiplier", target)
    assert found.beside is not None
    for bound in (found.achieved, found.beside[1]):
        assert bound.assumptions == (POISSON,)
        assert warned(bound) is unsafe


def test_one_number_for_attacks_says_what_it_assumes_and_is_no_delta() -> None:
    """An advantage of a tenth is delta at epsilon 0, but nobody promises that delta to anybody."""
    profile = SGD.profile()
    fit = profile.gdp()
    for bound in (profile.advantage(), profile.mu(), fit.mu, fit.regret):
        assert bound.assumptions == (POISSON,)
        assert bound.warnings == ()


def run(*args: str) -> tuple[str, str]:
    result = CliRunner().invoke(main, list(args), env={"COLUMNS": "200"})
    assert result.exit_code == 0, result.stderr
    return result.stdout, result.stderr


ASKED: list[tuple[list[str], bool]] = [
    (["epsilon", *FLAGS, "--delta", "1e-6"], False),
    (["epsilon", *FLAGS, "--delta", "0.01"], True),
    (["delta", *FLAGS, "--epsilon", "0.1"], True),
    (["calibrate", "noise-multiplier", *FLAGS[2:], "--epsilon", "1", "--delta", "1e-6"], False),
    (["calibrate", "noise-multiplier", *FLAGS[2:], "--epsilon", "1", "--delta", "0.01"], True),
    (["calibrate", "noise-multiplier", *FLAGS[2:], "--advantage", "0.1"], False),
    (["compare", *FLAGS, "--delta", "1e-6"], False),
    (["compare", *FLAGS, "--delta", "0.01"], True),
    (["compare", *FLAGS, "--epsilon", "0.1"], True),
    (["compare", *FLAGS, "--epsilon", "3"], False),
]


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two accountants are enough to be compared, of which the loose one has a delta of its own; then all are there."""
    monkeypatch.setattr(hs.ACCOUNTANTS, "data", {name: hs.ACCOUNTANTS[name] for name in ("auto", "basic")})


@pytest.mark.usefixtures("few")
@pytest.mark.parametrize(("command", "unsafe"), ASKED, ids=lambda value: str(value))
def test_every_command_that_answers_says_them(command: list[str], unsafe: bool) -> None:
    shown, _ = run(*command)
    assert "not valid for shuffled" in shown
    assert ("delta is at least 1/dataset_size" in shown) is unsafe
    keys: dict[str, Any] = json.loads(run(*command, "--json")[0])
    assert keys["assumptions"] == [POISSON]
    assert [text[:11] for text in keys["warnings"]] == ["delta is at"] * unsafe


@pytest.mark.parametrize(("delta", "unsafe"), [("1e-6", False), ("0.01", True)])
def test_a_figure_is_told_about_on_standard_error(tmp_path: Path, delta: str, unsafe: bool) -> None:
    shown, told = run("plot", "steps", *FLAGS, "--delta", delta, "--points", "2", "-o", str(tmp_path / "x.svg"))
    assert shown == ""
    assert "not valid for shuffled" in told
    assert ("delta is at least 1/dataset_size" in told) is unsafe


def test_the_note_of_a_plan_is_shown_beside_the_claim() -> None:
    """Where the source itself shuffles, the claim and the certified number are about another run."""
    shown, _ = run("epsilon", "examples/plans/tf-privacy-mnist-tutorial.toml")
    assert "note " in shown
    assert "the tutorial's loader shuffles; its accountant assumes Poisson sampling" in shown
