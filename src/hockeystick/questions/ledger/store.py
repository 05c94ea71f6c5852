"""The database of a ledger: SQLite in a file, or PostgreSQL for several machines.

Everything is read and written within one transaction that no other writer interleaves with. For SQLite this is ``BEGIN
IMMEDIATE``, with a write-ahead log that is on the disk before a transaction counts (``synchronous=FULL``). For
PostgreSQL it is ``SERIALIZABLE``, retried if two transactions conflict. A lock on one table makes such conflicts rare.
It is taken before the transaction reads the database, so that a writer that waited sees what the others wrote.

A check in the database itself refuses an account above its limits, whatever a program writes.
"""

from __future__ import annotations

import contextlib
import json
import os
import sqlite3
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, TypeVar
from urllib.parse import urlsplit

from hockeystick.questions.ledger.entries import Entry, undamaged
from hockeystick.questions.ledger.state import Account, checked
from hockeystick.values.domains import one_line, place, shown
from hockeystick.values.errors import InvalidInputError
from hockeystick.values.needed import need

WAIT = 600.0  # seconds that a writer waits for the others
TRIES = 20  # retries of a transaction that conflicted with another
NONE = "not a ledger; `hockeystick budget init` creates one in a new file"
THERE = "a ledger already exists here and may be in use; give another name"
UNKNOWN = "; the entry may or may not have been recorded: repeat the request with the same ID"

TABLES = (
    "CREATE TABLE ledger_entry (number BIGINT PRIMARY KEY, kind TEXT NOT NULL, name TEXT NOT NULL, "
    "body TEXT NOT NULL, hash TEXT NOT NULL, UNIQUE (kind, name))",
    "CREATE TABLE ledger_account (name TEXT PRIMARY KEY, body TEXT NOT NULL, spent_1 BIGINT NOT NULL, "
    "spent_2 BIGINT NOT NULL, spent_3 BIGINT NOT NULL, limit_1 BIGINT NOT NULL, limit_2 BIGINT NOT NULL, "
    "limit_3 BIGINT NOT NULL, CHECK (spent_1 <= limit_1 AND (spent_2 <= limit_2 OR spent_3 <= limit_3)))",
    "CREATE TABLE ledger_head (one INTEGER PRIMARY KEY CHECK (one = 1), number BIGINT NOT NULL, hash TEXT NOT NULL, "
    "period BIGINT NOT NULL)",
)

ENTRY = "SELECT number, kind, name, body, hash FROM ledger_entry"

Result = TypeVar("Result")


class Store(ABC):
    """Database of a ledger.

    Attributes:
        place: file or address, for messages.
        mark: placeholder for a value in a statement.
        reading: statements that begin a read-only transaction.
        writing: statements that wait for other writers and then begin a writing transaction.
        begins: statements that begin the transaction in which the tables are made.
        forgets: True if a transaction may have been recorded although the database did not acknowledge it.
        errors: base class of the errors of the database.
    """

    place: str
    mark: ClassVar[str]
    reading: ClassVar[tuple[str, ...]]
    writing: ClassVar[tuple[str, ...]]
    begins: ClassVar[tuple[str, ...]]
    forgets: ClassVar[bool]
    errors: type[Exception]

    @abstractmethod
    def connected(self) -> Any:
        """Return a new connection that neither begins nor commits a transaction on its own."""

    def met(self, error: Exception) -> bool:
        """Return True if a transaction failed because of a concurrent one, and may be retried."""
        return False

    @abstractmethod
    def said(self, error: Exception) -> str:
        """Return an error of the database in one line."""

    def look(self, work: Callable[[Transaction], Result]) -> Result:
        """Read the tables in one consistent state.

        Raises:
            InvalidInputError: there is no ledger, or the database cannot be reached or read.
        """
        return self._within(self.reading, work)

    def write(self, work: Callable[[Transaction], Result]) -> Result:
        """Do some work completely or not at all, in one transaction that no other writer interleaves with.

        Raises:
            InvalidInputError: there is no ledger, or the database cannot be reached, read or written; nothing was
                recorded, unless the message says that this is not known.
        """
        return self._within(self.writing, work)

    def create(self, work: Callable[[Transaction], Result]) -> Result:
        """Make the tables, and do some work in the same transaction.

        Raises:
            InvalidInputError: there is a ledger, or the database cannot be reached or written.
        """

        def both(transaction: Transaction) -> Result:
            for statement in TABLES:
                transaction.ask(statement)
            return work(transaction)

        return self._within(self.begins, both)

    def _within(self, begin: Sequence[str], work: Callable[[Transaction], Result]) -> Result:
        for left in reversed(range(TRIES)):
            unknown = ""
            try:
                with contextlib.closing(self.connected()) as connection:
                    transaction = Transaction(connection, self.mark)
                    try:
                        for statement in begin:
                            transaction.ask(statement)
                        found = work(transaction)
                        unknown = UNKNOWN if self.forgets else ""
                        transaction.ask("COMMIT")
                    except BaseException:
                        with contextlib.suppress(self.errors):  # error of a lost connection
                            transaction.ask("ROLLBACK")
                        raise
                    return found
            except self.errors as error:
                if not left or not self.met(error):
                    raise InvalidInputError(f"{place(self.place)}: {self.said(error)}{unknown}") from None
        raise AssertionError("the last try returns or raises")


class Transaction:
    """The tables of a ledger, read and written within one transaction."""

    def __init__(self, connection: Any, mark: str) -> None:
        self._connection, self._mark = connection, mark

    def ask(self, statement: str, values: Sequence[Any] = ()) -> list[Any]:
        """Run a statement, with a question mark for each value, and return the rows that it finds."""
        cursor = self._ran(statement, values)
        return list(cursor.fetchall()) if cursor.description else []

    def _ran(self, statement: str, values: Sequence[Any]) -> Any:
        cursor = self._connection.cursor()
        cursor.execute(statement.replace("?", self._mark), values)
        return cursor

    def put(self, statement: str, values: Sequence[Any]) -> None:
        """Write one row.

        Raises:
            InvalidInputError: the database did not accept the row, for instance because of a trigger.
        """
        if self._ran(statement, values).rowcount != 1:
            raise InvalidInputError("the database did not store what was written to the ledger")

    def head(self) -> tuple[int, str, int]:
        """Return the number and the hash of the last entry, and the period."""
        with undamaged():
            ((number, last, period),) = self.ask("SELECT number, hash, period FROM ledger_head")
            if not isinstance(number, int) or not isinstance(period, int):
                raise ValueError(f"entry {number!r} of period {period!r}")
            return number, str(last), period

    def entry(self, kind: str, name: str) -> Entry | None:
        """Return the entry of a kind and a name, or None."""
        found = self.ask(f"{ENTRY} WHERE kind = ? AND name = ?", (kind, name))
        return Entry(*found[0]) if found else None

    def entries(self) -> list[Entry]:
        """Return all entries in order."""
        return [Entry(*row) for row in self.ask(f"{ENTRY} ORDER BY number")]

    def latest(self, kind: str, most: int) -> list[Entry]:
        """Return the last entries of a kind, in order."""
        found = self.ask(f"{ENTRY} WHERE kind = ? ORDER BY number DESC LIMIT ?", (kind, most))
        return [Entry(*row) for row in reversed(found)]

    def count(self, kind: str) -> int:
        """Return the number of entries of a kind."""
        ((found,),) = self.ask("SELECT COUNT(*) FROM ledger_entry WHERE kind = ?", (kind,))
        return int(found)

    def accounts(self) -> dict[str, Account]:
        """Return all accounts by name."""
        with undamaged():
            return {
                str(name): _account(json.loads(body), tuple(numbers))
                for name, body, *numbers in self.ask("SELECT * FROM ledger_account ORDER BY name")
            }

    def keep(self, name: str, account: Account, spent: tuple[int, ...], *, new: bool = False) -> None:
        """Write an account; the database refuses an account above its limits."""
        body = json.dumps({"limits": account.limits, "spent": account.spent}, sort_keys=True)
        numbers = checked(spent, account.limits)
        if new:
            self.put("INSERT INTO ledger_account VALUES (?, ?, ?, ?, ?, ?, ?, ?)", (name, body, *numbers))
        else:
            self.put(
                "UPDATE ledger_account SET body = ?, spent_1 = ?, spent_2 = ?, spent_3 = ? WHERE name = ?",
                (body, *numbers[:3], name),
            )

    def append(self, entry: Entry, period: int) -> None:
        """Write an entry, and mark it as the last one."""
        self.put("INSERT INTO ledger_entry VALUES (?, ?, ?, ?, ?)", entry)
        if entry.number == 0:
            self.put("INSERT INTO ledger_head VALUES (1, ?, ?, ?)", (0, entry.hash, period))
        else:
            self.put("UPDATE ledger_head SET number = ?, hash = ?, period = ?", (entry.number, entry.hash, period))


def _account(keys: Mapping[str, Any], numbers: tuple[int, ...]) -> Account:
    spent = {
        region: {direction: tuple(map(int, price)) for direction, price in prices.items()}
        for region, prices in keys["spent"].items()
    }
    return Account(tuple(map(int, keys["limits"])), spent, numbers)


class SQLite(Store):
    """Ledger in a file. SQLite itself waits for other writers, so that no transaction is retried.

    Args:
        file: name of the file.
        new: True to make the file if it does not exist.
    """

    mark = "?"
    reading = ("BEGIN",)
    writing = begins = ("BEGIN IMMEDIATE",)
    forgets = False  # uncommitted changes are lost with the connection
    errors = sqlite3.Error

    def __init__(self, file: str | Path, *, new: bool = False) -> None:
        self.place, self._new = str(file), new

    def connected(self) -> sqlite3.Connection:
        """Open the file.

        Raises:
            InvalidInputError: the file does not exist, and may not be made.
        """
        if not self._new and not os.path.isfile(self.place):  # noqa: PTH113  # no error for names that are too long
            raise InvalidInputError(f"{place(self.place)}: no such file; `hockeystick budget init` creates one")
        place_of, uri = self.place, False
        if not self._new and not os.access(self.place, os.W_OK):
            if Path(f"{self.place}-wal").exists():
                raise InvalidInputError(
                    f"{place(self.place)}: you may not write to it and others are writing; read it when they are done"
                )
            # a reader without write permission must not leave files of its own, which would block writers
            place_of, uri = f"{Path(self.place).absolute().as_uri()}?mode=ro&immutable=1", True
        connection = sqlite3.connect(place_of, timeout=WAIT, isolation_level=None, uri=uri)
        try:
            if self._new:
                connection.execute("PRAGMA journal_mode=WAL")  # which persists in the file
            connection.execute("PRAGMA synchronous=FULL")
        except BaseException:
            connection.close()
            raise
        return connection

    def said(self, error: Exception) -> str:
        """Return the message of SQLite."""
        said = str(error)
        if "not a database" in said or "no such table: ledger" in said:
            return NONE
        return THERE if "already exists" in said else one_line(said)


class PostgreSQL(Store):
    """Ledger in a database of PostgreSQL.

    Args:
        address: ``postgresql://user@host/name``; the tables are made in the first schema of the search path.

    Raises:
        HockeystickError: the driver is not installed.
        InvalidInputError: the address is invalid.
    """

    mark = "%s"
    reading = ("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY",)
    begins = ("BEGIN ISOLATION LEVEL SERIALIZABLE", "SET LOCAL synchronous_commit = on")
    # the lock comes before the transaction sees the tables, so that it sees the writes it waited for
    writing = (*begins, "LOCK TABLE ledger_head IN EXCLUSIVE MODE")
    forgets = True

    def __init__(self, address: str) -> None:
        need("a ledger on PostgreSQL", {"psycopg": "psycopg[binary]"}, "postgresql")
        import psycopg

        self._driver, self._address, self.errors = psycopg, address, psycopg.Error
        try:
            parts, given = psycopg.conninfo.conninfo_to_dict(address), urlsplit(address)
            if given.netloc.count("@") > 1 or "@" in given.path:
                raise ValueError("a part of a password would stand in the place of a host")
        except (psycopg.Error, ValueError):
            raise InvalidInputError(
                "the address of a ledger must be like postgresql://user:password@host/name, with @ and / of the "
                "password written as %40 and %2F"
            ) from None
        self.place = f"postgresql://{parts.get('host', '')}/{parts.get('dbname', '')}"  # without the password

    def met(self, error: Exception) -> bool:
        """Return True if a transaction failed because it could not be ordered with a concurrent one."""
        found = self._driver.errors
        return isinstance(error, found.SerializationFailure | found.DeadlockDetected)

    def connected(self) -> Any:
        """Connect to the database."""
        return self._driver.connect(self._address, autocommit=True, client_encoding="utf8")

    def said(self, error: Exception) -> str:
        """Return the message of the database."""
        if isinstance(error, self._driver.errors.UndefinedTable):
            return NONE
        return THERE if isinstance(error, self._driver.errors.DuplicateTable) else one_line(str(error))


def store_of(name: str | Path, *, new: bool = False) -> Store:
    """Return the database at the name of a file, or at an address of PostgreSQL.

    Raises:
        HockeystickError: the driver is not installed.
        InvalidInputError: the file name has the ending of a plan file.
    """
    if str(name).startswith(("postgresql://", "postgres://")):
        return PostgreSQL(str(name))
    if not isinstance(name, str | os.PathLike):
        raise InvalidInputError(f"a ledger must be a file or an address; received {shown(name)}")
    if str(name) in ("", ":memory:") or "\0" in str(name):
        raise InvalidInputError(f"a ledger must be a file, such as ledger.db; received {shown(str(name))}")
    if Path(name).suffix.lower() in (".toml", ".json"):
        raise InvalidInputError(f"{place(name)}: a ledger must be a database, such as ledger.db")
    return SQLite(name, new=new)
