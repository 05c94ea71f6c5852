"""Many processes spend one budget and are killed at random: nothing is overspent, lost or spent twice.

Usage: python tools/storm.py [--processes 64] [--spends 200] [--seed 1] [--postgresql ADDRESS] [--careless]

Each process spends under ids of its own and under some that all share, repeats what it did not see acknowledged, and is
killed with ``SIGKILL`` at a random moment: from outside, or by itself between price and commit, or between commit and
acknowledgment. Its clock jumps. An acknowledgment is a line in a file that is on the disk. Afterwards the log is added
up here by exact fractions, without the ledger's own code.

``--careless`` replaces the transaction by a read, an addition and a write that commit by themselves, as ledgers are
often written by hand: the storm must find it out.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

import hockeystick as hs
from hockeystick.questions.ledger import ledger as ledgers
from hockeystick.questions.ledger.store import Transaction, store_of

SCALES = (20.0, 50.0, 100.0)  # of the releases, each of which costs 1/scale of pure epsilon
SHARED = 0.1  # of the ids are those of all processes
KILLS = 8  # of each process, about: on a slow server it would never come to its end
SUICIDES = 0.002  # of the spends end in one of the two bad moments


class Outcome(NamedTuple):
    """Result of a storm.

    Attributes:
        limit: epsilon of the budget.
        spent: sum of the releases in the log, from their scales.
        recorded: number of releases in the log.
        acknowledged: number of different ids that were acknowledged.
        lost: ids that were acknowledged and are not in the log.
        twice: ids that are in the log more than once.
        killed: number of kills.
    """

    limit: Fraction
    spent: Fraction
    recorded: int
    acknowledged: int
    lost: list[str]
    twice: list[str]
    killed: int

    @property
    def holds(self) -> bool:
        """True if nothing was overspent, lost or spent twice."""
        return self.spent <= self.limit and not self.lost and not self.twice


def storm(place: str, processes: int, spends: int, seed: int, *, careless: bool = False) -> Outcome:
    """Let processes spend a new ledger, and kill some."""
    wanted = processes * spends * (1 - SHARED) / 50
    limit = round(0.6 * wanted, 2)  # so that the last of them are refused
    ledger = (Careless if careless else Careful)(place)
    ledger.begin(limit)
    rng, killed = random.Random(seed), 0
    with tempfile.TemporaryDirectory() as folder:
        waiting = {number: _start(place, folder, number, spends, seed, careless) for number in range(processes)}
        while waiting:
            time.sleep(0.02)
            for number, process in list(waiting.items()):
                if process.poll() is None:
                    if killed < KILLS * processes and rng.random() < 0.001:
                        process.send_signal(signal.SIGKILL)
                        killed += 1
                elif process.returncode == 0:
                    del waiting[number]
                elif process.returncode == -signal.SIGKILL:
                    killed += 1
                    waiting[number] = _start(place, folder, number, spends, seed + killed, careless)
                else:
                    raise RuntimeError(f"process {number} ended with status {process.returncode}")
        acknowledged = {line for file in Path(folder).glob("*.acks") for line in file.read_text().split("\n") if line}
    releases = ledger.releases()
    ids = Counter(name for name, _ in releases)
    return Outcome(
        Fraction(repr(limit)),
        sum((1 / Fraction(repr(scale)) for _, scale in releases), Fraction(0)),
        len(releases),
        len(acknowledged),
        sorted(acknowledged - set(ids)),
        sorted(name for name, often in ids.items() if often > 1),
        killed,
    )


def _start(place: str, folder: str, number: int, spends: int, seed: int, careless: bool) -> subprocess.Popen[bytes]:
    given = [place, folder, str(number), str(spends), str(seed), str(int(careless))]
    return subprocess.Popen([sys.executable, __file__, "--work", *given])


def work(place: str, folder: str, number: int, spends: int, seed: int, careless: bool) -> None:
    """Spend under all ids of a process; what was acknowledged before is asked for again."""
    rng = random.Random(1000 * seed + number)
    _jump(rng)
    _endanger(rng)
    ledger = (Careless if careless else Careful)(place)
    done = Path(folder, f"{number}.acks")
    with done.open("ab", buffering=0) as acks:
        for i in range(spends):
            shared = i < SHARED * spends
            name = f"all-{i}" if shared else f"{number}-{i}"
            item = hs.Round(hs.Laplace(SCALES[i % len(SCALES)]), name=name)
            for _ in range(rng.choice((1, 1, 2))):  # again, as a client does whose answer was lost
                with contextlib.suppress(hs.BudgetError):
                    ledger.spend(item, name, None if shared else f"process {number}")
                    acks.write(f"{name}\n".encode())
                    os.fsync(acks.fileno())


def _jump(rng: random.Random) -> None:
    """Let the clock jump by years."""

    class Clock(datetime):
        @classmethod
        def now(cls, tz: Any = None) -> Any:
            return datetime.now(UTC) + timedelta(days=rng.uniform(-4000, 4000))

    vars(ledgers)["datetime"] = Clock


def _endanger(rng: random.Random) -> None:
    """Let the process kill itself between price and commit, or between commit and acknowledgment."""
    ask = Transaction.ask

    def asked(self: Transaction, statement: str, values: Sequence[Any] = ()) -> list[Any]:
        if statement == "COMMIT" and rng.random() < SUICIDES:
            os.kill(os.getpid(), signal.SIGKILL)
        found = ask(self, statement, values)
        if statement == "COMMIT" and rng.random() < SUICIDES:
            os.kill(os.getpid(), signal.SIGKILL)
        return found

    Transaction.ask = asked  # type: ignore[method-assign]


class Careless:
    """Ledger as it is often written by hand: read what is spent, add, write it over, at READ COMMITTED."""

    def __init__(self, place: str) -> None:
        self._store = store_of(place, new=True)
        self._shared = place.startswith("postgresql:")

    def begin(self, limit: float) -> None:
        """Make the tables."""
        with contextlib.closing(self._store.connected()) as connection:
            connection.execute("CREATE TABLE budget (spent DOUBLE PRECISION, whole DOUBLE PRECISION)")
            connection.execute("CREATE TABLE release (id TEXT UNIQUE, scale DOUBLE PRECISION)")
            connection.execute(f"INSERT INTO budget VALUES (0, {limit})")

    def spend(self, item: hs.Round, request: str, who: str | None) -> None:
        """Record a release if it fits."""
        scale, name = item.mechanism.scale, request  # type: ignore[attr-defined]
        with contextlib.closing(self._store.connected()) as connection:
            if self._shared:
                connection.execute("BEGIN ISOLATION LEVEL READ COMMITTED")
            if connection.execute(f"SELECT 1 FROM release WHERE id = '{name}'").fetchall():
                return
            ((spent, limit),) = connection.execute("SELECT spent, whole FROM budget").fetchall()
            time.sleep(0.002)  # in which the price is computed
            if spent + 1 / scale > limit:
                raise hs.BudgetError("it does not fit")
            with contextlib.suppress(self._store.errors):  # of an id that another process has just recorded
                connection.execute(f"INSERT INTO release VALUES ('{name}', {scale})")
                connection.execute(f"UPDATE budget SET spent = {spent + 1 / scale}")
                if self._shared:
                    connection.execute("COMMIT")

    def releases(self) -> list[tuple[str, float]]:
        """Return the log."""
        with contextlib.closing(self._store.connected()) as connection:
            return [tuple(row) for row in connection.execute("SELECT id, scale FROM release").fetchall()]


class Careful:
    """The ledger of the library."""

    def __init__(self, place: str) -> None:
        self._place = place

    def begin(self, limit: float) -> None:
        """Begin it."""
        hs.Ledger.begin(self._place, "pure", {"epsilon": limit})

    def spend(self, item: hs.Round, request: str, who: str | None) -> None:
        """Record a release if it fits."""
        assert hs.Ledger(self._place).spend(item, request=request, who=who).keys["id"] == request

    def releases(self) -> list[tuple[str, float]]:
        """Return the log, after verifying it."""
        ledger = hs.Ledger(self._place)
        assert ledger.verify().sound, ledger.verify().findings
        entries = [entry.keys for entry in ledger.entries() if entry.kind == "spend"]
        return [(keys["id"], item["scale"]) for keys in entries for item in keys["rounds"]]


def main(given: Sequence[str]) -> int:
    """Run a storm and print its outcome."""
    if given[:1] == ["--work"]:
        place, folder, number, spends, seed, careless = given[1:]
        work(place, folder, int(number), int(spends), int(seed), careless == "1")
        return 0
    parser = argparse.ArgumentParser(description="Spend one budget by many processes that are killed.")
    parser.add_argument("--processes", type=int, default=64)
    parser.add_argument("--spends", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--postgresql", metavar="ADDRESS", help="a database without a ledger; SQLite without it")
    parser.add_argument("--careless", action="store_true", help="read, add, overwrite: the storm must find it out")
    options = parser.parse_args(given)
    with tempfile.TemporaryDirectory() as folder:
        place = options.postgresql or f"{folder}/ledger.db"
        begun = time.perf_counter()
        found = storm(place, options.processes, options.spends, options.seed, careless=options.careless)
    print(
        f"{found.recorded} recorded ({float(found.spent):.4f} of {float(found.limit):g}), "
        f"{found.acknowledged} acknowledged, {len(found.lost)} lost, {len(found.twice)} twice, {found.killed} kills, "
        f"{time.perf_counter() - begun:.0f} s"
    )
    return 0 if found.holds is not options.careless else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
