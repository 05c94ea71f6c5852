"""Proved ends of delta and epsilon for one direction: which of six ways applies, and where it looks.

Floating point proposes (tilts, guesses of epsilon, where to stop), balls dispose: no end rests on an approximation.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import NamedTuple, TypeVar

from flint import arb

from hockeystick.engines.contour.engine import ContourEngine
from hockeystick.engines.guide import Guide
from hockeystick.engines.proof.atoms import AtomSum
from hockeystick.engines.proof.closed import ClosedForm
from hockeystick.engines.proof.contour import BallContour, chernoff, log_moment
from hockeystick.engines.proof.enclosure import Enclosure, epsilon_around, epsilon_between, epsilon_bisected
from hockeystick.engines.proof.lattice import LatticeSum
from hockeystick.engines.proof.powered import PoweredLaws
from hockeystick.engines.proof.ratio_grid import RatioGrid, RatioSearch
from hockeystick.engines.proof.rounds import ExactRounds
from hockeystick.numerics.balls import Ball, below
from hockeystick.numerics.work import check_left
from hockeystick.pairs import Composition
from hockeystick.values.adjacency import Direction
from hockeystick.values.errors import NotApplicableError

T = TypeVar("T")  # ends of epsilon, or of delta

DEFAULT_GAP = 1e-6  # relative width of the interval, where none is asked
GRID_GAP, GRID_POINTS, GLANCE = 1e-4, 1.6, 0.06
"""Of laws of likelihood ratios: the relative width of the interval, where none is asked; the distance of points, over
the root of a gap, that has that gap as a rule; and the distance where a rough bound is enough."""
LEAST_TOLERANCE = 1e-30  # relative: remainders are never asked to be smaller
NARROW = 0.5  # epsilon times tilt, below which the tilt need not be the slope of log delta
STEP = 0.1  # in log delta
SPARE = 60.0  # log of how far below delta the terms lie that are left out
ATTEMPTS = 6  # each looks where the last one pointed
FARTHER = 3.0  # times as deep is the next sum over atoms, where nothing is seen of delta beside what was left out
SMALLER_TILTS = 12  # each a quarter of the last
ROUGHLY = 0.1  # how well log delta is wanted before it is proved
SHORT, FIRST, LONGEST = 1 << 9, 1 << 12, 1 << 18
"""Cells of laws on a grid: of those for a quick bound, of the first and of the longest ones for a sharp one."""

WIDE = 1e-2  # relative width that a quick bound may have
FINER = 1.3  # factor by which there are more cells than a width asks for, which falls with their square
SPARE_EPSILON = 40.0  # over the tilt: how far from the guess an epsilon has all of its bits
LEAST_SCALE = 1e-3  # of epsilon, below which it is known to a part of that
DEEPER = 40.0  # by which log delta is taken to be smaller where nothing is seen of it
TOO_WIDE = "the remainders keep it from the asked gap"
"""Why an interval is wider than was asked."""

TOO_COARSE = "laws on more points, which the asked gap takes, would take too long"
"""Why an interval between laws of the likelihood ratio is wider than was asked."""


class ProvedEpsilon(NamedTuple):
    """Proved ends of epsilon, the best guess, the way they came, and what kept them from the asked gap."""

    lower: float
    estimate: float
    upper: float
    engine: str
    limited: str | None


class ProvedDelta(NamedTuple):
    """Proved ends of delta over finite losses, the way they came, and what kept them from the asked gap."""

    ends: Enclosure
    engine: str
    limited: str | None


class ProofEngine:
    """Proved ends of delta and epsilon for one direction.

    Args:
        rounds: exact rounds with finite losses; mass at infinite loss is the caller's.
        composition: the same in doubles, for guesses.

    Raises:
        NotApplicableError: sampled discrete Gaussian noise beside rounds with a density.
    """

    def __init__(self, rounds: ExactRounds, composition: Composition) -> None:
        self._rounds, self._composition = rounds, composition
        self._closed = ClosedForm.applies(rounds)
        self._lattice = LatticeSum.applies(rounds)
        self._atoms = bool(rounds.atomic)
        if rounds.sampled_discrete and not self._atoms:
            raise NotApplicableError("sampled discrete Gaussian noise has one only where all losses are atoms")
        self._allocated = bool(rounds.allocations)
        if self._allocated and rounds.kinds > 1:
            raise NotApplicableError("epochs of random allocation are not proved together with other rounds")

    def epsilon_bound(self, target: Enclosure) -> Ball:
        """A quick upper bound on epsilon: ``(K(t) + log peak(t) - log target) / t`` at a good tilt.

        Raises:
            NotApplicableError: there is none.
        """
        if self._closed:
            return arb(self.epsilon(target, None).upper)
        if self._allocated:
            guess, search = self._searched(float(target.lower.log().mid()))
            return arb(search.glanced(GLANCE).epsilon(target, self._most(guess))[1])
        log_target = float(target.lower.log().mid())
        guide = Guide(self._composition, log_target - 50.0)
        if self._atoms and not self._lattice:
            return arb(self._on_grid_epsilon(guide, target, log_target, WIDE, SHORT).upper)
        t = guide.tilt_for_delta(log_target)
        t, exponent = self._chernoff(t)
        return (exponent - target.lower.log()) / arb(t)

    def delta_bound(self, epsilon: Ball) -> Ball:
        """A quick upper bound on delta: Chernoff's at the saddle point.

        Raises:
            NotApplicableError: there is none.
        """
        if self._closed:
            return self.delta(epsilon, None).ends.upper
        if self._allocated:
            return self._search_at(epsilon)[0].glanced(GLANCE).upper(epsilon)
        _, t, depth = Guide.reaching(self._composition, float(epsilon.mid()))
        if self._atoms and not self._lattice:
            return self._on_grid_delta(epsilon, depth, WIDE, SHORT).ends.upper
        t, exponent = self._chernoff(t)
        return (exponent - arb(t) * epsilon).exp()

    def _chernoff(self, t: float) -> tuple[float, Ball]:
        """Chernoff's exponent at a tilt, or at the first smaller one at which it can be had: any tilt bounds."""
        for _ in range(SMALLER_TILTS):
            try:
                exponent = chernoff(self._rounds, t)
            except NotApplicableError:
                exponent = None
            if exponent is not None and exponent.is_finite():  # a ball so wide that it is no number bounds nothing
                return t, exponent
            t *= 0.25
        raise NotApplicableError("no tilt gives a bound")

    def epsilon(self, target: Enclosure, gap: float | None) -> ProvedEpsilon:
        """Ends of ``inf {eps >= 0: delta_finite(eps) <= target}`` for a target > 0.

        Raises:
            NotApplicableError: no way applies.
        """
        log_target = float(target.lower.log().mid())
        if self._allocated:
            return self._ratio_epsilon(target, log_target, gap or GRID_GAP)
        gap = gap or DEFAULT_GAP
        if self._closed:
            guess = self._guess(Guide(self._composition, log_target - 50.0), log_target, gap)
            ends = epsilon_bisected(ClosedForm(self._rounds), target, guess)
            return self._epsilon(ends, ends[1], gap, ClosedForm.name)
        if not self._atoms:
            return self._contour_epsilon(target, log_target, gap)
        try:
            if self._lattice:
                return self._lattice_epsilon(target, log_target, gap)
            ends = epsilon_bisected(AtomSum(self._rounds, min(log_target, 0.0) - SPARE), target)
            return self._epsilon(ends, ends[1], gap, AtomSum.name)
        except NotApplicableError:
            check_left()
        guide = Guide(self._composition, log_target - 50.0)
        return self._on_grid_epsilon(guide, target, log_target, gap, FIRST)

    def _on_grid_epsilon(
        self, guide: Guide, target: Enclosure, log_target: float, gap: float, length: int
    ) -> ProvedEpsilon:
        """By laws on a grid, of that many cells at first, and of as many as the gap and the work that is left allow."""
        guess = max(guide.epsilon(guide.tilt_for_delta(log_target)), 0.0)
        tilt = guide.saddle(guess)
        tolerance = max(min(gap * max(guess, LEAST_SCALE) * tilt, 1e-2), LEAST_TOLERANCE)

        def asked(cells: int) -> tuple[float, float]:
            most = guess + SPARE_EPSILON / max(tilt, 1.0)
            laws = PoweredLaws(self._rounds, most, log_target, tolerance, cells, cells > length)
            return epsilon_between(laws, target)

        lower, upper = 0.0, math.inf

        def wide(ends: tuple[float, float]) -> float:
            if ends[1] == math.inf:
                return math.inf
            return (ends[1] - ends[0]) / (gap * ends[1]) if ends[1] else 0.0

        for ends in self._finer(asked, length, wide):
            lower, upper = max(lower, ends[0]), min(upper, ends[1])
        return self._epsilon((lower, upper), 0.5 * (lower + upper), gap, PoweredLaws.name)

    def _on_grid_delta(self, epsilon: Ball, depth: float, gap: float, length: int) -> ProvedDelta:
        """As :meth:`_on_grid_epsilon`, for delta, which is about ``e^depth`` or less."""
        at, best = float(epsilon.mid()), Enclosure(arb(0), arb(1))

        def asked(cells: int) -> Enclosure:
            nonlocal depth
            for attempt in range(ATTEMPTS):
                laws = PoweredLaws(self._rounds, at, depth, max(gap, LEAST_TOLERANCE), cells, cells > length)
                found = laws.delta(epsilon)
                before = depth
                if found.lower > 0:
                    depth = min(depth, float(found.lower.log().mid()))
                else:  # the truth may be far below the upper end
                    depth = (
                        min(depth, float(found.upper.log().mid()) if found.upper > 0 else depth) - DEEPER * 2**attempt
                    )
                if depth > before - 1.0:
                    break
            return found

        def wide(ends: Enclosure) -> float:
            return float(((ends.upper - ends.lower) / (arb(gap) * ends.upper)).mid()) if ends.upper > 0 else 0.0

        for ends in self._finer(asked, length, wide):
            best = Enclosure(best.lower.max(ends.lower), best.upper.min(ends.upper))
        return self._delta(best, gap, PoweredLaws.name)

    def _finer(self, asked: Callable[[int], T], length: int, wide: Callable[[T], float]) -> Iterator[T]:
        """What is found with so many cells, and with more while it is too wide, by a factor, and work is left.

        Raises:
            NotApplicableError: not even the first is to be had.
        """
        found = asked(length)
        yield found
        while (factor := wide(found)) > 1 and length < LONGEST:
            least = 2 * length
            length = LONGEST if factor > LONGEST**2 else min(math.ceil(length * FINER * math.sqrt(factor)), LONGEST)
            length = max(length, least)
            while True:
                try:
                    found = asked(length)
                    break
                except NotApplicableError:
                    if length == least:
                        return
                    length = max(length // 2, least)
            yield found

    def _ratio_epsilon(self, target: Enclosure, log_target: float, gap: float) -> ProvedEpsilon:
        guess, search = self._searched(log_target)
        ends = search.refined(lambda grid: grid.epsilon(target, self._most(guess)), gap, GRID_POINTS * math.sqrt(gap))
        found = self._epsilon(ends, guess, gap, RatioGrid.name)
        return found if found.limited is None else found._replace(limited=TOO_COARSE)

    def _searched(self, log_target: float) -> tuple[float, RatioSearch]:
        """A guess of epsilon, and the laws for it."""
        guess = self._guess(Guide(self._composition, log_target - 50.0), log_target, 1e-3)
        return guess, self._search(log_target, guess)

    def _search(self, log_delta: float, epsilon: float) -> RatioSearch:
        kinds = tuple((item.epoch, count) for item, count in self._rounds.allocations.items())
        add = next(iter(self._rounds.allocations)).direction is Direction.ADD
        return RatioSearch(kinds, add, log_delta, epsilon)

    def _most(self, guess: float) -> float:
        """The largest epsilon that is looked at."""
        return 2.0 * guess + 1.0

    def _search_at(self, epsilon: Ball) -> tuple[RatioSearch, float]:
        """The laws for an epsilon, and the tilt there."""
        at = float(epsilon.mid())
        guide, tilt, depth = Guide.reaching(self._composition, at)
        return self._search(self._depth(at, max(min(depth, guide.log_delta(at)), depth - 20.0)), at), tilt

    def _ratio_delta(self, epsilon: Ball, gap: float) -> ProvedDelta:
        search, tilt = self._search_at(epsilon)
        best = Enclosure(arb(0), arb(1))

        def ends(grid: RatioGrid) -> tuple[float, float]:
            nonlocal best
            found = grid.delta(epsilon)
            best = Enclosure(best.lower.max(found.lower), best.upper.min(found.upper))
            return below(best.lower / best.upper), 1.0

        search.refined(ends, gap, GRID_POINTS * math.sqrt(gap / max(float(epsilon.mid()) * tilt, 1.0)))
        found = self._delta(best, gap, RatioGrid.name)
        return found if found.limited is None else found._replace(limited=TOO_COARSE)

    def _lattice_epsilon(self, target: Enclosure, log_target: float, gap: float) -> ProvedEpsilon:
        guide = Guide(self._composition, log_target - 50.0)
        guess = self._guess(guide, log_target, gap)
        for attempt in range(ATTEMPTS):
            tilt = guide.saddle(guess)
            tolerance = max(min(0.1 * gap * max(guess, 1e-3) * tilt, 1e-2), LEAST_TOLERANCE)
            lattice = LatticeSum(self._rounds, tilt, guess, log_target, tolerance)
            root, slope = lattice.solve(target.lower, guess, tilt)
            found = self._epsilon(epsilon_around(lattice, target, root, slope), root, gap, LatticeSum.name)
            if found.limited is None or root == guess == 0.0 or attempt == ATTEMPTS - 1:
                break
            guess = root
        return found

    def _epsilon(self, ends: tuple[float, float], estimate: float, gap: float, name: str) -> ProvedEpsilon:
        narrow = math.isfinite(ends[1]) and ends[1] - ends[0] <= gap * ends[1]
        lower, upper = ends
        return ProvedEpsilon(lower, min(max(estimate, lower), upper), upper, name, None if narrow else TOO_WIDE)

    def _contour_epsilon(self, target: Enclosure, log_target: float, gap: float) -> ProvedEpsilon:
        guide = Guide(self._composition, log_target - 50.0)
        guess = self._guess(guide, log_target, gap)
        tilt = self._believed(guide, guide.saddle(guess))
        steep = self._steepness(guide, log_target, gap, guess, tilt)
        for attempt in range(ATTEMPTS):
            tolerance = max(min(0.1 * gap * guess * steep, 1e-2), LEAST_TOLERANCE) if guess > 0 else 1e-4
            contour = BallContour(self._rounds, guide, tilt, guess, log_target, tolerance)
            root, slope = contour.solve(target.lower, guess)
            ends = epsilon_around(contour, target, root, slope)
            found = self._epsilon(ends, root, gap, "contour")
            if found.limited is None or root == guess == 0.0 or attempt == ATTEMPTS - 1:
                break
            guess, tilt = root, self._believed(guide, guide.saddle(root))
            steep = tilt
        return found

    def _steepness(self, guide: Guide, log_target: float, gap: float, guess: float, tilt: float) -> float:
        """About ``-d log delta / d eps``: the tilt, or where epsilon is far below its inverse a difference quotient."""
        if not guess * tilt < NARROW:
            return tilt
        apart = guess - self._guess(guide, log_target + STEP, gap)
        return max(tilt, 0.5 * STEP / apart) if apart > 0.01 * guess else tilt

    def _believed(self, guide: Guide, tilt: float) -> float:
        """The tilt, or where the guide misses most of K(t) there (rare samples far out) about the largest it sees."""
        if self._sees(guide, tilt):
            return tilt
        low, high = tilt * 2.0**-16, tilt
        while high > 1.02 * low:
            middle = math.sqrt(low * high)
            low, high = (middle, high) if self._sees(guide, middle) else (low, middle)
        return 0.99 * low

    def _sees(self, guide: Guide, tilt: float) -> bool:
        """Whether the guide's K(t) is about the proved one."""
        try:
            proved = float(log_moment(self._rounds, tilt).mid())
        except NotApplicableError:
            return False
        seen = guide.cumulants(tilt).k0
        return proved <= seen + 0.1 + 0.01 * abs(seen)

    def _guess(self, guide: Guide, log_target: float, gap: float) -> float:
        """The floating-point contour's epsilon, or where it does not apply the leading term's."""
        try:
            return ContourEngine(self._composition).epsilon((log_target, log_target), max(gap, 1e-3)).estimate
        except NotApplicableError:
            return max(guide.epsilon(guide.tilt_for_delta(log_target)), 0.0)

    def delta(self, epsilon: Ball, gap: float | None) -> ProvedDelta:
        """Ends of delta_finite at an epsilon below the supremum.

        Raises:
            NotApplicableError: no way applies.
        """
        if self._allocated:
            return self._ratio_delta(epsilon, gap or GRID_GAP)
        gap = gap or DEFAULT_GAP
        at = float(epsilon.mid())
        if self._closed:
            return self._delta(ClosedForm(self._rounds).delta(epsilon), gap, ClosedForm.name)
        guide, tilt, depth = Guide.reaching(self._composition, at)
        depth = max(min(depth, guide.log_delta(at)), depth - 20.0)
        if not self._atoms:
            tilt = self._believed(guide, tilt)
            depth = self._depth(at, depth)
        try:
            return self._narrowed_delta(epsilon, guide, tilt, depth, gap)
        except NotApplicableError:
            if not self._atoms:
                raise
            check_left()
        return self._on_grid_delta(epsilon, depth, gap, FIRST)

    def _narrowed_delta(self, epsilon: Ball, guide: Guide, tilt: float, depth: float, gap: float) -> ProvedDelta:
        """By a sum, laid again deeper where delta turns out to be smaller than it was taken to be."""
        at, found = float(epsilon.mid()), None
        for _ in range(ATTEMPTS):
            way: AtomSum | BallContour | LatticeSum
            try:
                if self._lattice:
                    way = LatticeSum(self._rounds, tilt, at, depth, max(0.2 * gap, LEAST_TOLERANCE))
                elif self._atoms:
                    way = AtomSum(self._rounds, min(depth, 0.0) - SPARE)
                else:
                    way = BallContour(self._rounds, guide, tilt, at, depth, max(0.2 * gap, LEAST_TOLERANCE))
            except NotApplicableError:
                if found is None:
                    raise
                break  # a deeper sum is too long: the last one is what there is
            found = self._delta(way.delta(epsilon), gap, way.name)
            if found.limited is None:
                break
            top = found.ends.upper
            deeper = float(top.log().mid()) if top > 0 else -math.inf
            if not found.ends.lower > 0 and (isinstance(way, AtomSum) or deeper > depth - 0.5):
                # the truth may be far below the bound; of a sum over atoms that is all which was left out
                deeper = min(deeper, FARTHER * depth) if isinstance(way, AtomSum) else depth - 20.0
            depth = deeper - 0.1 if math.isfinite(deeper) else depth - 20.0
        assert found is not None
        return found

    def _depth(self, epsilon: float, depth: float) -> float:
        """The floating-point contour's log delta, or where it does not apply what the saddle point says."""
        try:
            found = ContourEngine(self._composition).at(epsilon, ROUGHLY)[0].estimate
        except NotApplicableError:
            return depth
        return found - ROUGHLY if math.isfinite(found) else depth

    def _delta(self, ends: Enclosure, gap: float, name: str) -> ProvedDelta:
        narrow = ends.upper - ends.lower <= arb(gap) * ends.upper
        return ProvedDelta(ends, name, None if narrow else TOO_WIDE)
