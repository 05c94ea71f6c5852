"""Probabilities in the words of people: per cent, "of 1,000", one in so many; always rounded to the safe side."""

from __future__ import annotations

from decimal import ROUND_CEILING, Context, Decimal

from hockeystick.report.rounding import QUOTED_DIGITS, exp_up

CROWD = 1000  # people of whom a share is told

_WIDE = Context(prec=1200)  # digits of a double, all of them, and a factor
LEAST = -6  # decimal exponent of the least per cent that is written without a power of ten


def percent_up(share: float) -> str:
    """A share in per cent, three significant digits, rounded up; at most 100.

    >>> percent_up(0.04027166), percent_up(1.0), percent_up(0.0)
    ('4.03%', '100%', '0%')
    """
    return _percent(Decimal(share), ROUND_CEILING)


def percent_given(share: float) -> str:
    """A share in per cent as it was given: of the decimal that it prints as.

    >>> percent_given(0.001), percent_given(0.1)
    ('0.1%', '10%')
    """
    return f"{(100 * Decimal(repr(share))).normalize():f}%"


def half_up(advantage: float) -> str:
    """The largest probability of a right guess between two, in per cent: half of 1 and the advantage, rounded up.

    >>> half_up(0.22475654)
    '61.3%'
    """
    return _percent(_WIDE.divide(_WIDE.add(Decimal(1), Decimal(advantage)), Decimal(2)), ROUND_CEILING)


def crowd_given(share: float) -> str:
    """How many of 1,000 a share is that was given.

    >>> crowd_given(0.001), crowd_given(0.1)
    ('1', '100')
    """
    return f"{(CROWD * Decimal(repr(share))).normalize():f}"


def of_crowd(share: float) -> str:
    """How many of 1,000 a share is, rounded up to whole people.

    >>> of_crowd(0.04027166), of_crowd(1e-9), of_crowd(1.0)
    ('41', '1', '1,000')
    """
    people = _WIDE.multiply(Decimal(share), Decimal(CROWD)).to_integral_value(ROUND_CEILING)
    return f"{min(int(people), CROWD):,}"


def factor_up(epsilon: float) -> str:
    """e to the epsilon, three significant digits, rounded up.

    >>> factor_up(2.3851216)
    '10.9'
    """
    return exp_up(epsilon, QUOTED_DIGITS)


def _percent(share: Decimal, rounding: str) -> str:
    hundredfold = min(_WIDE.multiply(share, Decimal(100)), Decimal(100))
    short = Context(prec=QUOTED_DIGITS, rounding=rounding).create_decimal(hundredfold)
    if short == hundredfold:
        short = short.normalize()
    return f"{short:f}%" if not short or short.adjusted() >= LEAST else f"{short:.2e}%".replace("e-0", "e-")
