"""Log delta of the finite losses of one direction, and of all losses.

An engine computes log delta of the finite losses, except near the largest loss, where no engine is needed. Rounds with
catastrophic failures also have an infinite loss with some probability. :func:`with_infinite` adds this probability. In
lower ends it also subtracts the mass of atoms that replace outcomes cut off in the tail.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

import numpy as np

from hockeystick.engines.base import Engine
from hockeystick.numerics.rounding import UNIT_ROUNDOFF
from hockeystick.pairs import Composition
from hockeystick.values.interval import Array, Ends, Interval
from hockeystick.values.side import Side

if TYPE_CHECKING:
    from fractions import Fraction

SLIP = 16 * UNIT_ROUNDOFF  # charge for a few roundings, relative to a number, or to 1 plus the size of a logarithm


class EngineFactory(Protocol):
    """Function that returns an engine for a composition, such as the engine's class."""

    def __call__(self, composition: Composition) -> Engine:
        """Return the engine for a composition, which is one direction of a plan."""
        ...


def finite_log_delta(composition: Composition, epsilon: float, ask: Callable[[], Interval]) -> Interval:
    """Return an interval for log delta of the finite losses of one direction.

    Args:
        composition: the rounds.
        epsilon: 0 or greater.
        ask: function that returns an engine's interval at this epsilon. It is not called if epsilon is the largest loss
            or just below it, or above.
    """
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
            # just below the largest loss, rounding dominates an engine's answer; see below for the bound used
            return Interval(-math.inf, -math.inf, _below_largest(at, high))
        # 1 - e^(eps - L) is at most 1 - e^(eps - sup); near the largest loss, this bound is better than an engine's
        return ask().at_most(_below_largest(at, high))
    return ask()


def _below_largest(at: Fraction, largest: Fraction) -> float:
    """Upper bound on log delta at an epsilon below the largest loss: ``log(1 - e^(epsilon - largest))``, rounded up."""
    return min(math.log(-math.expm1(-float(largest - at))) + 1e-12, 0.0)


def with_infinite(composition: Composition, finite: Ends) -> Ends:
    """Return ends of log delta of all losses, finite and infinite, from ends of log delta of the finite losses."""
    standing, infinite = composition.standing_mass, composition.infinite_mass
    lower = _log_less(finite.lower, math.log(standing)) if standing else finite.lower
    if infinite == 0:
        return Ends(lower, finite.estimate, finite.upper)
    # the lower bound on a mass near 0 is 0, with logarithm -inf: adding 0 to the lower end of delta is safe
    low, high = (math.log(end) if end > 0 else -math.inf for end in composition.infinite_mass_ends)
    return Ends(
        np.minimum(_log_sum(lower, low, Side.BELOW), 0.0),
        np.minimum(_log_sum(finite.estimate, math.log(infinite), None), 0.0),
        np.minimum(_log_sum(finite.upper, high, Side.ABOVE), 0.0),
    )


def _log_less(a: Array, b: float) -> Array:
    """Return lower bounds on ``log(e^a - e^b)``; minus infinity unless a exceeds b by more than 1."""
    over = np.maximum(a, b + 1)
    left: Array = over + np.log(-np.expm1(b - over)) - SLIP * (1 + np.abs(over))
    return np.where(a > b + 1, left, -math.inf)


def _log_sum(a: Array, b: float, side: Side | None) -> Array:
    """Return ``log(e^a + e^b)``, moved up or down to ``side`` by a bound on its rounding error.

    The computation consists of a difference, an exp, a log1p and a sum. Each of them errs by a few units in the last
    place of 1 or of the larger argument. ``side=None`` leaves the result as computed.
    """
    total: Array = np.logaddexp(a, b)
    return total if side is None else total + side * SLIP * (1 + np.abs(total))
