"""How many terms the sum over atoms has (``atoms.py``), counted in floating point before the first of them is made.

The sums are the nodes of a tree: one node for the whole, its children the numbers of rounds that show the last loss,
theirs those that show the last but one, and so on down to two losses, between which a whole window of terms lies. Here
the nodes of one depth are one array. The count decides what is tried, and no end of a proof rests on it.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]


DOUBT = 1.02  # times as many as a limit says are not yet too many, as ends of windows may differ by roundings


class Counted(NamedTuple):
    """How large a sum over atoms is: where a limit is exceeded, as far as it was counted.

    Attributes:
        sums: over the number of one loss, that are begun.
        terms: of the law.
    """

    sums: int
    terms: int


def counted(log_masses: list[float], count: int, log_floor: float, most: Counted) -> Counted:
    """The sums and terms of the count-fold law of atoms, at least two, up to a limit.

    Args:
        log_masses: of the atoms in their order, under P.
        count: of rounds.
        log_floor: log of the mass below which terms are left out.
        most: where to stop.
    """
    from scipy.special import gammaln

    log_totals = np.logaddexp.accumulate(log_masses)
    rounds, floors = np.array([float(count)]), np.array([log_floor])
    sums = 1
    for last in range(len(log_masses) - 1, 0, -1):
        total = float(log_totals[last])
        shares = log_masses[last] - total, float(log_totals[last - 1]) - total
        low, high = windows(rounds, *shares, floors - rounds * total)
        widths = high - low + 1
        found = float(widths.sum())
        if last == 1:
            return Counted(sums, int(found))
        sums += int(found)
        if sums > DOUBT * most.sums:
            break
        each = widths.astype(np.intp)
        before = np.repeat(np.cumsum(each) - each, each)
        n = np.repeat(low, each) + (np.arange(len(before)) - before)
        rounds, floors = np.repeat(rounds, each), np.repeat(floors, each)
        floors = floors - (gammaln(rounds + 1) - gammaln(n + 1) - gammaln(rounds - n + 1) + n * log_masses[last])
        rounds = rounds - n
    return Counted(sums, 0)


def windows(rounds: Array, log_share: float, log_rest: float, log_floors: Array) -> tuple[Array, Array]:
    """The first and last n of a window, as ``atoms.py`` lays it, for each number of rounds and its floor."""
    from scipy.special import xlogy

    whole = np.maximum(rounds, 1.0)  # where there is no round n is 0

    def reaches(n: Array) -> npt.NDArray[np.bool_]:
        rest = rounds - n
        divergence = xlogy(n, n / whole) - n * log_share + xlogy(rest, rest / whole) - rest * log_rest
        found: npt.NDArray[np.bool_] = -divergence >= log_floors
        return found

    mode = np.clip(np.rint(rounds * math.exp(log_share)), 0, rounds)
    ends = []
    for far in (np.zeros_like(rounds), rounds):
        near, beyond = mode, far
        while (np.abs(beyond - near) > 1).any():  # bisection between the mode and an end
            middle = np.floor((near + beyond) / 2)
            apart = np.abs(beyond - near) > 1
            inside = reaches(middle)
            near, beyond = np.where(apart & inside, middle, near), np.where(apart & ~inside, middle, beyond)
        ends.append(np.where(reaches(beyond), beyond, near))
    return ends[0], ends[1]
