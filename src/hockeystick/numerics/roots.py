"""Roots of functions of one variable, by the method of Brent 1973 [Bre73].

The steps are those of SciPy's ``brentq``, to the last bit. They are implemented here since importing SciPy's optimiser
takes longer than NumPy, this library and most of its queries together.
"""

from __future__ import annotations

import math
from collections.abc import Callable

ITERATIONS = 10_000
"""Largest number of steps of a search. Bisection from the largest double to the least takes 2,100 steps, and Brent's
method may need a few steps for each of these."""

ROOT_GAP = 1e-14
"""Relative precision of a root; certified ends are moved outward from it. Brent's method reaches four units in the last
place."""


def root(function: Callable[[float], float], low: float, high: float, *, xtol: float, rtol: float = ROOT_GAP) -> float:
    """Return a root between two places where the function has different signs, to within ``xtol + rtol |root|``.

    Raises:
        ValueError: the function does not have different signs at the two places, or is NaN where the search evaluates
            it.
        RuntimeError: the root is not found in :data:`ITERATIONS` steps.

    >>> abs(root(lambda x: x - 1e-250, 0.0, 1.0, xtol=1e-300, rtol=1e-13) - 1e-250) < 1e-260
    True
    """
    before, at = float(low), float(high)  # ``at`` is the best place so far, and ``before`` the previous value of ``at``
    f_before, f_at = _value(function, before), _value(function, at)
    if f_before == 0:
        return before
    if f_at == 0:
        return at
    if (f_before < 0) == (f_at < 0):
        raise ValueError(f"a root needs different signs at {low!r} and {high!r}")
    other, f_other, last, step = before, f_before, at - before, at - before  # the root lies between at and other
    for _ in range(ITERATIONS):
        if f_before != 0 and (f_before < 0) != (f_at < 0):
            other, f_other = before, f_before
            last = step = at - before
        if abs(f_other) < abs(f_at):
            before, at, other = at, other, at
            f_before, f_at, f_other = f_at, f_other, f_at
        delta, half = (xtol + rtol * abs(at)) / 2, (other - at) / 2
        if f_at == 0 or abs(half) < delta:
            return at
        tried = math.nan
        if abs(last) > delta and abs(f_at) < abs(f_before):
            tried = _interpolated((before, f_before), (at, f_at), (other, f_other))
        good = 2 * abs(tried) < min(abs(last), 3 * abs(half) - delta)  # false if ``tried`` is NaN
        last, step = (step, tried) if good else (half, half)
        before, f_before = at, f_at
        at += step if abs(step) > delta else (delta if half > 0 else -delta)
        f_at = _value(function, at)
    raise RuntimeError(f"no root found in {ITERATIONS} steps; the last place is {at!r}")


def _interpolated(before: tuple[float, float], at: tuple[float, float], other: tuple[float, float]) -> float:
    """Return the step from ``at`` to the zero of an interpolant; NaN if it has no zero.

    Each point is a place and the function's value there. If ``before`` equals ``other``, the interpolant is the line
    through two points. Otherwise it is the inverse parabola through three points.
    """
    (x, f), (x_at, f_at), (x_other, f_other) = before, at, other
    try:
        if x == x_other:
            return -f_at * (x_at - x) / (f_at - f)
        slope, slope_other = (f - f_at) / (x - x_at), (f_other - f_at) / (x_other - x_at)
        return -f_at * (f_other * slope_other - f * slope) / (slope_other * slope * (f_other - f))
    except ZeroDivisionError:
        return math.nan


def _value(function: Callable[[float], float], x: float) -> float:
    value = float(function(x))
    if math.isnan(value):
        raise ValueError(f"the function is no number at {x!r}: no root can be found")
    return value
