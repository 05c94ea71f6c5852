"""Forward differences of a sequence of positive numbers, in decimal arithmetic with as many digits as they cancel.

``D_l = sum_i (-1)^(l-i) C(l, i) a_i`` loses about as many digits as D_l is smaller than ``2^l a_l``, hundreds where a
law is close to another. The digits are doubled until the bound on the rounding error is negligible beside every
difference.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal, localcontext
from itertools import pairwise

from hockeystick.numerics.rounding import next_up

FIRST_DIGITS, MOST_DIGITS = 80, 1280
SHORT = Context(prec=30)  # for logarithms, which are only wanted as doubles
NEGLIGIBLE = Decimal("1e-20")  # of a difference


def log_even_differences(term: Callable[[int], Decimal], most: int) -> list[float]:
    """Upper bounds on ``log D_l`` for l = 0, 2, ..., most (most even), as a list indexed by ``l / 2``.

    Args:
        term: ``a_i``, to a few units in the last place of the current decimal context plus the error that the
            exponent of an exponential passes on; ``1 = a_0 <= a_1 <= ...``, with non-negative even differences.
        most: the last order, even, at least 0.

    >>> [round(math.exp(value), 9) for value in log_even_differences(lambda i: Decimal(3) ** i, 4)]
    [1.0, 4.0, 16.0]
    """
    digits = FIRST_DIGITS
    while True:
        with localcontext(Context(prec=digits, Emin=MIN_EMIN, Emax=MAX_EMAX)):
            found, negligible = _differences(term, most, digits)
            if negligible or 2 * digits > MOST_DIGITS:
                return [next_up(float(SHORT.ln(value)), 4) if value > 0 else -math.inf for value in found]
        digits *= 2


def _differences(term: Callable[[int], Decimal], most: int, digits: int) -> tuple[list[Decimal], bool]:
    """Upper bounds on the even differences, and whether rounding is negligible in all of them.

    Each a_i errs by at most ``(8 + 4 |log a_i|) 10^(1-digits)`` of itself and each of the l subtractions on the way by
    ``10^(1-digits)`` of a number that is at most ``2^l a_l``; the weights of ``D_l`` add up to ``2^l``.
    """
    row = [term(index) for index in range(most + 1)]
    largest = list(row)
    unit = Decimal(10) ** (1 - digits)
    out, negligible = [], True
    for order in range(most + 1):
        if order % 2 == 0:
            error = unit * 2**order * largest[order] * (order + 8 + 4 * abs(SHORT.ln(largest[order])))
            negligible = negligible and error <= NEGLIGIBLE * row[0]
            out.append(max(row[0], Decimal(0)) + error)
        row = [after - before for before, after in pairwise(row)]
    return out, negligible
