"""Guarantees of one round as a black box: (epsilon, delta) points on its privacy curve, rounded up.

A round has the guarantee (epsilon, delta) in the direction of its pair (P, Q) if ``delta_(P||Q)(epsilon) <= delta``.
The guarantee is *mutual* if also ``delta_(Q||P)(epsilon) <= delta``, where
``delta_(Q||P)(epsilon) = Q(L < -epsilon) - e^epsilon P(L < -epsilon)``. Theorems that assume losses in [-epsilon,
epsilon] (advanced and optimal composition) need the mutual guarantee: if losses are only known to be at most epsilon,
the loss under P may equal epsilon with certainty.
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
PRECISION = 1e-3  # error of log delta at a given epsilon, and of these log-odds, whose error enters the bound squared
CARE = 64 * UNIT_ROUNDOFF  # relative margin for dozens of roundings
MIN_SHARE = 1e-12  # smallest share of delta that a kind of rounds gets, unless its epsilon is its largest loss


@dataclass(frozen=True)
class RoundGuarantee:
    """Upper bound on the privacy curve of one round; if ``mutual``, on the larger of the curves in both directions.

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
        """Mass at infinite loss (if mutual, the larger one of both directions); no epsilon has a smaller delta."""
        mass = self.pair.infinite_mass
        if self.mutual:
            mass = max(mass, unseen_mass(self.pair))
        return mass * (1 + RELATIVE) + 4 * TINY if mass else 0.0

    def delta(self, epsilon: Array) -> Array:
        """Return an upper bound on delta at each epsilon >= 0, valid in spite of rounding errors."""
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
        """Return nearly the smallest epsilon at which the bound on delta is at most ``delta``.

        The result exceeds the smallest epsilon by a relative amount of about ``64^-refinements``; it is ``inf`` if
        there is none.
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
        """An epsilon at which the bound on delta is at most ``delta``; ``inf`` if there is none.

        It is at most about twice the smallest such epsilon, or else :attr:`edge`.
        """
        if delta < self.least_delta:
            return math.inf
        if delta <= LOST + (1 + RELATIVE) * self.least_delta:  # the curve is no lower before the edge
            return self.edge
        epsilon = min(1.0, self.edge)
        return outward(lambda at: float(self.delta(np.array([at]))[0]) <= delta, epsilon, epsilon, self.edge)

    def table(self, delta: float, points: int = TABLE) -> tuple[Array, Array]:
        """Return ``points`` epsilons and the bounds on delta there, each of shape (points,).

        The epsilons run from 0 to one at which the bound is far below the given delta.
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
    """``p - e^epsilon q`` plus a bound on its rounding error.

    Here p and q are the masses under P and Q of losses above a threshold, and ``infinite`` is added to p. The threshold
    need not be epsilon exactly: the result changes only by the square of the difference.
    """
    p, q = masses
    lifted = times_exp(q, epsilon)
    roundings = (32 + outcome_roundings(x) + np.abs(epsilon)) * UNIT_ROUNDOFF
    difference: Array = np.maximum(p + infinite - lifted, 0.0) + roundings * (p + infinite + lifted)
    return difference


Kinds = Sequence[tuple[RoundGuarantee, int]]


def guarantees(rounds: Sequence[tuple[DominatingPair, int]], mutual: bool) -> list[tuple[RoundGuarantee, int]]:
    """Return the guarantee of each round with a positive count, together with the count."""
    return [(RoundGuarantee(pair, mutual), count) for pair, count in rounds if count]


def split(kinds: Kinds, budget: float, cost: Callable[[Array], Array]) -> list[float] | None:
    """Return one delta for each kind of round, with ``sum count * delta <= budget``.

    Any such deltas give a bound. These ones keep ``sum count * cost(epsilon)`` small. For a given price per unit of
    delta, every kind takes from its table the epsilon and delta with the smallest ``cost(epsilon) + price * delta``.
    The price is the lowest at which these deltas fit in the budget. The rest of the budget is shared in proportion to
    the deltas. The result is ``None`` if the budget is too small.
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
    """Accountant that composes mutual guarantees of the rounds, with delta split among the rounds and a slack.

    The slack is the part of delta that the composition theorem itself uses. Any split gives a bound; the best one found
    is taken. Delta is split in units of ``-log(1 - delta_i)``, which add up for independent failures of probability
    delta_i.
    """

    @abstractmethod
    def composed(self, kinds: Kinds, each: Sequence[float], slack: float) -> float:
        """Return epsilon of the composition at ``delta' = 1 - e^-slack``, from the epsilon of each kind of round."""

    def searchable(self, kinds: Kinds) -> bool:
        """Return True if the theorem is cheap enough for a search of the best part of delta to use as slack."""
        return True

    def subjects(self, directions: Directions) -> list[tuple[Direction, Kinds]]:
        """Return the mutual guarantees of each direction's rounds; Gaussian rounds are not merged.

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
        """Return the bound on epsilon, with the best part of delta as slack."""
        return self._epsilon(rounds, delta, self._best_share(rounds, delta), REFINEMENTS)

    def log_delta_above(self, rounds: Kinds, epsilon: float) -> float:
        """Return the log of a delta at which the bound on epsilon is at most ``epsilon``.

        The best part of delta found is used as slack.
        """

        refinements = REFINEMENTS if len(rounds) <= MANY else ROUGH  # with many kinds, the search uses tables

        def least(share: float) -> float:
            return log_delta_of(lambda delta: self._epsilon(rounds, delta, share, refinements), epsilon, PRECISION)

        found = least(HALF)
        for _ in range(2):  # the best share moves with delta
            found = min(found, least(self._best_share(rounds, math.exp(found))))
        return found

    def _best_share(self, kinds: Kinds, delta: float) -> float:
        """Fraction of delta to use as slack, nearly the best; it is searched on the scale of its log-odds."""
        if not (kinds and 0 < delta < 1 and self.searchable(kinds)):
            return HALF

        def bound(log_odds: float) -> float:
            return min(self._epsilon(kinds, delta, 1 / (1 + math.exp(-log_odds)), ROUGH), 1e300)

        return 1 / (1 + math.exp(-least_place(bound, -LOG_ODDS, LOG_ODDS, xtol=PRECISION)))

    def _epsilon(self, kinds: Kinds, delta: float, share: float, refinements: int) -> float:
        """The smallest of three bounds on epsilon.

        They are: with this share of delta as slack; without slack; and with each round at its largest loss.
        """
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
    """Epsilons and deltas of the tables of all kinds of rounds, each of shape (kinds, points)."""
    points = max(TABLE * MANY // max(len(kinds), MANY), LEAST_TABLE)
    tables = [kind.table(budget / count, points) for kind, count in kinds]
    return np.stack([epsilon for epsilon, _ in tables]), np.stack([delta for _, delta in tables])


def epsilons(kinds: Kinds, deltas: Sequence[float], refinements: int = REFINEMENTS) -> list[float]:
    """Return the epsilon of each kind of round at its delta.

    If there are many kinds and the search is rough, epsilons are read from tables.
    """
    if len(kinds) > MANY and refinements < REFINEMENTS:
        return _tabled(kinds, deltas)
    return [kind.epsilon(delta, refinements) for (kind, _), delta in zip(kinds, deltas, strict=True)]


def _tabled(kinds: Kinds, deltas: Sequence[float]) -> list[float]:
    """For each kind of round, the smallest epsilon in its table whose delta is at most the given one."""
    tabled, table = _tables(kinds, _total(kinds, deltas))
    within = table <= np.array(deltas)[:, None]
    within[:, -1] = True
    return _entries(tabled, within.argmax(axis=1))


def _entries(table: Array, index: npt.NDArray[np.intp]) -> list[float]:
    """For each row of the table, the entry at the index given for the row."""
    found: list[float] = table[np.arange(len(table)), index].tolist()
    return found


def _total(kinds: Kinds, deltas: Sequence[float]) -> float:
    """Sum of the deltas over all rounds."""
    return math.fsum(count * delta for (_, count), delta in zip(kinds, deltas, strict=True))
