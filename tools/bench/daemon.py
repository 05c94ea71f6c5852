"""Spark's daemon for Python workers, which waits for those that end, so that their processor time is not lost.

The daemon of PySpark ignores the ends of its workers, and the system then counts their time for nobody.
"""

from __future__ import annotations

import os
import signal
from typing import Any

import pyspark.daemon


def reap(*_: Any) -> None:
    """Wait for the workers that have ended."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        return  # there are no others


def handled(number: int, handler: Any) -> Any:
    """Set what a signal does; the end of a worker is waited for where it were ignored."""
    return given(number, reap if (number, handler) == (signal.SIGCHLD, signal.SIG_IGN) else handler)


if __name__ == "__main__":
    given, signal.signal = signal.signal, handled  # type: ignore[assignment]
    pyspark.daemon.manager()
