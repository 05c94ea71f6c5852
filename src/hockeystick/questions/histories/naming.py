"""Equal things get equal numbers: values of an array, and sequences of numbers of different lengths.

Numbers are given by comparing the values themselves, so that two sequences have the same number where they are equal
and nowhere else: a collision of hashes would give a user somebody else's epsilon. A table of slots says where to look
first, and what does not stand there is looked up among the sorted values.

Sequences are named by halves, as substrings are in Karp, Miller and Rosenberg's matching: in each pass neighbours are
paired, and each distinct pair gets a number, which takes their place. A sequence of n numbers is one number after
``ceil(log2 n)`` passes. An odd one at the end is paired with :data:`NOTHING`, which is no number, so that after as many
passes equal numbers mean equal sequences; and sequences that took different numbers of passes are numbered apart.
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

NOTHING = 0
"""What stands beside the last of an odd number; the numbers themselves are moved up by one."""


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


def sequences(symbols: Numbers, starts: Numbers) -> tuple[Numbers, Numbers]:
    """Which sequences are equal.

    Args:
        symbols: the sequences one after the other, each element a number from 0 on, shape (elements,).
        starts: where each sequence begins, shape (sequences,), ascending from 0; none is empty.

    Returns:
        The number of each sequence, shape (sequences,), from 0 on without gaps, equal for equal sequences and for no
        others; and a sequence that has each number, shape (numbers,).

    >>> sequences(np.array([4, 7, 4, 7, 7, 4, 4, 7]), np.array([0, 2, 3, 4, 6]))
    (array([2, 0, 1, 3, 2]), array([1, 2, 0, 3]))
    """
    lengths = np.diff(np.append(starts, len(symbols)))
    number = np.full(len(starts), -1, dtype=np.int64)
    named = 0
    left = np.arange(len(starts))  # sequences that are not one number yet
    while True:
        done = lengths == 1
        found = Names(np.int64)
        number[left[done]] = named + found.of(symbols[starts[done]])
        named += len(found)
        if done.all():
            break
        left, starts, lengths = left[~done], starts[~done], lengths[~done]
        symbols, lengths = _paired(symbols, starts, lengths)
        starts = np.cumsum(lengths) - lengths
    representative = np.empty(named, dtype=np.int64)
    representative[number[::-1]] = np.arange(len(number))[::-1]  # the first one stays
    return number, representative


def _paired(symbols: Numbers, starts: Numbers, lengths: Numbers) -> tuple[Numbers, Numbers]:
    """Each sequence with a number for each pair of neighbours: the new symbols, and the new lengths."""
    halves = (lengths + 1) // 2
    first = np.arange(halves.sum()) - np.repeat(np.cumsum(halves) - halves, halves)  # number of the pair, from 0
    place = np.repeat(starts, halves) + 2 * first
    alone = 2 * first + 1 == np.repeat(lengths, halves)
    left = symbols[place] + 1
    right = np.where(alone, NOTHING, symbols[np.where(alone, place, place + 1)] + 1)
    base = int(symbols.max()) + 2
    assert base < 1 << 31  # the numbers of a pass are fewer than its elements
    return Names(np.int64).of(left * base + right), halves


__all__ = ["Names", "sequences"]
