"""Exact inputs and small real-variable tools shared by the modules of the oracle.

Inputs are kept as `fractions.Fraction` until a working precision is chosen.  A float stands for the decimal that `repr`
prints (0.8 means 8/10), the meaning that a plan file gives it; pass a `Fraction` to mean the exact double.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from fractions import Fraction
from typing import Any, TypeAlias

import mpmath
from mpmath.libmp import to_rational

Mpf: TypeAlias = Any
"""An `mpmath.mpf` (mpmath carries no type annotations)."""

Real: TypeAlias = int | float | str | Fraction | Any
"""What the public functions accept for a real number; `Any` stands for an `mpmath.mpf`."""

mp: Any = mpmath.mp


class OracleError(ArithmeticError):
    """No route of the oracle reaches the digits asked for."""


def to_fraction(value: Real) -> Fraction:
    """The exact rational that an input stands for (see the module's docstring)."""
    if isinstance(value, float):
        return Fraction(repr(value))
    if isinstance(value, int | str | Fraction):
        return Fraction(value)
    numerator, denominator = to_rational(value._mpf_)
    return Fraction(int(numerator), int(denominator))


def to_mpf(value: Real) -> Mpf:
    """The input rounded once to the working precision."""
    exact = to_fraction(value)
    return mp.mpf(exact.numerator) / mp.mpf(exact.denominator)


@functools.lru_cache(maxsize=32)
def gauss_legendre(count: int, precision: int) -> tuple[tuple[Mpf, Mpf], ...]:
    """Nodes and weights of Gauss-Legendre quadrature on [-1, 1] at a precision in bits, by Newton's method."""
    with mp.workprec(precision + 20):
        pairs: list[tuple[Mpf, Mpf]] = []
        for index in range(count):
            x = mp.cos(mp.pi * (index + mp.mpf(3) / 4) / (count + mp.mpf(1) / 2))
            for _ in range(60):
                previous, current = mp.one, x
                for degree in range(2, count + 1):
                    previous, current = current, ((2 * degree - 1) * x * current - (degree - 1) * previous) / degree
                slope = count * (x * current - previous) / (x * x - 1)
                step = current / slope
                x -= step
                if abs(step) < mp.ldexp(1, -(2 * precision) // 3):
                    break
            pairs.append((x, 2 / ((1 - x * x) * slope * slope)))
        return tuple(reversed(pairs))


def solve_decreasing(delta: Callable[[Mpf], Mpf], target: Mpf, upper: Mpf, digits: int) -> Mpf:
    """inf{eps >= 0: delta(eps) <= target} of a decreasing convex delta; `upper` is the end of the loss or +inf.

    Illinois false position on log delta inside a bracket, with bisection where it stalls.  Runs at the caller's working
    precision and stops at a bracket of relative width 10^-digits.
    """
    low = mp.zero
    if delta(low) <= target:
        return mp.zero
    if target <= 0:
        return upper
    log_target = mp.log(target)

    def gap(eps: Mpf) -> Mpf:
        value = delta(eps)
        return mp.log(value) - log_target if value > 0 else None

    low_gap = gap(low)
    high = mp.one
    while high < upper:
        high_gap = gap(high)
        if high_gap is None or high_gap <= 0:
            break
        low, low_gap, high = high, high_gap, 2 * high
    if high >= upper:
        high = upper
        high_gap = gap(high)
    tolerance = mp.mpf(10) ** (-digits)
    side = 0
    for iteration in range(400):
        if high - low <= tolerance * high:
            break
        if high_gap is None or iteration % 12 == 11:
            middle = (low + high) / 2
        else:
            middle = (low * high_gap - high * low_gap) / (high_gap - low_gap)
            nudge = tolerance * high / 4
            middle = min(max(middle, low + nudge), high - nudge)
        value = gap(middle)
        if value is None or value <= 0:
            if value is not None and value == 0:
                return middle
            high, high_gap = middle, value
            if side == -1:
                low_gap /= 2
            side = -1
        else:
            low, low_gap = middle, value
            if side == 1 and high_gap is not None:
                high_gap /= 2
            side = 1
    return (low + high) / 2
