"""Rows of (user, noise, rate, steps), in any order and in pieces, become one history for each user.

Rows are brought down to one *entry* for each user and kind of step (``merging.py``), each time that as many have come
as there were entries: what has to fit into memory is the entries of all users and about as many rows. Steps are added
as doubles: sums of whole numbers below 2^53 are exact, and a sum that is not exact is at least 2^53, far more than the
10^12 steps that a round may have, and is refused with its history.

A wrong row leaves its user without a number, whatever the other rows say: a history without it would be too short, and
its epsilon too small.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hockeystick.questions.histories import merging
from hockeystick.questions.histories.answers import History
from hockeystick.questions.histories.naming import Numbers, Pairs, Sequences
from hockeystick.values import domains
from hockeystick.values.errors import InvalidInputError

Array = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]

NOISE = domains.NOISE.of("standard deviation of the noise / norm bound of one user")
"""Domain of a noise multiplier: after a step without noise no epsilon is finite."""

RATE = domains.RATE.of("probability that the user enters the batch")
"""Domain of a sample rate."""

STEPS = domains.whole_numbers().of("number of steps")
"""Domain of a number of steps."""

DOMAINS = {"noise_multiplier": NOISE, "sample_rate": RATE, "steps": STEPS}
"""The domain of each number of a row."""

MANY = 1 << 24
"""Rows that may wait until they are joined: half a gigabyte of them."""

BLOCK = 1 << 18
"""Rows that are looked at at once: a column of them has 2 MB."""


def refusal(noise: object, rate: object, steps: object) -> str | None:
    """What is wrong with the numbers of a row, in one line; ``None`` where nothing is.

    >>> print(refusal(1.0, 0.01, 100), refusal(1.0, 1.5, 100), sep=chr(10))
    None
    sample_rate must be 1 or a number from 1e-10 to 1 - 1e-6 (probability that the user enters the batch); received 1.5
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
    within &= ((rate >= RATE.keywords["minimum"]) & (rate <= RATE.keywords["maximum"])) | (rate == RATE.also)
    within &= (steps >= STEPS.keywords["minimum"]) & (steps <= STEPS.keywords["maximum"])
    within &= steps == np.floor(steps)
    return within


@dataclass(frozen=True, slots=True)
class Grouped:
    """The users of all rows, each with its history.

    Attributes:
        users: their numbers, shape (users,), in the order in which they first came, where that is wanted.
        history: the number of each one's history, shape (users,).
        starts: where each distinct history begins in the next three, shape (histories + 1,); the last is their end.
        noise, rate, steps: of its kinds of step, sorted by noise and rate.
        wrong: what is wrong with a row of a user, by the user's number, who has no history then.
    """

    users: Numbers
    history: Numbers
    starts: Numbers
    noise: Array
    rate: Array
    steps: Array
    wrong: dict[int, str]

    @property
    def histories(self) -> list[History]:
        """The distinct histories, as they are asked."""
        said = list(zip(self.noise.tolist(), self.rate.tolist(), map(int, self.steps.tolist()), strict=True))
        return [tuple(said[start:end]) for start, end in itertools.pairwise(self.starts.tolist())]


class Entries:
    """The entries of rows that come in pieces.

    Args:
        ordered: whether users are wanted in the order in which they first come; else in any.

    >>> entries = Entries()
    >>> ones = np.ones(4)
    >>> entries.add(np.array([7, 3, 7, 3]), 2 * ones, 0.01 * ones, np.array([10.0, 5.0, 20.0, 25.0]))
    >>> found = entries.grouped()
    >>> found.users.tolist(), found.history.tolist(), found.histories
    ([7, 3], [0, 0], [((2.0, 0.01, 30),)])
    """

    def __init__(self, ordered: bool = True) -> None:
        self._ordered = ordered
        self._kinds = Pairs()
        self._rows = 0
        self._parts: list[merging.Shared | merging.Entries] = []
        self._joined, self._waiting = 0, 0  # entries, and rows, among the parts
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
        say = said or (lambda row: str(refusal(float(noise[row]), float(rate[row]), float(steps[row]))))
        for start in range(0, len(users), BLOCK):
            block = slice(start, start + BLOCK)
            own = None if counted is None else counted[block], None if wrong is None else wrong[block]
            self._take(users[block], noise[block], rate[block], steps[block], *own, say, start)

    def _take(
        self,
        users: Numbers,
        noise: Array,
        rate: Array,
        steps: Array,
        counted: Mask | None,
        wrong: Mask | None,
        say: Callable[[int], str],
        start: int,
    ) -> None:
        """Take a block of rows, which begins at a row of the piece."""
        good = sound(noise, rate, steps)
        if wrong is not None:
            good &= ~wrong
        if not good.all():
            bad = np.flatnonzero(~good if counted is None else counted & ~good)
            _, places = np.unique(users[bad], return_index=True)
            for row in bad[np.sort(places)].tolist():
                if int(users[row]) not in self._wrong:
                    self._wrong[int(users[row])] = say(start + row)
        if counted is not None:
            good &= counted
        good &= steps != 0
        if good.all():
            kind = self._kinds.of(noise, rate)
        else:
            kind = np.full(len(users), merging.NO_KIND, dtype=np.int32)
            kind[good] = self._kinds.of(noise[good], rate[good])
            steps = np.where(good, steps, 0.0)
        if self._waiting > max(self._joined, MANY):
            joined = list(merging.merged(self._parts, len(self._kinds)))
            self._parts = [*joined]
            self._joined, self._waiting = sum(len(part) for part in joined), 0
        rows = self._rows + len(users)
        first = np.arange(self._rows, rows, dtype=np.min_scalar_type(max(rows, 1 << 31))) if self._ordered else None
        # a copy in any case: whoever gives pieces may fill the same arrays again
        self._parts.append(merging.Shared.among_buckets(merging.Entries(users, kind, steps, first)))
        self._rows, self._waiting = rows, self._waiting + len(users)

    def grouped(self) -> Grouped:
        """All users of the rows so far, each with its history."""
        sequences = Sequences()
        users, histories, firsts = [], [], []
        for entries in merging.merged(self._parts, len(self._kinds)):
            starts = merging.starts_of(entries.user)
            users.append(entries.user[starts])
            if entries.first is not None:
                firsts.append(np.minimum.reduceat(entries.first, starts))
            busy = entries.without_idle(starts)
            if busy is not entries:
                starts = merging.starts_of(busy.user)
            histories.append(sequences.of(busy.kind, busy.steps, starts))
        if not users:
            none = np.empty(0)
            empty = none.astype(np.int64)
            return Grouped(empty, empty, np.zeros(1, dtype=np.int64), none, none, none, {})
        found = np.concatenate(users), np.concatenate(histories)
        if firsts:
            order = merging.sorting(np.concatenate(firsts), self._rows.bit_length())
            found = found[0].take(order), found[1].take(order)
        starts, noise, rate, steps = self._said(sequences)
        return Grouped(found[0], found[1], starts, noise, rate, steps, dict(self._wrong))

    def _said(self, sequences: Sequences) -> tuple[Numbers, Array, Array, Array]:
        """Where each history begins, and its noise, rate and steps, which are sorted, and without what has no steps."""
        busy = sequences.symbols != merging.NO_KIND
        history = np.repeat(np.arange(len(sequences)), np.diff(sequences.starts))[busy]
        kind, steps = sequences.symbols[busy], sequences.amounts[busy]
        noise, rate = self._kinds.first[kind], self._kinds.second[kind]
        order = np.lexsort((rate, noise, history))
        starts = np.searchsorted(history, np.arange(len(sequences) + 1))
        return starts, noise[order], rate[order], steps[order]


__all__ = ["DOMAINS", "Entries", "Grouped", "refusal", "sound"]
