"""Epsilon and delta of a growing history of sampled Gaussian rounds, from sums kept between questions.

The certificate is that of :mod:`hockeystick.directions.certified` for a plan: removing a record is computed, and a
bound on its moments proves that adding one costs no more. If that fails, or the interval is wider than wanted, there is
no answer here, and the plan must answer.

**Times.** The points of a contour suit the rounds for which they were made, and some more. The variance ``v = sum k q^2
(e^(mu^2) - 1)`` measures the rounds so far, and the best tilt is about proportional to one over its root. New points
are made each time that v has grown by GROWTH, for the rounds up to then, and the sums over all rounds are formed again:
n rounds are added to sums some ``n / (1 - 1 / GROWTH)`` times in all if v grows with n.

These times depend on the history alone, and so do the order of all sums and the start of each search: an answer is the
same to the last bit whatever was computed before, and wherever the history was saved and loaded in between.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections import OrderedDict
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from hockeystick.directions.certified import checked_gap, log_left
from hockeystick.directions.two_sided import delta_of
from hockeystick.engines.contour.bundle import SPARE, Bundle
from hockeystick.engines.contour.bundling import Bundled
from hockeystick.engines.contour.contour import Contour
from hockeystick.engines.contour.engine import (
    DEFAULT_GAP,
    SHARPNESS,
    aim_at,
    aim_of,
    first_path_of,
    seeing_guide,
    tolerance_of,
)
from hockeystick.engines.contour.kept import BLOCK, MOST, Each, KeptPath
from hockeystick.engines.contour.path import BlindError, Path
from hockeystick.engines.contour.stand_ins import stand_ins
from hockeystick.engines.core.rows import Rows
from hockeystick.engines.guide import Guide
from hockeystick.numerics.rounding import next_down, next_up
from hockeystick.numerics.work import one_call
from hockeystick.pairs.renyi import log_delta_at
from hockeystick.pairs.transform import Transform
from hockeystick.values.adjacency import Direction
from hockeystick.values.bounds import Bound, DeltaBound
from hockeystick.values.errors import NotApplicableError
from hockeystick.values.interval import Interval

Array = npt.NDArray[np.float64]

GROWTH = 1.2  # growth of the variance before new points are made: the best tilt has then decreased by a tenth
SHARPER = 0.02
"""Allowance of each remainder at the points, relative to the plan's: e^-4, since the bound to the right grows by that
factor against delta while the variance grows by GROWTH.
"""

ORDERS = (1.15, 1.8, 4.0)  # factors of the tilt for moments that prove that adding a record costs no more
AMONG = 2.0  # number of rounds among which remainders are divided, relative to those of the points
MAX_POINTS = 50_000  # points
PLACED = 0.3  # largest error of log delta in the guess for which points were made
KEPT = 8  # number of questions, by target and direction, whose sums are kept
DELTAS = (1e-100, 0.3)  # range in which the contour is the engine of choice
EPSILONS = (1e-6, 1e6)  # likewise, for the epsilons of delta


class Question(NamedTuple):
    """Question: epsilon at a log delta, given by its two rounded ends, or log delta at an epsilon; and the gap."""

    log_delta: tuple[float, float] | None
    epsilon: float
    gap: float


class Laid(NamedTuple):
    """Points made for a number of rounds, the tilt of the saddle point, and the approximate epsilon."""

    path: Path
    rounds: float
    tilt: float
    guess: float


class History:
    """Entries in the order of the run, each of successive equal rounds.

    Attributes:
        mu: one over the noise multipliers.
        rate: sampling rates.
        count: numbers of rounds.
    """

    def __init__(self) -> None:
        self.mu: list[float] = []
        self.rate: list[float] = []
        self.count: list[int] = []
        self._one: list[float] = []  # v of one round of each entry
        self._before: list[float] = []  # v of all entries before
        self._least: list[float] = []  # sum of log(1 - q) over all rounds before
        self._due: list[float] = []  # v at which new points are due

    def __len__(self) -> int:
        return len(self.mu)

    def put(self, at: int, mu: float, rate: float, count: int) -> None:
        """Add the entry of this index, or update the count of the last one."""
        if at < len(self):
            self.count[at] = count
            return
        self._before.append(self.variance if at else 0.0)
        self._least.append(self._until_now if at else 0.0)
        self._one.append(rate * rate * math.expm1(mu * mu))
        self.mu.append(mu)
        self.rate.append(rate)
        self.count.append(count)

    @property
    def variance(self) -> float:
        """Variance v of all entries."""
        return self._before[-1] + self.count[-1] * self._one[-1]

    @property
    def _until_now(self) -> float:
        return self._least[-1] + self.count[-1] * math.log1p(-self.rate[-1])

    @property
    def largest(self) -> float:
        """Upper bound on the loss of all rounds with a record added, ``-log(1 - q)`` each."""
        return -self._until_now * (1 + SPARE)

    @property
    def time(self) -> int:
        """Index of the last time at which new points were due."""
        if not self._due:
            self._due.append(self._one[0])
        reached = self.variance
        while self._due[-1] * GROWTH <= reached:
            self._due.append(self._due[-1] * GROWTH)
        return len(self._due) - 1

    def until(self, time: int, add: bool) -> Rows:
        """Return the rounds up to a time, with a record added or removed."""
        due = self._due[time]
        last = max(bisect_left(self._before, due) - 1, 0)
        mu, rate, count = (np.array(column[: last + 1]) for column in (self.mu, self.rate, self.count))
        count = count.astype(np.float64)
        count[last] = max(math.ceil((due - self._before[last]) / self._one[last]), 1)
        return Rows(mu, rate, count, np.log(rate), np.full(len(mu), add))


class Stepped:
    """Growing history of sampled Gaussian rounds, with a record removed, or with one removed or added.

    Args:
        directions: direction that removes a record and, if it counts, the one that adds one.

    >>> from hockeystick.values.adjacency import Adjacency
    >>> stepped = Stepped(Adjacency.ADD_OR_REMOVE.directions)
    >>> for number in range(100):
    ...     stepped.history.put(number, 1 / (1 + 0.01 * number), 0.01, 1)
    >>> print(stepped.epsilon(1e-6, None))
    0.571020 to 0.571021 (certified)
    """

    def __init__(self, directions: Sequence[Direction]) -> None:
        self.history, self.directions = History(), tuple(directions)
        self._kept: OrderedDict[tuple[Question, bool], _Sums] = OrderedDict()
        self._without: dict[tuple[Question, bool], int] = {}  # last time without points

    def epsilon(self, delta: float, gap: float | None) -> Bound | None:
        """Return epsilon at delta, of relative width at most the gap; ``None`` if the plan must answer."""
        gap = DEFAULT_GAP if gap is None else checked_gap(gap)
        if not DELTAS[0] <= delta <= DELTAS[1]:
            return None
        return self._answered(Question((log_left(delta, 0.0, next_down), log_left(delta, 0.0, next_up)), math.nan, gap))

    def delta(self, epsilon: float, gap: float | None) -> DeltaBound | None:
        """Return delta at epsilon, of relative width at most the gap; ``None`` if the plan must answer."""
        gap = DEFAULT_GAP if gap is None else checked_gap(gap)
        if not EPSILONS[0] <= epsilon <= EPSILONS[1]:
            return None
        found = self._answered(Question(None, epsilon, gap))
        return None if found is None else delta_of(found)

    def _answered(self, asked: Question) -> Bound | None:
        """Worse direction's interval; for adding a record, a proof that it costs no more suffices."""
        if len(self.history) > MOST:
            return None
        worst = self.directions[0]
        try:
            sums = self._sums(asked, add=False)
            found = sums.answer()
            if found is None:
                return None
            if len(self.directions) == 1 or sums.adding_is_milder(found):
                return Bound(*_ends(found), accountant="contour", direction=worst.value)
            other = self._sums(asked, add=True).answer()
        except NotApplicableError:  # the plan has other engines, and reports their reasons
            return None
        if other is None:
            return None
        worst = self.directions[other.upper > found.upper]
        lower, estimate, upper = (max(pair) for pair in zip(_ends(found), _ends(other), strict=True))
        return Bound(lower, estimate, upper, accountant="contour", direction=worst.value)

    def _sums(self, asked: Question, add: bool) -> _Sums:
        """Sums of the present time for a question in one direction, which are kept.

        Their existence must not depend on other work for an answer, so making them is a call of its own. A failure is
        remembered until the next time, since finding it may take as long as the plan.

        Raises:
            NotApplicableError: too many points are needed."""
        sums, time = self._kept.pop((asked, add), None), self.history.time
        if sums is None or sums.time != time:
            if self._without.get((asked, add)) == time:
                raise NotApplicableError("there are no points for these rounds")
            both = len(self.directions) > 1 and not add
            rows = self.history.until(time, add)
            try:
                with one_call(len(rows)):
                    points = laid(rows, asked)
            except NotApplicableError:
                if len(self._without) >= KEPT:
                    self._without.clear()
                self._without[asked, add] = time
                raise
            sums = _Sums(self.history, asked, points, time, add, both)
        self._kept[asked, add] = sums
        while len(self._kept) > KEPT:
            self._kept.popitem(last=False)
        return sums


def _ends(found: Interval) -> tuple[float, float, float]:
    return found.lower, found.estimate, found.upper


def laid(rows: Rows, asked: Question) -> Laid:
    """Return points for rounds of one direction.

    Raises:
        NotApplicableError: too many points are needed.
    """
    few, rounds = Bundle(stand_ins(rows)), float(rows.count.sum())
    steering = Bundled([], few, []).steering()
    transforms: list[tuple[Transform, int]] = [(few, 1)]
    gap = SHARPER * asked.gap
    if asked.log_delta is None:
        guide, tilt, depth = Guide.reaching(steering, asked.epsilon)
        aim = aim_at(guide, tilt, None, asked.epsilon)
        try:
            path = Path(transforms, aim, SHARPNESS * gap, MAX_POINTS)
        except BlindError:
            floor = min(depth, -50.0)
            seen = seeing_guide(steering, guide, floor, transforms, lambda deeper: deeper.saddle(asked.epsilon))
            aim = aim_at(*seen, asked.epsilon)
            path = Path(transforms, aim, SHARPNESS * gap, MAX_POINTS)
        return Laid(path, rounds, aim.saddle, asked.epsilon)
    target = asked.log_delta[0]
    first = first_path_of(steering, transforms, target, gap)
    root, slope = Contour(first.path, [1]).solve(target, first.guess)
    if not first.coarse and abs(root - first.guess) * slope < PLACED:
        return Laid(first.path, rounds, first.tilt, root)
    aim = aim_of(steering, transforms, target)
    aim = aim._replace(saddle=min(aim.guide.saddle(root), 0.99 * (aim.limit or math.inf)), epsilon=root)
    path = Path(transforms, aim, tolerance_of(SHARPNESS * gap, root, slope), MAX_POINTS)
    return Laid(path, rounds, aim.saddle, root)


class _Sums:
    """Sums over all rounds so far, in one direction, on the points made for a time.

    The last entry is kept apart: it may grow, and counts as often as it was run so far.

    Args:
        history: entries.
        asked: question.
        laid: points.
        time: time for which they were made.
        add: True if a record is added.
        both: True to keep bounds with a record added, too.
    """

    def __init__(self, history: History, asked: Question, laid: Laid, time: int, add: bool, both: bool) -> None:
        self.time = time
        self._history, self._asked, self._laid = history, asked, laid
        self._tilts = [order * laid.tilt for order in ORDERS] if both else []
        self._path = KeptPath(laid.path, AMONG * laid.rounds, add, self._tilts)
        self._added = 0
        self._last: tuple[int, Each] | None = None

    def answer(self) -> Interval | None:
        """Return the interval of epsilon, or of log delta; ``None`` if it is wider than the gap.

        Raises:
            NotApplicableError: only rounding is left on these points.
        """
        asked = self._asked
        contour = Contour(self._path.on(self._follow()), [1, self._history.count[-1]])
        if asked.log_delta is None:
            found = contour.log_delta(asked.epsilon)
            return found if found.upper - found.lower <= asked.gap else None
        root, slope = contour.solve(asked.log_delta[0], self._laid.guess)
        found = contour.certified(asked.log_delta, root, slope)
        return found if 0 < found.upper < math.inf and found.upper - found.lower <= asked.gap * found.upper else None

    def adding_is_milder(self, found: Interval) -> bool:
        """Return True if adding a record costs no more: at the lower end found, its delta is at most the target."""
        asked = self._asked
        at = (asked.epsilon, found.lower) if asked.log_delta is None else (found.lower, asked.log_delta[0])
        if not at[0] > 0:
            return False
        if self._history.largest <= at[0]:
            return True
        bounds = zip(self._tilts, self._path.moments(self._follow(), self._history.count[-1]), strict=True)
        return any(log_delta_at(bound, tilt, at[0]) <= at[1] for tilt, bound in bounds)

    def _follow(self) -> Each:
        """Add all entries except the last to the sums, and return one round of the last at the points."""
        history, path, end = self._history, self._path, len(self._history) - 1
        while self._added < end:
            if self._last is not None and self._last[0] == self._added:
                upto, each = self._added + 1, self._last[1]
            else:
                upto = min(self._added + BLOCK, end)
                each = path.each(*_columns(history, self._added, upto))
            path.add(each, np.array(history.count[self._added : upto], dtype=np.float64))
            self._added = upto
        if self._last is None or self._last[0] != end:
            self._last = end, path.each(*_columns(history, end, end + 1))
        return self._last[1]


def _columns(history: History, start: int, end: int) -> tuple[Array, Array]:
    return np.array(history.mu[start:end]), np.array(history.rate[start:end])
