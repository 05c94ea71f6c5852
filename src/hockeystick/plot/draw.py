"""Drawing of panels with matplotlib, without a display and without changes to its global figures and settings."""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from hockeystick.plot.files import blank
from hockeystick.plot.panel import Line, Mark, Panel
from hockeystick.plot.style import BLACK, CERTIFIED, COLUMN, DASHES, GREY, Style, style_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Array = npt.NDArray[np.float64]

HEIGHT = 2.35  # of one panel's axes with their labels, in inches
LEGEND_ROW = 0.155  # height of a row of the legend in inches
MARKS = 9  # approximate number of marks on a line
THIN, BRACKET_WIDTH = 1.2, 0.8  # widths in points of the last line and of the bracket
RIM = 0.3  # points by which a line is wider than the line drawn over it, so that both stay visible
NOTHING = (0.1, 1.0)  # ends of an empty logarithmic axis
BESIDE = 4.0  # points between a mark and its text
MAX_PLAIN_END = 1e9  # linear axes beyond this have powers of ten as ticks, since longer numbers do not fit


def drawn(panels: Sequence[Panel], columns: int = 1, width: float = COLUMN, height: float = HEIGHT) -> Figure:
    """Draw the panels row by row, with one legend below them.

    Args:
        panels: panels to draw.
        columns: number of panels in a row.
        width: width of one column in inches.
        height: height of one panel in inches.

    Raises:
        HockeystickError: matplotlib is missing.
    """
    names = list(dict.fromkeys(line.label for panel in panels for line in panel.lines if line.answered))
    rows = math.ceil(len(panels) / columns)
    across = 2 * columns
    entries = len(names) + any(panel.bracket is not None for panel in panels)
    tall = rows * height + LEGEND_ROW * math.ceil(entries / across) + 0.08
    with blank(columns * width, tall) as figure:
        engine: Any = figure.get_layout_engine()
        engine.set(w_pad=0.03, h_pad=0.03)
        handles: dict[str, Any] = {}
        for number, panel in enumerate(panels):
            axes = figure.add_subplot(rows, columns, number + 1)
            axes.set(xscale=panel.xscale, yscale=panel.yscale, xlabel=panel.xlabel, ylabel=panel.ylabel)
            axes.set_title(panel.title, pad=4)
            if panel.square:
                axes.set_aspect("equal", adjustable="box")
            above = len(panel.lines) - (panel.bracket is None)  # number of lines and bands drawn over the first line
            for place, line in enumerate(panel.lines):
                if line.answered:
                    style = style_of(line.style or line.label, names.index(line.label))
                    wide = THIN + RIM * (above - place)
                    handles.setdefault(line.label, _line(axes, panel, line, style, wide, len(handles)))
            if panel.bracket is not None:
                handles.setdefault(panel.bracket.label, _bracket(axes, panel.bracket))
            for guide in panel.guides:
                _guide(axes, guide)
            _limits(axes, panel)
            _ticks(axes, panel, width)
            for point in panel.points:
                _mark(axes, panel, point)
        if handles:
            figure.legend(
                list(handles.values()),
                list(handles),
                loc="outside lower center",
                ncols=min(across, len(handles)),
                frameon=False,
                handlelength=2.6,
                columnspacing=1.2,
                handletextpad=0.5,
                borderaxespad=0.1,
                labelspacing=0.3,
            )
    return figure


def _dash(style: Style, width: float) -> str | tuple[int, tuple[float, ...]]:
    """Dash pattern of a style for a line of the given width.

    matplotlib measures dashes in line widths. Dividing by the width makes dashes equally long on all lines.
    """
    lengths = DASHES.get(style.dash)
    return style.dash if lengths is None else (0, tuple(length * THIN / width for length in lengths))


def _line(axes: Axes, panel: Panel, line: Line, style: Style, width: float, position: int) -> Any:
    x, y = _finite(panel, line.x, line.y)
    every = max(1, round(len(x) / MARKS))
    drawing: dict[str, Any] = {
        "color": style.colour,
        "linestyle": _dash(style, width),
        "linewidth": width,
        "marker": style.mark if panel.marks and style.mark else None,
        "markevery": (position % every, every),
        "markerfacecolor": "white",
        "markeredgecolor": style.colour,
        "markeredgewidth": 0.9,
        "zorder": 3,
    }
    (handle,) = axes.plot(x, y, label=line.label, **drawing)
    if line.lower is not None:
        x, low = _finite(panel, line.x, line.lower)
        axes.plot(x, low, **drawing)
    return handle


def _bracket(axes: Axes, bracket: Line) -> Any:
    """Draw a band and the lines along its two edges, so that even a very narrow band is visible."""
    x, lower, upper = (np.asarray(end, dtype=np.float64) for end in (bracket.x, bracket.lower, bracket.y))
    upper = np.where(np.isfinite(upper), upper, np.nan)
    axes.fill_between(x, lower, upper, color=CERTIFIED.colour, alpha=0.25, linewidth=0, zorder=3.5)
    axes.plot(x, lower, color=BLACK, linewidth=BRACKET_WIDTH, zorder=3.6)
    single = _alone(upper)
    alone: dict[str, Any] = {"marker": "o", "markersize": 2.4, "markevery": single} if len(single) else {}
    (handle,) = axes.plot(x, upper, color=BLACK, linewidth=BRACKET_WIDTH, zorder=3.6, label=bracket.label, **alone)
    return handle


def _guide(axes: Axes, guide: Line) -> None:
    axes.plot(guide.x, guide.y, color=GREY, linewidth=0.6, zorder=2)
    _note(axes, guide.label, (guide.x[-1], guide.y[-1]), (2.0, 0.0), va="center", fontsize=6.5, color=GREY)


def _mark(axes: Axes, panel: Panel, point: Mark) -> None:
    """Draw a dot, with its text above it on the left if the lines rise and on the right otherwise."""
    (left, right), (bottom, top) = axes.get_xlim(), axes.get_ylim()
    if not (left <= point.x <= right and bottom <= point.y <= top):
        return
    side, beside = (-1, "right") if panel.rising else (1, "left")
    axes.plot([point.x], [point.y], "o", color=BLACK, markersize=4.0, zorder=5, clip_on=False)
    offset = side * BESIDE, BESIDE
    _note(axes, point.text, (point.x, point.y), offset, ha=beside, va="bottom", fontsize=7.5, zorder=5)


def _note(axes: Axes, text: str, at: tuple[float, float], offset: tuple[float, float], **style: Any) -> None:
    """Write a text beside a point, ``offset`` points of print away from it."""
    axes.annotate(text, at, xytext=offset, textcoords="offset points", **style)


def _alone(y: Array) -> list[int]:
    """Indices of points without a neighbour on either side: no line joins them, so they need a mark to be visible."""
    seen = np.concatenate([[False], np.isfinite(y), [False]])
    return [int(i) for i in np.flatnonzero(seen[1:-1] & ~seen[:-2] & ~seen[2:])]


def _finite(panel: Panel, x: Sequence[float], y: Sequence[float]) -> tuple[Array, Array]:
    """Coordinates as arrays; ``y`` is nan, a gap, where it is not finite or the logarithmic scale cannot show it."""
    at, values = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    shown = np.isfinite(values) & ((values > 0) if panel.yscale == "log" else True)
    return at, np.where(shown, values, np.nan)


def _limits(axes: Axes, panel: Panel) -> None:
    low, high = panel.ylim
    if panel.yscale == "log" and not any(np.isfinite(_finite(panel, line.x, line.y)[1]).any() for line in panel.lines):
        low, high = NOTHING if low is None else (low, 1.0)
        axes.set_autoscaley_on(False)  # avoids matplotlib's warning about missing data
    if panel.xlim is not None:
        axes.set_xlim(*panel.xlim)
    axes.set_ylim(low, high)


def _ticks(axes: Axes, panel: Panel, width: float) -> None:
    """Set a few readable ticks on both axes, according to the scale of each."""
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    for scale, axis, most in ((panel.xscale, axes.xaxis, round(1.6 * width)), (panel.yscale, axes.yaxis, 5)):
        low, high = sorted(axis.get_view_interval())
        if scale == "linear":
            whole = panel.whole and axis is axes.xaxis
            axis.set_major_locator(
                MaxNLocator(most, steps=[1, 2, 5, 10] if whole else [1, 2, 2.5, 5, 10], integer=whole)
            )
            if high >= 1000:
                end = MAX_PLAIN_END if high < MAX_PLAIN_END else 0.0  # all in one form
                axis.set_major_formatter(FuncFormatter(lambda value, _, end=end: plain(value, end)))
        else:
            set_log_ticks(axis, low, high)


def set_log_ticks(axis: Any, low: float, high: float) -> None:
    """Set the ticks of a logarithmic axis: powers of ten, or 1, 2 and 5 times powers of ten on a short axis."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter, NullLocator

    if math.log10(high) - math.log10(low) >= 2:
        axis.set_major_locator(LogLocator(numticks=7))
        axis.set_minor_locator(LogLocator(subs="auto", numticks=7))
        axis.set_minor_formatter(NullFormatter())
    else:
        axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        axis.set_minor_locator(NullLocator())
        axis.set_major_formatter(FuncFormatter(lambda value, _: plain(value)))


def plain(value: float, most: float = 1e5) -> str:
    """Return a number as readable text: ``2,000`` or ``0.05``; with a power of ten below 0.001 and from ``most`` on."""
    if value <= 0:
        return f"-{plain(-value, most)}" if value else "0"
    if 1e-3 <= value < most:
        return f"{value:,.10g}"
    exponent = math.floor(math.log10(value) + 1e-9)
    mantissa = f"{float(Decimal(value).scaleb(-exponent)):.3g}"  # the power of ten may be below the range of a double
    power = f"10$^{{{exponent}}}$"
    return power if mantissa == "1" else f"{mantissa}·{power}"
