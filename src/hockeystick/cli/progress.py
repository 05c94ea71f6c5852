"""Progress messages on a terminal."""

from __future__ import annotations

import sys
import time
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


@contextmanager
def bar(text: str) -> Iterator[Callable[[int, int], None]]:
    """Context manager that shows a progress bar on standard error, if that is a terminal, while its block runs.

    The block receives a function, to be called with the work done so far and the total work.
    """
    begun = time.monotonic()

    def told(done: int, of: int) -> None:
        left = (time.monotonic() - begun) * (of - done) / done if done else None
        say(f"{text}: {done} of {of}" + ("" if left is None else f", {left:,.0f} s left"))

    with progress(text) as say:
        yield told
