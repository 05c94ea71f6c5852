"""The picture of the front page: how near to the truth each accountant is, and how long it takes, by the benchmark."""

from __future__ import annotations

import json
import math
import statistics
from pathlib import Path

from pictures.drawing import BLUE, GREY, GRID, INK, RED, Picture, dot, line, text

DATA = Path(__file__).parents[2] / "docs" / "_static" / "benchmark.json"
"""The last whole run of the benchmark."""

LEFT, RIGHT, TOP, BOTTOM = 62, 466, 16, 262  # of the axes
FASTEST, SLOWEST = -3.0, 1.3  # decades of seconds
CLOSEST, FARTHEST = -9.0, 0.5  # decades of the relative error


BESIDE = {
    "opacus RDP": (9, 17, "start"),
    "dp-accounting RDP": (9, -1, "start"),
    "dp-accounting PLD": (-9, 5, "end"),
    "opacus PRV": (-9, 10, "end"),
    "fourier-accountant, nx 4e6": (8, 20, "end"),
}
"""Where the words stand whose neighbours would be under them: from the mark, and at which end."""


def medians() -> dict[str, tuple[float, float]]:
    """Seconds and relative true error of each accountant, medians over what it answered."""
    results = json.loads(DATA.read_text(encoding="utf-8"))
    found = {}
    for label in ["hockeystick", *results["routes"]]:
        cells = [
            case["hockeystick"] if label == "hockeystick" else case["cells"].get(label) for case in results["cases"]
        ]
        answered = [cell for cell in cells if cell is not None and cell["outcome"] == "answered"]
        seconds, error = (statistics.median(cell[key] for cell in answered) for key in ("seconds", "error"))
        found[label] = seconds, error
    return found


def answers() -> tuple[int, int]:
    """How many questions there are, and how many this library answered."""
    cases = json.loads(DATA.read_text(encoding="utf-8"))["cases"]
    return len(cases), sum(case["hockeystick"]["outcome"] == "answered" for case in cases)


def benchmark() -> Picture:
    """Time against error, one mark for each accountant."""

    def place(seconds: float, error: float) -> tuple[float, float]:
        across = (math.log10(seconds) - FASTEST) / (SLOWEST - FASTEST)
        up = (math.log10(error) - CLOSEST) / (FARTHEST - CLOSEST)
        return LEFT + across * (RIGHT - LEFT), BOTTOM - up * (BOTTOM - TOP)

    parts = []
    for power, said in ((-3, "1 ms"), (-2, "10 ms"), (-1, "0.1 s"), (0, "1 s"), (1, "10 s")):
        x = place(10.0**power, 1.0)[0]
        parts += [line([(x, TOP), (x, BOTTOM)], GRID, 1), text(x, BOTTOM + 18, said, "middle")]
    for power, said in ((-8, "1e-8"), (-6, "1e-6"), (-4, "1e-4"), (-2, "1 %"), (0, "100 %")):
        y = place(1.0, 10.0**power)[1]
        parts += [line([(LEFT, y), (RIGHT, y)], GRID, 1), text(LEFT - 6, y + 4.5, said, "end")]
    parts.append(line([(LEFT, TOP), (LEFT, BOTTOM), (RIGHT, BOTTOM)], INK, 1))
    found = medians()
    for label, (seconds, error) in found.items():
        x, y = place(seconds, error)
        ours = label == "hockeystick"
        parts.append(dot(x, y, 6.5 if ours else 4.5, RED if ours else BLUE))
        right, down, anchor = BESIDE.get(label, (10, 5, "start"))
        parts.append(text(x + right, y + down, label, anchor, RED if ours else INK, 14 if ours else 12))
    parts += [text(0.5 * (LEFT + RIGHT), BOTTOM + 38, "time of one question", "middle", GREY)]
    parts.append(
        f'<text x="14" y="{(TOP + BOTTOM) / 2:g}" text-anchor="middle" fill="{GREY}" '
        f'transform="rotate(-90 14 {(TOP + BOTTOM) / 2:g})">distance from the truth</text>'
    )
    told = "; ".join(f"{label} {seconds:.2g} s and {error:.1g}" for label, (seconds, error) in found.items())
    asked, answered = answers()
    return Picture(
        "benchmark",
        "Time per question and relative error of each accountant",
        f"Marks on two logarithmic axes; the lower left is best. Medians of time and relative error: {told}.",
        f"Medians over {asked} questions whose true answers are known to 18 digits. An accountant nearer the lower "
        f"left is better. hockeystick answered {answered} of the questions, each with a proven interval.",
        parts,
        306,
    )


PICTURES = {"benchmark": benchmark}
"""The picture of the front page, by name."""
