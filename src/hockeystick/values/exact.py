"""Exact fractions for numbers as people write them: decimals such as 0.1, and quotients such as 1/3."""

from __future__ import annotations

import math
import numbers
import re
import sys
from decimal import Context, Decimal
from fractions import Fraction

from hockeystick.values.words import SHOWN_LENGTH

TEXT = re.compile(r"^([0-9]+/0*[1-9][0-9]*|([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,4})?)$")
"""Pattern of a fraction in text: a quotient of whole numbers, or a decimal."""

MAX_DIGITS = 4000
"""Largest length of a fraction's text, and of its numerator or denominator; longer ones take seconds to compute."""

PRECISE = Context(prec=60, Emax=10**9, Emin=-(10**9))
"""Decimal arithmetic of 60 digits, for laws of counts such as binomial laws."""


def decimal(value: float) -> Fraction:
    """Return the decimal that a finite double prints as, exactly: 0.1 becomes one tenth.

    >>> decimal(0.1)
    Fraction(1, 10)
    """
    return Fraction(*Decimal(repr(float(value))).as_integer_ratio())  # twice as fast as Fraction(text)


def fraction(value: object) -> Fraction | None:
    """Return a number, or the text of a number, as a fraction; ``None`` for other values and for too many digits.

    >>> fraction("1/3"), fraction(0.1), fraction("a third")
    (Fraction(1, 3), Fraction(1, 10), None)
    """
    if isinstance(value, Decimal):
        value = str(value)
    if isinstance(value, str):
        return Fraction(value) if len(value) <= MAX_DIGITS and TEXT.match(value) else None
    if not isinstance(value, numbers.Real) or isinstance(value, bool):
        return None
    if isinstance(value, numbers.Rational):
        found = Fraction(int(value.numerator), int(value.denominator))
        return found if max(abs(found.numerator), found.denominator) < 10**MAX_DIGITS else None
    number = float(value)
    return decimal(number) if math.isfinite(number) else None


QUOTIENT = re.compile(r"^([0-9][0-9_]*(?:\.[0-9]+)?)(?:/([0-9][0-9_]*(?:\.[0-9]+)?)|(%))$")
"""Pattern of text such as ``1/60000``, ``256/60_000`` or ``0.5%``, as people write rates and deltas."""


def quotient(text: str) -> Fraction | None:
    """Return a quotient or a percentage as a fraction; ``None`` if the text is neither.

    >>> quotient("256/60_000"), quotient("0.5%"), quotient("1/0"), quotient("0.5")
    (Fraction(8, 1875), Fraction(1, 200), None, None)
    """
    found = QUOTIENT.match(text.strip()) if len(text) <= SHOWN_LENGTH else None
    if found is None:
        return None
    above, below = Fraction(found[1].replace("_", "")), Fraction((found[2] or "100").replace("_", ""))
    return above / below if below else None


def towards(value: Fraction, up: bool) -> float:
    """Return a fraction rounded to a double: up if ``up`` is true, else down.

    A double stands for the decimal that it prints as, see :func:`decimal`. The result is infinite if no finite double
    lies on the requested side of the fraction.

    >>> towards(Fraction(1, 60000), True), towards(Fraction(1, 60000), False), towards(Fraction(1, 4), True)
    (1.6666666666666667e-05, 1.6666666666666664e-05, 0.25)
    """
    end = math.inf if up else -math.inf
    try:
        found = float(value)
    except OverflowError:  # the fraction is far beyond the largest double
        found = math.copysign(math.inf if (value > 0) == up else sys.float_info.max, 1 if value > 0 else -1)
    while math.isfinite(found) and (decimal(found) < value if up else decimal(found) > value):
        found = math.nextafter(found, end)
    return found


def written(value: Fraction) -> float | str:
    """Return a fraction as plan files store it: a number if its decimal is exact, else a text such as ``"1/3"``.

    >>> written(Fraction(1, 4)), written(Fraction(1, 3))
    (0.25, '1/3')
    """
    number = float(value)
    return number if decimal(number) == value else f"{value.numerator}/{value.denominator}"
