"""Roots of functions of one number."""

from __future__ import annotations

from collections.abc import Callable

ITERATIONS = 10_000
"""Steps of a search: halving alone goes from the largest double to the least in 2,100, and each may take a few."""

LEAST_GAP = 8.9e-16
"""Relative precision below which Brent's method promises nothing: four units in the last place."""


def root(function: Callable[[float], float], low: float, high: float, *, xtol: float, rtol: float = LEAST_GAP) -> float:
    """A root between two places at which a function has different signs, by Brent's method, to ``xtol + rtol |root|``.

    A root many orders of magnitude below ``high`` takes more steps than SciPy allows by itself. SciPy is imported here,
    when it is first needed.

    >>> abs(root(lambda x: x - 1e-250, 0.0, 1.0, xtol=1e-300, rtol=1e-13) - 1e-250) < 1e-260
    True
    """
    from scipy.optimize import brentq

    return float(brentq(function, low, high, xtol=xtol, rtol=rtol, maxiter=ITERATIONS))
