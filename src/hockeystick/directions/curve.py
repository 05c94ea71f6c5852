"""Delta of a plan at many epsilons: the worst of the values in all directions.

The certificate of ``certified.py`` for one epsilon holds here at each of many epsilons. In place of an engine, each
direction has a :class:`~hockeystick.engines.curve.Curve`. The curve keeps its *sections* for later queries. A section
is a contour or a composed law that is computed for one epsilon but gives valid bounds at every epsilon.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property, partial

import numpy as np

from hockeystick.directions.below import attained, instances
from hockeystick.directions.directions import Directions, compositions
from hockeystick.directions.finite_losses import finite_log_delta, with_infinite
from hockeystick.engines.base import ROUGH
from hockeystick.engines.curve import Curve, put
from hockeystick.numerics.budget import question, share
from hockeystick.numerics.rounding import ULPS, next_up
from hockeystick.pairs import Composition
from hockeystick.pairs.gathered import gathered
from hockeystick.values.adjacency import Direction
from hockeystick.values.bounds import ONLY_DOMINATED
from hockeystick.values.errors import UnsupportedError
from hockeystick.values.interval import Array, Ends, Interval

NEAR_END = 1 - 2.0**-50  # no engine is used for an epsilon above this share of the largest loss


class DirectionCurve:
    """Log delta of one direction as a function of epsilon, with the mass at infinite loss.

    Args:
        composition: pairs and counts of the rounds.
        gap: largest relative width of delta allowed; ``None`` for the engines' defaults.
    """

    def __init__(self, composition: Composition, gap: float | None) -> None:
        self.composition, self._gap = composition, gap
        self._gathered = gathered(composition)
        # if a contour can handle all kinds, kinds are gathered only where its interval is wide
        self._exact = not self._gathered.many or self._gathered.tried
        self._curve = Curve(composition, gap, self._gathered.many)

    @cached_property
    def _sides(self) -> tuple[DirectionCurve, DirectionCurve]:
        """Curves of the two compositions of merged kinds: the first for lower bounds, the second for upper bounds."""
        gap = max(self._gap or ROUGH, ROUGH)
        return DirectionCurve(self._gathered.milder, gap), DirectionCurve(self._gathered.worse, gap)

    def log_delta(self, epsilon: Array, enough: Array | None = None) -> Ends:
        """Return certified ends of log delta at each epsilon >= 0, shape (n,).

        The interval may be wide wherever its upper end is below ``enough``, a log delta for each epsilon.
        """
        with question():
            if not self._gathered.many:
                return self._of_all(epsilon, enough)
            if not self._exact:
                return self._between(epsilon, enough)
            with share():
                found = self._of_all(epsilon, enough)
            wide = found.width > ROUGH
            if enough is not None:
                wide &= found.upper > enough
            where = np.flatnonzero(wide)
            if len(where):
                between = self._between(epsilon[where], None if enough is None else enough[where])
                found = put(found, where, found[where].shared(between))
            return found

    def _between(self, epsilon: Array, enough: Array | None) -> Ends:
        """Ends of log delta from merged kinds of rounds: lower ends from ``milder``, upper ends from ``worse``."""
        with share(0.5):
            milder = self._sides[0].log_delta(epsilon, enough)
        worse = self._sides[1].log_delta(epsilon, enough)
        return Ends.of(milder.lower, worse.estimate, worse.upper)

    def _of_all(self, epsilon: Array, enough: Array | None) -> Ends:
        """Ends of log delta of the composition without merging; upper ends are at most the log of the total variation.

        The total variation is delta at epsilon 0.
        """
        found = self._of_losses(epsilon, enough)
        variation = self.composition.variation(1.0)
        if not 0 < variation < 1:
            return found
        return Ends.of(found.lower, found.estimate, np.minimum(found.upper, next_up(math.log(variation), 2 * ULPS)))

    def _of_losses(self, epsilon: Array, enough: Array | None) -> Ends:
        """Ends of log delta, with the mass at infinite loss, before the total variation is applied as a bound."""
        if not self.composition.rounds or self.composition.tells_all:
            finite = Ends(*np.full((3, len(epsilon)), -math.inf))
        elif self.composition.bounded:
            finite = self._bounded(epsilon, enough)
        else:
            finite = self._curve.log_delta(epsilon, enough)
        return with_infinite(self.composition, finite)

    def _bounded(self, epsilon: Array, enough: Array | None) -> Ends:
        """Ends of log delta of the finite losses, for a composition in which these are bounded."""
        inside = epsilon < NEAR_END * float(self.composition.supremum[0])
        found = self._curve.log_delta(epsilon[inside], None if enough is None else enough[inside])
        ends = np.tile([[-math.inf], [0.0], [0.0]], len(epsilon))  # trivial ends, kept where no engine is used
        ends[:, inside] = found.lower, found.estimate, found.upper
        for at, known in enumerate(ends.T.tolist()):
            one = finite_log_delta(self.composition, float(epsilon[at]), partial(Interval, *known))
            ends[:, at] = one.lower, one.estimate, one.upper
        return Ends(*ends)


class WorstCurve:
    """Log delta of several compositions at many epsilons, and the largest of these values at each epsilon.

    Args:
        curves: the direction and the curve of each composition.
    """

    def __init__(self, curves: Sequence[tuple[Direction, DirectionCurve]]) -> None:
        self._curves = tuple(curve for _, curve in curves)
        self._of = dict(curves)
        self.directions = tuple(self._of)

    def in_direction(self, direction: Direction, epsilon: Array, enough: Array | None = None) -> Ends:
        """Return certified ends of log delta of one direction, as :meth:`DirectionCurve.log_delta` does."""
        return self._of[direction].log_delta(epsilon, enough)

    def log_delta(self, epsilon: Array) -> Ends:
        """Return certified ends of the largest log delta of all compositions, at each epsilon >= 0, shape (n,)."""
        first, *others = self._curves
        worst = first.log_delta(epsilon)
        for other in others:
            worst = worst.worse(other.log_delta(epsilon, worst.lower))
        return worst


class SidedCurve:
    """Log delta of a plan's rounds: upper ends from dominating pairs, lower ends from attained compositions.

    If all pairs are tight, the composed dominating pairs give both ends.

    Args:
        directions: rounds in each direction.
        gap: largest relative width of delta allowed for each curve; ``None`` for the engines' defaults.

    Attributes:
        above: curves of the dominating pairs in each direction.
        below: curves of every attained composition.

    Raises:
        UnsupportedError: a round has no proved dominating pair, or no lower bound.
    """

    def __init__(self, directions: Directions, gap: float | None = None) -> None:
        self._asked, self._gap = directions, gap
        self._made: list[DirectionCurve] = []
        if not directions.known_from_below:
            raise UnsupportedError(
                f"a profile needs lower and upper bounds, but {ONLY_DOMINATED}; ask the plan for epsilon or delta, "
                "which are upper bounds then"
            )
        self.above = self.below = self._worst(compositions(directions, many=True, together=True))
        if not directions.tight:
            self.below = self._worst(attained(directions))

    @property
    def tight(self) -> bool:
        """True if the same pairs give the lower and the upper ends."""
        return self.above is self.below

    @cached_property
    def instances(self) -> tuple[WorstCurve, ...]:
        """For each instance, the curves of both orders of its datasets, always named ``remove`` and ``add``.

        If both orders have the same composition, there is only one curve.
        """
        return tuple(
            self._worst([(Direction.REMOVE, forward)] + ([] if backward == forward else [(Direction.ADD, backward)]))
            for forward, backward in instances(self._asked)
        )

    def log_delta(self, epsilon: Array) -> Ends:
        """Return certified ends of log delta at each epsilon >= 0, shape (n,)."""
        if self.tight:
            return self.above.log_delta(epsilon)
        return self.above.log_delta(epsilon).over(self.below.log_delta(epsilon))

    def _worst(self, composed: Sequence[tuple[Direction, Composition]]) -> WorstCurve:
        return WorstCurve([(direction, self._curve(composition)) for direction, composition in composed])

    def _curve(self, composition: Composition) -> DirectionCurve:
        """Return the curve of a composition. Equal compositions share one curve, so that it is computed only once."""
        for known in self._made:
            if known.composition == composition:
                return known
        self._made.append(DirectionCurve(composition, self._gap))
        return self._made[-1]
