"""Tables on the terminal: words wrap, numbers stay whole, pipes get no colours and no blanks at the end of a line."""

from __future__ import annotations

import io
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hockeystick.report.answer import Answer
from hockeystick.report.tables import (
    LEAST_WIDTH,
    laid_out,
    line_width,
    print_answer,
    print_pairs,
    print_supported,
)

WORDS = st.text(st.characters(codec="ascii", min_codepoint=33), min_size=1, max_size=30)
TEXTS = st.lists(WORDS, max_size=30).map(" ".join)


@given(st.lists(st.tuples(st.text("abc-", max_size=20), TEXTS), min_size=1, max_size=5), st.integers(40, 120))
def test_each_word_is_there_and_each_line_fits(rows: list[tuple[str, str]], width: int) -> None:
    shown = laid_out(rows, {1}, width=width)
    assert max(map(len, shown.splitlines())) <= width
    assert shown.replace(" ", "").replace("\n", "") == "".join(f"{a}{b}" for a, b in rows).replace(" ", "")
    assert all(line == line.rstrip() for line in shown.splitlines())


def test_columns_of_numbers_end_at_one_place_and_are_never_broken() -> None:
    rows = [("name", "lower", "upper"), ("one of many words", "1.5", "22.25"), ("two", "1e-324", "3")]
    assert laid_out(rows, {0}, {1, 2}, 24).splitlines() == [
        "name        lower  upper",
        "one of        1.5  22.25",
        "many",
        "words",
        "two        1e-324      3",
    ]


def test_a_word_longer_than_its_column_is_folded() -> None:
    assert laid_out([("a", "b" * 90)], {1}, width=80).splitlines() == ["a  " + "b" * 77, "   " + "b" * 13]


@pytest.mark.parametrize(("columns", "width"), [("120", 120), ("60", 60), ("20", LEAST_WIDTH)])
def test_the_width_is_the_one_that_the_caller_asks_for(
    columns: str, width: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    assert line_width() == width


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(("screen", "variable", "coloured"), [
    (Terminal(), None, True), (Terminal(), "NO_COLOR", False), (io.StringIO(), None, False),
])  # fmt: skip
def test_colours_are_for_terminals(
    screen: io.StringIO, variable: str | None, coloured: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdout", screen)
    if variable is not None:
        monkeypatch.setenv(variable, "1")
    print_answer(Answer("epsilon <= 1", (("warning", "a large delta"), ("rounds", "1"))))
    assert ("\x1b[1mepsilon <= 1\x1b[0m\n" in screen.getvalue()) is coloured
    assert ("\x1b[" in screen.getvalue()) is coloured
    if not coloured:
        assert screen.getvalue() == "epsilon <= 1\n\nwarning  a large delta\nrounds   1\n"


@pytest.mark.parametrize("name", ["gaussian", None])
def test_the_table_of_what_is_supported_fits(name: str | None, capsys: pytest.CaptureFixture[str]) -> None:
    print_supported(name)
    shown = capsys.readouterr().out
    assert max(map(len, shown.splitlines())) <= 80
    assert shown.startswith("mechanism")


def test_the_command_answers_into_a_pipe_by_few_modules() -> None:
    flags = ["--noise-multiplier", "1", "--sample-rate", "0.01", "--steps", "1000", "--delta", "1e-6"]
    code = f"""
import sys
sys.argv = ["hockeystick", "epsilon", *{flags}]
from hockeystick.cli import main
try:
    main()
finally:
    print([name for name in ("scipy", "pydantic", "hockeystick.questions") if name in sys.modules])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("epsilon <= 2.13 at delta = 1e-6\n\ncertified interval  2.124")
    assert done.stdout.endswith("\n[]\n")


def test_an_answer_in_letters_beyond_ascii_is_laid_out(capsys: pytest.CaptureFixture[str]) -> None:
    print_pairs([("déjà", "vu  et \t revu")])
    assert capsys.readouterr().out == "déjà  vu  et   revu\n"
