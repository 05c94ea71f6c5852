"""Counted work: what one call may take, so that each ends, and gives the same answer on every machine.

Work is counted in units of about a nanosecond on one core, by the sizes of what is done and not by a clock. A public
call (an epsilon, a profile, a calibration) opens an *allowance* with :func:`one_call`; everything below it pays from
that allowance. A step that is dear and can be left out is charged before it is begun (:meth:`Work.charge`), and is not
begun where the allowance does not hold it: the interval found so far is the answer, or a cheaper bound is. Steps that
cannot be left out are paid for in any case (:func:`spend`).

Where no call is open, as in a test of one engine, nothing is limited but each question by itself.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable
from contextvars import ContextVar, Token
from functools import lru_cache, wraps
from typing import Generic, ParamSpec, TypeVar

from hockeystick.values.errors import NotApplicableError

P = ParamSpec("P")  # the parameters of a function that is counted
T = TypeVar("T")  # what it returns

QUESTION = 1.6e9
"""Units that one question to an engine may take: two seconds or so."""

CALL = 2.0 * QUESTION
"""Units that one public call may take, however many questions it asks: as much as the two directions of one plan."""

UNCOUNTED = 1e15
"""Units that nothing takes, and from which one is still told."""

RESERVE = 0.3 * QUESTION
"""Units that an answer of last resort may take where less is left: a dozen orders of the moments of 200 kinds.
The best order is not looked for any further then."""

LAST = 3.0 * RESERVE
"""Units that all answers of last resort in one call may take beyond what it may: a search asks for dozens of answers,
and once these are used up, too, each is the one that takes next to nothing."""

USED_UP = "the work that one call may take was used up"
"""Why an answer is wider than it might be."""

MANY_KINDS, CALL_OF_MANY = 1000, 3.0 * CALL
"""From so many different rounds on a call may take more: ten seconds or so. What no allowance can leave out, such as
reading every round once, is then seconds by itself."""


class WorkLimitError(NotApplicableError):
    """The next step would exceed what the question, or the call, may take."""


class _Allowance:
    """Allowance of a call, or of a part of one, which the whole is paid from too.

    Attributes:
        paid: what the call has paid for once and for all, and with how many units; see :func:`once`.
        call: the allowance of the whole call.
    """

    __slots__ = ("call", "left", "paid", "refused", "whole")

    def __init__(self, left: float, whole: _Allowance | None = None) -> None:
        self.left, self.whole, self.refused = left, whole, False
        self.call: _Allowance = self if whole is None else whole.call
        self.paid: dict[Hashable, float] = {} if whole is None else whole.paid

    def spend(self, units: float) -> None:
        paying: _Allowance | None = self
        while paying is not None:
            paying.left -= units
            paying = paying.whole

    def refuse(self) -> None:
        self.refused = True
        if self.whole is not None:
            self.whole.refuse()


_open: ContextVar[_Allowance | None] = ContextVar("allowance", default=None)


class Work:
    """Work that one question may take of the allowance that is open while it is answered.

    Args:
        units: of work, for this question alone.
    """

    __slots__ = ("_units",)

    def __init__(self, units: float = QUESTION) -> None:
        self._units = units

    @property
    def left(self) -> float:
        """Units that are left; below 0 where a last step took more."""
        return min(self._units, left())

    def charge(self, units: float, step: str, later: float = 0.0) -> None:
        """Pay for a step before it is taken.

        Args:
            units: that are paid.
            step: what is refused.
            later: units that have to be left, too, as the step pays them on its way.

        Raises:
            WorkLimitError: too little is left; nothing was paid.
        """
        if not units + later <= self.left:
            if units + later <= self._units:
                refuse()
            raise WorkLimitError(f"it would take too long: {step}")
        self.spend(units)

    def spend(self, units: float) -> None:
        """Pay for a step that is taken in any case."""
        self._units -= units
        spend(units)


class _Opened:
    """A context in which an allowance is open; of ``None`` one that changes nothing.

    A class, since each question opens a dozen, and a generator takes four times as long.
    """

    __slots__ = ("_allowance", "_token")

    _token: Token[_Allowance | None]

    def __init__(self, allowance: _Allowance | None) -> None:
        self._allowance = allowance

    def __enter__(self) -> None:
        if self._allowance is not None:
            self._token = _open.set(self._allowance)

    def __exit__(self, *error: object) -> None:
        if self._allowance is not None:
            _open.reset(self._token)


def one_call(kinds: int = 1) -> _Opened:
    """The allowance of a public call, for what is called within; a call within a call pays from the outer one.

    Args:
        kinds: of rounds, which one question is about.
    """
    if _open.get() is not None:
        return _Opened(None)
    return _Opened(_Allowance(CALL if kinds < MANY_KINDS else CALL_OF_MANY))


def counted(call: Callable[P, T]) -> Callable[P, T]:
    """A public function, or method, that is one call (:func:`one_call`)."""

    @wraps(call)
    def called(*args: P.args, **kwargs: P.kwargs) -> T:
        with one_call():
            return call(*args, **kwargs)

    return called


def part(share: float) -> _Opened:
    """Let what is called within spend no more than that share of what is left; the rest stays for what comes after."""
    whole = _open.get()
    return _Opened(None if whole is None else _Allowance(share * max(whole.left, 0.0), whole))


def last_resort() -> _Opened:
    """Let what is called within spend a little more where nothing is left: the answer that is given if no other is.

    All of these in one call share :data:`LAST`.
    """
    whole = _open.get()
    if whole is None or whole.left >= RESERVE:
        return _Opened(None)
    return _Opened(_Allowance(min(RESERVE, max(LAST + whole.call.left, 0.0)), whole))


class Remembered(Generic[P, T]):
    """A function with a cache, whose work is paid for whether it is done or remembered; see :func:`remembered`."""

    def __init__(self, function: Callable[P, T], size: int, once: bool) -> None:
        self.__wrapped__, self._once = function, once
        self._measured = lru_cache(maxsize=size)(self._measure)
        self.cache_clear, self.cache_info = self._measured.cache_clear, self._measured.cache_info

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> T:
        """Return the result of the function, and pay what it took when it was called first."""
        found, units, within = self._measured(*args, **kwargs)  # type: ignore[arg-type]  # hashable, or lru_cache says
        _pay_within(within)
        if self._once:
            once((self, args, tuple(kwargs.items())), units)
        else:
            spend(units)
        return found

    def _measure(self, *args: P.args, **kwargs: P.kwargs) -> tuple[T, float, dict[Hashable, float]]:
        """Return the result of the function, its own work, and what it paid for once."""
        allowance = _Allowance(UNCOUNTED)

        def own() -> float:
            return UNCOUNTED - allowance.left - math.fsum(allowance.paid.values())

        try:
            with _Opened(allowance):
                return self.__wrapped__(*args, **kwargs), own(), allowance.paid
        except NotApplicableError:  # which is not remembered
            _pay_within(allowance.paid)
            spend(own())
            raise


def remembered(size: int, *, once: bool = False) -> Callable[[Callable[P, T]], Remembered[P, T]]:
    """Give a function of hashable arguments a cache of so many results.

    What an answer may take then does not depend on what was asked before, and neither does the answer. The work within
    is not refused once it has begun.

    Args:
        size: results that are kept, the last ones asked for.
        once: whether a call pays for a result when it first asks for it alone, and not each time: for what several
            parts of a call share, as many results as a call asks for being kept.
    """
    return lambda function: Remembered(function, size, once)


def once(key: Hashable, units: float) -> None:
    """Pay from the open allowance for what a call pays for once, however often it asks and whoever asked before."""
    allowance = _open.get()
    if allowance is not None and key not in allowance.paid:
        allowance.paid[key] = units
        allowance.spend(units)


def _pay_within(paid: dict[Hashable, float]) -> None:
    for key, units in paid.items():
        once(key, units)


def spend(units: float) -> None:
    """Pay from the open allowance, if there is one, for what is done in any case."""
    allowance = _open.get()
    if allowance is not None:
        allowance.spend(units)


def charge(units: float, step: str, later: float = 0.0) -> None:
    """Pay from the open allowance for a step before it is taken; where none is open, of what one call may take.

    For the arguments see :meth:`Work.charge`.

    Raises:
        WorkLimitError: too little is left; nothing was paid.
    """
    Work(CALL).charge(units, step, later)


def left() -> float:
    """Units that the open allowance has left; infinite where none is open."""
    allowance = _open.get()
    return math.inf if allowance is None else allowance.left


def overdraft() -> float:
    """Units that what is next to free may take: what is left, and :data:`RESERVE` beyond what the whole call may."""
    allowance = _open.get()
    if allowance is None:
        return math.inf
    return max(allowance.left, 0.0) + max(RESERVE + min(allowance.call.left, 0.0), 0.0)


def spent() -> bool:
    """True if the open allowance is used up: what can be left out is left out, from here on."""
    return left() <= 0


def check_left() -> None:
    """Raise unless something is left: asked before what can be left out and is not counted step by step.

    Raises:
        WorkLimitError: nothing is.
    """
    if spent():
        refuse()
        raise WorkLimitError(USED_UP)


def short() -> bool:
    """True if anything was left out so far since the allowance of the call did not hold it."""
    allowance = _open.get()
    return allowance is not None and (allowance.refused or allowance.left <= 0)


def refuse() -> None:
    """Say that something was left out which the allowance of the call did not hold; see :func:`short`."""
    allowance = _open.get()
    if allowance is not None:
        allowance.refuse()
