"""Arrays from outside that belong together, long ones that are worked on by blocks, and where their memory is from."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]

BLOCK = 1 << 13
"""Numbers of a block: the arrays that a formula makes on its way stay in the cache, and below the 128 KiB from which on
the system hands out memory anew for each, page by page, at several times the cost of the formula."""

HEAP = 1 << 23
"""Bytes up to which arrays come from the heap, which keeps the memory of those that are gone: a dozen of a chunk."""


def arrays_from_the_heap() -> None:
    """Have the C library serve arrays of up to HEAP bytes from memory that it keeps, and not map each anew.

    The malloc of glibc maps every block from 128 KiB on by itself, and returns what lies free at the end of its heap
    beyond as much; the pages of the next array are then cleared one by one as they are touched, which takes longer than
    the formula that fills it. When a mapped block is freed, both limits rise to its size and twice that, as mallopt(3)
    says of M_MMAP_THRESHOLD: one block that is asked for, never touched and freed is enough. Elsewhere it does nothing.
    Up to ``2 * HEAP`` bytes that are free may stay with the process.

    >>> arrays_from_the_heap()
    """
    np.empty(HEAP, dtype=np.uint8)


arrays_from_the_heap()  # as early as an engine is loaded: all of them work on arrays that come and go


def by_blocks(function: Callable[[Array], Array], x: Array) -> Array:
    """Return an elementwise function of an array of shape (n,), block by block: the same numbers.

    >>> by_blocks(np.square, np.array([1.0, 2.0])).tolist()
    [1.0, 4.0]
    """
    if len(x) <= BLOCK:
        return function(x)
    return np.concatenate([function(x[start : start + BLOCK]) for start in range(0, len(x), BLOCK)])
