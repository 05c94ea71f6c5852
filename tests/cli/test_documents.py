"""``hockeystick report`` and ``hockeystick verify``: files whole or not at all, forms by ending and flag, statuses."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from command import refused, run

PLAN = 'adjacency = "add"\ndelta = 1e-3\n[[round]]\nmechanism = "randomized-response"\nepsilon = 0.5\ncount = 3\n'
"""A plan whose report takes milliseconds: one ordering, so that no error rates are looked for."""

FLAGS = ["--noise-multiplier", "2", "--sample-rate", "0.1", "--steps", "10", "--adjacency", "add"]


@pytest.fixture
def plan(tmp_path: Path) -> Path:
    path = tmp_path / "plan.toml"
    path.write_text(PLAN)
    return path


@pytest.mark.parametrize(
    ("name", "begin"), [("a.html", "<!DOCTYPE html>"), ("a.md", "# Differential privacy report"), ("a.json", "{")]
)
def test_a_report_is_written_and_verified(plan: Path, tmp_path: Path, name: str, begin: str) -> None:
    path = tmp_path / name
    result = run("report", plan, "-o", path)
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout == f"epsilon <= 1.50 at delta = 0.001, written to {path}\n"
    text = path.read_text(encoding="utf-8")
    assert text.startswith(begin)
    checked = run("verify", path)
    assert checked.exit_code == 0
    assert checked.stdout.startswith(f"{path}: sound: ")
    path.write_text(text.replace("1.50", "1.40"), encoding="utf-8")
    if name != "a.json":  # where the quoted number is not rounded
        checked = run("verify", path)
        assert checked.exit_code == 3
        assert checked.stdout.splitlines()[-1].startswith(f"{path}: NOT sound: ")
        assert all(line.startswith(f"{path}: ") for line in checked.stdout.splitlines())


def test_without_a_file_it_goes_to_standard_output(plan: Path) -> None:
    page, numbers = (run("report", plan, *more).stdout for more in ([], ["--json"]))
    assert page.startswith("<!DOCTYPE html>")
    assert json.loads(numbers)["answer"] == "report"
    for answer in (page, numbers):
        assert run("verify", "-", stdin=answer).exit_code == 0


def test_flags_describe_a_plan_too_and_the_title_is_in_the_command(tmp_path: Path) -> None:
    path = tmp_path / "a.md"
    assert run("report", *FLAGS, "--delta", "1e-5", "--title", "it's \x1b[31m ours", "-o", path).exit_code == 0
    text = path.read_text(encoding="utf-8")
    assert "--title 'it'\"'\"'s [31m ours'" in text
    assert "\x1b" not in text


def test_an_old_file_stays_where_a_report_cannot_be_made(tmp_path: Path) -> None:
    """Whole or not at all: also where the plan is refused only when its numbers are computed."""
    path = tmp_path / "report.html"
    path.write_text("the old one")
    bad = json.dumps({"delta": 1e-5, "adjacency": "replace-one", "round": [
        {"mechanism": "laplace", "scale": 10, "sampling": "poisson", "sample_rate": 0.1}]})  # fmt: skip
    assert "no dominating pair is proven" in refused("report", "-", "-o", path, stdin=bad)
    assert path.read_text() == "the old one"
    assert [item.name for item in tmp_path.iterdir()] == ["report.html"]


def test_what_is_wrong_with_a_question_is_said_in_one_line(plan: Path, tmp_path: Path) -> None:
    assert "received both" in refused("report", plan, "--json", "-o", tmp_path / "a.json")
    assert "end the name in .html, .md or .json" in refused("report", plan, "-o", tmp_path / "report.txt")
    assert "cannot be written" in refused("report", plan, "-o", tmp_path / "nowhere" / "a.html")
    assert refused("report", *FLAGS).startswith("no delta: give --delta")
    assert refused("verify", tmp_path / "none.html").endswith("cannot be read: no such file or directory")
    assert refused("verify", plan).endswith("no JSON object, no report as HTML or Markdown")
    assert "not UTF-8" in refused("verify", _bytes(tmp_path, b"\xff\xfe"))


def _bytes(folder: Path, content: bytes) -> Path:
    path = folder / "bytes"
    path.write_bytes(content)
    return path


QUESTIONS = (
    ["epsilon", "-"], ["delta", "-", "--epsilon", "0.4"], ["epsilon", "-", "--accountant", "rdp"],
    ["calibrate", "epsilon", "-", "--epsilon", "2"],
    ["epsilon", "-", "--accountant", "prv", "--option", "eps_error=0.1"],
    ["sampling", *FLAGS[:-2], "--delta", "1e-5"],
)  # fmt: skip
"""A question of every kind whose answer is quick."""


@pytest.mark.parametrize("question", QUESTIONS, ids=" ".join)
def test_every_answer_in_json_can_be_verified(question: list[str]) -> None:
    answer = run(*question, "--json", stdin=PLAN).stdout
    keys = json.loads(answer)
    assert {"answer", "asked", "plan", "rounds", "version", "assumptions", "warnings", "checksum"} <= set(keys)
    assert run("verify", "-", stdin=answer).exit_code == 0
    row = keys["samplings"][1] if "samplings" in keys else keys
    number = keys.get("value") or row["delta" if question[0] == "delta" else "epsilon"]["upper"]
    changed = run("verify", "-", stdin=answer.replace(repr(number), repr(1.001 * number)))
    assert changed.exit_code == 3
    assert "recomputed" in changed.stdout


def test_an_answer_without_its_question_is_refused() -> None:
    assert "does not say what was asked" in refused("verify", "-", stdin='{"epsilon": 1}')


def test_a_statement_as_text_as_latex_and_for_machines() -> None:
    text, latex, numbers = (run("statement", "-", *more, stdin=PLAN).stdout for more in ([], ["--latex"], ["--json"]))
    assert " ".join(text.split()) == json.loads(numbers)["text"]
    assert latex == json.loads(numbers)["latex"] + "\n"
    assert max(map(len, text.splitlines())) <= 80
    assert run("verify", "-", stdin=numbers).exit_code == 0
    assert run("verify", "-", stdin=numbers.replace("(1.50", "(1.40")).exit_code == 3
    assert "received both" in refused("statement", "-", "--latex", "--json", stdin=PLAN)
    assert "no delta" in refused("statement", *FLAGS)


def test_profile_and_remaining_on_the_command_line(plan: Path, tmp_path: Path) -> None:
    shown = run("profile", plan, "--epsilon", "0.4", "--group", "2").stdout
    assert shown.startswith("epsilon <= 1.50 at delta = 0.001\n")
    assert "\ndelta at epsilon 0.4 " in shown
    answer = run("profile", plan, "--group", "2", "--json").stdout
    assert run("verify", "-", stdin=answer).exit_code == 0
    assert "group must be a whole number" in refused("profile", plan, "--group", "2.5")
    assert run("remaining", plan, "--epsilon", "3").stdout.startswith(
        "3 more rounds keep epsilon <= 3 at delta = 0.001\n"
    )
    other = tmp_path / "other.toml"
    other.write_text('[[round]]\nmechanism = "randomized-response"\nepsilon = 0.25\ncount = 9\n')
    answer = run("remaining", plan, "--epsilon", "2", "--more", other, "--json").stdout
    assert json.loads(answer)["remaining"] >= 2
    assert run("verify", "-", stdin=answer).exit_code == 0
    assert "received 2 kinds" in refused("remaining", plan, "--epsilon", "2", "--more", "-", stdin=PLAN + "[[round]]\n"
                                         'mechanism = "laplace"\nscale = 3\n')  # fmt: skip


def test_the_checker_is_put_beside_a_report_and_run_apart_from_the_package(plan: Path, tmp_path: Path) -> None:
    report = tmp_path / "report.html"
    assert run("report", plan, "-o", report, "--checker").exit_code == 0
    beside = report.with_name("hockeystick_check.py")
    assert beside.read_bytes() == (Path(__file__).parents[2] / "checker" / beside.name).read_bytes()
    alone = subprocess.run([sys.executable, "-I", "-S", beside, report], capture_output=True, text=True, check=False)
    found = run("verify", "--independent", report)
    assert (found.exit_code, found.stdout) == (alone.returncode, alone.stdout)
    assert found.exit_code == 0
    assert "NOT" not in found.stdout
    text = report.read_text(encoding="utf-8")
    report.write_text(text.replace("<strong>ε ≤ 1.", "<strong>ε ≤ 0.", 1), encoding="utf-8")
    assert text != report.read_text(encoding="utf-8")
    assert run("verify", "--independent", report).exit_code == 3


def test_the_checker_needs_a_place(plan: Path) -> None:
    refused("--output", "report", plan, "--checker")
