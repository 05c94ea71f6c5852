"""Long sums with about one rounding error, in the time of a few array operations."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]

FEW = 64  # at most so many terms are added up exactly


def accurate_sum(x: Array) -> float:
    """Return the sum of non-negative terms, with a relative error of at most two units of round-off.

    The two halves of the array are added repeatedly, keeping the rounding error of each addition, which is itself a
    double (Knuth, TwoSum; Higham 2002 [Hig02], Section 4.3). With u the unit round-off, l the number of levels and S
    the sum, the errors of one level total at most u S, so those of all levels total u l S, and their own sum, with l
    roundings per level, errs by at most (u l)^2 S: far below a rounding of S. ``math.fsum``, which is exact, takes up
    to a hundred times as long if terms differ by many orders of magnitude.
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
