"""What a sweep has answered so far, kept so that a kill or a power cut loses nothing and repeats nothing.

The journal stands beside the output. Its first line says of which sweep it is; every other line holds the rows of one
job, in full precision, and is written, flushed and handed to the disk before the next job counts as done. Each line
begins with the checksum of what follows, so that a line that was cut off, which can only be the last, is known and
dropped: its rows are asked again. The answers themselves are written whole, in one step, once all are there; then the
journal is removed.
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

ENDING = ".journal"  # of the name, after that of the output

KIND = "hockeystick sweep"  # by which the first line of a journal is known

MOST_HEADER = 4096
"""Bytes of the first line, at most: a file without a line end in so many is no journal."""


class Journal:
    """The journal of one sweep, open for writing, of which no other process has hold.

    Attributes:
        rows: what was found in it: answers by the number of their point.

    Args:
        output: the file of which this is the journal.
        sweep: the checksum of template, grid, question and version.
        points: how many points the sweep has.
        fresh: whether what another sweep has left is thrown away.

    Raises:
        InvalidInputError: a journal of another sweep, what is no journal or is damaged, one that another process
            writes, or a place that cannot be written.
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
        """Keep the rows of one job: when this returns they outlast the process and the machine."""
        self._file.write(_line({"at": start, "rows": rows}))
        self._file.flush()
        os.fsync(self._file.fileno())

    def close(self) -> None:
        """Let go of the journal, which stays where it is."""
        self._file.close()

    def remove(self) -> None:
        """Remove the journal of a sweep whose answers have been written."""
        self.path.unlink(missing_ok=True)
        self._file.close()

    def _lock(self) -> None:
        """Take hold of the file until it is closed, or the process ends in whatever way; not where there is no fcntl.

        Raises:
            InvalidInputError: another process has it.
        """
        try:
            import fcntl
        except ImportError:  # Windows, which keeps a file that is open from being replaced
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
        """Take in what is there, and cut off a last line that is not whole.

        Raises:
            InvalidInputError: it is another sweep's, none at all, or damaged before its last line.
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


ANEW = "anew with fresh=True (--fresh)"  # the remedy for a journal that cannot be gone on with


def _line(content: dict[str, Any]) -> bytes:
    """Content as a line: the checksum of what follows it, a blank, JSON; numbers as the shortest text of the double."""
    text = json.dumps(content, separators=(",", ":")).encode()
    return b"%08x %s\n" % (zlib.crc32(text), text)


def _read(line: bytes) -> dict[str, Any] | None:
    """The content of a line; ``None`` where it is not whole, or not what was written.

    >>> _read(_line({"at": 0, "rows": [[0.1]]})), _read(_line({"at": 0})[:-1])
    ({'at': 0, 'rows': [[0.1]]}, None)
    """
    checksum, _, text = line.removesuffix(b"\n").partition(b" ")
    if not line.endswith(b"\n") or checksum != b"%08x" % zlib.crc32(text):
        return None
    content: dict[str, Any] = json.loads(text)
    return content
