"""Distribution of a sweep's points: in this process, to several processes, or to any executor.

Jobs are sized to take about a second each, since a kill loses the running jobs. Their sizes, workers and order of
completion do not affect any row.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, Executor, Future, wait
from contextlib import contextmanager
from dataclasses import dataclass

from hockeystick.questions.sweeps.rows import Job, Row, answered
from hockeystick.values.errors import HockeystickError

FIRST = 8  # points of the first job: plans take from a tenth of a millisecond to seconds
MOST = 2048  # largest number of points of a job, as many as the batch handles at once
LONG, SHORT = 2.0, 0.5  # seconds of a job above or below which the next ones have half or twice as many points

Keep = Callable[[int, list[Row]], None]
"""Function called with the rows of each finished job and the number of the first."""


@dataclass
class _Sizes:
    """Number of points of the next job."""

    points: int = FIRST

    def learn(self, job: Job, seconds: float) -> None:
        """Learn from the time of a job, unless its size is not the present one."""
        many = job.stop - job.start
        if seconds > LONG and many <= self.points:
            self.points = max(many // 2, 1)
        elif seconds < SHORT and many >= self.points:
            self.points = min(2 * many, MOST)


def run(job: Job, known: Mapping[int, Row], executor: Executor | None, pending: int, keep: Keep) -> None:
    """Answer all unknown points of a job.

    Args:
        job: whole sweep as one job.
        known: known rows, by the number of their point.
        executor: executor of the jobs; ``None`` for this thread.
        pending: number of jobs submitted at once.
        keep: function called with the rows of each job.

    Raises:
        HockeystickError: a point has no answer and that stops the sweep, or the executor broke down.
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
    """Jobs over the unknown points, in order, each sized when it is taken."""
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
    """Run ``jobs`` processes, each a fresh interpreter, which end with this one, however it ends.

    Raises:
        HockeystickError: the processes cannot be started.
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
    """Prepare a worker process: ignore Ctrl-C, and end when the parent has ended.

    A process waiting for work would not notice that its parent is gone.
    """
    import multiprocessing
    import os
    import signal
    import threading
    from multiprocessing.connection import wait as wait_for

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()
    assert parent is not None  # a worker has a parent

    def watch() -> None:
        wait_for([parent.sentinel])
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
