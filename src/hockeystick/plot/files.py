"""Figures as files: SVG, PNG or PDF by the ending, whole or not at all, and the same bytes from the same data."""

from __future__ import annotations

import importlib
import io
import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hockeystick.domains import one_line
from hockeystick.errors import HockeystickError, InvalidInputError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MISSING = "a figure needs matplotlib; install it with: pip install 'hockeystick[plot]'"
ENDINGS = (".svg", ".png", ".pdf")

NO_DATES: dict[str, dict[str, Any]] = {
    ".svg": {"Date": None, "Creator": "hockeystick"},
    ".png": {"Software": "hockeystick"},
    ".pdf": {"CreationDate": None, "Creator": "hockeystick", "Producer": None},
}


def need_matplotlib() -> None:
    """Refuse where matplotlib is missing, before anything is computed.

    Raises:
        HockeystickError: it is.
    """
    try:
        importlib.import_module("matplotlib")
    except ImportError:
        raise HockeystickError(MISSING) from None


def checked_ending(path: str | Path) -> str:
    """The ending of a file that a figure can be written to.

    Raises:
        InvalidInputError: another ending.
    """
    ending = Path(path).suffix.lower()
    if ending not in ENDINGS:
        raise InvalidInputError(
            f"{one_line(str(path))}: a figure's file ends in {', '.join(ENDINGS)}; received {ending or 'no ending'!r}"
        )
    return ending


def save(figure: Figure, path: str | Path) -> None:
    """Write a figure; an existing file is replaced in one step.

    Raises:
        InvalidInputError: another ending, or a place that cannot be written.
    """
    ending = checked_ending(path)
    content = io.BytesIO()
    figure.savefig(content, format=ending.removeprefix("."), metadata=NO_DATES[ending])
    write_whole(path, content.getvalue())


def write_whole(path: str | Path, content: bytes) -> None:
    """Write a file whole or not at all.

    Raises:
        InvalidInputError: a place that cannot be written.
    """
    target = Path(path)
    try:
        handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
        try:
            with os.fdopen(handle, "wb") as stream:
                stream.write(content)
            Path(name).chmod(0o666 & ~_umask())
            Path(name).replace(target)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise
    except OSError as error:
        raise InvalidInputError(f"{one_line(str(path))}: cannot be written: {error.strerror}") from None


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
