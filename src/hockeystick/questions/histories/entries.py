"""Rows of (user, noise, rate, steps), in any order and in pieces, become one history for each user.

Each piece is brought down to one *entry* for each user and kind of step, by one sort of whole numbers, and pieces are
joined when they have come to as many entries as there were: what has to fit into memory is the entries of all users
and the rows of one piece. Steps are added as doubles: sums of whole numbers below 2^53 are exact, and a sum that is not
exact is at least 2^53, far more than the 10^12 steps that a round may have, and is refused with its history.

A wrong row leaves its user without a number, whatever the other rows say: a history without it would be too short, and
its epsilon too small.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from hockeystick.questions.histories.answers import History, canonical
from hockeystick.questions.histories.naming import Names, Numbers, sequences
from hockeystick.values import domains
from hockeystick.values.errors import InvalidInputError

Array = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]

NOISE = domains.MAGNITUDE.of("standard deviation of the noise / norm bound of one user")
"""Domain of a noise multiplier: after a step without noise no epsilon is finite."""

RATE = domains.RATE.of("probability that the user enters the batch")
"""Domain of a sample rate."""

STEPS = domains.whole_numbers().of("number of steps")
"""Domain of a number of steps."""

DOMAINS = {"noise_multiplier": NOISE, "sample_rate": RATE, "steps": STEPS}
"""The domain of each number of a row."""

NO_KIND = -1
"""The kind of a row that is no step of its user: one of 0 steps, one after the cut, a wrong one."""


def refusal(noise: object, rate: object, steps: object) -> str | None:
    """What is wrong with the numbers of a row, in one line; ``None`` where nothing is.

    >>> print(refusal(1.0, 0.01, 100), refusal(1.0, 1.5, 100), sep=chr(10))
    None
    sample_rate must be a number greater than 0 and at most 1 (probability that the user enters the batch); received 1.5
    """
    for (key, domain), value in zip(DOMAINS.items(), (noise, rate, steps), strict=True):
        try:
            domain.check(value, key)
        except InvalidInputError as error:
            return str(error)
    return None


def sound(noise: Array, rate: Array, steps: Array) -> Mask:
    """Which rows have all their numbers inside their domains: what :func:`refusal` says, in whole arrays."""
    low, high = NOISE.keywords["minimum"], NOISE.keywords["maximum"]
    within: Mask = (noise >= low) & (noise <= high)
    within &= rate > RATE.keywords["exclusiveMinimum"]
    within &= rate <= RATE.keywords["maximum"]
    within &= (steps >= STEPS.keywords["minimum"]) & (steps <= STEPS.keywords["maximum"])
    within &= steps == np.floor(steps)
    return within


@dataclass(frozen=True, slots=True)
class Grouped:
    """The users of all rows, each with its history.

    Attributes:
        users: their numbers, shape (users,), in the order in which they first came.
        history: the place of each one's history in ``histories``, shape (users,).
        histories: the distinct ones.
        wrong: what is wrong with a row of a user, by the user's number, who has no history then.
    """

    users: Numbers
    history: Numbers
    histories: list[History]
    wrong: dict[int, str]


class Entries:
    """The entries of rows that come in pieces.

    >>> entries = Entries()
    >>> ones = np.ones(4)
    >>> entries.add(np.array([7, 3, 7, 3]), 2 * ones, 0.01 * ones, np.array([10.0, 5.0, 20.0, 25.0]))
    >>> found = entries.grouped()
    >>> found.users.tolist(), found.history.tolist(), found.histories
    ([7, 3], [0, 0], [((2.0, 0.01, 30),)])
    """

    def __init__(self) -> None:
        self._noises, self._rates, self._kinds = Names(np.float64), Names(np.float64), Names(np.int64)
        self._rows = 0
        self._joined = _Entries.none()
        self._pieces: list[_Entries] = []
        self._wrong: dict[int, str] = {}

    def add(
        self,
        users: Numbers,
        noise: Array,
        rate: Array,
        steps: Array,
        *,
        counted: Mask | None = None,
        wrong: Mask | None = None,
        said: Callable[[int], str] | None = None,
    ) -> None:
        """Take a piece of the rows; the arrays have shape (rows,).

        Args:
            users: the number of each row's user.
            noise, rate, steps: noise multiplier, sample rate, number of steps; not a number where there is none.
            counted: which rows are steps to be counted; all by default. The others are not looked at, but their users
                are among the answers.
            wrong: rows that are known to be wrong for another reason.
            said: what is wrong with the row of that number in the piece, in words; it may raise, which stops all.
                By default the numbers are refused as :func:`refusal` says.

        Raises:
            InvalidInputError: what ``said`` raises.
        """
        good = sound(noise, rate, steps)
        if wrong is not None:
            good &= ~wrong
        if counted is None:
            counted = good
            bad = np.flatnonzero(~good)
        else:
            bad = np.flatnonzero(counted & ~good)
            counted = counted & good
        if len(bad):
            say = said or (lambda row: str(refusal(float(noise[row]), float(rate[row]), float(steps[row]))))
            _, first = np.unique(users[bad], return_index=True)
            for row in bad[np.sort(first)].tolist():
                if int(users[row]) not in self._wrong:
                    self._wrong[int(users[row])] = say(row)
        kind = np.full(len(users), NO_KIND, dtype=np.int64)
        counted &= steps != 0
        if counted.all():
            kind = self._kind(noise, rate)
        else:
            kind[counted] = self._kind(noise[counted], rate[counted])
            steps = np.where(counted, steps, 0.0)
        if len(users):
            self._pieces.append(_joined(users, kind, steps, None, len(self._kinds), self._rows))
        self._rows += len(users)
        if sum(len(piece.user) for piece in self._pieces) > len(self._joined.user):
            self._join()

    def grouped(self) -> Grouped:
        """All users of the rows so far, each with its history."""
        self._join()
        entries = self._joined
        if not len(entries.user):
            return Grouped(np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64), [], {})
        starts = _starts(entries.user)
        users, first = entries.user[starts], np.minimum.reduceat(entries.first, starts)
        entries = entries.without_idle(starts)
        starts = _starts(entries.user)
        amounts = Names(np.float64)
        amount = amounts.of(entries.steps)
        symbols = Names(np.int64).of((entries.kind - NO_KIND) * len(amounts) + amount)
        history, representative = sequences(symbols, starts)
        distinct: dict[History, int] = {}
        ends = np.append(starts, len(entries.user))
        noises, rates = self._noises.values.tolist(), self._rates.values.tolist()
        pairs = [(noises[pair // MOST_VALUES], rates[pair % MOST_VALUES]) for pair in self._kinds.values.tolist()]
        place = np.empty(len(representative), dtype=np.int64)
        for number, user in enumerate(representative.tolist()):
            part = slice(ends[user], ends[user + 1])
            said = zip(entries.kind[part].tolist(), entries.steps[part].tolist(), strict=True)
            own = canonical((*pairs[kind], steps) for kind, steps in said if kind != NO_KIND)
            place[number] = distinct.setdefault(own, len(distinct))
        order = np.argsort(first)
        return Grouped(users[order], place[history[order]], list(distinct), dict(self._wrong))

    def _kind(self, noise: Array, rate: Array) -> Numbers:
        """The number of each row's pair of noise and rate."""
        noise_number, rate_number = self._noises.of(noise), self._rates.of(rate)
        assert len(self._noises) < MOST_VALUES  # of 2^31 distinct ones the names alone would take 32 GB
        assert len(self._rates) < MOST_VALUES
        noise_number *= MOST_VALUES
        noise_number += rate_number
        return self._kinds.of(noise_number)

    def _join(self) -> None:
        if self._pieces:
            parts = [self._joined, *self._pieces] if len(self._joined.user) else self._pieces
            self._joined = parts[0] if len(parts) == 1 else _together(parts, len(self._kinds))
            self._pieces = []


MOST_VALUES = 1 << 31
"""More than there are distinct noises, or rates: a pair of their numbers fits into one of 63 bits."""


@dataclass(frozen=True, slots=True)
class _Entries:
    """Users, kinds and steps, and the first row of each.

    Attributes:
        user, kind: their numbers, shape (entries,).
        steps: how many, as doubles.
        first: the number of the first row.
    """

    user: Numbers
    kind: Numbers
    steps: Array
    first: Numbers

    @classmethod
    def none(cls) -> _Entries:
        """No entries of any user."""
        empty = np.empty(0, dtype=np.int64)
        return cls(empty, empty, np.empty(0), empty)

    def without_idle(self, starts: Numbers) -> _Entries:
        """Without the entries of no kind of users who have others; they come first among a user's entries."""
        idle = self.kind == NO_KIND
        lengths = np.diff(np.append(starts, len(self.user)))
        idle[starts[lengths == 1]] = False
        stays = ~idle
        return self if stays.all() else _Entries(*(getattr(self, name)[stays] for name in self.__slots__))


def _together(parts: list[_Entries], kinds: int) -> _Entries:
    """Several entries as one for each user and kind.

    Args:
        parts: the entries, with the numbers of their first rows.
        kinds: how many there are.
    """
    user, kind, steps, first = (
        np.concatenate([getattr(part, name) for part in parts]) for name in ("user", "kind", "steps", "first")
    )
    return _joined(user, kind, steps, first, kinds)


def _joined(
    user: Numbers, kind: Numbers, steps: Array, first: Numbers | None, kinds: int, first_row: int = 0
) -> _Entries:
    """One entry for each user and kind, by user and then by kind.

    Args:
        user, kind, steps: of each row, or of each entry, shape (rows,); at least one.
        first: the number of the first row of each; by default they are rows, counted from ``first_row``.
        kinds: how many there are.
        first_row: the number of the first row.
    """
    base = kinds - NO_KIND
    low = int(user.min())
    span = int(user.max()) - low + 1
    known: Numbers | None = None
    if span * base < 1 << 63:
        key = (user - low) * base
    else:
        known, rank = np.unique(user, return_inverse=True)
        key = rank * base
    key += kind
    key -= NO_KIND
    order = np.argsort(key)
    key = key[order]  # in place of the other: at ten million users each array has a quarter of a gigabyte
    starts = _starts(key)
    key = key[starts]
    added = np.add.reduceat(steps[order], starts)
    rows = order if first is None else first[order]
    earliest = np.minimum.reduceat(rows, starts) + first_row
    del rows, order, starts
    place, own = np.divmod(key, base)
    return _Entries(place + low if known is None else known[place], own + NO_KIND, added, earliest)


def _starts(sorted_values: npt.NDArray[Any]) -> Numbers:
    """Where each run of equal values begins."""
    return np.flatnonzero(np.concatenate([[True], sorted_values[1:] != sorted_values[:-1]]))


__all__ = ["DOMAINS", "Entries", "Grouped", "refusal", "sound"]
