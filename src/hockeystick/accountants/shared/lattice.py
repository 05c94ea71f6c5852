"""Discrete privacy-loss laws on a lattice, and the certified ends of delta and epsilon of their composition.

A law has masses at the losses ``first + j gap`` and at ``+inf``. With S the sum of all rounds and K its log-moment,
``delta(eps) = p_inf + e^(K(t) - t eps) E_t f(S - eps)``. Here E_t is the expectation under the law
tilted by t, and f is defined in ``numerics/lattice.py``. That module bounds the errors of the Fourier transform and of
restricting S to a window of losses. This module chooses t and the window (any choice is valid). It also tilts the laws,
and bounds the rounding errors of the tilted masses.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from hockeystick.numerics.arrays import Array
from hockeystick.numerics.fourier import fast_length
from hockeystick.numerics.lattice import GridLaw, GridSum, Mesh, Window
from hockeystick.numerics.logarithm import log_peak
from hockeystick.numerics.meet import lower_end, upper_end
from hockeystick.numerics.minima import least_place
from hockeystick.numerics.rounding import UNIT_ROUNDOFF
from hockeystick.values.errors import NotApplicableError
from hockeystick.values.side import Side

MAX_POINTS = (
    5_000_000  # largest number of points of a window, or of a round, times kinds of rounds: some seconds, 600 MB
)
FEW_POINTS = 1 << 20  # largest number of points chosen by default: about half a second
CARE = 64 * UNIT_ROUNDOFF  # relative error of dozens of roundings
RELATIVE = 1e-12  # relative error of a distribution function in a tail, or of a longer formula
LOG_OUTSIDE = -30.0  # log of the wanted tilted mass outside the window
PRECISION = 1e-6  # relative gap given to the search for an end of epsilon, which is exact to a thousandth of it
LEAST_TILT = 1e-6  # used instead of a tilt of 0, for which there is no bound on the mass outside
UNDERFLOW = 1e-290  # bound on a tilted mass that underflows
LOG_TILTS = (-14.0, 12.0)  # range of log t in the search for a tilt
SPAN = 3.5  # half-width of the search for the log of a Chernoff parameter, around that of a normal sum
GUIDE = 4096  # largest number of points of a sketch, the coarse copy of a law from which a tilt is chosen


@dataclass(frozen=True)
class LatticeLaw:
    """Law of the privacy loss of one round on a lattice; masses need not sum to 1.

    Attributes:
        first: loss of entry 0.
        gap: distance of neighbouring losses.
        mass: non-negative masses under P, shape (n,).
        infinite: mass at ``+inf``.
        slip: bound on the distance of a loss from its lattice point.
    """

    first: float
    gap: float
    mass: Array
    infinite: float
    slip: float

    @property
    def losses(self) -> Array:
        """Losses of the entries, shape (n,)."""
        losses: Array = self.first + self.gap * np.arange(len(self.mass), dtype=np.float64)
        return losses

    @cached_property
    def seen(self) -> tuple[Array, Array]:
        """Losses of the entries with positive mass, and the logarithms of these masses."""
        some = np.flatnonzero(self.mass)
        return self.losses[some], np.log(self.mass[some])

    def log_moment(self, t: float) -> float:
        """Return an upper bound on ``log sum mass e^(t loss)``."""
        losses, log_mass = self.seen
        if not len(losses):
            return -math.inf
        exponent = log_mass + t * losses
        top = float(exponent.max())
        size = 100 + abs(top) + abs(t) * float(np.abs(losses[[0, -1]]).max())
        return top + math.log(float(np.exp(exponent - top).sum())) + 16 * UNIT_ROUNDOFF * size

    @cached_property
    def sketch(self) -> LatticeLaw:
        """Coarse copy of the law on at most ``GUIDE`` points, to choose parameters; no bound depends on it."""
        by = -(-len(self.mass) // GUIDE)
        padded = np.concatenate([self.mass, np.zeros(-len(self.mass) % by)]).reshape(-1, by)
        return LatticeLaw(self.first + 0.5 * (by - 1) * self.gap, by * self.gap, padded.sum(axis=1), 0.0, 0.0)

    def tilted(self, t: float, side: Side) -> GridLaw:
        """Return the law with masses multiplied by ``e^(t loss)`` and normalised.

        Masses and losses are rounded up or down by ``side``.
        """
        kappa = self.log_moment(t) if self.mass.any() else 0.0
        with np.errstate(divide="ignore"):
            exponent = np.log(self.mass) + t * self.losses - kappa
        # the exponent errs by roundings of its terms, and the losses by slip
        size = 64 + abs(kappa) + t * float(np.abs(self.losses[[0, -1]]).max())
        error = 8 * UNIT_ROUNDOFF * (size + np.abs(np.where(self.mass > 0, exponent, 0.0)))
        mass = np.exp(exponent) * (1 + side * error)
        if side is Side.ABOVE:
            mass += UNDERFLOW * (self.mass > 0)
        return GridLaw(Mesh(self.first, self.gap, t, kappa).moved(side * self.slip), 0, mass)


Laws = Sequence[tuple[LatticeLaw, int]]


def log_moment(laws: Laws, t: float) -> float:
    """Return an upper bound on the log-moment K(t) of the sum of all rounds."""
    return math.fsum(count * law.log_moment(t) for law, count in laws)


def infinite_mass(laws: Laws) -> float:
    """Return the mass of the sum at infinity, ``1 - prod (1 - p_inf)^k``, accurate to rounding."""
    if any(law.infinite >= 1 for law, _ in laws):
        return 1.0
    return -math.expm1(math.fsum(count * math.log1p(-law.infinite) for law, count in laws))


def has_mass(laws: Laws) -> bool:
    """Return True if every round has mass at finite losses."""
    return all(bool(law.mass.any()) for law, _ in laws)


def tilt_for_delta(laws: Laws, log_delta: float) -> float:
    """Return the t that nearly minimises ``(K(t) - log delta + log peak(t)) / t``, the Renyi bound on epsilon.

    Here ``peak(t)`` is ``t^t / (1 + t)^(1 + t)``.
    """
    return _least(laws, lambda t, k: (k - log_delta + log_peak(t)) / t)


def tilt_for_epsilon(laws: Laws, epsilon: float) -> float:
    """Return the t that nearly minimises ``K(t) - t eps + log peak(t)``, the Renyi bound on log delta.

    Here ``peak(t)`` is ``t^t / (1 + t)^(1 + t)``.
    """
    return _least(laws, lambda t, k: k - t * epsilon + log_peak(t))


def _least(laws: Laws, bound: Callable[[float, float], float]) -> float:
    sketches = [(law.sketch, count) for law, count in laws]

    def at(log_t: float) -> float:
        t = math.exp(log_t)
        return bound(t, log_moment(sketches, t))

    return math.exp(least_place(at, *LOG_TILTS, xtol=1e-3))


def variance(laws: Laws, t: float) -> float:
    """Return the approximate variance of the sum tilted by t, from coarse copies of the laws."""
    total = 0.0
    for law, count in laws:
        losses, log_mass = law.sketch.seen
        weight = np.exp(log_mass + t * losses - (log_mass + t * losses).max())
        weight /= weight.sum()
        mean = float((weight * losses).sum())
        total += count * float((weight * np.square(losses - mean)).sum())
    return total


def window_of(laws: Laws, tilt: float, log_outside: float = LOG_OUTSIDE) -> Window:
    """Return a window such that the tilted sum has mass of at most about ``e^log_outside`` on either side (Markov)."""
    k, gap = log_moment(laws, tilt), laws[0][0].gap

    def reach(s: float) -> float:
        return (log_moment(laws, tilt + s) - k - log_outside) / abs(s)

    above, below = _chernoff(laws, tilt, log_outside, reach), _chernoff(laws, tilt, log_outside, lambda s: reach(-s))
    largest = math.fsum(count * float(law.seen[0][-1]) for law, count in laws)
    smallest = math.fsum(count * float(law.seen[0][0]) for law, count in laws)
    low, high = max(-reach(-below), smallest) - 2 * gap, min(reach(above), largest) + 2 * gap
    if not low < high:
        raise NotApplicableError(
            f"the losses add up to {largest:.1e}, and their rounding exceeds their spread; use fewer rounds, more "
            "noise, or accountant 'contour'"
        )
    return Window(low, high, below, above)


def window_on(laws: Laws, tilt: float, low: float, high: float) -> Window:
    """Return the window [low, high], with Chernoff parameters for bounds on the mass below and above it."""
    if not has_mass(laws):
        return Window(low, high, 1.0, 1.0)
    above = _chernoff(laws, tilt, LOG_OUTSIDE, lambda s: log_moment(laws, tilt + s) - s * high)
    below = _chernoff(laws, tilt, LOG_OUTSIDE, lambda s: log_moment(laws, tilt - s) + s * low)
    return Window(low, high, below, above)


def _chernoff(laws: Laws, tilt: float, log_outside: float, bound: Callable[[float], float]) -> float:
    """Return the Chernoff parameter that nearly minimises a bound, searched around the parameter of a normal sum."""
    normal = math.log(-2 * log_outside / max(variance(laws, tilt), laws[0][0].gap ** 2)) / 2
    return math.exp(least_place(lambda log_s: bound(math.exp(log_s)), normal - SPAN, normal + SPAN, xtol=0.1))


def points_of(window: Window, gap: float) -> int:
    """Return the number of lattice points that a window needs, rounded up to a fast length for Fourier transforms."""
    return fast_length(math.ceil((window.high - window.low) / gap) + 1)


def compose(laws: Laws, tilt: float, window: Window, side: Side, remedy: str) -> GridSum:
    """Return the law of the sum of all rounds on a window; its deltas bound the true ones from one side.

    Args:
        laws: pairs of law and count, all with the same gap.
        tilt: tilt t > 0.
        window: interval of losses on which the sum is computed.
        side: ``ABOVE`` for upper bounds on delta, ``BELOW`` for lower bounds.
        remedy: advice in the error about too many points.

    Raises:
        NotApplicableError: there are too many points.
    """
    n = points_of(window, laws[0][0].gap)
    if n * len(laws) > MAX_POINTS:
        raise NotApplicableError(
            f"the sum of losses would need {n * len(laws):.1e} lattice points, more than {MAX_POINTS:.1e}: {remedy}"
        )
    infinite = infinite_mass(laws)
    log_infinite = math.log(infinite) + side * RELATIVE if infinite > 0 else -math.inf
    return GridSum([(law.tilted(tilt, side), count) for law, count in laws], window, side, log_infinite)


@dataclass(frozen=True)
class Enclosed:
    """Two compositions on one window: deltas of ``above`` are upper bounds, deltas of ``below`` lower bounds."""

    above: GridSum
    below: GridSum
    window: Window

    @classmethod
    def of(cls, above: Laws, below: Laws, tilt: float, window: Window, remedy: str) -> Enclosed:
        """Return the compositions of two lists of laws; any tilt gives valid bounds."""
        up = compose(above, tilt, window, Side.ABOVE, remedy)
        down = compose(below, tilt, window, Side.BELOW, remedy)
        return cls(up, down, window)

    def log_delta(self, low: float, high: float) -> tuple[float, float]:
        """Return a lower bound on log delta at epsilon ``low``, and an upper bound at epsilon ``high``."""
        return min(self.below.log_delta(low), 0.0), min(self.above.log_delta(high), 0.0)

    def epsilon(self, low: float, high: float) -> tuple[float, float]:
        """Return a lower bound on epsilon at log delta ``low``, and an upper bound at log delta ``high``.

        The upper bound is infinite if it would lie beyond the window.
        """
        middle, width = 0.5 * (self.window.low + self.window.high), self.window.high - self.window.low
        slope, top = max(self.above.t, 1 / width), max(self.window.high, 1.0)
        upper = upper_end(self.above.log_delta, high, max(middle, 0.0), slope, PRECISION)
        lower = lower_end(self.below.log_delta, low, min(upper, top), slope, PRECISION)
        return lower, upper if upper <= top else math.inf  # beyond the window, delta consists of error bounds only
