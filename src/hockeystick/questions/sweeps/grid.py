"""The grid of a sweep: the varied parameters, their values, and the plan at each point.

The last parameter changes fastest. The plan at a point is made from a template plan by setting one parameter after the
other, in the order of :data:`SETTING`, not of the grid. So a template with epochs keeps its epochs, whatever the batch
size, and the plan depends only on the point.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

from hockeystick.plan.plan import Plan
from hockeystick.questions.parameters import PARAMETERS, build_of
from hockeystick.values import domains
from hockeystick.values.domains import check_at_most, choice, unmet
from hockeystick.values.errors import InvalidInputError

DELTA = "delta"  # axis that belongs to the question, not to the plan

SETTING = (
    "sample-rate", "batch-size", "check-in", "noise-multiplier", "scale", "variance", "epsilon", "noise", "steps",
    "epochs",
)  # fmt: skip
"""Order in which parameters are set: counts derive from the batch size, and a common factor from the noise."""

APART = (
    ("sample-rate", "batch-size"),
    ("steps", "epochs"),
    ("noise", "noise-multiplier"),
    ("noise", "scale"),
)
"""Pairs of parameters that override each other; a sweep may set at most one of each pair."""

MOST_POINTS = 10**7
"""Largest number of points: an hour of the quickest plans, and a gigabyte of answers."""

NUMBER = domains.Domain("a finite number", {})  # the plan validates the value, row by row

Point = tuple[float, ...]
"""Values of one axis, in the order of the grid."""


def grid_of(template: Plan, given: object, free: str | None = None) -> dict[str, Point]:
    """Return the distinct values of each parameter, by the name of its column in the table.

    Args:
        template: plan whose parameters vary.
        given: values by name: a number, or any sequence of numbers.
        free: parameter calibrated at each point, which the grid must not have.

    Raises:
        InvalidInputError: there is no mapping or no axis, a parameter is unknown or missing from the plan, two
            parameters override each other, a value is not a number, or there are more points than :data:`MOST_POINTS`.

    >>> from hockeystick import dp_sgd
    >>> grid_of(dp_sgd(1.0, 0.01, 1000), {"noise-multiplier": [1, 2], "steps": 100})
    {'noise_multiplier': (1.0, 2.0), 'steps': (100,)}
    """
    if not isinstance(given, Mapping) or not given:
        raise unmet("grid", 'must map parameter names to values, such as {"noise_multiplier": [0.5, 1, 2]}', given)
    axes: dict[str, Point] = {}
    for key, values in given.items():
        name = _name(key)
        if name in axes:
            raise InvalidInputError(f"grid: {name} is given twice; give it once", "grid")
        axes[name] = _values(name, values)
    parameters = [parameter_of(name) for name in axes]
    _check_together(parameters, free)
    points = math.prod(map(len, axes.values()))
    if points > MOST_POINTS:
        raise InvalidInputError(f"grid must have at most {MOST_POINTS:,} points; received {points:,}", "grid")
    for parameter in [*parameters, *([] if free is None else [free])]:
        if parameter != DELTA:
            build_of(template, parameter)  # refuses a parameter that the plan lacks
    return axes


def plan_at(template: Plan, point: Mapping[str, float]) -> Plan:
    """Return the plan at a point.

    Raises:
        InvalidInputError: the plan is invalid: a value is outside its domain, or a batch larger than the dataset.

    >>> from hockeystick import dp_sgd
    >>> template = dp_sgd(1.0, batch_size=256, dataset_size=60_000, epochs=10)
    >>> plan_at(template, {"batch_size": 512, "noise_multiplier": 2.0}).rounds[0]  # 10 epochs, as the template says
    Round(mechanism=Gaussian(noise_multiplier=2.0, ...batch_size=512, dataset_size=60000), epochs=10)
    """
    plan = template
    given = {parameter_of(name): value for name, value in point.items() if name != DELTA}
    for parameter in sorted(given, key=SETTING.index):
        value = given[parameter]
        if parameter == "batch-size" and plan.dataset_size is not None:
            check_at_most("batch_size", value, "dataset_size", plan.dataset_size)
        plan = build_of(plan, parameter)(value)
    return plan


def parameter_of(name: str) -> str:
    """Return the parameter's name for the name of a column."""
    return name.replace("_", "-")


def _name(key: object) -> str:
    known = [*(name.replace("-", "_") for name in PARAMETERS), DELTA]
    name = str(key).replace("-", "_") if isinstance(key, str) else key
    if name not in known:
        raise InvalidInputError(choice("grid", name, known), "grid")
    return str(name)


def _values(name: str, given: Any) -> Point:
    """Return the validated values of an axis, in the given order.

    Raises:
        InvalidInputError: there is no value, a value is not a number or is repeated, or a count is not a whole number.
    """
    listed = list(given) if isinstance(given, Iterable) and not isinstance(given, str | bytes | Mapping) else [given]
    if not listed:
        raise InvalidInputError(f"grid: {name} has no values; give at least one", name)
    counts = name != DELTA and PARAMETERS[parameter_of(name)].whole
    domain = domains.whole_numbers() if counts else domains.DELTA if name == DELTA else NUMBER
    found = dict.fromkeys(domain.check(value, f"grid: {name}") for value in listed)
    if len(found) < len(listed):
        raise InvalidInputError(
            f"grid: {name} has {len(listed)} values but only {len(found)} distinct ones; give each once", name
        )
    return tuple(found)


def _check_together(parameters: list[str], free: str | None) -> None:
    if free in parameters:
        raise InvalidInputError(f"grid: {free} is calibrated; leave it out of the grid", "grid")
    for one, other in APART:
        if {one, other} <= {*parameters, free}:
            raise InvalidInputError(f"grid: {one} and {other} determine each other; leave one of them out", "grid")
