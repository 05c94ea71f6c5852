"""Queues of questions on two threads: one for numbers, one for curves.

While a slider moves, most questions are stale before their computation begins. The page gives its questions serial
numbers, and a question is dropped once a newer one has arrived. A running computation checks from time to time whether
a newer question has arrived; its length is bounded by the library's limit on the work of one call.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from hockeystick.explorer.curves import Check


class OvertakenError(Exception):
    """Error for a question superseded by a newer one from the same origin."""


class Lanes:
    """Two threads, each of which answers one question after the other."""

    def __init__(self) -> None:
        self._threads = {quick: ThreadPoolExecutor(1, "hockeystick-explorer") for quick in (True, False)}
        self._newest: dict[tuple[str, ...], int] = {}

    async def answer(self, place: tuple[str, ...], serial: int, quick: bool, work: Callable[[Check], Any]) -> Any:
        """Return the result of ``work``.

        Args:
            place: origin of the question: browser tab, slot on the page, and quantity.
            serial: number of the question at its origin; larger is newer.
            quick: True for the thread of numbers, False for the thread of curves.
            work: function that computes the answer. Its argument is a check to be called during the computation,
                which raises once a newer question has arrived.

        Raises:
            OvertakenError: a newer question of this origin arrived before this one was answered.
        """
        self._newest[place] = max(serial, self._newest.get(place, serial))

        def check() -> None:  # called on the other thread, which only reads
            if self._newest.get(place, serial) > serial:
                raise OvertakenError

        def begun() -> Any:
            check()
            return work(check)

        return await asyncio.get_running_loop().run_in_executor(self._threads[quick], begun)

    def close(self) -> None:
        """Drop all waiting questions; a computation that is running finishes by itself."""
        for thread in self._threads.values():
            thread.shutdown(wait=False, cancel_futures=True)
