"""The page "how to add", followed word for word in a copy of the tree: files where it says, registries as it says."""

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
"""Folder, name and source of each file that the page shows."""

CHANGED = re.findall(r"```diff\n--- (\S+)\n(.*?)```", PAGE, re.DOTALL)
"""Each file that the page changes, and how."""

COPIED = ("src", "tests", "tools", "docs", "examples", "checker", "conformance")
TOP = ("pyproject.toml", "Makefile", "README.md", "CHANGELOG.md", "CITATION.cff", "CONTRIBUTING.md", ".gitignore")

THROUGH_REGISTRIES = (
    "tests/test_house.py",
    "tests/test_docs_generated.py",
    "tests/report/test_report.py::test_the_supported_table_holds_every_combination",
    "tests/report/test_report.py::test_the_markdown_table_has_a_row_for_each_claim",
    "tests/plan/test_planfile.py::test_the_schema_is_a_schema_and_its_keys_are_those_of_the_dataclasses",
    "tests/test_bibliography.py",
    *(
        f"tests/test_definitions.py::{test}[toy-discrete-laplace-{sampling}-{direction}]"
        for test in ("test_answers_are_those_of_the_definition", "test_pairs_fit_in_themselves")
        for sampling in ("none", "poisson", "without-replacement")
        for direction in ("remove", "add", "replace-one")
    ),
    "tests/test_oracle_coverage.py::test_every_mechanism_has_a_definition_or_an_oracle_of_its_own",
)


@pytest.fixture(scope="module")
def followed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the tree in which all that the page says has been done."""
    root = tmp_path_factory.mktemp("followed")
    dropped = shutil.ignore_patterns("__pycache__", "_build", "generated")
    for folder in COPIED:
        shutil.copytree(ROOT / folder, root / folder, ignore=dropped)
    for name in TOP:
        shutil.copy(ROOT / name, root / name)
    for folder, name, source in PLACED:
        assert (root / folder).is_dir()
        assert not (root / folder / name).exists()
        shutil.copy(ROOT / "docs" / source, root / folder / name)
    for path, diff in CHANGED:
        text = (root / path).read_text(encoding="utf-8")
        lines = diff.splitlines(keepends=True)
        before = "".join(line[1:] for line in lines if line[0] in " -")
        after = "".join(line[1:] for line in lines if line[0] in " +")
        assert text.count(before) == 1, f"{path} is not what the page takes it to be"
        (root / path).write_text(text.replace(before, after), encoding="utf-8")
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


def test_each_example_is_one_file_one_entry_and_one_test() -> None:
    assert sorted(name for _, name, _ in PLACED) == [
        "cyclic.py",
        "test_cyclic.py",
        "test_toy_discrete_laplace.py",
        "toy_discrete_laplace.py",
    ]
    assert len(CHANGED) == 3
    assert sorted(path.name for path in (ROOT / "docs/how-to-add").glob("*.py")) == sorted(n for _, n, _ in PLACED)


@pytest.mark.slow
def test_the_examples_pass_their_own_tests(followed: Path) -> None:
    run(followed, *(f"{folder}{name}" for folder, name, _ in PLACED if folder.startswith("tests/")))
    run(followed, *(f"{folder}{name}" for folder, name, _ in PLACED if not folder.startswith("tests/")))


@pytest.mark.slow
def test_with_them_the_tests_of_all_kinds_pass(followed: Path) -> None:
    """Import contracts, the table of what is supported, the schema, the generated pages, the bibliography."""
    run(followed, *THROUGH_REGISTRIES)


def test_the_command_reads_a_plan_of_both(followed: Path) -> None:
    """What nobody wired up: the plan file's keys, and the line on what the loader must do."""
    plan = followed / "plan.toml"
    keys = 'mechanism = "toy-discrete-laplace"\nscale = 5\nsampling = "cyclic"\nparts = 10\ncount = 95\n'
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
