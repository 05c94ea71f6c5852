"""All accountants side by side: their own numbers, outward on the screen and whole in JSON, and refusals say why."""

from __future__ import annotations

import itertools
import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar

import pytest
from click.testing import Result

import hockeystick as hs
from command import runner
from hockeystick.accountants import ACCOUNTANTS
from hockeystick.accountants.base import Accountant
from hockeystick.cli import main
from hockeystick.directions.directions import Directions
from hockeystick.report.comparison import Entry, print_comparison
from hockeystick.values import domains

FLAGS = ["--noise-multiplier", "1", "--sample-rate", "0.01", "--steps", "100"]
DP_SGD = hs.dp_sgd(1.0, 0.01, 100)
KINDS = ["proved", "certified", "upper bound", "estimate", None]


@dataclass(frozen=True)
class Guess(Accountant):
    """A tenth more than nothing, and one option."""

    error: Annotated[float, domains.POSITIVE.of("how far off it may be")] = 0.1

    name: ClassVar[str] = "guess"
    summary: ClassVar[str] = "estimate: a guess"

    def epsilon(self, directions: Directions, delta: float, gap: float | None) -> hs.Estimate:
        return hs.Estimate(self.error, "guess")

    def delta(self, directions: Directions, epsilon: float, gap: float | None) -> hs.DeltaEstimate:
        return hs.DeltaEstimate(self.error, "guess", log_delta=hs.Estimate(math.log(self.error), "guess"))


@dataclass(frozen=True)
class Choosy(Guess):
    """Never applies."""

    name: ClassVar[str] = "choosy"

    def epsilon(self, directions: Directions, delta: float, gap: float | None) -> hs.Estimate:
        raise hs.NotApplicableError("only plans that nobody has; write another one")


@pytest.fixture(autouse=True)
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """One of each kind is enough, and quick; all are there again after it, in their order."""
    kept = {name: ACCOUNTANTS[name] for name in ("auto", "contour", "rdp")}
    monkeypatch.setattr(ACCOUNTANTS, "data", kept)


@pytest.fixture
def more(few: None, monkeypatch: pytest.MonkeyPatch) -> None:
    for accountant in (Guess(), Choosy()):
        monkeypatch.setitem(ACCOUNTANTS, accountant.name, accountant)


def run(*args: str) -> Result:
    return runner().invoke(main, list(args))


def compared(*args: str) -> dict[str, Any]:
    result = run("compare", *args, "--json")
    assert result.exit_code == 0, result.stderr
    found: dict[str, Any] = json.loads(result.stdout, parse_constant=lambda name: pytest.fail(name))
    return found


def refused(*args: str) -> str:
    result = run(*args)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert result.stderr.count("\n") == 1
    return result.stderr.removeprefix("error: ").rstrip("\n")


@pytest.mark.usefixtures("more")
def test_every_accountant_is_there_with_its_own_numbers() -> None:
    found = compared(*FLAGS, "--delta", "1e-5")
    assert (found["quantity"], found["delta"]) == ("epsilon", 1e-5)
    rows = {row["name"]: row for row in found["accountants"]}
    assert set(rows) == set(ACCOUNTANTS)
    for name in ("auto", "rdp", "guess"):
        answer = DP_SGD.epsilon(1e-5, accountant=name)
        assert rows[name]["guarantee"] == answer.guarantee
        assert {key: rows[name][key] for key in answer.ends} == dict(answer.ends)
        assert rows[name]["seconds"] >= 0
    assert "value" not in rows["auto"]
    assert "lower" not in rows["rdp"]
    assert rows["choosy"] == {
        "name": "choosy",
        "guarantee": None,
        "seconds": rows["choosy"]["seconds"],
        "reason": "only plans that nobody has; write another one",
    }


@pytest.mark.usefixtures("more")
def test_certified_first_then_upper_bounds_then_estimates_then_refusals() -> None:
    rows = compared(*FLAGS, "--delta", "1e-5")["accountants"]
    assert rows[0]["name"] == "auto"
    kinds = [KINDS.index(row["guarantee"]) for row in rows]
    assert kinds == sorted(kinds)
    for one, other in itertools.pairwise(rows[1:]):
        if one["guarantee"] == other["guarantee"] and one["guarantee"]:
            assert one.get("upper", one.get("value")) <= other.get("upper", other.get("value"))


def test_a_wrong_question_is_refused_as_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is wrong for every accountant is no row of one of them."""

    def wrong(self: Accountant, directions: Directions, delta: float, gap: float | None) -> hs.Estimate:
        raise hs.InvalidInputError("delta must be something else")

    monkeypatch.setattr(Choosy, "epsilon", wrong)
    monkeypatch.setitem(ACCOUNTANTS, "choosy", Choosy())
    assert refused("compare", *FLAGS, "--delta", "1e-5") == "delta must be something else"


def test_deltas_come_with_their_logarithms() -> None:
    found = compared(*FLAGS, "--epsilon", "90")
    assert (found["quantity"], found["epsilon"]) == ("delta", 90.0)
    row = found["accountants"][0]
    assert row["upper"] == 5e-324
    assert row["log_delta"]["lower"] <= row["log_delta"]["upper"] < -745


def test_infinity_is_null_with_a_reason() -> None:
    for row in compared(*FLAGS, "--delta", "0")["accountants"]:
        assert row.get("upper") is None
        assert row["reason"]


@pytest.mark.parametrize("columns", ["80", "100"])
@pytest.mark.usefixtures("more")
def test_the_table_fits_and_rounds_outward(columns: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    shown = run("compare", *FLAGS, "--delta", "1e-5").stdout
    assert shown.startswith("epsilon at delta = 1e-5\n")
    assert max(map(len, shown.splitlines())) <= int(columns)
    bound = DP_SGD.epsilon(1e-5)
    row = next(line.split() for line in shown.splitlines() if line.startswith("auto"))
    assert float(row[2]) <= bound.lower <= bound.upper <= float(row[4])
    assert row[3].startswith("~")
    guess = next(line.split() for line in shown.splitlines() if line.startswith("guess"))
    assert guess[:2] == ["guess", "estimate"]
    assert guess[2].startswith("~0.1")
    assert shown.index("Not answered") < shown.index("choosy  ") < shown.index("nobody has; write another one")


def test_numbers_below_the_range_of_a_double_are_shown() -> None:
    shown = run("compare", *FLAGS, "--epsilon", "300").stdout
    assert "e-324" not in shown
    assert any(int(word.partition("e-")[2] or 0) > 330 for word in shown.split() if word[0].isdigit())


def test_long_names_and_numbers_are_not_cut(capsys: pytest.CaptureFixture[str]) -> None:
    bound = hs.Bound(1.23456e-130, 1.23457e-130, 1.23458e-130)
    print_comparison("title", [Entry("a-name-of-a-very-long-method", bound, 1234.5)])
    shown = capsys.readouterr().out
    assert max(map(len, shown.splitlines())) <= 80
    assert "1.23455e-130" in shown or "1.23456e-130" in shown
    assert "1234.500" in shown


def test_a_kind_of_plan_that_few_accountants_have(tmp_path: Path) -> None:
    path = tmp_path / "fixed.toml"
    path.write_text(
        'adjacency = "replace-one"\ndelta = 1e-5\n[[round]]\nmechanism = "gaussian"\nnoise_multiplier = 4\n'
        'sampling = "without-replacement"\nbatch_size = 10\ndataset_size = 1000\ncount = 100\n'
    )
    rows = compared(str(path))["accountants"]
    answered = [row["name"] for row in rows if row.get("upper") is not None]
    assert {"auto", "rdp"} <= set(answered) <= {"auto", "contour", "grid", "rdp"}
    others = [row for row in rows if row["name"] not in ("auto", "contour", "grid", "rdp")]
    assert all('accountant="rdp"' in row["reason"] for row in others)
    assert "Not answered" in run("compare", str(path)).stdout


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["compare"], "no plan: give a PLAN file"),
        (["compare", *FLAGS], "no delta: give --delta"),
        (["compare", *FLAGS, "--delta", "1e-5", "--epsilon", "1"], "give --delta to compare epsilons or --epsilon"),
        (["compare", *FLAGS, "--delta", "1"], "--delta must be 0 or a number, at least 1e-300 and less than 1"),
        (["compare", *FLAGS, "--epsilon", "-1"], "--epsilon must be a number from 0 to 1e4"),
        (
            ["epsilon", *FLAGS, "--delta", "1e-5", "--option", "x=1"],
            "accountant 'auto' has no option 'x'; it has none",
        ),
        (["epsilon", *FLAGS, "--delta", "1e-5", "--option", "gap=1"], "accountant 'auto' has no option 'gap'"),
        (["delta", *FLAGS, "--epsilon", "1", "--option", "delta=1"], "accountant 'auto' has no option 'delta'"),
        (["delta", *FLAGS, "--epsilon", "1", "--option", "x"], "--option must be NAME=NUMBER, such as eps_error=0.01;"),
        (["delta", *FLAGS, "--epsilon", "1", "--option", "x=y"], "--option must be NAME=NUMBER, such as eps_error"),
        (
            ["delta", *FLAGS, "--epsilon", "1", "--option", "=1"],
            "--option must be NAME=NUMBER, such as eps_error=0.01; received '=1'",
        ),
        (["delta", *FLAGS, "--epsilon", "1", "--option", "x=1", "--option", "x=2"], "--option x is given twice"),
    ],
)
def test_bad_arguments_take_one_line(args: list[str], message: str) -> None:
    assert refused(*args).startswith(message)


@pytest.mark.usefixtures("more")
def test_options_reach_the_accountant() -> None:
    asked = ["--accountant", "guess", "--option", "error=0.25", "--json"]
    assert json.loads(run("epsilon", *FLAGS, "--delta", "1e-5", *asked).stdout)["epsilon"] == {"value": 0.25}
    assert json.loads(run("delta", *FLAGS, "--epsilon", "1", *asked).stdout)["delta"] == {"value": 0.25}
    bad = ["epsilon", *FLAGS, "--delta", "1e-5", "--accountant", "guess", "--option", "error=-1"]
    assert refused(*bad).startswith("error must be a finite number greater than 0 (how far off it may be)")


def test_plans_with_a_route_of_their_own_have_one_row() -> None:
    """The best of several runs is answered for as a whole: by that route, and by no other accountant."""
    one = hs.Plan([hs.Round(hs.Gaussian(4.0))])
    plan = hs.Plan.from_dict({**one.to_dict(), "selection": {"runs": "poisson", "mean": 3}})
    for rows, answer in ((plan.compare(delta=1e-5), plan.epsilon(1e-5)), (plan.compare(epsilon=0.5), plan.delta(0.5))):
        assert rows["auto"].answer == answer
        assert rows["rdp"].answer is None
        assert "use accountant 'auto'" in str(rows["rdp"].reason)
