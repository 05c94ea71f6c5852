"""The answers at some points of a sweep: one process computes them together and returns plain values.

A row is bit-identical whatever the other points, their order and the caller are.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

from hockeystick.plan.plan import Plan
from hockeystick.questions.calibration import calibrate
from hockeystick.questions.many import deltas, epsilons, steps_of
from hockeystick.questions.parameters import batch_of, named
from hockeystick.questions.sweeps.grid import Grid, plan_at
from hockeystick.questions.sweeps.question import Question
from hockeystick.values.errors import HockeystickError
from hockeystick.values.words import one_line

REFUSED, FAILED = "refused", "failed"  # in place of a guarantee: refused with a reason; failed by a bug of this library


class Row(NamedTuple):
    """Answer at one point; an unknown number is ``nan``.

    Attributes:
        value: calibrated value, if any.
        steps: steps of the plan; 0 without a plan.
        lower: certified lower end of the answer; in a calibration, of the calibrated plan.
        estimate: estimate between both ends, without a guarantee.
        upper: certified upper end.
        accountant: accountant of the ends; may be empty.
        guarantee: ``"certified"``, ``"upper bound"`` (the lower end is 0), ``"refused"`` or ``"failed"``.
        reason: reason for a wide or missing interval; empty otherwise.
        noise: standard deviation of the noise on a coordinate of the averaged gradient, in units of the clipping norm.
        gradients: expected number of gradients in all.
    """

    value: float = math.nan
    steps: int = 0
    lower: float = math.nan
    estimate: float = math.nan
    upper: float = math.nan
    accountant: str = ""
    guarantee: str = ""
    reason: str = ""
    noise: float = math.nan
    gradients: float = math.nan


@dataclass(frozen=True)
class Job:
    """Some points of a sweep, with their question.

    Attributes:
        template: plan whose parameters vary.
        grid: grid of the sweep.
        question: question at each point.
        start: number of the first point.
        stop: number after the last point.
    """

    template: Plan
    grid: Grid
    question: Question
    start: int
    stop: int


def answered(job: Job) -> list[Row]:
    """Return the rows of a job."""
    numbers = range(job.start, job.stop)
    rows: dict[int, Row] = {}
    plans: dict[int, Plan] = {}
    for number in numbers:
        made = _tried(partial(plan_at, job.template, job.grid.point(number)))
        if isinstance(made, Row):
            rows[number] = made
        else:
            plans[number] = made
    alone = _bound if job.question.target is None else _target
    if job.question.target is None:
        rows |= _bounds(job.question, job.grid, plans)
    for number, plan in plans.items():
        if number not in rows:
            rows[number] = _tried(partial(alone, job.question, job.grid.point(number), plan))
    return [rows[number] for number in numbers]


def _bounds(question: Question, grid: Grid, plans: Mapping[int, Plan]) -> dict[int, Row]:
    """Return rows of the plans that are computed together as a batch; none if one of these plans is refused."""
    those = {number: plan for number, plan in plans.items() if steps_of(plan) is not None}
    try:
        found = _asked(question, [grid.point(number) for number in those], list(those.values()))
    except HockeystickError:
        return {}
    return dict(zip(those, found, strict=True))


def _bound(question: Question, point: Mapping[str, float], plan: Plan) -> Row:
    """Return the row of one plan."""
    return _asked(question, [point], [plan])[0]


def _asked(question: Question, points: Sequence[Mapping[str, float]], plans: list[Plan]) -> list[Row]:
    """Return rows of epsilons or of deltas, by what the question asks."""
    if question.epsilon is None:
        band = epsilons(plans, [question.delta_at(point) for point in points], gap=question.gap)
    else:
        band = deltas(plans, question.epsilon, gap=question.gap)
    columns = plans, *band.columns().values(), band.accountants, band.guarantees, band.reasons
    return [_row(plan, math.nan, each[:3], *each[3:]) for plan, *each in zip(*columns, strict=True)]


def _target(question: Question, point: Mapping[str, float], plan: Plan) -> Row:
    """Return the row of a calibration: the value that meets the target, and the interval of the plan with it."""
    assert question.free is not None
    target = question.target_at(point)
    found = calibrate(plan, question.free, target, gap=question.gap)
    bound = found.achieved
    value = int(found.value) if named(question.free).whole else found.value
    ends = bound.lower, bound.estimate, bound.upper
    return _row(found.plan, value, ends, bound.accountant, bound.guarantee, found.limited or bound.reason)


def _row(plan: Plan, value: float, ends: Sequence[float], accountant: str, guarantee: str, reason: str | None) -> Row:
    noise, gradients = _utility(plan)
    lower, estimate, upper = ends
    return Row(value, plan.steps, lower, estimate, upper, accountant, guarantee, reason or "", noise, gradients)


def _utility(plan: Plan) -> tuple[float, float]:
    """Return noise per coordinate of the averaged gradient, and number of gradients; ``nan`` without batch size.

    The sum of the clipped gradients of a batch gets noise of ``noise_multiplier`` clipping norms on every coordinate.
    It is then divided by the (expected) batch size.
    """
    if len(plan.rounds) != 1:
        return math.nan, math.nan
    batch = batch_of(plan)
    multiplier = getattr(plan.rounds[0].mechanism, "noise_multiplier", None)
    if batch is None or multiplier is None:
        return math.nan, math.nan
    return multiplier / batch, batch * plan.steps


def _tried(ask: Callable[[], Any]) -> Any:
    """Return the result of ``ask``, or a row with the reason for its refusal.

    An exception that is a bug of this library is not a refusal: the row is then ``failed``, and the other rows stay
    valid.
    """
    try:
        return ask()
    except HockeystickError as error:
        return Row(guarantee=REFUSED, reason=one_line(str(error)))
    except Exception as error:
        said = f"{type(error).__name__}: {one_line(str(error))}; please report this"
        return Row(guarantee=FAILED, reason=said)
