"""Answers in pipes and files, laid out without rich: what rich would have written, to the character."""

from __future__ import annotations

import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

import hockeystick as hs
from hockeystick import report
from hockeystick.report import plain, tables

WORDS = st.text(st.characters(codec="ascii", categories=["L", "N", "P", "S"]), min_size=1, max_size=90)
TEXTS = st.lists(WORDS, max_size=40).map(" ".join)
LABELS = st.lists(st.text("abcdefgh ()", max_size=30).map(str.strip), max_size=4)


def by_rich(headline: str | None, lines: list[tuple[str, str]], width: int) -> str:
    """What rich writes into a file."""
    import io

    from rich.console import Console
    from rich.text import Text

    file = io.StringIO()
    console = Console(file=file, width=width, highlight=False, emoji=False, markup=False)
    if headline is not None:
        console.print(Text(headline, style="bold"))
        console.print()
    tables._print_pairs(console, lines)
    return file.getvalue()


@given(TEXTS.filter(bool) | st.none(), LABELS, st.data(), st.integers(80, 200))
def test_the_layout_is_that_of_rich(headline: str | None, labels: list[str], data: st.DataObject, width: int) -> None:
    """Whatever is laid out here at all: words of many lengths, labels and lines of any number."""
    lines = [(label, data.draw(TEXTS)) for label in labels]
    found = plain.laid_out(headline, lines, width)
    if found is not None:
        assert found == by_rich(headline, lines, width)


def test_answers_as_they_are_printed_are_laid_out_without_rich(capsys: pytest.CaptureFixture[str]) -> None:
    plan = hs.dp_sgd(noise_multiplier=1.0, sample_rate=0.01, steps=1000)
    answer = report.epsilon_answer(plan, 1e-6, plan.epsilon(1e-6))
    report.print_answer(answer)
    assert capsys.readouterr().out == by_rich(answer.headline, list(answer.lines), 80)


@pytest.mark.parametrize("text", ["déjà vu", "a" * 81, "two  spaces", " before", "tab\tbed"])
def test_what_is_not_plain_is_left_to_rich(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert plain.laid_out(None, [("label", text)], 80) is None
    report.print_accountants([("label", text)])
    assert capsys.readouterr().out.startswith("label")


@pytest.mark.parametrize("name", plain.FORCED)
def test_what_is_to_be_taken_for_a_terminal_is_left_to_rich(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for other in plain.FORCED:
        monkeypatch.delenv(other, raising=False)
    assert plain.is_piped(sys.stdout)
    monkeypatch.setenv(name, "1")
    assert not plain.is_piped(sys.stdout)
    assert not plain.is_piped(None)


@pytest.mark.parametrize(("columns", "width"), [("120", 120), ("60", 60), ("20", 40), ("0", 80), ("wide", None)])
def test_the_width_is_the_one_that_the_caller_asks_for(
    columns: str, width: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    from rich.console import Console

    wide = Console().width or 80  # 0: nobody has said how many
    assert plain.line_width() == (width or max(wide, 40)) == max(wide, 40)


def test_the_command_answers_into_a_pipe_without_rich() -> None:
    flags = ["--noise-multiplier", "1", "--sample-rate", "0.01", "--steps", "1000", "--delta", "1e-6"]
    code = f"""
import sys
sys.argv = ["hockeystick", "epsilon", *{flags}]
from hockeystick.cli import main
try:
    main()
finally:
    print([name for name in ("rich", "scipy", "pydantic", "hockeystick.questions") if name in sys.modules])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("epsilon <= 2.13 at delta = 1e-6\n\ncertified interval  2.124")
    assert done.stdout.endswith("\n[]\n")
