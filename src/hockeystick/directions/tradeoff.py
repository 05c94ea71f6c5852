"""The trade-off function of a plan, from certified values of delta at finitely many epsilons.

For one ordering of two neighbouring datasets, let ``h(b) = sup_E P(E) - b Q(E)`` (delta at ``b = e^eps``). Let alpha be
the false-positive rate ``Q(E)`` of a test E, and ``f(alpha)`` the least false-negative rate ``1 - P(E)`` of all tests
with this alpha. Then (Dong, Roth, Su 2022 [DRS22], Proposition 2.13)

    f(alpha) = sup_{b > 0} 1 - h(b) - b alpha .

Let h' be the function h of the swapped pair. Then ``h(b) = 1 - b + b h'(1/b)``, which replaces h at ``b < 1`` by h' at
``1/b > 1``:

    f(alpha) = max( sup_{b >= 1} 1 - h(b) - b alpha ,  sup_{b >= 1} (1 - h'(b) - alpha) / b ) .

**Lower bound on f** (the safe side): both expressions at any b, with upper bounds in place of h and h', are valid.

**Upper bound on f**: h is convex, decreasing and not negative, with a slope of at least -1, since it is ``E_Q (dP/dQ -
b)_+`` plus the mass at infinity. Let ``l_i <= h(b_i) <= u_i`` be the ends at the nodes b_i. Between ``b_i`` and
``b_(i+1)``, h is above two lines by convexity:

    the line through ``(b_(i-1), u_(i-1))`` and ``(b_i, l_i)``,
    and the line through ``(b_(i+1), l_(i+1))`` and ``(b_(i+2), u_(i+2))``.

If there is no ``b_(i-1)``, the first line has slope -1. If there is no ``b_(i+2)``, the second line has slope 0. If h
is replaced by the larger of these two lines, both expressions in the formula for f are minima of two functions that are
monotone in b. So the supremum of each expression is at an end of the interval or where the lines cross. These points,
the *vertices*, suffice for all b up to the last node. Beyond the last node, ``h >= 0``. With h = 0 both expressions
decrease in b, so the point (last b, 0) is a vertex, too.

**Two pairs.** If no instance attains the dominating pair of a round (``pairs/sides.py``), the trade-off function of the
plan is the minimum over its instances. This minimum is at least the function of the dominating pairs, whose h and h'
are upper bounds on the h and h' of each instance. It is at most the function of any one instance, computed from that
instance's h and h'. It would be invalid to take the minimum over instances first, and then the supremum over b, since
the result would be smaller.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np
import numpy.typing as npt

from hockeystick.directions.curve import SidedCurve, WorstCurve
from hockeystick.directions.finite_losses import SLIP
from hockeystick.engines.curve import put
from hockeystick.numerics.arrays import CHUNK
from hockeystick.numerics.budget import CALL, Budget
from hockeystick.numerics.rounding import LARGEST
from hockeystick.values.adjacency import Direction
from hockeystick.values.interval import Array, Ends

Index = npt.NDArray[np.intp]

FIRST_NODES = 257  # number of evenly spread epsilons before refinement
ROUNDS = 14  # largest number of rounds in which nodes are added
DEEP = 1e-3  # share of ``deep`` (see :class:`TradeOff`) below which intervals of delta may be wide


@dataclass(frozen=True, slots=True)
class Nodes:
    """Delta of one direction at increasing epsilons, the first of which is 0.

    Attributes:
        epsilon: epsilons with ``epsilon[0] = 0``, shape (n,).
        lower, estimate, upper: certified lower end, estimate and certified upper end of delta, each of shape (n,).
    """

    epsilon: Array
    lower: Array
    estimate: Array
    upper: Array

    @property
    def b(self) -> Array:
        """The numbers ``b = e^epsilon`` at the nodes, shape (n,)."""
        return np.exp(self.epsilon)

    def vertices(self) -> tuple[Array, Array]:
        """Return b and h at the vertices of the module docstring, as two arrays of shape (m,).

        An upper bound on the trade-off function needs no other points.
        """
        b, low, high = self.b, self.lower, self.upper
        if len(b) == 1:
            return np.append(b, b), np.append(low, 0.0)
        gaps = np.diff(b)
        apart = gaps > 0  # if the exponentials of neighbours are equal, slopes -1 and 0 replace those of their line
        with np.errstate(divide="ignore", invalid="ignore"):
            before, after = (low[1:-1] - high[:-2]) / gaps[:-1], (high[2:] - low[1:-1]) / gaps[1:]
            left = np.append(-1.0, np.where(apart[:-1], np.maximum(before, -1.0), -1.0))  # slope of the line at b_i
            right = np.append(np.where(apart[1:], np.minimum(after, 0.0), 0.0), 0.0)  # slope of the line at b_(i+1)
            # l_i + left x = l_(i+1) + right (x - gap)
            x = (low[1:] - right * gaps - low[:-1]) / (left - right)
        crossing = (x > 0) & (x < gaps)
        x, at = x[crossing], np.flatnonzero(crossing)
        value = np.maximum(low[at] + left[at] * x - SLIP, 0.0)
        # beyond the last b, h may be 0: the vertex (last b, 0) covers all larger b
        return np.concatenate([b, b[at] + x, b[-1:]]), np.concatenate([low, value, [0.0]])


class TradeOff:
    """Trade-off function of one ordering of the datasets; nodes are added where the function is evaluated.

    Args:
        curve: log delta of the plan.
        steep: direction whose delta gives the function at small false-positive rates.
        flat: direction of the swapped pair, whose delta gives the function at small false-negative rates.
        farthest: largest epsilon at which delta is needed.
        deep: smallest delta that matters; intervals of much smaller deltas may be wide.
    """

    def __init__(self, curve: WorstCurve, steep: Direction, flat: Direction, farthest: float, deep: float) -> None:
        self._curve, self._deep = curve, deep
        self.steep, self.flat = steep, flat
        first = np.linspace(0.0, min(max(farthest, 1e-12), LARGEST), FIRST_NODES)
        self._budget = Budget(CALL)
        self._of = {steep: self._computed(steep, first)}
        if flat is not steep:
            self._of[flat] = self._computed(flat, first)

    @property
    def spent(self) -> bool:
        """True if the work budget for nodes is used up."""
        return self._budget.left <= 0

    def nodes(self, direction: Direction) -> Nodes:
        """Return the current nodes of delta in a direction."""
        return self._of[direction]

    def refine(self, direction: Direction, near: Index) -> None:
        """Add nodes half way between each node whose index is in ``near`` and its two neighbours."""
        nodes = self._of[direction]
        at = nodes.epsilon
        last = len(at) - 1
        middles = [0.5 * (at[np.maximum(near - 1, 0)] + at[near]), 0.5 * (at[near] + at[np.minimum(near + 1, last)])]
        new = np.setdiff1d(np.concatenate(middles), at)
        if not len(new):
            return
        added = self._computed(direction, new)
        parts = [np.concatenate([getattr(nodes, name), getattr(added, name)]) for name in Nodes.__slots__]
        order = np.argsort(parts[0])
        self._of[direction] = Nodes(*(part[order] for part in parts))

    def rates(self, fpr: Array, gap: float, steep_in: Direction | None = None) -> tuple[Ends, Ends]:
        """Return bounds on the largest true-positive and the smallest false-negative rate at each false-positive rate.

        Nodes are added next to the nodes that determine the bounds. This ends when every interval is narrow, after a
        number of rounds, or when the work is used up.

        Args:
            fpr: false-positive rates in [0, 1], shape (n,).
            gap: requested relative width of the interval for the smaller of the two results.
            steep_in: direction whose delta gives the results at small ``fpr``: :attr:`steep` by default. With
                :attr:`flat`, false-positive and false-negative rates are exchanged.
        """
        steep_in = steep_in or self.steep
        out = self.known(fpr, steep_in)
        wide = np.arange(len(fpr))
        for _ in range(ROUNDS):
            tpr, fnr = out
            size = np.minimum(tpr.upper[wide], fnr.upper[wide])
            wide = wide[(tpr.width[wide] > gap * size) & (size > 0)]
            if not len(wide) or self.spent:
                break
            self._refine_for(fpr[wide], tpr.width[wide], steep_in)
            found = self.known(fpr[wide], steep_in)
            out = put(out[0], wide, found[0]), put(out[1], wide, found[1])
        return out

    def _refine_for(self, fpr: Array, width: Array, steep_in: Direction) -> None:
        """Add nodes next to the nodes that determine the bounds on the rates, in one direction or in both."""
        flat_in = self._other(steep_in)
        steep, flat = self._of[steep_in], self._of[flat_in]
        first, place = _least(steep.upper, steep.b, fpr)
        second, other = _least((flat.upper - 1) / flat.b, 1 / flat.b, fpr)
        steeper, flatter = place[first <= 1 + second + width], other[1 + second <= first + width]
        both = np.union1d(steeper, flatter)
        for direction, places in {steep_in: steeper, flat_in: flatter}.items():
            self.refine(direction, both if steep_in is flat_in else np.unique(places))

    def _other(self, direction: Direction) -> Direction:
        """The flat direction if the steep direction is given, and vice versa; the two may be equal."""
        return self.flat if direction is self.steep else self.steep

    def known(self, fpr: Array, steep_in: Direction) -> tuple[Ends, Ends]:
        """Return bounds on the two rates of :meth:`rates` from the current nodes, without adding nodes.

        If ``steep_in`` is the flat direction, false-positive and false-negative rates are exchanged.
        """
        steep, flat = self._of[steep_in], self._of[self._other(steep_in)]
        tpr, fnr = [], []
        for end, side in (("lower", -1), ("estimate", 0), ("upper", 1)):
            b, h = steep.vertices() if side < 0 else (steep.b, getattr(steep, end))
            c, g = flat.vertices() if side < 0 else (flat.b, getattr(flat, end))
            one = _least(h, b, fpr)[0] * (1 + side * SLIP)
            # the largest (1 - alpha - g) / c. For alpha >= 1/2, where the difference is small, 1 - alpha is exact.
            # Roundings of each line are charged relative to its two terms.
            two = -_least(g * (1 + side * SLIP) / c, -(1 - side * SLIP) / c, 1 - fpr)[0]
            tpr.append(np.minimum(np.maximum(np.minimum(one, 1 - two + side * SLIP), fpr), 1.0))
            fnr.append(np.minimum(np.maximum(np.maximum(1 - one - side * SLIP, two), 0.0), 1 - fpr))
        return Ends.of(*tpr), Ends.of(fnr[2], fnr[1], fnr[0])

    def _computed(self, direction: Direction, epsilon: Array) -> Nodes:
        enough = np.full(len(epsilon), math.log(DEEP * self._deep))
        with self._budget:
            log = self._curve.in_direction(direction, epsilon, enough)
        lower, upper = np.exp(log.lower) * (1 - SLIP), np.minimum(np.exp(log.upper) * (1 + SLIP), 1.0)
        return Nodes(epsilon, lower, np.minimum(np.maximum(np.exp(log.estimate), lower), upper), upper)


@dataclass(frozen=True, slots=True)
class TradeOffs:
    """Trade-off functions of a plan, one for each ordering of two neighbours; the plan's own function is their minimum.

    Attributes:
        above: functions of the dominating pairs; their lower ends are lower bounds on the plan's function.
        below: functions of the instances; their upper ends are upper bounds on the plan's function. If all pairs are
            tight, this is the same object as ``above``.
    """

    above: tuple[TradeOff, ...]
    below: tuple[TradeOff, ...]

    @classmethod
    def of(cls, curve: SidedCurve, farthest: float, deep: float) -> TradeOffs:
        """Return the trade-off functions of a plan; if both orderings have the same function, it is computed once.

        For ``farthest`` and ``deep`` see :class:`TradeOff`.
        """
        above = _orderings(curve.above, farthest, deep)
        if curve.tight:
            return cls(above, above)
        return cls(above, tuple(each for one in curve.instances for each in _orderings(one, farthest, deep)))

    def rates(self, fpr: Array, gap: float) -> tuple[Ends, Ends]:
        """Return bounds on the largest true-positive and the smallest false-negative rate at each false-positive rate.

        ``fpr`` has shape (n,), and ``gap`` is the requested relative width.
        """
        tpr, fnr = _worst_rates(self.above, fpr, gap)
        if self.below is self.above:
            return tpr, fnr
        attained, left = _worst_rates(self.below, fpr, gap)
        return tpr.over(attained), left.over(fnr)


def _orderings(curve: WorstCurve, farthest: float, deep: float) -> tuple[TradeOff, ...]:
    first, last = curve.directions[0], curve.directions[-1]
    # with a single direction, each ordering is the mirror image of the other
    orders = [(first, first)] if first is last else [(first, last), (last, first)]
    return tuple(TradeOff(curve, steep, flat, farthest, deep) for steep, flat in orders)


def _worst_rates(trade_offs: Sequence[TradeOff], fpr: Array, gap: float) -> tuple[Ends, Ends]:
    tprs, fnrs = zip(*(each.rates(fpr, gap) for each in trade_offs), strict=True)
    return reduce(Ends.worse, tprs), reduce(Ends.milder, fnrs)


def _least(start: Array, slope: Array, at: Array) -> tuple[Array, Index]:
    """Return ``min_i start_i + slope_i at`` and the index i of the minimum, in the shape of ``at``."""
    out, where = np.empty(len(at)), np.empty(len(at), dtype=np.intp)
    batch = max(1, CHUNK // len(start))
    for first in range(0, len(at), batch):
        part = slice(first, first + batch)
        lines = start + np.multiply.outer(at[part], slope)
        where[part] = lines.argmin(axis=1)
        out[part] = lines[np.arange(len(lines)), where[part]]
    return out, where
