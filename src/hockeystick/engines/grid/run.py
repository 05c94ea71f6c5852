"""One choice of tilt, window and mesh for the grid engine, and the laws of all rounds on that mesh.

Error law. On a uniform grid of gap h, spreading adds ``h^2/6`` to the variance of one round's loss, and merging
subtracts ``h^2/12``. For k rounds and tilt t, ``log delta`` moves by about ``k t (1+t)/2`` times the change of the
variance, so the log deltas of the two sides differ by ``G = k t (1+t) h^2 / 8``. This law gives the first h. The
cumulants of the laws actually built, ``log E e^(tL)`` on either side, correct h before anything is composed. If there
are S grids in stages, each of them may cause an equal part of G: a grid for k' blocks has the gap
``h = sqrt(8 G / (S k' t (1+t)))``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from hockeystick.engines.grid.cells import MAX_LIFT, Reach, ends, integrate, reached
from hockeystick.engines.grid.laws import merge, spread
from hockeystick.engines.grid.layout import Layout, Level, Spread, atom_distance
from hockeystick.engines.grid.stages import WHOLE_PERIOD, coarsen, compose
from hockeystick.engines.grid.work import (
    ATOM,
    BLOCK,
    LAYOUT_POINT,
    MEMORY,
    MOVED,
    PLACE,
    POINT,
    SEEN,
    WORK,
    TooLongError,
    begin,
    check_range,
    left,
)
from hockeystick.engines.guide import Guide, quiet
from hockeystick.numerics.lattice import FADE, GridLaw, GridSum, Mesh, Window
from hockeystick.numerics.logarithm import log_peak
from hockeystick.numerics.rounding import UNIT_ROUNDOFF
from hockeystick.pairs import Composition, DominatingPair
from hockeystick.values.errors import NotApplicableError
from hockeystick.values.side import Side

LATTICE_TILT = 30.0  # largest tilt times the distance of two atoms
MAX_POINTS = 1 << 21  # points of the window; about 250 MB at the peak
MAX_CELLS = 1 << 20  # of one round
MAX_SLIP = 1 / 16  # rounding of a loss, in cells
FIT_SHARE = 0.8  # share of the remaining work that one mesh may take
WORTHWHILE = 0.85  # only gaps below this share of the last one are tried
COARSENINGS = 2  # how often a mesh that takes too long is replaced by a coarser one
COARSER = 8.0  # factor on the gap if the first mesh takes too long
HOPELESS = 100.0  # stages are abandoned if the sides differ by more than this times the request
REALIGNMENTS = 2  # moves of the grid of one round
FITS = 8  # adjustments of the mesh to the difference that it causes
TILTS = (1.0, 0.85, 0.7, 0.55, 0.4, 0.25, 0.12, 0.05)  # relative to the saddle point: less tilt may shorten the window
MAX_AMPLIFICATION = 2.5  # log of the factor by which less tilt may amplify rounding

Counted = list[tuple[GridLaw, int]]


@dataclass(frozen=True, slots=True)
class Target:
    """The query that a run serves.

    Attributes:
        epsilon: epsilon for which the run is set up.
        saddle: saddle point of epsilon. If it is a larger tilt than the query can resolve, this is instead the mean
            rate at which delta falls over the requested gap.
        depth: approximate log delta at this epsilon.
        asked: requested difference between the log deltas of the upper and the lower law; the errors from cut tails and
            from mass counted as lost are kept well below it.
        share: share of ``asked`` that the mesh may cause by the error law.
        looks: number of times that delta is evaluated for the answer.
    """

    epsilon: float
    saddle: float
    depth: float
    asked: float
    share: float
    looks: int


class Run:
    """Tilt, window and mesh for a query, and the laws of all rounds on that mesh.

    Args:
        composition: one direction.
        guide: approximate cumulants of the composition.
        target: query to serve.

    Raises:
        NotApplicableError: there is no mesh within the limits of work and memory.
    """

    def __init__(self, composition: Composition, guide: Guide, target: Target) -> None:
        self.composition, self.guide, self.target = composition, guide, target
        self.limited: str | None = None
        log_share = math.log(min(target.asked, 1e-2)) - 8.0 - math.log(composition.count)
        self.reach = Reach(target.depth + log_share, log_share)
        self._log_lost = self.reach.log_floor + math.log(composition.count)
        saddle = target.saddle
        unit, _, alone = atom_distance(composition)
        if alone:  # a larger tilt would put all mass on one atom
            saddle = min(saddle, LATTICE_TILT / unit)
        self.t, self.window = self._tilt_and_window(saddle)
        width = self.window.high - self.window.low
        if not 0 < width < math.inf:
            raise NotApplicableError("the privacy loss cannot be distinguished from a constant")
        least = width / MAX_POINTS
        if self.t * least > MAX_LIFT:  # the grid would need too much memory: reduce the tilt
            saddle *= MAX_LIFT / (self.t * least)
            self.t, self.window = self._tilt_and_window(saddle)
        cumulants = guide.pair_cumulants(self.t)
        self.kappas = [c.k0 for c in cumulants]
        t = self.t
        asked = target.share * target.asked * (t * (1 + t)) / (saddle * (1 + saddle))
        pairs = [pair for pair, _ in composition.rounds]
        spans = [self._span(pair, kappa, self.reach) for pair, kappa in zip(pairs, self.kappas, strict=True)]
        self.spreads = [Spread(span, math.sqrt(c.k2)) for span, c in zip(spans, cumulants, strict=True)]
        self.layout = Layout.of(composition, t, asked, self.window.high - self.window.low, self.spreads)
        self.lower: Counted = []
        self.upper: Counted = []
        self.log_lost = self._log_lost
        self._deeper = 0.0  # amount by which the log of the P-mass above a block's window must be lower
        self.apart = 0.0  # difference of the log deltas, by the laws built
        # of all grids together if their gaps are those of the layout
        self._cost = LAYOUT_POINT * self.layout.points(self.window.high - self.window.low, self.spreads)
        self._fit(asked)
        if self.layout.staged and not self.apart <= HOPELESS * asked:  # low tails too heavy for blocks
            self._try_one_grid(asked)

    def _try_one_grid(self, asked: float) -> None:
        """Use one grid for all rounds instead of stages if that is possible and the two sides then differ less."""
        staged = self.layout, self.lower, self.upper, self.log_lost, self.apart, self.limited
        width = self.window.high - self.window.low
        self.layout = Layout.of(self.composition, self.t, asked, width, self.spreads, False)
        if not self.layout.staged:
            self._cost, self.limited = LAYOUT_POINT * self.layout.points(width, self.spreads), None
            self.lower, self.upper, self.log_lost = [], [], self._log_lost
            try:
                self._fit(asked)
            except NotApplicableError:
                self.apart = math.nan
            if self.apart < staged[4] or math.isnan(staged[4]):
                return
        self.layout, self.lower, self.upper, self.log_lost, self.apart, self.limited = staged

    @property
    def h(self) -> float:
        """Gap of the grid on which the losses of all rounds are summed."""
        return self.lower[0][0].mesh.h

    def sums(self) -> tuple[GridSum, GridSum]:
        """Return the lower and the upper law of the sum of all losses.

        Raises:
            NotApplicableError: the window needs too many grid points.
        """
        check_range((self.window.high - self.window.low) / self.h, "the sum")
        begin(self._sums_cost(self.h), "the sums of all rounds")
        return (
            GridSum(self.lower, self.window, Side.BELOW),
            GridSum(self.upper, self.window, Side.ABOVE, self.log_lost),
        )

    def _sums_cost(self, h: float) -> float:
        """Return the units of work for both sums and their evaluation on a grid of gap h, proportional to 1/h."""
        width = self.window.high - self.window.low
        seen = min(width, FADE / self.t + math.log1p(1 / self.t))
        laws = 2 * sum(len(route.copies) for route in self.layout.routes)
        return (POINT * laws * width + 2 * self.target.looks * SEEN * seen) / h

    def slope(self, saddle: float) -> float:
        """Return approximately ``-d log delta / d eps``: the saddle point, or a lower limit if that is larger.

        The lower limit is inversely proportional to the standard deviation of the tilted law.
        """
        return max(saddle, 1e-3 / max(math.sqrt(self.guide.cumulants(saddle).k2), 1e-300))

    def _tilt_and_window(self, saddle: float) -> tuple[float, Window]:
        """Return a tilt and a window of losses outside which the law with this tilt has negligible mass.

        Among a few tilts, the one with the shortest window is chosen.
        """
        epsilon, asked = self.target.epsilon, min(self.target.asked, 0.1)
        choices: list[tuple[float, float, Window]] = []
        least = math.inf
        for factor in TILTS:
            t = factor * saddle
            c = self.guide.cumulants(t)
            top = c.k0 - t * epsilon + log_peak(t)
            noise = c.k0 - t * epsilon - math.log(t) - math.log1p(t)  # log of the weight of rounding: the integral of f
            least = min(least, noise)
            if noise > least + MAX_AMPLIFICATION:
                break
            log_tail = math.log(asked) + min(self.target.depth - top, 0.0) - 4.0
            high, theta_high = self.guide.tail_tilt(t, log_tail, +1)
            low, theta_low = self.guide.tail_tilt(t, log_tail, -1)
            # mass above `high` only matters where f has not faded, and mass that wraps to below epsilon is lost
            low = min(low, epsilon)
            width = max(high - epsilon, epsilon - low)
            faded = epsilon + min(high - epsilon, (10.0 - math.log(asked)) / t)
            width = max(width, faded - low)
            width = max(width, 4 / t) if high - low < 1e-9 * abs(high) else width
            choices.append((width, t, Window(low, low + width, theta_low, theta_high)))
        _, t, window = min(choices, key=lambda choice: choice[0])
        return t, window

    def _fit(self, asked: float) -> None:
        """Refine the laws until the log moments of the two sides differ by about ``asked``, or the work is used up."""
        scale, built, width = 1.0, math.inf, self.window.high - self.window.low
        widest = max(route.unit for route in self.layout.routes) / self.layout.gap or math.inf
        for attempt in range(FITS):
            allowed = self._allowed(scale)
            if max(scale, WORTHWHILE * built) < allowed and scale < built:  # hardly finer than now, if at all
                break
            scale, kept, before = allowed, (self.lower, self.upper, self.log_lost), left()
            try:
                self._build(scale, asked)
            except TooLongError:
                self.limited = WORK
                self.lower, self.upper, self.log_lost = kept
                if self.lower:
                    break
                if attempt == COARSENINGS or self.layout.fixed:
                    raise
                scale *= COARSER
                continue
            built, self._cost = scale, (before - left()) * scale
            excess = self.log_lost - (self.target.depth + math.log(min(self.target.asked, 0.1)) - 2.0)
            if excess > 0 and self._deeper == 0:  # the tails built are heavier than the guide's
                self._deeper = 2 * excess + 20
                continue
            pairs = zip(self.lower, self.upper, strict=True)
            self.apart = apart = math.fsum(n * (b.log_mass - a.log_mass) for (a, n), (b, _) in pairs)
            if self.limited or self.layout.fixed:
                break
            if apart > 1.3 * asked:
                scale *= max(math.sqrt(0.8 * asked / apart), 0.1) if math.isfinite(apart) else 0.1
            elif apart < 0.2 * asked and width > (1 << 15) * scale * self.layout.gap and scale < 0.999 * widest:
                scale *= min(math.sqrt(0.7 * asked / max(apart, 1e-300)), 8.0)
            else:
                break

    def _allowed(self, scale: float) -> float:
        """Return the scale of the gaps, raised as far as the limits of memory and of work require."""
        least = (self.window.high - self.window.low) / MAX_POINTS / self.layout.gap
        for route, one in zip(self.layout.routes, self.spreads, strict=True):
            reach = one.of(route.levels[-1].rounds) if route.levels else one.span
            least = max(least, reach / MAX_CELLS / self.layout.gap)
        if scale < least:
            scale, self.limited = least, MEMORY
        least = (self._cost + self._sums_cost(self.layout.gap)) / max(FIT_SHARE * left(), 1.0)
        if scale < least and not self.layout.fixed:
            scale, self.limited = least, WORK
        return scale

    def _build(self, scale: float, asked: float) -> None:
        """Build the lower and the upper law of every kind of round, with all gaps multiplied by ``scale``."""
        self.lower, self.upper, self.log_lost = [], [], self._log_lost
        gap = self.layout.gap * scale
        for i, ((pair, count), route) in enumerate(zip(self.composition.rounds, self.layout.routes, strict=True)):
            first = route.first_gap(scale, self.t, self.spreads[i].span / MAX_CELLS)
            if not self.layout.staged:
                gap = first if i == 0 else gap
                first = gap
            lower, upper = self._round(pair, count, self.kappas[i], first, asked * count / self.composition.count)
            for law, side, out in ((lower, Side.BELOW, self.lower), (upper, Side.ABOVE, self.upper)):
                laws = [law]
                for level in route.levels:
                    to = gap if level is route.levels[-1] else max(level.gap * scale, laws[0].mesh.h)
                    laws = [self._block(i, laws, recipe, level, to, side) for recipe in level.recipes]
                out += zip(laws, route.copies, strict=True)

    def _block(
        self, i: int, laws: list[GridLaw], recipe: tuple[int, ...], level: Level, gap: float, side: Side
    ) -> GridLaw:
        """Return the law of one block, moved to the next grid.

        For an upper bound, the P-mass above the window of the block is charged to delta.
        """
        parts = [(law, n) for law, n in zip(laws, recipe, strict=True) if n]
        window = self._block_window(i, level)
        if not math.isfinite(window.high - window.low):  # the cost of a block is not finite either
            raise NotApplicableError("losses exceed the range of a double")
        finest = (window.high - window.low) / MAX_POINTS
        if parts[0][0].mesh.h < finest:
            self.limited = MEMORY
            parts = [(self._coarsened(law, finest, side), n) for law, n in parts]
        h = parts[0][0].mesh.h
        length = sum(n * (len(law.mass) - 1) for law, n in parts) + 1
        places = min((window.high - window.low) / h, max(length, WHOLE_PERIOD))
        check_range(places, "a block")
        cost = BLOCK + POINT * len(parts) * places + PLACE * sum(len(law.mass) for law, _ in parts)
        begin(cost, "blocks of rounds span too wide a range")
        law, lost = compose(parts, window, side)
        if side is Side.ABOVE:
            self.log_lost = float(np.logaddexp(self.log_lost, lost + math.log(level.blocks) + 1e-9))
        return law if law.mesh.h == gap else self._coarsened(law, gap, side)

    def _coarsened(self, law: GridLaw, h: float, side: Side) -> GridLaw:
        """Return a law moved to a grid of gap h, after deducting the work from the budget."""
        places = len(law.mass) * law.mesh.h / h
        check_range(places, "a block on the common grid")
        begin(MOVED + ATOM * (len(law.mass) + places), "blocks of rounds need too many grid points")
        return coarsen(law, h, side)

    @quiet
    def _block_window(self, i: int, level: Level) -> Window:
        """Return a window of losses for a block, with little tilted mass outside it and even less P-mass above it.

        Any window gives valid bounds. If moments exceed the range of a double, the window may be NaN, and the caller
        refuses it.
        """
        t, k = self.t, level.rounds
        base, variance = self.guide.pair_cumulants(t)[i].k0, self.guide.pair_cumulants(t)[i].k2
        log_share = math.log(min(self.target.asked, 0.1)) - math.log(level.blocks)
        thetas = np.geomspace(0.05, 50.0, 40) / max(math.sqrt(k * variance), 1e-300)
        upwards = self.guide.moments_of(i, t + thetas)
        edges = (k * (upwards - base) - (log_share - 18.0)) / thetas
        log_floor = self.target.depth + log_share - 8.0 - self._deeper
        floors = (k * upwards - log_floor) / (t + thetas)
        high = max(float(edges.min()), float(floors.min()))
        downwards = np.append(np.maximum(thetas, t), t)
        lows = (k * (self.guide.moments_of(i, t - downwards) - base) - (log_share - 18.0)) / downwards
        theta_high = float(thetas[int(np.argmin((k * (upwards - base)) - thetas * high))])
        return Window(-float(lows.min()), high, float(downwards[int(np.argmin(lows))]), theta_high)

    def _span(self, pair: DominatingPair, kappa: float, reach: Reach) -> float:
        """Return the width of the range of losses that are kept of one round."""
        mesh = Mesh(0.0, 1.0, self.t, kappa)
        losses = reached(pair, reach).loss
        if pair.smooth is not None:
            losses = np.append(losses[losses >= reach.least_loss(mesh)], ends(pair.smooth, mesh, reach)[1])
        return float(losses.max() - losses.min()) if len(losses) else 0.0

    def _round(self, pair: DominatingPair, count: int, kappa: float, h: float, asked: float) -> tuple[GridLaw, GridLaw]:
        """Return the lower and the upper law of one round on its grid.

        If the bulk of the law is too narrow to be merged on this grid, the grid is shifted and both laws are built
        again.
        """
        low, high = pair.loss_range
        offset = high if math.isfinite(high) else low if math.isfinite(low) else 0.0
        lower, upper = self._laws(pair, count, Mesh(offset, h, self.t, kappa))
        for _ in range(REALIGNMENTS):
            apart = count * (upper.log_mass - lower.log_mass)
            if lower.mesh.offset == offset or not apart > asked:
                break
            offset = lower.mesh.offset
            again = self._laws(pair, count, Mesh(offset, h, self.t, kappa))
            lower = max(lower, again[0], key=lambda law: law.log_mass)
            upper = min(upper, again[1], key=lambda law: law.log_mass)
        atoms = pair.atoms
        # atoms on grid points may err by more than the sum's own slip covers
        slip = atoms.units * UNIT_ROUNDOFF * float(np.abs(atoms.finite().loss).max(initial=0.0)) + np.max(atoms.slip)
        if not slip:
            return lower, upper
        return replace(lower, mesh=lower.mesh.moved(-slip)), replace(upper, mesh=upper.mesh.moved(slip))

    def _laws(self, pair: DominatingPair, count: int, mesh: Mesh) -> tuple[GridLaw, GridLaw]:
        try:
            reach = replace(self.reach, count=count)
            if self.layout.staged:
                # the part cut off by its tilt is bounded by a P-mass of 1: too much for the low tails of a block
                whole = replace(reach, log_low=-math.inf)
                if self._span(pair, mesh.kappa, whole) < MAX_CELLS * mesh.h:
                    reach = whole
            cells = integrate(pair, mesh, reach)
        except OverflowError as error:
            raise NotApplicableError(f"the grid engine exceeds its limits: {error}") from error
        if cells.worst_slip > MAX_SLIP:
            self.limited = "the grid is as fine as double precision allows"
        return merge(cells, mesh), spread(cells, mesh)
