"""Long sums to about one rounding, in the time of a few array operations."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]

FEW = 64  # terms that are added up exactly, one by one


def accurate_sum(x: Array) -> float:
    """The sum of non-negative terms, to two units of round-off of itself.

    Halves of the array are added to each other, again and again, with the rounding error of each addition, which is a
    double itself (Knuth, TwoSum; Higham 2002 [Hig02], Section 4.3). With u the
    unit round-off, l the number of levels and S the sum, the errors of one level are at most u S together, so that they
    are u l S in all, and their own sum, to l roundings a level, is off by (u l)^2 S at most: far below a rounding of S.
    ``math.fsum``, which is exact, takes up to a hundred times as long where terms differ by many orders.
    """
    rest = 0.0
    while len(x) > FEW:
        half = len(x) // 2
        a, b = x[:half], x[half : 2 * half]
        total = a + b
        back = total - a
        rest += float(((a - (total - back)) + (b - back)).sum())
        x = np.append(total, x[2 * half :])
    return math.fsum([*x.tolist(), rest])
