"""The grid of a sweep: the varied parameters, their values, and the plan at each point.

Points are numbered from 0 with the last parameter changing fastest. The plan at a point is made from the template by
setting one parameter after the other, in the order of :data:`SETTING` and not of the grid. A template with epochs
therefore keeps them, whatever the batch size, and the point alone determines the plan.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hockeystick.plan.plan import Plan
from hockeystick.questions.parameters import PARAMETERS, build_of
from hockeystick.values import domains
from hockeystick.values.domains import choice, shown
from hockeystick.values.errors import InvalidInputError

DELTA = "delta"  # axis that belongs to the question, not to the plan

COUNT = "count"  # name of steps in plan files, if a round is one step

SETTING = (
    "sample-rate", "batch-size", "check-in", "noise-multiplier", "scale", "epsilon", "noise", "steps", "epochs",
)  # fmt: skip
"""Order in which parameters are set: counts derive from the batch size, and a common factor from the noise."""

APART = (
    ("sample-rate", "batch-size"),
    ("steps", "epochs"),
    ("noise", "noise-multiplier"),
    ("noise", "scale"),
)
"""Groups of parameters that override each other, so that no plan has several of a group."""

MOST_POINTS = 10**7
"""Largest number of points: an hour of the quickest plans, and a gigabyte of answers."""

NUMBER = domains.Domain("a finite number", {})  # the plan validates the value, row by row

MOST_AXES = 8  # largest number of parameters in one plan, delta included

Point = tuple[float, ...]
"""Value of each parameter at a point, in the order of the grid."""


@dataclass(frozen=True)
class Axis:
    """Parameter and its values.

    Attributes:
        name: name as a column, such as ``"noise_multiplier"``.
        values: distinct values in the order of the grid.
    """

    name: str
    values: Point

    @property
    def parameter(self) -> str:
        """Name of the parameter, such as ``"noise-multiplier"``; count is steps."""
        return parameter_of(self.name)


@dataclass(frozen=True)
class Grid:
    """Axes of a sweep.

    Attributes:
        axes: axes, of which the first changes slowest.
    """

    axes: tuple[Axis, ...]

    def __len__(self) -> int:
        return math.prod(len(axis.values) for axis in self.axes)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the axes as columns."""
        return tuple(axis.name for axis in self.axes)

    def point(self, number: int) -> Point:
        """Return the values at the point of this number.

        >>> grid = Grid((Axis("noise_multiplier", (1.0, 2.0)), Axis("steps", (10, 20, 30))))
        >>> grid.point(4)
        (2.0, 20)
        """
        found: list[float] = []
        for axis in reversed(self.axes):
            number, at = divmod(number, len(axis.values))
            found.append(axis.values[at])
        return tuple(reversed(found))


def grid_of(template: Plan, given: object, free: str | None = None) -> Grid:
    """Return the validated grid of a mapping.

    Args:
        template: plan whose parameters vary.
        given: values by name: a number, or any sequence of numbers.
        free: parameter calibrated at each point, which the grid must not have.

    Raises:
        InvalidInputError: there is no mapping or no axis, a parameter is unknown or missing from the plan, two
            parameters override each other, a value is no number, or there are more points than :data:`MOST_POINTS`.

    >>> from hockeystick import dp_sgd
    >>> grid = grid_of(dp_sgd(1.0, 0.01, 1000), {"noise-multiplier": [1, 2], "count": 100})
    >>> grid.names, len(grid)
    (('noise_multiplier', 'count'), 2)
    """
    if not isinstance(given, Mapping) or not given:
        raise InvalidInputError(
            'grid must be values by the name of a parameter, such as {"noise_multiplier": [0.5, 1, 2]}; received '
            f"{shown(given)}",
            "grid",
        )
    if len(given) > MOST_AXES:
        raise InvalidInputError(f"grid: at most {MOST_AXES} parameters; received {len(given)}", "grid")
    axes: list[Axis] = []
    for key, values in given.items():
        name = _name(key)
        if parameter_of(name) in [axis.parameter for axis in axes]:
            raise InvalidInputError(f"grid: {name} is given twice; give it once", "grid")
        axes.append(Axis(name, _values(name, values)))
    _check_together([axis.parameter for axis in axes], free)
    grid = Grid(tuple(axes))
    if len(grid) > MOST_POINTS:
        raise InvalidInputError(f"grid: at most {MOST_POINTS:,} points; received {len(grid):,}", "grid")
    _check_had(template, grid, free)
    return grid


def plan_at(template: Plan, grid: Grid, point: Sequence[float]) -> Plan:
    """Return the plan at a point.

    Raises:
        InvalidInputError: the plan is invalid: a value is outside its domain, or a batch larger than the dataset.

    >>> from hockeystick import dp_sgd
    >>> template = dp_sgd(1.0, batch_size=256, dataset_size=60_000, epochs=10)
    >>> grid = Grid((Axis("batch_size", (512,)), Axis("noise_multiplier", (2.0,))))
    >>> plan_at(template, grid, (512, 2.0)).rounds[0]  # 10 epochs, as the template says
    Round(mechanism=Gaussian(noise_multiplier=2.0, ...batch_size=512, dataset_size=60000), epochs=10)
    """
    plan = template
    for place in _order(grid):
        axis, value = grid.axes[place], point[place]
        if axis.parameter == "batch-size" and plan.dataset_size is not None and value > plan.dataset_size:
            raise InvalidInputError(
                f"batch_size must be at most dataset_size; received {value!r} and {plan.dataset_size}", "batch_size"
            )
        plan = build_of(plan, axis.parameter)(value)
    return plan


def parameter_of(name: str) -> str:
    """Return the parameter of a column."""
    return "steps" if name == COUNT else name.replace("_", "-")


def _order(grid: Grid) -> list[int]:
    """Indices of the axes that are parameters of the plan, in the order in which they are set."""
    places = [place for place, axis in enumerate(grid.axes) if axis.name != DELTA]
    return sorted(places, key=lambda place: SETTING.index(grid.axes[place].parameter))


def _name(key: object) -> str:
    known = [*(name.replace("-", "_") for name in PARAMETERS), COUNT, DELTA]
    name = str(key).replace("-", "_") if isinstance(key, str) else key
    if name not in known:
        raise InvalidInputError(choice("grid", name, known), "grid")
    return str(name)


def _values(name: str, given: Any) -> Point:
    """Validated values of an axis, in their order.

    Raises:
        InvalidInputError: there is no value, or a value is no number, a fraction of a count, or repeated.
    """
    listed = list(given) if isinstance(given, Iterable) and not isinstance(given, str | bytes | Mapping) else [given]
    if not listed:
        raise InvalidInputError(f"grid: {name} has no values; give one at least", name)
    counts = name != DELTA and PARAMETERS[parameter_of(name)].whole
    domain = domains.whole_numbers() if counts else domains.DELTA if name == DELTA else NUMBER
    found = dict.fromkeys(domain.check(value, f"grid: {name}") for value in listed)
    if len(found) < len(listed):
        raise InvalidInputError(
            f"grid: {name} has {len(listed)} values of which only {len(found)} differ; give each once", name
        )
    return tuple(found)


def _check_together(parameters: Sequence[str], free: str | None) -> None:
    together = [*parameters, *([] if free is None else [free])]
    if free is not None and free in parameters:
        raise InvalidInputError(f"grid: {free} is what is calibrated; leave it out of the grid", "grid")
    for one, other in APART:
        if one in together and other in together:
            raise InvalidInputError(f"grid: {one} and {other} say the same; leave one of them out", "grid")


def _check_had(template: Plan, grid: Grid, free: str | None) -> None:
    """Refuse a parameter that the template lacks, and counts of rounds of several steps.

    Raises:
        InvalidInputError: there is one; the message names what the plan lacks.
    """
    for axis in grid.axes:
        if axis.name == DELTA:
            continue
        build_of(template, axis.parameter)
        several = max(item.sampling.steps_per_round for item in template.rounds)
        if axis.name == COUNT and several > 1:
            raise InvalidInputError(
                f"grid: count is ambiguous where a round is {several} steps: give steps or epochs", "grid"
            )
    if free is not None:
        build_of(template, free)
