"""Conversion of rows of (user, noise, rate, steps), in any order and in pieces, to one history for each user.

Rows are merged into one *entry* for each user and kind of step (``merging.py``) whenever as many have arrived as there
were entries. Memory must hold the entries of all users and about as many rows. Steps are added as doubles. Sums of
whole numbers below 2^53 are exact; an inexact sum is at least 2^53, far above the 10^12 steps of a round, and refused
with its history.

A user with an invalid row gets no number, whatever the other rows are: a history without that row would be too short,
and its epsilon too small.
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

STEPS = domains.whole_numbers().of("number of steps")

DOMAINS = {"noise_multiplier": NOISE, "sample_rate": RATE, "steps": STEPS}
"""Domain of each number of a row."""

MANY = 1 << 24
"""Largest number of rows that wait to be merged: half a gigabyte."""

BLOCK = 1 << 18
"""Number of rows processed together: a column of them has 2 MB."""


def refusal(noise: object, rate: object, steps: object) -> str | None:
    """Return the error in the numbers of a row, in one line; ``None`` if they are valid.

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
    """Return a mask of the rows with all numbers in their domains, as :func:`refusal` does for one row."""
    low, high = NOISE.keywords["minimum"], NOISE.keywords["maximum"]
    within: Mask = (noise >= low) & (noise <= high)
    within &= ((rate >= RATE.keywords["minimum"]) & (rate <= RATE.keywords["maximum"])) | (rate == RATE.also)
    within &= (steps >= STEPS.keywords["minimum"]) & (steps <= STEPS.keywords["maximum"])
    within &= steps == np.floor(steps)
    return within


@dataclass(frozen=True, slots=True)
class Grouped:
    """Users of all rows, each with its history.

    Attributes:
        users: numbers of the users, shape (users,), in order of first appearance if that is wanted.
        history: index of each user's history, shape (users,).
        starts: begin of each distinct history in the next three, and their end, shape (histories + 1,).
        noise, rate, steps: kinds of step of the histories, sorted by noise and rate.
        wrong: error in a row of a user without history, by the user's number.
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
        """Distinct histories as tuples."""
        said = list(zip(self.noise.tolist(), self.rate.tolist(), map(int, self.steps.tolist()), strict=True))
        return [tuple(said[start:end]) for start, end in itertools.pairwise(self.starts.tolist())]


class Entries:
    """Entries of rows that arrive in pieces.

    Args:
        ordered: True to keep users in order of first appearance.

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
        self._joined, self._waiting = 0, 0  # number of entries and of rows among the parts
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
        """Add a piece of the rows; the arrays have shape (rows,).

        Args:
            users: number of each row's user.
            noise, rate, steps: noise multiplier, sample rate, number of steps; NaN for a missing value.
            counted: mask of the rows to count; by default all. The others are ignored, but their users get answers.
            wrong: mask of rows that are invalid for another reason.
            said: function from a row's index in the piece to its error; it may raise. By default :func:`refusal`.

        Raises:
            InvalidInputError: ``said`` raises it.
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
        """Add a block of rows, which begins at row ``start`` of the piece."""
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
        # always a copy, since the caller may reuse its arrays
        self._parts.append(merging.Shared.among_buckets(merging.Entries(users, kind, steps, first)))
        self._rows, self._waiting = rows, self._waiting + len(users)

    def grouped(self) -> Grouped:
        """Return all users of the rows so far, each with its history."""
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
        """Begin of each history, with its noise, rate and steps, sorted and without kinds of no steps."""
        busy = sequences.symbols != merging.NO_KIND
        history = np.repeat(np.arange(len(sequences)), np.diff(sequences.starts))[busy]
        kind, steps = sequences.symbols[busy], sequences.amounts[busy]
        noise, rate = self._kinds.first[kind], self._kinds.second[kind]
        order = np.lexsort((rate, noise, history))
        starts = np.searchsorted(history, np.arange(len(sequences) + 1))
        return starts, noise[order], rate[order], steps[order]


__all__ = ["DOMAINS", "Entries", "Grouped", "refusal", "sound"]
