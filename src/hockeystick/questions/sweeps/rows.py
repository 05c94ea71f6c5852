"""The answers at some points of a sweep: one process computes them together and returns plain values.

A row depends on its point alone, to the last bit: neither on the other points, nor their order, nor the caller.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal, NamedTuple

from hockeystick.plan.plan import Plan
from hockeystick.questions.calibration import calibrate
from hockeystick.questions.many import deltas, epsilons, side_by_side
from hockeystick.questions.noises import noises
from hockeystick.questions.parameters import batch_of, build_of, named
from hockeystick.questions.sweeps.grid import Grid, plan_at
from hockeystick.questions.sweeps.question import FREE, Question
from hockeystick.questions.targets import Epsilon
from hockeystick.values.errors import HockeystickError
from hockeystick.values.words import one_line

REFUSED, FAILED = "refused", "failed"  # in place of a guarantee: no answer with its reason; a bug of this library

Errors = Literal["row", "stop"]


class Row(NamedTuple):
    """Answer at one point; ``nan`` for an unknown number.

    Attributes:
        value: calibrated value, if any.
        steps: steps of the plan; 0 without a plan.
        lower: certified lower end of the answer, or of the calibrated plan.
        estimate: estimate between both ends, without a guarantee.
        upper: certified upper end.
        accountant: accountant of the ends; may be empty.
        guarantee: ``"certified"``, ``"upper bound"`` (the lower end is 0), ``"refused"`` or ``"failed"``.
        reason: reason for a wide or missing interval; empty otherwise.
        noise: standard deviation of the noise on a coordinate of the averaged gradient, in units of the clipping norm.
        gradients: expected number of gradients in all.
    """

    value: float
    steps: int
    lower: float
    estimate: float
    upper: float
    accountant: str
    guarantee: str
    reason: str
    noise: float
    gradients: float


@dataclass(frozen=True)
class Job:
    """Some points of a sweep, with their question.

    Attributes:
        template: plan whose parameters vary.
        grid: grid of the sweep.
        question: question at each point.
        start: number of the first point.
        stop: number after the last point.
        errors: treatment of a point without an answer: a row with the reason, or an exception.
    """

    template: Plan
    grid: Grid
    question: Question
    start: int
    stop: int
    errors: Errors


def answered(job: Job) -> list[Row]:
    """Return the rows of a job.

    Raises:
        HockeystickError: a point has no answer, and errors stop the sweep; the message begins with the row's number and
            values.
    """
    return _targets(job) if job.question.kind == "target" else _bounds(job)


def place_of(grid: Grid, number: int) -> str:
    """Return a row's name in messages: its number from 0, and its values.

    >>> from hockeystick.questions.sweeps.grid import Axis
    >>> place_of(Grid((Axis("noise_multiplier", (1.0, 2.0)), Axis("steps", (10, 20)))), 3)
    'row 3 (noise_multiplier=2.0, steps=20)'
    """
    said = ", ".join(f"{name}={value!r}" for name, value in zip(grid.names, grid.point(number), strict=True))
    return f"row {number} ({said})"


def _bounds(job: Job) -> list[Row]:
    """Epsilons or deltas, together for plans that the batch handles, one by one for all others."""
    grid, question = job.grid, job.question
    rows: dict[int, Row] = {}
    plans: dict[int, Plan] = {}
    for number in range(job.start, job.stop):
        made = _tried(job, number, partial(plan_at, job.template, grid, grid.point(number)))
        if isinstance(made, Row):
            rows[number] = made
        else:
            plans[number] = made

    def asked(numbers: Sequence[int]) -> list[Row]:
        those = [plans[number] for number in numbers]
        if question.kind == "delta":
            assert question.epsilon is not None
            band = deltas(those, question.epsilon, gap=question.gap)
        else:
            at = [question.delta_at(grid, grid.point(number)) for number in numbers]
            band = epsilons(those, at, gap=question.gap)  # type: ignore[arg-type]  # a delta is somewhere
        return [
            _row(plan, math.nan, ends, accountant, guarantee, reason)
            for plan, *ends, accountant, guarantee, reason in zip(
                those, *band.columns().values(), band.accountants, band.guarantees, band.reasons, strict=True
            )
        ]

    def alone(number: int) -> Row:
        return asked([number])[0]

    together = [number for number, plan in plans.items() if side_by_side(plan)]
    try:
        rows |= zip(together, asked(together), strict=True) if together else ()
    except HockeystickError:  # a plan raised it: computing one by one below finds it and answers the others
        together = []
    for number in plans:
        if number not in rows:
            rows[number] = _tried(job, number, partial(alone, number))
    return [rows[number] for number in range(job.start, job.stop)]


def _targets(job: Job) -> list[Row]:
    """The value that meets the target at each point, with the interval of the plan with that value.

    Noise multipliers for an epsilon are searched side by side; the remaining points are calibrated one by one.
    """
    together = _noises(job) if job.question.free == FREE else {}
    return [
        together[number] if number in together else _tried(job, number, partial(_target, job, number))
        for number in range(job.start, job.stop)
    ]


def _noises(job: Job) -> dict[int, Row]:
    """Rows whose noise multiplier is found side by side with others, by number."""
    leaving = replace(job, errors="row")  # errors are raised when a point is calibrated alone
    numbers, plans, targets = [], [], []
    for number in range(job.start, job.stop):
        point = job.grid.point(number)
        target = _tried(leaving, number, partial(job.question.target_at, job.grid, point))
        plan = _tried(leaving, number, partial(plan_at, job.template, job.grid, point))
        if isinstance(plan, Plan) and isinstance(target, Epsilon):
            numbers.append(number)
            plans.append(plan)
            targets.append(target)
    found = noises(
        plans,
        [target.epsilon for target in targets],
        [target.delta for target in targets],
        job.question.tolerance,
        job.question.gap,
    )
    rows = {}
    for number, plan, noise in zip(numbers, plans, found, strict=True):
        if noise is not None:
            ends = noise.achieved.lower, noise.achieved.estimate, noise.achieved.upper
            made = build_of(plan, FREE)(noise.value)
            rows[number] = _row(made, noise.value, ends, "contour", "certified", noise.achieved.reason)
    return rows


def _target(job: Job, number: int) -> Row:
    grid, question = job.grid, job.question
    assert question.free is not None
    point = grid.point(number)
    plan = plan_at(job.template, grid, point)
    target = question.target_at(grid, point)
    found = calibrate(plan, question.free, target, tolerance=question.tolerance, gap=question.gap)
    bound = found.achieved
    whole = named(question.free).whole
    value = int(found.value) if whole else found.value
    reason = found.limited or bound.reason
    return _row(
        found.plan, value, (bound.lower, bound.estimate, bound.upper), bound.accountant, bound.guarantee, reason
    )


def _row(plan: Plan, value: float, ends: Sequence[float], accountant: str, guarantee: str, reason: str | None) -> Row:
    noise, gradients = _utility(plan)
    lower, estimate, upper = ends
    return Row(value, plan.steps, lower, estimate, upper, accountant, guarantee, reason or "", noise, gradients)


def _utility(plan: Plan) -> tuple[float, float]:
    """Noise per coordinate of the averaged gradient, and number of gradients; ``nan`` if batches have no size.

    The sum of the clipped gradients of a batch gets noise of ``noise_multiplier`` clipping norms on every coordinate,
    and is divided by the (expected) batch size.
    """
    if len(plan.rounds) != 1:
        return math.nan, math.nan
    batch = batch_of(plan)
    multiplier = getattr(plan.rounds[0].mechanism, "noise_multiplier", None)
    if batch is None or multiplier is None:
        return math.nan, math.nan
    return multiplier / batch, batch * plan.steps


def _tried(job: Job, number: int, ask: Callable[[], Any]) -> Any:
    """The result of ``ask``; after a refusal the row with its reason, or the exception prefixed with the row's place.

    A bug of this library is no refusal: its row is ``failed``, and the other rows stand.

    Raises:
        HockeystickError: it is refused, and errors stop the sweep.
    """
    try:
        return ask()
    except HockeystickError as error:
        if job.errors == "stop":
            error.args = (f"{place_of(job.grid, number)}: {error}", *error.args[1:])
            raise
        return _without(REFUSED, one_line(str(error)))
    except Exception as error:
        if job.errors == "stop":
            error.add_note(f"in {place_of(job.grid, number)}")
            raise
        return _without(FAILED, f"{type(error).__name__}: {one_line(str(error))}: please report")


def _without(guarantee: str, reason: str) -> Row:
    nan = math.nan
    return Row(nan, 0, nan, nan, nan, "", guarantee, reason, nan, nan)
