"""One training under every sampling scheme: an interval of epsilon for each, one below the other."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from hockeystick.plot.draw import plain
from hockeystick.plot.files import blank
from hockeystick.plot.style import BLACK, BLUE, GREY
from hockeystick.report.rounding import round_down, round_up
from hockeystick.values.errors import InvalidInputError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from hockeystick.questions.samplings import Sampled
    from hockeystick.values.bounds import Bound

WIDTH, ROW, MARGIN = 6.6, 0.3, 0.75  # in inches: width of the figure, height of a scheme's row, height of the axis
NARROW = 1.02  # ratio of the ends below which an interval is shown as a point
AXIS_MARGIN = 4.0  # end of the axis relative to the largest number, with room for that number's label
DECADES = 4.0  # longest span of the axis below the largest end; lower ends further down are cut
DIGITS = 3  # significant digits of an end, rounded outward


def samplings_figure(rows: Sequence[Sampled], delta: float) -> Figure:
    """Draw the certified ends of epsilon under each scheme on a logarithmic axis; without ends, the reason.

    Args:
        rows: result of :func:`hockeystick.samplings`.
        delta: delta of all epsilons, for the label.

    Raises:
        InvalidInputError: no scheme has a finite, positive epsilon.
        HockeystickError: matplotlib is missing.
    """
    shown = [row.epsilon for row in rows if row.epsilon is not None and _drawable(row.epsilon)]
    if not shown:
        raise InvalidInputError("no sampling scheme has a finite epsilon above 0 for this plan", "plan")
    most = max(epsilon.upper for epsilon in shown)
    least = max(min(epsilon.lower or epsilon.upper for epsilon in shown), most / 10**DECADES)
    with blank(WIDTH, MARGIN + ROW * len(rows)) as figure:
        axes = figure.add_subplot()
        axes.set_xscale("log")
        axes.set_xlim(0.6 * least, AXIS_MARGIN * most)
        axes.set_ylim(len(rows) - 0.4, -0.6)
        axes.set_yticks(range(len(rows)), [row.scheme.name for row in rows])
        axes.set_xlabel(f"$\\varepsilon$ at $\\delta$ = {plain(delta)}, between certified ends")
        axes.grid(visible=False, axis="y")
        for place, row in enumerate(rows):
            _row(axes, place, row, 0.6 * least)
    return figure


def _drawable(epsilon: Bound) -> bool:
    return 0 < epsilon.upper < math.inf


def _row(axes: Axes, place: int, row: Sampled, edge: float) -> None:
    """Draw the interval of one scheme with its two numbers, or the reason why there is none."""
    epsilon = row.epsilon
    if epsilon is None or not _drawable(epsilon):
        reason = "its keys do not follow from the plan" if row.plan is None else "nothing is proven"
        if epsilon is not None:
            reason = f"epsilon = {epsilon.upper:g}"
        axes.text(edge * 1.08, place, reason, va="center", color=GREY, fontsize=7)
        return
    lower, upper = epsilon.lower, epsilon.upper
    end = max(upper, edge)  # an interval decades below the others shows its numbers at the edge
    if lower > 0 and upper <= NARROW * lower:
        axes.plot([end], [place], "o", color=BLACK)
        text = round_up(upper, DIGITS)
    else:
        axes.plot([max(lower, edge), end], [place, place], "-", color=BLUE, linewidth=3.5, solid_capstyle="butt")
        axes.plot([end], [place], "|", color=BLACK, markersize=8)
        text = f"{round_down(lower, DIGITS)} to {round_up(upper, DIGITS)}"
    axes.text(end * 1.12, place, text, va="center", fontsize=7)
