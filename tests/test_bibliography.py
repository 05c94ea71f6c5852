"""The bibliography: what is cited is there, what is there is cited, and no source is described anywhere else."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from pathlib import Path

import pytest

from hockeystick.papers import EXPERIMENTS
from hockeystick.plan.mechanisms import Claim, Status
from hockeystick.values.citations import CITED, KEY, bibliography, readable

ROOT = Path(__file__).parents[1]
IDENTIFIER = re.compile(
    r"\b[0-9]{4}\.[0-9]{5}\b|arxiv\.org|\barXiv:? *[0-9]|\bdoi:? +1|doi\.org|\bISBN:? *[0-9]", re.IGNORECASE
)
"""What an identifier of a source looks like: at arXiv, a DOI or an ISBN."""

HOW_THEY_LOOK = ("test_bibliography.py", "citations.py")
"""Files in which keys and identifiers are examples."""

DATED = re.compile(rf"([^\W\d_]+\.?)\s+([0-9]{{4}})\s+\[({KEY})\]")
"""A citation with the last word of its authors and its year before it."""


def texts() -> Iterator[tuple[Path, str]]:
    """The code, the tests, the tools and the pages. Plan files in ``examples`` travel alone and name theirs in full."""
    files = [path for folder in ("src", "tests", "tools", "docs") for path in (ROOT / folder).glob("**/*.py")]
    pages = [page for page in ROOT.glob("docs/**/*.md") if not {"generated", "_build"} & {*page.parts}]
    for path in [*files, *pages, *ROOT.glob("*.md")]:
        yield path, path.read_text(encoding="utf-8")


def citations() -> Iterator[tuple[Path, str]]:
    for path, text in texts():
        if path.name in HOW_THEY_LOOK:
            continue
        for found in CITED.finditer(re.sub(r"\n\s*", " ", text)):
            for key in found[1].split(", "):
                yield path, key


def plain(name: str) -> str:
    """A name in ASCII, as docstrings have it."""
    return unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode()


def test_every_key_that_is_cited_is_there() -> None:
    assert [(path.name, key) for path, key in citations() if key not in bibliography()] == []


def test_every_entry_is_cited() -> None:
    assert {*bibliography()} - {key for _, key in citations()} == set()


def test_no_source_is_described_twice() -> None:
    typed = [
        (str(path.relative_to(ROOT)), found[0])
        for path, text in texts()
        if path.name not in HOW_THEY_LOOK
        for found in IDENTIFIER.finditer(text)
    ]
    assert typed == []


def test_names_and_years_beside_a_key_are_those_of_its_entry() -> None:
    wrong = []
    for path, text in texts():
        for name, year, key in DATED.findall(text):
            entry = bibliography()[key]
            names = {plain(author) for author in entry.authors} | {"others", "al."}
            if int(year) != entry.year or plain(name).rstrip(",") not in names:
                wrong.append((path.name, name, year, key))
    assert wrong == []


def test_entries_are_in_order_and_tell_one_source_from_another() -> None:
    entries = bibliography()
    assert [*entries] == sorted(entries, key=str.lower)
    assert all(re.fullmatch(KEY, key) for key in entries)
    for field in ("arxiv", "doi", "isbn", "title"):
        values = [getattr(entry, field) for entry in entries.values() if getattr(entry, field) is not None]
        assert len({*values}) == len(values)


@pytest.mark.parametrize("key", bibliography())
def test_a_key_is_made_of_names_and_year(key: str) -> None:
    """One author: three letters. Up to four: initials. More: three initials and a plus."""
    entry = bibliography()[key]
    names = [plain(author) for author in entry.authors]
    letters = names[0][:3] if len(names) == 1 else "".join(name[0] for name in names[: 3 if len(names) > 4 else 4])
    assert key.rstrip("ab") == f"{letters}{'+' * (len(names) > 4)}{entry.year % 100:02d}"


def test_what_people_are_shown_is_followed_up() -> None:
    assert readable("as in [KOV15, MV16], or [1]") == "as in (arXiv 1311.0776, arXiv 1507.03113), or [1]"
    assert readable("[Hig02]") == "(SIAM, 2002)"
    assert readable("nobody [XYZ99]") == "nobody [XYZ99]"
    assert Claim(Status.TIGHT, "Mironov 2017 [Mir17]").source == "Mironov 2017 (arXiv 1702.07476)"
    assert all("[" not in readable(item.source) for item in EXPERIMENTS.values())
