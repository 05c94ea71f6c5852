"""The least protection that meets a target, searched over one parameter of a plan.

With y the parameter (or its logarithm) counted towards safety, what is measured falls in y. A bracket is kept of which
one end *meets* the target, by the safe end of its certified interval, and the other does not; it is closed to the
tolerance (to neighbours, where the parameter is a whole number) by the secant method on the logarithm of what is
measured, which is nearly linear in that of the parameter. Where the target is a point of the privacy curve, Newton's
method on one contour (``directions/located.py``) says where the root is, and the first two values that are measured lie
on either side of it. Nothing is concluded from the search but where to look.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from hockeystick.directions.located import located
from hockeystick.numerics.work import USED_UP, left, part, short, spent
from hockeystick.plan.plan import Plan
from hockeystick.questions.parameters import Build, Parameter
from hockeystick.questions.targets import Target
from hockeystick.values.bounds import Bound
from hockeystick.values.errors import UnreachableError
from hockeystick.values.outward import shortest, six_digits

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


@dataclass(frozen=True, slots=True)
class Sample:
    """A value that was measured: where it is towards safety, its interval, its excess."""

    value: float
    y: float
    bound: Bound
    excess: float
    met: bool


class Search:
    """The bracket and how it is closed.

    Args:
        parameter: what is looked for, its range, and where to look first.
        build: the plan with a value of it.
        target: what is to be met.
        tolerance: relative, on the parameter; whole numbers are exact.
        gap: widest relative width wanted of the intervals; the accountant's default if ``None``.

    Attributes:
        limited: after :meth:`run`, why the bracket is wider than the tolerance, or why it is not known whether its
            other side misses the target; ``None`` where neither is so.
    """

    def __init__(self, parameter: Parameter, build: Build, target: Target, tolerance: float, gap: float | None) -> None:
        self._parameter, self._build, self._target, self._gap = parameter, build, target, gap
        self._shift = 0.5 if parameter.whole else 0.0  # whole numbers may be 0
        self._tolerance = tolerance
        self._met: Sample | None = None
        self._not: Sample | None = None
        self._last: list[Sample] = []
        self._slope = -1.0  # of the excess, where nothing better is known
        self._near = False  # whether the first value is thought to be near the answer
        self._slow, self._width = 0, math.inf  # steps since the bracket had that width, and was halved
        self.limited: str | None = None

    def run(self) -> tuple[Sample, Sample | None]:
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
        if self._not is not None and not self._target.missed(self._not.bound):
            self.limited = self.limited or self._not.bound.reason or (USED_UP if short() else None)
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

    def _measure(self, value: float) -> Sample:
        if self._parameter.whole:
            value = float(round(value))
        plan, y = self._build(value), self._y(value)
        with part(SHARE):
            bound = self._bound(plan)
        sample = Sample(value, y, bound, self._target.excess(bound), self._target.met(bound))
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

    def _outwards(self) -> Sample | None:
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

    def _unreachable(self, nearest: Sample) -> str:
        name, what = self._parameter.name, self._target.name
        return (
            f"no {name} meets {what} {shortest(self._target.limit)}: the nearest that is reached, at {name} = "
            f"{six_digits(nearest.value)}, is {what} {six_digits(self._target.safe_end(nearest.bound))}"
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
