"""Text on the terminal: tables that wrap words and never cut a number."""

from __future__ import annotations

import os
import shutil
import textwrap
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

USUAL_WIDTH = 80  # characters of a line if the width is unknown
LEAST_WIDTH = 40  # smallest width in characters: room for a label and the digits of a count
GAP = "  "  # between two columns


@dataclass(frozen=True, slots=True)
class Answer:
    """Answer as text for people.

    Attributes:
        headline: sentence to quote, with the upper end rounded up.
        lines: label and text of each line under the headline.
    """

    headline: str
    lines: tuple[tuple[str, str], ...]


def line_width() -> int:
    """Return the number of characters in a line, from the terminal or the variable COLUMNS."""
    return max(shutil.get_terminal_size((USUAL_WIDTH, 24)).columns, LEAST_WIDTH)


def laid_out(
    rows: Sequence[Sequence[str]],
    wrapped: Collection[int],
    right: Collection[int] = (),
    width: int | None = None,
) -> str:
    """Lay out a table as lines of text.

    Args:
        rows: cells of each row, equally many in each.
        wrapped: indices of the columns whose words may wrap; other columns are as wide as their longest cell.
        right: indices of right-aligned columns.
        width: number of characters in a line; ``None`` for the width of the terminal.

    >>> print(laid_out([("adjacency", "add"), ("rounds", "word " * 12 + "end")], {1}, width=40), end="")
    adjacency  add
    rounds     word word word word word
               word word word word word
               word word end
    """
    widths = [max(len(line) for cell in column for line in cell.split("\n")) for column in zip(*rows, strict=True)]
    spare = (width or line_width()) - len(GAP) * (len(widths) - 1) - sum(widths)
    while spare < 0 and max(widths[column] for column in wrapped) > 1:
        widest = max(wrapped, key=lambda column: widths[column])
        widths[widest] -= 1
        spare += 1
    lines = []
    for row in rows:
        cells = [_lines(cell, widths[column] if column in wrapped else None) for column, cell in enumerate(row)]
        for number in range(max(map(len, cells))):
            line = []
            for column, cell in enumerate(cells):
                part = cell[number] if number < len(cell) else ""
                line.append(part.rjust(widths[column]) if column in right else part.ljust(widths[column]))
            lines.append(GAP.join(line).rstrip() + "\n")
    return "".join(lines)


def _lines(cell: str, width: int | None) -> list[str]:
    """The lines of a cell, wrapped to ``width`` characters unless this is ``None``."""
    lines = cell.split("\n")
    if width is None:
        return lines
    return [part for line in lines for part in textwrap.wrap(line, max(width, 1), break_on_hyphens=False) or [""]]


def print_answer(answer: Answer) -> None:
    """Print the headline of an answer, then its lines."""
    _print(_bold(answer.headline) + "\n\n" + _pairs(answer.lines))


def print_paragraph(text: str) -> None:
    """Print running text, wrapped."""
    _print(textwrap.fill(text, line_width(), break_on_hyphens=False, break_long_words=False) + "\n")


def print_pairs(lines: Sequence[tuple[str, str]], error: bool = False) -> None:
    """Print labels and texts side by side.

    With ``error``, they go to standard error, since a figure or a table goes to standard output.
    """
    _print(_pairs(lines), error)


def print_table(
    headline: str,
    rows: Sequence[Sequence[str]],
    wrapped: Collection[int],
    blocks: Sequence[tuple[str, Sequence[tuple[str, str]]]],
    caveats: Sequence[tuple[str, str]] = (),
) -> None:
    """Print a headline, a table whose first row holds the column titles, blocks with titles, and caveats."""
    right = set(range(len(rows[0]))) - set(wrapped)  # numbers, which are never broken
    table = laid_out(rows, wrapped, right, max(line_width(), USUAL_WIDTH)) if len(rows) > 1 else ""
    table += "".join(f"\n{_bold(title)}\n{_pairs(lines)}" for title, lines in blocks if lines)
    _print(_bold(headline) + "\n\n" + table + ("\n" + _pairs(caveats) if caveats else ""))


def print_supported(name: str | None = None) -> None:
    """Print the table of supported combinations, of all mechanisms or of one."""
    from hockeystick.report.supported import COLUMNS, supported_rows

    rows: list[Sequence[str]] = [COLUMNS]
    for row in supported_rows(name):
        sampling = row.sampling.replace("-", "-\n")  # a narrow column leaves room for the sources
        where = row.where.replace(", ", ",\n")
        rows.append((row.mechanism, sampling, where, row.claim.status.value, row.claim.source))
    _print(laid_out(rows, {len(COLUMNS) - 1}, width=max(line_width(), USUAL_WIDTH)))


def _pairs(lines: Sequence[tuple[str, str]]) -> str:
    return laid_out(lines, {1}) if lines else ""


def _bold(text: str) -> str:
    import click

    return click.style(text, bold=True)


def _print(text: str, error: bool = False) -> None:
    import click

    plain: Any = False if "NO_COLOR" in os.environ else None  # None: colours if the stream is a terminal
    click.echo(text, nl=False, err=error, color=plain)
