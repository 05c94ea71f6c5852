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

_GUARD = 50  # guard digits beyond the integer part in the exponential of a logarithm


def round_up(x: float, digits: int = QUOTED_DIGITS) -> str:
    """Return the smallest decimal of ``digits`` significant digits that is at least ``x``.

    >>> round_up(6.90738), round_up(6.9), round_up(0.5)
    ('6.91', '6.91', '0.5')
    """
    return _written(_rounded(x, digits, ROUND_CEILING))


def round_down(x: float, digits: int = QUOTED_DIGITS) -> str:
    """Return the largest decimal of ``digits`` significant digits that is at most ``x``.

    >>> round_down(6.90738), round_down(1.2e-7)
    ('6.90', '1.19e-7')
    """
    return _written(_rounded(x, digits, ROUND_FLOOR))


def exact(x: float) -> str:
    """Return the shortest decimal that reads as the same double.

    >>> exact(1e-06), exact(10000), exact(0.01)
    ('1e-6', '10000', '0.01')
    """
    if not math.isfinite(x):
        return _written(x)
    value = Decimal(repr(float(x))).normalize()
    return f"{value:f}" if x == int(x) and abs(x) < 10**15 else _written(value)


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
    if log_x == -math.inf:
        return "0"
    if log_x > 0 and math.isinf(log_x):
        return _written(math.inf)
    log = Decimal(log_x)
    context = Context(prec=max(log.adjusted(), 0) + _GUARD + digits, Emin=MIN_EMIN, Emax=MAX_EMAX)
    power = context.divide(log, context.ln(Decimal(10)))
    whole = math.floor(power)
    if whole < -MAX_NEGATIVE_EXPONENT:  # an exponent of forty digits is unreadable
        return f"1e-{MAX_NEGATIVE_EXPONENT}" if rounding == ROUND_CEILING else "0"
    mantissa = context.power(Decimal(10), context.subtract(power, Decimal(whole)))
    # Every operation above is accurate to about the last digit, and the slack is far larger.
    slack = Decimal((0, (1,), -_GUARD + 5))
    moved = context.add(mantissa, slack if rounding == ROUND_CEILING else -slack) if log_x else Decimal(1)
    shown = Context(prec=digits, rounding=rounding).create_decimal(moved)
    return _written(shown, whole)


def _written(value: Decimal | float, shift: int = 0) -> str:
    """``value * 10**shift`` as text, with all digits of ``value``.

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
    lead = value.adjusted() + shift
    if PLAIN[0] <= lead < PLAIN[1]:
        return f"{value.scaleb(shift):f}"
    sign, digits, _ = value.as_tuple()
    text = "".join(map(str, digits))
    return f"{'-' * sign}{text[0]}{'.' * (len(text) > 1)}{text[1:]}e{lead}"
