"""Long arrays: evaluation of a function block by block, and reuse of freed memory for new arrays."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]

BLOCK = 1 << 13
"""Numbers per block. The intermediate arrays of a formula then stay in the cache, and are smaller than 128 KiB. For
each larger array, the system allocates fresh memory page by page, which takes several times as long as the formula."""

CHUNK = 1 << 16
"""Numbers in an array of many rows, such as queries or terms of a series, that are computed together."""

MOST_POINTS = 1 << 21
"""Largest number of points of a transform, of cells of one round on a grid, and of nodes of one cell: 150 to 250 MB."""

HEAP = 1 << 23
"""Largest size in bytes of arrays served from the heap, which keeps the memory of freed ones: a dozen of a chunk."""


def arrays_from_the_heap() -> None:
    """Make the C library reuse freed memory for arrays of up to HEAP bytes, instead of mapping fresh pages for each.

    By default, the ``malloc`` of glibc maps fresh pages for every block of 128 KiB or more, and returns free memory at
    the end of its heap to the system when it exceeds 128 KiB. Fresh pages are cleared one by one when touched, which
    takes longer than the formula that fills the array. When a mapped block is freed, glibc raises the first limit to
    the size of that block, and the second limit to twice that size (mallopt(3), M_MMAP_THRESHOLD). So this function
    allocates one block of HEAP bytes and frees it untouched. Afterwards, up to ``2 * HEAP`` free bytes may stay with
    the process. With other C libraries, this function does nothing.

    >>> arrays_from_the_heap()
    """
    np.empty(HEAP, dtype=np.uint8)


arrays_from_the_heap()  # as soon as an engine is loaded: all of them work on temporary arrays


def by_blocks(function: Callable[[Array], Array], x: Array) -> Array:
    """Evaluate an elementwise function on an array of shape (n,), block by block, with the values of a single call.

    >>> by_blocks(np.square, np.array([1.0, 2.0])).tolist()
    [1.0, 4.0]
    """
    if len(x) <= BLOCK:
        return function(x)
    return np.concatenate([function(x[start : start + BLOCK]) for start in range(0, len(x), BLOCK)])
