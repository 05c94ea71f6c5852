"""The budget of a question: how much work it may take, so that it ends, and ends alike on every machine.

Work is counted in units of about a nanosecond on one core, by the sizes of what is done and not by a clock. Whoever
answers a question opens a budget; the loops below that can be long ask :func:`allows` before they begin a step, and
leave the step out where they must not: the interval found so far is the answer, or a cheaper bound is. A budget within
another one takes from both. Without any budget every single step of at most :data:`QUESTION` units is allowed.
"""

from __future__ import annotations

from contextvars import ContextVar, Token
from typing import Self

QUESTION = 1.6e9
"""Units that one question to an engine may take: two seconds or so."""

CALL = 2.0 * QUESTION
"""Units that one public call may take: as many as the two directions of a plan."""

USED_UP = "the call reached its work limit"
"""Reason for an interval that is wider than it might be."""

_open: ContextVar[Budget | None] = ContextVar("budget", default=None)


class Budget:
    """Units of work, open as long as a ``with`` block lasts; several blocks, one after another, share them.

    Args:
        units: that may be taken within.

    Attributes:
        left: units that are left.
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
    """The budget of a public call; of a call within a call what that one has left."""
    around = _open.get()
    return Budget(CALL if around is None else around.left)


def share(part: float) -> Budget:
    """A part of what is left; the rest stays for what comes after."""
    return Budget(part * left())


def left() -> float:
    """Units that are left."""
    budget = _open.get()
    return QUESTION if budget is None else budget.left


def allows(units: float) -> bool:
    """True if a step of so many units may be taken, which are taken from the budget then.

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
