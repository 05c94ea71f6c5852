"""Epsilon and delta of one repeated sampled Gaussian round, for a growing count.

The computation is that of :mod:`hockeystick.directions.certified` through the contour, step by step, without the checks
that serve other rounds, so an answer equals the plan's to the last bit. If the contour is not narrow, or does not prove
that adding a record costs no more, there is no answer here, and the plan must answer.
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

RETRY_GROWTH = 1.25  # growth of the count after a failure of the contour before it is tried again


class Repeated:
    """Sampled Gaussian round, with a record removed, or with one removed or added.

    Args:
        directions: direction that removes a record and, if it counts, the one that adds one.
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
        self._least = 2  # smallest count for the contour: a single round has a closed form

    def epsilon(self, count: int, delta: float, gap: float | None) -> Bound | None:
        """Return epsilon at delta of ``count`` rounds; ``None`` if the plan must answer."""
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
        """Return delta at epsilon of ``count`` rounds; ``None`` if the plan must answer."""
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
        """Interval with a record removed, if it is narrow and adding one provably costs no more."""
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
            self._least = math.ceil(RETRY_GROWTH * count)  # until then only the plan answers, with the same bits
            return None
        ends = found.lower, found.estimate, found.upper
        return Bound(*ends, accountant=found.engine, direction=self._direction.value)
