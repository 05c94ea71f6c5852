"""The question of a sweep at each point: epsilon at a delta, delta at an epsilon, or the value that meets a target."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from hockeystick.plan.plan import Plan, asked_delta
from hockeystick.questions.parameters import named
from hockeystick.questions.sweeps.grid import DELTA
from hockeystick.questions.targets import TARGET_EPSILON, Epsilon, Target
from hockeystick.values import domains
from hockeystick.values.domains import shown
from hockeystick.values.errors import InvalidInputError
from hockeystick.values.outward import shortest

FREE = "noise-multiplier"  # default of the calibrated parameter


@dataclass(frozen=True)
class Question:
    """Question at every point, the same except for delta, which may be an axis.

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
    free: str | None = None
    gap: float | None = None

    @property
    def quantity(self) -> str:
        """Name of the number whose ends are computed."""
        if isinstance(self.target, Target):
            return self.target.name
        return "epsilon" if self.epsilon is None else "delta"

    def delta_at(self, point: Mapping[str, float]) -> float:
        """Return the delta at a point, for a question that has one."""
        delta = point.get(DELTA, self.delta)
        assert delta is not None
        return delta

    def target_at(self, point: Mapping[str, float]) -> Target:
        """Return the target at a point, for a question with one."""
        assert self.target is not None
        return self.target if isinstance(self.target, Target) else Epsilon(self.target, self.delta_at(point))

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
        template: plan, for its own delta.
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
    gap = None if gap is None else domains.share(gap, "gap", "requested relative width of the interval")
    if target is None and parameter is not None:
        raise InvalidInputError("parameter requires target; give target or leave parameter out", "parameter")
    if target is not None and epsilon is not None:
        raise InvalidInputError(
            "give either epsilon, to compute delta, or target, to calibrate; received both", "epsilon"
        )
    free = None
    if target is not None:
        free = FREE if parameter is None else named(parameter).name
        target = _target(target)
    if isinstance(target, Target) or epsilon is not None:
        if has_delta or delta is not None:
            line = (
                "a target object has its own delta; leave delta out, or give the target epsilon as a number"
                if epsilon is None
                else "epsilon computes delta; leave delta out, or give target instead of epsilon to calibrate to it"
            )
            raise InvalidInputError(line, "delta")
        if epsilon is not None:
            epsilon = domains.epsilon(epsilon, "epsilon", "at which delta is computed")
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
