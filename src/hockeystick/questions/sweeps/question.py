"""The question of a sweep at each point: epsilon at a delta, delta at an epsilon, or the value that meets a target."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

from hockeystick.directions.certified import checked_gap
from hockeystick.plan.plan import Plan, asked_delta
from hockeystick.questions.calibration import calibrate
from hockeystick.questions.many import answered, ends_of, tried
from hockeystick.questions.parameters import batch_of, named
from hockeystick.questions.sweeps.grid import DELTA, plan_at
from hockeystick.questions.targets import TARGET_EPSILON, Epsilon, Target
from hockeystick.values import domains
from hockeystick.values.bounds import Answer
from hockeystick.values.domains import shown
from hockeystick.values.errors import HockeystickError, InvalidInputError
from hockeystick.values.outward import shortest
from hockeystick.values.words import one_line

FREE = "noise-multiplier"  # default of the calibrated parameter

REFUSED = "refused"  # in place of a guarantee: no answer, with a reason


class Row(NamedTuple):
    """Answer at one point; an unknown number is ``nan``.

    Attributes:
        value: calibrated value, if any.
        steps: steps of the plan; 0 without a plan.
        lower: certified lower end of the answer; in a calibration, of the calibrated plan.
        estimate: estimate between both ends, without a guarantee.
        upper: certified upper end.
        accountant: accountant of the ends; may be empty.
        guarantee: ``"certified"``, ``"upper bound"`` (the lower end is 0) or ``"refused"``.
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
    guarantee: str = REFUSED
    reason: str = ""
    noise: float = math.nan
    gradients: float = math.nan


@dataclass(frozen=True)
class Question:
    """Question that a sweep answers at every point of its grid; only delta may vary, if it is an axis.

    Attributes:
        delta: delta of every point, for epsilon and for a target epsilon; ``None`` if delta is an axis.
        epsilon: epsilon at which delta is wanted.
        target: target of a calibration; a number means a target epsilon at the delta of the point.
        free: parameter calibrated to the target.
        gap: requested relative width of the intervals; the default of the engines if ``None``.
    """

    delta: float | None = None
    epsilon: float | None = None
    target: float | Target | None = None
    free: str = FREE
    gap: float | None = None

    def said(self) -> str:
        """Return the question in words.

        >>> Question(delta=1e-5).said()
        'epsilon at delta = 1e-5'
        """
        at = "" if self.delta is None else f" at delta = {shortest(self.delta)}"
        if self.epsilon is not None:
            return f"delta at epsilon = {shortest(self.epsilon)}"
        if self.target is None:
            return f"epsilon{at}"
        if isinstance(self.target, Target):
            return f"{self.free} for {self.target.said()}"
        return f"{self.free} for epsilon = {shortest(self.target)}{at}"

    def rows(self, template: Plan, points: Sequence[Mapping[str, float]]) -> list[Row]:
        """Return the answers at some points; a row is bit-identical whatever the other points are."""
        plans = [tried(partial(plan_at, template, point)) for point in points]
        deltas = [point.get(DELTA, self.delta or 0.0) for point in points]
        if self.target is not None:
            return [self._calibrated(plan, delta) for plan, delta in zip(plans, deltas, strict=True)]
        if self.epsilon is None:
            answers = answered(plans, "epsilon", deltas, self.gap)
        else:
            answers = answered(plans, "delta", [self.epsilon] * len(plans), self.gap)
        return [_row(plan, found) for plan, found in zip(plans, answers, strict=True)]

    def _calibrated(self, plan: Plan | HockeystickError, delta: float) -> Row:
        """Return the row of a calibration: the value that meets the target, and the interval of the plan with it."""
        if isinstance(plan, HockeystickError):
            return _row(plan, plan)
        assert self.target is not None
        target = self.target if isinstance(self.target, Target) else Epsilon(self.target, delta)
        found = tried(partial(calibrate, plan, self.free, target, gap=self.gap))
        if isinstance(found, HockeystickError):
            return _row(plan, found)
        value = int(found.value) if named(self.free).whole else found.value
        return _row(found.plan, found.achieved)._replace(
            value=value, reason=found.limited or found.achieved.reason or ""
        )


def _row(plan: Plan | HockeystickError, found: Answer | HockeystickError) -> Row:
    """Return the row of an answer about a plan, or of a refusal."""
    if isinstance(plan, HockeystickError) or isinstance(found, HockeystickError):
        return Row(reason=one_line(str(found)))
    lower, estimate, upper = ends_of(found)
    row = Row(math.nan, plan.steps, lower, estimate, upper, found.accountant, found.guarantee, found.reason or "")
    # the noise on the sum of a batch's clipped gradients is divided by the (expected) batch size
    batch = batch_of(plan) if len(plan.rounds) == 1 else None
    multiplier = getattr(plan.rounds[0].mechanism, "noise_multiplier", None) if batch else None
    if batch is None or multiplier is None:
        return row
    return row._replace(noise=multiplier / batch, gradients=batch * plan.steps)


def question_of(
    template: Plan,
    has_delta: bool,
    delta: float | None,
    epsilon: float | None,
    target: float | Target | None,
    parameter: str | None,
    gap: float | None,
) -> Question:
    """Return the question that the arguments of a sweep describe.

    Args:
        template: plan, whose own delta is the default.
        has_delta: True if delta is an axis of the grid.
        delta: delta of every point; the plan's own by default.
        epsilon: epsilon at which delta is wanted.
        target: epsilon at the delta of each point, or one of ``hockeystick.targets``.
        parameter: calibrated parameter, with a target.
        gap: requested relative width.

    Raises:
        InvalidInputError: there are two questions, delta is given twice or not at all, or a number is outside its
            domain.
    """
    gap = checked_gap(gap)
    if target is None and parameter is not None:
        raise InvalidInputError("parameter requires target; give target or leave parameter out", "parameter")
    if target is not None and epsilon is not None:
        raise InvalidInputError(
            "give either epsilon, to compute delta, or target, to calibrate; received both", "epsilon"
        )
    free = named(parameter or FREE).name
    target = None if target is None else _target(target)
    if isinstance(target, Target) or epsilon is not None:
        if has_delta or delta is not None:
            line = (
                "a target object has its own delta; leave delta out, or give the target epsilon as a number"
                if epsilon is None
                else "epsilon computes delta; leave delta out, or give target instead of epsilon to calibrate to it"
            )
            raise InvalidInputError(line, "delta")
        epsilon = None if epsilon is None else domains.epsilon(epsilon, "epsilon", "at which delta is computed")
    elif not has_delta:
        delta = asked_delta(template, delta)
    elif delta is not None:
        raise InvalidInputError("delta is also in the grid; leave one of them out", "delta")
    return Question(delta, epsilon, target, free, gap)


def _target(given: object) -> float | Target:
    if isinstance(given, Target):
        return given
    try:
        return TARGET_EPSILON.check(given, "target")
    except InvalidInputError:
        raise InvalidInputError(
            "target must be an epsilon from 1e-9 to 1e4, or one of hockeystick.targets, such as Advantage(0.1); "
            f"received {shown(given)}",
            "target",
        ) from None
