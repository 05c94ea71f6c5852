"""Privacy spent so far, at any moment."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import ClassVar

from hockeystick.questions.filters.approximate import Guarantees
from hockeystick.questions.filters.base import SLACK, rounded_up
from hockeystick.questions.filters.conversion import TARGET, balanced_tilt
from hockeystick.values import domains
from hockeystick.values.adjacency import Adjacency


class Odometer(Guarantees):
    """Odometer of the privacy spent: with probability ``1 - delta`` the loss never exceeds its reading.

    With R_n the sum of the rhos of the first n rounds, L_n that of their losses, and any order ``alpha > 1`` fixed
    beforehand, ``exp((alpha - 1) (L_n - alpha R_n))`` is a supermartingale that starts at 1, however the rounds were
    chosen ([BS16]; the proof is that of :class:`ApproximateDpFilter`). By Ville's inequality ``L_n <= alpha R_n +
    log(1/delta') / (alpha - 1)`` at all n together, except with probability delta'. This is the odometer of [WRRW23]
    that is tight at a preselected moment: the order is the best one there. Infinite losses have a total probability of
    at most delta''. If no loss is infinite, L_n is for certain at most the sum of the largest losses. So the smaller of
    the two bounds holds with the same probability.

    Args:
        delta: delta' + delta''.
        expected: epsilon at which the odometer is tightest.
        slack: delta', by default half of delta.
        adjacency: neighbouring relation.

    >>> from hockeystick import RandomizedResponse, Round
    >>> odometer = Odometer(delta=1e-6, expected=1.0)
    >>> odometer.spend(Round(RandomizedResponse(0.01), count=20))
    >>> odometer.spent
    0.2
    >>> odometer.spend(Round(RandomizedResponse(0.01), count=300))
    >>> print(f"{odometer.spent:.4f}")
    0.9798
    """

    name: ClassVar[str] = "odometer"

    def __init__(
        self,
        delta: float,
        expected: float,
        slack: float | None = None,
        adjacency: Adjacency | str = Adjacency.ADD_OR_REMOVE,
    ) -> None:
        super().__init__(delta, slack, adjacency)
        expected = TARGET.of("the expected epsilon").check(expected, "expected")
        # alpha R + log(1/delta') / (alpha - 1) is least over alpha at the tilt that balances rho = R
        self._tilt = balanced_tilt(expected, self._log)

    @property
    def spent(self) -> float:
        """Epsilon spent so far."""
        _, loss, rho = self._spent
        return min(rounded_up(loss), self._line(rho))

    def _line(self, rho: Fraction) -> float:
        """``alpha R + log(1/delta') / (alpha - 1)``, rounded up."""
        return ((1 + self._tilt) * float(rho) + self._log / self._tilt) * (1 + SLACK)

    def epsilon(self, delta: float) -> float:
        """Return the epsilon spent so far if ``delta`` is at least the odometer's; otherwise infinity."""
        return self.spent if domains.TARGET_DELTA.check(delta, "delta") >= self._delta else math.inf

    def said(self) -> str:
        """Return the epsilon and the deltas spent so far, as text."""
        return f"epsilon: {self.spent:.6g} spent; {super().said()}"
