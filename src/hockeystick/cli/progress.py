"""A sign of life on a terminal, for work that takes longer than a second."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID
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


class _Bar:
    """A bar that appears once it is told of work that has taken a while, and is redrawn when it is told again."""

    def __init__(self, text: str) -> None:
        self._text, self._begun = text, time.monotonic()
        self._shown: Progress | None = None
        self._task: TaskID | None = None

    def tell(self, done: int, of: int) -> None:
        """Show how much is done, of how much."""
        if self._shown is None:
            if time.monotonic() - self._begun < PATIENCE or done >= of:
                return
            from rich.console import Console
            from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

            columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn()
            self._shown = Progress(*columns, console=Console(stderr=True), transient=True)
            self._task = self._shown.add_task(self._text, total=of, completed=done)
            self._shown.start()
        elif self._task is not None:
            self._shown.update(self._task, completed=done)

    def stop(self) -> None:
        """Take the bar away."""
        if self._shown is not None:
            self._shown.stop()


@contextmanager
def bar(text: str) -> Iterator[Callable[[int, int], None]]:
    """A progress bar on standard error while the block runs; nothing if it is short or standard error is no terminal.

    The block gets a function that is told how much is done, of how much.
    """
    if sys.stderr is None or not sys.stderr.isatty():
        yield lambda done, of: None
        return
    shown = _Bar(text)
    try:
        yield shown.tell
    finally:
        shown.stop()
