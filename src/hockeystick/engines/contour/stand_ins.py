"""A few kinds of sampled Gaussian rounds that steer a contour in place of many; they certify nothing.

Similar kinds lie in boxes, each of which is replaced by its middle, with equally many rounds and the same
``sum k q^2 (e^(mu^2) - 1)``, which is about ``2 K(1)``. The error of a box at other tilts is of second order in its
width.
"""

from __future__ import annotations

import heapq
import math

import numpy as np

from hockeystick.engines.core.line import STEEPEST
from hockeystick.engines.core.rows import Places, Rows

STAND_INS = 32  # largest number: with more, a guide takes longer than it saves
NEAR = 5e-4  # squared spread, weighted by the share of the variance, below which a box is not cut


def stand_ins(rows: Rows, most: int = STAND_INS) -> Rows:
    """Return a few kinds with about the same cumulants as many.

    The box whose log parameters have the largest squared spread, weighted by its share of the variance, is cut at its
    middle until no spread is large.

    Args:
        rows: the kinds and their counts, all of one direction.
        most: largest number of kinds returned.
    """
    mu, rate, count = rows.mu, rows.rate, rows.count
    logs = np.stack([np.log(mu), rows.log_rate])
    log_variance = np.log(count) + 2 * rows.log_rate + np.log(np.expm1(np.minimum(np.square(mu), STEEPEST)))
    top = float(log_variance.max())  # squares of rates may be below the range of a double
    variance = np.exp(np.maximum(log_variance - top, -STEEPEST))
    whole = float(variance.sum())
    heap: list[tuple[float, int, int, Places]] = []

    def push(number: int, which: Places) -> None:
        here = logs[:, which]
        spread = here.max(axis=1) - here.min(axis=1)
        axis = int(np.argmax(spread))
        share = float(variance[which].sum()) / whole
        heapq.heappush(heap, (-share * float(spread[axis]) ** 2, number, axis, which))

    push(0, np.arange(len(mu)))
    number = 1
    while len(heap) < most and heap[0][0] < -NEAR:
        _, _, axis, which = heapq.heappop(heap)
        here = logs[axis, which]
        high = here > 0.5 * (float(here.min()) + float(here.max()))
        for side in (which[high], which[~high]):
            push(number, side)
            number += 1
    found = np.empty((3, len(heap)))
    for at, (_, _, _, which) in enumerate(heap):
        part, times = float(variance[which].sum()), float(count[which].sum())
        middle = math.exp(float(variance[which] @ logs[0, which]) / part)
        log_one = top + math.log(part) - math.log(times) - math.log(math.expm1(min(middle * middle, STEEPEST)))
        lowest, highest = float(rate[which].min()), float(rate[which].max())
        found[:, at] = middle, min(max(math.exp(0.5 * log_one), lowest), highest), times
    return Rows(found[0], found[1], found[2], np.log(found[1]), np.full(len(heap), bool(rows.add[0])))
