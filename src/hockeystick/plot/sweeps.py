"""Figures of a sweep: its answers over two parameters of the grid as a heat map, and its Pareto front."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from hockeystick.plot.draw import plain, set_log_ticks, thousands
from hockeystick.plot.files import blank
from hockeystick.plot.shown import figure_by_name, literal
from hockeystick.plot.style import BLACK, BLUE, GREY
from hockeystick.questions.sweeps.table import CERTAIN, GRADIENTS, NOISE, Sweep
from hockeystick.report.rounding import round_up
from hockeystick.values.domains import listed, shown
from hockeystick.values.errors import InvalidInputError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Array = npt.NDArray[np.float64]

WIDTH, HEIGHT = 4.6, 3.2  # size of a figure in inches, with labels and colour bar

COLOURS = "cividis_r"
"""Dark for much privacy loss or noise; distinct for colour-blind readers, and in grey."""

NUMBERED = 12  # fields of the map show their numbers if each axis has at most this many values

DIGITS = 3  # significant digits of such a number, rounded up

TICKS = 8  # largest number of ticks of an axis, and of labels of a front

DECADES = 1.5  # colours are logarithmic if the numbers span at least this many decades

LABELS = {
    "check_in": "check-in",
    "epsilon": "$\\varepsilon$",
    "delta": "$\\delta$",
    "mu": "$\\mu$",
    NOISE: "noise per coordinate (clipping norms)",
    GRADIENTS: "total gradients computed",
}
"""Names of columns on axes, where these are not the words of the column."""


def heat_map(
    sweep: Sweep,
    x: str | None = None,
    y: str | None = None,
    *,
    at: Mapping[str, float] | None = None,
    title: str = "",
    width: float = WIDTH,
    height: float = HEIGHT,
) -> Figure:
    """Draw a sweep's upper ends or calibrated values as colours over two axes of its grid.

    Few fields show their numbers; many get contour lines at round numbers. Points without an answer are crossed out.

    Args:
        sweep: sweep of two parameters or more.
        x: parameter of the first axis; by default the first of the grid with several values.
        y: parameter of the second axis.
        at: value of each further parameter.
        title: above the axes.
        width: of the figure, in inches.
        height: of the figure, in inches.

    Raises:
        InvalidInputError: two parameters with several values, the value of a further one, or all answers are missing.
        HockeystickError: matplotlib is missing.

    >>> import hockeystick as hs
    >>> plan = hs.dp_sgd(1.0, 0.01, 1000, delta=1e-5)
    >>> figure = heat_map(hs.sweep(plan, {"noise_multiplier": [1, 2], "steps": [10, 20]}))  # doctest: +SKIP
    """
    _check(sweep)
    across, up = _axes(sweep, x, y)
    values = _field(sweep, across, up, at or {})
    if not np.isfinite(values).any():
        raise InvalidInputError("no point of the heat map has a finite answer", "sweep")
    with blank(width, height) as figure:
        axes = figure.add_subplot()
        axes.grid(visible=False)
        _draw_map(figure, axes, sweep, values)
        for axis, name in ((axes.xaxis, across), (axes.yaxis, up)):
            values_of = sweep.axes[name]
            marked = _few(len(values_of))
            axis.set_ticks(marked, [_value(float(values_of[place])) for place in marked])
            axis.set_label_text(_label(name))
        axes.set_title(literal(title), pad=4)
    return figure


def pareto(
    sweep: Sweep,
    at_most: float | None = None,
    least_steps: float = 0,
    *,
    title: str = "",
    width: float = WIDTH,
    height: float = HEIGHT,
) -> Figure:
    """Draw noise per coordinate of the averaged gradient against the number of gradients, with the Pareto front.

    Every eligible row is a dot; rows that no other row beats in both quantities are joined by a line and labelled.

    Args:
        sweep: sweep of a plan whose batches have a size, with a target or with ``at_most``.
        at_most: largest epsilon (or other answer) of an eligible row.
        least_steps: smallest number of steps of an eligible row.
        title: above the axes.
        width: of the figure, in inches.
        height: of the figure, in inches.

    Raises:
        InvalidInputError: in the cases of :meth:`hockeystick.Sweep.pareto`.
        HockeystickError: matplotlib is missing.
    """
    _check(sweep)
    front = sweep.pareto(at_most, least_steps).columns
    rows = [sweep.rows[place] for place in sweep.choices(at_most, least_steps)]
    with blank(width, height) as figure:
        axes = figure.add_subplot()
        axes.set(xscale="log", yscale="log", xlabel=LABELS[GRADIENTS], ylabel=LABELS[NOISE])
        axes.plot([row[GRADIENTS] for row in rows], [row[NOISE] for row in rows], "o", color=GREY, markersize=2.6)
        axes.plot(front[GRADIENTS], front[NOISE], "o-", color=BLUE, markersize=4.2, zorder=3)
        axes.set_title(literal(title), pad=4)
        axes.margins(x=0.36, y=0.14)  # leaves room for labels on the left, where no row is better
        for axis in (axes.xaxis, axes.yaxis):
            set_log_ticks(axis, *axis.get_view_interval())
        names = [name for name, values in sweep.axes.items() if len(values) > 1]
        for place in _few(len(front[NOISE])):
            said = ", ".join(f"{_label(name)} {front[name][place]:,g}" for name in names)
            axes.annotate(
                said, (front[GRADIENTS][place], front[NOISE][place]), xytext=(-5, -5), textcoords="offset points",
                ha="right", va="top", fontsize=6.5, zorder=4,
            )  # fmt: skip
    return figure


FIGURES: dict[str, Callable[..., Any]] = {"heat_map": heat_map, "pareto": pareto}
"""Figures by the names that ``Sweep.plot`` accepts."""


def swept(kind: str, sweep: Sweep, **options: Any) -> Figure:
    """Draw a figure of a sweep by name, for ``Sweep.plot``.

    Raises:
        InvalidInputError: the name or an option is unknown, or the figure refuses its arguments.
        HockeystickError: matplotlib is missing.
    """
    return figure_by_name(FIGURES, kind, (sweep,), options)


def _label(column: str) -> str:
    """Name of a column on an axis."""
    return LABELS.get(column, column.replace("_", " "))


def _check(sweep: object) -> None:
    if not isinstance(sweep, Sweep):
        raise InvalidInputError(f"sweep must be a result of hs.sweep; received {shown(sweep)}", "sweep")


def _axes(sweep: Sweep, x: str | None, y: str | None) -> tuple[str, str]:
    """Names of the two axes of a map.

    Raises:
        InvalidInputError: the axes are not two parameters of the grid.
    """
    several = [name for name, values in sweep.axes.items() if len(values) > 1]
    for key, name in (("x", x), ("y", y)):
        if name is not None and name not in several:
            raise InvalidInputError(
                f"{key} must be a parameter of the grid with several values ({listed(several)})", key
            )
    left = (name for name in several if name not in (x, y))
    across, up = x or next(left, None), y or next(left, None)
    if across is None or up is None or across == up:
        raise InvalidInputError(
            f"a heat map needs two parameters with several values each; this grid has {listed(several) or 'none'}",
            "x",
        )
    return across, up


def _field(sweep: Sweep, across: str, up: str, at: Mapping[str, float]) -> Array:
    """Numbers shown in the fields, by rows; ``nan`` for a missing answer."""
    others = {name: values for name, values in sweep.axes.items() if name not in (across, up)}
    for name in at:
        if name not in others:
            raise InvalidInputError(f"at: {shown(name)} is not a further parameter of the grid", "at")
    for name, values in others.items():
        if at.get(name, values[0] if len(values) == 1 else None) not in values:
            raise InvalidInputError(
                f"at: give the {name} of the heat map, such as at={{{name!r}: {values[0]!r}}}; received "
                f"{shown(at.get(name))}",
                "at",
            )
    fixed = {name: at.get(name, values[0]) for name, values in others.items()}
    column = sweep.calibrated or "upper"
    columns, rows = sweep.axes[across], sweep.axes[up]
    found = np.full((len(rows), len(columns)), np.nan)
    if len(sweep) != math.prod(len(values) for values in sweep.axes.values()):
        raise InvalidInputError("a heat map needs all rows of a sweep; received some of them", "sweep")
    for row in sweep.rows:
        if row["guarantee"] in CERTAIN and all(row[name] == value for name, value in fixed.items()):
            found[rows.index(row[up]), columns.index(row[across])] = row[column]
    return found


def _draw_map(figure: Figure, axes: Axes, sweep: Sweep, values: Array) -> None:
    """Draw fields of equal size in the order of the grid, crossed out if there is no finite number."""
    from matplotlib.colors import LogNorm, Normalize
    from matplotlib.patheffects import withStroke
    from matplotlib.ticker import LogLocator, MaxNLocator

    finite = values[np.isfinite(values)]
    low, high = float(finite.min()), float(finite.max())
    logarithmic = low > 0 and math.log10(high / low) > DECADES
    norm = LogNorm(low, high) if logarithmic else Normalize(low, high if high > low else low + 1)
    shown_values = np.where(np.isfinite(values), values, np.nan)
    places = [np.arange(many) for many in reversed(values.shape)]  # the middles of the fields, by columns and by rows
    image = axes.pcolormesh(*places, shown_values, cmap=COLOURS, norm=norm, rasterized=True)
    for row, column in np.argwhere(~np.isfinite(values)):
        axes.plot([column], [row], "x", color=GREY, markersize=4)
    if max(values.shape) <= NUMBERED:
        for (row, column), value in np.ndenumerate(values):
            if math.isfinite(value):
                dark = float(norm(value)) > 0.5
                said = round_up(float(value), DIGITS)
                axes.text(
                    column, row, said, ha="center", va="center", fontsize=6.5,
                    color="white" if dark else BLACK,
                )  # fmt: skip
    elif min(values.shape) > 2 and high > low:
        round_numbers = LogLocator(subs=(1, 2, 5)) if logarithmic else MaxNLocator(6, steps=[1, 2, 2.5, 5, 10])
        lines = axes.contour(*places, shown_values, locator=round_numbers, colors="white", linewidths=0.9)
        edge: list[Any] = [withStroke(linewidth=1.8, foreground="0.2")]
        lines.set_path_effects(edge)
        for text in axes.clabel(lines, fmt=plain, fontsize=6.5):
            text.set_path_effects(edge)
    bar = figure.colorbar(image, ax=axes, pad=0.02)
    bar.outline.set_linewidth(0.4)
    if logarithmic:
        set_log_ticks(bar.ax.yaxis, low, high)
    named = sweep.calibrated or sweep.quantity
    bar.set_label(_label(named) + ("" if sweep.calibrated else ", upper end"))


def _value(value: float) -> str:
    """Value of the grid as a tick, rounded to three digits unless it is a whole number."""
    return thousands(value, value) if value.is_integer() else plain(float(f"{value:.3g}"))


def _few(many: int) -> range:
    """At most ``TICKS`` of the indices below ``many``, evenly spread from the first on."""
    return range(0, many, math.ceil(many / TICKS))
