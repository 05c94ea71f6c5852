"""Long arrays: evaluation of a function block by block, and reuse of freed memory for new arrays."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]

BLOCK = 1 << 13
"""Numbers per block. The intermediate arrays of a formula on one block stay in the processor's cache, and are smaller
than 128 KiB. For each larger array, the system allocates fresh memory page by page, which takes several times as long
as the formula."""

CHUNK = 1 << 16
"""Numbers in one two-dimensional temporary array. Its rows, such as queries or terms of a series, are computed
together; further rows are computed later."""

MOST_POINTS = 1 << 21
"""Largest number of points of a transform, of cells of one round on a grid, and of nodes of one cell. A computation of
this size takes 150 to 250 MB of memory."""

HEAP = 1 << 23
"""Largest size in bytes of an array that is allocated on the heap, where freed memory is reused. It is the size of
sixteen arrays of CHUNK doubles."""


def arrays_from_the_heap() -> None:
    """Make the C library reuse freed memory for arrays of up to HEAP bytes, instead of mapping fresh pages for each.

    The ``malloc`` of glibc has two limits, both 128 KiB by default. It maps fresh pages for every block of at least the
    first limit. It returns free memory at the end of the heap to the system when that memory exceeds the second limit.
    Fresh pages are cleared one by one when touched, which takes longer than the formula that fills the array. When a
    mapped block is freed, glibc raises the first limit to the size of that block, and the second limit to twice that
    size (mallopt(3), M_MMAP_THRESHOLD). So this function allocates one block of HEAP bytes and frees it untouched.
    Afterwards, up to ``2 * HEAP`` free bytes may stay with the process. With other C libraries, nothing changes.

    >>> arrays_from_the_heap()
    """
    np.empty(HEAP, dtype=np.uint8)


arrays_from_the_heap()  # on import, since every engine allocates many temporary arrays


def by_blocks(function: Callable[[Array], Array], x: Array) -> Array:
    """Evaluate an elementwise function on an array of shape (n,), block by block; the values equal ``function(x)``.

    >>> by_blocks(np.square, np.array([1.0, 2.0])).tolist()
    [1.0, 4.0]
    """
    if len(x) <= BLOCK:
        return function(x)
    return np.concatenate([function(x[start : start + BLOCK]) for start in range(0, len(x), BLOCK)])
