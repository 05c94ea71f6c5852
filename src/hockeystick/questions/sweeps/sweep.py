"""Sweeps: one question about a plan at every point of a grid, answered as a table with a row for each point."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import islice, product
from pathlib import Path
from typing import Any

from hockeystick.plan.caveats import warnings_of
from hockeystick.plan.plan import Plan
from hockeystick.questions.sweeps.grid import DELTA, grid_of
from hockeystick.questions.sweeps.question import REFUSED, Row, question_of
from hockeystick.questions.targets import Target
from hockeystick.values.domains import unmet
from hockeystick.values.files import write_text

TOGETHER = 2048  # points answered at once, after which progress is reported

Told = Callable[[int, int], None]
"""Function called with the number of finished rows and the total."""


@dataclass(frozen=True, eq=False)
class Sweep:
    """Answers of a sweep, as columns of equal length.

    Attributes:
        question: question in words.
        columns: lists by name: the parameters of the grid; the calibrated one; ``steps``; ``lower``, ``estimate`` and
            ``upper``; ``accountant``, ``guarantee`` and ``reason``; and, if batches have a size,
            ``noise_per_coordinate`` (of the averaged gradient, in clipping norms) and ``gradients`` (in all).
        assumptions: conditions that the programs must satisfy.
        warnings: warnings on the numbers.
    """

    question: str
    columns: Mapping[str, tuple[Any, ...]]
    assumptions: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.columns["upper"])

    @property
    def rows(self) -> list[dict[str, Any]]:
        """Dictionary for each point, in the order of the grid."""
        return [dict(zip(self.columns, row, strict=True)) for row in zip(*self.columns.values(), strict=True)]

    @property
    def unanswered(self) -> int:
        """Number of rows without an answer; their ``reason`` explains it."""
        return self.columns["guarantee"].count(REFUSED)

    def to_csv(self, path: str | Path | None = None) -> str:
        """Return the table as CSV in full precision, and write it to a file if ``path`` is given.

        Raises:
            InvalidInputError: the file cannot be written.
        """
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(self.columns)
        writer.writerows(
            ["" if value != value else value for value in row] for row in zip(*self.columns.values(), strict=True)
        )
        if path is not None:
            write_text(path, out.getvalue())
        return out.getvalue()


def sweep(
    template: Plan,
    grid: Mapping[str, Any],
    *,
    delta: float | None = None,
    epsilon: float | None = None,
    target: float | Target | None = None,
    parameter: str | None = None,
    gap: float | None = None,
    progress: Told = lambda done, of: None,
) -> Sweep:
    """Answer one question about a plan at every point of a grid, as a table of certified intervals.

    Args:
        template: plan whose parameters vary; its epochs stay, and steps derive from the batch size.
        grid: values by name: the parameters of ``calibrate``, and ``delta``. All combinations are computed; the last
            name changes fastest.
        delta: delta at which epsilon is wanted; the plan's own by default.
        epsilon: epsilon at which delta is wanted instead.
        target: target that the value of ``parameter`` must meet: an epsilon (at the delta of each point), or one of
            ``hockeystick.targets``.
        parameter: parameter calibrated to a target; ``"noise-multiplier"`` by default.
        gap: requested relative width of the intervals.
        progress: function called with the number of finished rows and the total.

    Returns:
        The table; the row of a point without an answer has a ``reason``. A row does not depend on the other points, to
        the last bit.

    Raises:
        InvalidInputError: the grid or the question is invalid.

    >>> import hockeystick as hs
    >>> plan = hs.dp_sgd(1.0, batch_size=256, dataset_size=60_000, epochs=15, delta=1e-5)
    >>> found = sweep(plan, {"noise_multiplier": [0.8, 1.2], "epochs": [15, 30]})
    >>> [f"{row['noise_multiplier']} {row['steps']} {hs.UpperBound(row['upper'], 'auto'):.4f}" for row in found.rows]
    ['0.8 3525 2.2720', '0.8 7050 3.1739', '1.2 3525 0.9813', '1.2 7050 1.4192']
    """
    if not isinstance(template, Plan):
        raise unmet("template", "must be a Plan", template)
    given: Any = grid
    has_delta = isinstance(given, Mapping) and DELTA in given
    question = question_of(template, has_delta, delta, epsilon, target, parameter, gap)
    axes = grid_of(template, grid, None if question.target is None else question.free)
    points = (dict(zip(axes, each, strict=True)) for each in product(*axes.values()))
    total = math.prod(map(len, axes.values()))
    rows: list[Row] = []
    progress(0, total)
    while some := list(islice(points, TOGETHER if question.target is None else 1)):
        rows += question.rows(template, some)
        progress(len(rows), total)
    found = dict(zip(Row._fields, zip(*rows, strict=True), strict=True))
    columns: dict[str, tuple[Any, ...]] = dict(zip(axes, zip(*product(*axes.values()), strict=True), strict=True))
    calibrated = None if question.target is None else question.free.replace("-", "_")
    if calibrated is not None:
        columns[calibrated] = found["value"]
    if "steps" not in (*axes, calibrated):
        columns["steps"] = found["steps"]
    columns |= {key: found[key] for key in ("lower", "estimate", "upper", "accountant", "guarantee", "reason")}
    if not all(map(math.isnan, found["noise"])):
        columns |= {"noise_per_coordinate": found["noise"], "gradients": found["gradients"]}
    largest = max(axes.get(DELTA, [question.delta or 0.0]))  # the largest delta of the answers
    if isinstance(question.target, Target):
        largest = question.target.at_delta or 0.0
    return Sweep(
        question.said(),
        columns,
        tuple(f"{label}: {text}" for label, text in template.premises.items()),
        warnings_of(template.samplings, largest or None),
    )
