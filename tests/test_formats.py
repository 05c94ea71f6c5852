"""Files of the first format, as version 0.1.0 wrote them: every later version reads and verifies them.

They are never written anew. A later format gets a folder of its own beside this one.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

import hockeystick as hs
from command import refused, run
from hockeystick.report.document.envelope import sealed
from hockeystick.report.document.verify import verified

FIRST = Path(__file__).parent / "data" / "format-1"
NEWER = "format must be 1; received 2; a newer version of hockeystick wrote this; upgrade to read it"


@pytest.mark.parametrize("ending", ["toml", "json"])
def test_plans_are_read(ending: str) -> None:
    steps = -(-60000 // 256) * 3
    sampling = hs.Poisson(batch_size=256, dataset_size=60000)
    expected = hs.Plan([hs.Round(hs.Gaussian(1.0), sampling, epochs=3), hs.Round(hs.Laplace(5.0), count=2)], delta=1e-5)
    assert hs.load_plan(FIRST / f"plan.{ending}") == expected
    assert expected.steps == steps + 2


def test_a_plan_that_is_saved_says_its_format(tmp_path: Path) -> None:
    plan = hs.load_plan(FIRST / "plan.toml")
    for ending in ("toml", "json"):
        plan.save(tmp_path / f"plan.{ending}")
        assert (tmp_path / f"plan.{ending}").read_text() == (FIRST / f"plan.{ending}").read_text()


@pytest.mark.parametrize("name", ["report.html", "report.md", "report.json", "epsilon.json"])
def test_reports_and_answers_are_verified(name: str) -> None:
    """Each number; of a page also each line, unless another version finds other words for it."""
    found = verified((FIRST / name).read_text(encoding="utf-8"))
    assert found.numbers > (5 if name == "epsilon.json" else 400)
    words = ("line", "version") if found.version != hs.__version__ else ()
    assert [told for told in found.differences if not told.startswith(words)] == []


def _newer(name: str, change: Callable[[str], str], folder: Path) -> Path:
    path = folder / name
    path.write_text(change((FIRST / name).read_text(encoding="utf-8")), encoding="utf-8")
    return path


def test_newer_formats_are_refused_in_one_line(tmp_path: Path) -> None:
    """Before their keys are looked at, which may be new ones."""
    plan = _newer("plan.toml", lambda text: "colour = 3\n" + text.replace("format = 1", "format = 2"), tmp_path)
    report = _newer("report.json", lambda text: json.dumps(sealed({**json.loads(text), "format": 2})), tmp_path)
    assert refused("epsilon", plan).endswith(f"plan.toml: {NEWER}")
    assert refused("verify", report).endswith(f"report.json: {NEWER}")


def test_a_file_without_a_format_has_the_first(tmp_path: Path) -> None:
    plan = _newer("plan.toml", lambda text: text.replace("format = 1\n", ""), tmp_path)
    assert hs.load_plan(plan) == hs.load_plan(FIRST / "plan.toml")
    assert run("verify", "-", stdin=(FIRST / "report.json").read_text().replace('"format": 1,', "")).exit_code == 3
