"""The least protection that meets a target: any one parameter of a plan, on the safe side.

With y the parameter (or its logarithm) counted towards safety, what is measured falls in y. A bracket is kept of which
one end *meets* the target, by the safe end of its certified interval, and the other does not; it is closed to the
tolerance (to neighbours, where the parameter is a whole number) by the secant method on the logarithm of what is
measured, which is nearly linear in that of the parameter. Where the target is a point of the privacy curve, Newton's
method on one contour (``directions/located.py``) says where the root is, and the first two values that are measured lie
on either side of it. Nothing is concluded from the search but where to look.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

from hockeystick.directions.located import located
from hockeystick.numerics.work import USED_UP, counted, left, part, spent
from hockeystick.plan.caveats import told
from hockeystick.plan.plan import Plan
from hockeystick.questions.parameters import Build, Parameter, named, of_plan
from hockeystick.questions.targets import Target
from hockeystick.values import domains
from hockeystick.values.bounds import Bound
from hockeystick.values.errors import InvalidInputError, UnreachableError
from hockeystick.values.outward import DOWN, UP, html_table, rounded

TOLERANCE = 1e-6  # relative, of a value that is no whole number
SPENT_TOLERANCE = 1e-3  # relative, where the work is used up: what is measured then is off by far more
NEAR = 0.05  # excess from which on the wanted gap is taken
LONGEST_STEP = math.log(1e3)  # of the logarithm of a parameter
UNTRIED_STEP = math.log(16.0)  # by a slope that was only guessed
MARGIN = 0.3  # of the tolerance, by which the safe end is put beyond the root
GUESSES = 12  # quick ones, before anything is measured
GUESSED = 1e-3  # excess at which they are good enough for a first measurement
LOCATED = 0.03  # excess at which they are near enough for Newton's method
CLOSE = 0.01  # of the tolerance: how near to the root that method ends
FAR_SIDE = 0.99  # of the tolerance, by which what does not meet the target is put beside what does
BEYOND = 1.05  # times the step to the root, while one side is missing
STALLED = 3  # steps without halving the bracket, after which it is halved
MOST = 200  # steps of the search, after which the bracket so far is the answer
SHARE = 0.3  # of the work that is left, which one measurement may take
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
        limited: why the two lie farther apart than the tolerance; ``None`` where they do not.
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

    def _repr_html_(self) -> str:
        """The calibration as notebooks show it: the value on its safe side, what it achieves, what just misses."""
        parameter = named(self.parameter)
        value = str(int(self.value)) if parameter.whole else rounded(self.value, ".7g", DOWN if parameter.costs else UP)
        target = ", ".join(f"{key} = {number:g}" for key, number in self.target.described().items())
        rows = [("target", target), ("achieved", str(self.achieved))]
        if self.beside is not None:
            rows.append(("just beside", f"{self.beside[0]:.8g} does not meet it"))
        if self.limited is not None:
            rows.append(("limited", self.limited))
        rows += [("assumes", text) for text in self.achieved.assumptions]
        rows += [("mind", text) for text in self.achieved.warnings]
        return html_table(f"{self.parameter} = {value}", rows)


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
    tolerance = domains.rate(tolerance, "tolerance", "relative, on the parameter")
    above, searched = None, target.searched
    if chosen.stair is not None:
        chosen, above = _between_stairs(chosen, chosen.stair, build, searched, gap)
    search = _Search(chosen, build, searched, tolerance, gap)
    met, missed = search.run()
    beside = above if missed is None else (missed.value, missed.bound)
    made = build(met.value)

    def told_of(value: float, bound: Bound, met: bool) -> Bound:
        found = bound if searched is target else target.found(build(value), gap, met)
        return told(found, made, target.at_delta)

    other = None if beside is None else (beside[0], told_of(*beside, met=False))
    achieved = told_of(met.value, met.bound, met=True)
    return Calibration(chosen.name, met.value, target, achieved, made, other, search.limited)


def _between_stairs(
    parameter: Parameter, stair: Callable[[float], float], build: Build, target: Target, gap: float | None
) -> tuple[Parameter, tuple[float, Bound] | None]:
    """The parameter from the stair on which its value lies to below the next, and that next one, which does not meet.

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
    try:
        met, missed = _Search(steps, lambda each: build(value(each)), target, TOLERANCE, gap).run()
    except UnreachableError:  # the search from the least value on says so, in terms of the parameter
        return replace(parameter, most=parameter.least, start=parameter.least), None
    least = value(met.value)
    if missed is None:
        return replace(parameter, least=least, start=least), None
    above = value(missed.value)
    below = above - 1 if parameter.whole else above * (1 - NEXT_STAIR)
    return replace(parameter, least=least, most=below, start=least), (above, missed.bound)


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


@dataclass(frozen=True, slots=True)
class _Sample:
    """A value that was measured: where it is towards safety, its interval, its excess."""

    value: float
    y: float
    bound: Bound
    excess: float
    met: bool


class _Search:
    """The bracket and how it is closed."""

    def __init__(self, parameter: Parameter, build: Build, target: Target, tolerance: float, gap: float | None) -> None:
        self._parameter, self._build, self._target, self._gap = parameter, build, target, gap
        self._shift = 0.5 if parameter.whole else 0.0  # whole numbers may be 0
        self._tolerance = tolerance
        self._met: _Sample | None = None
        self._not: _Sample | None = None
        self._last: list[_Sample] = []
        self._slope = -1.0  # of the excess, where nothing better is known
        self._near = False  # whether the first value is thought to be near the answer
        self._slow, self._width = 0, math.inf  # steps since the bracket had that width, and was halved
        self.limited: str | None = None  # why the bracket was left wider than the tolerance

    def run(self) -> tuple[_Sample, _Sample | None]:
        """What meets the target and what, just beside it, does not.

        Its states: *outward*, one side is missing and the search steps towards it, to the end of the range if need be;
        *closing*, both sides are there and the bracket is wider than the tolerance; *unsure*, it is closed, but the
        interval of the side that does not meet the target holds the target: a value at the far end of the tolerance is
        measured once, or a whole number again with all the work that is left; *closed*.

        Raises:
            UnreachableError: nothing does.
        """
        root = self._located()
        if root is None:
            self._measure(self._guessed(self._parameter.start, GUESSED))
        else:
            self._beside(root)
        sure = False
        for _ in range(MOST):
            if self._met is None or self._not is None:
                end = self._outwards()
                if end is not None:
                    return end, None
            elif not self._closed():
                self._measure(self._next())
            elif sure or self._target.missed(self._not.bound):
                break
            elif self._parameter.whole:
                sure = not self._asked_again()
            else:
                # so near to the root that the interval does not tell: the tolerance has room for one that does
                sure = True
                value = self._value(self._met.y - FAR_SIDE * self._tolerance)
                if value != self._not.value:
                    farther = self._measure(value)
                    self._not = self._not if farther.met else farther
        assert self._met is not None  # else the end of the range was reached, in far fewer steps
        return self._met, self._not

    def _located(self) -> float | None:
        """The y of the root by Newton's method (``directions/located.py``), where that finds one: a place to measure.

        For whole numbers it is between two of them.
        """
        point = self._target.point
        if point is None or self._build(self._parameter.start).whole:
            return None
        guess = self._guessed(self._parameter.start, LOCATED)
        return located(
            lambda y: self._build(self._nearest(y)).directions,
            lambda y: self._y(self._nearest(y)),
            self._y(guess),
            self._slope,
            point,
            CLOSE * self._tolerance,
        )

    def _beside(self, root: float) -> None:
        """Measure on both sides of a root that is thought to be right: the search goes on from what is found there."""
        self._near = True
        if self._parameter.whole:
            met = self._measure(self._value(root))
            value = met.value + (1 if self._parameter.costs else -1)
            value = min(max(value, self._parameter.least), self._parameter.most)
        else:
            start = self._parameter.start  # which may be the very value that the target was had from
            at_start = abs(root - self._y(start)) <= MARGIN * self._tolerance
            met = self._measure(start if at_start else self._value(root + MARGIN * self._tolerance))
            value = self._value(met.y - FAR_SIDE * self._tolerance)
        if met.met and value != met.value:
            self._measure(value)

    def _guessed(self, start: float, enough: float) -> float:
        """The value to look at first: the root of a quick guess at the excess, which also says how steep that is."""
        value, last = start, None
        # few rounds are what the guess is worst at: good enough for Newton's method, and not to be measured
        for _ in range(0 if self._parameter.whole and enough == GUESSED else GUESSES):
            excess = self._target.rough_excess(self._build(value))
            if excess is None or not math.isfinite(excess):
                return start
            y = self._y(value)
            if last is not None and y != last[0] and (excess - last[1]) / (y - last[0]) < 0:
                self._slope = (excess - last[1]) / (y - last[0])
            if abs(excess) < enough:
                self._near = enough == GUESSED
                return value
            last = y, excess
            step = -excess / self._slope
            following = self._value(y + min(max(step, -LONGEST_STEP), LONGEST_STEP))
            if following == value:
                return value
            value = following
        return value

    def _closed(self) -> bool:
        assert self._met is not None
        assert self._not is not None
        if self._parameter.whole:
            return abs(self._met.value - self._not.value) <= 1
        between = abs(self._met.value - self._not.value)
        if between <= self._tolerance * self._met.value or self._halved() in (self._met.value, self._not.value):
            return True
        if spent() and between <= SPENT_TOLERANCE * self._met.value:
            self.limited = USED_UP
        return self.limited is not None

    def _y(self, value: float) -> float:
        log = math.log(value + self._shift)
        return -log if self._parameter.costs else log

    def _nearest(self, y: float) -> float:
        """The value at a y; of whole numbers the nearest."""
        value = math.exp(min(-y if self._parameter.costs else y, 700.0)) - self._shift
        value = min(max(value, self._parameter.least), self._parameter.most)
        return float(round(value)) if self._parameter.whole else value

    def _value(self, y: float) -> float:
        """The value at a y; of whole numbers the next one on the safe side."""
        value = math.exp(min(-y if self._parameter.costs else y, 700.0)) - self._shift
        value = min(max(value, self._parameter.least), self._parameter.most)
        if not self._parameter.whole:
            return value
        return float(math.floor(value) if self._parameter.costs else math.ceil(value))

    def _measure(self, value: float) -> _Sample:
        if self._parameter.whole:
            value = float(round(value))
        plan, y = self._build(value), self._y(value)
        with part(SHARE):
            bound = self._bound(plan)
        sample = _Sample(value, y, bound, self._target.excess(bound), self._target.met(bound))
        # the truth is monotone: what is certified at the met end holds beyond it, whatever a wide interval says there
        if sample.met and (self._met is None or y < self._met.y):
            self._met = sample
            self._not = None if self._not is not None and self._not.y >= y else self._not
        elif not sample.met and (self._met is None or y < self._met.y) and (self._not is None or y > self._not.y):
            self._not = sample
        self._last = [*self._last[-1:], sample]
        return sample

    def _asked_again(self) -> bool:
        """Whether the whole number beside the answer meets the target after all, where its interval was short of work.

        It is then the new answer, and the search for the number beside it goes on.
        """
        beside = self._not
        assert beside is not None
        if beside.bound.reason is None or left() <= 0:
            return False
        bound = self._target.measure(self._build(beside.value), self._gap)
        if not self._target.met(bound):
            return False
        self._met, self._not = replace(beside, bound=bound, excess=self._target.excess(bound), met=True), None
        self._last = [self._met]
        return True

    def _bound(self, plan: Plan) -> Bound:
        """What is measured: roughly while that is far from the target, and as was asked near to it."""
        rough = self._target.rough_gap
        far = not (abs(self._last[-1].excess) < NEAR if self._last else self._near)
        if far and rough is not None and (self._gap is None or self._gap < rough):
            bound = self._target.measure(plan, rough)
            if not abs(self._target.excess(bound)) < NEAR:
                return bound
        return self._target.measure(plan, self._gap)

    def _outwards(self) -> _Sample | None:
        """Measure farther towards the side that is missing; the end of the range, if the target is met even there."""
        safer = self._met is None
        last = self._not if self._met is None else self._met
        assert last is not None
        end = self._parameter.safest if safer else self._parameter.dearest
        if last.value == end:
            if not safer:
                return last
            raise UnreachableError(self._unreachable(last))
        y = self._root()
        step = (y - last.y) if y is not None else min(abs(last.excess / self._slope), UNTRIED_STEP)
        step = abs(step) * BEYOND + 2 * self._tolerance if math.isfinite(step) else LONGEST_STEP
        if len(self._last) > 1 and self._last[0].met == last.met:
            step = max(step, 2 * abs(last.y - self._last[0].y))
        step = min(step, LONGEST_STEP)
        value = self._value(last.y + (step if safer else -step))
        if value == last.value:
            value = min(
                max(value + (1 if self._parameter.costs != safer else -1), self._parameter.least), self._parameter.most
            )
        self._measure(value)
        return None

    def _unreachable(self, nearest: _Sample) -> str:
        name, what = self._parameter.name, self._target.name
        return (
            f"no {name} meets {what} {self._target.limit!r}: the nearest that is reached, at {name} = "
            f"{nearest.value:.6g}, is {what} {self._target.safe_end(nearest.bound):.6g}"
        )

    def _root(self) -> float | None:
        """The place where the secant through the last two samples meets 0; None where there is none."""
        if len(self._last) < 2:
            return None
        one, two = self._last
        slope = (two.excess - one.excess) / (two.y - one.y) if two.y != one.y else 0.0
        if not (math.isfinite(slope) and slope < 0):
            return None
        return two.y - two.excess / slope

    def _next(self) -> float:
        """The value to look at next, strictly inside the bracket."""
        assert self._met is not None
        assert self._not is not None
        root = self._root()
        now = self._met.y - self._not.y
        self._slow = 0 if now <= 0.5 * self._width else self._slow + 1
        self._width = now if self._slow == 0 else self._width
        if self._slow > STALLED or root is None or not self._not.y < root < self._met.y:
            self._slow = 0
            return self._halved()
        if self._parameter.whole:
            value = self._value(root)
            inside = sorted((self._met.value, self._not.value))
            return min(max(value, inside[0] + 1), inside[1] - 1)
        tolerance = self._tolerance
        one, two = self._last
        if abs(root - two.y) * abs(root - one.y) > 0.1 * tolerance:
            aim = root
        elif self._met.y - root > 0.7 * tolerance:
            aim = root + MARGIN * tolerance
        else:
            aim = self._met.y - FAR_SIDE * tolerance
        value = self._value(aim)
        return value if self._not.y < self._y(value) < self._met.y else self._halved()

    def _halved(self) -> float:
        assert self._met is not None
        assert self._not is not None
        if self._parameter.whole:
            return float((int(self._met.value) + int(self._not.value)) // 2)
        return self._value(0.5 * (self._met.y + self._not.y))
