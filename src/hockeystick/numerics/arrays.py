"""Arrays: matching inputs, blockwise evaluation of long ones, and the source of their memory."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]

BLOCK = 1 << 13
"""Numbers per block: the intermediate arrays of a formula stay in the cache, and below the 128 KiB from which on the
system allocates fresh memory for each, page by page, at several times the cost of the formula."""

HEAP = 1 << 23
"""Largest size in bytes of arrays served from the heap, which keeps the memory of freed ones: a dozen of a chunk."""


def arrays_from_the_heap() -> None:
    """Make the C library serve arrays of up to HEAP bytes from memory that it keeps, instead of mapping each anew.

    The malloc of glibc maps every block of 128 KiB or more separately, and returns free memory at the end of its heap
    beyond 128 KiB. The pages of the next array are then cleared one by one when touched, which takes longer than
    the formula that fills it. When a mapped block is freed, the two limits rise to its size and twice that (mallopt(3),
    M_MMAP_THRESHOLD), so it is enough to allocate one block and free it untouched. With other C libraries, this does
    nothing. Up to ``2 * HEAP`` free bytes may stay with the process.

    >>> arrays_from_the_heap()
    """
    np.empty(HEAP, dtype=np.uint8)


arrays_from_the_heap()  # as soon as an engine is loaded: all of them work on temporary arrays


def by_blocks(function: Callable[[Array], Array], x: Array) -> Array:
    """Return an elementwise function of an array of shape (n,), evaluated block by block with the same result.

    >>> by_blocks(np.square, np.array([1.0, 2.0])).tolist()
    [1.0, 4.0]
    """
    if len(x) <= BLOCK:
        return function(x)
    return np.concatenate([function(x[start : start + BLOCK]) for start in range(0, len(x), BLOCK)])
