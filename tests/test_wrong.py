"""The page of wrong numbers: every fault says how it was found, and names tests that are there."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs/wrong.md").read_text(encoding="utf-8")
FAULTS = re.findall(r"^\*\*(.*?)\.\*\* (.*?)(?=\n\n|\Z)", PAGE, re.MULTILINE | re.DOTALL)
NAMED = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", PAGE)


def test_there_are_faults_and_tests() -> None:
    assert len(FAULTS) >= 20
    assert len(NAMED) >= len(FAULTS)


@pytest.mark.parametrize(("title", "text"), FAULTS, ids=[title for title, _ in FAULTS])
def test_a_fault_is_told_whole(title: str, text: str) -> None:
    """What was said, how it was found, what holds it."""
    said, found, held = re.fullmatch(r"(.*)\nFound by (.*)\nHeld by (.*)", text, re.DOTALL).groups()  # type: ignore[union-attr]
    assert said
    assert found.endswith(".")
    assert re.search(r"`tests/[\w/]+\.py::\w+`", held), title


@pytest.mark.parametrize(("file", "name"), NAMED)
def test_what_holds_it_is_a_test(file: str, name: str) -> None:
    tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
    assert name in {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
    assert name.startswith("test_")
