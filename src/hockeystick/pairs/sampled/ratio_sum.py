"""Sums of many independent whole numbers of few laws, with every mass bounded: Fourier powers of tilted laws.

Let ``w_j`` be the masses of a law at ``j = 0, ..., n``, and S the sum of k independent such numbers (of several laws,
so many of each). With the tilt theta, and ``kappa = sum k log sum_j w_j e^(theta j)``,

    P(S = s) = e^(kappa - theta s) V_theta(s),

V_theta the law of the sum of as many independent numbers with masses ``w_j e^(theta j)``, scaled to 1. A transform of
any period M that is longer than what is read of it gives V_theta with an absolute error (``numerics/fourier.py``) which
is small beside V_theta near its mean: so each mass of S is read at the tilt for which ``e^(kappa - theta s)`` is
least, s lying between the means of its neighbours. The tilts are a few standard deviations apart, and go on as long as
masses there are above ``e^-DEPTH``, or to the ends of the support.

**What is charged.** The error of the transform; roundings of the tilted masses, once for each of the numbers, and of
``kappa - theta s``. A period shorter than the support adds to V_theta(s) what V_theta has at ``s + M, s - M, ...``:
from above that is welcome, and from below what V_theta has from ``low + M`` on and up to ``high - M`` is taken off all
that is read between low and high, by Chernoff's bound ``V(S >= x) <= e^(kappa(theta + d) - kappa(theta) - d x)``. The
masses beyond the first and the last that are read are bounded likewise, at the tilts of these.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from hockeystick.numerics.fourier import convolution_power, fast_length
from hockeystick.numerics.rounding import UNIT_ROUNDOFF
from hockeystick.numerics.work import spend
from hockeystick.pairs.base import Array
from hockeystick.values.errors import UnsupportedError

DEPTH = 300.0
"""Logarithm of the reciprocal of the mass at which tilts end: far below any delta that is asked of many epochs."""

APART = 3.0  # standard deviations between the means of neighbouring tilts
PERIOD = 20.0  # standard deviations, of one transform
SHIFTS = (0.03, 0.1, 0.3, 1.0, 3.0, 6.0, 10.0, 14.0)  # of the tilt for Chernoff's bound, in units of 1 / deviation
BACK = (0.5, 0.9)  # shares of the way back to no tilt, where the tail is that of the law itself
WRAPPED = 1e-13  # of the largest mass, that may come from other periods before a longer one is taken
LONGEST = 2**20  # period that is doubled to
MOST_POINTS = 2**24  # of a transform: half a gigabyte, and a second
LEAST_DEVIATION = 0.3  # of a tilted sum: next to an end of the support
NEXT_TO_THE_END = 0.25  # distance of a mean from the end of the support, from which on all masses are read
MOST_TILTS = 400  # in either direction
FARTHEST = 700.0  # exponent within the range of a double
WHOLE = 1.5  # more than any mass: laws that are summed have masses of 1 together, but for roundings
UNDERFLOW = 1e-290  # absolute, for entries below the range of a double
SPARE = 1e-12  # relative, of an exponent, and for each of the numbers whose logarithm of a mass enters it
TRANSFORMED = 60.0  # units of work of one point of a transform and of its power


@dataclass(frozen=True, slots=True)
class Summed:
    """Masses of the sum at ``first, first + 1, ...``.

    Attributes:
        first: the least sum that is listed.
        masses: shape (m,), each rounded to the asked side.
        below: what may be at smaller sums, rounded up.
        beyond: what may be at larger sums, rounded up.
    """

    first: int
    masses: Array
    below: float
    beyond: float


@dataclass(frozen=True, slots=True)
class _Tilted:
    """The sum at one tilt: kappa, the mean and the standard deviation, and the parts' shares of kappa."""

    theta: float
    kappas: tuple[float, ...]
    kappa: float
    mean: float
    deviation: float


def summed(parts: Sequence[tuple[Array, int]], above: bool) -> Summed:
    """The law of a sum of independent numbers.

    Args:
        parts: masses at 0, 1, ... of one number, and how many of them there are.
        above: whether masses are rounded up; else down.

    Raises:
        UnsupportedError: numbers so many, or so uneven, that a transform would have more than MOST_POINTS points.
    """
    parts = [(masses, count) for masses, count in parts if count]
    ends = _ends(parts)
    tilts = _tilts(parts, ends)
    edges = [_edge(tilts[0], -1, ends)]
    for one, other in pairwise(tilts):
        meet = (other.kappa - one.kappa) / (other.theta - one.theta)  # where e^(kappa - theta s) is the same
        edges.append(min(max(math.floor(meet) + 1, edges[-1]), ends[1] + 1))
    edges.append(max(_edge(tilts[-1], +1, ends) + 1, edges[-1]))
    pieces = [
        _read(parts, tilt, low, high, ends, above)
        for tilt, low, high in zip(tilts, edges, edges[1:], strict=False)
        if high > low
    ]
    below = _beyond(parts, tilts[0], -1, edges[0]) if edges[0] > ends[0] else 0.0
    beyond = _beyond(parts, tilts[-1], +1, edges[-1] - 1) if edges[-1] <= ends[1] else 0.0
    return Summed(edges[0], np.concatenate(pieces), below, beyond)


def _at(parts: Sequence[tuple[Array, int]], theta: float) -> _Tilted:
    """Kappa and its first two derivatives."""
    kappas, mean, variance = [], 0.0, 0.0
    for masses, count in parts:
        at = np.flatnonzero(masses)
        logs = np.log(masses[at]) + theta * at
        top = float(logs.max())
        weights = np.exp(logs - top)
        total = float(weights.sum())
        centre = float((weights * at).sum()) / total
        kappas.append(top + math.log(total))
        mean += count * centre
        variance += count * float((weights * np.square(at - centre)).sum()) / total
    kappa = math.fsum(count * value for (_, count), value in zip(parts, kappas, strict=True))
    return _Tilted(theta, tuple(kappas), kappa, mean, math.sqrt(variance))


def _ends(parts: Sequence[tuple[Array, int]]) -> tuple[int, int]:
    """The least and the largest sum of all that have a mass."""
    seen = [(np.flatnonzero(masses), count) for masses, count in parts]
    return sum(int(at[0]) * count for at, count in seen), sum(int(at[-1]) * count for at, count in seen)


def _tilts(parts: Sequence[tuple[Array, int]], ends: tuple[int, int]) -> list[_Tilted]:
    """Tilts whose means cover the law, in increasing order."""
    start = _at(parts, 0.0)
    found = {0.0: start}
    for sign in (-1, +1):
        tilt = start
        for _ in range(MOST_TILTS):
            rest = tilt.mean - ends[0] if sign < 0 else ends[1] - tilt.mean
            if tilt.kappa - tilt.theta * tilt.mean < -DEPTH or rest <= NEXT_TO_THE_END:
                break
            tilt = _at(parts, tilt.theta + sign * APART / max(tilt.deviation, LEAST_DEVIATION))
            found[tilt.theta] = tilt
    return [found[theta] for theta in sorted(found)]


def _edge(tilt: _Tilted, sign: int, ends: tuple[int, int]) -> int:
    """The outermost sum that is read at the first tilt, or at the last one."""
    low, high = ends
    if (tilt.mean - low if sign < 0 else high - tilt.mean) <= NEXT_TO_THE_END:
        return low if sign < 0 else high
    reach = APART * max(tilt.deviation, LEAST_DEVIATION)
    place = math.floor(tilt.mean - reach) if sign < 0 else math.ceil(tilt.mean + reach)
    return min(max(place, low), high)


def _read(
    parts: Sequence[tuple[Array, int]], tilt: _Tilted, low: int, high: int, ends: tuple[int, int], above: bool
) -> Array:
    """Masses of the sums from low to below high."""
    span = ends[1] - ends[0]
    period, aliases = fast_length(min(span + 1, max(int(PERIOD * tilt.deviation) + 64, 2 * (high - low)))), 1.0
    if period > MOST_POINTS:
        raise UnsupportedError(
            f"the sum of an epoch's likelihood ratios would take a transform of {period} points, more than "
            f"{MOST_POINTS}: give fewer steps an epoch, or steps of less epsilon each"
        )
    while period <= span:
        aliases = _tail(parts, tilt, +1, low + period - 1) + _tail(parts, tilt, -1, high - period)
        if aliases * max(tilt.deviation, 1.0) <= WRAPPED or 2 * period > LONGEST:
            break
        period = fast_length(min(span + 1, 2 * period))
    spend(TRANSFORMED * period * (1 + len(parts)))
    theta, most = tilt.theta, 0.0
    vectors = []
    for (masses, count), kappa in zip(parts, tilt.kappas, strict=True):
        at = np.arange(len(masses), dtype=np.float64)
        with np.errstate(divide="ignore", under="ignore"):
            vectors.append((np.exp(np.log(masses) + (theta * at - kappa)), count))
        most += count * (16 + 4 * (abs(theta) * len(masses) + abs(kappa) + 745))  # the least logarithm
    power = convolution_power(vectors, period)
    sums = np.arange(low, high, dtype=np.int64)
    values = np.maximum(power.values[(sums - power.origin) % period], 0.0)
    exponent = (tilt.kappa - theta * low) - theta * (sums - low) + power.log_scale
    largest = abs(tilt.kappa) + abs(theta) * max(high, 1) + abs(power.log_scale)
    relative = math.expm1(power.scale_error + UNIT_ROUNDOFF * (most + 16 * largest + 64))
    scale = np.exp(np.minimum(exponent, FARTHEST))  # less of it is still below
    if above:
        raised: Array = (values + power.error + UNDERFLOW) * scale * (1 + relative)
        return np.where(exponent > FARTHEST, WHOLE, np.minimum(raised, WHOLE))
    if period > span:
        aliases = 0.0
    out: Array = np.maximum(values - power.error - aliases - UNDERFLOW, 0.0) * scale * (1 - relative)
    return out


def _tail(parts: Sequence[tuple[Array, int]], tilt: _Tilted, sign: int, edge: int) -> float:
    """A bound on the mass of a tilted law beyond an edge, above it or below."""
    least, numbers = 0.0, sum(count for _, count in parts)
    shifts = [shift / max(tilt.deviation, LEAST_DEVIATION) for shift in SHIFTS]
    if sign * tilt.theta < 0:
        shifts += [share * abs(tilt.theta) for share in BACK]
    for shift in shifts:
        moved = _at(parts, tilt.theta + sign * shift)
        exponent = (moved.kappa - tilt.kappa) - (moved.theta - tilt.theta) * edge
        size = abs(moved.kappa) + abs(tilt.kappa) + (abs(moved.theta) + abs(tilt.theta)) * abs(edge)
        least = min(least, exponent + SPARE * (size + numbers + 1))
    return math.exp(least) + UNDERFLOW


def _beyond(parts: Sequence[tuple[Array, int]], tilt: _Tilted, sign: int, edge: int) -> float:
    """A bound on the mass beyond an edge: by Chernoff's bound at the outermost tilt, or at none, which is 1."""
    numbers = sum(count for _, count in parts)
    if sign * tilt.theta <= 0:
        return math.exp(tilt.kappa) if tilt.theta == 0 else 1.0
    exponent = tilt.kappa - tilt.theta * edge
    return math.exp(exponent + SPARE * (abs(tilt.kappa) + abs(tilt.theta * edge) + numbers + 1)) + UNDERFLOW
