"""Progress messages on a terminal, for work that takes longer than a second."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

PATIENCE = 1.0
"""Seconds of work before anything is shown."""

CLEARED = "\r\x1b[K"  # escape sequence that clears the line


class _Line:
    """Line on standard error that replaces itself, shown once :data:`PATIENCE` has passed."""

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
        """Replace the text, even before it is shown."""
        with self._lock:
            self._text = text
            self._write(text)

    def stop(self) -> None:
        """Remove the line for good."""
        self._timer.cancel()
        with self._lock:
            self._write("")
            self._shown, self._stopped = False, True


@contextmanager
def progress(text: str) -> Iterator[Callable[[str], None]]:
    """Show ``text`` on standard error while the block runs, unless that is short or standard error is no terminal.

    The block receives a function that changes the text.
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
    """Show a progress bar on standard error while the block runs, unless that is short or no terminal is there.

    The block receives a function to call with the work done and the total work.
    """
    begun = time.monotonic()

    def told(done: int, of: int) -> None:
        left = (time.monotonic() - begun) * (of - done) / done if done else None
        say(f"{text}: {done} of {of}" + ("" if left is None else f", {left:,.0f} s left"))

    with progress(text) as say:
        yield told
