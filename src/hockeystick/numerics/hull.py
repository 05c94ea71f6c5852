"""The lower convex hull of a polygon given by its kinks, for lower bounds on a grid.

The curve ``f(alpha) = sum_j q_j (alpha_j - alpha)_+`` is a polygon with kinks, here called knots, at ``alpha_j``. Knot
j has the loss ``g_j = log alpha_j``, the Q-mass q_j and the P-mass ``p_j = q_j alpha_j``. Suppose that f lies below the
privacy curve of one round and that every mass is non-negative. Then f gives a lower bound in place of that curve, even
if its masses do not sum to 1. For let Lambda_2 be the likelihood ratio and Q_2 the second law of the other rounds: then
``delta = int f(c / Lambda_2) Lambda_2 dQ_2`` at ``c = e^eps`` is increasing in f. So negative masses may be repaired
locally, by any change that lowers f. Masses are stored tilted, as ``p_j e^(t g_j)``, and are rescaled when they are
moved between knots.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from hockeystick.numerics.rounding import LARGEST, UNIT_ROUNDOFF

Array = npt.NDArray[np.float64]
Numbers = list[float]

MAX_REACH = 300.0  # largest exponent by which a repair may scale a mass
MAX_REPAIRS = 100_000  # largest number of steps of a repair
CARE = 64 * UNIT_ROUNDOFF  # error of the difference of a P-mass and a Q-mass, relative to the masses summed
SAFE = 1 - 1e-12  # factor on a merged mass that covers the rounding of a repair


def lent(p: Array, d: Array, at: Array, t: float) -> Array | None:
    """Return masses at the knots for a law whose outcomes around each knot are merged into a single outcome.

    The loss of a merged outcome may differ from the loss of its knot. Mass borrowed from a neighbouring knot corrects
    the difference, and may leave a negative mass there. :func:`lower_hull` removes negative masses.

    Args:
        p: shape (n,), the mass merged around each knot.
        d: shape (n,), for each knot a lower bound on ``int p (1 - e^(g - L))``, the excess of the merged losses L over
            the knot's loss g.
        at: increasing losses of the knots, shape (n + 2,). No outcomes are merged around the first and the last knot.
        t: tilt of the masses.

    Returns:
        The masses, shape (n + 2,); ``None`` if they overflow or :func:`lower_hull` fails.
    """
    gap = np.diff(at)
    scale: Array = np.exp(np.minimum(t * gap, LARGEST))
    rise = np.maximum(d, 0.0) / np.expm1(np.minimum(gap[:-1], LARGEST))
    fall = np.maximum(-d, 0.0) / -np.expm1(-gap[1:])
    held, down, up = p + rise + fall, rise / scale[:-1], scaled(fall, scale[1:])
    mass, passed = np.zeros(len(at)), np.zeros(len(at))
    for total, sign in ((mass, -1), (passed, 1)):
        total[1:-1] += held
        total[:-2] += sign * down
        total[2:] += sign * up
    hull = lower_hull(mass, at, t) if np.isfinite(mass).all() else None
    # where transfers nearly cancel, a mass errs by a few roundings of the sum of the transfers to and from its knot
    return None if hull is None else np.maximum(hull - 2 * CARE * passed, 0.0)


def scaled(mass: Array, factor: Array | float) -> Array:
    """Return ``mass * factor``, and 0 where the mass is 0, even if the factor is infinite."""
    with np.errstate(invalid="ignore", over="ignore"):
        return np.where(mass > 0, mass * factor, 0.0)


def lower_hull(mass: Array, at: Array, t: float) -> Array | None:
    """Return the masses of the lower convex hull of a polygon, given by the masses at its knots.

    Args:
        mass: shape (n,), tilted P-masses of the polygon, some of them negative.
        at: shape (n,), increasing losses.
        t: tilt of the masses.

    Returns:
        The masses of the hull, of the same shape and all non-negative; ``None`` if the repair takes too long or fails.

    An interior knot of negative mass is dropped: its mass is spread over its neighbours, which lowers the curve. A knot
    of negative mass at either end is merged with as many neighbours as necessary into a single outcome, which is then
    moved to a knot. At the ends, the result may therefore be lower than the hull.
    """
    held = np.flatnonzero(mass)
    negative = [int(i) for i in np.flatnonzero(mass < 0)]
    if not negative:
        return mass
    lowest, highest = int(held[0]), int(held[-1])
    masses: Numbers = mass.tolist()  # list items are read ten times faster than array items
    losses: Numbers = at.tolist()
    before, after = dict[int, int](), dict[int, int]()  # neighbours of knots, where these are not i - 1 and i + 1
    for _ in range(MAX_REPAIRS):
        if masses[highest] < 0:
            highest = _settle_top(masses, highest, lowest, losses, t)
        elif masses[lowest] < 0:
            lowest = _settle_bottom(masses, lowest, highest, losses, t)
        elif negative:
            i = negative.pop()
            if masses[i] >= 0 or not lowest < i < highest:
                continue
            low, high = before.get(i, i - 1), after.get(i, i + 1)
            if (losses[high] - losses[low]) * (t + 1) > MAX_REACH:
                return None
            _share(masses, i, low, high, losses, t)
            masses[i] = 0.0
            after[low], before[high] = high, low
            negative += [j for j in (low, high) if masses[j] < 0]
        else:
            found = np.array(masses)
            negative = [int(i) for i in np.flatnonzero(found < 0)]
            if not negative:
                return found
        if lowest < 0 or highest < 0:
            return None
    return None


def _share(mass: Numbers, i: int, low: int, high: int, at: Numbers, t: float) -> None:
    """Spread the (negative) mass at knot i over knots low and high, preserving total Q-mass and P-mass."""
    below, above, whole = at[low] - at[i], at[i] - at[high], at[low] - at[high]
    to_high = math.expm1(below) / math.expm1(whole)
    to_low = math.exp(below) * math.expm1(above) / math.expm1(whole)
    mass[low] += mass[i] * to_low * math.exp(below * t)
    mass[high] += mass[i] * to_high * math.exp(-above * t)


def _settle_top(mass: Numbers, top: int, bottom: int, at: Numbers, t: float) -> int:
    """Merge all knots above some knot m into a single outcome, and move this outcome to knot m.

    The polygon is negative at its upper end; m is the highest knot at which it is not negative. Above m, the polygon is
    replaced by a straight line down to zero, which represents a single outcome of loss c >= g_m. Enough mass of knot
    m - 1 is merged with that outcome to lower its loss to g_m. If knot m - 1 has too little mass, the loss is rounded
    down to g_m.

    Returns:
        The new highest knot, or -1 if there is none.
    """
    p = q = passed = 0.0  # masses above m, in units of knot m
    for m in range(top - 1, bottom - 1, -1):
        gap = at[m + 1] - at[m]
        p = (p + mass[m + 1]) * math.exp(-gap * t)
        passed = (passed + abs(mass[m + 1])) * math.exp(-gap * t)
        q = (q + mass[m + 1]) * math.exp(-gap * (t + 1)) + CARE * passed
        if p > 0 and p >= q:
            _clear(mass, m + 1, top + 1)
            if m > bottom:
                gap = at[m] - at[m - 1]
                rise = (p - q) / _expm1(gap)
                if mass[m - 1] >= rise * math.exp(-gap * t):
                    mass[m - 1] -= rise * math.exp(-gap * t)
                    p += rise
            mass[m] += p * SAFE
            return m
    return -1


def _settle_bottom(mass: Numbers, bottom: int, top: int, at: Numbers, t: float) -> int:
    """Merge the knots up to some knot m into a single outcome, and move this outcome to knot m or m + 1.

    The loss c of the outcome satisfies ``g_m <= c < g_(m+1)``. Enough mass of knot m + 2 is merged with the outcome to
    raise its loss to ``g_(m+1)``. If knot m + 2 has too little mass, the loss is rounded down to g_m.

    Returns:
        The new lowest knot, or -1 if there is none.
    """
    p = q = passed = 0.0  # masses up to m, in units of knot m
    for m in range(bottom, top + 1):
        gap = at[m] - at[m - 1] if m > bottom else 0.0
        if (t + 1) * gap + math.log(max(passed, abs(q), 1.0)) > MAX_REACH:
            break
        p = p * _exp(gap * t) + mass[m]
        passed = passed * _exp(gap * t) + abs(mass[m])
        q = q * _exp(gap * (t + 1)) + mass[m] + CARE * passed
        if m == top:
            if p > 0 and p >= q:
                _clear(mass, bottom, m)
                mass[m] = p * SAFE
                return m
            break
        gap = at[m + 1] - at[m]
        if p > 0 and q <= p < q * _exp(gap):
            _clear(mass, bottom, m + 1)
            if m + 2 <= top:
                wide = at[m + 2] - at[m + 1]
                fall = (q * _exp(gap) - p) * _exp(gap * t) / -math.expm1(-wide)  # in units of knot m + 1
                if fall * _exp(wide * t) <= mass[m + 2]:
                    mass[m + 2] -= fall * _exp(wide * t)
                    mass[m + 1] += (p * _exp(gap * t) + fall) * SAFE
                    return m + 1
            mass[m] = p * SAFE
            return m
    return -1


def _clear(mass: Numbers, first: int, end: int) -> None:
    for i in range(first, end):
        mass[i] = 0.0


def _exp(x: float) -> float:
    return math.exp(min(x, LARGEST))


def _expm1(x: float) -> float:
    return math.expm1(min(x, LARGEST))
