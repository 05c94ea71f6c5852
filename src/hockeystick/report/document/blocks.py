"""Blocks of plain text that make up a document; HTML and Markdown each render them in their own way.

Every string is text without markup; the renderer of a block escapes it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from hockeystick.report.document.chart import Chart


class Title(NamedTuple):
    """Title of the document, and a subtitle that may be empty."""

    text: str
    about: str


class Heading(NamedTuple):
    """Heading of a section."""

    text: str


class Lead(NamedTuple):
    """Sentence to quote, and a second sentence that states the scope of the first."""

    text: str
    below: str


class Paragraph(NamedTuple):
    """Paragraph of running text."""

    text: str


class Caution(NamedTuple):
    """Warning, set apart from the rest."""

    texts: Sequence[str]


class Facts(NamedTuple):
    """Names and values, one pair per line."""

    rows: Sequence[tuple[str, str]]


class Table(NamedTuple):
    """Table with column heads; the first column names the row.

    Attributes:
        caption: caption of the table.
        heads: column heads.
        rows: cells of each row.
        words: number of columns, from the left, that hold words; the others hold numbers.
    """

    caption: str
    heads: Sequence[str]
    rows: Sequence[Sequence[str]]
    words: int = 1


class Bullets(NamedTuple):
    """Unordered list of sentences."""

    items: Sequence[str]


class Figure(NamedTuple):
    """Chart with a caption; Markdown shows the description of the chart in its place."""

    chart: Chart
    caption: str


class Code(NamedTuple):
    """Lines to be read or typed exactly as they stand."""

    text: str
    language: str


class Signature(NamedTuple):
    """Lines to be filled in by hand."""

    fields: Sequence[str]


Block = Title | Heading | Lead | Paragraph | Caution | Facts | Table | Bullets | Figure | Code | Signature
"""Any part of a document."""
