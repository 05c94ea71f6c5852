"""Guarantees of one round as a black box: (epsilon, delta) points on its privacy curve, rounded up.

A round is (epsilon, delta) in the direction of its pair (P, Q) if ``delta_(P||Q)(epsilon) <= delta``; *mutually* if the
same holds for (Q, P), with ``delta_(Q||P)(epsilon) = Q(L < -epsilon) - e^epsilon P(L < -epsilon)``. Theorems that
assume losses in [-epsilon, epsilon] (advanced and optimal composition) need the mutual guarantee: if losses are bounded
on one side only, the loss under P may equal epsilon with certainty.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from hockeystick.accountants.published import UpperBoundAccountant
from hockeystick.accountants.shared.privacy_curve import LOST, PrivacyCurve, outcome_roundings, times_exp, unseen_mass
from hockeystick.directions.directions import Directions, compositions
from hockeystick.directions.one_sided import log_delta_of
from hockeystick.numerics.arrays import Array
from hockeystick.numerics.meet import outward
from hockeystick.numerics.minima import least_place
from hockeystick.numerics.rounding import LARGEST, TINY, UNIT_ROUNDOFF, next_down, next_up
from hockeystick.pairs import DominatingPair
from hockeystick.pairs.base import rounding_of
from hockeystick.pairs.composition import RELATIVE
from hockeystick.values.adjacency import Direction
from hockeystick.values.errors import NotApplicableError
from hockeystick.values.exact import decimal

FLAT = 1e-8  # relative distance below the largest loss within which a threshold cannot be told from epsilon
REFINEMENTS, ROUGH, POINTS = 7, 3, 65  # of the search for epsilon: accurate to 64^-7 of its range, or roughly to 64^-3
TABLE = 2001  # number of epsilons in the table of a curve, from which delta is split between kinds of rounds
MANY = 64  # with more kinds than this, tables have fewer epsilons, and a search uses only tables, to limit the time
MOST_KINDS = 800  # largest number of kinds of one direction, each of which takes up to three milliseconds
EFFORT = 4.5  # time for a sampled kind (thirteen milliseconds), relative to the time for its moments
LEAST_TABLE = 129  # smallest number of epsilons of a table
LOG_PRICES = (-100.0, 720.0)  # range of the log of the price: cost per unit of delta
HALF = 0.5  # share of the slack in delta if the best share is not searched
LOG_ODDS = 14.0  # the log-odds of the slack's share of delta are searched between minus this and this
PRECISION = 1e-3  # of log delta at a given epsilon, and of these log-odds, whose square enters the bound
CARE = 64 * UNIT_ROUNDOFF  # relative, for dozens of roundings
MIN_SHARE = 1e-12  # smallest share of delta that a kind of rounds gets, unless its epsilon is its largest loss


@dataclass(frozen=True)
class RoundGuarantee:
    """Upper bound on the privacy curve of one round.

    >>> from hockeystick.pairs import GaussianPair
    >>> round(RoundGuarantee(GaussianPair(1.0), mutual=True).epsilon(1e-5), 4)
    4.3772
    """

    pair: DominatingPair
    mutual: bool

    @cached_property
    def edge(self) -> float:
        """A double that is at least the largest finite loss (if mutual, the largest absolute value of a loss)."""
        low, high = self.pair.loss_range
        exact = self.pair.exact_supremum
        if exact is None:
            top = high + self.pair.supremum_error if high < math.inf else math.inf
        else:
            top = float(exact)
            top = next_up(top) if decimal(top) < exact else top
        if not self.mutual:
            return max(top, 0.0)
        mirrored = top if low == -high else -low + rounding_of(low) if low > -math.inf else math.inf
        return max(top, mirrored, 0.0)

    @cached_property
    def least_delta(self) -> float:
        """Mass at infinite loss, below which no epsilon brings delta."""
        mass = self.pair.infinite_mass
        if self.mutual:
            mass = max(mass, unseen_mass(self.pair))
        return mass * (1 + RELATIVE) + 4 * TINY if mass else 0.0

    def delta(self, epsilon: Array) -> Array:
        """Return an upper bound on delta at each epsilon >= 0, which allows for roundings of losses and epsilons."""
        slack = 16 * UNIT_ROUNDOFF * epsilon + (self.pair.supremum_error if self.pair.loss_range[1] < math.inf else 0.0)
        at = epsilon - slack
        curve = PrivacyCurve(self.pair)
        delta = _rounded_up(curve.above(at), at, curve.outcome(at), self.pair.infinite_mass)
        if self.mutual:
            p, q = curve.below(-at)
            delta = np.maximum(delta, _rounded_up((q, p), at, curve.outcome(-at), 0.0))
        if self.edge < math.inf:  # the threshold of an almost constant loss may lie anywhere
            delta = delta + (epsilon > self.edge * (1 - FLAT)) * (64 * UNIT_ROUNDOFF * self.edge)
        inside: Array = np.minimum(delta + RELATIVE * self.least_delta + LOST, 1.0)
        return np.where(epsilon >= self.edge, self.least_delta, inside)

    def epsilon(self, delta: float, refinements: int = REFINEMENTS) -> float:
        """Return nearly the smallest epsilon at which delta is not exceeded; ``inf`` if there is none.

        Its relative excess over the smallest is about ``64^-refinements``.
        """
        if self.edge == 0.0 or float(self.delta(np.zeros(1))[0]) <= delta:
            return 0.0 if self.least_delta <= delta else math.inf
        high = self._reach(delta)
        if math.isinf(high):
            return high
        low = 0.0
        for _ in range(refinements):
            grid = np.linspace(low, high, POINTS)
            good = self.delta(grid) <= delta
            good[-1] = True
            first = int(np.argmax(good))
            low, high = float(grid[max(first - 1, 0)]), float(grid[first])
        return high

    def _reach(self, delta: float) -> float:
        """An epsilon valid for delta: at most about twice the smallest, or the edge; ``inf`` if there is none."""
        if delta < self.least_delta:
            return math.inf
        if delta <= LOST + (1 + RELATIVE) * self.least_delta:  # the curve is no lower before the edge
            return self.edge
        epsilon = min(1.0, self.edge)
        return outward(lambda at: float(self.delta(np.array([at]))[0]) <= delta, epsilon, epsilon, self.edge)

    def table(self, delta: float, points: int = TABLE) -> tuple[Array, Array]:
        """Return a table of epsilons and their deltas, each of shape (points,).

        The epsilons run from 0 to one whose delta is far below the given delta.
        """
        reach = self._reach(max(delta * MIN_SHARE, 2 * LOST, self.least_delta))
        if (reach, points) not in self._known_tables:  # in a search, many deltas have the same reach
            epsilon = np.linspace(0.0, reach, points)
            self._known_tables[reach, points] = epsilon, self.delta(epsilon)
        return self._known_tables[reach, points]

    @cached_property
    def _known_tables(self) -> dict[tuple[float, int], tuple[Array, Array]]:
        return {}


def _rounded_up(masses: tuple[Array, Array], epsilon: Array, x: Array, infinite: float) -> Array:
    """``p - e^epsilon q`` plus its rounding error, from the masses above a loss (``privacy_curve.py``).

    A loss slightly different from epsilon makes the result too small only by the square of the difference.
    """
    p, q = masses
    lifted = times_exp(q, epsilon)
    roundings = (32 + outcome_roundings(x) + np.abs(epsilon)) * UNIT_ROUNDOFF
    difference: Array = np.maximum(p + infinite - lifted, 0.0) + roundings * (p + infinite + lifted)
    return difference


Kinds = Sequence[tuple[RoundGuarantee, int]]


def guarantees(rounds: Sequence[tuple[DominatingPair, int]], mutual: bool) -> list[tuple[RoundGuarantee, int]]:
    """Return the guarantee of each round with a positive count, and that count."""
    return [(RoundGuarantee(pair, mutual), count) for pair, count in rounds if count]


def split(kinds: Kinds, budget: float, cost: Callable[[Array], Array]) -> list[float] | None:
    """Return deltas, one for each kind of round, with ``sum count * delta <= budget``; ``None`` if there are none.

    Any split gives a bound. This one keeps ``sum count * cost(epsilon)`` small: at a given price of delta, every kind
    takes the entry of its table with the smallest cost plus price times delta. The price is the lowest at which the
    deltas fit in the budget. What remains of the budget is shared in proportion to the deltas.
    """
    total = sum(count for _, count in kinds)
    spent = math.fsum(count * kind.least_delta for kind, count in kinds)
    if not spent <= budget * (1 - 4 * UNIT_ROUNDOFF) or budget <= 0:
        return [kind.least_delta for kind, _ in kinds] if spent == 0 and budget == 0 else None
    if len(kinds) == 1:
        return [next_down(budget / total, 4)]
    tabled, table = _tables(kinds, budget)
    costs = cost(tabled)

    def taken(log_price: float) -> list[float]:
        price = math.exp(min(log_price, LARGEST))
        chosen = np.argmin(costs + price * table, axis=1)
        return _entries(table, chosen)

    low, high = LOG_PRICES
    for _ in range(50):
        middle = 0.5 * (low + high)
        low, high = (low, middle) if _total(kinds, taken(middle)) <= budget else (middle, high)
    deltas = taken(high)
    used = _total(kinds, deltas)
    if not used <= budget:
        deltas, used = [kind.least_delta for kind, _ in kinds], spent
    factor = next_down(budget / used, 8) if used > 0 else 1.0
    return [max(delta * factor, kind.least_delta) for (kind, _), delta in zip(kinds, deltas, strict=True)]


class SplitAccountant(UpperBoundAccountant[Kinds]):
    """Accountant whose theorem composes mutual guarantees of the rounds, at the best split of delta found.

    Any split gives a bound. Delta is split in units of ``-log(1 - delta_i)``, in which independent failures of
    probability delta_i add up.
    """

    @abstractmethod
    def composed(self, kinds: Kinds, each: Sequence[float], slack: float) -> float:
        """Return epsilon of the composition from the epsilons of the rounds, at ``delta' = 1 - e^-slack``."""

    def searchable(self, kinds: Kinds) -> bool:
        """Return True if the theorem is cheap enough for a search of the best share of the slack."""
        return True

    def subjects(self, directions: Directions) -> list[tuple[Direction, Kinds]]:
        """Return the rounds of each direction with mutual guarantees, without folding Gaussians.

        Raises:
            NotApplicableError: there are too many kinds of rounds.
        """
        found: list[tuple[Direction, Kinds]] = []
        for direction, _ in compositions(directions, effort=EFFORT):
            rounds = directions.pairs(direction)
            if len(rounds) > MOST_KINDS:
                raise NotApplicableError(
                    f"{len(rounds)} different kinds of rounds take too long; at most {MOST_KINDS} are supported; use "
                    "accountant 'auto', which merges similar rounds, or 'basic'"
                )
            found.append((direction, guarantees(rounds, mutual=True)))
        return found

    def epsilon_above(self, rounds: Kinds, delta: float) -> float:
        """Return the bound at the best share of the slack in delta."""
        return self._epsilon(rounds, delta, self._best_share(rounds, delta), REFINEMENTS)

    def log_delta_above(self, rounds: Kinds, epsilon: float) -> float:
        """Return a log delta at which the bound on epsilon is small enough, at the best share of the slack found."""

        refinements = REFINEMENTS if len(rounds) <= MANY else ROUGH  # with many kinds, the search uses tables

        def least(share: float) -> float:
            return log_delta_of(lambda delta: self._epsilon(rounds, delta, share, refinements), epsilon, PRECISION)

        found = least(HALF)
        for _ in range(2):  # the best share moves with delta
            found = min(found, least(self._best_share(rounds, math.exp(found))))
        return found

    def _best_share(self, kinds: Kinds, delta: float) -> float:
        """Share of the slack in delta that gives nearly the smallest bound, by a search over its log-odds."""
        if not (kinds and 0 < delta < 1 and self.searchable(kinds)):
            return HALF

        def bound(log_odds: float) -> float:
            return min(self._epsilon(kinds, delta, 1 / (1 + math.exp(-log_odds)), ROUGH), 1e300)

        return 1 / (1 + math.exp(-least_place(bound, -LOG_ODDS, LOG_ODDS, xtol=PRECISION)))

    def _epsilon(self, kinds: Kinds, delta: float, share: float, refinements: int) -> float:
        """The smallest of three bounds: with this share of the slack, with no slack, and at the largest losses."""
        if not kinds:
            return 0.0
        if any(kind.least_delta >= 1 for kind, _ in kinds):
            return math.inf
        budget, best = -math.log1p(-delta) * (1 - CARE), math.inf
        spent = math.fsum(-count * math.log1p(-kind.least_delta) for kind, count in kinds) * (1 + CARE)
        if spent <= budget:
            edges = [kind.edge for kind, _ in kinds]
            best = min(self.composed(kinds, edges, 0.0), self.composed(kinds, edges, budget - spent))
        for slack in (0.0, share * budget) if budget > 0 else ():
            units = split(kinds, (budget - slack) * (1 - CARE), np.square if slack else np.abs)
            deltas = [-math.expm1(-unit) * (1 - CARE) for unit in units or ()]
            enough = all(delta >= kind.least_delta for delta, (kind, _) in zip(deltas, kinds, strict=False))
            if units is not None and enough:
                best = min(best, self.composed(kinds, epsilons(kinds, deltas, refinements), slack))
        return best


def _tables(kinds: Kinds, budget: float) -> tuple[Array, Array]:
    """Epsilons and deltas of all tables, each of shape (kinds, points)."""
    points = max(TABLE * MANY // max(len(kinds), MANY), LEAST_TABLE)
    tables = [kind.table(budget / count, points) for kind, count in kinds]
    return np.stack([epsilon for epsilon, _ in tables]), np.stack([delta for _, delta in tables])


def epsilons(kinds: Kinds, deltas: Sequence[float], refinements: int = REFINEMENTS) -> list[float]:
    """Return the epsilon of each kind of round at its delta; a rough search over many kinds reads it from tables."""
    if len(kinds) > MANY and refinements < REFINEMENTS:
        return _tabled(kinds, deltas)
    return [kind.epsilon(delta, refinements) for (kind, _), delta in zip(kinds, deltas, strict=True)]


def _tabled(kinds: Kinds, deltas: Sequence[float]) -> list[float]:
    """Smallest epsilon of each kind's table at which its delta is not exceeded."""
    tabled, table = _tables(kinds, _total(kinds, deltas))
    within = table <= np.array(deltas)[:, None]
    within[:, -1] = True
    return _entries(tabled, within.argmax(axis=1))


def _entries(table: Array, index: npt.NDArray[np.intp]) -> list[float]:
    """Entry of each row at its index."""
    found: list[float] = table[np.arange(len(table)), index].tolist()
    return found


def _total(kinds: Kinds, deltas: Sequence[float]) -> float:
    """Sum of the deltas over all rounds."""
    return math.fsum(count * delta for (_, count), delta in zip(kinds, deltas, strict=True))
