"""Private selection: the plan is run a random number of times, and only the best output is released.

This covers hyperparameter tuning: each run draws its own hyperparameters, K runs are made, and the run with the best
score is kept. K is drawn in secret from a law that was fixed beforehand. Outputs are compared by any order, with ties
broken at random.

**The law of the release.** Let P and Q be the laws of one run (score included) on two neighbouring datasets, and p and
q their densities. Let ``u(y)`` and ``v(y)`` be the masses of P and Q on outputs better than y, and f the probability
generating function of K. The best of K runs has density ``p(y) f'(1 - u(y))`` against ``q(y) f'(1 - v(y))``, and ``f'
<= f'(1) = E K = m``. If K may be 0, the event that nothing is released has the same probability under both laws.

**Upper end.** Let ``T(u)`` be the largest Q-mass of a set of P-mass u; then ``v <= T(u)``, and

    p f'(1 - u) - e^e q f'(1 - v) <= w(u) (p - e^(e - s(u)) q),
    w(u) = f'(1 - u),   s(u) = log f'(1 - u) / f'(1 - T(u)),

as f' increases.

Divide the range of u into intervals (strata). On each of them, replace w by its largest value, at the left end, and T
by its largest value, at the right end: this gives one pair (w_i, s_i) for each stratum. Whatever the order of outputs
is, and whatever u is at y, the positive part of ``p f'(1 - u) - e^e q f'(1 - v)`` is at most

    p phi(e^e q / p),   phi(r) = max(0, max_i w_i (1 - e^(-s_i) r)),

a convex function of r with ``phi(0) = m``, which is a sum of hinges ``sum_j k_j (1 - r / r_j)_+`` with ``k_j >= 0`` and
``sum_j k_j = m``. Integrated,

    delta_best(e) <= sum_j k_j delta(e - log r_j).

This bound is sharper than ``m delta(e - max s)``, which is equivalent to the bound of Koskela, Redberg, Wang 2024
[KRW24]: phi is below the single hinge with the largest w and the largest s. Except for the width of the strata, it is
also never above the bounds of Papernot and Steinke 2022 [PS22], Theorems 2 and 6. These bound ``(w - w e^-s r)_+`` by
the power ``w e^(t s) r^-t t^t / (1 + t)^(1 + t)`` at one order t, and T by Renyi moments or by one point of its curve.

T is bounded by ``T(u) <= min_a (e^a u + delta'(a))`` over a grid of a, where delta' is the privacy curve of Q against
P, with ``delta'(-a) = 1 - e^-a (1 - delta(a))``. Finally, the hinges are moved to a grid of ``log r``. As delta is
convex in ``e^e``, a hinge may be split between the two grid places beside it so that its mean of ``1 / r`` is kept: the
sum can only grow.

**Pure runs.** Where ``p <= e^a q`` and ``q <= e^a p`` everywhere, ``v <= e^a u`` and ``v - u <= TV <= tanh(a / 2)``. So
the release of the best run has a pure epsilon. Under the negative binomial law it is ``(2 + eta) a`` (as in Papernot,
Steinke 2022 [PS22]), since ``(1 + c v) / (1 + c u) <= max(1, v / u)``. Under the Poisson law it is ``a + m tanh(a /
2)``.

The laws: *truncated negative binomial*, shape eta > -1, success probability g (the geometric law has eta = 1, the
logarithmic one eta = 0), ``f'(1 - u) = m (1 + (1 - g) u / g)^-(eta + 1)``; *Poisson*, ``f'(1 - u) = m e^(-m u)``.

**Lower end.** Take two disjoint sets of outputs: A, which is likelier under Q, and B, which is likelier under P, with
``P(A) <= u``, ``Q(A) = v``, ``P(B) >= tau``, ``Q(B) = phi``. Two tests of the trade-off function give such sets: one
test accepts B, and one at a higher level accepts all outputs outside A. The sets are disjoint because tests of
likelihood ratios are nested. Let the score rank A first and B second. The released output lies in B with probability at
least ``h(u, tau)`` under P, and with probability ``h(v, phi)`` under Q, where ``h(x, y) = f(1 - x) - f(1 - x - y)``
falls in x and rises in y. So no bound on delta can be below ``h(u, tau) - e^e h(v, phi)``. Where a single pair (w_i,
s_i) attains the maximum in phi, this equals the upper end. The tests are those of the certified trade-off function,
which exists for adjacencies with both orderings of the datasets; for other adjacencies there is no lower end.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from hockeystick.directions.two_sided import delta_of
from hockeystick.numerics.meet import upper_end
from hockeystick.numerics.roots import root
from hockeystick.numerics.rounding import LARGEST, UNIT_ROUNDOFF
from hockeystick.pairs.sides import WIDTH
from hockeystick.plan.caveats import told
from hockeystick.values import domains
from hockeystick.values.adjacency import Adjacency, Direction
from hockeystick.values.bounds import Bound, from_above
from hockeystick.values.domains import unmet
from hockeystick.values.errors import InvalidInputError

if TYPE_CHECKING:
    from hockeystick.plan.plan import Plan
    from hockeystick.plan.profile import Profile
    from hockeystick.values.bounds import Answer, DeltaAnswer

Array = npt.NDArray[np.float64]

Runs = Literal["geometric", "logarithmic", "negative-binomial", "poisson"]

RUNS: tuple[Runs, ...] = get_args(Runs)
"""The laws of the number of runs."""

LAWS = domains.Names(RUNS, "distribution of the number of runs")
"""Domain of the law."""

SHAPES = {"geometric": 1.0, "logarithmic": 0.0}
"""Shape eta of the truncated negative binomial laws with their own name."""

MEAN = domains.Domain("a number greater than 0 and at most 1e12", {"exclusiveMinimum": 0, "maximum": 1e12}).of(
    "expected number of runs"
)
"""Domain of the expected number of runs."""

SHAPE = domains.Domain("a number greater than -1 and at most 1e6", {"exclusiveMinimum": -1, "maximum": 1e6}).of(
    "shape of the distribution of the number of runs"
)
"""Domain of the shape of a truncated negative binomial law."""

SECRET = "the number of runs is drawn anew for each release and kept secret, and only the best run is released"  # noqa: S105
"""Assumption of every answer."""


@dataclass(frozen=True)
class BestOf:
    """The release of the best of a random number of runs.

    Args:
        runs: the law of the number of runs: ``"negative-binomial"``; its special cases ``"geometric"`` (shape 1) and
            ``"logarithmic"`` (shape 0); or ``"poisson"``, the only law under which the number may be 0.
        mean: the expected number of runs; above 1 except for ``"poisson"``.
        shape: shape of the law ``"negative-binomial"``, greater than -1.

    Raises:
        InvalidInputError: an unknown law, a mean or a shape outside its domain, or a shape for another law.

    >>> BestOf("geometric", 20).keys()
    {'runs': 'geometric', 'mean': 20.0}
    """

    runs: Annotated[Runs, LAWS]
    mean: Annotated[float, MEAN]
    shape: Annotated[float | None, SHAPE] = None

    def __post_init__(self) -> None:
        domains.check_fields(self)
        if (self.shape is None) == (self.runs == "negative-binomial"):
            raise InvalidInputError(
                "shape must be given with runs 'negative-binomial' and only with it; received runs "
                f"{self.runs!r} and shape {domains.shown(self.shape)}",
                "shape",
            )
        if self.runs != "poisson" and not self.mean > 1:
            raise unmet(
                "mean", f"must be greater than 1 with runs {self.runs!r}, which make at least one run", self.mean
            )
        self._odds  # noqa: B018  # refuses a mean that the law cannot have

    @property
    def eta(self) -> float | None:
        """The shape: 1 for ``"geometric"`` and 0 for ``"logarithmic"``; ``None`` for ``"poisson"``."""
        return SHAPES.get(self.runs) if self.shape is None else self.shape

    def keys(self) -> dict[str, Any]:
        """Return the keys of the table ``[selection]`` of a plan file."""
        keys = {"runs": self.runs, "mean": self.mean}
        return keys if self.shape is None else {**keys, "shape": self.shape}

    @cached_property
    def _odds(self) -> float:
        """``(1 - g) / g`` for the success probability g of a truncated law, to a few roundings; 0 for Poisson.

        The mean is ``eta (1 - g) / (g (1 - g^eta))``, and ``(1 - g) / (g log(1/g))`` at eta = 0.

        Raises:
            InvalidInputError: a mean that is barely above 1, or so far above it that g is not a normal double.
        """
        eta = self.eta
        if eta is None:
            return 0.0

        def excess(log: float) -> float:
            share = -log if abs(eta * log) < UNIT_ROUNDOFF else -math.expm1(eta * log) / eta
            return math.log(-math.expm1(log) * math.exp(-log) / share) - math.log(self.mean)

        least, most = -300.0 / max(1.0, -eta), -1e-9
        if not excess(least) > 0 > excess(most):
            raise unmet("mean", f"must be greater than 1 + 1e-9 and attainable with shape {eta!r}", self.mean)
        log = root(excess, least, most, xtol=1e-300)
        return -math.expm1(log) * math.exp(-log)

    def _log_weight(self, rates: Array) -> Array:
        """``log f'(1 - u)`` at each u, where f is the probability generating function of the number of runs."""
        if self.eta is None:
            return math.log(self.mean) - self.mean * rates
        return math.log(self.mean) - (1 + self.eta) * np.log1p(self._odds * rates)

    def _released(self, first: Array, then: Array) -> Array:
        """Return the probability that the best run lies in the second of two sets, from their masses in one run.

        Outputs in the first set rank highest, those in the second set come next, and all others rank below.
        """
        if self.eta is None:
            return -np.exp(-self.mean * first) * np.expm1(-self.mean * then)
        step, log = np.log1p(self._odds * then / (1 + self._odds * first)), math.log1p(self._odds)
        if self.eta == 0:
            return step / log
        return (1 + self._odds * first) ** -self.eta * np.expm1(-self.eta * step) / math.expm1(-self.eta * log)


def _relation(direction: Direction) -> Adjacency:
    """Return the adjacency whose curve is used for a direction.

    For ``zero-out`` there is no adjacency with a single ordering. Both its directions get ``zero-out`` itself, whose
    curve is the worse of the two.
    """
    return Adjacency.ZERO_OUT if direction.zeroes else Adjacency(direction.value)


SPARE = 1e-12
"""Relative charge for the roundings of a closed form, of which there are some tens."""

RATES = np.concatenate([[0.0], np.geomspace(1e-15, 1.0, 3000)])
"""The ends of the strata of u: within each, w and T are replaced by their largest values."""

LINES = np.concatenate([[0.0], np.geomspace(1e-5, 1.0, 72)])
"""Values of a, of either sign and relative to the epsilon at :data:`DEEP`, for the lines that bound T; any are
sound."""

DEEP = 1e-10
"""Delta of one run beyond whose epsilon there are no lines: where it matters, T is no smaller than that."""

PLACES = 64
"""Places of the grid of log r to which the hinges are moved."""

MARGIN = 1e-7
"""Relative accuracy of the root in epsilon."""

Line = tuple[float, float]
"""The logarithms of a and b of a line ``a - b r``."""

ZERO: Line = (-math.inf, -math.inf)
"""The line that is 0 everywhere."""

TESTS = np.geomspace(1e-14, 0.9, 90)
"""Levels phi of the tests tried for the lower end; any choice is sound."""

FIRST = 1 - (1 - np.concatenate([[0.0], np.geomspace(1e-7, 0.999, 60)]))
"""Masses v of the set A tried for the lower end; any v is sound for which 1 - v is a double."""

LEAST = 1e-300
"""Amount added to probabilities that are rounded up, and least weight of a hinge: both could otherwise be lost below
the range of a double."""

TARGET = domains.Domain(
    "0 or a number from 1e-100 to 1", {"minimum": 1e-100, "maximum": 1}, "the target delta", also=0.0
)
"""Domain of the target delta, which is divided by the expected number of runs."""

GAP = 1e-3
"""Target relative width of the error rates of the tests for the lower end."""

WHY = f"{WIDTH}: the upper end holds for any selection, the lower end for selections that rank two tests first"
"""Reason why the two ends of an answer about a selection differ."""

ONE_ORDERING = "there is no lower bound, because it would need both orderings of two neighbouring datasets"
"""Reason why an answer for one ordering of the datasets has no lower end."""


class Selection:
    """The release of the best of a random number of runs.

    Args:
        plan: the plan, with the law of the number of runs in ``best_of``; without ``best_of``, it describes one run.

    Raises:
        UnsupportedError: nothing is proven about some round in some direction.
    """

    def __init__(self, plan: Plan) -> None:
        assert plan.best_of is not None
        self.plan, self._runs = plan, plan.best_of
        self._one = replace(plan, best_of=None)
        self._profile = self._one.profile()

    @cached_property
    def _sides(self) -> list[Side]:
        """The upper bound on delta, as a function of epsilon, in each direction."""
        curves: dict[Adjacency, Profile] = {self.plan.adjacency: self._profile}
        sides = []
        for direction in self.plan.adjacency.directions:
            both = [_relation(direction), _relation(direction.reverse)]
            for relation in both:
                if relation not in curves:
                    curves[relation] = replace(self._one, adjacency=relation).profile()
            sides.append(Side.of(direction, self._runs, *(curves[relation] for relation in both)))
        return sides

    def epsilon(self, delta: float, gap: float | None = None) -> Answer:
        """Return the least epsilon at a delta, which is 0 or from 1e-100 to 1; ``gap`` is ignored.

        Raises:
            InvalidInputError: a delta outside its domain.
        """
        target = TARGET.check(delta, "delta")
        ends = [(min(side.epsilon(target), self._pure), side.direction) for side in self._sides]
        lower = max((self._epsilon_below(test, target) for test in self._tests), default=0.0)
        found = self._between(max(lower, 0.0), *max(ends, key=lambda end: end[0]))
        return told(found if self._tests else from_above(found), self.plan, target)

    def delta(self, epsilon: float, gap: float | None = None) -> DeltaAnswer:
        """Return the least delta at an epsilon."""
        ends = [
            (-math.inf if epsilon >= self._pure else side.log_delta(epsilon), side.direction) for side in self._sides
        ]
        lower = max((self._log_delta_below(test, epsilon) for test in self._tests), default=-math.inf)
        found = delta_of(self._between(lower, *max(ends, key=lambda end: end[0])))
        return told(found if self._tests else from_above(found), self.plan, found.upper)

    @cached_property
    def _pure(self) -> float:
        """Pure epsilon of the release, from the pure epsilon of one run in both orderings; may be infinite."""
        both = {
            _relation(each) for direction in self.plan.adjacency.directions for each in (direction, direction.reverse)
        }
        one = max(replace(self._one, adjacency=relation).epsilon(0.0).quoted for relation in both)
        if self._runs.eta is None:
            return (one + self._runs.mean * math.tanh(one / 2)) * (1 + SPARE)
        return (2 + self._runs.eta) * one * (1 + SPARE)

    @cached_property
    def _tests(self) -> list[tuple[Array, Array]]:
        """``h(u, tau)`` rounded down and ``h(v, phi)`` rounded up, for each ordering; empty if there is only one."""
        if self.plan.adjacency in (Adjacency.ADD, Adjacency.REMOVE):
            return []
        higher = 1 - FIRST[1:]
        levels = np.union1d(TESTS, higher)
        nested = 1 - FIRST[:, None] >= TESTS
        found = []
        for tests in self._profile.trade_offs(float(levels.min()), float(levels.max())).below:
            tpr, fnr = tests.rates(levels, GAP)
            first = np.concatenate([[0.0], fnr.upper[np.searchsorted(levels, higher)]])[:, None]
            tau = np.minimum(tpr.lower[np.searchsorted(levels, TESTS)], 1 - first)
            true = self._runs._released(first, tau) * (1 - SPARE)
            false = self._runs._released(FIRST[:, None], np.minimum(TESTS, 1 - FIRST[:, None])) * (1 + SPARE) + LEAST
            found.append((true[nested], false[nested]))
        return found

    def _epsilon_below(self, test: tuple[Array, Array], delta: float) -> float:
        true, false = test
        rest = true - delta
        return float(np.log(rest[rest > 0] / false[rest > 0]).max(initial=0.0)) - SPARE

    def _log_delta_below(self, test: tuple[Array, Array], epsilon: float) -> float:
        true, false = test
        rest = float((true - math.exp(min(epsilon, LARGEST)) * (1 + SPARE) * false).max())
        return math.log(rest) - SPARE if rest > 0 else -math.inf

    def _between(self, lower: float, upper: float, worst: Direction) -> Bound:
        lower = min(lower, upper)
        middle = 0.5 * (lower + upper) if math.isfinite(lower) and math.isfinite(upper) else upper
        why = WHY if self._tests else ONE_ORDERING
        return Bound(
            lower, middle, upper, accountant=f"selection, {self._runs.runs}", direction=worst.value, reason=why
        )


@dataclass(frozen=True)
class Side:
    """The upper bound ``delta_best(e) <= sum_j weights_j delta(e - shifts_j)`` in one direction.

    Attributes:
        direction: direction of the release.
        weights: shape (n,), k_j, with sum m.
        shifts: shape (n,), log r_j.
        forward: the curve of one run in that direction.
        backward: the curve with the two laws exchanged.
    """

    direction: Direction
    weights: Array
    shifts: Array
    forward: Profile
    backward: Profile

    @classmethod
    def of(cls, direction: Direction, runs: BestOf, forward: Profile, backward: Profile) -> Side:
        """Return the upper bound for a law of the number of runs, from the curves of one run."""
        largest = _largest(forward, backward)
        log_weight, log_least = runs._log_weight(RATES[:-1]), runs._log_weight(largest[1:])
        shifts = np.maximum(log_weight - log_least, 0.0) + SPARE * (1 + np.abs(log_weight) + np.abs(log_least))
        weights, breaks = _hinges(log_weight, shifts)
        return cls(direction, *_gathered(weights, breaks), forward, backward)

    def log_delta(self, epsilon: float) -> float:
        """Return the logarithm of the bound on delta, at most 0."""
        at = epsilon * (1 - SPARE) - self.shifts - SPARE * np.abs(self.shifts)
        logs, ahead = np.empty(len(at)), at >= 0
        if ahead.any():
            logs[ahead] = self.forward._curve.log_delta(at[ahead]).upper
        if not ahead.all():
            rest = np.exp(at[~ahead]) * (1 - self.backward._deltas(-at[~ahead]).upper) * (1 - SPARE)
            logs[~ahead] = np.log1p(-rest) + SPARE
        with np.errstate(divide="ignore"):  # a place without weight
            total = float(np.logaddexp.reduce(logs + np.log(self.weights)))
        return min(total + SPARE * (1 + abs(total)), 0.0) if total > -math.inf else total

    def epsilon(self, delta: float) -> float:
        """Return an epsilon at which the bound on delta is at most the given delta."""
        if not delta:
            return math.inf
        target = math.log(delta) - SPARE
        # beyond this epsilon each term is small enough, whatever the search finds
        far = self.forward.epsilon(math.exp(target) / float(self.weights.sum())).upper.item()
        far += max(float(self.shifts.max()), 0.0)
        return upper_end(self.log_delta, target, far, 1.0, MARGIN) if math.isfinite(far) else math.inf


def _largest(forward: Profile, backward: Profile) -> Array:
    """Return an upper bound on T (see the module docstring) at each of :data:`RATES`."""
    ends = [curve.epsilon(DEEP).upper.item() for curve in (backward, forward)]
    up, down = (LINES * (min(end, LARGEST) if math.isfinite(end) else -math.log(DEEP)) for end in ends)
    rise, fall = backward.delta(up).upper, forward.delta(down).upper
    intercepts = np.concatenate([rise, 1 - np.exp(-down) * (1 - fall)]) * (1 + SPARE)
    slopes = np.exp(np.concatenate([up, -down])) * (1 + SPARE)
    found: Array = np.minimum((slopes * RATES[:, None] + intercepts).min(axis=1), 1.0)
    return found.clip(RATES)


def _hinges(log_weights: Array, shifts: Array) -> tuple[Array, Array]:
    """Return the kinks of the upper envelope of 0 and of the lines ``w_i (1 - e^(-s_i) r)`` over r >= 0.

    At a kink the envelope changes from one line to the next. Each kink is given by the difference of the values of the
    two lines at r = 0 and by the logarithm of r at the kink. A line ``a - b r`` is held as ``(log a, log b)``, since b
    may be far below the range of a double.
    """
    scale = float(log_weights.max())
    heights = log_weights - scale
    lines = sorted(
        zip(heights.tolist(), (heights - shifts).tolist(), strict=True), key=lambda line: (-line[0], line[1])
    )
    hull: list[Line] = []
    for line in [*lines, ZERO]:
        if hull and line is not ZERO and line[1] >= hull[-1][1]:
            continue  # below an earlier one at every r
        while len(hull) > 1 and _crossing(hull[-1], line) <= _crossing(hull[-2], hull[-1]):
            hull.pop()
        hull.append(line)
    breaks = np.array([_crossing(one, two) for one, two in pairwise(hull)])
    falls = -np.diff(np.exp([log_height for log_height, _ in hull]))
    return np.maximum(falls * math.exp(scale), LEAST), breaks


def _crossing(one: Line, two: Line) -> float:
    """Return the logarithm of the r at which a line meets a later one, which is lower at 0 and less steep."""
    return one[0] + _log_less(two[0] - one[0]) - one[1] - _log_less(two[1] - one[1])


def _log_less(difference: float) -> float:
    """Return ``log(1 - e^difference)`` for a difference <= 0."""
    return math.log(-math.expm1(difference)) if difference < 0 else -math.inf


def _gathered(weights: Array, shifts: Array) -> tuple[Array, Array]:
    """Return the hinges on :data:`PLACES` places, each split between two neighbours so that its mean ``1/r`` is kept.

    All hinges of weight :data:`LEAST` are moved to the farthest of their places, which may lie far beyond the
    other places.
    """
    light = weights <= LEAST
    if light.any():
        kept, places = _gathered(weights[~light], shifts[~light])
        farthest = float(shifts[light].max())
        return np.append(kept, weights[light].sum()), np.append(places, farthest + SPARE * (1 + abs(farthest)))
    if len(weights) <= PLACES:
        return weights * (1 + SPARE), shifts + SPARE * (1 + np.abs(shifts))
    places = np.linspace(shifts.min(), shifts.max(), PLACES)
    right = np.clip(np.searchsorted(places, shifts), 1, PLACES - 1)
    far = np.expm1(places[right - 1] - places[right])  # each relative to the nearer place, less 1
    share = np.clip(1 - np.expm1(places[right - 1] - shifts) / far, 0.0, 1.0)  # of the nearer place
    moved: Array = np.bincount(right, weights * (1 - share + SPARE), PLACES).astype(np.float64)
    moved += np.bincount(right - 1, weights * share, PLACES)
    return moved * (1 + SPARE), places + SPARE * (1 + np.abs(places))
