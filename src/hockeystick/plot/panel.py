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
        x: points of the first axis.
        y: answers; ``nan`` or ``inf`` makes a gap in the line.
        lower: lower ends at the same points, if the method has any.
        style: name of the style (``plot/style.py``); the label if empty.
        note: reason why part or all of the line is not drawn; may be empty.
        failed: True if the method raised an unexpected exception at some point.
    """

    label: str
    x: Sequence[float]
    y: Sequence[float]
    lower: Sequence[float] | None = None
    style: str = ""
    note: str = ""
    failed: bool = False

    @property
    def answered(self) -> bool:
        """True if any part of the line can be drawn."""
        return any(math.isfinite(value) for value in self.y)


@dataclass(frozen=True)
class Bracket:
    """A certified interval at each place: ``lower <= truth <= upper``.

    Attributes:
        label: label in the legend.
        x: points of the first axis.
        lower: certified lower ends.
        upper: certified upper ends.
    """

    x: Sequence[float]
    lower: Sequence[float]
    upper: Sequence[float]
    label: str = BRACKET


@dataclass(frozen=True)
class Mark:
    """Quoted point with its label.

    Attributes:
        x: place on the first axis.
        y: place on the second axis.
        text: label beside it.
    """

    x: float
    y: float
    text: str


@dataclass(frozen=True)
class Panel:
    """Pair of axes with its content.

    Attributes:
        xlabel: label of the first axis, with its unit.
        ylabel: label of the second axis, with its unit.
        lines: lines in drawing order.
        bracket: certified interval, drawn over the lines.
        xscale: ``"linear"`` or ``"log"``.
        yscale: ``"linear"`` or ``"log"``.
        xlim: range of the first axis; ``None`` for the range of the data.
        ylim: range of the second axis; an end that is ``None`` is that of the data.
        title: title above the axes.
        square: True if units are equally long on both axes.
        marks: True if each computed point has a mark.
        whole: True if the first axis has whole numbers only.
        rising: True if lines rise, so that the free space for a mark's text is on its left.
        points: quoted points, marked over everything else; those outside the axes are left out.
        guides: lines with which slopes are compared, thin and grey under everything, labelled at their last points.
    """

    xlabel: str
    ylabel: str
    lines: Sequence[Line] = ()
    bracket: Bracket | None = None
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
