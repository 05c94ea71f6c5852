"""Progress messages on a terminal."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

CLEARED = "\r\x1b[K"  # escape sequence that clears the line


@contextmanager
def progress(text: str) -> Iterator[Callable[[str], None]]:
    """Context manager that shows ``text`` on standard error, if that is a terminal, while its block runs.

    The block receives a function that changes the text.
    """
    screen = sys.stderr
    if screen is None or not screen.isatty():
        yield lambda text: None
        return
    from hockeystick.report.tables import line_width

    def say(text: str) -> None:
        screen.write(CLEARED + f"{text} ..."[: line_width() - 1])
        screen.flush()

    say(text)
    try:
        yield say
    finally:
        screen.write(CLEARED)
        screen.flush()
