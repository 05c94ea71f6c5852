"""True values by the decimals of Python, for where python-flint is missing.

Decimal's ``exp``, ``ln`` and ``sqrt`` are correctly rounded to the digits of the context (Python's library reference,
module decimal, whose C code is libmpdec). All else is made of these and of series whose remainder is below the last
digit: what alternates and decreases is off by at most its first term that is left out.
"""

from __future__ import annotations

import math
import platform
from collections.abc import Callable, Mapping
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal, localcontext

from hockeystick.numerics.doctor.truth import unit_below

SIGNIFICANT = 70
"""Decimal digits of the context: what a double has three times over, and twenty more for what cancels."""

NEAR = Decimal("1e-8")  # below it the functions that are next to their argument are summed as series

TURN = Decimal("6.283185307179586476925286766559005768394338798750211641949889184615632812572417997256069650684234136")
"""Two pi to 100 digits, more than the context has: angles of up to ``1e8`` are reduced to 60 digits after the point."""


def _expm1(x: Decimal) -> Decimal:
    if abs(x) >= NEAR:
        return x.exp() - 1
    return x * (1 + x / 2 * (1 + x / 3 * (1 + x / 4 * (1 + x / 5 * (1 + x / 6 * (1 + x / 7))))))


def _log1p(x: Decimal) -> Decimal:
    if abs(x) >= NEAR:
        return (1 + x).ln()
    return x * (1 - x * (Decimal(1) / 2 - x * (Decimal(1) / 3 - x * (Decimal(1) / 4 - x * (Decimal(1) / 5)))))


def _reduced(x: Decimal) -> Decimal:
    """An angle less whole turns."""
    return x - TURN * (x / TURN).to_integral_value()


def _sine(x: Decimal) -> Decimal:
    angle = _reduced(x)
    term, total, n = angle, angle, 1
    while abs(term) > abs(total).scaleb(-SIGNIFICANT):
        term *= -angle * angle / ((n + 1) * (n + 2))
        total += term
        n += 2
    return total


def _cosine(x: Decimal) -> Decimal:
    quarter = TURN / 4
    return _sine(quarter - abs(_reduced(x)))


def _arctan2(y: Decimal, x: Decimal) -> Decimal:
    """Newton's step from the double: the angle that is left is 1e-16, and its arc tangent two terms."""
    near = Decimal(math.atan2(float(y), float(x)))
    sine, cosine = _sine(near), _cosine(near)
    left = (y * cosine - x * sine) / (x * cosine + y * sine)
    return near + left - left**3 / 3


FUNCTIONS: Mapping[str, Callable[..., Decimal]] = {
    "exp": Decimal.exp,
    "expm1": _expm1,
    "log": Decimal.ln,
    "log1p": _log1p,
    "sin": _sine,
    "cos": _cosine,
    "sinh": lambda x: (_expm1(x) - _expm1(-x)) / 2,
    "cosh": lambda x: (x.exp() + (-x).exp()) / 2,
    "hypot": lambda x, y: (x * x + y * y).sqrt(),
    "arctan2": _arctan2,
    "logaddexp": lambda x, y: max(x, y) + _log1p((-abs(x - y)).exp()),
    "cos_turn": lambda k, n: _cosine(TURN * k / n),
    "sin_turn": lambda k, n: _sine(TURN * k / n),
}
"""The functions in decimals: all but the normal distribution function."""


class Decimals:
    """True values by the module decimal of Python."""

    name = f"the decimals of Python {platform.python_version()}"
    share = 0.15

    def __init__(self) -> None:
        self._context = Context(prec=SIGNIFICANT, Emax=MAX_EMAX, Emin=MIN_EMIN)

    def knows(self, function: str) -> bool:
        """Whether decimals have a function of that name."""
        return function in FUNCTIONS

    def value(self, function: str, arguments: tuple[float, ...]) -> tuple[float, float, float]:
        """The double next to the true value, what is left in its units, and the unit."""
        with localcontext(self._context):
            true = FUNCTIONS[function](*map(Decimal, arguments))
            if true == 0:
                return 0.0, 0.0, unit_below(0.0, below=False)
            hi = float(true)
            rest = true - Decimal(hi)
            unit = unit_below(hi, below=not (rest > 0 if hi > 0 else rest < 0))
            return hi, float(rest / Decimal(unit)), unit
