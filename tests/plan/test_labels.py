"""Names, notes and dates of rounds: kept with the plan, never used in a computation."""

from __future__ import annotations

import datetime
import json
import tomllib
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from click.testing import CliRunner

import hockeystick as hs
from hockeystick.cli import main
from hockeystick.plan.file import parse_plan, plan_text
from hockeystick.plan.labels import checked_label
from hockeystick.plan.schema import json_schema

HOSTILE = '<script>alert(1)</script> $x^2$ \x1b[31m \u202e "\\'
NAMED: dict[str, Any] = {"name": "training", "note": "the run of November", "date": "2026-11-01"}


def named(**labels: Any) -> hs.Round:
    return hs.Round(hs.Gaussian(2.0), hs.Poisson(0.01), 100, **labels)


@pytest.mark.parametrize("ending", ["toml", "json"])
def test_labels_are_kept_through_files(ending: str, tmp_path: Path) -> None:
    plan = hs.Plan([named(**NAMED), named(name=HOSTILE), named()], delta=1e-6)
    path = tmp_path / f"plan.{ending}"
    plan.save(path)
    assert hs.load_plan(path) == plan
    assert hs.Plan.from_dict(plan.to_dict()) == plan
    jsonschema.validate(json.loads(json.dumps(plan.to_dict())), json_schema())
    kept = [item.labels for item in hs.load_plan(path).rounds]
    assert all(labels in kept for labels in ({}, {"name": HOSTILE}, NAMED))


def test_a_date_of_toml_is_a_day() -> None:
    text = plan_text(hs.Plan([named(date=datetime.date(2026, 11, 1))]))
    assert 'date = "2026-11-01"' in text
    written = text.replace('"2026-11-01"', "2026-11-01")
    assert tomllib.loads(written)["round"][0]["date"] == datetime.date(2026, 11, 1)
    assert parse_plan(written, "toml").rounds[0].date == "2026-11-01"


def test_rounds_with_labels_of_their_own_stay_apart_and_cost_the_same() -> None:
    apart = hs.Plan([named(name="first"), named(name="second"), named(name="second")])
    assert [(item.name, item.count) for item in apart.rounds] == [("first", 100), ("second", 200)]
    assert len(apart.kinds) == 1
    assert apart.epsilon(1e-6) == hs.Plan([3 * named()]).epsilon(1e-6)
    assert apart != hs.Plan([3 * named()])


def test_labels_stay_where_a_round_is_repeated_changed_or_calibrated() -> None:
    assert (3 * named(**NAMED)).labels == NAMED
    assert named(**NAMED).changed(count=5).labels == NAMED
    found = hs.calibrate(hs.Plan([named(**NAMED)]), "noise-multiplier", hs.targets.Epsilon(0.5, delta=1e-6))
    assert [item.labels for item in found.plan.rounds] == [NAMED]


def test_a_report_names_the_steps_and_keeps_hostile_names_as_text(tmp_path: Path) -> None:
    plan = tmp_path / "plan.toml"
    hs.Plan([named(**NAMED), named(name=HOSTILE, note=HOSTILE)], delta=1e-6).save(plan)
    for name in ("report.html", "report.md"):
        made = CliRunner().invoke(main, ["report", str(plan), "-o", str(tmp_path / name)])
        assert made.exit_code == 0, made.output
        text = (tmp_path / name).read_text(encoding="utf-8")
        assert "training, 2026-11-01" in text
        assert "the run of November" in text
        assert "<script>alert" not in "".join(text.split("```")[::2])  # of Markdown, what is no block of code
        assert "\x1b" not in text
        assert CliRunner().invoke(main, ["verify", str(tmp_path / name)]).exit_code == 0


@pytest.mark.parametrize(
    ("labels", "said"),
    [
        ({"name": ""}, "name must be a string that is not empty; received ''"),
        ({"name": 3}, "name must be a string that is not empty; received 3"),
        ({"name": "x" * 101}, "name must have at most 100 characters; received 101"),
        ({"note": "x" * 2001}, "note must have at most 2000 characters; received 2001"),
        ({"note": "\ud800"}, "note must not contain unpaired surrogates"),
        ({"date": "yesterday"}, "date must be a date, such as 2026-11-22; received 'yesterday'"),
        ({"date": "2026-02-30"}, "date must be a date"),
        ({"date": datetime.datetime(2026, 11, 1, 12)}, "date must be a date"),  # no time at all is wanted
        ({"date": 20261101}, "date must be a date"),
    ],
)
def test_what_is_no_label_is_refused_in_one_line(labels: dict[str, Any], said: str) -> None:
    with pytest.raises(hs.InvalidInputError) as caught:
        named(**labels)
    assert str(caught.value).startswith(said)
    assert "\n" not in str(caught.value)


def test_a_file_says_which_round_has_a_wrong_label() -> None:
    data = {"round": [{"mechanism": "laplace", "scale": 10}, {"mechanism": "laplace", "scale": 10, "date": "soon"}]}
    with pytest.raises(hs.InvalidInputError, match="round 2: date must be a date"):
        hs.Plan.from_dict(data)
    with pytest.raises(hs.InvalidInputError, match="'nam'"):
        hs.Plan.from_dict({"round": [{"mechanism": "laplace", "scale": 10, "nam": "x"}]})


def test_a_text_of_a_kind_of_its_own_becomes_a_text() -> None:
    class Text(str):
        __slots__ = ()

    assert type(checked_label(Text("x"), "name")) is str
