"""The page "how to add", followed in a copy of the tree: a second mechanism like its example, and its scheme."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs/how-to-add.md").read_text(encoding="utf-8")
PLACED = re.findall(r"goes to\s+`([\w/]+/)`\s+as\s+`(\w+\.py)`:\n\n```\{literalinclude\} (how-to-add/\w+\.py)\n", PAGE)
"""Folder, name and source of each file of the scheme."""

LINES = re.findall(r"^\| `([\w./]+)`[^|]*\| (`+) ?([^|]+?) ?\2 \|", PAGE[PAGE.index("| place |") :], re.MULTILINE)
"""Each file that the mechanism changes, and what its line contains."""

CHANGED = re.findall(r"--- (\S+)\n((?: .*\n)?)\+(.*\n)((?: .*\n)?)", PAGE)
"""Each file that the scheme changes: a line that stands there or nothing, the new line, and one after it or nothing."""

COPIED = ("src", "tests", "tools", "docs", "examples", "checker", "conformance")
TOP = (
    "pyproject.toml", "Makefile", "README.md", "CHANGELOG.md", "CITATION.cff", "CONTRIBUTING.md", "SECURITY.md",
    ".gitignore",
)  # fmt: skip
SECOND = "tests/plan/test_skellam.py", "src/hockeystick/plan/mechanisms/skellam.py"
"""Files of the example mechanism, of which the second mechanism has a copy each."""

THROUGH_REGISTRIES = (
    "tests/test_house.py",
    "tests/test_docs_generated.py",
    "tests/test_bibliography.py",
    "tests/test_public_api.py::test_exactly_these_names_are_exported",
    "tests/test_oracle_coverage.py",
    "tests/values/test_late.py::test_what_is_imported_late_is_said_twice_alike",
    "tests/test_fuzz.py::test_every_public_callable_is_drawn_by_a_case",
    "tests/test_readme.py::test_the_short_table_of_what_is_supported_is_right",
    "tests/cli/test_budget.py::test_there_is_a_flag_for_every_number_of_a_mechanism",
    "tests/report/test_report.py::test_the_supported_table_holds_every_combination",
    "tests/report/test_report.py::test_the_markdown_table_has_a_row_for_each_claim",
    "tests/plan/test_bad_input.py::test_toml",
    "tests/plan/test_planfile.py::test_the_schema_is_a_schema_and_its_keys_are_those_of_the_dataclasses",
    "tests/plan/test_zero_out.py::test_every_kind_here_has_said_what_it_means",
    "tests/questions/test_samplings.py::test_loaders_are_known_of_every_scheme",
    *(
        f"tests/test_definitions.py::test_answers_are_those_of_the_definition[mirrored-{sampling}-{direction}]"
        for sampling in ("none", "poisson", "without-replacement")
        for direction in ("remove", "add", "replace-one")
    ),
)


def second(text: str) -> str:
    """What is said of the mechanism of the page, said of another."""
    return re.sub(r"(?<=[\"'`./])skellam", "mirrored", text.replace("Skellam", "Mirrored"))


def beside(path: Path, old: str, new: str, after: bool = True) -> None:
    """Put a line beside the only one that contains a text."""
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    (at,) = [number for number, line in enumerate(lines) if old in line] or pytest.fail(f"{path}: no line has {old!r}")
    lines.insert(at + after, new)
    path.write_text("".join(lines), encoding="utf-8")


@pytest.fixture(scope="module")
def followed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the tree in which all that the page says has been done."""
    root = tmp_path_factory.mktemp("followed")
    dropped = shutil.ignore_patterns("__pycache__", "_build", "generated")
    for folder in COPIED:
        shutil.copytree(ROOT / folder, root / folder, ignore=dropped)
    for name in TOP:
        shutil.copy(ROOT / name, root / name)
    for path in SECOND:
        (root / path.replace("skellam", "mirrored")).write_text(second((ROOT / path).read_text("utf-8")), "utf-8")
    for path, _, said in LINES:
        lines = [line for line in (root / path).read_text("utf-8").splitlines(keepends=True) if said in line]
        assert lines, f"{path} has no line with {said!r}"
        if second(lines[0]) != lines[0]:
            beside(root / path, said, second(lines[0]))
    for folder, name, source in PLACED:
        assert (root / folder).is_dir()
        assert not (root / folder / name).exists()
        shutil.copy(ROOT / "docs" / source, root / folder / name)
    for path, before, new, behind in CHANGED:
        beside(root / path, (before or behind)[1:], new, after=bool(before))
    return root


def run(root: Path, *targets: str) -> None:
    """pytest in the copy, by the copy's own package."""
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-p", "no:xdist", "--tb=short", *targets],
        cwd=root,
        env={**os.environ, "PYTHONPATH": str(root / "src"), "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]


def test_the_page_is_read_whole() -> None:
    assert sorted(name for _, name, _ in PLACED) == ["cyclic.py", "test_cyclic.py"]
    assert sorted(path.name for path in (ROOT / "docs/how-to-add").glob("*.py")) == sorted(n for _, n, _ in PLACED)
    assert len(LINES) == 11
    assert len(CHANGED) == PAGE.count("\n+") == 6


@pytest.mark.slow
def test_the_examples_pass_their_own_tests(followed: Path) -> None:
    run(followed, "tests/plan/test_mirrored.py", "tests/plan/test_cyclic.py")
    run(followed, *(f"{folder}{name}" for folder, name, _ in PLACED if not folder.startswith("tests/")))


@pytest.mark.slow
def test_with_them_the_tests_of_all_kinds_pass(followed: Path) -> None:
    """Import contracts, the table of what is supported, the schema, the generated pages, the bibliography."""
    run(followed, *THROUGH_REGISTRIES)


def test_the_command_reads_a_plan_of_both(followed: Path) -> None:
    """What nobody wired up: the plan file's keys, and the line on what the loader must do."""
    plan = followed / "plan.toml"
    keys = 'mechanism = "mirrored"\nvariance = 50\nsampling = "cyclic"\nparts = 10\ncount = 95\n'
    plan.write_text(f"delta = 1e-6\n[[round]]\n{keys}", encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "hockeystick", "epsilon", str(plan)],
        env={**os.environ, "PYTHONPATH": str(followed / "src")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("epsilon <= ")
    assert "upper bound" in done.stdout
    assert "sampling cyclic" in done.stdout
