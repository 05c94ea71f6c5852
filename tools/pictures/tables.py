"""The picture of a table's error: how far its ends are from epsilon, between two knots and at them."""

from __future__ import annotations

import numpy as np

import hockeystick as hs
from pictures.drawing import BLUE, GREY, GRID, INK, RED, Picture, line, text

LEFT, RIGHT, TOP, BOTTOM = 62, 450, 16, 222  # of the axes
FIRST, LAST, STEP = 5000, 5600, 4  # numbers of rounds that are drawn
MOST = 1.0  # per cent, at both ends of the vertical axis
NOISE, RATE, DELTA = 1.0, 0.01, 1e-6  # what does not change


def error() -> Picture:
    """Both ends of a table along its fine axis, relative to epsilon, in per cent."""
    table = hs.Table(NOISE, RATE, [1000, 10_000], DELTA, accuracy=0.01)
    rounds = np.arange(FIRST, LAST + 1, STEP)
    found = table.epsilons(rounds=rounds)
    plans = [hs.dp_sgd(NOISE, RATE, int(many)) for many in rounds]
    true = hs.epsilons(plans, DELTA)
    above, below = (100 * (ends / true.estimate - 1) for ends in (found.upper, found.lower))

    def place(many: float, percent: float) -> tuple[float, float]:
        across, up = (many - FIRST) / (LAST - FIRST), 0.5 * (percent / MOST + 1)
        return LEFT + across * (RIGHT - LEFT), BOTTOM - up * (BOTTOM - TOP)

    parts = []
    for percent in (-1.0, -0.5, 0.0, 0.5, 1.0):
        y = place(FIRST, percent)[1]
        said = f"{percent:+.1f} %" if percent else "0 %"
        parts += [line([(LEFT, y), (RIGHT, y)], GRID, 1), text(LEFT - 6, y + 4.5, said, "end")]
    for many in range(FIRST, LAST + 1, 200):
        parts.append(text(place(many, 0)[0], BOTTOM + 18, str(many), "middle"))
    parts.append(line([(LEFT, TOP), (LEFT, BOTTOM), (RIGHT, BOTTOM)], INK, 1))
    for ends, colour, said, percent in ((above, RED, "upper end", 0.78), (below, BLUE, "lower end", -0.88)):
        points = [place(many, end) for many, end in zip(rounds.tolist(), ends.tolist(), strict=True)]
        parts.append(line(points, colour))
        parts.append(text(RIGHT, place(FIRST, percent)[1], said, "end", colour))
    parts.append(text(0.5 * (LEFT + RIGHT), BOTTOM + 38, "rounds", "middle", GREY))
    return Picture(
        "table-error",
        "How far both ends of a table are from epsilon",
        f"Two saw-toothed lines around 0: the upper end is at most {above.max():.2f} % above, the lower one at most "
        f"{-below.min():.2f} % below, and at each knot both touch 0.",
        "Both ends of the table relative to epsilon, along its fine axis: at a knot both are epsilon, between two "
        "knots they are together less than 1 % apart.",
        parts,
        266,
    )


PICTURES = {"table-error": error}
"""The picture of the page on tables, by name."""
