"""Charts of a report, from its record: the privacy curve, attacks, and epsilon over the steps."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from hockeystick.report.document.blocks import Figure
from hockeystick.report.document.chart import Axis, Chart, Point
from hockeystick.report.rounding import QUOTED_DIGITS, exact, round_down, round_up
from hockeystick.values.domains import LEAST_DELTA


def figures(record: Mapping[str, Any]) -> list[Figure]:
    """Return the figures for which the record has points."""
    made = [_delta(record), _trade_off(record), _steps(record)]
    return [figure for figure in made if figure is not None]


def _ends(points: Sequence[Mapping[str, Any]], x: str, end: str) -> list[Point]:
    """Points of the curve of lower or of upper bounds, without infinite values; none if the record lacks the curve."""
    return [(at[x], at[end]) for at in points if at.get(end) is not None]


def _delta(record: Mapping[str, Any]) -> Figure | None:
    points, first = record["curves"]["delta"], record["epsilon"][0]
    upper = [at for at in _ends(points, "epsilon", "upper") if at[1] > 0]
    if len(upper) < 2:
        return None
    lower = [at for at in _ends(points, "epsilon", "lower") if at[1] > 0]
    least = max(min(at[1] for at in upper), LEAST_DELTA)
    floor = 10.0 ** math.floor(math.log10(least))
    top = 10.0 ** math.ceil(math.log10(max(at[1] for at in upper)))
    mark = None
    if first["upper"] is not None and first["upper"] <= upper[-1][0]:
        quoted = round_up(first["upper"], QUOTED_DIGITS)
        mark = ((first["upper"], first["delta"]), f"\u03b5 \u2264 {quoted} at \u03b4 = {exact(first['delta'])}")
    chart = Chart(
        "privacy-curve",
        "Delta against epsilon",
        f"A falling curve from delta {round_up(upper[0][1], 3)} at epsilon {exact(upper[0][0])} to delta "
        f"{round_up(upper[-1][1], 3)} at epsilon {round_up(upper[-1][0], 3)}, on a logarithmic vertical axis.",
        Axis("\u03b5", 0.0, points[-1]["epsilon"]),
        Axis("\u03b4", floor, max(top, 10 * floor), logarithmic=True),
        upper,
        lower,
        mark=mark,
    )
    return Figure(
        chart, "All pairs of epsilon and delta on the upper curve hold at the same time. The headline is one of them."
    )


def _trade_off(record: Mapping[str, Any]) -> Figure | None:
    points = record["curves"]["trade_off"]
    if not points:
        return None
    least = points[0]["fpr"]
    upper, lower = _ends(points, "fpr", "upper"), _ends(points, "fpr", "lower")
    middle = upper[len(upper) // 2]  # its rate is rounded down, since the bound on the other rate grows with it
    chart = Chart(
        "attack-curve",
        "True-positive rate of the best attack, plotted against its false-positive rate",
        f"A rising curve above the dashed line of guessing: {round_up(upper[0][1], 3)} at a false-positive rate of "
        f"{exact(least)}, {round_up(middle[1], 3)} at {round_down(middle[0], 3)}, 1 at 1; both axes are logarithmic.",
        Axis("false-positive rate", least, 1.0, logarithmic=True),
        Axis("true-positive rate, at most", least, 1.0, logarithmic=True),
        upper,
        lower,
        guide=[(at["fpr"], at["fpr"]) for at in points],
        guide_label="guessing",
    )
    return Figure(
        chart,
        "The share of members that the best attack recognises, against the share of outsiders that it wrongly accuses. "
        "The closer the curve is to the dashed line, the safer the plan is.",
    )


def _steps(record: Mapping[str, Any]) -> Figure | None:
    points, delta = record["curves"]["steps"], record["asked"]["delta"]
    upper, lower = _ends(points, "rounds", "upper"), _ends(points, "rounds", "lower")
    if len(upper) < 2 or upper[-1][1] <= 0:
        return None
    chart = Chart(
        "steps-curve",
        "Epsilon against the number of steps",
        f"A rising curve: epsilon {round_up(upper[0][1], 3)} after step {upper[0][0]:,}, "
        f"{round_up(upper[-1][1], 3)} after step {upper[-1][0]:,}, at delta {exact(delta)}.",
        Axis("steps", 0.0, float(upper[-1][0])),
        Axis(f"\u03b5 at \u03b4 = {exact(delta)}", 0.0, upper[-1][1]),
        upper,
        lower,
    )
    ended = "that ends earlier" if len(record["plan"]["round"]) == 1 else "with the same share of every kind of round"
    return Figure(chart, f"The curve shows epsilon, at the same delta, for a computation {ended}.")
