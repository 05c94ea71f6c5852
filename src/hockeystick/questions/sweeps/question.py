"""The question of a sweep at each point: epsilon at a delta, delta at an epsilon, or the value that meets a target."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from hockeystick.plan.plan import Plan
from hockeystick.questions.calibration import TOLERANCE
from hockeystick.questions.parameters import named
from hockeystick.questions.sweeps.grid import DELTA, Grid, Point
from hockeystick.questions.targets import Epsilon, Target
from hockeystick.values import domains
from hockeystick.values.domains import shown
from hockeystick.values.errors import InvalidInputError
from hockeystick.values.outward import shortest

Kind = Literal["epsilon", "delta", "target"]

FREE = "noise-multiplier"  # default of the calibrated parameter


@dataclass(frozen=True)
class Question:
    """Question at every point, the same except for delta, which may be an axis.

    Attributes:
        kind: ``"epsilon"`` (at a delta), ``"delta"`` (at an epsilon) or ``"target"`` (the value that meets one).
        delta: delta of every point, for ``"epsilon"`` and a target epsilon; ``None`` if it is an axis.
        epsilon: epsilon of ``"delta"``, or the target epsilon.
        target: target, unless it is epsilon at the delta of the point.
        free: calibrated parameter, if any.
        gap: widest relative width wanted of the intervals; the default of the engines if ``None``.
        tolerance: relative, on the value that is calibrated.
    """

    kind: Kind
    delta: float | None = None
    epsilon: float | None = None
    target: Target | None = None
    free: str | None = None
    gap: float | None = None
    tolerance: float = TOLERANCE

    def delta_at(self, grid: Grid, point: Point) -> float | None:
        """Return the delta at a point."""
        return point[grid.names.index(DELTA)] if DELTA in grid.names else self.delta

    def target_at(self, grid: Grid, point: Point) -> Target:
        """Return the target at a point, for a question with one."""
        if self.target is not None:
            return self.target
        delta = self.delta_at(grid, point)
        assert self.epsilon is not None  # otherwise the target is not epsilon
        assert delta is not None
        return Epsilon(self.epsilon, delta)

    def said(self) -> str:
        """Return the question in words.

        >>> Question("epsilon", delta=1e-5).said()
        'epsilon at delta = 1e-5'
        """
        at = "" if self.delta is None else f" at delta = {shortest(self.delta)}"
        epsilon = None if self.epsilon is None else shortest(self.epsilon)
        if self.kind == "epsilon":
            return f"epsilon{at}"
        if self.kind == "delta":
            return f"delta at epsilon = {epsilon}"
        if self.target is None:
            return f"{self.free} for epsilon = {epsilon}{at}"
        return f"{self.free} for " + ", ".join(
            f"{key} = {shortest(value)}" for key, value in self.target.described().items()
        )


def question_of(
    template: Plan,
    has_delta: bool,
    delta: float | None,
    epsilon: float | None,
    target: float | Target | None,
    parameter: str | None,
    gap: float | None,
    tolerance: float | None,
) -> Question:
    """Return the question that the arguments of a sweep describe.

    Args:
        template: plan, for its own delta.
        has_delta: True if delta is an axis of the grid.
        delta: delta of every point; the plan's own by default.
        epsilon: epsilon at which delta is wanted.
        target: epsilon at the delta of each point, or one of ``hockeystick.targets``.
        parameter: calibrated parameter, with a target.
        gap: widest relative width wanted.
        tolerance: relative tolerance of the calibrated parameter.

    Raises:
        InvalidInputError: there are two questions, delta is given twice or not at all, or a number is outside its
            domain.
    """
    gap = None if gap is None else domains.share(gap, "gap", "widest relative width wanted of the interval")
    if target is None and (parameter is not None or tolerance is not None):
        key = "parameter" if parameter is not None else "tolerance"
        raise InvalidInputError(f"{key} is of a calibration: give target, too, or leave {key} out", key)
    if target is not None and epsilon is not None:
        raise InvalidInputError("epsilon asks for delta at it, and target for a value: give one of them", "epsilon")
    if isinstance(target, Target):
        if has_delta or delta is not None:
            raise InvalidInputError(
                "target says itself at which delta, if at any; leave delta out, or give the target epsilon as a number",
                "delta",
            )
        return Question("target", target=target, **_free(parameter, tolerance), gap=gap)
    if epsilon is not None:
        if has_delta or delta is not None:
            raise InvalidInputError(
                "epsilon asks for delta at it: leave delta out, or give target in place of epsilon for what meets "
                "that epsilon",
                "delta",
            )
        return Question("delta", epsilon=domains.epsilon(epsilon, "epsilon", "at which delta is asked"), gap=gap)
    at = _delta(template, has_delta, delta)
    if target is None:
        return Question("epsilon", delta=at, gap=gap)
    try:
        wanted = domains.epsilon(target, "target", "the target epsilon")
    except InvalidInputError:
        raise InvalidInputError(
            "target must be an epsilon from 0 to 1e4, or one of hockeystick.targets, such as Advantage(0.1); "
            f"received {shown(target)}",
            "target",
        ) from None
    return Question("target", delta=at, epsilon=wanted, **_free(parameter, tolerance), gap=gap)


def _free(parameter: str | None, tolerance: float | None) -> dict[str, Any]:
    name = FREE if parameter is None else named(parameter).name
    return {
        "free": name,
        "tolerance": TOLERANCE if tolerance is None else domains.share(tolerance, "tolerance", "of what is calibrated"),
    }


def _delta(template: Plan, has_delta: bool, delta: float | None) -> float | None:
    if has_delta and delta is not None:
        raise InvalidInputError("delta is in the grid, too; leave one of them out", "delta")
    if has_delta:
        return None
    at = template.delta_target if delta is None else delta
    if at is None:
        raise InvalidInputError(
            "no delta: the plan has no default target; pass delta=, put delta into the grid, or set it in the plan",
            "delta",
        )
    return domains.delta(at)
