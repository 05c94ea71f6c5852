"""A sign of life on a terminal, for work that takes longer than a second."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

PATIENCE = 1.0
"""Seconds of work before anything is shown."""

CLEARED = "\r\x1b[K"  # back to the beginning of the line, which is then empty


class _Line:
    """One line on standard error that replaces itself, from the end of :data:`PATIENCE` until it is taken away."""

    def __init__(self, text: str) -> None:
        self._text, self._shown, self._stopped = text, False, False
        self._lock = threading.Lock()
        self._timer = threading.Timer(PATIENCE, self._appear)
        self._timer.daemon = True
        self._timer.start()

    def _appear(self) -> None:
        with self._lock:
            self._shown = not self._stopped
            self._write(self._text)

    def _write(self, text: str) -> None:
        if self._shown:
            from hockeystick.report.tables import line_width

            sys.stderr.write(CLEARED + text[: line_width() - 1])
            sys.stderr.flush()

    def say(self, text: str) -> None:
        """Replace the text, also before it has appeared."""
        with self._lock:
            self._text = text
            self._write(text)

    def stop(self) -> None:
        """Take the line away; nothing is shown afterwards."""
        self._timer.cancel()
        with self._lock:
            self._write("")
            self._shown, self._stopped = False, True


@contextmanager
def progress(text: str) -> Iterator[Callable[[str], None]]:
    """Show ``text`` on standard error while the block runs; nothing if it is short or standard error is no terminal.

    The block gets a function that changes the text.
    """
    if sys.stderr is None or not sys.stderr.isatty():
        yield lambda text: None
        return
    line = _Line(f"{text} ...")
    try:
        yield lambda text: line.say(f"{text} ...")
    finally:
        line.stop()


@contextmanager
def bar(text: str) -> Iterator[Callable[[int, int], None]]:
    """Show how far the work of a block is, on standard error; nothing if it is short or that is no terminal.

    The block gets a function of how much is done, and of how much there is.
    """
    begun = time.monotonic()

    def told(done: int, of: int) -> None:
        left = (time.monotonic() - begun) * (of - done) / done if done else None
        say(f"{text}: {done} of {of}" + ("" if left is None else f", {left:,.0f} s left"))

    with progress(text) as say:
        yield told
