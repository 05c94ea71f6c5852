"""The glossary: one entry a word, in order, and no word of the house that the code does not use any more."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FIELD, HOUSE = (
    re.findall(r"^(\w[^\n]*)\n  ", block, re.MULTILINE)
    for block in re.findall(
        r"^```\{glossary\}\n(.*?)^```$",
        (ROOT / "docs/glossary.md").read_text(encoding="utf-8"),
        re.MULTILINE | re.DOTALL,
    )
)
CODE = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "src").rglob("*.py"))


def test_words_are_in_order_and_told_once() -> None:
    for words in (FIELD, HOUSE):
        assert words == sorted(words, key=str.lower)
    assert len({*FIELD, *HOUSE}) == len(FIELD) + len(HOUSE) > 80


@pytest.mark.parametrize("word", HOUSE)
def test_a_word_of_the_house_is_one_that_the_code_uses(word: str) -> None:
    assert re.search(rf"(\b|_){word}(s|\b|_)", CODE, re.IGNORECASE), word


def test_entries_are_sentences() -> None:
    text = (ROOT / "docs/glossary.md").read_text(encoding="utf-8")
    for entry in re.findall(r"^\w[^\n]*\n((?:  [^\n]+\n)+)", text.partition("```{glossary}")[2], re.MULTILINE):
        assert entry.rstrip().endswith("."), entry
