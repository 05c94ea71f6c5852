"""What a document is made of: blocks of plain text, which HTML and Markdown each write in their own way.

Every string here is text, with no markup in it; whoever writes a block escapes it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hockeystick.report.document.chart import Chart


@dataclass(frozen=True, slots=True)
class Title:
    """The name of the document, and in a second line what it is about; empty where nothing was said."""

    text: str
    about: str


@dataclass(frozen=True, slots=True)
class Heading:
    """The heading of a section."""

    text: str


@dataclass(frozen=True, slots=True)
class Lead:
    """The sentence to quote, and one that says what it is valid for."""

    text: str
    below: str


@dataclass(frozen=True, slots=True)
class Paragraph:
    """A paragraph of running text."""

    text: str


@dataclass(frozen=True, slots=True)
class Caution:
    """What has to be minded, set apart from all else."""

    texts: Sequence[str]


@dataclass(frozen=True, slots=True)
class Facts:
    """Names and values, a line each."""

    rows: Sequence[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Table:
    """A table whose columns have heads; the first column names the row.

    Attributes:
        caption: what it shows.
        heads: of the columns.
        rows: the cells.
        words: how many columns hold words, from the left; the others hold numbers. Where all do, rows are cards on a
            phone.
    """

    caption: str
    heads: Sequence[str]
    rows: Sequence[Sequence[str]]
    words: int = 1


@dataclass(frozen=True, slots=True)
class Bullets:
    """A list of sentences in no order."""

    items: Sequence[str]


@dataclass(frozen=True, slots=True)
class Figure:
    """A chart and the words under it; ``stated`` says in words what it shows, where there is no picture."""

    chart: Chart
    caption: str


@dataclass(frozen=True, slots=True)
class Code:
    """Lines that are read or typed exactly as they stand."""

    text: str
    language: str


@dataclass(frozen=True, slots=True)
class Signature:
    """Lines to be filled in by hand."""

    fields: Sequence[str]


Block = Title | Heading | Lead | Paragraph | Caution | Facts | Table | Bullets | Figure | Code | Signature
"""Any part of a document."""
