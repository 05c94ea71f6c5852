"""The journal of a sweep's answers so far, so that a kill or a power cut neither loses nor repeats work.

The journal lies beside the output. Its first line identifies the sweep. Every other line holds the rows of one job in
full precision, and is written, flushed and synced to disk before the next job counts as done. Each line begins with a
checksum of the rest. A truncated line, which can only be the last, is thus detected and dropped, and its rows are
computed again. Once all answers exist, they are written atomically, and the journal is removed.
"""

from __future__ import annotations

import contextlib
import json
import os
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any

from hockeystick.questions.sweeps.rows import Row
from hockeystick.values.domains import place
from hockeystick.values.errors import InvalidInputError
from hockeystick.values.files import cause, write_bytes

ENDING = ".journal"  # suffix appended to the output's name

KIND = "hockeystick sweep"  # mark of a journal's first line

MOST_HEADER = 4096
"""Longest first line in bytes: a file without a line end in them is no journal."""


class Journal:
    """Journal of one sweep, open for writing and locked against other processes.

    Attributes:
        rows: answers found in it, by the number of their point.

    Args:
        output: output file of the sweep.
        sweep: checksum of template, grid, question and version.
        points: number of points of the sweep.
        fresh: True to discard an existing journal.

    Raises:
        InvalidInputError: the file is the journal of another sweep, no journal, damaged, locked by another process, or
            cannot be written.
    """

    def __init__(self, output: str | Path, sweep: str, points: int, fresh: bool = False) -> None:
        self.path = Path(f"{output}{ENDING}")
        self.rows: dict[int, Row] = {}
        self._points = points
        header = {"journal": KIND, "sweep": sweep, "points": points}
        try:
            if fresh or not self.path.exists():
                write_bytes(self.path, _line(header))
            self._file: IO[bytes] = self.path.open("r+b")
        except OSError as error:
            raise InvalidInputError(f"{place(self.path)}: cannot be written: {cause(error)}") from None
        try:
            self._lock()
            self._read(header)
        except BaseException:
            self._file.close()
            raise

    def add(self, start: int, rows: Sequence[Row]) -> None:
        """Append the rows of one job; they are on disk when this returns."""
        self._file.write(_line({"at": start, "rows": rows}))
        self._file.flush()
        os.fsync(self._file.fileno())

    def close(self) -> None:
        """Close and unlock the journal, which stays on disk."""
        self._file.close()

    def remove(self) -> None:
        """Remove the journal of a sweep whose answers have been written."""
        self.path.unlink(missing_ok=True)
        self._file.close()

    def _lock(self) -> None:
        """Lock the file until it is closed or the process ends; no lock without fcntl.

        Raises:
            InvalidInputError: another process has locked it.
        """
        try:
            import fcntl
        except ImportError:  # Windows, where an open file cannot be replaced
            return
        with contextlib.suppress(FileNotFoundError):
            try:
                fcntl.flock(self._file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                pass
            else:
                if os.path.samestat(os.fstat(self._file.fileno()), self.path.stat()):
                    return
        raise InvalidInputError(f"{place(self.path)}: another process writes this sweep; wait for it, or end it")

    def _read(self, header: dict[str, Any]) -> None:
        """Read the existing lines, and cut off an incomplete last line.

        Raises:
            InvalidInputError: the file is another sweep's, no journal, or damaged before its last line.
        """
        first = self._file.readline(MOST_HEADER)
        found = _read(first)
        if found is None or found.get("journal") != KIND:
            raise InvalidInputError(f"{place(self.path)}: it is no journal of a sweep; move it away, or begin {ANEW}")
        if found != header:
            raise InvalidInputError(
                f"{place(self.path)}: it is the journal of another sweep (plan, grid, question or version differ); "
                f"give another output, or begin {ANEW}"
            )
        whole = len(first)
        for line in self._file:
            found = _read(line)
            if found is None:
                if self._file.read(1):
                    raise InvalidInputError(f"{place(self.path)}: it is damaged, not only at its end; begin {ANEW}")
                break
            whole += len(line)
            self.rows |= {found["at"] + number: Row(*row) for number, row in enumerate(found["rows"])}
        if not self.rows.keys() <= set(range(self._points)):
            raise InvalidInputError(f"{place(self.path)}: it has rows of no point; begin {ANEW}")
        self._file.seek(whole)
        self._file.truncate()


ANEW = "anew with fresh=True (--fresh)"  # remedy for an unusable journal


def _line(content: dict[str, Any]) -> bytes:
    """Content as a line: the checksum of the rest, a blank, JSON; numbers as the shortest text of the double."""
    text = json.dumps(content, separators=(",", ":")).encode()
    return b"%08x %s\n" % (zlib.crc32(text), text)


def _read(line: bytes) -> dict[str, Any] | None:
    """Content of a line; ``None`` if it is incomplete or changed.

    >>> _read(_line({"at": 0, "rows": [[0.1]]})), _read(_line({"at": 0})[:-1])
    ({'at': 0, 'rows': [[0.1]]}, None)
    """
    checksum, _, text = line.removesuffix(b"\n").partition(b" ")
    if not line.endswith(b"\n") or checksum != b"%08x" % zlib.crc32(text):
        return None
    content: dict[str, Any] = json.loads(text)
    return content
