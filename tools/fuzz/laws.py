"""What has to hold of every answer, and what each call may cost."""

from __future__ import annotations

import math
import signal
import time
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any, TypeVar

import numpy as np

import hockeystick as hs
from hockeystick.values.bounds import Answer
from hockeystick.values.errors import HockeystickError, InvalidInputError

T = TypeVar("T")

SECONDS = 5.0
"""Processor time that one call may take."""

GIVEN_UP = 12.0
"""Processor time after which a call is given up, where it may take 5 s; in proportion where it may take more."""

SLACK = 1e-12
"""Relative: what comparing rounded doubles may cost."""

LONGEST_MESSAGE = 600
"""Characters that a refusal may have: a line to be read by a person. Values received are cut at 60 characters."""

LIBRARY = str(Path(hs.__file__).parent)


class GivenUpError(BaseException):
    """A call that takes too long. No ``except Exception`` of what is called can catch it."""


class Held:
    """Asks, and keeps every law that does not hold, in words.

    Args:
        patience: what limits on time are multiplied by; 1 where a process has the machine's attention.

    Attributes:
        wrong: what does not hold, but for times.
        late: the calls that took longer than they may.
        slowest: processor time of the slowest call, in seconds, and what it was.
    """

    def __init__(self, patience: float = 1.0) -> None:
        self._patience = patience
        self.wrong: list[str] = []
        self.late: list[str] = []
        self.slowest: tuple[float, str] = (0.0, "")

    def ask(self, said: str, call: Callable[[], T], *, invalid: bool = False, seconds: float = SECONDS) -> T | None:
        """What a call gives, or ``None`` where it refuses; a raw exception, a warning and a long time do not hold.

        Args:
            said: what is asked, in the words of the code.
            call: asks it.
            invalid: whether what is asked may lie outside a domain, so that InvalidInputError is a right answer.
            seconds: processor time that the call may take.
        """
        seconds *= self._patience
        started = time.process_time()
        try:
            with _given_up_after(seconds * GIVEN_UP / SECONDS), warnings.catch_warnings():
                warnings.simplefilter("error")
                return call()
        except HockeystickError as error:
            self._refusal(said, error, invalid)
        except GivenUpError as error:
            self.wrong.append(f"{said}: given up after {time.process_time() - started:.0f} s at {error}")
        except Exception as error:
            self.wrong.append(f"{said}: {type(error).__name__}: {str(error)[:200]} @ {_place(error)}")
        finally:
            spent = time.process_time() - started
            self.slowest = max(self.slowest, (spent, said))
            if spent > seconds and not (self.wrong and self.wrong[-1].startswith(f"{said}: given up")):
                self.late.append(f"{said}: took {spent:.1f} s")
        return None

    def do(self, said: str, call: Callable[[], None], *, invalid: bool = False) -> bool:
        """Whether a call that gives nothing back was done; otherwise as :meth:`ask`."""

        def done() -> bool:
            call()
            return True

        return self.ask(said, done, invalid=invalid) is not None

    def law(self, holds: Any, said: str) -> None:
        """A law; what does not hold is kept."""
        if not holds:
            self.wrong.append(said)

    def _refusal(self, said: str, error: HockeystickError, invalid: bool) -> None:
        text = str(error)
        self.law(text and text.isprintable(), f"{said}: the refusal is not one line: {text[:200]!r}")
        self.law(len(text) <= LONGEST_MESSAGE, f"{said}: the refusal has {len(text)} characters: {text[:100]!r}...")
        if not invalid and isinstance(error, InvalidInputError):
            self.wrong.append(f"{said}: refused as invalid, though every value is in its domain: {text}")

    def answer(self, said: str, found: Answer, most: float = math.inf) -> None:
        """An answer of any kind: ends in order, numbers, between 0 and ``most``, finite or with a reason."""
        numbers = list(found.ends.values())
        if any(math.isnan(number) for number in numbers):
            self.wrong.append(f"{said}: not a number: {found}")
        elif sorted(numbers) != numbers or (numbers[0] < 0 and most >= 0):
            self.wrong.append(f"{said}: ends out of order: {found}")
        elif isinstance(found, hs.Estimate) is False and numbers[-1] > most:
            self.wrong.append(f"{said}: above {most}: {found}")
        if math.isinf(numbers[-1]) and numbers[-1] > 0:
            self.law(found.reason, f"{said}: infinite without a reason: {found}")

    def band(self, said: str, found: hs.Band, most: float = math.inf, least: float = 0.0) -> None:
        """Intervals at many places: numbers in order, between ``least`` and ``most``."""
        ends = np.stack([np.ravel(found.lower), np.ravel(found.estimate), np.ravel(found.upper)])
        self.law(not np.isnan(ends).any(), f"{said}: not a number: {_listed(found)}")
        self.law((ends[0] <= ends[1]).all() and (ends[1] <= ends[2]).all(), f"{said}: out of order: {_listed(found)}")
        inside = (ends[0] >= least).all() and (ends[2] <= most).all()
        self.law(inside, f"{said}: not within {least} and {most}: {_listed(found)}")

    def at_most(self, said: str, lower: float, upper: float, slack: float = SLACK) -> None:
        """``lower``, a lower end of something that is at most what ``upper`` is an upper end of, is not above it."""
        allowed = upper + slack * abs(upper) if math.isfinite(upper) else upper
        self.law(lower <= allowed or lower <= upper + 2 * math.ulp(0.0), f"{said}: {lower!r} is above {upper!r}")

    def meet(self, said: str, one: Answer, other: Answer, slack: float = SLACK) -> None:
        """Two answers to one question: a certified lower end is at most every upper end, both ways round."""
        for first, second in ((one, other), (other, one)):
            if "lower" in first.ends and "upper" in second.ends:
                self.at_most(f"{said}: {_who(first)} against {_who(second)}", first.ends["lower"], second.ends["upper"],
                             slack)  # fmt: skip

    def same(self, said: str, one: Any, other: Any) -> None:
        """Two things that have to be equal to the last bit."""
        self.law(one == other, f"{said}: {str(one)[:300]} is not {str(other)[:300]}")

    def falling(self, said: str, found: hs.Band, slack: float = SLACK) -> None:
        """Intervals of what falls along the array: no lower end is above the upper end of a place before."""
        lower, upper = np.ravel(found.lower), np.minimum.accumulate(np.ravel(found.upper))
        over = lower[1:] > upper[:-1] + slack * np.abs(np.where(np.isfinite(upper[:-1]), upper[:-1], 0.0))
        self.law(not over.any(), f"{said}: rises: {_listed(found)}")


@contextmanager
def _given_up_after(seconds: float) -> Iterator[None]:
    """Interrupt what runs for more than so many seconds of processor time, with the place where it was."""

    def stop(number: int, frame: FrameType | None) -> None:
        raise GivenUpError(" < ".join(_at(item.filename, item.lineno or 0) for item in _innermost(frame)))

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0.0)
        signal.signal(signal.SIGPROF, before)


def _innermost(frame: FrameType | None, most: int = 8) -> list[traceback.FrameSummary]:
    """The innermost frames of the library."""
    found = [item for item in traceback.extract_stack(frame) if item.filename.startswith(LIBRARY)]
    return found[::-1][:most]


def _place(error: BaseException) -> str:
    """Where an exception comes from: the innermost place of the library, and beyond it the innermost of all."""
    frames = traceback.extract_tb(error.__traceback__)
    ours = [item for item in frames if item.filename.startswith(LIBRARY)]
    places = [*ours[-2:], *([frames[-1]] if frames[-1] not in ours else [])]
    return " > ".join(_at(item.filename, item.lineno or 0) for item in places)


def _at(name: str, line: int) -> str:
    return f"{'/'.join(Path(name).parts[-3:])}:{line}"


def _who(answer: Answer) -> str:
    return f"{answer.accountant} ({answer.guarantee})"


def _listed(found: hs.Band) -> str:
    return str(found.columns())[:400]
