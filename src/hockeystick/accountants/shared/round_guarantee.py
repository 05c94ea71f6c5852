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
from operator import mul

import numpy as np

from hockeystick.accountants.published import UpperBoundAccountant, check_kinds
from hockeystick.accountants.shared.lattice import CARE
from hockeystick.accountants.shared.privacy_curve import LOST, PrivacyCurve, outcome_roundings, times_exp, unseen_mass
from hockeystick.directions.directions import Directions, compositions
from hockeystick.numerics.arrays import Array
from hockeystick.numerics.meet import upper_end
from hockeystick.numerics.rounding import TINY, UNIT_ROUNDOFF, next_up
from hockeystick.pairs import DominatingPair
from hockeystick.pairs.base import rounding_of
from hockeystick.pairs.composition import RELATIVE
from hockeystick.values.adjacency import Direction
from hockeystick.values.exact import decimal

FLAT = 1e-8  # relative distance below the largest loss within which delta gets an extra charge
EFFORT = 4.5  # time for a sampled kind (thirteen milliseconds), relative to the time for its moments


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
        """Upper bound on the largest finite loss (if mutual, on the largest absolute value of a loss)."""
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
        """Least delta at any epsilon: the mass at infinite loss (if mutual, the larger mass of the two directions)."""
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
        if self.edge < math.inf:  # charge: for an almost constant loss, the threshold may be far from epsilon
            delta = delta + (epsilon > self.edge * (1 - FLAT)) * (64 * UNIT_ROUNDOFF * self.edge)
        inside: Array = np.minimum(delta + RELATIVE * self.least_delta + LOST, 1.0)
        return np.where(epsilon >= self.edge, self.least_delta, inside)

    def epsilon(self, delta: float) -> float:
        """Return nearly the smallest epsilon at which the bound on delta is at most ``delta``; ``inf`` if none."""
        if delta < self.least_delta:
            return math.inf
        if delta <= LOST + (1 + RELATIVE) * self.least_delta:  # below the edge, the bound on delta is larger
            return self.edge

        def log_delta(epsilon: float) -> float:
            return math.log(max(float(self.delta(np.array([epsilon]))[0]), LOST))

        return upper_end(log_delta, math.log(delta), min(1.0, self.edge), 1.0, RELATIVE, self.edge)


def _rounded_up(masses: tuple[Array, Array], epsilon: Array, x: Array, infinite: float) -> Array:
    """``p - e^epsilon q`` plus a bound on its rounding error.

    Here p and q are the masses under P and Q of losses above a threshold, and ``infinite`` is added to p. The threshold
    may differ slightly from epsilon, since this changes the result only by the square of the difference.
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


def split(kinds: Kinds, least: Sequence[float], budget: float, weights: Sequence[float]) -> list[float] | None:
    """Divide a budget among the rounds: return a share for each kind, with ``sum count * share <= budget``.

    Any division gives a valid bound. A round gets its least share, and a part of the rest of the budget in proportion
    to its weight. The result is ``None`` if the budget is too small, or if all weights are 0 or one is infinite.
    """
    counts = [count for _, count in kinds]
    rest = budget * (1 - CARE) - math.fsum(map(mul, counts, least))
    total = math.fsum(map(mul, counts, weights))
    if rest < 0 or not 0 < total < math.inf:
        return None
    return [own + rest * (weight / total) for own, weight in zip(least, weights, strict=True)]


def divided(
    kinds: Kinds, least: Sequence[float], budget: float, cost: Callable[[float], float], delta: Callable[[float], float]
) -> list[list[float]]:
    """Return lists with an epsilon for each kind of round, one list for each of at most two divisions of a budget.

    The first division gives equal parts. In the second, the part of a round is in proportion to the cost that its
    epsilon has in the first. This nearly minimises the sum of all costs if the losses have Gaussian tails.

    Args:
        kinds: kinds of rounds.
        least: least share of each kind.
        budget: largest sum of the shares of all rounds.
        cost: function that returns the term of an epsilon in the composed epsilon.
        delta: function that returns the delta of a share.
    """
    found: list[list[float]] = []
    weights = [1.0] * len(kinds)
    for _ in range(min(len(kinds), 2)):
        shares = split(kinds, least, budget, weights)
        if shares is None:
            break
        found.append([kind.epsilon(delta(share)) for (kind, _), share in zip(kinds, shares, strict=True)])
        weights = list(map(cost, found[-1]))
    return found


class SplitAccountant(UpperBoundAccountant[Kinds]):
    """Accountant that composes mutual guarantees of the rounds, with delta split among the rounds and a slack.

    The slack is the part of delta that the composition theorem itself uses. Any split gives a bound; the best of a few
    is taken. Delta is split in units of ``-log(1 - delta_i)``, which add up for independent failures of probability
    delta_i.
    """

    @abstractmethod
    def composed(self, kinds: Kinds, each: Sequence[float], slack: float) -> float:
        """Return an upper bound on epsilon at ``delta' = 1 - e^-slack``, from the finite epsilons of all kinds."""

    def subjects(self, directions: Directions) -> list[tuple[Direction, Kinds]]:
        """Return the mutual guarantees of each direction's rounds; Gaussian rounds are not merged.

        Raises:
            NotApplicableError: there are too many kinds of rounds.
        """
        found: list[tuple[Direction, Kinds]] = []
        for direction, _ in compositions(directions, effort=EFFORT):
            rounds = directions.pairs(direction)
            check_kinds(len(rounds), self.name)
            found.append((direction, guarantees(rounds, mutual=True)))
        return found

    def epsilon_above(self, rounds: Kinds, delta: float) -> float:
        """Return the smallest bound on epsilon among splits with half of delta, none of it, or all of it as slack.

        If all of delta is slack, the epsilon of each round is its largest loss.
        """
        if not rounds:
            return 0.0
        if any(kind.least_delta >= 1 for kind, _ in rounds):
            return math.inf
        least = [-math.log1p(-kind.least_delta) * (1 + CARE) for kind, _ in rounds]
        budget = -math.log1p(-delta) * (1 - CARE)
        left = budget - math.fsum(count * unit for unit, (_, count) in zip(least, rounds, strict=True))
        if left < 0:
            return math.inf
        edges = [kind.edge for kind, _ in rounds]
        tried = [(edges, 0.0), (edges, left)]
        for slack, cost in ((0.0, abs), (left / 2, square)):
            found = divided(rounds, least, budget - slack, cost, lambda unit: -math.expm1(-unit) * (1 - CARE))
            tried += [(each, slack) for each in found]
        finite = ((each, slack) for each, slack in tried if max(each) < math.inf)
        return min((self.composed(rounds, each, slack) for each, slack in finite), default=math.inf)


def square(x: float) -> float:
    """Return the square of a number."""
    return x * x
