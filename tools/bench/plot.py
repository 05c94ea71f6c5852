"""Time against true error, one mark for each answer: ``plot.py data.json figure.svg``.

It runs in an environment of its own, with matplotlib and without the rest of this package.
"""

from __future__ import annotations

import json
import statistics
import sys
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

WIDTH, HEIGHT = 3.6, 4.0  # inches: a column
FLOOR = 1e-12  # smaller errors are drawn here

STYLES = {
    "hockeystick": ("#000000", "o"),
    "dp-accounting PLD": ("#0072B2", "s"),
    "dp-accounting RDP": ("#56B4E9", "D"),
    "prv-accountant": ("#D55E00", "^"),
    "opacus PRV": ("#E69F00", "v"),
    "opacus RDP": ("#F0E442", "P"),
    "fourier-accountant": ("#009E73", "X"),
    "fourier-accountant, nx 4e6": ("#CC79A7", "*"),
}
"""Colours of Okabe and Ito, which colour-blind readers tell apart; the marks tell them apart in grey."""


def main() -> None:
    """Read, draw, write."""
    data, target = Path(sys.argv[1]), Path(sys.argv[2])
    results = json.loads(data.read_text(encoding="utf-8"))
    mpl.rcParams.update({"font.size": 7.5, "svg.hashsalt": "hockeystick", "svg.fonttype": "path"})
    figure = Figure(figsize=(WIDTH, HEIGHT), layout="constrained")
    draw(figure.add_subplot(), results)
    figure.savefig(target, metadata={"Date": None} if target.suffix == ".svg" else None, dpi=200)


def points(results: dict[str, Any], label: str) -> list[tuple[float, float]]:
    """``(seconds, true error)`` of every case that was answered."""
    cells = [case["hockeystick"] if label == "hockeystick" else case["cells"].get(label) for case in results["cases"]]
    return [
        (cell["seconds"], max(cell["error"], FLOOR))
        for cell in cells
        if cell is not None and cell["outcome"] == "answered"
    ]


def draw(axes: Axes, results: dict[str, Any]) -> None:
    """Small marks for the cases, a large one at each accountant's medians."""
    for label in ["hockeystick", *results["routes"]]:
        found = points(results, label)
        if not found:
            continue
        colour, mark = STYLES[label]
        x, y = zip(*found, strict=True)
        axes.scatter(x, y, s=11, c=colour, marker=mark, alpha=0.65, linewidths=0.2, edgecolors="black", zorder=2)
        middle = (statistics.median(x), statistics.median(y))
        axes.scatter(
            *middle,
            s=60,
            c=colour,
            marker=mark,
            linewidths=0.8,
            edgecolors="black",
            zorder=3,
            label=f"{label} ({len(found)})",
        )
    axes.set(xscale="log", yscale="log", xlabel="time of one question (seconds)", ylabel="relative true error")
    axes.grid(visible=True, which="major", linewidth=0.3, color="0.85")
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    figure: Any = axes.get_figure()
    figure.legend(
        loc="outside lower center",
        ncols=2,
        frameon=False,
        title="accountant (answers)",
        handletextpad=0.1,
        columnspacing=1.0,
    )


if __name__ == "__main__":
    main()
