"""Entries of a ledger: JSON in one canonical form, each bound by its hash to all entries before it."""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from hockeystick.values.errors import HockeystickError, InvalidInputError
from hockeystick.values.words import one_line

FIRST = "0" * 64
"""Hash before the first entry."""


BEGIN, GRANT, RENEW, SPEND, RUN, VOID = "begin", "grant", "renew", "spend", "run", "void"
"""Kinds of entries; the last two settle a reserved release."""


@contextlib.contextmanager
def undamaged() -> Iterator[None]:
    """Context that reports invalid content of a ledger's tables as damage."""
    try:
        yield
    except HockeystickError:
        raise
    except (ValueError, TypeError, LookupError, AttributeError) as error:
        raise InvalidInputError(f"the ledger in the database is damaged: {one_line(repr(error))}") from None


class Entry(NamedTuple):
    """Line of the log.

    Attributes:
        number: 0 for the beginning, then 1, 2, ...
        kind: ``begin``, ``grant``, ``renew``, ``spend``, ``run`` or ``void``.
        name: id of the release, or name of the grant or the period; unique among the entries of a kind.
        body: the keys of the entry and their values, in the JSON of :func:`spelled`.
        hash: SHA-256 of the previous entry's hash and the body, in hexadecimal.
    """

    number: int
    kind: str
    name: str
    body: str
    hash: str

    @property
    def keys(self) -> dict[str, Any]:
        """The keys of the entry, with their values."""
        found: dict[str, Any] = json.loads(self.body)
        return found


def spelled(keys: Mapping[str, Any]) -> str:
    """Return keys as JSON in canonical form: sorted, without spaces, in ASCII.

    >>> spelled({"b": 1, "a": "é"})
    '{"a":"\\\\u00e9","b":1}'
    """
    return json.dumps(keys, sort_keys=True, separators=(",", ":"), allow_nan=False)


def chained(before: str, body: str) -> str:
    """Return the hash of an entry, from the previous entry's hash and its own body."""
    return hashlib.sha256((before + body).encode()).hexdigest()


def hashed(token: str) -> str:
    """Return the hash of a token, which a reservation stores instead of the token."""
    return hashlib.sha256(str(token).encode(errors="backslashreplace")).hexdigest()


def exported(entries: Iterable[Entry]) -> dict[str, Any]:
    """Return a log as JSON values."""
    return {
        "answer": "log",
        "entries": [
            {"number": each.number, "kind": each.kind, "name": each.name, "keys": each.keys, "hash": each.hash}
            for each in entries
        ],
    }


def entries_of(log: Any) -> list[Entry]:
    """Return the entries of a log that :func:`exported` returned.

    Raises:
        InvalidInputError: the values are not those of a log.
    """
    try:
        return [
            Entry(each["number"], each["kind"], each["name"], spelled(each["keys"]), each["hash"])
            for each in log["entries"]
        ]
    except (KeyError, TypeError, ValueError, AttributeError):
        raise InvalidInputError("not a log; `hockeystick budget export` writes one") from None
