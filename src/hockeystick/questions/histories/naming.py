"""Exact numbering of equal things: values of an array, pairs of values, and sequences of different lengths.

Numbers are assigned by comparing the things themselves, so two sequences share a number if and only if they are equal:
a hash collision would give a user somebody else's epsilon. A hash only proposes a candidate for comparison. A value is
looked up in a table of slots, or else among the sorted values. A sequence is compared with the first one of its digest,
and found by its bytes if it differs.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Numbers = npt.NDArray[np.int64]

BLOCK = 1 << 20
"""Number of values looked up together: arrays of 8 MB, a few of which fit into the cache."""

SLOTS = 17
"""Binary digits of a slot's index: 2^17 slots fit into the second cache of a core, and ten thousand values rarely share
one."""

SPREAD = np.uint64(0x9E3779B97F4A7C15)
"""Odd multiplier near 2^64 over the golden ratio: the first digits of its multiples spread neighbours apart."""

OTHER_SPREAD = np.uint64(0xD1342543DE82EF95)
"""Second odd multiplier."""


class Names:
    """Numbering 0, 1, ... of the distinct values of successive arrays.

    Args:
        dtype: type of the values, numbers of eight bytes without NaN and -0.0.

    >>> names = Names(np.float64)
    >>> names.of(np.array([2.5, 1.0, 2.5])).tolist(), names.of(np.array([7.0, 1.0])).tolist()
    ([1, 0, 1], [2, 0])
    >>> names.values.tolist()
    [1.0, 2.5, 7.0]
    """

    def __init__(self, dtype: npt.DTypeLike) -> None:
        self._sorted = np.empty(0, dtype=dtype)
        self._number = np.empty(0, dtype=np.int64)  # number of each of the sorted values
        self._in_slot = np.zeros(1 << SLOTS, dtype=np.int64)  # index among the sorted ones

    def __len__(self) -> int:
        """Return how many distinct values there are."""
        return len(self._sorted)

    @property
    def values(self) -> npt.NDArray[Any]:
        """Distinct values, shape (numbers,): number n belongs to ``values[n]``."""
        values = np.empty_like(self._sorted)
        values[self._number] = self._sorted
        return values

    def of(self, values: npt.NDArray[Any]) -> Numbers:
        """Return the number of each value, in the given shape; new values get the next numbers."""
        out = np.empty(len(values), dtype=np.int64)
        for start in range(0, len(values), BLOCK):
            out[start : start + BLOCK] = self._of_block(values[start : start + BLOCK])
        return out

    def _of_block(self, block: npt.NDArray[Any]) -> Numbers:
        place, known = self._looked_up(block)
        if not known.all():
            new = np.unique(block[~known])
            at = np.searchsorted(self._sorted, new)
            numbers = np.arange(len(self._sorted), len(self._sorted) + len(new))
            self._sorted = np.insert(self._sorted, at, new)
            self._number = np.insert(self._number, at, numbers)
            self._in_slot[_slots(self._sorted)] = np.arange(len(self._sorted))
            place, known = self._looked_up(block)
            assert known.all()  # NaN has no number
        return self._number[place]

    def _looked_up(self, block: npt.NDArray[Any]) -> tuple[Numbers, npt.NDArray[np.bool_]]:
        """Index of each value among the sorted ones, and a mask of those found."""
        if not len(self._sorted):
            return np.zeros(len(block), dtype=np.int64), np.zeros(len(block), dtype=bool)
        place = self._in_slot[_slots(block)]
        known = self._sorted[place] == block
        if not known.all():
            others = np.flatnonzero(~known)
            found = np.minimum(np.searchsorted(self._sorted, block[others]), len(self._sorted) - 1)
            place[others] = found
            known[others] = self._sorted[found] == block[others]
        return place, known


def _slots(values: npt.NDArray[Any]) -> npt.NDArray[np.uint64]:
    """Slot of each value."""
    spread = values.view(np.uint64) * SPREAD  # modulo 2^64
    spread >>= np.uint64(64 - SLOTS)
    return spread


class Pairs:
    """Numbering 0, 1, ... of the distinct pairs of two successive arrays of doubles.

    >>> pairs = Pairs()
    >>> pairs.of(np.array([1.0, 2.0, 1.0]), np.array([0.1, 0.1, 0.1])).tolist(), len(pairs)
    ([0, 1, 0], 2)
    >>> pairs.first.tolist(), pairs.second.tolist()
    ([1.0, 2.0], [0.1, 0.1])
    """

    def __init__(self) -> None:
        self.first, self.second = np.empty(0), np.empty(0)
        self._firsts, self._seconds, self._both = Names(np.float64), Names(np.float64), Names(np.int64)
        self._in_slot = np.zeros(1 << SLOTS, dtype=np.int32)  # a number

    def __len__(self) -> int:
        """Return how many distinct pairs there are."""
        return len(self.first)

    def of(self, first: npt.NDArray[np.float64], second: npt.NDArray[np.float64]) -> npt.NDArray[np.int32]:
        """Return the number of each pair, in the given shape."""
        slots = self._slots(first, second)
        number = self._in_slot[slots]
        if len(self):
            known = self.first[number] == first
            known &= self.second[number] == second
            if known.all():
                return number
            others = np.flatnonzero(~known)
        else:
            others = np.arange(len(first))
        number[others] = self._one_by_one(first[others], second[others])
        return number

    def _one_by_one(self, first: npt.NDArray[np.float64], second: npt.NDArray[np.float64]) -> npt.NDArray[np.int32]:
        """Number of each pair, by the numbers of its values."""
        both = self._firsts.of(first) * MOST_VALUES + self._seconds.of(second)
        assert max(len(self._firsts), len(self._seconds)) < MOST_VALUES  # as many values would take 16 GB
        number = self._both.of(both)
        assert len(self._both) < MOST_VALUES
        if len(self._both) > len(self):
            firsts, seconds = np.divmod(self._both.values, MOST_VALUES)
            self.first, self.second = self._firsts.values[firsts], self._seconds.values[seconds]
            self._in_slot[self._slots(self.first, self.second)] = np.arange(len(self.first))
        return number.astype(np.int32)

    @staticmethod
    def _slots(first: npt.NDArray[np.float64], second: npt.NDArray[np.float64]) -> npt.NDArray[np.uint64]:
        spread = first.view(np.uint64) * SPREAD
        spread += second.view(np.uint64) * OTHER_SPREAD
        spread >>= np.uint64(64 - SLOTS)
        return spread


class Sequences:
    """Numbering 0, 1, ... of the distinct sequences of pairs (whole number, double) that arrive in batches.

    Attributes:
        starts: begin of each distinct sequence in the other two, and their end, shape (numbers + 1,).
        symbols, amounts: elements of the distinct sequences.

    >>> sequences = Sequences()
    >>> symbols, amounts = np.array([4, 7, 4, 7, 7], dtype=np.int32), np.array([1.0, 2.0, 1.0, 2.0, 2.0])
    >>> sequences.of(symbols, amounts, np.array([0, 2, 4]))
    array([0, 0, 1])
    >>> sequences.starts, sequences.symbols
    (array([0, 2, 3]), array([4, 7, 7], dtype=int32))
    """

    def __init__(self) -> None:
        self.starts = np.zeros(1, dtype=np.int64)
        self.symbols, self.amounts = np.empty(0, dtype=np.int32), np.empty(0)
        self._digests = Names(np.int64)
        self._of_digest = np.empty(0, dtype=np.int64)  # number of the first sequence with each digest
        self._by_bytes: dict[bytes, int] = {}  # numbers of sequences that share an earlier one's digest

    def __len__(self) -> int:
        """Return how many distinct sequences there are."""
        return len(self.starts) - 1

    def of(self, symbols: npt.NDArray[np.int32], amounts: npt.NDArray[np.float64], starts: Numbers) -> Numbers:
        """Return the number of each sequence, shape (sequences,), equal if and only if the sequences are.

        Args:
            symbols, amounts: sequences one after the other, shape (elements,); amounts contain neither NaN nor -0.0.
            starts: begin of each sequence, ascending from 0; none is empty.
        """
        ends = np.append(starts[1:], len(symbols))
        digest = self._digests.of(digests(symbols, amounts, starts))
        if len(self._digests) > len(self._of_digest):
            others = np.flatnonzero(digest >= len(self._of_digest))
            new = others[np.unique(digest[others], return_index=True)[1]]  # first sequence of each digest, in order
            self._of_digest = np.append(self._of_digest, len(self) + np.arange(len(new)))
            self._keep(symbols, amounts, starts[new], ends[new])
        number = self._of_digest[digest]
        for one in self._others(symbols, amounts, starts, ends, number).tolist():
            part = slice(starts[one], ends[one])
            said = symbols[part].tobytes() + amounts[part].tobytes()
            if said not in self._by_bytes:
                self._by_bytes[said] = len(self)
                self._keep(symbols, amounts, starts[one : one + 1], ends[one : one + 1])
            number[one] = self._by_bytes[said]
        return number

    def _others(
        self,
        symbols: npt.NDArray[np.int32],
        amounts: npt.NDArray[np.float64],
        starts: Numbers,
        ends: Numbers,
        number: Numbers,
    ) -> Numbers:
        """Indices of the sequences that differ from those of their numbers."""
        lengths, known = ends - starts, self.starts[number]
        same = self.starts[number + 1] - known == lengths
        place = np.repeat(known - starts, lengths)
        place += np.arange(len(symbols))
        np.minimum(place, len(self.symbols) - 1, out=place)  # past the end if lengths differ
        equal = self.symbols[place] == symbols
        equal &= self.amounts[place] == amounts
        if not equal.all():
            same &= np.logical_and.reduceat(equal, starts)
        return np.flatnonzero(~same)

    def _keep(
        self, symbols: npt.NDArray[np.int32], amounts: npt.NDArray[np.float64], starts: Numbers, ends: Numbers
    ) -> None:
        """Assign the next numbers to some sequences."""
        lengths = ends - starts
        until = np.cumsum(lengths)
        place = np.repeat(starts - (until - lengths), lengths) + np.arange(int(lengths.sum()))
        self.symbols = np.append(self.symbols, symbols[place])
        self.amounts = np.append(self.amounts, amounts[place])
        self.starts = np.append(self.starts, self.starts[-1] + until)


def digests(symbols: npt.NDArray[np.int32], amounts: npt.NDArray[np.float64], starts: Numbers) -> Numbers:
    """Return a 64-bit digest of each sequence, equal for equal ones and rarely otherwise."""
    mixed = symbols.astype(np.uint64) * OTHER_SPREAD  # modulo 2^64, like all that follows
    mixed += amounts.view(np.uint64)
    for shift in (32, 29):
        mixed ^= mixed >> np.uint64(shift)
        mixed *= SPREAD
    sums = np.cumsum(mixed)
    ends = np.append(starts[1:], len(symbols)) - 1
    sums = sums[ends]
    sums[1:] -= sums[:-1].copy()
    found: Numbers = sums.view(np.int64)
    return found


MOST_VALUES = 1 << 31
"""Bound on the number of distinct values, so that a pair of their numbers fits into 63 bits."""

__all__ = ["Names", "Pairs", "Sequences"]
