"""Epsilon and delta of one sampled Gaussian round that is repeated, asked again as it goes on.

It is the way of :mod:`hockeystick.directions.certified` through the contour, step by step, without what is looked at on
that way for the sake of other rounds: an answer has the plan's own bits. Where the contour is not narrow, or does not
show that adding a record has no more, there is no answer here, and the plan is asked.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from hockeystick.directions.certified import FIRST, checked_gap, log_left, stays_below
from hockeystick.directions.two_sided import delta_of
from hockeystick.engines.auto import HALF, rarely_sampled
from hockeystick.engines.contour.engine import ContourEngine
from hockeystick.engines.contour.path import UnfairLineError
from hockeystick.numerics.rounding import next_down, next_up
from hockeystick.numerics.work import one_call, part
from hockeystick.pairs import Composition, GaussianPair
from hockeystick.pairs.sampled.poisson import PoissonAddPair, PoissonRemovePair
from hockeystick.values.adjacency import Direction
from hockeystick.values.bounds import Bound, DeltaBound
from hockeystick.values.errors import NotApplicableError
from hockeystick.values.interval import Interval

MORE = 1.25  # times the rounds of which the contour said too little, from which on it is asked again


class Repeated:
    """One sampled Gaussian round, with a record removed, or with one removed or added.

    Args:
        directions: the one in which a record is removed and, where it counts, the one in which it is added.
        mu: one over the noise multiplier.
        rate: sampling rate.

    >>> from hockeystick.values.adjacency import Adjacency
    >>> print(Repeated(Adjacency.ADD_OR_REMOVE.directions, 1.0, 0.01).epsilon(1000, 1e-6, None))
    2.12451 to 2.12452 (certified)
    """

    def __init__(self, directions: Sequence[Direction], mu: float, rate: float) -> None:
        self._direction, self._both = directions[0], len(directions) > 1
        base = GaussianPair(mu)
        self._removed, self._added = PoissonRemovePair(base, rate), PoissonAddPair(base, rate)
        self._least = 2  # rounds from which on the contour is asked: a single one has a closed form

    def epsilon(self, count: int, delta: float, gap: float | None) -> Bound | None:
        """Epsilon at delta of so many rounds; ``None`` where the plan has to be asked."""
        targets = log_left(delta, 0.0, next_down), log_left(delta, 0.0, next_up)
        return self._answered(
            count,
            gap,
            lambda engine, gap: engine.epsilon(targets, gap),
            lambda added, found: (
                found.lower > 0 and stays_below(added, found, found.lower, log_left(delta, 0.0, next_down))
            ),
        )

    def delta(self, count: int, epsilon: float, gap: float | None) -> DeltaBound | None:
        """Delta at epsilon of so many rounds; ``None`` where the plan has to be asked."""
        found = self._answered(
            count,
            gap,
            lambda engine, gap: engine.log_delta(epsilon, gap),
            lambda added, found: stays_below(added, found, epsilon, found.lower),
        )
        return None if found is None else delta_of(found)

    def _answered(
        self,
        count: int,
        gap: float | None,
        ask: Callable[[ContourEngine, float | None], Interval],
        milder: Callable[[Composition, Interval], bool],
    ) -> Bound | None:
        """The interval with a record removed, where it is narrow and adding one is shown to have no more."""
        gap = None if gap is None else checked_gap(gap)
        if count < self._least:
            return None
        with one_call():
            try:
                with part(FIRST if self._both else 1.0), part(HALF):
                    rounds = Composition([(self._removed, count)])
                    found = ask(ContourEngine(rounds, patient=not rarely_sampled(rounds)), gap)
                shown = found.limited is None
                shown = shown and (not self._both or milder(Composition([(self._added, count)]), found))
            except (NotApplicableError, UnfairLineError):
                shown = False
        if not shown:
            self._least = math.ceil(MORE * count)  # until then the plan alone is asked, which would say the same
            return None
        ends = found.lower, found.estimate, found.upper
        return Bound(*ends, accountant=found.engine, direction=self._direction.value)
