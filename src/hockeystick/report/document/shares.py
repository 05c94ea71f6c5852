"""Probabilities in everyday words: percent, "of 1,000", always rounded to the safe side."""

from __future__ import annotations

from decimal import ROUND_CEILING, Context, Decimal

from hockeystick.report.rounding import QUOTED_DIGITS, written

CROWD = 1000  # size of the group in "of 1,000"

_EXACT = Context(prec=1200)  # all digits of a double, and of a small factor


def percent_up(share: float) -> str:
    """Return a share in percent with three significant digits, rounded up, at most 100.

    >>> percent_up(0.04027166), percent_up(1.0), percent_up(0.0)
    ('4.03%', '100%', '0%')
    """
    return _percent(Decimal(share))


def given(share: float, of: int) -> str:
    """Return ``share * of`` as text, computed without rounding from the shortest decimal of ``share``.

    >>> given(0.001, 100), given(0.1, 1000)
    ('0.1', '100')
    """
    return f"{(of * Decimal(repr(share))).normalize():f}"


def half_up(advantage: float) -> str:
    """Return ``(1 + advantage) / 2`` in percent, rounded up.

    It is the largest probability of a right guess between two equally likely datasets.

    >>> half_up(0.22475654)
    '61.3%'
    """
    return _percent(_EXACT.divide(_EXACT.add(Decimal(1), Decimal(advantage)), Decimal(2)))


def of_crowd(share: float) -> str:
    """Return the number of people, out of 1,000, that a share amounts to, rounded up.

    >>> of_crowd(0.04027166), of_crowd(1e-9), of_crowd(1.0)
    ('41', '1', '1,000')
    """
    people = _EXACT.multiply(Decimal(share), Decimal(CROWD)).to_integral_value(ROUND_CEILING)
    return f"{min(int(people), CROWD):,}"


def _percent(share: Decimal) -> str:
    hundredfold = min(_EXACT.multiply(share, Decimal(100)), Decimal(100))
    short = Context(prec=QUOTED_DIGITS, rounding=ROUND_CEILING).create_decimal(hundredfold)
    return f"{written(short.normalize() if short == hundredfold else short)}%"
