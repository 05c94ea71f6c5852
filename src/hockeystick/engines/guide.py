"""Approximate cumulant generating function of a composition, by plain quadrature; it certifies nothing.

``K(t) = log E_P e^(tL)`` is taken over the finite losses L of a round and summed over all rounds. Its derivatives
``K'`` and ``K''`` are the mean and the variance of the loss under the law tilted by ``e^(tL)``. The saddle point of
epsilon solves ``K'(t) = eps + 1/t + 1/(1+t)`` (Alghamdi et al. 2023 [AAC+23]). Engines use these values only to choose
their tilt, window and mesh.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import wraps
from typing import NamedTuple, ParamSpec, TypeVar

import numpy as np
import numpy.typing as npt

from hockeystick.numerics.arrays import BLOCK
from hockeystick.numerics.legendre import on_panels
from hockeystick.numerics.logarithm import log_peaks
from hockeystick.pairs import Composition, DominatingPair
from hockeystick.pairs.renyi import log_peak
from hockeystick.values.errors import NotApplicableError

Array = npt.NDArray[np.float64]
P = ParamSpec("P")  # the parameters of a method
T = TypeVar("T")  # the result of a method

LOG_TILT_RANGE = (-80.0, 80.0)  # smallest and largest log of a tilt
DEEPEST = -1e14  # log of the smallest P-mass beyond the nodes; guides go no deeper
DEEPER = 4.0  # largest factor from the log floor of one guide to that of the next
PANELS = (32, 4000)  # fewest panels of one smooth part; most panels of all, and number of atoms that are all kept
DEPTH = 50.0  # logs of masses this far below delta, or below the floor of a guide, are left out
NODES_PER_PANEL = 4  # nodes of the Gauss-Legendre rule on a panel
FINE = 1e-3  # width of a bracket, in the log of a tilt, at which the search for a root ends
EVERYWHERE = np.linspace(*LOG_TILT_RANGE, 17)  # logs of the tilts at which a search begins
RARE = 1.0  # if K at a saddle point is below this, a single large loss determines delta
SIXTEENTHS = np.linspace(0.0, 1.0, 17)  # ends of sixteen equal parts of a range
AROUND = np.linspace(-10.0, 10.0, 21)  # logs of tilts, relative to the best of EVERYWHERE, up to its two neighbours
FIRST_PANEL = 0.125  # width of the outermost graded panel at either end of a support
PANEL_GROWTH = 1.2  # ratio of the widths of neighbouring graded panels


def quiet(method: Callable[P, T]) -> Callable[P, T]:
    """Return a method that runs without NumPy's warnings about overflow and invalid values.

    A tilt times a loss may exceed the range of a double, but no certified number depends on such a product. Only
    methods called from outside are wrapped, since the wrapper takes longer than a short sum.
    """

    @wraps(method)
    def called(*args: P.args, **kwargs: P.kwargs) -> T:
        with np.errstate(over="ignore", invalid="ignore"):
            return method(*args, **kwargs)

    return called


class Cumulants(NamedTuple):
    """The cumulant generating function K and its derivatives K' and K'' at one tilt."""

    k0: float
    k1: float
    k2: float


class Guide:
    """Approximate cumulants of a composition, from quadrature nodes and atoms of each pair.

    Args:
        composition: the rounds of one direction.
        log_floor: log of the P-mass of each pair that its nodes may miss, approximately.

    Attributes:
        log_floor: the argument of this name.

    Raises:
        NotApplicableError: some round has no finite loss with positive P-mass.
    """

    def __init__(self, composition: Composition, log_floor: float) -> None:
        self.log_floor = log_floor
        most = max(PANELS[1] // len(composition.rounds), PANELS[0])
        laws = [_nodes(pair, log_floor, most) for pair, _ in composition.rounds]
        self._loss = np.concatenate([loss for loss, _ in laws])
        self._log_mass = np.concatenate([log_mass for _, log_mass in laws])
        self._sizes = np.array([len(loss) for loss, _ in laws])
        if not self._sizes.all():
            raise NotApplicableError("a round has no finite loss with positive probability")
        self._starts = np.cumsum(self._sizes) - self._sizes
        self._of = np.repeat(np.arange(len(laws)), self._sizes)
        self._counts = np.array([float(count) for _, count in composition.rounds])
        self._known: dict[float, Cumulants] = {}
        self._saddles: dict[float, float] = {}

    @classmethod
    def reaching(cls, composition: Composition, epsilon: float) -> tuple[Guide, float, float]:
        """Return a guide whose nodes reach far enough for delta at an epsilon, with the saddle point and log delta.

        The approximate log delta is a Chernoff bound.
        """
        floor = -50.0
        while True:
            guide = cls(composition, floor)
            tilt = guide.saddle(epsilon)
            depth = guide.cumulants(tilt).k0 - tilt * epsilon + log_peak(tilt)
            if depth > floor + 45.0 or floor < DEEPEST:
                return guide, tilt, max(depth, floor)
            # if the nodes do not reach epsilon, the depth is meaningless; so the floor falls by a limited factor
            floor = max(1.3 * depth - 50.0, DEEPER * floor)

    def _weights(self, tilts: Array) -> tuple[Array, Array, Array]:
        """Return the tilted masses of the nodes, their sums for each kind of round, and the logs of their units.

        The shapes are (tilts, nodes), (tilts, kinds) and (tilts, kinds). Each kind has its own unit at each tilt.
        """
        exponent = tilts[:, None] * self._loss
        exponent += self._log_mass
        if len(self._starts) == 1:
            top = np.maximum.reduce(exponent, axis=1, keepdims=True)
            exponent -= top
            weight = np.exp(exponent, out=exponent)
            return weight, np.add.reduce(weight, axis=1, keepdims=True), top
        top = np.maximum.reduceat(exponent, self._starts, axis=1)
        exponent -= top[:, self._of]
        weight = np.exp(exponent, out=exponent)
        return weight, np.add.reduceat(weight, self._starts, axis=1), top

    def _moments(self, tilts: Array) -> tuple[Array, Array, Array]:
        """Return K, K', K'' of one round of each kind, as arrays of shape (tilts, kinds)."""
        batches = _batches(tilts, len(self._loss))
        if len(batches) > 1:
            k0, k1, k2 = (np.concatenate(part) for part in zip(*map(self._moments, batches), strict=True))
            return k0, k1, k2
        weight, total, top = self._weights(tilts)
        if len(self._starts) == 1:
            mean = (weight @ self._loss)[:, None] / total
            spread = np.square(self._loss - mean)
            spread *= weight
            variance = np.add.reduce(spread, axis=1, keepdims=True) / total
        else:
            mean = np.add.reduceat(weight * self._loss, self._starts, axis=1) / total
            centred = self._loss - mean[:, self._of]
            variance = np.add.reduceat(weight * np.square(centred), self._starts, axis=1) / total
        return top + np.log(total), mean, variance

    @quiet
    def values(self, tilts: Array) -> Array:
        """Return K of the composition at many tilts, in an array of the same shape (n,)."""
        parts = [self._weights(part)[1:] for part in _batches(tilts, len(self._loss))]
        out: Array = np.concatenate([(top + np.log(total)) @ self._counts for total, top in parts])
        return out

    @quiet
    def pair_cumulants(self, t: float) -> list[Cumulants]:
        """Return the cumulants of one round of each kind at tilt t."""
        k0, k1, k2 = self._moments(np.array([t]))
        return [Cumulants(*parts) for parts in zip(k0[0].tolist(), k1[0].tolist(), k2[0].tolist(), strict=True)]

    @quiet
    def curves(self, tilts: Array) -> tuple[Array, Array, Array]:
        """Return K, K', K'' of the composition at many tilts, and store them for :meth:`cumulants`."""
        found = self._curves(tilts)
        self._known.update(zip(tilts.tolist(), map(Cumulants, *(each.tolist() for each in found)), strict=True))
        return found

    def _curves(self, tilts: Array) -> tuple[Array, Array, Array]:
        k0, k1, k2 = self._moments(tilts)
        return k0 @ self._counts, k1 @ self._counts, k2 @ self._counts

    def cumulants(self, t: float) -> Cumulants:
        """Return the cumulants of the composition at tilt t."""
        if t not in self._known:
            self.curves(np.array([t]))
        return self._known[t]

    @quiet
    def saddle(self, epsilon: float) -> float:
        """Return the saddle point t > 0 of epsilon: the root of ``K'(t) - 1/t - 1/(1+t) - eps``."""
        if epsilon not in self._saddles:
            self._saddles[epsilon] = self._root(
                lambda t: t * (_epsilons(t, self._curves(t)[1]) - epsilon), *LOG_TILT_RANGE
            )
        return self._saddles[epsilon]

    @quiet
    def tilt_for_delta(self, log_delta: float) -> float:
        """Return the tilt at which the leading saddle-point approximation of log delta equals a given value.

        The search begins near ``argmin (K(t) - log delta + t log t - (1+t) log(1+t)) / t``. This is the tilt of the
        best Renyi order, and no large numbers cancel in its expression.
        """

        def best_of(log_tilts: Array) -> int:
            tilts = np.exp(log_tilts)
            return int(np.argmin((self.values(tilts) - log_delta + log_peaks(tilts)) / tilts))

        around = AROUND + float(EVERYWHERE[best_of(EVERYWHERE)])
        centre = float(around[best_of(around)])
        return self._root(lambda t: log_delta - self._log_deltas(t), centre - 5.5, centre + 1.5)

    def renyi_epsilon(self, t: float, log_delta: float) -> float:
        """Return the epsilon that follows from the Renyi divergence of order 1 + t at a log delta.

        This epsilon is ``(K(t) - log delta + t log t - (1+t) log(1+t)) / t``.
        """
        return (self.cumulants(t).k0 - log_delta + log_peak(t)) / t

    def epsilon(self, t: float) -> float:
        """Return the epsilon whose saddle point is t."""
        return self.cumulants(t).k1 - 1 / t - 1 / (1 + t)

    def guess(self, log_delta: float, tilt: float) -> float:
        """Return the approximate epsilon >= 0 at which log delta has a given value.

        If K is large at ``tilt``, the saddle point of this epsilon, epsilon follows from the saddle point. If K is
        small, a single large loss determines delta: ``delta ~ sum_i k_i delta_i`` over all kinds of rounds, and epsilon
        follows from this sum. For intermediate K, the result is between these two estimates.
        """
        bulk, k0 = max(self.epsilon(tilt), 0.0), self.cumulants(tilt).k0
        if not 0 <= k0 < RARE or bulk == 0:
            return bulk
        masses = np.exp(self._log_mass) * self._counts[self._of]
        low, high = 0.0, bulk
        for _ in range(2):
            grid = low + (high - low) * SIXTEENTHS
            over = -np.expm1(np.minimum(grid[:, None] - self._loss, 0.0)) @ masses
            at = int((over > math.exp(log_delta)).sum())
            low, high = float(grid[max(at - 1, 0)]), float(grid[min(at, len(grid) - 1)])
        return high + (bulk - high) * k0 * k0 / (4 + k0 * k0)

    @quiet
    def log_delta(self, epsilon: float) -> float:
        """Return the leading saddle-point approximation of log delta at an epsilon."""
        return float(self._log_deltas(np.array([self.saddle(epsilon)]))[0])

    def _log_deltas(self, t: Array) -> Array:
        k0, k1, k2 = self._curves(t)
        curvature = k2 + t**-2 + (1 + t) ** -2
        out: Array = k0 - t * _epsilons(t, k1) - np.log(t) - np.log1p(t) - 0.5 * np.log(2 * math.pi * curvature)
        return out

    def _root(self, rising: Callable[[Array], Array], low: float, high: float) -> float:
        """Return the t at which a function turns from negative to positive.

        Each step evaluates the function at many t together. The last step interpolates.

        Args:
            rising: function of an array of t; its values are differences of log delta.
            low: logarithm of the least t.
            high: logarithm of the largest t.
        """
        inner = int(min(max(30_000 // len(self._loss), 1), 16))
        shares, below, above = np.arange(1, inner + 1) / (inner + 1), math.nan, math.nan
        while high - low > FINE:
            grid = low + (high - low) * shares
            values = rising(np.exp(grid))
            first = int(np.argmax(np.append(values >= 0, True)))
            low, high = [low, *grid.tolist(), high][first : first + 2]
            below, above = [below, *values.tolist(), above][first : first + 2]
        share = below / (below - above) if below < 0 < above else 0.5
        return math.exp(low + share * (high - low))

    @quiet
    def least_tilt(self, epsilon: float, log_bound: float, tilt: float) -> float:
        """Return about the least t <= ``tilt`` with ``K(t) - t eps <= log_bound``; 0 if this fails at ``tilt``."""

        def lowered(t: Array) -> Array:
            out: Array = log_bound - (self.values(t) - t * epsilon)
            return out

        if float(lowered(np.array([tilt]))[0]) < 0:
            return 0.0
        return self._root(lowered, LOG_TILT_RANGE[0], math.log(tilt))

    def tail_tilt(self, t: float, log_tail: float, sign: int) -> tuple[float, float]:
        """Return an edge beyond which the law tilted by t has mass of at most about ``exp(log_tail)``.

        Returns:
            ``(edge, theta)`` with ``P_t(sign * L >= sign * edge) <= exp(log_tail)`` for the total loss L. This is
            Markov's inequality at the extra tilt ``theta > 0``, with approximate cumulants.
        """
        base = self.cumulants(t)
        scale = 1 / math.sqrt(base.k2) if base.k2 > 0 else 1.0

        thetas = scale * np.geomspace(0.02, 50.0, 26) * min(1.0, math.sqrt(-log_tail / 30))
        distances = (self.values(t + sign * thetas) - base.k0 - log_tail) / thetas
        best = int(np.argmin(distances))
        return sign * float(distances[best]), float(thetas[best])


def _batches(tilts: Array, nodes: int) -> list[Array]:
    """Return the tilts in batches, each small enough that tilts times nodes fit into one block of numbers."""
    batch = max(1, BLOCK // nodes)
    return [tilts[i : i + batch] for i in range(0, len(tilts), batch)]


def _nodes(pair: DominatingPair, log_floor: float, most: int) -> tuple[Array, Array]:
    """Return losses and logs of their masses, which approximate the law of a pair's loss.

    They are the pair's atoms, and quadrature nodes on at most about ``most`` panels for a density.
    """
    stand_in = pair.standing_in(log_floor)
    if stand_in is not None:
        return stand_in
    atoms, smooth = pair.atoms, pair.smooth
    loss, log_mass = atoms.loss, atoms.log_p
    if loss.size:
        keep = np.isfinite(loss) & np.isfinite(log_mass)
        if len(loss) > PANELS[1]:
            keep &= log_mass >= log_floor - DEPTH
        loss, log_mass = loss[keep], log_mass[keep]
    if smooth is not None:
        at, weights = on_panels(_edges(*smooth.support(log_floor), most), NODES_PER_PANEL)
        loss = np.concatenate([loss, smooth.loss(at)])
        log_mass = np.concatenate([log_mass, smooth.log_p(at) + np.log(weights)])
    return loss, log_mass


def _edges(low: float, high: float, most: int) -> Array:
    """Return the edges of panels between two outcomes.

    The panels are about 1 wide, which is accurate for a normal density. If the range is too long, panels are wider, and
    finer panels are added near both ends, for densities that vary quickly there.
    """
    panels = int(min(max(high - low, PANELS[0]), most))
    width = (high - low) / panels
    edges = low + width * np.arange(panels + 1, dtype=np.float64)
    if width <= 1.0:
        return edges
    count = math.ceil(math.log(width / FIRST_PANEL) / math.log(PANEL_GROWTH)) + 1
    graded = FIRST_PANEL * np.cumsum(PANEL_GROWTH ** np.arange(count, dtype=np.float64))
    graded = graded[graded < 0.5 * (high - low)]
    merged: Array = np.unique(np.concatenate([edges, low + graded, high - graded]))
    return merged


def _epsilons(t: Array, k1: Array) -> Array:
    out: Array = k1 - 1 / t - 1 / (1 + t)
    return out
