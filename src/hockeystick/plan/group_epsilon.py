"""Epsilon of a group from certified deltas of it: an epsilon counts where the delta there was seen to be small enough.

Whatever the search does, the answer is one of the epsilons that were looked at, and the upper end of delta there is at
most the target: it is an upper bound, were the deltas not even monotone.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]

PLACES = 17  # epsilons that are looked at at once, each time
TOLERANCE = 1e-7  # relative, of the epsilon: a tenth of what intervals are asked for
FARTHEST = 1e6  # epsilon beyond which none is looked for: it promises nothing, and takes seconds to find


def least_epsilon(delta_at: Callable[[Array], Array], target: float, start: float) -> float:
    """The least epsilon found at which a certified delta is at most the target; ``inf`` where none was found.

    Args:
        delta_at: certified upper ends of delta at an array of epsilons.
        target: the delta that is wanted.
        start: an epsilon to look from, such as the number of records times that of one of them; greater than 0.

    >>> least_epsilon(lambda epsilon: np.exp(-epsilon), math.exp(-3), 1.0) - 3 < 1e-6
    True
    """
    if delta_at(np.zeros(1))[0] <= target:
        return 0.0
    low, high = 0.0, max(start, 1e-9)
    while not delta_at(np.array([high]))[0] <= target:
        low, high = high, 4 * high
        if high > FARTHEST:
            return math.inf
    while high - low > TOLERANCE * high:
        places = np.linspace(low, high, PLACES + 2)[1:-1]
        if not (np.diff(places) > 0).all():  # doubles beside each other
            break
        met = np.flatnonzero(delta_at(places) <= target)
        first = int(met[0]) if len(met) else PLACES
        low, high = (
            (low if first == 0 else float(places[first - 1])),
            (high if first == PLACES else float(places[first])),
        )
    return high
