"""One direction of a plan: pairs with their counts, and its cumulant generating function by plain quadrature.

Symbols: ``K(t) = log E_P e^(tL)`` over finite losses, summed over all rounds; ``K'``, ``K''`` its derivatives, the mean
and variance of the loss tilted by ``e^(tL)``. The saddle point of epsilon solves ``K'(t) = eps + 1/t + 1/(1+t)``
(Alghamdi et al. 2023, arXiv 2208.09595). Everything here steers the engines (tilt, window, mesh) and certifies nothing.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
import numpy.typing as npt

from hockeystick.numerics.legendre import rule
from hockeystick.pairs import DominatingPair

Array = npt.NDArray[np.float64]

LOG_TILT_RANGE = (-80.0, 80.0)
DEEPEST = -1e14  # log of P-mass to which nodes are laid out
PANELS = (48, 4000)
NODES_PER_PANEL = 4
FIRST_PANEL = 0.125  # width of the panel at either end of a support; the next are wider by a factor each
PANEL_GROWTH = 1.2


@dataclass(frozen=True, slots=True)
class Cumulants:
    """K, K', K'' at one tilt."""

    k0: float
    k1: float
    k2: float


class Composition:
    """The product of dominating pairs in one direction.

    Args:
        rounds: (pair, count) with counts >= 0; equal pairs are merged, closed families folded.
    """

    def __init__(self, rounds: Iterable[tuple[DominatingPair, int]]) -> None:
        merged: dict[DominatingPair, int] = {}
        for pair, count in rounds:
            if count:
                merged[pair] = merged.get(pair, 0) + count
        families: dict[type[DominatingPair], list[tuple[DominatingPair, int]]] = defaultdict(list)
        for pair, count in merged.items():
            families[type(pair)].append((pair, count))
        self.rounds: tuple[tuple[DominatingPair, int], ...] = tuple(
            item for family, items in families.items() for item in family.fold(items)
        )

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Composition) and self.rounds == other.rounds

    __hash__ = None  # type: ignore[assignment]  # compared, never kept in a set

    @cached_property
    def count(self) -> int:
        """Number of rounds after folding."""
        return sum(count for _, count in self.rounds)

    @cached_property
    def supremum(self) -> tuple[Fraction, Fraction]:
        """Bounds on the largest finite loss, of a bounded one; equal where every pair knows its own exactly."""
        low = high = Fraction(0)
        for pair, count in self.rounds:
            exact = pair.exact_supremum
            if exact is None:
                value = Fraction(pair.loss_range[1])
                slack = Fraction(pair.supremum_error)
                low, high = low + count * (value - slack), high + count * (value + slack)
            else:
                low, high = low + count * exact, high + count * exact
        return low, high

    @property
    def bounded(self) -> bool:
        """Whether the finite losses are bounded above."""
        return all(pair.loss_range[1] < math.inf for pair, _ in self.rounds)

    @cached_property
    def log_finite_mass(self) -> float:
        """``log P(no round has infinite loss)``."""
        return math.fsum(count * math.log1p(-pair.infinite_mass) for pair, count in self.rounds if pair.infinite_mass)

    @property
    def infinite_mass(self) -> float:
        """``P(some round has infinite loss) = 1 - prod (1 - p_inf)^count``."""
        return -math.expm1(self.log_finite_mass)


class Guide:
    """Approximate cumulants of a composition, from the quadrature nodes of each pair.

    Args:
        composition: one direction of a plan.
        log_floor: nodes cover all but about ``exp(log_floor)`` of each pair's P-mass.
    """

    def __init__(self, composition: Composition, log_floor: float) -> None:
        self._laws = [(*_nodes(pair, log_floor), count) for pair, count in composition.rounds]

    @classmethod
    def reaching(cls, composition: Composition, epsilon: float) -> tuple[Guide, float, float]:
        """A guide whose nodes reach as deep as delta(epsilon), the saddle point, and a Chernoff bound on log delta."""
        floor = -50.0
        while True:
            guide = cls(composition, floor)
            tilt = guide.saddle(epsilon)
            depth = guide.cumulants(tilt).k0 - tilt * epsilon + log_peak(tilt)
            if depth > floor + 45.0 or floor < DEEPEST:
                return guide, tilt, max(depth, floor)
            # nodes that do not reach epsilon make the depth meaningless: go down step by step
            floor = max(1.3 * depth - 50.0, 2.5 * floor)

    def pair_cumulants(self, t: float) -> list[Cumulants]:
        """Cumulants of each distinct round, one round each."""
        out = []
        for loss, log_mass, _ in self._laws:
            exponent = log_mass + t * loss
            top = float(exponent.max())
            weight = np.exp(exponent - top)
            total = float(weight.sum())
            mean = float((weight * loss).sum()) / total
            variance = float((weight * np.square(loss - mean)).sum()) / total
            out.append(Cumulants(top + math.log(total), mean, variance))
        return out

    def moments_of(self, index: int, tilts: Array) -> Array:
        """K of one round of a kind, at several tilts of either sign."""
        loss, log_mass, _ = self._laws[index]
        exponent = log_mass + np.multiply.outer(tilts, loss)
        top = exponent.max(axis=1, keepdims=True)
        moments: Array = top[:, 0] + np.log(np.exp(exponent - top).sum(axis=1))
        return moments

    def cumulants(self, t: float) -> Cumulants:
        """Cumulants of the composition at tilt t."""
        parts = self.pair_cumulants(t)
        counts = [count for *_, count in self._laws]
        return Cumulants(
            math.fsum(n * c.k0 for n, c in zip(counts, parts, strict=True)),
            math.fsum(n * c.k1 for n, c in zip(counts, parts, strict=True)),
            math.fsum(n * c.k2 for n, c in zip(counts, parts, strict=True)),
        )

    def saddle(self, epsilon: float) -> float:
        """The tilt t > 0 whose saddle point is epsilon: the root of the increasing ``K'(t) - 1/t - 1/(1+t) - eps``."""
        return _bisect(lambda t: self._epsilon_at(t, self.cumulants(t)) - epsilon, *LOG_TILT_RANGE)

    def tilt_for_delta(self, log_delta: float) -> float:
        """The tilt at which the leading saddle-point approximation of log delta takes a value.

        Searched near the best Renyi order, ``argmin (K(t) - log delta + t log t - (1+t) log(1+t)) / t``, where no large
        numbers cancel.
        """
        grid = np.linspace(*LOG_TILT_RANGE, 65)
        for _ in range(4):
            orders = [self.renyi_epsilon(math.exp(x), log_delta) for x in grid]
            best = int(np.argmin(orders))
            grid = np.linspace(grid[max(best - 1, 0)], grid[min(best + 1, len(grid) - 1)], 9)
        centre = float(grid[4])
        return _bisect(lambda t: log_delta - self.log_delta_at(t), centre - 5.0, centre + 1.0)

    def renyi_epsilon(self, t: float, log_delta: float) -> float:
        """``(K(t) - log delta + t log t - (1+t) log(1+t)) / t``: epsilon from the Renyi divergence of order 1 + t."""
        return (self.cumulants(t).k0 - log_delta + log_peak(t)) / t

    def epsilon(self, t: float) -> float:
        """The epsilon whose saddle point is t."""
        return self._epsilon_at(t, self.cumulants(t))

    def log_delta(self, epsilon: float) -> float:
        """Leading saddle-point approximation of log delta(epsilon)."""
        return self.log_delta_at(self.saddle(epsilon))

    @staticmethod
    def _epsilon_at(t: float, c: Cumulants) -> float:
        return c.k1 - 1 / t - 1 / (1 + t)

    def least_tilt(self, epsilon: float, log_bound: float, tilt: float) -> float:
        """About the least tilt up to the saddle point with ``K(t) - t eps`` that low; 0 if there is none."""

        def lowered(t: float) -> float:
            return log_bound - (self.cumulants(t).k0 - t * epsilon)

        return 0.0 if lowered(tilt) < 0 else _bisect(lowered, LOG_TILT_RANGE[0], math.log(tilt))

    def log_delta_at(self, t: float) -> float:
        """Leading saddle-point approximation of log delta at the epsilon whose saddle point is t."""
        c = self.cumulants(t)
        epsilon = self._epsilon_at(t, c)
        curvature = c.k2 + t**-2 + (1 + t) ** -2
        return c.k0 - t * epsilon - math.log(t) - math.log1p(t) - 0.5 * math.log(2 * math.pi * curvature)

    def tail_tilt(self, t: float, log_tail: float, sign: int) -> tuple[float, float]:
        """Where the law tilted by t has a Chernoff tail of ``exp(log_tail)``, and the extra tilt that shows it.

        Returns:
            ``(edge, theta)`` with ``P_t(sign * L >= sign * edge) <= exp(log_tail)`` by Markov at ``theta`` (> 0).
        """
        base = self.cumulants(t)
        scale = 1 / math.sqrt(base.k2) if base.k2 > 0 else 1.0

        def distance(theta: float) -> float:
            c = self.cumulants(t + sign * theta)
            return (c.k0 - base.k0 - log_tail) / theta

        thetas = scale * np.geomspace(0.02, 50.0, 26) * min(1.0, math.sqrt(-log_tail / 30))
        distances = [distance(float(theta)) for theta in thetas]
        best = int(np.argmin(distances))
        return sign * distances[best], float(thetas[best])


def _nodes(pair: DominatingPair, log_floor: float) -> tuple[Array, Array]:
    """Losses and log-masses that stand in for the law of the loss."""
    atoms = pair.atoms.finite()
    keep = np.isfinite(atoms.log_p)
    loss, log_mass = atoms.loss[keep], atoms.log_p[keep]
    if pair.smooth is not None:
        edges = _edges(*pair.smooth.support(log_floor))
        x, w = rule(NODES_PER_PANEL)
        half = 0.5 * np.diff(edges)
        at = (edges[:-1, None] + half[:, None] * (1 + x)).ravel()
        loss = np.concatenate([loss, pair.smooth.loss(at)])
        log_mass = np.concatenate([log_mass, pair.smooth.log_p(at) + np.log((half[:, None] * w).ravel())])
    return loss, log_mass


def _edges(low: float, high: float) -> Array:
    """Panels about 1 wide, as a normal density wants, and finer ones towards the ends, where others have their mass."""
    panels = int(min(max(high - low, PANELS[0]), PANELS[1]))
    edges = np.linspace(low, high, panels + 1)
    width = (high - low) / panels
    if width <= 1.0:
        return edges
    count = math.ceil(math.log(width / FIRST_PANEL) / math.log(PANEL_GROWTH)) + 1
    graded = FIRST_PANEL * np.cumsum(PANEL_GROWTH ** np.arange(count, dtype=np.float64))
    graded = graded[graded < 0.5 * (high - low)]
    merged: Array = np.unique(np.concatenate([edges, low + graded, high - graded]))
    return merged


def log_peak(t: float) -> float:
    """``log sup_{x >= 0} e^(-tx) (1 - e^-x) = t log t - (1+t) log(1+t)``, reached at ``x = log(1 + 1/t)``."""
    return -math.log1p(t) - t * math.log1p(1 / t)


def _bisect(increasing: Callable[[float], float], low: float, high: float) -> float:
    """The t where an increasing function of t changes sign, log t between low and high."""
    while high - low > 1e-3:
        middle = 0.5 * (low + high)
        if increasing(math.exp(middle)) < 0:
            low = middle
        else:
            high = middle
    return math.exp(0.5 * (low + high))
