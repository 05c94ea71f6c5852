"""Delta of the finite losses of one direction: by an engine, or near the largest loss without one.

Rounds with catastrophic failures have an infinite loss with some probability, which is added elsewhere
(``certified.py``, ``curve.py``). :func:`log_sum` and :func:`log_less` add and subtract numbers given by logarithms.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Protocol

from hockeystick.engines.base import Engine
from hockeystick.numerics.rounding import UNIT_ROUNDOFF
from hockeystick.pairs import Composition
from hockeystick.values.interval import Interval
from hockeystick.values.side import Side

if TYPE_CHECKING:
    from fractions import Fraction

SUM_ERROR = 16 * UNIT_ROUNDOFF  # error of the log of a sum of two exponentials, times (1 + larger argument)


class EngineFactory(Protocol):
    """Factory of an engine for a composition, such as the class of an engine."""

    def __call__(self, composition: Composition) -> Engine:
        """Return the engine for one direction."""
        ...


def finite_log_delta(composition: Composition, epsilon: float, gap: float | None, engine: EngineFactory) -> Interval:
    """Return log delta of the finite losses of one direction, even at and near its largest loss."""
    if composition.tells_all:
        return Interval(-math.inf, -math.inf, -math.inf)
    if composition.bounded:
        from fractions import Fraction

        from hockeystick.values.exact import decimal

        low, high = composition.supremum
        at = decimal(epsilon)
        if at >= high:
            return Interval(-math.inf, -math.inf, -math.inf)
        if at >= low * (1 - Fraction(1, 2**50)):
            # near the end, rounding dominates: 1 - e^(eps - L) is at most 1 - e^(eps - sup)
            return Interval(-math.inf, -math.inf, _below_largest(at, high))
        # 1 - e^(eps - L) is at most 1 - e^(eps - sup): a free bound, the better one near the end
        found = engine(composition).log_delta(epsilon, gap)
        free = _below_largest(at, high)
        return found.at_most(free) if free < found.upper else found
    return engine(composition).log_delta(epsilon, gap)


def _below_largest(at: Fraction, largest: Fraction) -> float:
    """Upper bound on log delta at an epsilon below the largest loss: that of ``1 - e^(eps - largest)``."""
    return min(math.log(-math.expm1(-float(largest - at))) + 1e-12, 0.0)


def log_less(a: float, b: float) -> float:
    """Return a double below ``log(e^a - e^b)``: minus infinity unless a exceeds b by 1; a itself if b is negligible."""
    if b == -math.inf:
        return a
    return a + math.log(-math.expm1(b - a)) - SUM_ERROR * (1 + abs(a)) if b < a - 1 else -math.inf


def log_sum(a: float, b: float, side: Side | None) -> float:
    """Return a double on a given side of ``log(e^a + e^b)``; without a side, the computed value itself.

    The difference, exp, log1p and the last sum each err by a few units of 1 or of the larger argument.
    """
    top = max(a, b)
    if top == -math.inf:
        return top
    return top + math.log1p(math.exp(min(a, b) - top)) + (side or 0) * SUM_ERROR * (1 + abs(top))
