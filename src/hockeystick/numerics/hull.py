"""The lower convex hull of a polygon given by its kinks, for lower bounds on a grid.

The curve ``f(alpha) = sum_j q_j (alpha_j - alpha)_+`` is a polygon with kinks, here called knots, at ``alpha_j``. Knot
j has the loss ``g_j = log alpha_j`` and the P-mass ``p_j = q_j alpha_j``. If f lies below the privacy curve of one
round and every mass is non-negative, f may replace that curve in a composition, whatever its total mass: with the other
rounds fixed, ``delta = int f(c / Lambda_2) Lambda_2 dQ_2`` is increasing in f. So masses may be repaired locally, by
any change that lowers f. Masses are stored tilted, as ``p_j e^(t g_j)``, and are rescaled when they are moved between
knots.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from hockeystick.numerics.rounding import LARGEST, UNIT_ROUNDOFF

Array = npt.NDArray[np.float64]
Numbers = list[float]

MAX_REACH = 300.0  # exponent by which a repair may scale a mass
MAX_REPAIRS = 100_000  # knots that may be dropped one by one before giving up
CARE = 64 * UNIT_ROUNDOFF  # error of p - q, relative to the masses summed
SAFE = 1 - 1e-12  # factor that covers the rounding of a repair


def lent(p: Array, d: Array, at: Array, t: float) -> Array | None:
    """Return masses at all knots, around each of which the outcomes are merged into one.

    The loss of such an outcome may differ from the loss of its knot. Mass from a neighbouring knot corrects the
    difference, and :func:`lower_hull` removes negative masses; the result is ``None`` if it gave up.

    Args:
        p: shape (n,), the mass merged around each knot.
        d: shape (n,), for each knot a lower bound on ``int p (1 - e^(g - L))``, the excess of the merged losses L over
            the knot's loss g.
        at: increasing losses of the knots, shape (n + 2,). No outcomes are merged around the first and the last knot.
        t: tilt of the masses.
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
    # where transfers nearly cancel, each errs by a few roundings of the mass that passed through the knot
    return None if hull is None else np.maximum(hull - 2 * CARE * passed, 0.0)


def scaled(mass: Array, factor: Array | float) -> Array:
    """Return ``mass * factor``, avoiding 0 * inf."""
    with np.errstate(invalid="ignore", over="ignore"):
        return np.where(mass > 0, mass * factor, 0.0)


def lower_hull(mass: Array, at: Array, t: float) -> Array | None:
    """Return the lower convex hull of the polygon with these masses at its knots.

    Args:
        mass: shape (n,), tilted P-masses, some negative.
        at: shape (n,), increasing losses.
        t: tilt of the masses.

    Returns:
        The masses of the hull, of the same shape and all non-negative; ``None`` if the repair takes too long or fails.

    In the interior, a knot of negative mass is dropped: its mass is spread over its neighbours, which lowers the curve.
    At either end, a knot of negative mass is merged with as many neighbours as necessary, and the merged outcome is
    moved onto the grid.
    """
    held = np.flatnonzero(mass)
    negative = [int(i) for i in np.flatnonzero(mass < 0)]
    if not negative:
        return mass
    lowest, highest = int(held[0]), int(held[-1])
    masses: Numbers = mass.tolist()  # list items are read ten times faster than array items
    losses: Numbers = at.tolist()
    before, after = dict[int, int](), dict[int, int]()  # neighbours of knots next to dropped ones
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
    """Merge all knots above some knot m into a single outcome, and move it onto the grid.

    The polygon has dipped below 0 at its upper end; m is the highest knot at which it is not below 0. Above m, the
    polygon is replaced by a straight line down to zero, which represents a single outcome of loss c >= g_m. Enough mass
    of knot m - 1 is merged with that outcome to lower its loss to g_m. If knot m - 1 has too little mass, the loss is
    rounded down to g_m.

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
    """Merge the knots up to some knot m into an outcome of loss c, g_m <= c < g_m+1, and move it onto the grid.

    Enough mass of knot m + 2 is merged with that outcome to raise its loss to g_m+1. If knot m + 2 has too little mass,
    the loss is rounded down to g_m.

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
