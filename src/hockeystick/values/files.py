"""Atomic writing of files; a file that is replaced keeps its mode.

The content is first written to a temporary file in the same folder. The temporary file then replaces the target in one
step. A reader sees either the old content or the new one, never a part, even after a power failure.
"""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

from hockeystick.values.domains import place
from hockeystick.values.errors import InvalidInputError


def write_text(path: str | Path, text: str) -> None:
    """Write a file in UTF-8; see :func:`write_bytes`.

    Raises:
        InvalidInputError: the path cannot be written.
    """
    write_bytes(path, text.encode())


def write_bytes(path: str | Path, content: bytes) -> None:
    """Write a file completely or not at all; an existing file is replaced in one step.

    A new file gets the mode that the umask allows, and an existing one keeps its mode. A symbolic link is followed.

    Raises:
        InvalidInputError: the path cannot be written, for example because the file is read-only.
    """
    try:
        _write(Path(os.path.realpath(path)), content)
    except (OSError, ValueError, TypeError) as error:
        raise InvalidInputError(f"{place(path)}: cannot be written: {cause(error)}") from None


def cause(error: OSError | ValueError | TypeError) -> str:
    """Return the reason why a file could not be read or written, starting in lower case and without the file's name."""
    reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return place(reason[:1].lower() + reason[1:])


def _write(path: Path, content: bytes) -> None:
    kept = _mode(path)

    def private(name: str, flags: int) -> int:
        """Open the temporary file.

        If it will replace a file, nobody else may read it until it has the mode of that file.
        """
        return os.open(name, flags, 0o666 if kept is None else 0o600)  # the umask removes some of these bits

    temporary = path.with_name(f".{os.urandom(8).hex()}.tmp")
    try:
        with open(temporary, "xb", opener=private) as file:  # Path.open has no parameter opener
            file.write(content)
            if kept is not None:
                temporary.chmod(kept)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def _mode(path: Path) -> int | None:
    """Return the permissions of a file that may be replaced; ``None`` if there is no file.

    Raises:
        OSError: the path is a directory, or cannot be examined.
        ValueError: the path is a device, a pipe, a socket or a read-only file.
    """
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        return None
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    if not stat.S_ISREG(mode):
        raise ValueError("this is a device, a pipe or a socket; give a file name")
    if not mode & 0o222 or not os.access(path, os.W_OK):  # the first test also applies to root, who may write any file
        raise ValueError("the file is read-only; make it writable or give another name")
    return mode & 0o777
