"""The picture of a plan in the gallery: its privacy curve, with the certified end and what its source claims."""

from __future__ import annotations

import math

from demo import Comparison

from hockeystick.report.document import chart
from hockeystick.report.document.chart import Axis, Chart
from hockeystick.report.document.curves import delta_points
from hockeystick.report.rounding import exact, round_up
from pictures.drawing import WIDTH, Charted, Note

LEAST = 1e-300  # delta of the deepest point that is drawn, whose logarithm is that of a normal double
LETTER_WIDTH = 7.5  # of letters 13 high, at most, on average over a few words
BESIDE = 9.0  # between the middle of a mark and the words beside it


def privacy_curve(found: Comparison) -> Charted | None:
    """Delta against epsilon, with the certified end marked, and the claim where there is one; none where delta is 0."""
    if not found.delta > 0:
        return None
    points = delta_points(found.plan, found.delta, found.bound)
    upper = [(at["epsilon"], at["upper"]) for at in points if at.get("upper") and at["upper"] > LEAST]
    if len(upper) < 2:
        return None
    claim = found.published
    said = f"claimed: {found.claimed}"
    above = claim is not None and claim > found.bound.upper
    widest = max(upper[-1][0], claim / _room(said) if claim is not None and above else 0.0)
    top = 10.0 ** math.ceil(math.log10(upper[0][1]))
    least = 10.0 ** math.floor(math.log10(min(upper[-1][1], found.delta)))
    end = round_up(found.bound.upper, 3)
    drawn = Chart(
        "curve",
        f"Privacy curve of {found.name}: delta against epsilon",
        f"A falling curve on a logarithmic axis. At delta {exact(found.delta)}, the curve is at epsilon {end}"
        + ("." if claim is None else f", and the claim is {found.claimed}."),
        Axis("\u03b5", 0.0, widest),
        Axis("\u03b4", least, top, logarithmic=True),
        upper,
        mark=((found.bound.upper, found.delta), f"\u03b5 \u2264 {end}"),
    )
    # The curve falls through the mark, so that the side away from it is the right for a claim above and the left below.
    beside, anchor = ((BESIDE, 5.0), "start") if above else ((-BESIDE, 5.0), "end")
    note = None if claim is None else Note((claim, found.delta), said, beside, anchor)
    return Charted(
        drawn, "The certified pairs of epsilon and delta. All of them hold for the plan at the same time.", note
    )


def _room(said: str) -> float:
    """The share of the axis at which words may begin that are to end within the drawing."""
    return (WIDTH - chart.LEFT - BESIDE - LETTER_WIDTH * len(said)) / (WIDTH - chart.LEFT - chart.RIGHT)
