"""Merging of users' rows and entries, in any order and in several parts, to one entry for each user and kind of step.

Users are shared among *buckets* by the last bits of their numbers, so that the entries of a bucket stay in the cache.
There a radix sort, sixteen bits at a time, orders them by user and kind. Arrays as long as the table are read and
written in long runs, never in random order.
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
"""Kind of a row that is no step of its user: one of 0 steps, after the cut, or invalid."""

BITS = 8
"""Bits of a user's number that determine its bucket: one of 256."""

NEAR = 1 << 17
"""Number of entries below which there are no buckets: 3 MB."""

FAR = 1 << 19
"""Number of entries from which on a bucket is split again by the next bits."""

DIGITS = 16
"""Bits that NumPy sorts at once by radix."""


@dataclass(frozen=True, slots=True)
class Entries:
    """Entries: users, kinds and steps.

    Attributes:
        user: numbers of the users, shape (entries,).
        kind: numbers of the kinds, shape (entries,).
        steps: numbers of steps, as doubles.
        first: index of the first row of each, in whose order entries of one user and kind stand; None if unused.
    """

    user: Numbers
    kind: npt.NDArray[np.int32]
    steps: Array
    first: npt.NDArray[np.integer[Any]] | None

    def __len__(self) -> int:
        """Return the number of entries."""
        return len(self.user)

    def some(self, chosen: slice | Mask) -> Entries:
        """Return some of the entries, in their order."""
        first = None if self.first is None else self.first[chosen]
        return Entries(self.user[chosen], self.kind[chosen], self.steps[chosen], first)

    def at(self, places: Numbers) -> Entries:
        """Return the entries at some indices."""
        first = None if self.first is None else self.first.take(places)
        return Entries(self.user.take(places), self.kind.take(places), self.steps.take(places), first)

    @classmethod
    def together(cls, parts: Sequence[Entries]) -> Entries:
        """Return parts one after the other."""
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
        """Return the entries without those of no kind, which come first, of users who have others."""
        idle = self.kind == NO_KIND
        if not idle.any():
            return self
        lengths = np.diff(np.append(starts, len(self)))
        idle[starts[lengths == 1]] = False
        return self.some(~idle)


@dataclass(frozen=True, slots=True)
class Shared:
    """Entries by bucket, in their original order.

    Attributes:
        entries: entries of one bucket after the other.
        ends: begin of each bucket, and end of the last one.
    """

    entries: Entries
    ends: list[int]

    @classmethod
    def among_buckets(cls, entries: Entries, skipped: int = 0) -> Self:
        """Return entries by the last bits of their users' numbers, after ``skipped`` bits."""
        bucket = (entries.user >> skipped).astype(np.uint8)
        ends = np.cumsum(np.bincount(bucket, minlength=1 << BITS))
        return cls(entries.at(np.argsort(bucket, kind="stable")), [0, *ends.tolist()])


def merged(parts: Sequence[Shared | Entries], kinds: int, skipped: int = 0) -> Iterator[Entries]:
    """Yield one entry for each user and kind, bucket by bucket, sorted by user and then by kind.

    Args:
        parts: entries in the order of their first rows, possibly in buckets already.
        kinds: number of kinds.
        skipped: number of last bits that all users' numbers share.
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
    """One entry for each user and kind, sorted by user and then by kind.

    Args:
        entries: at least one entry.
        skipped: number of last bits that all users' numbers share.
        kinds: number of kinds.
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
    """Return the permutation that sorts whole numbers, stable, shape (keys,).

    Args:
        keys: whole numbers from 0 on.
        bits: bound on the number of bits of the largest.

    >>> sorting(np.array([70000, 3, 70000, 65536]), 17)
    array([1, 3, 0, 2])
    """
    order = np.argsort(keys.astype(np.uint16), kind="stable")  # order by the last bits
    for shift in range(DIGITS, bits, DIGITS):
        order = order[np.argsort((keys >> keys.dtype.type(shift)).astype(np.uint16)[order], kind="stable")]
    return order


def starts_of(sorted_values: npt.NDArray[Any]) -> Numbers:
    """Return the begin of each run of equal values."""
    return np.flatnonzero(np.concatenate([[True], sorted_values[1:] != sorted_values[:-1]]))


__all__ = ["NEAR", "NO_KIND", "Entries", "Shared", "merged", "sorting", "starts_of"]
