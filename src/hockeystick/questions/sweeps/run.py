"""How the points of a sweep are handed out and their rows gathered: here, to processes, or to any executor.

Jobs are made so long that each takes about a second, for what is lost by a kill is the jobs that are under way. How
long they are, who does them and in which order they end shows in no row.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, Executor, Future, wait
from contextlib import contextmanager
from dataclasses import dataclass

from hockeystick.questions.sweeps.rows import Job, Row, answered
from hockeystick.values.errors import HockeystickError

FIRST = 8  # points of the first job, of which nothing is known: plans take from a tenth of a millisecond to seconds
MOST = 2048  # points of a job: more are not laid side by side at once
LONG, SHORT = 2.0, 0.5  # seconds of a job beyond which the next ones have half as many points, or twice as many

Keep = Callable[[int, list[Row]], None]
"""Told of the rows of each job, with the number of the first, as soon as they are there."""


@dataclass
class _Sizes:
    """How many points the next job has."""

    points: int = FIRST

    def learn(self, job: Job, seconds: float) -> None:
        """Take in how long a job took; one of another size than the present one says nothing of it."""
        many = job.stop - job.start
        if seconds > LONG and many <= self.points:
            self.points = max(many // 2, 1)
        elif seconds < SHORT and many >= self.points:
            self.points = min(2 * many, MOST)


def run(job: Job, known: Mapping[int, Row], executor: Executor | None, pending: int, keep: Keep) -> None:
    """Answer all points of a job that are not known.

    Args:
        job: the whole sweep as one job.
        known: rows that are there already, by the number of their point.
        executor: who does the jobs; this thread where it is ``None``.
        pending: jobs that are handed out at once.
        keep: told of each job's rows.

    Raises:
        HockeystickError: a point without an answer, where that is to stop the sweep; or the executor broke down.
    """
    sizes = _Sizes()
    jobs = _jobs(job, known, sizes)
    if executor is None:
        for each in jobs:
            rows, seconds = answered(each)
            keep(each.start, rows)
            sizes.learn(each, seconds)
        return
    out: dict[Future[tuple[list[Row], float]], Job] = {}
    try:
        while True:
            while len(out) < pending and (following := next(jobs, None)) is not None:
                out[executor.submit(answered, following)] = following
            if not out:
                return
            done, _ = wait(out, return_when=FIRST_COMPLETED)
            for future in done:
                each = out.pop(future)
                rows, seconds = future.result()
                keep(each.start, rows)
                sizes.learn(each, seconds)
    finally:
        for future in out:
            future.cancel()


def _jobs(whole: Job, known: Mapping[int, Row], sizes: _Sizes) -> Iterator[Job]:
    """Jobs over the points that are not known, in order, each as long as is thought right when it is taken."""
    at = whole.start
    while at < whole.stop:
        if at in known:
            at += 1
            continue
        stop = at + 1
        while stop < min(at + sizes.points, whole.stop) and stop not in known:
            stop += 1
        yield Job(whole.template, whole.grid, whole.question, at, stop, whole.errors)
        at = stop


@contextmanager
def processes(jobs: int) -> Iterator[Executor]:
    """So many processes of this machine, each a fresh interpreter, which end when this one does, however it ends.

    Raises:
        HockeystickError: they cannot be started.
    """
    import multiprocessing
    from concurrent.futures import ProcessPoolExecutor
    from concurrent.futures.process import BrokenProcessPool

    fresh = multiprocessing.get_context("spawn")  # a copy of a process with threads may hang
    pool = ProcessPoolExecutor(jobs, mp_context=fresh, initializer=_begun)
    try:
        yield pool
    except BrokenProcessPool:
        raise HockeystickError(
            "the processes of the sweep ended before it did: in a program of your own call it below "
            '`if __name__ == "__main__":`, as each of them imports that program; else they ran out of memory'
        ) from None
    finally:
        pool.shutdown(cancel_futures=True)


def _begun() -> None:
    """What a process does first: it leaves Ctrl-C to the one that started it, and ends when that one is gone.

    A process that waits for work would not notice that nobody is left to send it any.
    """
    import multiprocessing
    import os
    import signal
    import threading
    from multiprocessing.connection import wait as wait_for

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()
    assert parent is not None  # it was started by one

    def watch() -> None:
        wait_for([parent.sentinel])
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
