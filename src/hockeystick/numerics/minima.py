"""Minima of functions of one variable, by golden sections and parabolas (Brent 1973 [Bre73]).

The steps are those of SciPy's ``minimize_scalar`` with bounds, to the last bit; :mod:`hockeystick.numerics.roots`
explains why they are implemented here.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from hockeystick.numerics.roots import ITERATIONS

GOLDEN = 0.5 * (3.0 - math.sqrt(5.0))
"""Share of a bracket that golden section cuts off."""

ROUNDING = math.sqrt(2.2e-16)
"""Relative distance from a minimum within which a smooth function has the same value in doubles."""


def least_place(function: Callable[[float], float], low: float, high: float, *, xtol: float) -> float:
    """Return the place x of a local minimum between ``low`` and ``high``, with an error of about ``xtol``.

    >>> abs(least_place(lambda x: (x - 0.3) ** 2, 0.0, 1.0, xtol=1e-9) - 0.3) < 1e-8
    True
    """
    a, b = float(low), float(high)
    # ``best`` and ``second`` are the places with the two least values so far; ``third`` is the previous ``second``
    best = second = third = a + GOLDEN * (b - a)
    f_best = f_second = f_third = float(function(best))
    step = last = 0.0
    for _ in range(ITERATIONS - 1):
        middle = 0.5 * (a + b)
        narrow = ROUNDING * abs(best) + xtol / 3.0
        if not abs(best - middle) > 2.0 * narrow - 0.5 * (b - a):
            break
        section = True
        if abs(last) > narrow:
            p, q = _parabola((best, f_best), (second, f_second), (third, f_third))
            before, last = last, step
            if abs(p) < abs(0.5 * q * before) and q * (a - best) < p < q * (b - best):
                section, step = False, (p + 0.0) / q
                x = best + step
                if x - a < 2.0 * narrow or b - x < 2.0 * narrow:
                    step = narrow * _sign(middle - best)
        if section:
            last = a - best if best >= middle else b - best
            step = GOLDEN * last
        x = best + _sign(step) * max(abs(step), narrow)
        value = float(function(x))
        if value <= f_best:
            a, b = (best, b) if x >= best else (a, best)
            third, f_third, second, f_second, best, f_best = second, f_second, best, f_best, x, value
            continue
        a, b = (x, b) if x < best else (a, x)
        if value <= f_second or second == best:
            third, f_third, second, f_second = second, f_second, x, value
        elif value <= f_third or third in (best, second):
            third, f_third = x, value
    return best


def _parabola(
    best: tuple[float, float], second: tuple[float, float], third: tuple[float, float]
) -> tuple[float, float]:
    """Return the step from the best place to the extremum of the parabola through three points.

    The step is returned as a numerator and a denominator >= 0. Each point is a place and the function's value there.
    """
    (x, f), (x_second, f_second), (x_third, f_third) = best, second, third
    r, q = (x - x_second) * (f - f_third), (x - x_third) * (f - f_second)
    p, q = (x - x_third) * q - (x - x_second) * r, 2.0 * (q - r)
    return (-p if q > 0.0 else p), abs(q)


def _sign(value: float) -> float:
    """Return 1 if a value is at least 0, else -1; NaN if it is NaN."""
    return value if math.isnan(value) else (1.0 if value >= 0 else -1.0)
