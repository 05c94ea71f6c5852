"""Private selection: the plan is run a random number of times, and only the best of its outputs is released.

Hyperparameters are tuned so: each run draws its own, K runs are made, the one with the best score is kept. K is drawn
in secret from a law that was fixed before, and outputs are compared by any order, ties broken at random.

**The law of what is released.** Let P and Q be the laws of one run (score included) on two neighbouring datasets, p and
q their densities, ``u(y)`` and ``v(y)`` the masses that P and Q have above y, and f the probability generating function
of K. The best of K runs has density ``p(y) f'(1 - u(y))`` against ``q(y) f'(1 - v(y))``, and ``f' <= f'(1) = E K = m``.
Where K may be 0, nothing is released with the same probability under both.

**Upper end.** Let ``T(u)`` be the largest mass that Q can have where P has mass u; then ``v <= T(u)``, and

    p f'(1 - u) - e^e q f'(1 - v) <= w(u) (p - e^(e - s(u)) q),
    w(u) = f'(1 - u),   s(u) = log f'(1 - u) / f'(1 - T(u)),

as f' increases.

On a stratum of u let w be replaced by its largest value, at the left end, and T by its largest, at the right end: one
pair (w_i, s_i) a stratum. Whatever the order of outputs is, and whatever u is at y, the positive part is at most

    p phi(e^e q / p),   phi(r) = max(0, max_i w_i (1 - e^(-s_i) r)),

a convex function of r with ``phi(0) = m``, which is a sum of hinges ``sum_j k_j (1 - r / r_j)_+`` with ``k_j >= 0`` and
``sum_j k_j = m``. Integrated,

    delta_best(e) <= sum_j k_j delta(e - log r_j).

This is sharper than ``m delta(e - max s)``, the bound of Koskela, Redberg, Wang 2024 [KRW24] in other words, as phi is
below the one hinge that takes the largest w and the largest s. But for the width of the strata it is never above the
bounds of Papernot and Steinke 2022 [PS22], Theorems 2 and 6: these bound ``(w - w e^-s r)_+`` by the power ``w e^(t s)
r^-t t^t / (1 + t)^(1 + t)`` at one order t, and T by Renyi moments or by one point of its curve.

T is bounded by ``T(u) <= min_a (e^a u + delta'(a))`` over a grid of a, where delta' is the curve of Q against P, with
``delta'(-a) = 1 - e^-a (1 - delta(a))``. Hinges are moved to a grid of ``log r``: delta is convex in ``e^e``, and one
may be shared between the two places beside it so that its mean of ``1 / r`` is kept, and the sum only grows.

The laws: *truncated negative binomial*, shape eta > -1, success probability g (the geometric law has eta = 1, the
logarithmic one eta = 0), ``f'(1 - u) = m (1 + (1 - g) u / g)^-(eta + 1)``; *Poisson*, ``f'(1 - u) = m e^(-m u)``.

**Lower end.** Take two disjoint sets of outputs, A of which Q has more than P and B of which P has more than Q, with
``P(A) <= u``, ``Q(A) = v``, ``P(B) >= tau``, ``Q(B) = phi``: a test of the trade-off function accepts B, and one at a
higher level accepts all but A; tests of likelihood ratios are nested. Let the score put A first and B second. What
is released lies in B with probability at least ``h(u, tau)`` under P, and with ``h(v, phi)`` under Q, where ``h(x, y) =
f(1 - x) - f(1 - x - y)`` falls in x and rises in y. So no bound on delta can be below ``h(u, tau) - e^e h(v, phi)``.
Where one pair (w, s) decides the maximum above, this is what the upper end says. Tests are those of the certified
trade-off function, which exists for relations with both orderings; for others there is no lower end.
"""

from __future__ import annotations

import math
from dataclasses import replace
from functools import cached_property
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from hockeystick.directions.two_sided import delta_of
from hockeystick.numerics.work import USED_UP, one_call, part, short
from hockeystick.pairs.sides import WIDTH
from hockeystick.plan.best_of import BestOf, Runs
from hockeystick.plan.caveats import told
from hockeystick.plan.hinges import SPARE, Side
from hockeystick.plan.number_of_runs import Law, PoissonRuns, TruncatedRuns
from hockeystick.plan.plan import Plan
from hockeystick.values import domains
from hockeystick.values.adjacency import Adjacency, Direction
from hockeystick.values.bounds import Bound, DeltaBound, DeltaUpperBound, UpperBound
from hockeystick.values.errors import InvalidInputError

Array = npt.NDArray[np.float64]
Found = TypeVar("Found", bound=Bound | UpperBound)  # an answer, with or without a lower end

REVERSE = {
    Direction.REMOVE: Adjacency.ADD,
    Direction.ADD: Adjacency.REMOVE,
    Direction.REPLACE_ONE: Adjacency.REPLACE_ONE,
    Direction.ZERO_OUT: Adjacency.ZERO_OUT,
    Direction.RESTORE: Adjacency.ZERO_OUT,
}
"""The relation in which the two datasets of a direction are exchanged; of zero-out both orderings at once, as it has no
relation of one ordering: the worse of two curves is above either."""

OF = {direction: REVERSE[direction.reverse] for direction in REVERSE}
"""The relation of a direction."""

TESTS = np.geomspace(1e-14, 0.9, 90)
"""Levels phi of the tests that are tried for the lower end; any of them is sound."""

FIRST = 1 - (1 - np.concatenate([[0.0], np.geomspace(1e-7, 0.999, 60)]))
"""Masses v of what is put first, that are tried for the lower end; any of them is sound of which 1 - v is a double."""

LEAST = 1e-300
"""What is added to probabilities that are rounded up: below the range of a double they would be 0."""

TARGET = domains.Domain("a number from 1e-100 to 1", {"minimum": 1e-100, "maximum": 1}, "the target delta")
"""The deltas at which epsilon is asked: over an expected number of runs they are deltas of one run."""

GAP = 1e-3
"""Relative width wanted of the error rates of tests."""

ABOVE = 0.7
"""The share of the work of a call that the upper end may take; the tests of the lower end take what is left."""

LARGEST = 700.0
"""Epsilons whose exponential is formed; beyond, that of this one stands for it, which only lowers a lower end."""

WHY = f"{WIDTH}: above for whatever is tuned, below for orders that put two tests first"
"""Why there are two ends."""

ONE_ORDERING = "no lower end: it is found among tests, which need both orderings of two datasets"
"""Why there is no lower end."""


class Selection:
    """What the release of the best of a random number of runs of a plan costs.

    Args:
        plan: one run, with whatever else it releases, the score for one.
        runs: the law of the number of runs: ``"geometric"`` and ``"logarithmic"`` on 1, 2, ...;
            ``"negative-binomial"``, of which these are the shapes 1 and 0; or ``"poisson"``, under which there may be
            none.
        mean: the expected number of runs; above 1 but for ``"poisson"``.
        shape: of ``"negative-binomial"``, greater than -1.

    Raises:
        InvalidInputError: an unknown law, a mean or a shape outside its domain, or a shape of another law.
        UnsupportedError: a round of which nothing is proven in one of the directions.

    >>> from hockeystick import Gaussian, Plan, Round
    >>> one = Plan([Round(Gaussian(noise_multiplier=2.0))])
    >>> best = Selection(one, "geometric", 20)
    >>> print(f"{one.epsilon(1e-6):.2f} {best.epsilon(1e-6):.2f}")
    2.26 3.58
    """

    def __init__(self, plan: Plan, runs: Runs, mean: float, shape: float | None = None) -> None:
        self.plan = plan
        self._chosen = BestOf(runs, mean, shape)
        self.runs, self.mean, self.shape = runs, self._chosen.mean, self._chosen.eta
        self._law: Law = PoissonRuns(self.mean) if self.shape is None else TruncatedRuns.of(self.mean, self.shape)
        self._profile = plan.profile()

    @classmethod
    def of(cls, plan: Plan, chosen: BestOf) -> Selection:
        """The selection that a plan names in its table ``[selection]``.

        Raises:
            UnsupportedError: a round of which nothing is proven in one of the directions.
        """
        return cls(plan, chosen.runs, chosen.mean, chosen.shape)

    @cached_property
    def _sides(self) -> list[Side]:
        """The upper ends in each direction."""
        directions = self.plan.adjacency.directions
        wanted = {relation[each] for each in directions for relation in (OF, REVERSE)}
        curves = {
            each: self._profile if each is self.plan.adjacency else replace(self.plan, adjacency=each).profile()
            for each in wanted
        }
        return [
            Side.of(direction, self._law, curves[OF[direction]], curves[REVERSE[direction]]) for direction in directions
        ]

    def epsilon(self, delta: float | None = None) -> Bound | UpperBound:
        """The least epsilon at a delta, of the best run.

        Args:
            delta: from 1e-100 to 1; the plan's own by default.

        Raises:
            InvalidInputError: no delta anywhere, or a value outside its domain.
        """
        delta = self.plan.delta_target if delta is None else delta
        if delta is None:
            raise InvalidInputError("no delta: the plan has no default target; pass delta=", "delta")
        target = TARGET.check(delta, "delta")
        with one_call(len(self.plan.kinds)):
            with part(ABOVE):
                ends = [(side.epsilon(target), side.direction) for side in self._sides]
            upper, worst = max(ends, key=lambda end: end[0])
            return self._told(self._between(self._epsilon_below(target), upper, worst), target)

    def delta(self, epsilon: float) -> DeltaBound | DeltaUpperBound:
        """The least delta at an epsilon, of the best run.

        Raises:
            InvalidInputError: an epsilon outside its domain.
        """
        at = domains.epsilon(epsilon, "epsilon", "the target epsilon")
        with one_call(len(self.plan.kinds)):
            with part(ABOVE):
                ends = [(side.log_delta(at), side.direction) for side in self._sides]
            upper, worst = max(ends, key=lambda end: end[0])
            log = self._between(self._log_delta_below(at), upper, worst, least=-math.inf)
        if isinstance(log, Bound):
            found = delta_of(log)
            return self._told(found, found.upper)
        quoted = delta_of(Bound(-math.inf, log.upper, log.upper)).upper
        above = DeltaUpperBound(quoted, log.accountant, log.direction, reason=log.reason, log_delta=log)
        return self._told(above, quoted)

    def __repr__(self) -> str:
        shape = "" if self.runs != "negative-binomial" else f", shape={self.shape!r}"
        return f"Selection({self.plan!r}, runs={self.runs!r}, mean={self.mean!r}{shape})"

    @cached_property
    def _tests(self) -> list[tuple[Array, Array]]:
        """``h(u, tau)`` rounded down and ``h(v, phi)`` rounded up, in each ordering; none where there is one only."""
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
            true = self._law.released(first, tau) * (1 - SPARE)
            false = self._law.released(FIRST[:, None], np.minimum(TESTS, 1 - FIRST[:, None])) * (1 + SPARE) + LEAST
            found.append((true[nested], false[nested]))
        return found

    def _epsilon_below(self, delta: float) -> float | None:
        ends = []
        for true, false in self._tests:
            rest = true - delta
            ends.append(float(np.log(rest[rest > 0] / false[rest > 0]).max(initial=0.0)) - SPARE)
        return max(0.0, *ends) if ends else None

    def _log_delta_below(self, epsilon: float) -> float | None:
        ends = []
        for true, false in self._tests:
            rest = float((true - math.exp(min(epsilon, LARGEST)) * (1 + SPARE) * false).max())
            ends.append(math.log(rest) - SPARE if rest > 0 else -math.inf)
        return max(ends) if ends else None

    def _between(self, lower: float | None, upper: float, worst: Direction, least: float = 0.0) -> Bound | UpperBound:
        name = f"selection, {self.runs}"
        if lower is None:
            why = "; ".join((ONE_ORDERING, USED_UP)) if short() else ONE_ORDERING
            return UpperBound(upper, name, worst.value, reason=why)
        lower = max(min(lower, upper), least)
        why = "; ".join((WHY, USED_UP)) if short() else WHY
        middle = 0.5 * (lower + upper) if math.isfinite(lower) and math.isfinite(upper) else upper
        return Bound(lower, middle, upper, accountant=name, direction=worst.value, reason=why)

    def _told(self, found: Found, delta: float) -> Found:
        return told(found, replace(self.plan, best_of=self._chosen), delta)
