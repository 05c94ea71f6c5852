"""Long sums with about one rounding error, in the time of a few array operations."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]

FEW = 64  # number of terms up to which ``math.fsum`` adds them


def accurate_sum(x: Array) -> float:
    """Return the sum of non-negative terms, with a relative error of at most two units of round-off.

    On each level, the two halves of the array are added elementwise, and the rounding errors of these additions are
    kept: they are doubles themselves (Knuth, TwoSum; Higham 2002 [Hig02], Section 4.3). Let u be the unit round-off, l
    the number of levels and S the sum. The kept errors of one level total at most u S, so the kept errors of all levels
    total at most u l S. They are added with l roundings per level, which causes an error of at most (u l)^2 S. This is
    far below a rounding of S. ``math.fsum`` alone, which is exact, takes up to a hundred times as long if terms differ
    by many orders of magnitude.
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
