"""Blocks of plain text that make up a document; HTML and Markdown each render them in their own way.

Every string is text without markup; the renderer of a block escapes it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hockeystick.report.document.chart import Chart


@dataclass(frozen=True, slots=True)
class Title:
    """Title of the document, and a subtitle that may be empty."""

    text: str
    about: str


@dataclass(frozen=True, slots=True)
class Heading:
    """Heading of a section."""

    text: str


@dataclass(frozen=True, slots=True)
class Lead:
    """Sentence to quote, and a second sentence on its scope."""

    text: str
    below: str


@dataclass(frozen=True, slots=True)
class Paragraph:
    """Paragraph of running text."""

    text: str


@dataclass(frozen=True, slots=True)
class Caution:
    """Warning, set apart from the rest."""

    texts: Sequence[str]


@dataclass(frozen=True, slots=True)
class Facts:
    """Names and values, one pair per line."""

    rows: Sequence[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Table:
    """Table with column heads; the first column names the row.

    Attributes:
        caption: caption of the table.
        heads: column heads.
        rows: cells of each row.
        words: number of columns, from the left, that hold words; the others hold numbers. If all hold words, rows
            become cards on a phone.
    """

    caption: str
    heads: Sequence[str]
    rows: Sequence[Sequence[str]]
    words: int = 1


@dataclass(frozen=True, slots=True)
class Bullets:
    """Unordered list of sentences."""

    items: Sequence[str]


@dataclass(frozen=True, slots=True)
class Figure:
    """Chart with a caption; ``stated`` describes it in words where no picture is shown."""

    chart: Chart
    caption: str


@dataclass(frozen=True, slots=True)
class Code:
    """Lines to be read or typed exactly as they stand."""

    text: str
    language: str


@dataclass(frozen=True, slots=True)
class Signature:
    """Lines to be filled in by hand."""

    fields: Sequence[str]


Block = Title | Heading | Lead | Paragraph | Caution | Facts | Table | Bullets | Figure | Code | Signature
"""Any part of a document."""
