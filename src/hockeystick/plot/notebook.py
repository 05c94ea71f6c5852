"""Figures that notebooks show by themselves, even if pyplot has not been imported."""

from __future__ import annotations

import io
from functools import cache
from typing import TYPE_CHECKING

from hockeystick.plot.style import SETTINGS

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DOTS = 144  # per inch: twice those of an ordinary screen, for finer ones


@cache
def figure_class() -> type[Figure]:
    """Return the figure class with the methods that notebooks call, made once matplotlib is imported."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    class NotebookFigure(Figure):
        """Matplotlib figure that notebooks show as a picture."""

        def _repr_png_(self) -> bytes:
            buffer = io.BytesIO()
            with mpl.rc_context(SETTINGS):
                self.savefig(buffer, format="png", dpi=DOTS)
            return buffer.getvalue()

    return NotebookFigure
