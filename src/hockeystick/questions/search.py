"""Search over one parameter of a plan for the least protective value that meets a target.

Let y be the logarithm of the parameter, with the sign that makes larger y safer; the measured quantity decreases in y.
One end of the bracket *meets* the target, by the safe end of its certified interval, and the other end does not. The
secant method shrinks the bracket to the tolerance, or to neighbours for a whole number. It is applied to the logarithm
of the measured quantity, which is nearly linear in the logarithm of the parameter. The search only proposes values;
measurements decide.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from hockeystick.numerics.budget import USED_UP, left, question, share
from hockeystick.questions.parameters import Build, Parameter
from hockeystick.questions.targets import Target
from hockeystick.values.bounds import Bound
from hockeystick.values.errors import UnreachableError
from hockeystick.values.outward import shortest, six_digits

SPENT_TOLERANCE = 1e-3  # relative tolerance once the work is used up; measurements are then far less exact
LONGEST_STEP = math.log(8.0)  # longest step in the logarithm of a parameter, while one end of the bracket is missing
MARGIN = 0.3  # distance of the next value from the root, on the safe side, relative to the tolerance
FAR_SIDE = 0.99  # distance, relative to the tolerance, from the end that meets to the value that is tried just to miss
STALLED = 3  # the bracket is bisected after more steps than these that do not halve it
SHARE = 0.3  # share of the remaining work that one measurement may use


@dataclass(frozen=True, slots=True)
class Sample:
    """Measurement: a parameter value, its y, its certified interval, its excess, and True if it meets the target."""

    value: float
    y: float
    bound: Bound
    excess: float
    met: bool


class Search:
    """Search for the value that meets a target: a bracket around it, and the method that shrinks the bracket.

    Args:
        parameter: searched parameter, with its range and first value.
        build: function from a value to the plan.
        target: target to meet.
        tolerance: relative tolerance of the parameter; whole numbers are exact.
        gap: requested relative width of the intervals; the accountant's default if ``None``.

    Attributes:
        limited: after :meth:`run`, the reason why the bracket is wider than the tolerance, or why its end that does not
            meet the target may meet it after all; ``None`` otherwise.
    """

    def __init__(self, parameter: Parameter, build: Build, target: Target, tolerance: float, gap: float | None) -> None:
        self._parameter, self._build, self._target, self._gap = parameter, build, target, gap
        self._shift = 0.5 if parameter.whole else 0.0  # whole numbers may be 0
        self._tolerance = tolerance
        self._met: Sample | None = None
        self._not: Sample | None = None
        self._last: list[Sample] = []
        self._slow, self._width = 0, math.inf  # steps since the bracket had this width and was halved
        self.limited: str | None = None

    def run(self) -> tuple[Sample, Sample | None]:
        """Return the value that meets the target and the adjacent value that does not.

        While only one end of the bracket exists, the search steps towards the missing end, at most to the end of the
        range. Then it shrinks the bracket to the tolerance.

        Raises:
            UnreachableError: no value meets the target.
        """
        with question():
            self._measure(self._parameter.start)  # may be exactly the value that gave the target
            while self._met is None or self._not is None or not self._closed(self._met, self._not):
                if self._met is not None and self._not is not None:
                    self._measure(self._next(self._met, self._not))
                elif self._met is not None and self._met.value == self._end(safer=False):
                    return self._met, None
                else:
                    self._outwards()
            if not self._target.missed(self._not.bound):
                self.limited = self.limited or self._not.bound.reason or (USED_UP if left() <= 0 else None)
            return self._met, self._not

    def _closed(self, met: Sample, missed: Sample) -> bool:
        between = abs(met.value - missed.value)
        if self._parameter.whole:
            return between <= 1
        if between <= self._tolerance * met.value or self._halved(met, missed) in (met.value, missed.value):
            return True
        if left() <= 0 and between <= SPENT_TOLERANCE * met.value:
            self.limited = USED_UP
        return self.limited is not None

    def _y(self, value: float) -> float:
        log = math.log(value + self._shift)
        return -log if self._parameter.costs else log

    def _value(self, y: float) -> float:
        """Return the parameter's value at y, cut off at the range; a whole number is rounded to the safe side."""
        value = self._inside(math.exp(min(-y if self._parameter.costs else y, 700.0)) - self._shift)
        if not self._parameter.whole:
            return value
        return float(math.floor(value) if self._parameter.costs else math.ceil(value))

    def _end(self, *, safer: bool) -> float:
        """Return the end of the parameter's range that protects most, or the one that costs most."""
        return self._parameter.least if self._parameter.costs == safer else self._parameter.most

    def _inside(self, value: float) -> float:
        return min(max(value, self._parameter.least), self._parameter.most)

    def _measure(self, value: float) -> None:
        if self._parameter.whole:
            value = float(round(value))
        plan, y = self._build(value), self._y(value)
        with share(SHARE):
            bound = self._target.measure(plan, self._gap)
        sample = Sample(value, y, bound, self._target.excess(bound), self._target.met(bound))
        # by monotonicity, the certified bound at the end that meets also holds beyond it, even where the interval
        # measured there is wide
        if sample.met and (self._met is None or y < self._met.y):
            self._met = sample
            self._not = None if self._not is not None and self._not.y >= y else self._not
        elif not sample.met and (self._met is None or y < self._met.y) and (self._not is None or y > self._not.y):
            self._not = sample
        self._last = [*self._last[-1:], sample]

    def _outwards(self) -> None:
        """Measure a value farther towards the missing end of the bracket, at least twice as far as the last step.

        Raises:
            UnreachableError: not even the end of the range meets the target.
        """
        safer, last = self._met is None, self._last[-1]
        if safer and last.value == self._end(safer=True):
            raise UnreachableError(self._unreachable(last))
        root = self._root()
        step = abs(last.excess if root is None else root - last.y) + 2 * self._tolerance
        if len(self._last) > 1:
            step = max(step, 2 * abs(last.y - self._last[0].y))
        step = min(step, LONGEST_STEP)
        value = self._value(last.y + (step if safer else -step))
        if value == last.value:
            value = self._inside(value + (1 if self._parameter.costs != safer else -1))
        self._measure(value)

    def _unreachable(self, nearest: Sample) -> str:
        name, what = self._parameter.name, self._target.name
        return (
            f"no {name} meets {what} {shortest(self._target.limit)}; the nearest attainable {what} is "
            f"{six_digits(self._target.safe_end(nearest.bound))}, at {name} = {six_digits(nearest.value)}"
        )

    def _root(self) -> float | None:
        """Return the zero of the line through the last two samples; None if the line gives none."""
        if len(self._last) < 2:
            return None
        one, two = self._last
        slope = (two.excess - one.excess) / (two.y - one.y) if two.y != one.y else 0.0
        if not (math.isfinite(slope) and slope < 0):
            return None
        return two.y - two.excess / slope

    def _next(self, met: Sample, missed: Sample) -> float:
        """Return the next value to measure, strictly between the ends of the bracket."""
        root = self._root()
        now = met.y - missed.y
        self._slow = 0 if now <= 0.5 * self._width else self._slow + 1
        self._width = now if self._slow == 0 else self._width
        if self._slow > STALLED or root is None or not missed.y < root < met.y:
            self._slow = 0
            return self._halved(met, missed)
        if self._parameter.whole:
            low, high = sorted((met.value, missed.value))
            return min(max(self._value(root), low + 1), high - 1)
        near = met.y - root <= 0.7 * self._tolerance
        value = self._value(met.y - FAR_SIDE * self._tolerance if near else root + MARGIN * self._tolerance)
        return value if missed.y < self._y(value) < met.y else self._halved(met, missed)

    def _halved(self, met: Sample, missed: Sample) -> float:
        if self._parameter.whole:
            return float((int(met.value) + int(missed.value)) // 2)
        return self._value(0.5 * (met.y + missed.y))
