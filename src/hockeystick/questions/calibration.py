"""The least protection that meets a target: any one parameter of a plan, on the safe side.

The search is that of ``questions/search.py``. A batch size, or a rate, of a plan that says epochs is searched twice:
for the steps of an epoch, and then between the two values where these change.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

from hockeystick.numerics.work import counted
from hockeystick.plan.caveats import told
from hockeystick.plan.plan import Plan
from hockeystick.questions.parameters import PARAMETERS, Build, Parameter, named, of_plan
from hockeystick.questions.search import Search
from hockeystick.questions.targets import Target
from hockeystick.values import domains
from hockeystick.values.bounds import Bound
from hockeystick.values.errors import InvalidInputError, UnreachableError
from hockeystick.values.outward import DOWN, UP, html_table, rounded, shortest

TOLERANCE = 1e-6  # relative, of a value that is no whole number
NEXT_STAIR = 2.0**-40
"""Relative distance below a stair, far above a double's rounding, at which the steps are surely those below it."""


@dataclass(frozen=True, slots=True)
class Calibration:
    """What was found.

    Attributes:
        parameter: its name.
        value: the value that meets the target; the least that protects enough, within the tolerance, or for a whole
            number exactly (its neighbour does not).
        target: what was asked.
        achieved: certified interval of what the plan with that value has.
        plan: that plan.
        beside: the nearest value looked at that does not meet the target, with its interval; ``None`` where the target
            is met at the end of the parameter's range. For batch sizes and rates of a plan that says epochs, still
            larger values may meet it: fewer steps an epoch can outweigh them.
        limited: why the two lie farther apart than the tolerance, or why it is not known whether the one beside misses
            the target (its interval holds it); ``None`` where neither is so. Either way the value meets the target, and
            may not be the least that does.
    """

    parameter: str
    value: float
    target: Target
    achieved: Bound
    plan: Plan
    beside: tuple[float, Bound] | None
    limited: str | None = None

    def __float__(self) -> float:
        return self.value

    def __str__(self) -> str:
        """The value on its safe side, the target, and what is achieved."""
        return f"{self.parameter} = {self._safe}, for {self._aimed}: achieved {self.achieved}"

    def __format__(self, spec: str) -> str:
        """The value rounded to its safe side: ``f"{found:.3f}"`` is one that meets the target.

        >>> from hockeystick import dp_sgd
        >>> from hockeystick.targets import Epsilon
        >>> found = calibrate(dp_sgd(1.0, 0.01, 10_000), "noise-multiplier", Epsilon(1.0, delta=1e-6))
        >>> f"{found:.3f}", f"{found.value:.3f}"
        ('4.303', '4.302')
        """
        if not spec:
            return str(self)
        if self._rounding is None:
            raise InvalidInputError(f"which side of {self.parameter!r} is safe is not known: take .value", "format")
        return rounded(self.value, spec, self._rounding)

    @property
    def _rounding(self) -> str | None:
        """The way to the safe side; ``None`` for a parameter of one's own that meets its target at the range's end."""
        if self.parameter in PARAMETERS:
            return DOWN if PARAMETERS[self.parameter].costs else UP
        if self.beside is None:
            return None
        return DOWN if self.beside[0] > self.value else UP

    @property
    def _safe(self) -> str:
        whole = self.parameter in PARAMETERS and PARAMETERS[self.parameter].whole
        return str(int(self.value)) if whole else repr(self.value) if self._rounding is None else f"{self:.7g}"

    @property
    def _aimed(self) -> str:
        return ", ".join(f"{key} = {shortest(number)}" for key, number in self.target.described().items())

    def _repr_html_(self) -> str:
        """The calibration as notebooks show it: the value on its safe side, what it achieves, what just misses."""
        value, target = self._safe, self._aimed
        rows = [("target", target), ("achieved", str(self.achieved))]
        if self.beside is not None:
            rows.append(("just beside", beside_said(self)))
        if self.limited is not None:
            rows.append(("limited", self.limited))
        rows += [("assumes", text) for text in self.achieved.assumptions]
        rows += [("mind", text) for text in self.achieved.warnings]
        return html_table(f"{self.parameter} = {value}", rows)


def beside_said(found: Calibration) -> str:
    """What is said of the value beside a calibrated one: that it does not meet the target, or may, as far as is known.

    The calibration must have one.
    """
    assert found.beside is not None
    value, bound = found.beside
    # a target that is searched by another one is missed as that one tells, unless it is said that nothing does
    missed = found.target.missed(bound) or (found.target.searched is not found.target and found.limited is None)
    return f"{value:.8g} {'does not meet it' if missed else 'is not shown to meet it'}"


@counted
def calibrate(
    plan: Plan | Callable[[float], Plan],
    parameter: str | Parameter,
    target: Target,
    *,
    tolerance: float = TOLERANCE,
    start: float | None = None,
    gap: float | None = None,
) -> Calibration:
    """The value of one parameter with which a plan just meets a target, certified on the safe side.

    Args:
        plan: a plan, of which the parameter is changed; or a function from its value to a plan.
        parameter: ``"noise-multiplier"``, ``"scale"``, ``"noise"`` (a common factor on all noise), ``"epsilon"`` (of
            black boxes), ``"sample-rate"``, ``"batch-size"``, ``"check-in"``, ``"steps"``, ``"epochs"``; with a
            function, any of these or a :class:`~hockeystick.questions.parameters.Parameter` of one's own.
        target: one of ``hockeystick.targets``.
        tolerance: relative, on the parameter; whole numbers are exact.
        start: where to look first; the plan's own value by default. Beyond the range of the parameter its end counts.
        gap: widest relative width wanted of the intervals; the accountant's default if ``None``.

    Returns:
        The value, what it achieves, and the value just beside it that does not meet the target.

    Raises:
        UnreachableError: no value of the parameter meets the target; it says what comes nearest.
        InvalidInputError: an unknown parameter, one that the plan does not have, or a value outside its domain.

    >>> from hockeystick import dp_sgd
    >>> from hockeystick.targets import Epsilon
    >>> plan = dp_sgd(noise_multiplier=1.0, sample_rate=0.01, steps=10_000)
    >>> found = calibrate(plan, "noise-multiplier", Epsilon(1.0, delta=1e-6))
    >>> print(f"{found.value:.4f}: {found.achieved}")
    4.3021: 0.999999 to 1.00000 (certified)
    """
    chosen, build = _of(plan, parameter)
    if not isinstance(target, Target):
        raise InvalidInputError(
            "target must be one of hockeystick.targets, such as Epsilon(3.0, delta=1e-5); received "
            f"{domains.shown(target)}",
            "target",
        )
    if start is not None:
        chosen = replace(chosen, start=domains.POSITIVE.of("where to look first").check(start, "start"))
    # the search keeps within the range from its first value on, which may itself be the answer
    chosen = replace(chosen, start=min(max(chosen.start, chosen.least), chosen.most))
    tolerance = domains.share(tolerance, "tolerance", "relative, on the parameter")
    above, searched, unsure = None, target.searched, None
    if chosen.stair is not None:
        chosen, above, unsure = _between_stairs(chosen, chosen.stair, build, searched, gap)
    search = Search(chosen, build, searched, tolerance, gap)
    met, missed = search.run()
    beside = above if missed is None else (missed.value, missed.bound)
    made = build(met.value)

    def told_of(value: float, bound: Bound, met: bool) -> Bound:
        found = bound if searched is target else searched.found(build(value), gap, met)
        return told(found, made, target.at_delta)

    other = None if beside is None else (beside[0], told_of(*beside, met=False))
    achieved = told_of(met.value, met.bound, met=True)
    return Calibration(chosen.name, met.value, target, achieved, made, other, search.limited or unsure)


def _between_stairs(
    parameter: Parameter, stair: Callable[[float], float], build: Build, target: Target, gap: float | None
) -> tuple[Parameter, tuple[float, Bound] | None, str | None]:
    """The parameter from the stair on which its value lies to below the next, and that next one, which does not meet.

    The last of the three says why the next one may meet the target all the same, as ``Calibration.limited`` does.

    A larger batch (or rate) costs more, and takes fewer steps an epoch: privacy over all values rises like a saw, and
    only between two stairs, where the steps stay, is it monotone. So the fewest steps of an epoch are found first whose
    stair, the least value with as few, meets the target; the value itself is looked for from there to the next stair.
    """

    def value(steps: float) -> float:
        return max(stair(steps), parameter.least)

    def steps_at(value: float) -> int:
        return math.ceil(stair(1) / value)

    fewest, most = steps_at(parameter.most), steps_at(parameter.least)
    # from the middle, and not from where the plan is: the answer must not depend on it, although nothing is monotone
    middle = math.ceil(math.sqrt(fewest * most))
    steps = Parameter("steps of an epoch", costs=False, least=fewest, most=most, whole=True, start=middle)
    search = Search(steps, lambda each: build(value(each)), target, TOLERANCE, gap)
    try:
        met, missed = search.run()
    except UnreachableError:  # the search from the least value on says so, in terms of the parameter
        return replace(parameter, most=parameter.least, start=parameter.least), None, None
    least = value(met.value)
    if missed is None:
        return replace(parameter, least=least, start=least), None, None
    above = value(missed.value)
    below = above - 1 if parameter.whole else above * (1 - NEXT_STAIR)
    return replace(parameter, least=least, most=below, start=least), (above, missed.bound), search.limited


def _of(plan: Plan | Callable[[float], Plan], parameter: str | Parameter) -> tuple[Parameter, Build]:
    if not isinstance(parameter, str | Parameter):
        raise InvalidInputError(
            "parameter must be a name, such as 'noise-multiplier', or a Parameter; received "
            f"{domains.shown(parameter)}",
            "parameter",
        )
    if isinstance(plan, Plan):
        return of_plan(plan, parameter if isinstance(parameter, str) else parameter.name)
    if not callable(plan):
        raise InvalidInputError(
            f"plan must be a Plan, or a function from the parameter's value to one; received {domains.shown(plan)}",
            "plan",
        )
    return (named(parameter) if isinstance(parameter, str) else parameter), plan
