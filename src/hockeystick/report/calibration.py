"""Answers about a calibration: the value to use, its epsilon or delta, and the nearest value that misses the target."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields
from typing import Any

from hockeystick.plan.file import plan_from_dict
from hockeystick.plan.plan import Plan
from hockeystick.questions import targets
from hockeystick.questions.calibration import Calibration, beside_said, calibrate
from hockeystick.questions.parameters import NOISES, named, of_plan
from hockeystick.report.answer import Answer, finite_ends, interval_said, plan_json, plan_lines
from hockeystick.report.kinds import Found
from hockeystick.report.rounding import SHOWN_DIGITS, exact, round_down, round_up
from hockeystick.report.tables import print_answer
from hockeystick.values.domains import shown
from hockeystick.values.errors import InvalidInputError

QUOTED = 7
"""Significant digits of a calibrated value, which is rounded to its safe side."""


def calibration_answer(found: Calibration) -> Answer:
    """Return the text about a calibration: the value found, rounded to its safe side, and the interval it achieves."""
    parameter = named(found.parameter)
    if parameter.whole:
        value = str(int(found.value))
    else:
        value = (round_down if parameter.costs else round_up)(found.value, QUOTED)
        if (
            parameter.name == "sample-rate"
            and of_plan(found.plan, "sample-rate")[1](float(value)).steps != found.plan.steps
        ):
            value = exact(found.value)  # a rounded number of epochs would take one more step
    target = found.target
    others = ", ".join(f"{key} = {exact(number)}" for key, number in target.described().items() if key != target.name)
    headline = f"{found.parameter} = {value} meets {target.name} {exact(target.limit)}"
    lines = [("achieved", f"{target.name} {interval_said(found.achieved)}{' at ' + others if others else ''}")]
    if found.beside is not None:
        lines.append(("just beside", f"{found.parameter} = {beside_said(found)}"))
    else:
        lines.append(("note", "the target is met even at the end of the parameter's range"))
    if found.limited is not None:
        lines.append(("limited", found.limited))
    if parameter.name == "noise":
        lines.append(("noises", "; ".join(_noises(found))))
        if left := _left(found):
            lines.append(("unchanged", f"{', '.join(left)}: their noise is not scaled"))
    return Answer(headline, (*lines, *plan_lines(found.plan, target.at_delta)))


def _noises(found: Calibration) -> Iterator[str]:
    """Lines with the noise of each round after multiplication by the common factor, rounded up to the safe side.

    Each line also states the noise before multiplication and the name of the round, since a plan sorts its rounds and
    their order may differ from that in the plan file.
    """
    for item in found.plan.rounds:
        for key in NOISES:
            noise = getattr(item.mechanism, key, None)
            if noise is not None:
                name = f" ({item.name})" if item.name else ""
                given = exact(float(f"{noise / found.value:.{SHOWN_DIGITS}g}"))
                yield f"{item.mechanism.name} {key.replace('_', ' ')} {round_up(noise, QUOTED)} for {given}{name}"


def _left(found: Calibration) -> list[str]:
    """Names of the mechanisms without a noise parameter, which a common noise factor leaves unchanged."""
    each = [item.mechanism for item in found.plan.rounds]
    return sorted({one.name for one in each if all(getattr(one, key, None) is None for key in NOISES)})


def calibration_json(found: Calibration) -> dict[str, Any]:
    """Return the object that ``hockeystick calibrate --json`` prints."""
    whole = named(found.parameter).whole
    beside = found.beside
    return {
        "parameter": found.parameter,
        "value": int(found.value) if whole else found.value,
        "target": found.target.described(),
        "achieved": finite_ends(found.achieved),
        "beside": None if beside is None else {"value": beside[0], **finite_ends(beside[1])},
        "limited": found.limited,
        **({"as_they_are": _left(found)} if found.parameter == "noise" else {}),
        **plan_json(found.plan, found.target.at_delta, found.achieved.guarantee),
    }


TARGETS = (
    targets.Epsilon, targets.GaussianDP, targets.Advantage, targets.TruePositiveRate, targets.BayesRisk,
    targets.Reconstruction,
)  # fmt: skip
"""Targets of a calibration on the command line."""


def calibration_asked(
    _: Plan, say: Callable[[str], None], /, parameter: Any, target: Any, tolerance: Any, gap: Any, plan: Any
) -> Found:
    """Answer ``hockeystick calibrate``: find ``parameter`` for ``plan``, which is a plan as a table of keys."""
    if not isinstance(plan, dict) or not isinstance(target, dict):
        raise InvalidInputError("asked: plan and target must be tables of keys")
    found = calibrate(plan_from_dict(plan), parameter, _target(target), tolerance=tolerance, gap=gap)
    return Found(
        found, lambda: calibration_json(found), lambda: print_answer(calibration_answer(found)), plan=found.plan
    )


def _target(described: Mapping[str, Any]) -> targets.Target:
    for kind in TARGETS:
        if {item.name for item in fields(kind)} == set(described):
            return kind(**described)
    raise InvalidInputError(f"asked: received keys that no target has: {shown(list(described))}", "target")
