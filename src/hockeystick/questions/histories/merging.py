"""Rows and entries of users, in any order and in several parts, become one entry for each user and kind of step.

Users are shared among *buckets* by the last bits of their numbers, so that the entries of a bucket stay near the
processor; there they are sorted by user and kind, sixteen bits at a time, without a comparison. What is as long as the
table is read and written in long runs, and never in random order.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from hockeystick.questions.histories.naming import Numbers

Array = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]

NO_KIND = -1
"""The kind of a row that is no step of its user: one of 0 steps, one after the cut, a wrong one."""

BITS = 8
"""Bits of a user's number by which its bucket is found: one of 256."""

NEAR = 1 << 17
"""Entries that are not shared among buckets: 3 MB of them."""

FAR = 1 << 19
"""Entries of a bucket that is shared among buckets once more, by the next bits."""

DIGITS = 16
"""Bits by which NumPy sorts at once without comparisons."""


@dataclass(frozen=True, slots=True)
class Entries:
    """Users, kinds and steps.

    Attributes:
        user: their numbers, shape (entries,).
        kind: the numbers of the kinds, shape (entries,).
        steps: how many, as doubles.
        first: the number of the first row of each, in whose order those of one user and kind follow each other; None
            where nobody asks for it.
    """

    user: Numbers
    kind: npt.NDArray[np.int32]
    steps: Array
    first: npt.NDArray[np.integer[Any]] | None

    def __len__(self) -> int:
        """How many entries there are."""
        return len(self.user)

    def some(self, chosen: slice | Mask) -> Entries:
        """Some of the entries, in the order in which they stand."""
        first = None if self.first is None else self.first[chosen]
        return Entries(self.user[chosen], self.kind[chosen], self.steps[chosen], first)

    def at(self, places: Numbers) -> Entries:
        """The entries at some places."""
        first = None if self.first is None else self.first.take(places)
        return Entries(self.user.take(places), self.kind.take(places), self.steps.take(places), first)

    @classmethod
    def together(cls, parts: Sequence[Entries]) -> Entries:
        """Parts one after the other."""
        if len(parts) == 1:
            return parts[0]
        firsts = [part.first for part in parts if part.first is not None]
        return cls(
            np.concatenate([part.user for part in parts]),
            np.concatenate([part.kind for part in parts]),
            np.concatenate([part.steps for part in parts]),
            np.concatenate(firsts) if firsts else None,
        )

    def without_idle(self, starts: Numbers) -> Entries:
        """Without the entries of no kind of users who have others; they come first among a user's entries."""
        idle = self.kind == NO_KIND
        if not idle.any():
            return self
        lengths = np.diff(np.append(starts, len(self)))
        idle[starts[lengths == 1]] = False
        return self.some(~idle)


@dataclass(frozen=True, slots=True)
class Shared:
    """Entries by bucket, in the order that they had.

    Attributes:
        entries: of one bucket after the other.
        ends: where each bucket begins, and where the last one ends.
    """

    entries: Entries
    ends: list[int]

    @classmethod
    def among_buckets(cls, entries: Entries, skipped: int = 0) -> Self:
        """Entries by the last bits of their users' numbers, but for so many that are skipped."""
        bucket = (entries.user >> skipped).astype(np.uint8)
        ends = np.cumsum(np.bincount(bucket, minlength=1 << BITS))
        return cls(entries.at(np.argsort(bucket, kind="stable")), [0, *ends.tolist()])


def merged(parts: Sequence[Shared | Entries], kinds: int, skipped: int = 0) -> Iterator[Entries]:
    """One entry for each user and kind, bucket by bucket; in a bucket they are sorted by user and then by kind.

    Args:
        parts: entries, of which those with an earlier first row come first; they may be shared among buckets already.
        kinds: how many there are.
        skipped: so many bits at the end of all users' numbers are the same.
    """
    total = sum(len(part.entries if isinstance(part, Shared) else part) for part in parts)
    if total <= NEAR:
        whole = [part.entries if isinstance(part, Shared) else part for part in parts]
        if total:
            yield _joined(Entries.together(whole), skipped, kinds)
        return
    shared = [part if isinstance(part, Shared) else Shared.among_buckets(part, skipped) for part in parts]
    skipped += BITS
    for number in range(1 << BITS):
        bucket = Entries.together(
            [part.entries.some(slice(part.ends[number], part.ends[number + 1])) for part in shared]
        )
        if len(bucket) > FAR and skipped < 64 - BITS:
            yield from merged([bucket], kinds, skipped)
        elif len(bucket):
            yield _joined(bucket, skipped, kinds)


def _joined(entries: Entries, skipped: int, kinds: int) -> Entries:
    """One entry for each user and kind, by user and then by kind.

    Args:
        entries: at least one.
        skipped: so many bits at the end of all users' numbers are the same.
        kinds: how many there are.
    """
    user = entries.user
    low, high = int(user.min()), int(user.max())
    place = user.view(np.uint64) - np.uint64(low % (1 << 64))  # modulo 2^64: the difference is below it
    place >>= np.uint64(skipped)
    of_place, of_kind = ((high - low) >> skipped).bit_length(), kinds.bit_length()
    if of_place + of_kind > 64:
        known, found = np.unique(user, return_inverse=True)
        place, of_place = found.astype(np.uint64), len(known).bit_length()
    key = (place << np.uint64(of_kind)) | (entries.kind - NO_KIND).astype(np.uint64)
    order = sorting(key, of_place + of_kind)
    key, entries = key.take(order), entries.at(order)
    starts = starts_of(key)
    if len(starts) == len(entries):
        return entries
    return replace(entries.at(starts), steps=np.add.reduceat(entries.steps, starts))


def sorting(keys: npt.NDArray[Any], bits: int) -> Numbers:
    """The order that sorts whole numbers, equal ones as they stand, shape (keys,).

    Args:
        keys: from 0 on.
        bits: how many the largest of them has at most.

    >>> sorting(np.array([70000, 3, 70000, 65536]), 17)
    array([1, 3, 0, 2])
    """
    order = np.argsort(keys.astype(np.uint16), kind="stable")  # of the last bits
    for shift in range(DIGITS, bits, DIGITS):
        order = order[np.argsort((keys >> keys.dtype.type(shift)).astype(np.uint16)[order], kind="stable")]
    return order


def starts_of(sorted_values: npt.NDArray[Any]) -> Numbers:
    """Where each run of equal values begins."""
    return np.flatnonzero(np.concatenate([[True], sorted_values[1:] != sorted_values[:-1]]))


__all__ = ["NEAR", "NO_KIND", "Entries", "Shared", "merged", "sorting", "starts_of"]
