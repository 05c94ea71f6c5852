"""Equal things get equal numbers: values of an array, pairs of values, and sequences of different lengths.

Numbers are given by comparing the things themselves, so that two sequences have the same number where they are equal
and nowhere else: a collision of hashes would give a user somebody else's epsilon. A hash only says with what a thing is
to be compared. A value is looked up in a table of slots, and what does not stand there among the sorted values. A
sequence is compared with the first one that had its digest, and where it is another one, it is found by its bytes.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Numbers = npt.NDArray[np.int64]

BLOCK = 1 << 20
"""Values that are looked up at once: arrays of 8 MB, of which a few fit where memory is near."""

SLOTS = 17
"""Binary digits of the number of a slot: 2^17 slots stay in the second cache of a core, and ten thousand values are
nearly all alone in theirs."""

SPREAD = np.uint64(0x9E3779B97F4A7C15)
"""An odd number near 2^64 divided by the golden ratio: the first digits of its multiples spread neighbours apart."""

OTHER_SPREAD = np.uint64(0xD1342543DE82EF95)
"""Another odd number, for the second of two."""


class Names:
    """Numbers 0, 1, ... for the distinct values of arrays that come one after the other.

    Args:
        dtype: of the values, numbers of eight bytes; not a number (NaN) and -0.0 are none of them.

    >>> names = Names(np.float64)
    >>> names.of(np.array([2.5, 1.0, 2.5])).tolist(), names.of(np.array([7.0, 1.0])).tolist()
    ([1, 0, 1], [2, 0])
    >>> names.values.tolist()
    [1.0, 2.5, 7.0]
    """

    def __init__(self, dtype: npt.DTypeLike) -> None:
        self._sorted = np.empty(0, dtype=dtype)
        self._number = np.empty(0, dtype=np.int64)  # of each of the sorted values
        self._in_slot = np.zeros(1 << SLOTS, dtype=np.int64)  # a place among the sorted ones

    def __len__(self) -> int:
        """How many distinct values have come."""
        return len(self._sorted)

    @property
    def values(self) -> npt.NDArray[Any]:
        """The distinct values, shape (numbers,): number n is that of ``values[n]``."""
        values = np.empty_like(self._sorted)
        values[self._number] = self._sorted
        return values

    def of(self, values: npt.NDArray[Any]) -> Numbers:
        """The number of each value, shape as given; values that have not come before get the next ones."""
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
            assert known.all()  # a value that is not equal to itself has no number
        return self._number[place]

    def _looked_up(self, block: npt.NDArray[Any]) -> tuple[Numbers, npt.NDArray[np.bool_]]:
        """Where each value stands among the sorted ones, and whether it does."""
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
    """The slot of each value."""
    spread = values.view(np.uint64) * SPREAD  # modulo 2^64
    spread >>= np.uint64(64 - SLOTS)
    return spread


class Pairs:
    """Numbers 0, 1, ... for the distinct pairs of two arrays of doubles that come one after the other.

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
        """How many distinct pairs have come."""
        return len(self.first)

    def of(self, first: npt.NDArray[np.float64], second: npt.NDArray[np.float64]) -> npt.NDArray[np.int32]:
        """The number of each pair, shape as given."""
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
        """The numbers of pairs by those of their values."""
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
    """Numbers 0, 1, ... for the distinct sequences of pairs (whole number, double) that come some after the other.

    Attributes:
        starts: where the sequence of each number begins in the other two, shape (numbers + 1,); the last is their end.
        symbols, amounts: the elements of the distinct sequences.

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
        self._of_digest = np.empty(0, dtype=np.int64)  # the number of the first sequence that had it
        self._by_bytes: dict[bytes, int] = {}  # numbers of those whose digest another one has

    def __len__(self) -> int:
        """How many distinct sequences have come."""
        return len(self.starts) - 1

    def of(self, symbols: npt.NDArray[np.int32], amounts: npt.NDArray[np.float64], starts: Numbers) -> Numbers:
        """The number of each sequence, shape (sequences,), equal for equal ones and for no others.

        Args:
            symbols, amounts: the sequences one after the other, shape (elements,); amounts are numbers, and not -0.0.
            starts: where each begins, ascending from 0; none is empty.
        """
        ends = np.append(starts[1:], len(symbols))
        digest = self._digests.of(digests(symbols, amounts, starts))
        if len(self._digests) > len(self._of_digest):
            others = np.flatnonzero(digest >= len(self._of_digest))
            new = others[
                np.unique(digest[others], return_index=True)[1]
            ]  # the first one of each digest, in their order
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
        """Which sequences are not those of their numbers."""
        lengths, known = ends - starts, self.starts[number]
        same = self.starts[number + 1] - known == lengths
        place = np.repeat(known - starts, lengths)
        place += np.arange(len(symbols))
        np.minimum(place, len(self.symbols) - 1, out=place)  # beyond the end where lengths differ
        equal = self.symbols[place] == symbols
        equal &= self.amounts[place] == amounts
        if not equal.all():
            same &= np.logical_and.reduceat(equal, starts)
        return np.flatnonzero(~same)

    def _keep(
        self, symbols: npt.NDArray[np.int32], amounts: npt.NDArray[np.float64], starts: Numbers, ends: Numbers
    ) -> None:
        """Give the next numbers to some sequences."""
        lengths = ends - starts
        until = np.cumsum(lengths)
        place = np.repeat(starts - (until - lengths), lengths) + np.arange(int(lengths.sum()))
        self.symbols = np.append(self.symbols, symbols[place])
        self.amounts = np.append(self.amounts, amounts[place])
        self.starts = np.append(self.starts, self.starts[-1] + until)


def digests(symbols: npt.NDArray[np.int32], amounts: npt.NDArray[np.float64], starts: Numbers) -> Numbers:
    """A number of 64 bits for each sequence, equal where they are equal, and hardly ever else."""
    mixed = symbols.astype(np.uint64) * OTHER_SPREAD  # modulo 2^64, as all that follows
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
"""More than there are distinct values: a pair of their numbers fits into one of 63 bits."""

__all__ = ["Names", "Pairs", "Sequences"]
