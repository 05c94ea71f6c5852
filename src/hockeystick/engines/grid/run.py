"""One choice of tilt, window and mesh for the grid engine, and the laws of all rounds on that mesh.

Error law. On a uniform grid of gap h, spreading adds ``h^2/6`` to the variance of one round's loss, and merging
subtracts ``h^2/12``. For k rounds and tilt t, ``log delta`` moves by about ``k t (1+t)/2`` times the change of the
variance, so the log deltas of the two sides differ by ``G = k t (1+t) h^2 / 8``. This law gives the first h. The
cumulants of the laws actually built, ``log E e^(tL)`` on either side, correct h before anything is composed.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from hockeystick.engines.grid.cells import MAX_LIFT, Reach, ends, integrate, reached
from hockeystick.engines.grid.laws import ALIGNMENTS, merge, spread
from hockeystick.engines.grid.layout import Layout, atom_distance
from hockeystick.engines.grid.work import MEMORY, PLACE, SEEN, WORK, TooLongError, begin, check_range, left
from hockeystick.engines.guide import Guide
from hockeystick.numerics.arrays import MOST_POINTS
from hockeystick.numerics.budget import MOST
from hockeystick.numerics.lattice import FADE, GridLaw, GridSum, Mesh, Window
from hockeystick.numerics.logarithm import log_peak
from hockeystick.numerics.rounding import UNIT_ROUNDOFF
from hockeystick.pairs import Composition, DominatingPair
from hockeystick.values.errors import NotApplicableError
from hockeystick.values.side import Side

ATTEMPTS = 10  # largest number of runs of a query, and of meshes of a run; each uses the results of the previous one
MAX_SLIP = 1 / 16  # largest rounding error of a loss, in grid gaps
WORTHWHILE = 0.85  # a smaller gap is tried only if it is below this share of the last gap
COARSER = 8.0  # factor on the gap if the first mesh takes too long
TILTS = (1.0, 0.85, 0.7, 0.55, 0.4, 0.25, 0.12, 0.05)  # tilts tried, relative to the saddle point
MAX_AMPLIFICATION = 2.5  # largest log of the factor by which a smaller tilt amplifies rounding

Counted = list[tuple[GridLaw, int]]


@dataclass(frozen=True, slots=True)
class Target:
    """The requirements of a query for one run.

    Attributes:
        epsilon: epsilon for which the run is set up.
        saddle: saddle point of epsilon. If the saddle point is larger than the largest useful tilt of the query, this
            is instead the mean decrease in log delta per unit of epsilon over the requested gap.
        depth: approximate log delta at this epsilon.
        asked: requested difference between the log deltas of the upper and the lower law. Errors from cut tails and
            from mass counted as lost are kept well below it.
        share: share of ``asked`` that the error law allows for the mesh.
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
        composition: the rounds of one direction.
        guide: approximate cumulants of the composition.
        target: requirements of the query.

    Raises:
        NotApplicableError: there is no mesh within the limits of work and memory.
    """

    def __init__(self, composition: Composition, guide: Guide, target: Target) -> None:
        self.composition, self.guide, self.target = composition, guide, target
        self.limited: str | None = None
        log_share = math.log(min(target.asked, 1e-2)) - 8.0 - math.log(composition.count)
        self.reach = Reach(target.depth + log_share, log_share)
        self.log_lost = self.reach.log_floor + math.log(composition.count)
        saddle = target.saddle
        unit, _, alone = atom_distance(composition)
        if alone:  # a larger tilt would put all mass on one atom
            saddle = min(saddle, MAX_LIFT / unit)
        self.t, self.window = self._tilt_and_window(saddle)
        width = self.window.high - self.window.low
        if not 0 < width < math.inf:
            raise NotApplicableError("the privacy loss cannot be distinguished from a constant")
        least = width / MOST_POINTS
        if self.t * least > MAX_LIFT:  # the grid would need too much memory: reduce the tilt
            saddle *= MAX_LIFT / (self.t * least)
            self.t, self.window = self._tilt_and_window(saddle)
        cumulants = guide.pair_cumulants(self.t)
        self.kappas = [c.k0 for c in cumulants]
        t = self.t
        asked = target.share * target.asked * (t * (1 + t)) / (saddle * (1 + saddle))
        pairs = [pair for pair, _ in composition.rounds]
        self._spans = [self._span(pair, kappa) for pair, kappa in zip(pairs, self.kappas, strict=True)]
        self._width = self.window.high - self.window.low
        self.layout = Layout.of(composition, t, asked, self._width)
        self.lower: Counted = []
        self.upper: Counted = []
        self.apart = 0.0  # difference between the log deltas that the cumulants of the laws built predict
        self._fit(asked)

    def sums(self) -> tuple[GridSum, GridSum]:
        """Return the lower and the upper law of the sum of all losses.

        Raises:
            NotApplicableError: the window needs too many grid points.
        """
        h = self.lower[0][0].mesh.h
        check_range(self._width / h, "the sum")
        begin(self._sums_cost / h, "the sums of all rounds")
        return (
            GridSum(self.lower, self.window, Side.BELOW),
            GridSum(self.upper, self.window, Side.ABOVE, self.log_lost),
        )

    @property
    def _sums_cost(self) -> float:
        """Units of work for the laws of both sums and for their evaluation, times the gap of the grid."""
        seen = min(self._width, FADE / self.t + math.log1p(1 / self.t))
        return 2 * PLACE * len(self.kappas) * self._width + 2 * self.target.looks * SEEN * seen

    def slope(self, saddle: float) -> float:
        """Return approximately ``-d log delta / d eps``: the saddle point, or a lower limit if that is larger.

        The lower limit is inversely proportional to the standard deviation of the tilted law.
        """
        return max(saddle, 1e-3 / max(math.sqrt(self.guide.cumulants(saddle).k2), 1e-300))

    def _tilt_and_window(self, saddle: float) -> tuple[float, Window]:
        """Return a tilt and a window of losses outside which the law with this tilt has negligible mass.

        Several tilts are tried, and the tilt with the shortest window is chosen.
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
            # mass above ``high`` is charged only where f is not negligible; mass wrapped to below epsilon adds nothing
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
        gap, built, cost = self.layout.gap, math.inf, PLACE * (self._width + sum(self._spans))
        for _ in range(ATTEMPTS):
            allowed = self._allowed(gap, cost)
            if max(gap, WORTHWHILE * built) < allowed and gap < built:  # the limits allow hardly any smaller gap
                break
            gap, kept, before = allowed, (self.lower, self.upper), left()
            try:
                self._build(gap, asked)
            except TooLongError:
                self.limited = WORK
                self.lower, self.upper = kept
                if self.lower or self.layout.exact:
                    break
                gap *= COARSER
                continue
            built, cost = gap, (before - left()) * gap
            pairs = zip(self.lower, self.upper, strict=True)
            self.apart = math.fsum(n * (b.log_mass - a.log_mass) for (a, n), (b, _) in pairs)
            if self.limited or self.layout.exact or self.apart <= 1.3 * asked:
                break
            gap *= max(math.sqrt(0.8 * asked / self.apart), 0.1) if math.isfinite(self.apart) else 0.1
        if not self.lower:
            raise TooLongError(WORK)

    def _allowed(self, gap: float, cost: float) -> float:
        """Return the gap, increased as far as the limits of memory and of work require.

        Args:
            gap: the requested gap.
            cost: units of work for the laws of all rounds, times their gap.
        """
        least = max(self._width / MOST_POINTS, max(self._spans) / MOST_POINTS)
        if gap < least:
            gap, self.limited = least, MEMORY
        least = (cost + self._sums_cost) / max(MOST * left(), 1.0)
        if gap < least and not self.layout.exact:
            gap, self.limited = least, WORK
        return gap

    def _build(self, gap: float, asked: float) -> None:
        """Build the lower and the upper law of every kind of round on a grid with about the given gap."""
        self.lower, self.upper = [], []
        h = self.layout.fitted(gap, self.t, max(self._spans) / MOST_POINTS)
        for (pair, count), kappa in zip(self.composition.rounds, self.kappas, strict=True):
            lower, upper = self._round(pair, count, kappa, h, asked * count / self.composition.count)
            self.lower.append((lower, count))
            self.upper.append((upper, count))

    def _span(self, pair: DominatingPair, kappa: float) -> float:
        """Return the width of the range of losses that are kept of one round."""
        mesh = Mesh(0.0, 1.0, self.t, kappa)
        losses = reached(pair, self.reach).loss
        if pair.smooth is not None:
            losses = np.append(losses[losses >= self.reach.least_loss(mesh)], ends(pair.smooth, mesh, self.reach)[1])
        return float(losses.max() - losses.min()) if len(losses) else 0.0

    def _round(self, pair: DominatingPair, count: int, kappa: float, h: float, asked: float) -> tuple[GridLaw, GridLaw]:
        """Return the lower and the upper law of one round on its grid.

        If the bulk of the law is too narrow to be merged on this grid, the grid is shifted and both laws are built
        again.
        """
        low, high = pair.loss_range
        offset = high if math.isfinite(high) else low if math.isfinite(low) else 0.0
        lower, upper = self._laws(pair, count, Mesh(offset, h, self.t, kappa))
        for _ in range(ALIGNMENTS):
            apart = count * (upper.log_mass - lower.log_mass)
            if lower.mesh.offset == offset or not apart > asked:
                break
            offset = lower.mesh.offset
            again = self._laws(pair, count, Mesh(offset, h, self.t, kappa))
            lower = max(lower, again[0], key=lambda law: law.log_mass)
            upper = min(upper, again[1], key=lambda law: law.log_mass)
        atoms = pair.atoms
        # atoms on grid points may be farther from them than the slip charged for the sum
        slip = atoms.units * UNIT_ROUNDOFF * float(np.abs(atoms.finite().loss).max(initial=0.0)) + np.max(atoms.slip)
        if not slip:
            return lower, upper
        return replace(lower, mesh=lower.mesh.moved(-slip)), replace(upper, mesh=upper.mesh.moved(slip))

    def _laws(self, pair: DominatingPair, count: int, mesh: Mesh) -> tuple[GridLaw, GridLaw]:
        try:
            cells = integrate(pair, mesh, replace(self.reach, count=count))
        except OverflowError as error:
            raise NotApplicableError(f"the grid engine exceeds its limits: {error}") from error
        if cells.worst_slip > MAX_SLIP:
            self.limited = "the grid is as fine as double precision allows"
        return merge(cells, mesh), spread(cells, mesh)
