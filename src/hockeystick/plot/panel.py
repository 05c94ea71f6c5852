"""Content of a figure, independent of its drawing: panels of lines and certified bands."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

Scale = Literal["linear", "log"]

BRACKET = "certified bracket"  # label and style of the band between two certified ends


@dataclass(frozen=True)
class Line:
    """Line through the answers of one method.

    Attributes:
        label: label in the legend.
        x: positions on the horizontal axis.
        y: answers; ``nan`` or ``inf`` makes a gap in the line.
        lower: lower bounds at the same positions, if the method has any.
        style: name of the style (``plot/style.py``); if it is empty, the label is used.
    """

    label: str
    x: Sequence[float]
    y: Sequence[float]
    lower: Sequence[float] | None = None
    style: str = ""

    @property
    def answered(self) -> bool:
        """True if any part of the line can be drawn."""
        return any(math.isfinite(value) for value in self.y)


@dataclass(frozen=True)
class Mark:
    """Mark at a point to quote, with a label.

    Attributes:
        x: position on the horizontal axis.
        y: position on the vertical axis.
        text: label beside the mark.
    """

    x: float
    y: float
    text: str


@dataclass(frozen=True)
class Panel:
    """Pair of axes with its content.

    Attributes:
        xlabel: label of the horizontal axis, with its unit.
        ylabel: label of the vertical axis, with its unit.
        lines: lines in drawing order.
        bracket: line of certified upper bounds with its lower bounds, drawn as a band over the lines.
        xscale: ``"linear"`` or ``"log"``.
        yscale: ``"linear"`` or ``"log"``.
        xlim: range of the horizontal axis; ``None`` for the range of the data.
        ylim: range of the vertical axis; ``None`` instead of a limit stands for the limit of the data.
        title: title above the axes.
        square: True if units are equally long on both axes.
        marks: True if each computed point has a mark.
        whole: True if the horizontal axis has whole numbers only.
        rising: True if the lines rise; the text of a mark then stands on its left, where there is space.
        points: marks of points to quote, drawn over everything else; a point outside the axes has no mark.
        guides: thin grey lines under everything else, labelled at their last points, for comparison of slopes.
    """

    xlabel: str
    ylabel: str
    lines: Sequence[Line] = ()
    bracket: Line | None = None
    xscale: Scale = "linear"
    yscale: Scale = "linear"
    xlim: tuple[float, float] | None = None
    ylim: tuple[float | None, float | None] = (None, None)
    title: str = ""
    square: bool = False
    marks: bool = True
    whole: bool = False
    rising: bool = False
    points: Sequence[Mark] = ()
    guides: Sequence[Line] = ()
