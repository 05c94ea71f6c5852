"""The table of a sweep: a row for each point, with its ends and their guarantee."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

from hockeystick.plan.caveats import warnings_of
from hockeystick.plan.plan import Plan
from hockeystick.questions.parameters import named
from hockeystick.questions.sweeps.grid import DELTA, Point
from hockeystick.questions.sweeps.question import REFUSED, Question, Row
from hockeystick.questions.targets import Target
from hockeystick.values.files import write_text
from hockeystick.values.outward import NEAREST

CERTAIN = ("certified", "upper bound")  # guarantees of rows with an upper end to quote


@dataclass(frozen=True, eq=False)
class Sweep:
    """Answers of a sweep, as columns of equal length.

    Attributes:
        question: question in words.
        axes: values of each parameter of the grid, by name.
        quantity: quantity of the ends: ``"epsilon"``, ``"delta"``, or the name of the target.
        calibrated: column of the calibrated parameter, such as ``"noise_multiplier"``, if any.
        columns: lists by name: the parameters of the grid; the calibrated one; ``steps``; ``lower``, ``estimate`` and
            ``upper``; ``accountant``, ``guarantee`` and ``reason``; and, if batches have a size,
            ``noise_per_coordinate`` (of the averaged gradient, in clipping norms) and ``gradients`` (in all).
        assumptions: conditions that the programs must satisfy.
        warnings: warnings on the numbers.
    """

    question: str
    axes: Mapping[str, Point]
    quantity: str
    calibrated: str | None
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

    @property
    def rounding(self) -> str:
        """Direction in which a calibrated value is rounded to meet its target."""
        return NEAREST if self.calibrated is None else named(self.calibrated).rounding


def sweep_of(template: Plan, axes: Mapping[str, Point], question: Question, rows: Sequence[Row]) -> Sweep:
    """Return the table of a finished sweep.

    Args:
        template: plan, for the assumptions of the numbers.
        axes: grid of the sweep.
        question: question of the sweep.
        rows: row of each point, in the order of the grid.
    """
    columns: dict[str, tuple[Any, ...]] = dict(zip(axes, zip(*product(*axes.values()), strict=True), strict=True))
    calibrated = None if question.target is None else question.free.replace("-", "_")
    found = dict(zip(Row._fields, zip(*rows, strict=True), strict=True))
    if calibrated is not None:
        columns[calibrated] = found["value"]
    if "steps" not in (*axes, calibrated):
        columns["steps"] = found["steps"]
    for key in ("lower", "estimate", "upper", "accountant", "guarantee", "reason"):
        columns[key] = found[key]
    if not all(map(math.isnan, found["noise"])):
        columns |= {"noise_per_coordinate": found["noise"], "gradients": found["gradients"]}
    delta = max(axes.get(DELTA, [question.delta or 0.0]))  # the largest of the answers
    if isinstance(question.target, Target):
        delta = question.target.at_delta or 0.0
    return Sweep(
        question.said(),
        axes,
        question.quantity,
        calibrated,
        columns,
        tuple(f"{label}: {text}" for label, text in template.premises.items()),
        warnings_of(template.samplings, delta or None),
    )
