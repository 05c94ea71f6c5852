"""The table of the documents: its numbers are those that come out, its rows name what is there."""

from __future__ import annotations

import re
from pathlib import Path

import papers_check
import pytest
from papers_check import CLAIMS, PASSAGES, Claim, Number

from hockeystick.accountants import ACCOUNTANTS
from hockeystick.papers import EXPERIMENTS

QUICK = [(claim, number) for claim in CLAIMS for number in claim.numbers if not number.slow]


@pytest.mark.parametrize(("claim", "number"), QUICK, ids=[f"{claim.item}: {number.shown}" for claim, number in QUICK])
def test_every_number_that_takes_no_time(claim: Claim, number: Number) -> None:
    assert number.check() is None, claim.item


def test_a_number_agrees_within_its_last_digit() -> None:
    assert Number("2.50", lambda: 2.491).check() is None
    assert Number("2.50", lambda: 2.489).check() is not None
    assert Number("1.2e-9", lambda: 1.11e-9).check() is None
    assert Number("1.2e-9", lambda: 1.05e-9).check() is not None
    assert Number("-115.1", lambda: -115.3).check() == "shown as -115.1, computed as -115.3"


def test_the_passages_stand_in_the_page() -> None:
    page = " ".join((Path(__file__).parents[2] / "docs" / "papers.md").read_text(encoding="utf-8").split())
    for passage in PASSAGES:
        assert passage.text.count("{}") == len(passage.numbers)
        assert passage.shown in page


def test_the_table_stands_in_the_page() -> None:
    text = papers_check.PLACE.read_text(encoding="utf-8")
    assert papers_check.placed(text) == text, "make readme"


def test_every_row_is_whole() -> None:
    verdicts = {
        papers_check.HOLDS,
        papers_check.FAILS,
        papers_check.MISTAKE,
        papers_check.OURS,
    }
    for claim in CLAIMS:
        assert claim.verdict in verdicts
        assert claim.ours.count("{}") == len(claim.numbers), claim.item
        assert claim.ours, claim.item
    assert len({(claim.source, claim.item) for claim in CLAIMS}) == len(CLAIMS)
    assert sum("Table 1, " in claim.item and ", noise" in claim.item for claim in CLAIMS) == 20


def test_what_the_rows_name_is_there() -> None:
    text = papers_check.page()
    commands = set(re.findall(r"hockeystick reproduce ([a-z0-9-]+)", text))
    assert commands <= EXPERIMENTS.keys()
    assert set(EXPERIMENTS) - commands == set()
    assert {"rdp", "prv", "saddle-point", "connect-the-dots", "basic", "advanced"} <= ACCOUNTANTS.keys()


def test_the_command_says_what_is_wrong(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    right, wrong = Number("1.0", lambda: 1.01), Number("1.0", lambda: 2.0)
    row = Claim("a", "b", "c", "d", "{} {}", papers_check.HOLDS, (right, wrong))
    monkeypatch.setattr(papers_check, "CLAIMS", (row,))
    monkeypatch.setattr(papers_check, "PASSAGES", ())
    assert papers_check.main() == 1
    said = capsys.readouterr().out
    assert "b: shown as 1.0, computed as 2.0" in said
    assert "1 wrong of 2 numbers in 1 rows" in said
