"""Atomic writing of files, which keep their mode, owner and links.

The content goes into a temporary file beside the file, which then replaces it in one step: a reader sees the old
content or the new one, never a part, even after a power failure.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from pathlib import Path

from hockeystick.values.domains import place
from hockeystick.values.errors import InvalidInputError

NAME_KEPT = 50
"""Number of characters of a file's name that its temporary file repeats: at four bytes each, they leave room for the
rest of the name within the 255 bytes that file systems allow."""


def write_text(path: str | Path, text: str) -> None:
    """Write a file in UTF-8; see :func:`write_bytes`.

    Raises:
        InvalidInputError: the place cannot be written.
    """
    write_bytes(path, text.encode())


def write_bytes(path: str | Path, content: bytes) -> None:
    """Write a file completely or not at all; an existing file is replaced in one step.

    A new file gets the mode that the umask allows. An existing one keeps its mode, and its owner and group if the
    system permits; users who could not read it before cannot read it afterwards. A symbolic link is followed. A file
    with several names (hard links) is written in place, so that all its names show the new content: this is the only
    write that takes more than one step, and if it fails the old content is restored. Temporary files that killed writes
    to the same name left behind are removed.

    Raises:
        InvalidInputError: the place cannot be written, for example a read-only file.
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
    try:
        old = path.stat()
    except FileNotFoundError:
        old = None
    if old is not None:
        if stat.S_ISDIR(old.st_mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        if not stat.S_ISREG(old.st_mode):
            raise ValueError("this is a device, a pipe or a socket; give a file name")
        if not old.st_mode & 0o222 or not os.access(path, os.W_OK):  # the first also for root, who may write anything
            raise ValueError("the file is read-only; make it writable or give another name")
    _remove_strays(path)
    if old is not None and old.st_nlink > 1:
        _write_in_place(path, content)
    else:
        _replace(path, content, old)


def _replace(path: Path, content: bytes, old: os.stat_result | None) -> None:
    temporary = path.with_name(f"{_prefix(path)}{os.getpid()}-{os.urandom(8).hex()}.tmp")
    try:
        descriptor = os.open(temporary, _NEW, 0o666 if old is None else 0o600)  # less the umask
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            if old is not None:
                _take_after(temporary, old)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)
"""Flags of ``os.open`` for a file that must not exist yet: binary, and closed in child processes."""


def _take_after(temporary: Path, old: os.stat_result) -> None:
    """Give the new file the owner, the group and the mode of the old one, as far as the system permits.

    If the group cannot be kept, members of the new group get no more permissions than everybody has.
    """
    mode = stat.S_IMODE(old.st_mode) & 0o777
    new = temporary.stat()
    if hasattr(os, "chown") and (new.st_uid, new.st_gid) != (old.st_uid, old.st_gid):
        for owner in (old.st_uid, -1):
            with contextlib.suppress(OSError):
                os.chown(temporary, owner, old.st_gid)
                break
        else:
            mode &= 0o707 | (mode & 0o007) << 3
    temporary.chmod(mode)


def _write_in_place(path: Path, content: bytes) -> None:
    """Overwrite a file, and restore the old content on failure.

    Restoring needs no more room, since the file is not truncated until all of the new content is written.
    """
    with path.open("r+b") as file:
        old = file.read()
        try:
            _overwrite(file.fileno(), content)
        except BaseException:
            _overwrite(file.fileno(), old)
            raise


def _overwrite(descriptor: int, content: bytes) -> None:
    os.lseek(descriptor, 0, os.SEEK_SET)
    left = memoryview(content)
    while left:
        left = left[os.write(descriptor, left) :]
    os.ftruncate(descriptor, len(content))
    os.fsync(descriptor)


def _prefix(path: Path) -> str:
    """Return the beginning of the names of a file's temporary files; the id of the writing process follows."""
    import hashlib  # late, as the next: whoever reads a file does not need them
    import platform

    machine = hashlib.blake2b(platform.node().encode(errors="replace"), digest_size=4).hexdigest()
    return f".{path.name[:NAME_KEPT]}.{machine}-"


def _remove_strays(path: Path) -> None:
    """Remove temporary files of killed writes to this name: those whose process on this machine no longer exists.

    Nothing is known about processes on other machines, which may share the folder; their files stay.
    """
    if os.name != "posix":  # elsewhere a process cannot be asked for without ending it
        return
    prefix = _prefix(path)
    with contextlib.suppress(OSError), os.scandir(path.parent) as entries:
        strays = [entry.path for entry in entries if entry.name.startswith(prefix) and entry.name.endswith(".tmp")]
        for stray in strays:
            number = Path(stray).name.removeprefix(prefix).partition("-")[0]
            if number.isdecimal() and not _runs(int(number)):
                Path(stray).unlink(missing_ok=True)


def _runs(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):  # it runs, under another user; or it is no number of a process
        return True
    return True
