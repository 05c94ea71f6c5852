"""The table of a sweep: a row for each point, with its ends and their guarantee."""

from __future__ import annotations

import csv
import importlib
import io
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any

from hockeystick.plan.caveats import warnings_of
from hockeystick.plan.plan import Plan
from hockeystick.questions.parameters import named
from hockeystick.questions.sweeps.grid import DELTA, Grid
from hockeystick.questions.sweeps.question import Question
from hockeystick.questions.sweeps.rows import FAILED, REFUSED, Row
from hockeystick.questions.targets import Target
from hockeystick.values import domains
from hockeystick.values.domains import unmet
from hockeystick.values.errors import HockeystickError, InvalidInputError
from hockeystick.values.files import write_text
from hockeystick.values.outward import DIGITS, DOWN, MOST_ROWS, NEAREST, UP, and_more, html_table, rounded

NOISE, GRADIENTS = "noise_per_coordinate", "gradients"  # columns for the choice among points

FRAMES = ("pandas", "polars")  # packages with data frames, in order of preference

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
    axes: Mapping[str, tuple[float, ...]]
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
        return sum(guarantee in (REFUSED, FAILED) for guarantee in self.columns["guarantee"])

    @property
    def failed(self) -> int:
        """Number of rows without an answer because of a bug of this library."""
        return sum(guarantee == FAILED for guarantee in self.columns["guarantee"])

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

    def frame(self, kind: str | None = None) -> Any:
        """Return the table as a data frame of pandas or Polars; by default pandas, if it is installed.

        Args:
            kind: ``"pandas"`` or ``"polars"``.

        Raises:
            InvalidInputError: the kind is unknown.
            HockeystickError: the package is not installed.
        """
        if kind is not None and kind not in FRAMES:
            raise unmet("kind", "must be 'pandas' or 'polars'", kind)
        for name in FRAMES if kind is None else (kind,):
            try:
                module = importlib.import_module(name)
            except ImportError:
                continue
            return module.DataFrame({key: list(values) for key, values in self.columns.items()})
        missing = kind or " or ".join(FRAMES)
        raise HockeystickError(f"a data frame needs {missing}; install it with `pip install {kind or FRAMES[0]}`")

    def pareto(self, at_most: float | None = None, least_steps: float = 0) -> Sweep:
        """Return the Pareto front of noise and number of gradients, from the fewest gradients on.

        Less noise on the averaged gradient is better, and so are fewer gradients in total. From one returned row to
        another, one of the two falls only if the other rises. The smallest number of steps would be best in both and
        train nothing, so the choice needs a least number of steps.

        Args:
            at_most: largest upper end of epsilon (or of another quantity) of an eligible row; required unless a
                parameter was calibrated.
            least_steps: smallest number of steps of an eligible row.

        Raises:
            InvalidInputError: batches have no size, no row is eligible, or ``at_most`` is missing or given although a
                parameter was calibrated.

        >>> import hockeystick as hs
        >>> plan = hs.dp_sgd(1.0, batch_size=256, dataset_size=60_000, epochs=15, delta=1e-5)
        >>> found = hs.sweep(plan, {"batch_size": [256, 1024], "epochs": [10, 20]}, target=2.0).pareto(least_steps=1000)
        >>> [f"{row['batch_size']} {row['epochs']} {row['noise_per_coordinate']:.5f}" for row in found.rows]
        ['256 10 0.00307', '1024 20 0.00137']
        """
        places = self._choices(at_most, least_steps)
        cost, noise = self.columns[GRADIENTS], self.columns[NOISE]
        kept: list[int] = []
        for place in sorted(places, key=lambda place: (cost[place], noise[place])):
            if not kept or noise[place] < noise[kept[-1]]:
                kept.append(place)
        chosen = {key: tuple(values[place] for place in kept) for key, values in self.columns.items()}
        return replace(self, columns=chosen)

    def _choices(self, at_most: float | None, least_steps: float) -> list[int]:
        """Return the indices of the rows eligible for :meth:`pareto`."""
        if NOISE not in self.columns:
            raise InvalidInputError(
                "noise per coordinate needs a batch size; give the plan dataset_size with batch_size or sample_rate, "
                "and a single kind of round with noise_multiplier",
                "template",
            )
        if (self.calibrated is None) == (at_most is None):
            raise InvalidInputError(
                f"at_most is missing; give the largest {self.quantity} of a row, or sweep with a target"
                if at_most is None
                else "at_most requires a sweep without a target; these rows all meet one",
                "at_most",
            )
        limit = (
            math.inf if at_most is None else domains.POSITIVE.of(f"largest {self.quantity}").check(at_most, "at_most")
        )
        least = domains.whole(least_steps, "least_steps", "fewest steps of a row")
        steps = self.columns[next(name for name in ("steps", "count") if name in self.columns)]
        ends = zip(self.columns["upper"], self.columns["guarantee"], steps, strict=True)
        places = [
            place
            for place, (upper, guarantee, many) in enumerate(ends)
            if guarantee in CERTAIN and upper <= limit and many >= least
        ]
        if not places:
            asked = "" if at_most is None else f" with {self.quantity} <= {limit!r}"
            raise InvalidInputError(
                f"no row has an answer{asked} and at least {least} steps; relax these limits", "at_most"
            )
        return places

    def _repr_html_(self) -> str:
        """Return the table as notebooks show it: its first rows, with ends rounded outward."""
        names = [*self.axes, *([] if self.calibrated is None else [self.calibrated])]
        shown = []
        for row in self.rows[:MOST_ROWS]:
            ends = (rounded(row["lower"], DIGITS, DOWN), rounded(row["upper"], DIGITS, UP))
            cells = [self._cell(name, row[name]) for name in names]
            shown.append(
                (*cells, *(ends if row["guarantee"] in CERTAIN else ("", "")), row["reason"] or row["guarantee"])
            )
        heads = (*names, "lower", "upper", "")
        return html_table(f"{self.question}: {len(self)} rows", and_more(shown, len(self)), heads)

    def _cell(self, name: str, value: float) -> str:
        if name != self.calibrated or math.isnan(value):
            return "" if value != value else repr(value)
        return rounded(value, DIGITS, self.rounding)

    @property
    def rounding(self) -> str:
        """Direction in which a calibrated value is rounded to meet its target."""
        if self.calibrated is None:
            return NEAREST
        parameter = named(self.calibrated)
        return NEAREST if parameter.whole else DOWN if parameter.costs else UP


def sweep_of(template: Plan, grid: Grid, question: Question, rows: Sequence[Row]) -> Sweep:
    """Return the table of a finished sweep.

    Args:
        template: plan, for the assumptions of the numbers.
        grid: grid of the sweep.
        question: question of the sweep.
        rows: row of each point, in the order of the grid.
    """
    columns: dict[str, tuple[Any, ...]] = dict(
        zip(grid.axes, zip(*product(*grid.axes.values()), strict=True), strict=True)
    )
    calibrated = None if question.free is None else question.free.replace("-", "_")
    found = dict(zip(Row._fields, zip(*rows, strict=True), strict=True))
    if calibrated is not None:
        columns[calibrated] = found["value"]
    if calibrated != "steps" and "steps" not in grid.parameters:
        columns["steps"] = found["steps"]
    for key in ("lower", "estimate", "upper", "accountant", "guarantee", "reason"):
        columns[key] = found[key]
    if not all(map(math.isnan, found["noise"])):
        columns |= {NOISE: found["noise"], GRADIENTS: found["gradients"]}
    delta = max(grid.axes.get(DELTA, [question.delta or 0.0]))  # the largest of the answers
    if isinstance(question.target, Target):
        delta = question.target.at_delta or 0.0
    return Sweep(
        question.said(),
        grid.axes,
        question.quantity,
        calibrated,
        columns,
        tuple(f"{label}: {text}" for label, text in template.premises.items()),
        warnings_of(template.samplings, delta or None),
    )
