"""Questions in the order in which they come, on two threads: one for the number, one for the curves.

While a slider moves, most questions are stale before they are begun. The page numbers them; one for which a newer one
has come is dropped and not computed. A question that has begun asks from time to time whether it is still wanted, and
ends by the work that one call may take.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Lock
from typing import TypeVar

T = TypeVar("T")  # what a question is answered with

Check = Callable[[], None]
"""Called on the way to an answer: raises where nobody waits for it any more."""

MOST_PLACES = 1000
"""Places of questions that are remembered: those of a hundred open pages, each with two plans and their curves."""

MOST_WAITING = 200
"""Questions that wait at most: a page that is slid fast has a few dozen on their way."""


class OvertakenError(Exception):
    """A newer question from the same place has come: nobody waits for this one."""


class BusyError(Exception):
    """More questions wait than would be answered in any time that somebody waits."""


class Lanes:
    """Two threads, each of which answers one question after the other."""

    def __init__(self) -> None:
        self._threads = {quick: ThreadPoolExecutor(1, "hockeystick-explorer") for quick in (True, False)}
        self._newest: OrderedDict[tuple[str, ...], int] = OrderedDict()
        self._lock = Lock()
        self._waiting = 0

    async def answer(
        self, place: tuple[str, ...], serial: int, quick: bool, work: Callable[[Callable[[], None]], T]
    ) -> T:
        """What the work gives.

        Args:
            place: from where the question comes: the page, the plan, the part of the page.
            serial: its number among those from there; a greater one is newer.
            quick: on which of the two threads.
            work: what answers it; it is given what raises once a newer question has come, to be called on the way.

        Raises:
            OvertakenError: a newer question came from there before this one was begun, or before it was done.
            BusyError: too many questions wait.
        """
        with self._lock:
            if self._waiting >= MOST_WAITING:
                raise BusyError
            self._newest[place] = max(serial, self._newest.pop(place, serial))
            if len(self._newest) > MOST_PLACES:
                self._newest.popitem(last=False)
            self._waiting += 1

        def check() -> None:
            with self._lock:
                if self._newest.get(place, serial) > serial:
                    raise OvertakenError

        def begun() -> T:
            check()
            return work(check)

        try:
            return await asyncio.get_running_loop().run_in_executor(self._threads[quick], begun)
        finally:
            with self._lock:
                self._waiting -= 1

    def close(self) -> None:
        """Begin no more questions; one that has begun ends by itself."""
        for thread in self._threads.values():
            thread.shutdown(wait=False, cancel_futures=True)
