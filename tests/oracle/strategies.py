"""Sensitivities of strategies for correlated noise, by all places and all signs."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]


def brute(gram: Array, separation: int, participations: int) -> float:
    """The sensitivity by all places with all signs; none is missed, as the norm is convex in the vectors."""
    best = 0.0
    for k in range(1, participations + 1):
        for places in itertools.combinations(range(len(gram)), k):
            if all(q - p >= separation for p, q in itertools.pairwise(places)):
                own = gram[np.ix_(places, places)]
                best = max(best, *(np.array(s) @ own @ np.array(s) for s in itertools.product((1, -1), repeat=k)))
    return math.sqrt(best)


def triangular(column: Any, n: int) -> Array:
    """A lower triangular Toeplitz matrix, column by column."""
    matrix = np.zeros((n, n))
    for i, value in enumerate(column[:n]):
        matrix += np.diag(np.full(n - i, value), -i)
    return matrix
