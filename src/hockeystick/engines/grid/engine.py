"""From one direction of a plan to a certified interval, mesh, tilt and window chosen by the error law.

Error law. Spreading over a uniform grid of gap h adds ``h^2/6`` to the variance of one round's loss, merging takes
``h^2/12`` away, so ``log delta`` moves by about ``k t (1+t)/2`` times that, and the two sides differ by ``G = k t
(1+t) h^2 / 8``. The law gives the first h; the cumulants of the laws actually built (``log E e^(tL)`` of either side)
correct it before anything is composed, and the interval obtained corrects it again until it is as narrow as was asked.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Protocol

import numpy as np

from hockeystick.engines.composition import Composition, Guide, log_peak
from hockeystick.engines.grid.cells import MAX_LIFT, Mesh, Reach, ends, integrate
from hockeystick.engines.grid.laws import GridLaw, merge, spread
from hockeystick.engines.grid.sums import GridSum, Window
from hockeystick.engines.interval import Interval, NotApplicableError
from hockeystick.pairs import DominatingPair

MAX_PARTS = 1000  # into which the widest distance of two atoms is cut to put other atoms on the grid
LATTICE_TILT = 30.0  # over the distance of two atoms
DEFAULT_GAP = 1e-3
MAX_POINTS = 1 << 22  # of the window; about 400 MB at the peak
MAX_CELLS = 1 << 21  # of one round
MAX_SLIP = 1 / 16  # rounding of a loss, in cells
ATTEMPTS = 10
TILTS = (1.0, 0.85, 0.7, 0.55, 0.4, 0.25, 0.12, 0.05)  # of the saddle: less tilt may shorten the window
LEAST_TOLERANCE = 1e-11  # of log delta: rounding is charged about this much
MAX_AMPLIFICATION = 2.5  # log of how much more rounding may weigh at less tilt


class _Query(Protocol):
    """What is asked: where to look, how narrow the two sides' log delta must be, and how to read the answer off."""

    def epsilon(self, best: Interval | None) -> float: ...
    def depth(self, depth: float, best: Interval) -> float: ...
    def tolerance(self, gap: float, epsilon: float, slope: float) -> float: ...
    def steepest(self, gap: float, epsilon: float) -> float: ...
    def measure(self, lower: GridSum, upper: GridSum, slope: float) -> Interval: ...
    def width(self, interval: Interval) -> float: ...


@dataclass(frozen=True, slots=True)
class _DeltaQuery:
    """log delta at an epsilon; width absolute in log delta, which is relative in delta."""

    at: float

    def epsilon(self, best: Interval | None) -> float:
        return self.at

    def depth(self, depth: float, best: Interval) -> float:
        return min(depth, best.upper)

    def tolerance(self, gap: float, epsilon: float, slope: float) -> float:
        return gap

    def steepest(self, gap: float, epsilon: float) -> float:
        return math.inf

    def measure(self, lower: GridSum, upper: GridSum, slope: float) -> Interval:
        low, high = lower.log_delta(self.at), min(upper.log_delta(self.at), 0.0)
        return Interval.weighted(min(low, high), high)

    def width(self, interval: Interval) -> float:
        return interval.upper - interval.lower


@dataclass(frozen=True, slots=True)
class _EpsilonQuery:
    """epsilon at a log delta known up to an interval; width relative. ``slope`` is about -d log delta / d eps."""

    log_delta: tuple[float, float]
    guess: float
    gap: float

    def epsilon(self, best: Interval | None) -> float:
        return best.estimate if best else self.guess

    def depth(self, depth: float, best: Interval) -> float:
        return depth

    def tolerance(self, gap: float, epsilon: float, slope: float) -> float:
        return gap * epsilon * slope if epsilon > 0 else gap

    def steepest(self, gap: float, epsilon: float) -> float:
        return 1 / (gap * epsilon) if epsilon > 0 else math.inf

    def measure(self, lower: GridSum, upper: GridSum, slope: float) -> Interval:
        high = upper_end(upper.log_delta, self.log_delta[0], self.guess, slope, self.gap)
        low = lower_end(lower.log_delta, self.log_delta[1], high, slope, self.gap)
        return Interval.weighted(low, high)

    def width(self, interval: Interval) -> float:
        return (interval.upper - interval.lower) / interval.upper if interval.upper > 0 else 0.0


class GridEngine:
    """Certified epsilon and log delta of one direction with finite losses.

    Args:
        composition: pairs and counts; mass at infinite loss is the caller's.
    """

    def __init__(self, composition: Composition) -> None:
        self.composition = composition

    def log_delta(self, epsilon: float, gap: float | None) -> Interval:
        """Interval of ``log E (1 - e^(eps - L))_+`` at an epsilon below the supremum, of width at most about gap."""
        gap = gap or DEFAULT_GAP
        guide, tilt, depth = Guide.reaching(self.composition, epsilon)
        return self._refined(guide, tilt, depth, gap, _DeltaQuery(epsilon))

    def epsilon(self, log_delta: tuple[float, float], gap: float | None) -> Interval:
        """Interval of ``inf {eps >= 0: log E (1 - e^(eps - L))_+ <= log_delta}``, of relative width at most about gap.

        The target may itself be known up to an interval only: each end is met on its safe side.
        """
        gap = gap or DEFAULT_GAP
        target = log_delta[0]
        guide = Guide(self.composition, target - 50.0)
        tilt = guide.tilt_for_delta(target)
        guess = guide.epsilon(tilt)
        if guess <= 0:
            guess, tilt = 0.0, guide.saddle(0.0)
        return self._refined(guide, tilt, target, gap, _EpsilonQuery(log_delta, guess, gap))

    def _refined(self, guide: Guide, tilt: float, depth: float, gap: float, query: _Query) -> Interval:
        """Build, compose and measure until the interval is narrow enough or a limit binds."""
        best: Interval | None = None
        share, slope, points = 0.6, tilt, 0
        for _ in range(ATTEMPTS):
            epsilon = query.epsilon(best)
            if best is not None and epsilon != query.epsilon(None):
                tilt = guide.saddle(epsilon)
            # what is asked may span many e-folds of delta (near the end of a bounded loss): the law is linear within
            # one
            asked = min(max(query.tolerance(gap, epsilon, slope), LEAST_TOLERANCE), 1.0)
            bend = min(tilt, query.steepest(gap, epsilon))
            run = _Run(self.composition, guide, bend, epsilon, depth, asked, share)
            lower, upper = run.sums()
            found = query.measure(lower, upper, run.slope(tilt))
            best = found if best is None else best.intersected(found)
            width = query.width(best)
            points += len(upper)
            if width <= gap or run.limited or points > MAX_POINTS:
                break
            at = query.epsilon(best)
            deeper, slope = query.depth(depth, best), upper.slope(at) or slope
            if deeper > depth - 1.0 and abs(at - epsilon) <= 0.05 * at:  # else the guess was to blame, not the mesh
                share *= min(max(0.7 * gap / width, 0.02), 0.7)
            depth = deeper
        assert best is not None
        limited = run.limited or "refining the mesh no longer narrowed the interval"
        return replace(best, limited=limited if query.width(best) > gap else None, engine="grid")


class _Run:
    """One choice of tilt, window and mesh, and the two sums it gives.

    Args:
        composition: one direction.
        guide: its approximate cumulants.
        saddle: saddle point of epsilon, or where that is steeper than what is asked can show, how fast delta falls
        over that. epsilon: where to look.
        depth: about log delta there.
        asked: difference wanted of the two sides' log delta; tails and losses are kept well below.
        share: of that, what the mesh may cause by the error law.
    """

    def __init__(
        self,
        composition: Composition,
        guide: Guide,
        saddle: float,
        epsilon: float,
        depth: float,
        asked: float,
        share: float,
    ) -> None:
        self.composition, self.guide, self.epsilon = composition, guide, epsilon
        self.limited: str | None = None
        self.asked, self.share = asked, share
        log_share = math.log(min(asked, 1e-2)) - 8.0 - math.log(composition.count)
        self.reach = Reach(depth + log_share, log_share)
        self.log_lost = self.reach.log_floor + math.log(composition.count)
        self.unit, self.lattice = _atom_distance(composition)
        if self.lattice:  # more tilt than this puts all mass on one atom
            saddle = min(saddle, LATTICE_TILT / self.unit)
        self.t, self.window = self._tilt_and_window(saddle, depth)
        least = (self.window.high - self.window.low) / MAX_POINTS
        if self.t * least > MAX_LIFT:  # too fine for the memory: less tilt, then
            saddle *= MAX_LIFT / (self.t * least)
            self.t, self.window = self._tilt_and_window(saddle, depth)
        self.kappas = [c.k0 for c in guide.pair_cumulants(self.t)]
        self.h, self.lower, self.upper = self._mesh(saddle)

    def sums(self) -> tuple[GridSum, GridSum]:
        """Lower and upper sum."""
        counts = [count for _, count in self.composition.rounds]
        lower = GridSum(list(zip(self.lower, counts, strict=True)), self.window, -1, self.log_lost)
        upper = GridSum(list(zip(self.upper, counts, strict=True)), self.window, +1, self.log_lost)
        return lower, upper

    def slope(self, saddle: float) -> float:
        """About -d log delta / d eps: the saddle, or where that is tiny what the width of the law allows."""
        return max(saddle, 1e-3 / max(math.sqrt(self.guide.cumulants(saddle).k2), 1e-300))

    def _tilt_and_window(self, saddle: float, depth: float) -> tuple[float, Window]:
        """The tilt with the shortest window among a few, its tails small against the answer."""
        choices: list[tuple[float, float, Window]] = []
        least = math.inf
        for factor in TILTS:
            t = factor * saddle
            c = self.guide.cumulants(t)
            top = c.k0 - t * self.epsilon + log_peak(t)
            noise = c.k0 - t * self.epsilon - math.log(t) - math.log1p(t)  # what rounding weighs: the integral of f
            least = min(least, noise)
            if noise > least + MAX_AMPLIFICATION:
                break
            log_tail = math.log(min(self.asked, 0.1)) + min(depth - top, 0.0) - 4.0
            high, theta_high = self.guide.tail_tilt(t, log_tail, +1)
            low, theta_low = self.guide.tail_tilt(t, log_tail, -1)
            # mass above `high` only matters where f has not faded, and mass that wraps to below epsilon is lost
            low = min(low, self.epsilon)
            width = max(high - self.epsilon, self.epsilon - low)
            faded = self.epsilon + min(high - self.epsilon, (10.0 - math.log(min(self.asked, 0.1))) / t)
            width = max(width, faded - low)
            width = max(width, 4 / t) if high - low < 1e-9 * abs(high) else width
            choices.append((width, t, Window(low, low + width, theta_low, theta_high)))
        _, t, window = min(choices, key=lambda choice: choice[0])
        return t, window

    def _mesh(self, saddle: float) -> tuple[float, list[GridLaw], list[GridLaw]]:
        """The gap h and the laws on it, brought to the asked difference of the two sides' cumulants."""
        k, t = self.composition.count, self.t
        unit = self.unit if self.unit > 0 else None
        asked = self.share * self.asked * (t * (1 + t)) / (saddle * (1 + saddle))
        h = math.sqrt(8 * asked / (k * t * (1 + t)))
        width = self.window.high - self.window.low
        h = self.unit if self.lattice else min(h, unit or width / 16)
        for attempt in range(8):
            h = self._allowed(min(h, MAX_LIFT / t), width, unit)
            laws = [
                self._laws(pair, count, kappa, h)
                for (pair, count), kappa in zip(self.composition.rounds, self.kappas, strict=True)
            ]
            lower, upper = [a for a, _ in laws], [b for _, b in laws]
            counts = [count for _, count in self.composition.rounds]
            spread_by = math.fsum(n * (b.log_mass - a.log_mass) for n, a, b in zip(counts, lower, upper, strict=True))
            if self.limited or self.lattice or attempt == 7:
                break
            if spread_by > 1.3 * asked:
                h *= max(math.sqrt(0.8 * asked / spread_by), 0.1) if math.isfinite(spread_by) else 0.1
            elif spread_by < 0.2 * asked and width / h > 1 << 15 and (unit is None or h < 0.999 * unit):
                h *= min(math.sqrt(0.7 * asked / max(spread_by, 1e-300)), 8.0)
            else:
                break
        return h, lower, upper

    def _allowed(self, h: float, width: float, unit: float | None) -> float:
        """h within the limits of memory and of rounding, and a whole part of the distance between two atoms."""
        least = width / MAX_POINTS
        for (pair, _), kappa in zip(self.composition.rounds, self.kappas, strict=True):
            mesh = Mesh(0.0, h, self.t, kappa)
            atoms = pair.atoms.finite().loss
            losses = atoms[atoms >= self.reach.least_loss(mesh)]
            if pair.smooth is not None:
                losses = np.append(losses, ends(pair.smooth, mesh, self.reach)[1])
            if len(losses):
                least = max(least, float(losses.max() - losses.min()) / MAX_CELLS)
        if h < least:
            h, self.limited = least, "the mesh is as fine as the memory limit allows"
        if unit is not None and not self.lattice and unit >= least:  # else atoms have to lie off the grid
            parts = max(1, math.ceil(unit / h - 1e-9))
            h = unit / (parts if unit / parts >= least else max(1, parts - 1))
        return h

    def _laws(self, pair: DominatingPair, count: int, kappa: float, h: float) -> tuple[GridLaw, GridLaw]:
        low, high = pair.loss_range
        offset = high if math.isfinite(high) else low if math.isfinite(low) else 0.0
        mesh = Mesh(offset, h, self.t, kappa)
        try:
            cells = integrate(pair, mesh, replace(self.reach, count=count))
        except OverflowError as error:
            raise NotApplicableError(f"the grid engine cannot answer within its memory: {error}") from error
        if cells.worst_slip > MAX_SLIP:
            self.limited = "the mesh is as fine as double precision allows"
        return merge(cells, mesh), spread(cells, mesh)


def _atom_distance(composition: Composition) -> tuple[float, bool]:
    """A gap on whose multiples the atoms of the pairs lie (0 if there are none), and whether nothing else is there.

    Two atoms lie on any lattice that divides their distance; its offset is free. Where the distances have no common
    divisor worth the name, the widest is taken: the others' lower atoms then lie off the grid.
    """
    atomic = [pair for pair, _ in composition.rounds if len(pair.atoms.finite().loss) > 0]
    spans = [pair.loss_range[1] - pair.loss_range[0] for pair in atomic]
    spans = [span for span in spans if math.isfinite(span) and span > 0]
    if not spans:
        return 0.0, False
    exact = [2 * pair.exact_supremum for pair in atomic if pair.exact_supremum]
    unit = max(spans)
    common = len(exact) == len(spans)
    if common:
        divisor = exact[0]
        for span in exact[1:]:
            divisor = Fraction(
                math.gcd(divisor.numerator * span.denominator, span.numerator * divisor.denominator),
                divisor.denominator * span.denominator,
            )
        common = unit / float(divisor) <= MAX_PARTS
        unit = float(divisor) if common else unit
    common = common or min(spans) == unit
    alone = all(pair.smooth is None and len(pair.atoms.finite().loss) == 2 for pair, _ in composition.rounds)
    return unit, alone and common


def upper_end(log_delta: Callable[[float], float], target: float, guess: float, slope: float, gap: float) -> float:
    """An epsilon >= 0 at which a certified upper bound of log delta is at most the target, near the least one."""
    low, high, step = guess, guess, _first_step(log_delta(guess) - target, guess, slope)
    if log_delta(guess) > target:
        while log_delta(high) > target:
            low, high, step = high, high + step, 2 * step
    else:
        while log_delta(low) <= target:
            if low == 0.0:
                return 0.0
            high, low, step = low, max(low - step, 0.0), 2 * step
    root = _root(log_delta, target, low, high, gap)
    step = 1e-3 * gap * root + math.ulp(root)
    while log_delta(root) > target:
        root, step = min(root + step, high), 2 * step
    return root


def lower_end(log_delta: Callable[[float], float], target: float, guess: float, slope: float, gap: float) -> float:
    """An epsilon >= 0 at which a certified lower bound of log delta exceeds the target, near the greatest; 0 if none.

    Searched downwards from an upper end: far from there a lower bound may be worth nothing.
    """
    low, high, step = guess, guess, _first_step(0.01 * gap * guess * slope, guess, slope)
    while log_delta(low) <= target:
        if low == 0.0:
            return 0.0
        high, low, step = low, max(low - step, 0.0), 2 * step
    root = low if low == high else _root(log_delta, target, low, high, gap)
    step = 1e-3 * gap * root + math.ulp(root)
    while root > low and log_delta(root) <= target:
        root, step = max(root - step, low), 2 * step
    return root


def _first_step(excess: float, guess: float, slope: float) -> float:
    """How far the root may be, from the slope; bounded, since the slope only holds nearby."""
    step = 1.5 * abs(excess) / slope if math.isfinite(excess) else math.inf
    return max(min(step, 1 / slope + guess), 1e-9 * guess, 1e-15 / slope)


def _root(log_delta: Callable[[float], float], target: float, low: float, high: float, gap: float) -> float:
    from scipy.optimize import brentq

    def above(epsilon: float) -> float:
        return max(log_delta(epsilon), -1e6) - target

    return float(brentq(above, low, high, xtol=max(1e-3 * gap * high, 1e-300), rtol=1e-14))
