"""Proved ends of delta and epsilon for one direction: the choice among three methods and of their parameters.

Floating-point arithmetic is used only to choose tilts, guesses of epsilon, and the end of a search. All ends are
computed in ball arithmetic, so the validity of no end depends on an approximation.
"""

from __future__ import annotations

import math
from functools import cached_property
from typing import NamedTuple

from flint import arb

from hockeystick.engines.base import ATTEMPTS, DEFAULT_GAP, ROUGH
from hockeystick.engines.contour.engine import aim_at
from hockeystick.engines.contour.path import Aim
from hockeystick.engines.guide import Guide
from hockeystick.engines.proof.closed import ClosedForm
from hockeystick.engines.proof.contour import Contour, chernoff
from hockeystick.engines.proof.grid import GridLaws
from hockeystick.engines.proof.rounds import ExactRounds
from hockeystick.engines.proof.search import Enclosure, Evaluator, epsilon_between
from hockeystick.numerics.balls import Ball, above
from hockeystick.numerics.rounding import SMALLEST_NORMAL
from hockeystick.values.errors import NotApplicableError
from hockeystick.values.interval import Interval

TINY = 1e-30  # least size requested of remainders; also a tilt so small that the tilted variance is the untilted one
LEAST_SCALE = 1e-3  # for an epsilon below this number, the gap is relative to this number instead of epsilon
FIRST = 1 << 11  # number of cells of the first laws on a grid
FINER, FINEST = 1.3, 128.0  # margin on the factor by which the number of cells grows, and the largest such factor
DEEPEST = -2000.0  # log of the mass that the guide may miss: at large tilts, extremely improbable losses matter
STEEPEST = 50.0  # largest tilt, relative to the tilt that the central limit theorem suggests
DEEPER = 40.0  # decrease of the assumed log delta after an attempt that gave no information on log delta
SMALLER_TILTS = 12  # number of tilts tried, each a quarter of the previous one
TOO_WIDE = "remainder terms keep the interval wider than the requested gap"
"""Reason for an interval wider than requested."""


class ProvedDelta(NamedTuple):
    """Proved ends of delta over finite losses, the method's name, and the reason if the ends are too far apart."""

    ends: Enclosure
    engine: str
    limited: str | None


class ProofEngine:
    """Proved ends of delta and epsilon for one direction.

    Args:
        rounds: exact rounds with finite losses; the caller handles mass at infinite loss.

    Raises:
        NotApplicableError: the rounds combine discrete Gaussian noise with a round that has a density.
    """

    def __init__(self, rounds: ExactRounds) -> None:
        if rounds.discrete and rounds.smooth:
            raise NotApplicableError(
                "discrete Gaussian noise can be proved only beside rounds with finitely many outcomes"
            )
        self._rounds = rounds
        self._closed = ClosedForm.applies(rounds)

    @cached_property
    def _guide(self) -> Guide:
        return Guide(self._rounds.composition, DEEPEST)

    def _aim(self, epsilon: float, log_delta: float) -> Aim:
        """Return the parameters of a contour for an epsilon; its tilt is the saddle point, or a limit if smaller."""
        return Aim(self._guide, self._bounded(self._guide.saddle(epsilon), log_delta), None, epsilon, log_delta)

    def _bounded(self, tilt: float, log_delta: float) -> float:
        """Return ``tilt``, or STEEPEST times the tilt that the central limit theorem suggests if this is smaller.

        Larger tilts need too many nodes.
        """
        variance = max(self._guide.cumulants(TINY).k2, SMALLEST_NORMAL)
        return min(tilt, STEEPEST * math.sqrt(max(-2 * log_delta, 0.1) / variance))

    def _way(self, epsilon: float, log_delta: float, tolerance: float, cells: int) -> Evaluator:
        """Return a method that computes proved ends of delta at epsilons near the given one.

        Args:
            epsilon: the epsilon for which parameters are chosen.
            log_delta: approximate log delta at this epsilon.
            tolerance: desired size of the remainders relative to delta.
            cells: number of cells of a law, if the method uses a grid.
        """
        if self._closed:
            return ClosedForm(self._rounds)
        tolerance, aim = max(min(tolerance, ROUGH), TINY), self._aim(epsilon, log_delta)
        if self._rounds.smooth:
            return Contour(self._rounds, aim, tolerance)
        return GridLaws(self._rounds, epsilon, log_delta, aim.saddle, tolerance, cells)

    def epsilon(self, target: Enclosure, gap: float | None) -> Interval:
        """Return proved ends of ``inf {eps >= 0: delta_finite(eps) <= target}`` for a target > 0.

        Raises:
            NotApplicableError: no method applies.
        """
        gap, cells = gap or DEFAULT_GAP, FIRST
        log_delta = float(target.lower.log().mid())
        saddle = self._guide.tilt_for_delta(log_delta)
        tilt = self._bounded(saddle, log_delta)
        # near the largest loss, where the tilt is below the saddle point, the Renyi bound is the better guess
        guess = self._guide.guess(log_delta, tilt) if tilt == saddle else self._guide.renyi_epsilon(tilt, log_delta)
        lower, upper, name = 0.0, math.inf, ""
        for attempt in range(ATTEMPTS):
            tilt = self._aim(guess, log_delta).saddle
            tolerance = 0.1 * gap * max(guess, LEAST_SCALE) * tilt
            try:
                way = self._way(guess, log_delta, tolerance, cells)
            except NotApplicableError:
                if not attempt:
                    raise
                if self._rounds.smooth:
                    break  # a sharper sum is too long
                cells //= 2
                continue
            low, high = epsilon_between(way, target, guess, tilt, 0.0 if self._closed else gap)
            lower, upper, name = max(lower, low), min(upper, high), way.name
            middle = 0.5 * (low + high) if low > 0 else high
            guess = middle if math.isfinite(middle) else max(low, 2 * guess)
            if upper - lower <= gap * upper or self._closed:
                break
            cells = _more(cells, (upper - lower) / (gap * upper))
        narrow = math.isfinite(upper) and upper - lower <= gap * upper
        return Interval(lower, min(max(guess, lower), upper), upper, None if narrow else TOO_WIDE, name)

    def delta(self, epsilon: Ball, gap: float | None) -> ProvedDelta:
        """Return proved ends of delta over finite losses, at an epsilon below the largest loss.

        Raises:
            NotApplicableError: no method applies.
        """
        gap, cells = gap or DEFAULT_GAP, FIRST
        at, best, name = float(epsilon.mid()), Enclosure(arb(0), arb(1)), ""
        log_delta, narrow = aim_at(self._guide, self._guide.saddle(at), None, at).depth, False
        for attempt in range(ATTEMPTS):
            try:
                way = self._way(at, log_delta, 0.2 * gap, cells)
            except NotApplicableError:
                if not attempt:
                    raise
                if self._rounds.smooth:
                    break  # a sharper sum is too long
                cells //= 2
                continue
            found = way.delta(epsilon)
            best, name = Enclosure(best.lower.max(found.lower), best.upper.min(found.upper)), way.name
            narrow = bool(best.upper - best.lower <= arb(gap) * best.upper)
            if narrow or self._closed:
                break
            cells = _more(cells, float(((best.upper - best.lower) / (arb(gap) * best.upper)).mid()))
            seen = best.lower if best.lower > 0 else best.upper
            log_delta = min(float(seen.log().mid()), log_delta) - (0.0 if best.lower > 0 else DEEPER * 2**attempt)
        return ProvedDelta(best, name, None if narrow else TOO_WIDE)

    def epsilon_bound(self, target: Enclosure) -> Interval:
        """Return proved ends of epsilon that are cheap to compute but may be far apart.

        If the rounds have densities and no closed form, the upper end is ``(K(t) + log peak(t) - log target) / t`` at a
        good tilt.
        """
        if self._closed or not self._rounds.smooth:
            return self.epsilon(target, ROUGH)
        log_delta = float(target.lower.log().mid())
        t, exponent = self._chernoff(self._bounded(self._guide.tilt_for_delta(log_delta), log_delta))
        upper = max(above((exponent - target.lower.log()) / arb(t)), 0.0)
        return Interval(0.0, upper, upper)

    def delta_bound(self, epsilon: Ball) -> ProvedDelta:
        """Return proved ends of delta that are cheap to compute but may be far apart.

        If the rounds have densities and no closed form, the upper end is the Chernoff bound at a good tilt.
        """
        if self._closed or not self._rounds.smooth:
            return self.delta(epsilon, ROUGH)
        at = float(epsilon.mid())
        t, exponent = self._chernoff(self._aim(at, self._guide.log_delta(at)).saddle)
        return ProvedDelta(Enclosure(arb(0), (exponent - arb(t) * epsilon).exp().upper()), Contour.name, None)

    def _chernoff(self, t: float) -> tuple[float, Ball]:
        """Return a tilt and the Chernoff exponent ``K(t) + log peak(t)`` at this tilt; any tilt is valid.

        The tilt is ``t`` or, if the exponent is not finite at ``t``, a smaller tilt.
        """
        for _ in range(SMALLER_TILTS):
            try:
                exponent = chernoff(self._rounds, t)
            except NotApplicableError:
                exponent = arb.pos_inf()
            if exponent.is_finite():
                break
            t *= 0.25
        return t, exponent if exponent.is_finite() else arb.pos_inf()


def _more(cells: int, excess: float) -> int:
    """Return the number of cells, instead of ``cells``, with which a width is ``excess`` times smaller.

    The width is inversely proportional to the square of the number of cells.
    """
    return math.ceil(cells * min(FINER * math.sqrt(excess), FINEST)) if excess < math.inf else 2 * cells
