"""Bound on the decay of the characteristic function of a Poisson-sampled Laplace round, for all s from a given one on.

Expectations are those of the tilted law, ``E_t f = E[f e^(tL)] / m(t)``; ``phi(s) = |m(t + is) / m(t)|^2 = E_t cos(s (L
- L'))``, L' a copy of L.

**Between values.** As ``|phi''| <= E_t (L - L')^2 = 2 V``, V the variance, between two neighbours on a grid of step d
phi exceeds the larger of its values there by at most ``V d^2 / 4``: a maximum between them is at most d/2 away from the
nearer one. V is bounded from above on cells of l, on which u and the density are monotone, by
``E_t (L - L_0)^2``, which for any L_0 is no smaller.

**Tail.** For every l0 in [-theta, theta), in parts, u' being positive,

    |int_l0^theta F e^(isu) dl| <= [H(l0) + H(theta) + TV(H)] / s <= 2 [H(l0) + H(theta)] / s ,

F the integrand of m(t) and ``H = F / u'``: with ``r = u' = q e^l / g``, which rises, ``(log H)' = -3/2 + (Re p + 1)
r``, so that H falls throughout or, for ``Re p + 1 > 0``, falls and then rises, and ``TV(H) <= H(l0) + H(theta)`` either
way. What lies below l0, and the atoms, keep their sizes. So ``|m(t + is)| <= m(t) - above(l0) + 2 [H(l0) + H(theta)] /
s`` with any lower bound on the part ``above(l0)`` of the integral, and ``|C(t + is)| <= below(l0) + 2 [H(l0) +
H(theta)] / s`` for the integral C alone, with any upper bound on the part below l0. Both fall with s.

**Grids.** The first has a step fine enough for the decay that the given number of rounds needs; each further grid, over
heights twice as large, has twice the step, as long as that costs little of the decay found so far. The tail bound takes
over where it is as small.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from hockeystick.numerics.rounding import SPARE, UNIT_ROUNDOFF
from hockeystick.pairs.sampled.laplace_law import LaplaceLaw
from hockeystick.pairs.sampled.poisson import mixed_slope

Array = npt.NDArray[np.float64]

CELLS = 256  # of l, for the variance and for the tail
FALL = 60.0  # log of the decay needed over all rounds: for deltas of 1e-20, to a relative 1e-7
MOST = 0.5  # fraction of the permanent decay of a round that is required
FINE = 0.02  # fraction of the required decay by which phi may rise between two points
COARSE = 0.1  # fraction of 1 by which it may rise at large heights
BAND = 32  # steps from the beginning to the end of a grid, at least
POINTS = 20_000  # on all grids
NOTHING = 1e-12  # relative to m(t): a decay that is indistinguishable from rounding
CLOSE, TOLERANCE = 1e-3, 1e-15  # fraction of that rise by which values may err (charged); least tolerance


class SmoothTail:
    """Mass and decay of the smooth part of a round at tilt t, all relative to ``m(t)``.

    Args:
        law: the round.
        t: tilt.
        log_m: log m(t).
        error: bound on the error of ``log_m``.

    Attributes:
        above: shape (n,), lower bounds on the smooth part above the lower end l0 of each cell.
        below: shape (n,), upper bounds on the smooth part below l0.
        ends: shape (n,), upper bounds on ``H(l0) + H(theta)``.
        whole: an upper bound on the whole smooth part.
        variance: an upper bound on V; infinite if theta is out of reach.
    """

    def __init__(self, law: LaplaceLaw, t: float, log_m: float, error: float) -> None:
        edges = law.graded(t, CELLS)
        self.above, self.below, self.ends = np.zeros(1), np.zeros(1), np.full(1, math.inf)
        self.whole, self.variance = 1.0, math.inf
        if edges is None:
            return
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):  # infinities bound nothing
            self._take(law, t, edges, log_m, error)

    def _take(self, law: LaplaceLaw, t: float, edges: Array, log_m: float, error: float) -> None:
        u = law.mixed(edges)
        ends = law.power(t) * u
        log_shares = np.log(-np.expm1(-0.5 * np.diff(edges)))
        log_mass = law.log_top + log_shares - 0.5 * (edges[:-1] + law.theta) - log_m
        more = error + SPARE * (1 + abs(law.log_top) + float(np.abs(ends).max()))
        most = np.exp(log_mass + np.maximum(ends[:-1], ends[1:]) + more)
        least = np.exp(log_mass + np.minimum(ends[:-1], ends[1:]) - more)
        at = law.mixed(np.array(law.losses))
        atoms = np.exp(np.array(law.log_masses) + law.power(t) * at - log_m + more)
        middle = float((most * 0.5 * (u[1:] + u[:-1])).sum() + (atoms * at).sum()) / float(most.sum() + atoms.sum())
        farthest = np.maximum(np.square(u[:-1] - middle), np.square(u[1:] - middle))
        squares = float((most * farthest).sum() + (atoms * np.square(at - middle)).sum())
        self.variance = squares * (1 + SPARE)
        self.whole = float(most.sum()) * (1 + SPARE)
        self.above = np.cumsum(least[::-1])[::-1] * (1 - SPARE)
        self.below = np.concatenate([[0.0], np.cumsum(most)[:-1]]) * (1 + SPARE)
        log_density = law.log_top - math.log(2) - 0.5 * (edges + law.theta) + ends - log_m
        ratio = np.exp(log_density - np.log(mixed_slope(edges, u, law.rate)) + more)
        self.ends = (ratio[:-1] + ratio[-1]) * (1 + SPARE)

    def lost(self, s: Array) -> Array:
        """Return the permanent decay of the smooth part at each height s, at least 0."""
        with np.errstate(over="ignore"):  # a share of minus infinity, next to height 0, is none
            shares = self.above[None, :] - np.multiply.outer(2 / s, self.ends)
        out: Array = np.minimum(np.maximum(shares.max(axis=1), 0.0) * (1 - SPARE), 1 - SPARE)
        return out

    def log_bound(self, s: Array) -> Array:
        """Return the log of a bound on m, relative to m(t), that holds from each height on."""
        return np.minimum(np.log1p(-self.lost(s)), 0.0)

    @property
    def floor(self) -> float:
        """Log of the least value of the bounds at any height: m decays by at most the mass of the smooth part."""
        return math.log1p(-min(max(float(self.above.max()), 0.0), 1 - SPARE))

    def left(self, s: Array) -> Array:
        """Upper bound on the smooth part from each height s on."""
        sizes = self.below[None, :] + np.multiply.outer(2 / s, self.ends)
        out: Array = np.minimum(sizes.min(axis=1) * (1 + SPARE), self.whole)
        return out


class EnvelopeGrids:
    """Bound on the decay of m of one round at tilt t, by its values on grids of heights.

    Args:
        law: the round.
        t: tilt.
        count: the power to which the bound will be raised.
        smooth: the smooth part of the round at that tilt.
        line: function that builds the line through t up to a height, to a tolerance.
    """

    def __init__(self, law: LaplaceLaw, t: float, count: int, smooth: SmoothTail, line: Any) -> None:
        self._law, self._t, self._line = law, t, line
        self._found = np.array([0.0, math.inf]), np.zeros(1)
        most = float(smooth.above.max())
        wanted = min(-math.expm1(-FALL / count), MOST * most)
        if not (0 < smooth.variance < math.inf and wanted > NOTHING):
            return
        with np.errstate(over="ignore", invalid="ignore", divide="ignore", under="ignore"):
            ends = 2 * smooth.ends / np.maximum(smooth.above - wanted, 1e-300)
            end = float(ends[smooth.above > wanted].min(initial=math.inf))
            self._sample(wanted, end, smooth)

    def log_bound(self, edges: Array) -> Array:
        """Return the largest value from each edge on, over the grid points, their gaps, and the tail beyond them."""
        heights, worst = self._found
        # the gap that contains the edge precedes the first point beyond it; beyond all points, the tail takes over
        at = np.searchsorted(heights, edges, side="right") - 1
        return np.where((at < 0) | (at >= len(worst)), 0.0, worst[np.minimum(np.maximum(at, 0), len(worst) - 1)])

    def _sample(self, wanted: float, end: float, smooth: SmoothTail) -> None:
        """Compute values on grids from 0 to where the tail takes over, if there are not too many."""
        variance = smooth.variance
        step = math.sqrt(4 * FINE * wanted / variance)
        coarsest = math.sqrt(4 * COARSE * max(wanted, MOST * float(smooth.above.max())) / variance)
        if not (math.isfinite(end) and step > 0 and end / max(step, coarsest) < POINTS):
            return
        line = self._line(self._law, self._t, end + 2 * coarsest * BAND, max(CLOSE * FINE * wanted, TOLERANCE))
        heights, logs, reached, total = [], [], 0.0, 0
        while reached < end:
            last = 2 * step >= coarsest
            steps = BAND if not last else max(math.ceil((end - reached) / step), 1) + math.ceil(reached / step)
            total += steps
            if total > 2 * POINTS:
                return
            values, errors = line.cumulants(step, steps + 2)
            size = 2 * (values.real - values[0].real + errors + errors[0])
            size = np.where(np.isfinite(size), np.minimum(size, 0.0), 0.0)
            first = math.floor(reached / step)
            between = np.maximum(size[first:-1], size[first + 1 :])
            rise = 0.25 * variance * step * step * (1 + SPARE) + 16 * UNIT_ROUNDOFF
            logs.append(0.5 * np.log1p(np.minimum(np.expm1(between) + rise, 0.0)) * (1 - SPARE))
            # a grid begins where the finer one ends, within its first gap
            heights.append(np.maximum(step * np.arange(first, steps + 1, dtype=np.float64), reached))
            reached = step * (steps + 1)
            step *= 2
        tail = float(smooth.log_bound(np.array([reached]))[0])
        worst = np.maximum.accumulate(np.append(np.concatenate(logs), tail)[::-1])[::-1]
        self._found = np.append(np.concatenate(heights), reached), worst
