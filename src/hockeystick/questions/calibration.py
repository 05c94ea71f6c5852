"""Calibration: the value of one parameter that just meets a target, on the safe side.

``questions/search.py`` does the search. For the batch size or rate of a plan with epochs there are two searches: the
first finds the number of steps of an epoch, the second finds the value among all values with that number of steps.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

from hockeystick.plan.caveats import told
from hockeystick.plan.plan import Plan
from hockeystick.questions.parameters import Build, Parameter, named, of_plan
from hockeystick.questions.search import Search
from hockeystick.questions.targets import Target
from hockeystick.values import domains
from hockeystick.values.bounds import Bound
from hockeystick.values.domains import unmet
from hockeystick.values.errors import UnreachableError
from hockeystick.values.outward import html_table, rounded

TOLERANCE = 1e-6  # relative tolerance of a value that is not a whole number
NEXT_STAIR = 2.0**-40
"""Relative distance below a stair at which an epoch surely has more steps than at it; a double rounds far less."""


@dataclass(frozen=True, slots=True)
class Calibration:
    """Result of a calibration.

    Attributes:
        free: the calibrated parameter.
        value: least protective value that meets the target: exact for a whole number, else within the tolerance.
        target: target of the calibration.
        achieved: certified interval of the plan with that value.
        plan: plan with that value.
        beside: nearest tried value that does not meet the target, with its interval; ``None`` if the end of the
            parameter's range meets the target. In a plan with epochs, batch sizes or rates beyond ``beside`` may meet
            the target again, since an epoch then has fewer steps.
        limited: reason why ``value`` and ``beside`` are farther apart than the tolerance, or why ``beside`` may meet
            the target (its interval contains the target); ``None`` otherwise. If there is a reason, ``value`` still
            meets the target, but may not be the best.
    """

    free: Parameter
    value: float
    target: Target
    achieved: Bound
    plan: Plan
    beside: tuple[float, Bound] | None
    limited: str | None = None

    @property
    def parameter(self) -> str:
        """Name of the parameter."""
        return self.free.name

    def __float__(self) -> float:
        return self.value

    def __str__(self) -> str:
        """Return the value on its safe side, the target, and the achieved interval."""
        return f"{self.parameter} = {self._safe}, for {self.target.said()}: achieved {self.achieved}"

    def __format__(self, spec: str) -> str:
        """Round the value to its safe side: ``f"{found:.3f}"`` meets the target.

        >>> from hockeystick import dp_sgd
        >>> from hockeystick.targets import Epsilon
        >>> found = calibrate(dp_sgd(1.0, 0.01, 10_000), "noise-multiplier", Epsilon(1.0, delta=1e-6))
        >>> f"{found:.3f}", f"{found.value:.3f}"
        ('4.303', '4.302')
        """
        return rounded(self.value, spec, self.free.rounding) if spec else str(self)

    @property
    def _safe(self) -> str:
        return str(int(self.value)) if self.free.whole else f"{self:.7g}"

    def _repr_html_(self) -> str:
        """Return the calibration as notebooks show it: safe value, achieved interval, and nearest value that misses."""
        rows = [("target", self.target.said()), ("achieved", str(self.achieved))]
        if self.beside is not None:
            rows.append(("just beside", beside_said(self)))
        if self.limited is not None:
            rows.append(("limited", self.limited))
        rows += [("assumes", text) for text in self.achieved.assumptions]
        rows += [("warning", text) for text in self.achieved.warnings]
        return html_table(f"{self.parameter} = {self._safe}", rows)


def beside_said(found: Calibration) -> str:
    """Return a sentence about ``beside``: this value misses the target, or may meet it; ``beside`` must exist."""
    assert found.beside is not None
    value, bound = found.beside
    return f"{value:.8g} {'does not meet it' if found.target.missed(bound) else 'could not be shown to meet it'}"


def calibrate(
    plan: Plan | Callable[[float], Plan],
    parameter: str | Parameter,
    target: Target,
    *,
    tolerance: float = TOLERANCE,
    gap: float | None = None,
) -> Calibration:
    """Return the value of one parameter with which a plan just meets a target, certified on the safe side.

    Args:
        plan: plan whose parameter is changed, or a function from the parameter's value to a plan.
        parameter: ``"noise-multiplier"``, ``"scale"``, ``"noise"`` (a common factor on all noise), ``"epsilon"`` (of
            black boxes), ``"sample-rate"``, ``"batch-size"``, ``"check-in"``, ``"steps"`` or ``"epochs"``. If ``plan``
            is a function, any of these or your own :class:`~hockeystick.questions.parameters.Parameter`.
        target: one of ``hockeystick.targets``.
        tolerance: relative tolerance of the parameter; whole numbers are exact.
        gap: requested relative width of the intervals; the accountant's default if ``None``.

    Returns:
        The value, its achieved interval, and the adjacent value that does not meet the target.

    Raises:
        UnreachableError: no value of the parameter meets the target; the message names the nearest attainable result.
        InvalidInputError: the parameter is unknown or missing from the plan, or a value is outside its domain.

    >>> from hockeystick import dp_sgd
    >>> from hockeystick.targets import Epsilon
    >>> plan = dp_sgd(noise_multiplier=1.0, sample_rate=0.01, steps=10_000)
    >>> found = calibrate(plan, "noise-multiplier", Epsilon(1.0, delta=1e-6))
    >>> print(f"{found.value:.4f}: {found.achieved}")
    4.3021: 0.999999 to 1.00000 (certified)
    """
    chosen, build = _of(plan, parameter)
    if not isinstance(target, Target):
        raise unmet("target", "must be one of hockeystick.targets, such as Epsilon(3.0, delta=1e-5)", target)
    # the range of the search begins at its first value, which may be the answer
    chosen = replace(chosen, start=min(max(chosen.start, chosen.least), chosen.most))
    tolerance = domains.share(tolerance, "tolerance", "relative tolerance on the parameter")
    above, unsure = None, None
    if chosen.stair is not None:
        chosen, above, unsure = _between_stairs(chosen, chosen.stair, build, target, gap)
    search = Search(chosen, build, target, tolerance, gap)
    met, missed = search.run()
    beside = above if missed is None else (missed.value, missed.bound)
    made = build(met.value)

    other = None if beside is None else (beside[0], told(beside[1], made, target.at_delta))
    achieved = told(met.bound, made, target.at_delta)
    return Calibration(chosen, met.value, target, achieved, made, other, search.limited or unsure)


def _between_stairs(
    parameter: Parameter, stair: Callable[[float], float], build: Build, target: Target, gap: float | None
) -> tuple[Parameter, tuple[float, Bound] | None, str | None]:
    """Narrow a parameter's range to the values with one number of steps per epoch.

    A larger batch (or rate) costs more, but an epoch then has fewer steps. So the privacy loss is a sawtooth in the
    value: it is monotone only between two *stairs*, where the number of steps is constant. The stair of a number of
    steps is the smallest value at which an epoch has at most that many steps. This search finds the fewest steps whose
    stair meets the target. The caller then searches between that stair and the next.

    Returns:
        The parameter with the narrowed range; the next stair with its interval, if that stair misses the target; and
        the reason, if any, why the next stair may still meet it (see ``Calibration.limited``).
    """

    def value(steps: float) -> float:
        return max(stair(steps), parameter.least)

    def steps_at(value: float) -> int:
        return math.ceil(stair(1) / value)

    fewest, most = steps_at(parameter.most), steps_at(parameter.least)
    # from the middle, not from the plan's value: without monotonicity the answer could depend on it
    middle = math.ceil(math.sqrt(fewest * most))
    steps = Parameter("steps per epoch", costs=False, least=fewest, most=most, whole=True, start=middle)
    search = Search(steps, lambda each: build(value(each)), target, TOLERANCE, gap)
    try:
        met, missed = search.run()
    except UnreachableError:  # the search from the smallest value names the parameter
        return replace(parameter, most=parameter.least, start=parameter.least), None, None
    least = value(met.value)
    if missed is None:
        return replace(parameter, least=least, start=least), None, None
    above = value(missed.value)
    below = above - 1 if parameter.whole else above * (1 - NEXT_STAIR)
    return replace(parameter, least=least, most=below, start=least), (above, missed.bound), search.limited


def _of(plan: Plan | Callable[[float], Plan], parameter: str | Parameter) -> tuple[Parameter, Build]:
    if not isinstance(parameter, str | Parameter):
        raise unmet("parameter", "must be a name, such as 'noise-multiplier', or a Parameter", parameter)
    if isinstance(plan, Plan):
        return of_plan(plan, parameter if isinstance(parameter, str) else parameter.name)
    if not callable(plan):
        raise unmet("plan", "must be a Plan, or a function from the parameter's value to one", plan)
    return (named(parameter) if isinstance(parameter, str) else parameter), plan
