"""Text on the terminal, by rich: short tables that wrap their words and never cut a number."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from hockeystick.report.plain import LEAST_WIDTH, USUAL_WIDTH, written

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from hockeystick.report.answer import Answer
    from hockeystick.report.comparison import Entry

_WHOLE = ("mechanism", "sampling", "pair")  # columns whose words are not broken
_WIDTHS = {"direction": 12}  # room for the sources


def print_answer(answer: Answer) -> None:
    """The sentence to quote, then a line for each thing to know about it, on standard output."""
    if written(sys.stdout, answer.headline, answer.lines):
        return
    from rich.text import Text

    console = _console()
    console.print(Text(answer.headline, style="bold"))
    console.print()
    _print_pairs(console, answer.lines)


def print_accountants(summaries: Iterable[tuple[str, str]]) -> None:
    """Names and summaries of accountants on standard output."""
    lines = list(summaries)
    if not written(sys.stdout, None, lines):
        _print_pairs(_console(), lines)


def print_comparison(headline: str, entries: Sequence[Entry], caveats: Sequence[tuple[str, str]] = ()) -> None:
    """The numbers of all accountants in one table, under it the reasons of those that have none, and what to mind."""
    from rich.table import Table
    from rich.text import Text

    from hockeystick.report.comparison import sorted_entries

    console = _console(least=USUAL_WIDTH)  # numbers are not broken
    console.print(Text(headline, style="bold"))
    console.print()
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in ("accountant", "guarantee"):
        table.add_column(column, overflow="fold")
    for column in ("lower", "estimate", "upper", "seconds"):
        table.add_column(column, no_wrap=True, justify="right")
    ordered = sorted_entries(entries)
    for entry in ordered:
        if entry.answer is not None:
            cells = (entry.name, entry.answer.guarantee, *entry.cells, f"{entry.seconds:.3f}")
            table.add_row(*map(Text, cells))
    if table.rows:
        _print_table(console, table)
    for title, answered in (("Remarks", True), ("Not answered", False)):
        reasons = [
            (entry.name, entry.reason) for entry in ordered if entry.reason and (entry.answer is None) != answered
        ]
        if reasons:
            console.print(Text(f"\n{title}", style="bold"))
            _print_pairs(console, reasons)
    if caveats:
        console.print()
        _print_pairs(console, caveats)


def print_samplings(
    headline: str, rows: Sequence[Sequence[str]], blocks: Sequence[tuple[str, Sequence[tuple[str, str]]]]
) -> None:
    """The numbers of all sampling schemes in one table, and under it blocks of lines, each with a title."""
    from rich.table import Table
    from rich.text import Text

    console = _console(least=USUAL_WIDTH)  # numbers are not broken
    console.print(Text(headline, style="bold"))
    console.print()
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("sampling", overflow="fold")
    for column in ("lower", "upper", "noise needed"):
        table.add_column(column, no_wrap=True, justify="right")
    for row in rows:
        table.add_row(*map(Text, row))
    _print_table(console, table)
    for title, lines in blocks:
        if lines:
            console.print(Text(f"\n{title}", style="bold"))
            _print_pairs(console, lines)


def print_caveats(lines: Sequence[tuple[str, str]]) -> None:
    """What a figure is about, and what to mind with it, on standard error: a figure has no lines of text."""
    if not written(sys.stderr, None, lines):
        _print_pairs(_console(error=True), lines)


def print_supported(name: str | None = None) -> None:
    """The table of what is supported on standard output; of one mechanism, where its name is given."""
    from rich.table import Table
    from rich.text import Text

    from hockeystick.report.supported import COLUMNS, supported_rows

    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in COLUMNS:
        table.add_column(column, overflow="fold", no_wrap=column in _WHOLE, max_width=_WIDTHS.get(column))
    for row in supported_rows(name):
        sampling = row.sampling.replace("-", "-\n")  # leaves its width to the sources
        cells = (row.mechanism, sampling, row.where, row.claim.status.value, row.claim.source)
        table.add_row(*map(Text, cells))
    _print_table(_console(least=USUAL_WIDTH), table)


def _print_pairs(console: Console, lines: Iterable[Sequence[str]]) -> None:
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for label, text in lines:
        style = "bold yellow" if label == "warning" else ""
        table.add_row(Text(label, style=style or "dim"), Text(text, style=style))
    _print_table(console, table)


def _print_table(console: Console, table: Table) -> None:
    """The table; in a file or a pipe without the blanks that fill its lines up, which a copy would carry on."""
    if console.is_terminal:
        console.print(table)
        return
    with console.capture() as shown:
        console.print(table)
    console.file.write("".join(line.rstrip() + "\n" for line in shown.get().splitlines()))


def _console(error: bool = False, least: int = LEAST_WIDTH) -> Console:
    from rich.console import Console

    class Shell(Console):
        """A console that leaves to the command how it ends where nobody reads on: rich would end it, with status 1."""

        def on_broken_pipe(self) -> None:
            raise BrokenPipeError(errno.EPIPE, os.strerror(errno.EPIPE))

    file = None if error else sys.stdout
    console = Shell(file=file, stderr=error, highlight=False, emoji=False, markup=False)
    if console.width < least:
        console.width = least
    return console
