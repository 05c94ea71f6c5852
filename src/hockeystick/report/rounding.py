"""Numbers as text, rounded outward in exact decimal arithmetic: an upper end up, a lower end down.

A value that the wanted number of decimal digits represents exactly is shown without further zeros. Any other value is
shown with all wanted digits.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from decimal import MAX_EMAX, MIN_EMIN, ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from typing import Any

QUOTED_DIGITS = 3  # significant digits of a number in a sentence
SHOWN_DIGITS = 6  # significant digits of a number in a table or beside its sentence

PLAIN = (-3, 7)
"""Decimal exponents of the leading digit between which numbers are written without a power of ten."""

MAX_NEGATIVE_EXPONENT = 999_999
"""Largest negative decimal exponent written: a smaller number is rounded up to it, or down to 0."""

_WORKING_DIGITS = 50  # digits of the exponential of a logarithm before it is rounded


def round_up(x: float, digits: int = QUOTED_DIGITS) -> str:
    """Return the smallest decimal of ``digits`` significant digits that is at least ``x``.

    >>> round_up(6.90738), round_up(6.9), round_up(0.5)
    ('6.91', '6.91', '0.5')
    """
    return written(_rounded(x, digits, ROUND_CEILING))


def round_down(x: float, digits: int = QUOTED_DIGITS) -> str:
    """Return the largest decimal of ``digits`` significant digits that is at most ``x``.

    >>> round_down(6.90738), round_down(1.2e-7)
    ('6.90', '1.19e-7')
    """
    return written(_rounded(x, digits, ROUND_FLOOR))


def exact(x: float) -> str:
    """Return the shortest decimal that reads as the same double.

    >>> exact(1e-06), exact(10000), exact(0.01)
    ('1e-6', '10000', '0.01')
    """
    if not math.isfinite(x):
        return written(x)
    value = Decimal(repr(float(x))).normalize()
    return f"{value:f}" if x == int(x) and abs(x) < 10**15 else written(value)


def ends(row: Mapping[str, Any], digits: int = SHOWN_DIGITS) -> str:
    """Return the interval in a JSON row as text, both ends rounded outward; ``infinite`` for an infinite upper end."""
    upper = quoted(row, digits)
    if row.get("lower") is None:
        return upper
    lower = round_down(row["lower"], digits)
    return upper if lower == upper else f"{lower} to {upper}"


def quoted(row: Mapping[str, Any], digits: int = QUOTED_DIGITS) -> str:
    """Return the upper end in a JSON row as text, rounded up; ``None`` stands for infinity."""
    return "infinite" if row["upper"] is None else round_up(row["upper"], digits)


def limited(row: Mapping[str, Any], at_most: str = "<=") -> str:
    """Return the phrase that bounds a quantity by the upper end in a JSON row.

    >>> limited({"upper": 2.5}), limited({"upper": None})
    ('<= 2.5', 'is infinite')
    """
    return f"{'is' if row['upper'] is None else at_most} {quoted(row)}"


def exp_up(log_x: float, digits: int = QUOTED_DIGITS) -> str:
    """Return the smallest decimal of ``digits`` significant digits >= ``e**log_x``, even if no double is that small.

    >>> exp_up(-3222.4)
    '3.39e-1400'
    """
    return _exp(log_x, digits, ROUND_CEILING)


def exp_down(log_x: float, digits: int = QUOTED_DIGITS) -> str:
    """Return the largest decimal of ``digits`` significant digits that is at most ``e**log_x``.

    >>> exp_down(-3222.4)
    '3.38e-1400'
    """
    return _exp(log_x, digits, ROUND_FLOOR)


def _rounded(x: float, digits: int, rounding: str) -> Decimal | float:
    if not math.isfinite(x):
        return x
    return Context(prec=digits, rounding=rounding).create_decimal(Decimal(x))


def _exp(log_x: float, digits: int, rounding: str) -> str:
    """``e**log_x`` as text: correctly rounded to more digits than are shown, then moved outward by a unit."""
    if not math.isfinite(log_x):
        return "0" if log_x == -math.inf else written(log_x)
    context = Context(prec=_WORKING_DIGITS, Emin=MIN_EMIN, Emax=MAX_EMAX, traps=[])
    found = context.exp(Decimal(log_x))
    if log_x:
        found = context.next_plus(found) if rounding == ROUND_CEILING else context.next_minus(found)
    if found.is_infinite():
        return "infinite"
    if found and found.adjusted() < -MAX_NEGATIVE_EXPONENT:  # an exponent of forty digits is unreadable
        return f"1e-{MAX_NEGATIVE_EXPONENT}" if rounding == ROUND_CEILING else "0"
    return written(Context(digits, rounding, MIN_EMIN, MAX_EMAX).create_decimal(found))


def written(value: Decimal | float) -> str:
    """Return ``value`` as text, with all its digits.

    A ``value`` that is a float is infinite; finite values are decimals.

    Raises:
        ValueError: the number is nan.
    """
    if isinstance(value, float):
        if math.isnan(value):
            raise ValueError("nan cannot be shown; the computation must refuse")
        return "infinite" if value > 0 else "-infinite"
    if not value:
        return "0"
    if PLAIN[0] <= value.adjusted() < PLAIN[1]:
        return f"{value:f}"
    return f"{value:e}".replace("e+", "e")
