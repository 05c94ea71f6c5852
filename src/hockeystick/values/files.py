"""Files that are written whole or not at all, and keep what is theirs: mode, owner, links.

The content goes into a temporary file beside the file, which then takes the place of it in one step: a reader sees the
old content or the new one, never a part, and so does whoever comes after a power cut.
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
"""Characters of a file's name that its temporary file repeats: of four bytes each, they leave room for the rest of the
name within the 255 bytes that file systems allow."""


def write_text(path: str | Path, text: str) -> None:
    """Write a file in UTF-8; see :func:`write_bytes`.

    Raises:
        InvalidInputError: a place that cannot be written.
    """
    write_bytes(path, text.encode())


def write_bytes(path: str | Path, content: bytes) -> None:
    """Write a file, whole or not at all: an existing file is replaced in one step.

    A new file has the mode that the umask gives it. An existing one keeps its mode, and its owner and group where the
    system permits it; whoever could not read it before cannot read it after. A symbolic link is followed. A file with
    several names (hard links) is written in place, so that all its names show the new content: that is the one write
    that is not done in one step, and if it fails the old content is put back. What an earlier write to the same name
    left behind because it was killed is removed.

    Raises:
        InvalidInputError: a place that cannot be written, a read-only file among them.
    """
    try:
        _write(Path(os.path.realpath(path)), content)
    except (OSError, ValueError, TypeError) as error:
        raise InvalidInputError(f"{place(path)}: cannot be written: {cause(error)}") from None


def cause(error: OSError | ValueError | TypeError) -> str:
    """Why a file could not be read or written, in words that begin small and without the file's name."""
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
"""Flags of ``os.open`` for a file that must not exist yet: bytes as they are, closed in programs that are started."""


def _take_after(temporary: Path, old: os.stat_result) -> None:
    """Give the new file the owner, the group and the mode of the old one, as far as the system permits it.

    Where the group cannot be kept, the members of another group get no more than all others have.
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
    """Write over a file, and put the old content back where that fails: it has room, as nothing was cut off before."""
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
    """Beginning of the names of the temporary files of a file; the number of the process that writes follows."""
    import hashlib  # late, as the next: whoever reads a file does not need them
    import platform

    machine = hashlib.blake2b(platform.node().encode(errors="replace"), digest_size=4).hexdigest()
    return f".{path.name[:NAME_KEPT]}.{machine}-"


def _remove_strays(path: Path) -> None:
    """Remove the temporary files of writes to this name whose process, on this machine, is no more: they were killed.

    Of a process on another machine, which may share the folder, nothing is known; its files stay.
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
