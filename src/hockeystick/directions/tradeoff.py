"""The trade-off function of a plan, from certified values of delta at finitely many epsilons.

For one ordering of two neighbouring datasets, write ``h(b) = sup_E P(E) - b Q(E)`` (delta at ``b = e^eps``), alpha for
the false-positive rate ``Q(E)`` of a test E and ``f(alpha)`` for the least false-negative rate ``1 - P(E)`` at it. Then
(Dong, Roth, Su 2022 [DRS22], Proposition 2.13)

    f(alpha) = sup_{b > 0} 1 - h(b) - b alpha ,

and with h' the same for the swapped pair, ``h(b) = 1 - b + b h'(1/b)``. For ``b < 1`` this leads to ``1/b > 1``:

    f(alpha) = max( sup_{b >= 1} 1 - h(b) - b alpha ,  sup_{b >= 1} (1 - h'(b) - alpha) / b ) .

**Lower bound on f** (the safe side): the expressions at any b are valid, with upper bounds in place of h and h'.

**Upper bound on f**: h is convex, decreasing, not negative, with a slope of at least -1, since it is ``E_Q (dP/dQ -
b)_+`` plus the mass at infinity. With ends ``l_i <= h(b_i) <= u_i``, between ``b_i`` and ``b_(i+1)`` convexity puts h
above

    the line through ``(b_(i-1), u_(i-1))`` and ``(b_i, l_i)``,
    and above the line through ``(b_(i+1), l_(i+1))`` and ``(b_(i+2), u_(i+2))``

(without a ``b_(i-1)``, the first line has slope -1; without a ``b_(i+2)``, the second has slope 0). If h is replaced by
the larger of these two lines, both expressions above are a minimum of two functions that are monotone in b. So their
supremum is at an end of the interval or where the lines cross. These points, the *vertices*, suffice for all b up to
the last one. Beyond the last b, ``h >= 0``; at h = 0 both expressions decrease in b, so the point (last b, 0) is a
vertex, too.

**Two pairs.** If no instance attains the dominating pair of a round (``pairs/sides.py``), the trade-off function of the
plan is the minimum over its instances. It is at least the function of the dominating pairs, whose h and h' bound those
of each instance. It is at most the function of any one instance, computed from that instance's h and h'. Taking the
minimum over instances first, and then the supremum over b, would be invalid, since the result is smaller.
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
ROUNDS = 14  # rounds of refinement of the nodes
DEEP = 1e-3  # delta need not be known below this share of the nodes' deltas


@dataclass(frozen=True, slots=True)
class Nodes:
    """Delta of one direction at increasing epsilons, the first of which is 0.

    Attributes:
        epsilon: epsilons with ``epsilon[0] = 0``, shape (n,).
        lower, estimate, upper: certified ends of delta, and the estimate between, shape (n,).
    """

    epsilon: Array
    lower: Array
    estimate: Array
    upper: Array

    @property
    def b(self) -> Array:
        """Slopes ``b = e^epsilon`` at the nodes, shape (n,)."""
        return np.exp(self.epsilon)

    def vertices(self) -> tuple[Array, Array]:
        """Return vertices ``(b, l)``, shape (m,) each; an upper bound on f needs no other points (see the module)."""
        b, low, high = self.b, self.lower, self.upper
        if len(b) == 1:
            return np.append(b, b), np.append(low, 0.0)
        gaps = np.diff(b)
        apart = gaps > 0  # neighbours with equal exponentials define no line: use slopes -1 and 0 again
        with np.errstate(divide="ignore", invalid="ignore"):
            before, after = (low[1:-1] - high[:-2]) / gaps[:-1], (high[2:] - low[1:-1]) / gaps[1:]
            left = np.append(-1.0, np.where(apart[:-1], np.maximum(before, -1.0), -1.0))  # slopes at b_i, of intervals
            right = np.append(np.where(apart[1:], np.minimum(after, 0.0), 0.0), 0.0)  # and at b_(i+1)
            # l_i + left x = l_(i+1) + right (x - gap)
            x = (low[1:] - right * gaps - low[:-1]) / (left - right)
        crossing = (x > 0) & (x < gaps)
        x, at = x[crossing], np.flatnonzero(crossing)
        value = np.maximum(low[at] + left[at] * x - SLIP, 0.0)
        # beyond the last b, h may be 0: the vertex (last b, 0) represents all of these
        return np.concatenate([b, b[at] + x, b[-1:]]), np.concatenate([low, value, [0.0]])


class TradeOff:
    """Trade-off function of one ordering of the datasets; nodes are added where it is evaluated.

    Args:
        curve: log delta of the plan.
        steep: direction whose delta bounds small false-positive rates.
        flat: direction of the swapped pair, whose delta bounds small false-negative rates.
        farthest: epsilon up to which delta matters.
        deep: a delta; lower ends of delta below it do not matter.
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
        """True if the work allowed for nodes is used up."""
        return self._budget.left <= 0

    def nodes(self, direction: Direction) -> Nodes:
        """Return the current nodes of delta in a direction."""
        return self._of[direction]

    def refine(self, direction: Direction, near: Index) -> None:
        """Add nodes half way to both neighbours of each node whose index is in ``near``."""
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
        """Return the largest true-positive rate and the smallest false-negative rate at each false-positive rate.

        Nodes are added next to those that determine the bounds, until every interval is narrow, or for some rounds, or
        until the work is used up.

        Args:
            fpr: false-positive rates in [0, 1], shape (n,).
            gap: requested relative width of the smaller of the two results.
            steep_in: direction whose curve gives the true-positive rates near 0: :attr:`steep` by default. With
                :attr:`flat`, the two error rates are exchanged.
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
        """Add nodes beside those that determine the bounds on the rates, in one direction or in both."""
        flat_in = self._other(steep_in)
        steep, flat = self._of[steep_in], self._of[flat_in]
        first, place = _least(steep.upper, steep.b, fpr)
        second, other = _least((flat.upper - 1) / flat.b, 1 / flat.b, fpr)
        steeper, flatter = place[first <= 1 + second + width], other[1 + second <= first + width]
        both = np.union1d(steeper, flatter)
        for direction, places in {steep_in: steeper, flat_in: flatter}.items():
            self.refine(direction, both if steep_in is flat_in else np.unique(places))

    def _other(self, direction: Direction) -> Direction:
        """The flat direction for the steep one, and vice versa; the two may be equal."""
        return self.flat if direction is self.steep else self.steep

    def known(self, fpr: Array, steep_in: Direction) -> tuple[Ends, Ends]:
        """Return the bounds of :meth:`rates` from the current nodes.

        If ``steep_in`` is the flat direction, the two error rates are exchanged.
        """
        steep, flat = self._of[steep_in], self._of[self._other(steep_in)]
        tpr, fnr = [], []
        for end, side in (("lower", -1), ("estimate", 0), ("upper", 1)):
            b, h = steep.vertices() if side < 0 else (steep.b, getattr(steep, end))
            c, g = flat.vertices() if side < 0 else (flat.b, getattr(flat, end))
            one = _least(h, b, fpr)[0] * (1 + side * SLIP)
            # the largest (1 - alpha - g) / c; for alpha >= 1/2, where the difference is small, 1 - alpha is exact. The
            # roundings of a line are relative to its own terms
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
        above: functions of the dominating pairs, whose lower ends are lower bounds on the plan's function.
        below: functions of the instances, whose upper ends are upper bounds on it; equal to ``above`` if pairs are
            tight.
    """

    above: tuple[TradeOff, ...]
    below: tuple[TradeOff, ...]

    @classmethod
    def of(cls, curve: SidedCurve, farthest: float, deep: float) -> TradeOffs:
        """Return a plan's trade-off functions, one for each ordering of the datasets, or one if both are equal."""
        above = _orderings(curve.above, farthest, deep)
        if curve.tight:
            return cls(above, above)
        return cls(above, tuple(each for one in curve.instances for each in _orderings(one, farthest, deep)))

    def rates(self, fpr: Array, gap: float) -> tuple[Ends, Ends]:
        """Return the largest true-positive rate and the smallest false-negative rate at each false-positive rate."""
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
