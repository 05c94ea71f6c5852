"""What a figure shows, without a word about how it is drawn: panels of lines and of certified bands."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

Scale = Literal["linear", "log"]

BRACKET = "certified bracket"  # label of the band between two certified ends, and its style


@dataclass(frozen=True)
class Line:
    """The answers of one method, drawn as a line.

    Attributes:
        label: as the legend calls it.
        x: where it was asked.
        y: what it answered; ``nan`` or ``inf`` where it has no answer, and the line has a gap there.
        lower: its lower end at the same places, where the method has one.
        style: name of the style (``plot/style.py``); the label if empty.
        note: why nothing of it is drawn, or not all of it; empty if there is nothing to say.
        failed: whether the method raised what it should not have, somewhere.
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
        """Whether anything of it can be drawn."""
        return any(math.isfinite(value) for value in self.y)


@dataclass(frozen=True)
class Bracket:
    """A certified interval at each place: ``lower <= truth <= upper``.

    Attributes:
        label: as the legend calls it.
        x: where.
        lower: certified lower ends.
        upper: certified upper ends.
    """

    x: Sequence[float]
    lower: Sequence[float]
    upper: Sequence[float]
    label: str = BRACKET


@dataclass(frozen=True)
class Mark:
    """A point that is quoted, with what is said of it beside it.

    Attributes:
        x: where, on the first axis.
        y: where, on the second.
        text: beside it.
    """

    x: float
    y: float
    text: str


@dataclass(frozen=True)
class Panel:
    """A pair of axes with what is drawn on it.

    Attributes:
        xlabel: with its unit.
        ylabel: with its unit.
        lines: methods, drawn in this order.
        bracket: the certified interval, drawn over them.
        xscale: ``"log"`` where it spans decades.
        yscale: the same of the other axis.
        xlim: range of the first axis, or the data's.
        ylim: range of the second; ``None`` for an end leaves it to the data.
        title: above the axes.
        square: whether a unit is as long on both axes.
        marks: whether each place that was asked has a mark.
        whole: whether the first axis counts something, so that only whole numbers are on it.
        rising: whether lines rise, so that there is room to the left of a mark, and not to the right.
        points: what is quoted, marked over everything else; those that the axes do not reach are left out.
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
