"""Budget of a query: a limit on its work. With it, a query ends at the same point on every machine.

Work is counted in units of about a nanosecond on one core. It is computed from the sizes of the computations, not
measured by a clock. Code that answers a query opens a budget. Before each step of a long loop, this code calls
:func:`allows`, and skips the step if it is not allowed. The answer is then the interval found so far, or a cheaper
bound. Units used in a nested budget are also deducted from the outer budget. If no budget is open, every single step of
at most :data:`CALL` units is allowed.
"""

from __future__ import annotations

from contextvars import ContextVar, Token
from typing import Self

CALL = 3.2e9
"""Units allowed for one public call, or for one query to an engine that is used directly: about four seconds."""

MOST = 0.7
"""Largest share of the remaining work that one step may use if later steps follow."""

USED_UP = "the call reached its work limit"
"""Reason given for an interval that is wider than requested."""

_open: ContextVar[Budget | None] = ContextVar("budget", default=None)


class Budget:
    """Units of work, available inside a ``with`` block. Consecutive blocks with the same budget share its units.

    Args:
        units: number of units available.

    Attributes:
        left: number of units left.
    """

    __slots__ = ("_before", "_token", "left")

    _token: Token[Budget | None]

    def __init__(self, units: float) -> None:
        self.left = units

    def __enter__(self) -> Self:
        self._before = self.left
        self._token = _open.set(self)
        return self

    def __exit__(self, *error: object) -> None:
        _open.reset(self._token)
        around = _open.get()
        if around is not None:
            around.left -= self._before - self.left


def question() -> Budget:
    """Return a budget for a public call: :data:`CALL` units, or the units left to the outer call if there is one."""
    around = _open.get()
    return Budget(CALL if around is None else around.left)


def share(part: float = MOST) -> Budget:
    """Return a budget that holds a fraction ``part`` of the units left; the rest is kept for later steps."""
    return Budget(part * left())


def left() -> float:
    """Return the number of units left in the open budget, or :data:`CALL` if no budget is open."""
    budget = _open.get()
    return CALL if budget is None else budget.left


def allows(units: float) -> bool:
    """Return True if a step of this many units is allowed, and then deduct them from the open budget.

    >>> with Budget(10.0):
    ...     [allows(6.0), allows(6.0), allows(4.0)]
    [True, False, True]
    """
    budget = _open.get()
    if units > left():
        return False
    if budget is not None:
        budget.left -= units
    return True
