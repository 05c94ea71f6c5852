"""The notes on decisions: each has its three parts, is short, and is listed."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[1] / "docs/decisions"
NOTES = sorted(path for path in FOLDER.glob("*.md") if path.name != "index.md")


@pytest.mark.parametrize("note", NOTES, ids=lambda path: path.stem)
def test_a_note_says_why_what_and_what_follows_on_half_a_page(note: Path) -> None:
    text = note.read_text(encoding="utf-8")
    assert re.findall(r"^## (.*)$", text, re.MULTILINE) == ["Context", "Decision", "Consequences"]
    assert len(text.split()) <= 300


def test_all_are_listed() -> None:
    listed = re.findall(r"^[a-z-]+$", (FOLDER / "index.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert sorted(listed) == [note.stem for note in NOTES]
    assert len(listed) >= 8
