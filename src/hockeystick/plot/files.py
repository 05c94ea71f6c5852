"""Empty figures to draw on, and atomic writing of figures in the format of the file's suffix.

The same data give the same bytes.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hockeystick.plot.style import SETTINGS
from hockeystick.values.domains import place, shown
from hockeystick.values.errors import InvalidInputError
from hockeystick.values.files import write_bytes
from hockeystick.values.needed import need

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NO_DATES: dict[str, dict[str, Any]] = {
    ".svg": {"Date": None, "Creator": "hockeystick"},
    ".png": {"Software": "hockeystick"},
    ".pdf": {"CreationDate": None, "Creator": "hockeystick", "Producer": None},
}
"""Metadata by the suffix of a figure's file; None removes what matplotlib would write by itself, such as the time."""

DOTS = 144  # dots per inch in notebooks: twice those of an ordinary screen, for high-resolution screens


@contextmanager
def blank(width: float, height: float) -> Iterator[Figure]:
    """Context manager that provides an empty figure and lays it out at the end of the block.

    matplotlib's global figures and settings stay unchanged.

    Args:
        width: width in inches.
        height: height in inches.

    Raises:
        HockeystickError: matplotlib is missing.
    """
    need_matplotlib()
    import matplotlib as mpl
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    def picture() -> bytes:
        buffer = io.BytesIO()
        with mpl.rc_context(SETTINGS):
            figure.savefig(buffer, format="png", dpi=DOTS)
        return buffer.getvalue()

    with mpl.rc_context(SETTINGS):
        figure = Figure(figsize=(width, height), layout="constrained")
        FigureCanvasAgg(figure)
        figure._repr_png_ = picture  # type: ignore[attr-defined]  # by which a notebook shows the figure
        yield figure
        figure.canvas.draw()


def need_matplotlib() -> None:
    """Raise an error before any computation if matplotlib is missing.

    Raises:
        HockeystickError: matplotlib is missing.
    """
    need("a figure", {"matplotlib": "matplotlib"}, "plot")


def checked_ending(path: str | Path) -> str:
    """Return the suffix of a path, after checking that figures can be written in that format.

    Raises:
        InvalidInputError: figures cannot be written with this suffix.
    """
    try:
        ending = Path(path).suffix.lower()
    except TypeError:
        raise InvalidInputError(f"the path of a figure must be a string or a Path; received {shown(path)}") from None
    if ending not in NO_DATES:
        raise InvalidInputError(
            f"{place(path)}: the name of a figure must end in {', '.join(NO_DATES)}; received "
            f"{shown(ending or 'no ending')}"
        )
    return ending


def save(figure: Figure, path: str | Path) -> None:
    """Write a figure in the format of the file's suffix; an existing file is replaced atomically.

    Raises:
        InvalidInputError: figures cannot be written with this suffix, or the file cannot be written.
    """
    import matplotlib as mpl

    ending = checked_ending(path)
    content = io.BytesIO()
    with mpl.rc_context(SETTINGS):  # some settings take effect on writing
        figure.savefig(content, format=ending.removeprefix("."), metadata=NO_DATES[ending])
    write_bytes(path, content.getvalue())
