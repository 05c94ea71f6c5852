"""Budget of a query: a limit on its work, so that it ends, and at the same point on every machine.

Work is counted in units of about a nanosecond on one core, from the sizes of the computations and not by a clock. The
code that answers a query opens a budget; potentially long loops below it call :func:`allows` before each step, and
skip the step if it is not allowed; the answer is then the interval found so far, or a cheaper bound. A nested budget
draws on the outer one too. Without any budget, every single step of at most :data:`QUESTION` units is allowed.
"""

from __future__ import annotations

from contextvars import ContextVar, Token
from typing import Self

QUESTION = 1.6e9
"""Units allowed for one query to an engine: about two seconds."""

CALL = 2.0 * QUESTION
"""Units allowed for one public call: those of the two directions of a plan."""

USED_UP = "the call reached its work limit"
"""Reason for an interval that is wider than necessary."""

_open: ContextVar[Budget | None] = ContextVar("budget", default=None)


class Budget:
    """Units of work, available inside a ``with`` block; several consecutive blocks share them.

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
    """Return the budget of a public call; within another call, a budget of that call's remaining units."""
    around = _open.get()
    return Budget(CALL if around is None else around.left)


def share(part: float) -> Budget:
    """Return a budget with a part of the units left; the rest is kept for later steps."""
    return Budget(part * left())


def left() -> float:
    """Return the number of units left."""
    budget = _open.get()
    return QUESTION if budget is None else budget.left


def allows(units: float) -> bool:
    """True if a step of this many units is allowed; they are then deducted from the budget.

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
