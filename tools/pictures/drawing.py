"""What the pictures of the documentation are drawn with: SVG in the page, in the colours of its light or dark theme.

Lengths are in units of the drawing, which is as wide as the column and shrinks with it on a phone. Colours are the
variables of ``docs/_static/hockeystick.css``, so that one drawing serves both themes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from hockeystick.report.document import chart
from hockeystick.report.document.chart import Chart

WIDTH = 480.0  # of every drawing, in its own units: that of the charts of reports

INK, GREY, GRID = "var(--picture-ink)", "var(--picture-grey)", "var(--picture-grid)"  # words, asides, grids
BLUE, BAND, RED = "var(--picture-blue)", "var(--picture-band)", "var(--picture-red)"  # one side, its shade, the other

THEMED = {
    chart.INK: INK,
    chart.GREY: GREY,
    chart.GRID: GRID,
    chart.LINE: BLUE,
    chart.BAND: BAND,
    chart.MARK: RED,
}
"""The fixed colours of charts in reports, and the variables that stand for them here."""


@dataclass(frozen=True)
class Picture:
    """A figure of a page, with the words around it.

    Attributes:
        name: identifies it within the documentation; letters and hyphens.
        title: read out in place of the picture.
        description: what the picture shows, for whoever does not see it.
        caption: a sentence below it.
        elements: the elements of the drawing, as SVG.
        height: of the drawing, in its own units.
    """

    name: str
    title: str
    description: str
    caption: str
    elements: Sequence[str]
    height: float

    def html(self) -> str:
        """The figure as an element of a page."""
        drawing = "\n".join(self.elements)
        return (
            f'<figure class="picture" id="picture-{self.name}">\n'
            f'<svg viewBox="0 0 {WIDTH:g} {self.height:g}" role="img" xmlns="http://www.w3.org/2000/svg" '
            f'aria-labelledby="{self.name}-title {self.name}-description" font-size="13" fill="{INK}">\n'
            f'<title id="{self.name}-title">{escape(self.title)}</title>\n'
            f'<desc id="{self.name}-description">{escape(self.description)}</desc>\n'
            f"{drawing}\n</svg>\n<figcaption>{escape(self.caption)}</figcaption>\n</figure>\n"
        )


@dataclass(frozen=True)
class Note:
    """A point of a chart with words beside it.

    Attributes:
        point: the place, in the units of the axes.
        said: the words.
        beside: where they end or begin, from the point, in units of the drawing.
        anchor: ``end`` where they end there, ``start`` where they begin.
    """

    point: tuple[float, float]
    said: str
    beside: tuple[float, float]
    anchor: str = "end"

    def svg(self, chart: Chart) -> str:
        """The mark and the words."""
        x, y = chart._place(self.point)
        return dot(x, y, 4.5, RED) + text(x + self.beside[0], y + self.beside[1], self.said, self.anchor, RED)


@dataclass(frozen=True)
class Charted:
    """A chart such as those of reports, with a caption.

    Attributes:
        chart: the chart.
        caption: a sentence below it.
        note: a point that is marked beside those of the chart.
    """

    chart: Chart
    caption: str
    note: Note | None = None

    def html(self) -> str:
        """The figure as an element of a page, in the colours of its theme."""
        drawing = self.chart.svg()
        for fixed, themed in THEMED.items():
            drawing = drawing.replace(fixed, themed)
        if self.note is not None:
            drawing = drawing.replace("</svg>", f"{self.note.svg(self.chart)}\n</svg>")
        return (
            f'<figure class="picture" id="picture-{self.chart.name}">\n{drawing}\n'
            f"<figcaption>{escape(self.caption)}</figcaption>\n</figure>\n"
        )


def text(x: float, y: float, said: str, anchor: str = "start", colour: str = INK, size: float = 13) -> str:
    """Words at a place; the anchor is ``start``, ``middle`` or ``end``."""
    return (
        f'<text x="{x:g}" y="{y:g}" text-anchor="{anchor}" fill="{colour}" font-size="{size:g}">{escape(said)}</text>'
    )


def line(points: Sequence[tuple[float, float]], colour: str = INK, width: float = 1.5, dashed: bool = False) -> str:
    """Straight lines from point to point."""
    places = " ".join(f"{x:.2f},{y:.2f}" for x, y in points)
    dashes = ' stroke-dasharray="5 4"' if dashed else ""
    return f'<polyline points="{places}" fill="none" stroke="{colour}" stroke-width="{width:g}"{dashes}/>'


def area(points: Sequence[tuple[float, float]], colour: str) -> str:
    """A filled polygon."""
    places = " ".join(f"{x:.2f},{y:.2f}" for x, y in points)
    return f'<polygon points="{places}" fill="{colour}"/>'


def box(x: float, y: float, width: float, height: float, fill: str, stroke: str = "none", dashed: bool = False) -> str:
    """A rectangle with slightly round corners."""
    dashes = ' stroke-dasharray="3 3"' if dashed else ""
    return (
        f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="2.5" '
        f'fill="{fill}" stroke="{stroke}" stroke-width="1.5"{dashes}/>'
    )


def dot(x: float, y: float, radius: float, colour: str) -> str:
    """A filled circle."""
    return f'<circle cx="{x:g}" cy="{y:g}" r="{radius:g}" fill="{colour}"/>'


def arrow(x: float, y: float, length: float, colour: str = GREY) -> str:
    """An arrow to the right."""
    end = x + length
    head = area([(end, y), (end - 8, y - 4.5), (end - 8, y + 4.5)], colour)
    return line([(x, y), (end - 6, y)], colour) + head
