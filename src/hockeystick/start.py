"""Ctrl-C while the command starts: most of its start is imports, and an interrupt there ends it without a traceback.

This module is imported before all others of the package, and imports nothing but what Python has loaded anyway. In a
program that only uses the library it does nothing.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from types import FrameType

PROGRAM = "hockeystick"
"""Name of the command and of the package that ``python -m`` runs."""

INTERRUPTED = 130
"""The status of a command that was interrupted, as a shell has it: 128 and the number of the signal."""

UNREAD = 141
"""The status of a command whose output nobody reads to its end, as in ``hockeystick compare | head -1``: that of a
program that SIGPIPE has ended, as grep and git are, so that a script tells it from a failure."""


def is_command(arguments: Sequence[str], original: Sequence[str]) -> bool:
    """True if these are the arguments of the command, or of ``python -m hockeystick``.

    Args:
        arguments: ``sys.argv``.
        original: ``sys.orig_argv``, which has the interpreter and its options too.

    >>> is_command(["/usr/bin/hockeystick", "epsilon"], ["python3", "/usr/bin/hockeystick", "epsilon"])
    True
    >>> is_command(["-m", "epsilon"], ["python3", "-I", "-m", "hockeystick", "epsilon"])
    True
    >>> is_command(["train.py"], ["python3", "train.py", "-m", "hockeystick"])
    False
    """
    first = arguments[0] if arguments else ""
    if first == "-m":
        return "-m" in original and original[original.index("-m") + 1] == PROGRAM
    return os.path.basename(first).removesuffix(".exe") == PROGRAM  # noqa: PTH119  # pathlib would have to be imported


def _leave(number: int, frame: FrameType | None) -> None:
    """Leave at once: nothing was written yet, and an exception could be caught by whatever is being imported."""
    os._exit(INTERRUPTED)


def begin() -> None:
    """Let Ctrl-C leave at once from now on; not where somebody else has decided what it does (``nohup``, a test)."""
    import signal  # late, as below: a program that only uses the library never asks for it

    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _leave)


def end() -> None:
    """Let Ctrl-C be a KeyboardInterrupt again from now on, so that files are closed and temporary ones removed."""
    import signal

    if signal.getsignal(signal.SIGINT) is _leave:
        signal.signal(signal.SIGINT, signal.default_int_handler)


COMMAND = is_command(sys.argv, sys.orig_argv)
"""True if this program is the command, not one that uses the library."""

if COMMAND:
    begin()
