"""A sign of life on a terminal, for work that takes longer than a second."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.status import Status

PATIENCE = 1.0
"""Seconds of work before anything is shown."""


class _Spinner:
    """A status line that a timer starts and its owner stops, in either order."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._status: Status | None = None
        self._stopped = False
        self._lock = threading.Lock()

    def start(self) -> None:
        from rich.console import Console
        from rich.status import Status

        with self._lock:
            if not self._stopped:
                self._status = Status(self._text, console=Console(stderr=True))
                self._status.start()

    def say(self, text: str) -> None:
        """Replace the text beside the spinner, also before it has appeared."""
        with self._lock:
            self._text = text
            if self._status is not None:
                self._status.update(text)

    def stop(self) -> None:
        with self._lock:
            self._stopped = True
            if self._status is not None:
                self._status.stop()


@contextmanager
def progress(text: str) -> Iterator[Callable[[str], None]]:
    """Show ``text`` on standard error while the block runs; nothing if it is short or standard error is no terminal.

    The block gets a function that changes the text.
    """
    if sys.stderr is None or not sys.stderr.isatty():
        yield lambda text: None
        return
    spinner = _Spinner(text)
    timer = threading.Timer(PATIENCE, spinner.start)
    timer.daemon = True
    timer.start()
    try:
        yield spinner.say
    finally:
        timer.cancel()
        spinner.stop()
