"""The parameters of a plan that can be calibrated: which way each goes, how far, and the plan with another value."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

from hockeystick.domains import MAX_COUNT, choice
from hockeystick.errors import InvalidInputError
from hockeystick.plan import Plan, Round

Build = Callable[[float], Plan]


@dataclass(frozen=True)
class Parameter:
    """A number that privacy is monotone in.

    Args:
        name: as given to ``calibrate``.
        costs: whether more of it costs more privacy; otherwise more of it protects more.
        least: smallest value tried.
        most: largest value tried.
        whole: whether it is a whole number.
        start: where to look first.
    """

    name: str
    costs: bool
    least: float = 1e-6
    most: float = 1e9
    whole: bool = False
    start: float = 1.0

    @property
    def safest(self) -> float:
        """The value that protects most."""
        return self.least if self.costs else self.most

    @property
    def dearest(self) -> float:
        """The value that costs most."""
        return self.most if self.costs else self.least


def of_plan(plan: Plan, name: str) -> tuple[Parameter, Build]:
    """A parameter that a plan has, starting at its present value, and the plan with another value of it.

    Raises:
        InvalidInputError: there is no such parameter, the plan does not have it, or has several values of it.
    """
    parameter = named(name)
    start, build = _READERS[parameter.name](plan)
    if parameter.name == "batch-size" and plan.dataset_size is not None:
        parameter = replace(parameter, most=plan.dataset_size)
    return replace(parameter, start=min(max(start, parameter.least), parameter.most)), build


def named(name: str) -> Parameter:
    """The parameter of that name; ``_`` counts as ``-``.

    Raises:
        InvalidInputError: there is none.
    """
    known = str(name).replace("_", "-")
    if known not in PARAMETERS:
        raise InvalidInputError(choice("parameter", name, list(PARAMETERS)), "parameter")
    return PARAMETERS[known]


PARAMETERS: Mapping[str, Parameter] = {
    parameter.name: parameter
    for parameter in (
        Parameter("noise-multiplier", costs=False),
        Parameter("scale", costs=False),
        Parameter("noise", costs=False),
        Parameter("epsilon", costs=True, least=1e-9, most=1e3),
        Parameter("sample-rate", costs=True, least=1e-12, most=1.0, start=0.01),
        Parameter("batch-size", costs=True, least=1, most=MAX_COUNT, whole=True, start=100),
        Parameter("steps", costs=True, least=0, most=MAX_COUNT, whole=True, start=1000),
        Parameter("epochs", costs=True, least=0, most=MAX_COUNT, whole=True, start=10),
    )
}
"""All parameters by name; ``noise`` is a common factor on all noise of a plan."""


def _field(part: str, key: str) -> Callable[[Plan], tuple[float, Build]]:
    """A field of the mechanism or of the sampling scheme, the same in every round that has it."""

    def read(plan: Plan) -> tuple[float, Build]:
        found = {getattr(getattr(item, part), key) for item in plan.rounds if _has(getattr(item, part), key)}
        value = _one(found, key)

        def build(new: float) -> Plan:
            return _each(plan, lambda item: _with(item, part, key, new))

        return value, build

    return read


def _has(part: object, key: str) -> bool:
    return any(item.name == key for item in fields(part)) and getattr(part, key) is not None  # type: ignore[arg-type]


def _with(item: Round, part: str, key: str, value: float) -> Round:
    old: Any = getattr(item, part)
    changes: dict[str, Any] = {part: replace(old, **{key: value})} if _has(old, key) else {}
    return replace(item, **changes)


def _rate(plan: Plan) -> tuple[float, Build]:
    schemes: list[Any] = [item.sampling for item in plan.rounds if _has(item.sampling, "sample_rate")]
    value = _one({scheme.sample_rate for scheme in schemes}, "sample_rate")

    def build(new: float) -> Plan:
        return _each(plan, lambda item: _sampled(item, sample_rate=new, batch_size=None, dataset_size=None))

    return value, build


def _batch(plan: Plan) -> tuple[float, Build]:
    schemes: list[Any] = [item.sampling for item in plan.rounds if _has(item.sampling, "dataset_size")]
    batch, records = _one({(scheme.batch_size, scheme.dataset_size) for scheme in schemes}, "batch_size")

    def build(new: float) -> Plan:
        return _each(plan, lambda item: _sampled(item, sample_rate=None, batch_size=min(int(new), records)))

    return batch, build


def _sampled(item: Round, **keys: float | None) -> Round:
    scheme: Any = item.sampling
    return replace(item, sampling=replace(scheme, **keys)) if _has(scheme, "sample_rate") else item


def _steps(plan: Plan) -> tuple[float, Build]:
    item = _only(plan, "steps")
    return item.count, lambda new: _each(plan, lambda item: replace(item, count=int(new)))


def _epochs(plan: Plan) -> tuple[float, Build]:
    item = _only(plan, "epochs")
    if not _has(item.sampling, "dataset_size"):
        raise InvalidInputError(
            "epochs needs batch_size and dataset_size, which say how many steps one takes", "epochs"
        )
    each = math.ceil(item.sampling.dataset_size / item.sampling.batch_size)  # type: ignore[attr-defined]
    return item.count / each, lambda new: _each(plan, lambda item: replace(item, count=int(new) * each))


def _noise(plan: Plan) -> tuple[float, Build]:
    keys = ("noise_multiplier", "scale")
    if not any(_has(item.mechanism, key) for item in plan.rounds for key in keys):
        raise InvalidInputError("the plan has no round whose noise could be scaled", "noise")

    def build(factor: float) -> Plan:
        def scaled(item: Round) -> Round:
            for key in keys:
                if _has(item.mechanism, key):
                    return _with(item, "mechanism", key, factor * getattr(item.mechanism, key))
            return item

        return _each(plan, scaled)

    return 1.0, build


def _each(plan: Plan, change: Callable[[Round], Round]) -> Plan:
    return Plan([change(item) for item in plan.rounds], plan.adjacency, plan.delta_target)


def _one(values: set[Any], key: str) -> Any:
    if not values:
        raise InvalidInputError(f"no round of the plan has the key {key!r}", key)
    if len(values) > 1:
        shown = ", ".join(sorted(map(str, values)))
        raise InvalidInputError(
            f"the rounds have different values of {key} ({shown}): calibrate 'noise', a common factor, or from Python "
            "a function that makes the plan",
            key,
        )
    return values.pop()


def _only(plan: Plan, key: str) -> Round:
    if len(plan.rounds) != 1:
        raise InvalidInputError(
            f"{key} can be calibrated of a plan with one kind of round; received {len(plan.rounds)} kinds: from "
            "Python, pass a function that makes the plan",
            key,
        )
    return plan.rounds[0]


_READERS: Mapping[str, Callable[[Plan], tuple[float, Build]]] = {
    "noise-multiplier": _field("mechanism", "noise_multiplier"),
    "scale": _field("mechanism", "scale"),
    "noise": _noise,
    "epsilon": _field("mechanism", "epsilon"),
    "sample-rate": _rate,
    "batch-size": _batch,
    "steps": _steps,
    "epochs": _epochs,
}
