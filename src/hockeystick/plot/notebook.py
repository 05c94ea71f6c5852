"""Figures that notebooks show by themselves, whether or not pyplot has been imported there."""

from __future__ import annotations

import io
from functools import cache
from typing import TYPE_CHECKING

from hockeystick.plot.style import SETTINGS

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DOTS = 144  # per inch: twice as many as a screen of the usual kind has, for those that have more


@cache
def figure_class() -> type[Figure]:
    """The figures of matplotlib, with what notebooks ask of anything that they show; made once matplotlib is there."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    class NotebookFigure(Figure):
        """A figure of matplotlib that shows itself as a picture."""

        def _repr_png_(self) -> bytes:
            buffer = io.BytesIO()
            with mpl.rc_context(SETTINGS):
                self.savefig(buffer, format="png", dpi=DOTS)
            return buffer.getvalue()

    return NotebookFigure
