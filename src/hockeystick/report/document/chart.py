"""Line charts as SVG without a library, a script or external resources; the same data give the same bytes.

Lengths are in units of the drawing. The drawing is as wide as a column of text and shrinks with it on a phone.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

LETTER = 13.0  # font size in units of the drawing: 10 points on a phone
LETTER_WIDTH = 0.65  # width of a digit in font sizes, an upper bound for common typefaces
TICKS = 6  # maximal number of ticks on an axis


def letters(number: int) -> float:
    """Return the length of so many font sizes, in units of the drawing."""
    return number * LETTER


WIDTH, HEIGHT = letters(37), letters(25)  # size of the drawing
LEFT, RIGHT, TOP, BOTTOM = letters(5), letters(1), letters(1), letters(4)  # margins around the axes

INK, GREY, GRID = "#1a1a1a", "#555555", "#d9d9d9"  # colours of text, of reference lines, of the grid
LINE, BAND, MARK = "#0059a3", "#9ec9ea", "#b3400a"  # colours of the ends, the band between them, the quoted number
"""Colours after Okabe and Ito, darkened so that each has a contrast of at least 4.5 to white."""

Point = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Axis:
    """Axis from ``low`` to ``high``.

    Attributes:
        label: label of the axis.
        low: value at the beginning of the axis.
        high: value at the end of the axis.
        logarithmic: True if the scale is logarithmic.
    """

    label: str
    low: float
    high: float
    logarithmic: bool = False

    def share(self, value: float) -> float:
        """Return the position of a value along the axis, from 0 to 1; values outside move to the nearer end."""
        if self.logarithmic:
            value, low, high = (math.log10(max(number, 1e-320)) for number in (value, self.low, self.high))
        else:
            low, high = self.low, self.high
        return min(max((value - low) / (high - low), 0.0), 1.0)

    def ticks(self) -> list[tuple[float, str]]:
        """Return the ticks with their labels.

        >>> [text for _, text in Axis("epsilon", 0, 4.2).ticks()]
        ['0', '1', '2', '3', '4']
        >>> [text for _, text in Axis("delta", 1e-8, 1, True).ticks()]
        ['1e-8', '1e-6', '1e-4', '0.01', '1']
        """
        return _decades(self.low, self.high) if self.logarithmic else _round_numbers(self.low, self.high)


@dataclass(frozen=True, slots=True)
class Chart:
    """Chart of the band between certified bounds, with a reference line and a marked point.

    Attributes:
        name: identifier within a page; letters only.
        title: title for screen readers.
        description: description of the picture in a sentence or two.
        x: horizontal axis.
        y: vertical axis.
        upper: points of the curve of upper bounds.
        lower: points of the curve of lower bounds; empty if there are none.
        guide: points of a dashed reference line.
        guide_label: label at the end of the reference line.
        mark: point to quote, with its label, which stands above the axes.
    """

    name: str
    title: str
    description: str
    x: Axis
    y: Axis
    upper: Sequence[Point]
    lower: Sequence[Point] = ()
    guide: Sequence[Point] = ()
    guide_label: str = ""
    mark: tuple[Point, str] | None = None

    def svg(self) -> str:
        """Return the chart as an SVG element of several lines."""
        return "\n".join(
            [
                f'<svg viewBox="0 0 {_at(WIDTH)} {_at(HEIGHT)}" role="img" xmlns="http://www.w3.org/2000/svg" '
                f'aria-labelledby="{self.name}-title {self.name}-description" font-size="{_at(LETTER)}" fill="{INK}">',
                f'<title id="{self.name}-title">{escape(self.title)}</title>',
                f'<desc id="{self.name}-description">{escape(self.description)}</desc>',
                *self._axes(),
                *self._lines(),
                "</svg>",
            ]
        )

    def _place(self, point: Point) -> Point:
        across = LEFT + self.x.share(point[0]) * (WIDTH - LEFT - RIGHT)
        return across, HEIGHT - BOTTOM - self.y.share(point[1]) * (HEIGHT - TOP - BOTTOM)

    def _path(self, points: Sequence[Point]) -> str:
        return " ".join(f"{_at(across)},{_at(down)}" for across, down in map(self._place, points))

    def _axes(self) -> list[str]:
        floor, middle = HEIGHT - BOTTOM, LEFT + 0.5 * (WIDTH - LEFT - RIGHT)
        out = []
        for value, text in self.x.ticks():
            across = self._place((value, self.y.low))[0]
            out.append(f'<path d="M{_at(across)} {_at(TOP)}V{_at(floor)}" stroke="{GRID}"/>')
            inside = WIDTH - 0.5 * LETTER_WIDTH * LETTER * len(text)  # keeps a number at the end from being cut off
            out.append(_text(min(across, inside), floor + 1.4 * LETTER, text, "middle"))
        for value, text in self.y.ticks():
            down = self._place((self.x.low, value))[1]
            out.append(f'<path d="M{_at(LEFT)} {_at(down)}H{_at(WIDTH - RIGHT)}" stroke="{GRID}"/>')
            out.append(_text(LEFT - 6, down + 0.35 * LETTER, text, "end"))
        out.append(f'<path d="M{_at(LEFT)} {_at(TOP)}V{_at(floor)}H{_at(WIDTH - RIGHT)}" stroke="{INK}" fill="none"/>')
        out.append(_text(middle, HEIGHT - 8, self.x.label, "middle"))
        turned = f'transform="rotate(-90 14 {_at(0.5 * (TOP + floor))})" '
        out.append(_text(14, 0.5 * (TOP + floor), self.y.label, "middle", turned))
        return out

    def _lines(self) -> list[str]:
        out = []
        if self.lower:
            around = self._path([*self.upper, *reversed(self.lower)])
            out.append(f'<polygon points="{around}" fill="{BAND}"/>')
        if self.guide:
            dashes = f'fill="none" stroke="{GREY}" stroke-width="1.5" stroke-dasharray="5 4"'
            out.append(f'<polyline points="{self._path(self.guide)}" {dashes}/>')
            across, down = self._place(self.guide[len(self.guide) // 2])
            out.append(_text(across + 8, down + 1.3 * LETTER, self.guide_label, "start", f'fill="{GREY}" '))
        for points in (self.upper, self.lower):
            if points:
                drawn = f'fill="none" stroke="{LINE}" stroke-width="2" stroke-linejoin="round"'
                out.append(f'<polyline points="{self._path(points)}" {drawn}/>')
        if self.mark is not None:
            (across, down), text = self._place(self.mark[0]), self.mark[1]
            out.append(f'<circle cx="{_at(across)}" cy="{_at(down)}" r="4.5" fill="{MARK}"/>')
            above = TOP - 2  # of the axes, where no line can cross the label
            out.append(_text(WIDTH - RIGHT, above, text, "end", f'fill="{MARK}" '))
        return out


def _at(value: float) -> str:
    """A length as text, with at most two decimals and without trailing zeros."""
    return f"{value:.2f}".rstrip("0").rstrip(".")


def _text(across: float, down: float, text: str, anchor: str, more: str = "") -> str:
    return f'<text x="{_at(across)}" y="{_at(down)}" text-anchor="{anchor}" {more}>{escape(text)}</text>'.replace(
        " >", ">", 1
    )


def _decades(low: float, high: float) -> list[tuple[float, str]]:
    first, last = math.ceil(math.log10(low) - 1e-9), math.floor(math.log10(high) + 1e-9)
    apart = max(math.ceil((last - first + 1) / TICKS), 1)
    found = []
    for power in range(last, first - 1, -apart):
        text = f"{10.0**power:g}" if -3 < power < 5 else f"1e{power}"
        found.append((10.0**power, text))
    return found[::-1]


def _round_numbers(low: float, high: float) -> list[tuple[float, str]]:
    rough = (high - low) / TICKS
    unit = 10.0 ** math.floor(math.log10(rough))
    apart = next(step * unit for step in (1, 2, 5, 10) if step * unit >= rough * (1 - 1e-9))
    first = math.ceil(low / apart - 1e-9)
    last = math.floor(high / apart + 1e-9)
    return [(number * apart, _short(number * apart)) for number in range(first, last + 1)]


def _short(value: float) -> str:
    """Label of a tick: rounded, with commas for thousands, or with a power of ten for a long number."""
    if abs(value) >= 1e6:
        return f"{value:.3g}".replace("e+0", "e").replace("e+", "e")
    return f"{value:,.6g}" if abs(value) < 1000 else f"{value:,.0f}"
