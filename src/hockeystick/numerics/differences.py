"""Forward differences of a positive sequence, in decimal arithmetic with enough digits for their cancellation.

The difference ``D_l = sum_i (-1)^(l-i) C(l, i) a_i`` loses about ``log10 (2^l a_l / D_l)`` digits by cancellation:
hundreds if the sequence comes from two laws that are close to each other. For moments ``a_i = E X^i`` with ``E X = 1``,
``D_l`` equals ``E (X - 1)^l``, and so is at least ``D_2^(l/2)`` for even l. This determines how many digits are needed.
Each result is raised by a bound on its rounding error.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal, localcontext
from itertools import pairwise

from hockeystick.numerics.rounding import next_up

DIGITS = 40  # decimal digits beyond those that cancel
MOST_DIGITS = 1280  # largest number of decimal digits; if more would be needed, the bounds are valid but wide
SHORT = Context(prec=30, Emin=MIN_EMIN, Emax=MAX_EMAX)  # for logarithms, which are needed only as doubles


def log_even_differences(terms: Callable[[int], Sequence[Decimal]], most: int) -> list[float]:
    """Return upper bounds on ``log D_l`` for l = 0, 2, ..., most (most even), as a list indexed by ``l / 2``.

    Args:
        terms: function that returns ``a_0, ..., a_n`` for a given n, computed in the current decimal context. The
            sequence increases from ``a_0 = 1`` on, and its even differences are non-negative. Each a_i may err by
            ``2 (i + 1)^2`` units in the last place. It may also have the error that a rounded exponent causes in an
            exponential.
        most: the largest l, even, at least 2.

    >>> powers = log_even_differences(lambda most: [Decimal(3) ** i for i in range(most + 1)], 4)
    >>> [round(math.exp(value), 9) for value in powers]
    [1.0, 4.0, 16.0]
    """
    digits = _digits(terms, most)
    with localcontext(Context(prec=digits, Emin=MIN_EMIN, Emax=MAX_EMAX)):
        found = _differences(terms(most), digits)
        return [next_up(float(SHORT.ln(value)), 4) if value > 0 else -math.inf for value in found]


def _digits(terms: Callable[[int], Sequence[Decimal]], most: int) -> int:
    """Return the number of digits needed: ``log10 (2^most a_most / D_2^(most/2))``, and a reserve."""
    with localcontext(Context(prec=MOST_DIGITS // 2, Emin=MIN_EMIN, Emax=MAX_EMAX)):
        zeroth, first, second = terms(2)
        variance = second - 2 * first + zeroth
    if variance <= 0:
        return MOST_DIGITS
    with localcontext(SHORT):
        lost = most * math.log10(2) + float(terms(most)[-1].log10()) - most / 2 * float(variance.log10())
    return min(DIGITS + math.ceil(max(lost, 0.0)), MOST_DIGITS)


def _differences(row: Sequence[Decimal], digits: int) -> list[Decimal]:
    """Return upper bounds on the even differences ``D_0, D_2, ...``.

    Two errors are added to each difference. Each a_i has a relative error of at most ``(2 (i + 1)^2 + 4 |log a_i|)
    10^(1-digits)``, and the absolute values of the weights in ``D_l`` sum to ``2^l``. Each of the l subtractions that
    lead to ``D_l`` errs by at most ``10^(1-digits)`` times ``2^l a_l``.
    """
    largest = row
    unit = Decimal(10) ** (1 - digits)
    out = []
    for order in range(len(largest)):
        if order % 2 == 0:
            units = order + 2 * (order + 1) ** 2 + 4 * abs(SHORT.ln(largest[order]))
            error = unit * 2**order * largest[order] * units
            out.append(max(row[0], Decimal(0)) + error)
        row = [after - before for before, after in pairwise(row)]
    return out
