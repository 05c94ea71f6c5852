"""Sweeps: one question about a plan at every point of a grid, saved while running so that a kill loses nothing."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from concurrent.futures import Executor
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from hockeystick.plan.plan import Plan
from hockeystick.questions.sweeps.files import checked_ending, written
from hockeystick.questions.sweeps.grid import DELTA, Grid, grid_of
from hockeystick.questions.sweeps.journal import Journal
from hockeystick.questions.sweeps.question import Question, question_of
from hockeystick.questions.sweeps.rows import Errors, Job, Row
from hockeystick.questions.sweeps.run import processes, run
from hockeystick.questions.sweeps.table import Sweep, sweep_of
from hockeystick.questions.targets import Target
from hockeystick.values import domains
from hockeystick.values.domains import choice, shown
from hockeystick.values.errors import InvalidInputError
from hockeystick.values.files import write_bytes
from hockeystick.values.version import __version__

MOST_JOBS = 1024  # largest number of processes

ELSEWHERE = 16
"""Jobs submitted to an executor at once, for each of ``jobs``: it may have many workers without saying so."""

ERRORS = ("row", "stop")  # treatments of a point without an answer

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
    tolerance: float | None = None,
    errors: Errors = "row",
    output: str | Path | None = None,
    fresh: bool = False,
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
        gap: widest relative width wanted of the intervals.
        tolerance: relative tolerance of the calibrated parameter; 1e-6 by default.
        errors: treatment of a point without an answer: ``"row"`` for a row with a ``reason``, ``"stop"`` for an
            exception that names the row and its values.
        output: file of the table, ``.csv`` or ``.parquet``. Rows are saved in a journal beside it as they come: the
            same call continues where an earlier one was killed, and ends with the same file.
        fresh: True to discard an existing journal.
        jobs: number of processes; 1 computes in this one.
        executor: any ``concurrent.futures.Executor`` to use instead, such as ``get_executor()`` of a Dask client; it
            gets 16 times ``jobs`` pieces of about a second at once.
        progress: function called with the number of finished rows and the total.

    Returns:
        The table. Its numbers depend neither on ``jobs`` and ``executor`` nor on interruptions, to the last bit.

    Raises:
        InvalidInputError: the grid or the question is invalid, or the output or the journal unusable; with
            ``errors="stop"``, a point raises it.
        UnsupportedError: with ``errors="stop"``, a point raises it.
        UnreachableError: with ``errors="stop"``, no value meets the target at a point.
        HockeystickError: no package that writes Parquet is installed, or processes cannot be started.

    >>> import hockeystick as hs
    >>> plan = hs.dp_sgd(1.0, batch_size=256, dataset_size=60_000, epochs=15, delta=1e-5)
    >>> found = sweep(plan, {"noise_multiplier": [0.8, 1.2], "epochs": [15, 30]})
    >>> [f"{row['noise_multiplier']} {row['steps']} {hs.UpperBound(row['upper'], 'auto'):.4f}" for row in found.rows]
    ['0.8 3525 2.2720', '0.8 7050 3.1739', '1.2 3525 0.9813', '1.2 7050 1.4192']
    """
    if not isinstance(template, Plan):
        raise InvalidInputError(f"template must be a Plan; received {shown(template)}", "template")
    if errors not in ERRORS:
        raise InvalidInputError(choice("errors", errors, ERRORS), "errors")
    jobs = domains.whole(jobs, "jobs", "processes", least=1, most=MOST_JOBS)
    if executor is not None and not isinstance(executor, Executor):
        raise InvalidInputError(
            f"executor must be a concurrent.futures.Executor; received {shown(executor)}", "executor"
        )
    if output is not None:
        checked_ending(output)
    has_delta = _has_delta(grid)
    question = question_of(template, has_delta, delta, epsilon, target, parameter, gap, tolerance)
    axes = grid_of(template, grid, question.free)
    return _answers(template, axes, question, errors, output, fresh, jobs, executor, progress)


def _has_delta(grid: object) -> bool:
    return isinstance(grid, Mapping) and DELTA in grid


def _answers(
    template: Plan,
    grid: Grid,
    question: Question,
    errors: Errors,
    output: str | Path | None,
    fresh: bool,
    jobs: int,
    executor: Executor | None,
    progress: Told | None,
) -> Sweep:
    """The table, from the journal and by computation; it is written to the output, if any, at the end."""
    points = len(grid)
    journal = None if output is None else Journal(output, _checksum(template, grid, question), points, fresh)
    try:
        rows: dict[int, Row] = {} if journal is None else journal.rows
        left = points - len(rows)

        def keep(start: int, found: list[Row]) -> None:
            if journal is not None:
                journal.add(start, found)
            rows.update((start + number, row) for number, row in enumerate(found))
            if progress is not None:
                progress(len(rows), points)

        if progress is not None:
            progress(len(rows), points)
        job = Job(template, grid, question, 0, points, errors)
        here = executor is None and (jobs == 1 or left <= 1)
        pending = (ELSEWHERE if executor is not None else 2) * jobs
        with nullcontext(executor) if here or executor is not None else processes(min(jobs, left)) as who:
            run(job, dict(rows), who, pending, keep)
        table = sweep_of(template, grid, question, [rows[number] for number in range(points)])
        if journal is not None:
            assert output is not None
            write_bytes(output, written(table.columns, output))
            journal.remove()
        return table
    finally:
        if journal is not None:
            journal.close()


def _checksum(template: Plan, grid: Grid, question: Question) -> str:
    """Checksum of plan, grid, question and version, equal for two sweeps if and only if their rows are the same."""
    said = {
        "plan": template.to_dict(),
        "grid": [[axis.name, list(axis.values)] for axis in grid.axes],
        "question": question.described(),
        "version": __version__,
    }
    return hashlib.sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()
