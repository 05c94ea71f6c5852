"""Sweeps: one question about a plan at every point of a grid, in one process or in several.

A row is bit-identical whatever the division into jobs, the process and the order are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Executor
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

from hockeystick.plan.plan import Plan
from hockeystick.questions.sweeps.grid import DELTA, grid_of
from hockeystick.questions.sweeps.question import question_of
from hockeystick.questions.sweeps.rows import Job, Row, answered
from hockeystick.questions.sweeps.table import Sweep, sweep_of
from hockeystick.questions.targets import Target
from hockeystick.values import domains
from hockeystick.values.domains import place, shown, unmet
from hockeystick.values.errors import HockeystickError, InvalidInputError

MOST_JOBS = 1024  # largest number of processes
LEAST, MOST = 8, 2048  # points of a job: fewer gain nothing from the batch engine, and it takes no more at once
SHARES = 16  # jobs per process, so that none waits long for the last one, and progress shows

Told = Callable[[int, int], None]
"""Function called with the number of finished rows and the total."""


def sweep(
    template: Plan,
    grid: Mapping[str, Any],
    *,
    delta: float | None = None,
    epsilon: float | None = None,
    target: float | Target | None = None,
    parameter: str | None = None,
    gap: float | None = None,
    output: str | Path | None = None,
    jobs: int = 1,
    executor: Executor | None = None,
    progress: Told | None = None,
) -> Sweep:
    """Answer one question about a plan at every point of a grid, as a table of certified intervals.

    Args:
        template: plan whose parameters vary; its epochs stay, and steps derive from the batch size.
        grid: values by name: the parameters of ``calibrate``, ``count`` (steps, if a round is one) and ``delta``. All
            combinations are computed; the last name changes fastest.
        delta: delta at which epsilon is wanted; the plan's own by default.
        epsilon: epsilon at which delta is wanted instead.
        target: target that the value of ``parameter`` must meet: an epsilon (at the delta of each point), or one of
            ``hockeystick.targets``.
        parameter: parameter calibrated to a target; ``"noise-multiplier"`` by default.
        gap: requested relative width of the intervals.
        output: CSV file of the table, written whole at the end.
        jobs: number of processes; 1 computes in this one.
        executor: any ``concurrent.futures.Executor`` to use instead, such as ``get_executor()`` of a Dask client; it
            gets about 16 tasks for each of the ``jobs``.
        progress: function called with the number of finished rows and the total.

    Returns:
        The table; the row of a point without an answer has a ``reason``. Its numbers depend neither on ``jobs`` nor on
        ``executor``, to the last bit.

    Raises:
        InvalidInputError: the grid or the question is invalid, or the output unusable.
        HockeystickError: processes cannot be started.

    >>> import hockeystick as hs
    >>> plan = hs.dp_sgd(1.0, batch_size=256, dataset_size=60_000, epochs=15, delta=1e-5)
    >>> found = sweep(plan, {"noise_multiplier": [0.8, 1.2], "epochs": [15, 30]})
    >>> [f"{row['noise_multiplier']} {row['steps']} {hs.UpperBound(row['upper'], 'auto'):.4f}" for row in found.rows]
    ['0.8 3525 2.2720', '0.8 7050 3.1739', '1.2 3525 0.9813', '1.2 7050 1.4192']
    """
    if not isinstance(template, Plan):
        raise unmet("template", "must be a Plan", template)
    jobs = domains.whole(jobs, "jobs", "processes", least=1, most=MOST_JOBS)
    if executor is not None and not isinstance(executor, Executor):
        raise unmet("executor", "must be a concurrent.futures.Executor", executor)
    if output is not None:
        _check_output(output)
    given: Any = grid
    has_delta = isinstance(given, Mapping) and DELTA in given
    question = question_of(template, has_delta, delta, epsilon, target, parameter, gap)
    axes = grid_of(template, grid, question.free)
    pieces = jobs_of(Job(template, axes, question, 0, len(axes)), jobs)
    rows: list[Row] = []
    tell = progress or (lambda done, of: None)
    tell(0, len(axes))
    several = executor is None and jobs > 1 and len(pieces) > 1
    with processes(min(jobs, len(pieces))) if several else nullcontext(executor) as who:
        for found in (map if who is None else who.map)(answered, pieces):
            rows += found
            tell(len(rows), len(axes))
    table = sweep_of(template, axes, question, rows)
    if output is not None:
        table.to_csv(output)
    return table


def _check_output(path: str | Path) -> None:
    """Refuse an output file with a wrong ending, or in a missing folder, before anything is computed."""
    try:
        ending, folder = Path(path).suffix.lower(), Path(path).absolute().parent
    except TypeError:
        raise InvalidInputError(
            f"the path of a sweep's file must be a string or a Path; received {shown(path)}", "output"
        ) from None
    if ending != ".csv":
        raise InvalidInputError(
            f"{place(path)}: the name of a sweep's file must end in .csv; received {shown(ending or 'no ending')}; "
            "for other formats use the sweep's data frame, frame()",
            "output",
        )
    if not folder.is_dir():
        raise InvalidInputError(f"{place(path)}: its folder does not exist; create it or give another name", "output")


def jobs_of(whole: Job, processes: int) -> list[Job]:
    """Return the jobs into which a sweep is divided, in order."""
    points = min(max(-(-whole.stop // (SHARES * processes)), LEAST), MOST)
    return [replace(whole, start=at, stop=min(at + points, whole.stop)) for at in range(0, whole.stop, points)]


@contextmanager
def processes(jobs: int) -> Iterator[Executor]:
    """Run ``jobs`` processes, each a fresh Python interpreter; only the calling process handles Ctrl-C.

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
