"""Division of a sweep into jobs, and the processes of this machine that do them.

The bits of a row depend on its point alone: neither on the division into jobs, nor on the process, nor on the order.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Executor
from contextlib import contextmanager
from dataclasses import replace

from hockeystick.questions.sweeps.rows import Job
from hockeystick.values.errors import HockeystickError

LEAST, MOST = 8, 2048  # points of a job: fewer gain nothing from the batch engine, and it takes no more at once
SHARES = 16  # jobs per process, so that none waits long for the last one, and progress shows


def jobs_of(whole: Job, processes: int) -> list[Job]:
    """Return the jobs of a sweep, in order."""
    points = min(max(-(-whole.stop // (SHARES * processes)), LEAST), MOST)
    return [replace(whole, start=at, stop=min(at + points, whole.stop)) for at in range(0, whole.stop, points)]


@contextmanager
def processes(jobs: int) -> Iterator[Executor]:
    """Run ``jobs`` processes, each a fresh interpreter that leaves Ctrl-C to this one.

    Raises:
        HockeystickError: the processes cannot be started.
    """
    import multiprocessing
    import signal
    from concurrent.futures import ProcessPoolExecutor
    from concurrent.futures.process import BrokenProcessPool

    fresh = multiprocessing.get_context("spawn")  # a copy of a process with threads may hang
    deaf = (signal.SIGINT, signal.SIG_IGN)
    pool = ProcessPoolExecutor(jobs, mp_context=fresh, initializer=signal.signal, initargs=deaf)
    try:
        yield pool
    except BrokenProcessPool:
        raise HockeystickError(
            'the worker processes of the sweep ended early; call the sweep below `if __name__ == "__main__":` in '
            "your program, which each worker imports, and check that memory suffices"
        ) from None
    finally:
        pool.shutdown(cancel_futures=True)
