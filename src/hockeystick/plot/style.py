"""Styles of methods, the same in all figures: a colour, a dash and a mark for each method.

The colours are those of Okabe, Ito 2008 [OI08], which colour-blind readers can tell apart; in grey print, the dashes
and marks distinguish the methods.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from hockeystick.plot.panel import BRACKET

BLACK, ORANGE, SKY, GREEN = "#000000", "#E69F00", "#56B4E9", "#009E73"
"""Colours of the palette, in hexadecimal notation."""

BLUE, RED, PURPLE, GREY = "#0072B2", "#D55E00", "#CC79A7", "#6E6E6E"
"""Further colours of the palette, in hexadecimal notation, and a grey that is not part of the palette."""

DASHES: dict[str, tuple[float, ...]] = {
    "dashed": (5, 1.8),
    "dotted": (1, 1.4),
    "dashdot": (6, 1.6, 1, 1.6),
    "long": (9, 2),
    "twodots": (4, 1.4, 1, 1.4, 1, 1.4),
}
"""Lengths of strokes and gaps in widths of the line, by the name of the dash; a dash without an entry is solid."""

COLUMN = 3.4
"""Width of a column of a paper in inches."""

SETTINGS: Any = {
    "font.size": 8.0,
    "font.family": "DejaVu Sans",
    "mathtext.fontset": "dejavusans",
    "axes.labelsize": 8.0,
    "axes.titlesize": 8.0,
    "legend.fontsize": 7.5,
    "xtick.labelsize": 7.5,
    "ytick.labelsize": 7.5,
    "axes.linewidth": 0.6,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "xtick.minor.width": 0.4,
    "ytick.minor.width": 0.4,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "0.88",
    "grid.linewidth": 0.4,
    "lines.linewidth": 1.2,
    "lines.markersize": 3.6,
    "svg.hashsalt": "hockeystick",
    "svg.fonttype": "path",
    "pdf.fonttype": 42,
    "savefig.dpi": 300,
}
"""Fonts as large as a paper's captions at column width, and settings that make files reproducible."""


@dataclass(frozen=True)
class Style:
    """Colour, dash (a key of :data:`DASHES`, or ``"solid"``) and mark of a line."""

    colour: str
    dash: str = "solid"
    mark: str = "o"


CERTIFIED = Style(BLACK, "solid", "")
"""Style of a certified band, and of lines through the answers of the accountant ``auto``."""

STYLES = {
    BRACKET: CERTIFIED,
    "certified": CERTIFIED,
    "auto": CERTIFIED,
    "contour": Style(BLACK, "dashed", "|"),
    "grid": Style(BLACK, "dotted", "_"),
    "rdp": Style(RED, "dashed", "s"),
    "gdp": Style(ORANGE, "dotted", "v"),
    "prv": Style(BLUE, "dashdot", "o"),
    "fourier": Style(GREEN, "long", "^"),
    "privacy-buckets": Style(SKY, "twodots", "D"),
    "connect-the-dots": Style(PURPLE, "dashed", "P"),
    "evolving": Style(BLUE, "dotted", "X"),
    "saddle-point": Style(GREEN, "dashed", "o"),
    "characteristic-function": Style(SKY, "dashed", "v"),
    "edgeworth": Style(ORANGE, "dashdot", "<"),
    "basic": Style(GREY, "solid", "+"),
    "advanced": Style(GREY, "dashed", "x"),
    "optimal": Style(GREY, "dotted", "1"),
    "zcdp": Style(RED, "dotted", ">"),
}
"""Style of the line of each accountant."""

OTHERS = (
    Style(BLUE, "solid", "o"),
    Style(RED, "dashed", "s"),
    Style(GREEN, "dashdot", "^"),
    Style(PURPLE, "dotted", "D"),
    Style(ORANGE, "twodots", "v"),
    Style(SKY, "long", "P"),
)
"""Styles of lines that belong to no accountant, in turn."""


def style_of(name: str, position: int) -> Style:
    """Return the style of a method.

    A method of the library has a style of its own. Any other name gets a style by its position in the figure.
    """
    return STYLES.get(name, OTHERS[position % len(OTHERS)])
