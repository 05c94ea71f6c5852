"""An everyday sweep and growth over kinds and steps: ``everyday_plot.py data.json figure.svg``.

It runs in an environment of its own, with matplotlib and without the rest of this package.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

WIDTH, HEIGHT = 6.4, 3.2  # inches: two columns
OURS, THEIRS = "#000000", "#0072B2"  # of Okabe and Ito, which colour-blind readers tell apart; that of the first plot
SERIES = {
    "kinds": ("o", "-", "one question, kinds"),
    "different": ("^", "--", "asked after each, another noise each"),
    "alike": ("s", ":", "asked after each, one noise"),
}


def main() -> None:
    """Read, draw, write."""
    data, target = Path(sys.argv[1]), Path(sys.argv[2])
    found = json.loads(data.read_text(encoding="utf-8"))["everyday"]
    mpl.rcParams.update({"font.size": 7.5, "svg.hashsalt": "hockeystick", "svg.fonttype": "path"})
    figure = Figure(figsize=(WIDTH, HEIGHT), layout="constrained")
    left, right = figure.subplots(1, 2)
    draw_sweep(left, found["sweep"])
    draw_growth(right, found["schedules"])
    figure.savefig(target, metadata={"Date": None} if target.suffix == ".svg" else None, dpi=200)


def draw_sweep(axes: Axes, found: dict[str, Any]) -> None:
    """Share of the plans that are answered within a time: one by one, and what a plan takes of one call."""
    each = [cell for cell in found["each"] if cell["ours"]["error"] is None and cell["theirs"]["error"] is None]
    for key, label, colour in (("ours", "hockeystick, one by one", OURS), ("theirs", "dp-accounting PLD", THEIRS)):
        seconds = sorted(cell[key]["seconds"] for cell in each)
        shares = [(number + 1) / len(seconds) for number in range(len(seconds))]
        axes.step(seconds, shares, where="post", color=colour, linewidth=1.2, label=label)
    together = found["sizes"][-1]
    label = f"hockeystick, {together['plans']:,} in one call"
    axes.axvline(together["asking"], color=OURS, linestyle="--", linewidth=1.0, label=label)
    axes.set(xscale="log", xlabel="processor time a plan (seconds)", ylabel="share of the plans", ylim=(0, 1.02))
    _finish(axes)


def draw_growth(axes: Axes, found: dict[str, Any]) -> None:
    """Time against kinds of rounds, and against steps with a question after each."""
    for key, (mark, line, label) in SERIES.items():
        for who, colour in (("ours", OURS), ("theirs", THEIRS)):
            cells = [cell for cell in found[key] if cell[who] is not None and cell[who]["error"] is None]
            axes.plot(
                [cell["size"] for cell in cells],
                [cell[who]["seconds"] for cell in cells],
                color=colour,
                marker=mark,
                markersize=3.5,
                linestyle=line,
                linewidth=1.0,
                label=label if who == "ours" else f"{label}: dp-accounting PLD",
            )
    axes.set(xscale="log", yscale="log", xlabel="kinds of rounds, or steps", ylabel="processor time (seconds)")
    _finish(axes)


def _finish(axes: Axes) -> None:
    axes.grid(visible=True, which="major", linewidth=0.3, color="0.85")
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.2), frameon=False, ncols=1, fontsize=6.5)


if __name__ == "__main__":
    main()
