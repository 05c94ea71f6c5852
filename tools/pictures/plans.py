"""The picture of a plan in the gallery: its privacy curve, with the certified end and what its source claims."""

from __future__ import annotations

import math

from demo import Comparison

from hockeystick.report.document.chart import Axis, Chart
from hockeystick.report.document.curves import delta_points
from hockeystick.report.rounding import exact, round_up
from pictures.drawing import WIDTH, Charted, Note

LEAST = 1e-300  # delta of the deepest point that is drawn, whose logarithm is that of a normal double
LETTER_WIDTH = 7.5  # of letters 13 high, at most, on average over a few words


def privacy_curve(found: Comparison) -> Charted | None:
    """Delta against epsilon, with the certified end marked, and the claim where there is one; none where delta is 0."""
    if not found.delta > 0:
        return None
    points = delta_points(found.plan, found.delta, found.bound)
    upper = [(at["epsilon"], at["upper"]) for at in points if at.get("upper") and at["upper"] > LEAST]
    if len(upper) < 2:
        return None
    claim = found.published
    widest = max(upper[-1][0], 0.0 if claim is None else 1.05 * claim)
    top = 10.0 ** math.ceil(math.log10(upper[0][1]))
    least = 10.0 ** math.floor(math.log10(min(upper[-1][1], found.delta)))
    end = round_up(found.bound.upper, 3)
    chart = Chart(
        "curve",
        f"Delta against epsilon of {found.name}",
        f"A falling curve on a logarithmic axis; at delta {exact(found.delta)} it is at epsilon {end}"
        + ("." if claim is None else f", and the claim is {found.claimed}."),
        Axis("\u03b5", 0.0, widest),
        Axis("\u03b4", least, top, logarithmic=True),
        upper,
        mark=((found.bound.upper, found.delta), f"\u03b5 \u2264 {end}"),
    )
    note = None if claim is None else _noted(chart, (claim, found.delta), f"claimed: {found.claimed}")
    return Charted(chart, "All pairs of epsilon and delta that hold for the plan at once, certified.", note)


def _noted(chart: Chart, point: tuple[float, float], said: str) -> Note:
    """The claim with its words on the side that is away from the curve, which falls to the right through the mark."""
    assert chart.mark is not None
    if point[0] <= chart.mark[0][0]:
        return Note(point, said, (-9, 5))
    if chart._place(point)[0] + 9 + LETTER_WIDTH * len(said) <= WIDTH:
        return Note(point, said, (9, 5), "start")
    return Note(point, said, (18, -10))
