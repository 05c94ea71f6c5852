"""Gaussian fit of a trade-off function f: the tight mu of Gaussian differential privacy, and its regret.

Both are defined by Gomez et al. 2025 [GKK+25]. ``G_mu(alpha) = Phi(Phi^-1(1 - alpha) - mu)`` is the trade-off function
of one unsampled Gaussian round of distance mu (Dong, Roth, Su 2022 [DRS22]). With alpha and beta the false-positive and
the false-negative rate,

    mu* = sup Phi^-1(1 - alpha) - Phi^-1(f(alpha))        over alpha, f(alpha) >= a least rate
    regret = inf {kappa >= 0 : f(alpha + kappa) - kappa <= G_mu(alpha) for all alpha} .

The supremum also includes the points where one of the two rates equals the least rate and the other rate is smaller.
Such points matter if no test has both rates at least as large as the least rate.

**Upper end of mu.** Each upper bound on delta at an epsilon gives a line below f. So f is above a convex polygon, the
maximum of these lines. As G_mu is convex, it is below one line of the polygon if it is below this line at both of the
line's ends. So mu must suffice at the corners of the polygon and at the least rate, where the polygon is cut off. The
polygon has a steep half (from delta in one direction), computed at false-positive rates, and a flat half (from delta in
the other direction), computed at false-negative rates. Consider the highest line at the least rate of a half. If this
line belongs to the other half, it is the highest at all larger rates, too. Then all corners belong to the other half,
and mu must suffice at the least rate only. **Lower end of mu**: the mu needed at the same points if an upper bound
replaces f.

**Regret.** A diagonal ``alpha - beta = v`` meets the curves f and G_mu at one alpha each. These two values of alpha are
convex functions of v, and the regret is the largest difference between them. Between two neighbouring diagonals, the
function of f is at most its chord, and the function of G_mu is at least its tangents, which have the slope ``1 / (1 +
|G'|)``. The difference between chord and tangents is largest at an end or where the tangents cross.

A slack of 1e-12 is charged for SciPy's normal distribution function and its inverse, far above their error.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import reduce

import numpy as np
import numpy.typing as npt

from hockeystick.directions.tradeoff import ROUNDS, Nodes, TradeOff, TradeOffs
from hockeystick.engines.base import DEFAULT_GAP
from hockeystick.numerics.budget import USED_UP
from hockeystick.numerics.rounding import SPARE, TINY, UNIT_ROUNDOFF
from hockeystick.values.adjacency import Direction
from hockeystick.values.bounds import Bound
from hockeystick.values.interval import Array, Ends
from hockeystick.values.outward import html_table, shortest

GAP = 1e-5  # requested relative width of mu
PLACES = 1201  # number of false-positive rates at which the regret is computed
SLACK = 1e-12  # slack for the roundings of normal quantiles and of lines
MAX_SHRINKAGE = 0.9  # refinement stops when a round reduces the width of mu by a factor closer to 1 than this
BISECTIONS = 70  # bisections for a normal quantile, more than a double has binary digits
MAX_QUANTILE = 40.0  # largest normal quantile
CERTAIN = "to double precision, a test distinguishes the two datasets with certainty, so no mu is known to suffice"
"""Reason for an infinite mu."""


@dataclass(frozen=True, slots=True)
class GaussianFit:
    """Gaussian fit of a plan.

    Attributes:
        mu: certified interval for the smallest mu with ``f >= G_mu`` wherever both error rates are at least
            ``least_rate``, and wherever one rate equals ``least_rate`` and the other is smaller. The upper end is safe
            to publish.
        regret: certified interval for the largest amount by which both error rates of the plan may exceed those of
            ``G_mu`` at ``mu.upper``. If the regret is below 0.01, mu alone describes the plan almost completely.
        least_rate: smallest error rate at which mu is guaranteed to suffice.
    """

    mu: Bound
    regret: Bound
    least_rate: float

    def __str__(self) -> str:
        return f"mu-Gaussian-DP: mu {self.mu}, regret {self.regret}"

    def _repr_html_(self) -> str:
        """Return the fit as notebooks show it: mu rounded up, and its regret."""
        rows = [
            ("mu", str(self.mu)),
            ("regret", str(self.regret)),
            ("for error rates of at least", shortest(self.least_rate)),
        ]
        return html_table(f"Gaussian differential privacy with mu at most {self.mu:.3g}", rows)


def fitted(trade_offs: TradeOffs, least_rate: float) -> GaussianFit:
    """Return the Gaussian fit of a plan: the mu that suffices for both orderings of the datasets, and its regret."""
    mu = tight_mu(trade_offs, least_rate)
    return GaussianFit(mu, _regret(trade_offs, mu.upper), least_rate)


def tight_mu(trade_offs: TradeOffs, least_rate: float) -> Bound:
    """Return a certified interval for the tight mu of a plan, the larger one of the two orderings of the datasets.

    The lower end comes from attained error rates, the upper end from dominating pairs.
    """
    low, high = 0.0, 0.0
    for each in trade_offs.above:
        lower, upper = _mu(each, least_rate)
        low, high = max(low, lower), max(high, upper)
    if trade_offs.below is not trade_offs.above:
        low = max(_mu(each, least_rate)[0] for each in trade_offs.below)
    spent = any(each.spent for each in (*trade_offs.above, *trade_offs.below))
    reason = CERTAIN if math.isinf(high) else USED_UP if spent else None
    return Bound(low, 0.5 * (low + high) if math.isfinite(high) else high, high, reason=reason)


def _mu(trade_off: TradeOff, least_rate: float) -> tuple[float, float]:
    """Certified ends of the tight mu of one ordering of the datasets.

    This mu is the larger of two numbers: the mu needed for the steep half of the trade-off function, computed at
    false-positive rates, and the mu needed for the flat half, computed at false-negative rates.
    """
    low = high = 0.0
    for direction in dict.fromkeys((trade_off.steep, trade_off.flat)):
        before = math.inf
        for _ in range(ROUNDS):  # until mu is narrow, a round narrows it too little, or no work is left
            nodes = trade_off.nodes(direction)
            rate, reached, lines = _corners(nodes, least_rate)
            own_lines = float((nodes.upper + nodes.b * least_rate).min())  # all lines, not only those at the corners
            all_lines = float(trade_off.known(np.array([least_rate]), direction)[0].upper[0])
            if rate[-1] < least_rate or all_lines < (1 - SPARE) * own_lines:  # the inner lines belong to the other half
                lower, top = _mu_at(trade_off, direction, least_rate)
                break
            upper = _mus(rate, reached) + SLACK
            lower = float((_mus(rate, trade_off.known(rate, direction)[0].lower) - SLACK).max(initial=0.0))
            top = float(upper.max())
            width = top - max(lower, low)
            if width <= GAP * top or width > MAX_SHRINKAGE * before or trade_off.spent:
                break
            before = width
            trade_off.refine(direction, np.unique(lines[upper > max(lower, low)]))
        low, high = max(low, lower), max(high, top)
    return min(low, high), high


def _mu_at(trade_off: TradeOff, direction: Direction, rate: float) -> tuple[float, float]:
    """Certified ends of the mu that suffices at one error rate.

    The rate is a false-positive rate if ``direction`` is the steep one, else a false-negative rate.
    """
    from scipy.special import ndtri

    missed = trade_off.rates(np.array([rate]), DEFAULT_GAP, direction)[1]
    high, low = (-float(ndtri(rate) + ndtri(end[0])) for end in (missed.lower, missed.upper))
    return max(low - SLACK, 0.0), max(high + SLACK, 0.0)


def _mus(rate: Array, reached: Array) -> Array:
    """Return the mu of the Gaussian pair whose test at false-positive rate ``rate`` has true-positive rate ``reached``.

    Both arrays have shape (n,). The mu is at least 0, and infinite if the test is certain.
    """
    from scipy.special import ndtri

    certain = (reached >= 1.0) | (rate <= 0.0)
    out: Array = np.where(certain, math.inf, ndtri(np.minimum(reached, 1.0)) - ndtri(np.maximum(rate, TINY)))
    return np.maximum(out, 0.0)


def _corners(nodes: Nodes, least_rate: float) -> tuple[Array, Array, npt.NDArray[np.intp]]:
    """Return the rates alpha, the heights and the line indices of the corners of ``min_i u_i + b_i alpha``.

    The u_i are the upper ends of delta, and the b_i the slopes of the nodes. Corners are listed from the line of slope
    1 on, by decreasing rate. The last one is the end at the least rate. Corners at which the other rate is below the
    least rate are moved to the point where it equals the least rate.
    """
    b, places = np.unique(nodes.b, return_index=True)
    u = np.minimum.reduceat(nodes.upper, places)  # if rounding makes slopes equal, only the lowest line is kept
    kept: list[int] = []
    rates: list[float] = []  # the rates at which line kept[i] meets line kept[i + 1], decreasing

    def met(i: int) -> float:
        """Rate at which the last line kept meets line i."""
        return float((u[kept[-1]] - u[i]) / (b[i] - b[kept[-1]]))

    for i in range(len(b)):
        while rates and met(i) >= rates[-1]:
            kept.pop()
            rates.pop()
        if kept:
            if met(i) <= least_rate:
                continue  # above the least rate, this line is nowhere the lowest: its upper bound is wide
            rates.append(met(i))
        kept.append(i)
    corners, lines = np.array([*rates, least_rate]), np.array(kept, dtype=np.intp)
    height = np.minimum((u[lines] + b[lines] * corners) * (1 + SLACK), 1.0)
    # corners end where the other rate is the least rate: beyond, all lines are at least 1 - least_rate
    most = math.nextafter(1 - least_rate, 2.0)
    last = max(float(((1 - least_rate - u - 4 * UNIT_ROUNDOFF) / b).max()), 0.0)
    beyond = corners > last
    corners, height = np.where(beyond, last, corners), np.where(beyond, most, height)
    return corners, height, places[lines]


def _regret(trade_offs: TradeOffs, mu: float) -> Bound:
    """Certified interval for the regret of G_mu for the plan's trade-off function.

    This function is the minimum over the orderings of the datasets, which need not be convex. Its regret is at most the
    regret of each ordering's function. Its difference from G_mu at a point is the smallest difference of these
    functions. The lower end comes from the dominating pairs, and the upper end from the instances.
    """
    from scipy.special import ndtr

    rate = np.concatenate([[0.0], ndtr(np.linspace(-6.5, 6.5, PLACES)), [1.0]])
    above = [trade_off.rates(rate, DEFAULT_GAP)[1] for trade_off in trade_offs.above]
    tight = trade_offs.below is trade_offs.above
    below = above if tight else [trade_off.rates(rate, DEFAULT_GAP)[1] for trade_off in trade_offs.below]
    if math.isinf(mu):
        return _regret_of_certainty(rate, above, below)
    high = max(min(_largest(*_diagonal(rate, ends.upper, mu), mu) for ends in below) + SLACK, 0.0)
    fnr = reduce(Ends.milder, above)
    diagonals = (_diagonal(rate, beta, mu) for beta in (fnr.lower, fnr.estimate))
    low, middle = (float((alpha - at).max()) for _, alpha, at in diagonals)
    low = min(max(low - SLACK, 0.0), high)
    return Bound(low, min(max(middle, low), high), high)


def _regret_of_certainty(rate: Array, above: list[Ends], below: list[Ends]) -> Bound:
    """Certified interval for the regret if mu is infinite, so that G = 0: the rate alpha at which f(alpha) = alpha."""
    fnr = reduce(Ends.milder, above)
    low, middle = (float(np.minimum(rate, beta).max()) for beta in (fnr.lower, fnr.estimate))
    high = float(np.maximum(rate, reduce(Ends.milder, below).upper).min())
    return Bound(low, min(max(middle, low), high), high)


def _diagonal(rate: Array, beta: Array, mu: float) -> tuple[Array, Array, Array]:
    """Points (alpha, beta) of a trade-off function, sorted by ``v = alpha - beta``, and points of G_mu at the same v.

    Returns:
        v, the alpha of the trade-off function, and the alpha of G_mu.
    """
    order = np.argsort(rate - beta, kind="stable")
    v, alpha = (rate - beta)[order], rate[order]
    return v, alpha, _gaussian_rate(v, mu)


def _largest(v: Array, alpha: Array, at: Array, mu: float) -> float:
    """Upper bound on the largest difference between two convex functions of v, first minus second.

    The first function goes through the points (v, alpha). The second is the alpha of G_mu as a function of v, and goes
    through the points (v, at).
    """
    from scipy.special import ndtri

    with np.errstate(over="ignore", invalid="ignore"):
        # G' = -phi(x + mu) / phi(x) at alpha = Phi(x)
        x = np.maximum(np.minimum(ndtri(np.minimum(np.maximum(at, 0.0), 1.0)), MAX_QUANTILE), -MAX_QUANTILE)
        slope = 1 / (1 + np.exp(-mu * x - 0.5 * mu * mu))
    gap = np.diff(v)
    here = gap > 0
    chord = np.diff(alpha)[here] / gap[here]
    left, right = slope[:-1][here], slope[1:][here]
    start, end, gap = at[:-1][here], at[1:][here], gap[here]
    with np.errstate(divide="ignore", invalid="ignore"):
        cross = (end - right * gap - start) / (left - right)
    cross = np.where((cross > 0) & (cross < gap), cross, 0.0)
    between = alpha[:-1][here] + chord * cross - (start + left * cross)
    return float(max((alpha - at).max(), between.max(initial=0.0)))


def _gaussian_rate(v: Array, mu: float) -> Array:
    """The alpha at which ``alpha - G_mu(alpha) = v``, for each v.

    With ``alpha = Phi(x)``, bisection solves ``Phi(x) - Phi(-x - mu) = v`` for x.
    """
    from scipy.special import ndtr

    low, high = np.full(len(v), -MAX_QUANTILE - mu), np.full(len(v), MAX_QUANTILE)
    for _ in range(BISECTIONS):
        middle = 0.5 * (low + high)
        above = ndtr(middle) - ndtr(-middle - mu) >= v
        low, high = np.where(above, low, middle), np.where(above, middle, high)
    out: Array = ndtr(0.5 * (low + high))
    return out
