"""The privacy loss of one round on an equidistant grid, for the methods that compose by Fourier transform.

``s_j = j h`` for ``-n/2 <= j < n/2``, ``h = 2 length / n``. Three ways to put the loss there:

- :func:`rounded` up: the mass of ``(s_(j-1), s_j]`` at ``s_j``, mass above the grid at plus infinity, mass below on the
lowest point. First-order stochastic dominance: every hockey-stick divergence goes up.
- :func:`rounded` down: the mass of ``(s_j, s_(j+1)]`` at ``s_j``, mass above on the highest point, mass below dropped.
Every divergence goes down.
- :func:`sampled`: the density at ``s_j`` times h. It is no bound.

Rounding errors of the two bounds. The distribution function is taken at an outcome x_j whose loss is s_j only up to
rounding; the losses therefore move by at most ``shift``, which is returned. The masses above x_j are scaled by their
relative error and made monotone, so that the differences are masses of a law that does dominate; a difference of two
doubles has one rounding, left to the caller to charge (:data:`MASS_ERROR` a round).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hockeystick.numerics.rounding import UNIT_ROUNDOFF
from hockeystick.pairs import DominatingPair
from hockeystick.pairs.base import SmoothPart
from hockeystick.values.side import Side

Array = npt.NDArray[np.float64]

LOG_LEFT_OUT = -120.0  # log of the mass that counts as beyond the grid even if the grid is longer
LEFT_OUT = math.exp(-120.0) + 1e-300  # P-mass e^-120, and underflow
END_OF_RANGE = -800.0  # log of a mass below the range of a double
MASS_ERROR = 2 * UNIT_ROUNDOFF  # relative error of every mass
STENCIL = (3 / 4, -3 / 20, 1 / 60)  # coefficients of a first derivative of sixth order
STRIDE = 0.02  # step of the stencil, in scales of the outcome


@dataclass(frozen=True, slots=True)
class LossGrid:
    """Grid of ``points`` losses at distance ``step``, from ``-length`` to below ``length``."""

    length: float
    points: int

    @property
    def step(self) -> float:
        """Distance h of neighbouring points."""
        return 2 * self.length / self.points

    @property
    def lowest(self) -> int:
        """Index of the first point."""
        return -(self.points // 2)

    @property
    def highest(self) -> int:
        """Index of the last point."""
        return self.lowest + self.points - 1


@dataclass(frozen=True, slots=True)
class GridLaw:
    """Masses at ``(first + i) h``.

    Attributes:
        first: index of the first mass.
        mass: non-negative masses, shape (n,).
        lost: mass at plus infinity beyond that of the pair itself.
        shift: bound on the distance of losses beyond their grid point (rounded up: above; rounded down: below).
    """

    first: int
    mass: Array
    lost: float = 0.0
    shift: float = 0.0

    def losses(self, grid: LossGrid) -> Array:
        """Return the losses of the masses, shape (n,)."""
        return grid.step * np.arange(self.first, self.first + len(self.mass), dtype=np.float64)

    def log_moment(self, grid: LossGrid, t: float) -> float:
        """Return the log-moment ``log sum mass e^(t s)`` of the finite losses; minus infinity without mass."""
        exponent = t * self.losses(grid)
        top = float(exponent[self.mass > 0].max(initial=-math.inf))
        if top == -math.inf:
            return -math.inf
        return top + math.log(float((self.mass * np.exp(np.minimum(exponent - top, 0.0))).sum()))


def rounded(pair: DominatingPair, grid: LossGrid, side: Side) -> GridLaw:
    """Return the loss rounded up or down to the grid: an upper or a lower bound on every divergence."""
    first, last = _range(pair, grid)
    losses = grid.step * np.arange(first, last + 1, dtype=np.float64)
    above, relative, shift = _above(pair, losses, side)
    if side is Side.ABOVE:
        total = 1 - pair.infinite_mass * (1 - 1e-13)
        above = np.minimum(above * (1 + relative) + LEFT_OUT, total)
        above = np.maximum.accumulate(above[::-1])[::-1]
        return GridLaw(first, -np.diff(above, prepend=total), float(above[-1]), shift)
    above = np.minimum.accumulate(np.maximum(above * (1 - relative) - LEFT_OUT, 0.0))
    return GridLaw(first, -np.diff(above, append=0.0), 0.0, shift)


def sampled(pair: DominatingPair, grid: LossGrid) -> GridLaw:
    """Return the density of the loss times h, an estimate; an atom is a mass at the nearest point."""
    first, last = _range(pair, grid)
    mass = np.zeros(last - first + 1)
    smooth = pair.smooth
    if smooth is not None:
        low, high = smooth.support(END_OF_RANGE)
        x = smooth.outcome(grid.step * np.arange(first, last + 1, dtype=np.float64))
        inside = (x > low) & (x < high)
        x = x[inside]
        with np.errstate(divide="ignore"):
            mass[inside] = np.exp(smooth.log_p(x) - np.log(_slope(smooth, x))) * grid.step
    atoms = pair.atoms.finite()
    at = np.clip(np.rint(atoms.loss / grid.step).astype(np.int64), first, last) - first
    np.add.at(mass, at, np.exp(atoms.log_p))
    return GridLaw(first, np.where(np.isfinite(mass), mass, 0.0))


def _slope(smooth: SmoothPart, x: Array) -> Array:
    """``dL/dx`` by central differences of sixth order."""
    wide = (smooth.loss(x + STRIDE) - smooth.loss(x - STRIDE)) / (2 * STRIDE)
    d = STRIDE / (1 + float(np.nanmax(np.abs(wide), initial=0.0)))
    terms = [c * (smooth.loss(x + i * d) - smooth.loss(x - i * d)) for i, c in enumerate(STENCIL, start=1)]
    slope: Array = np.sum(terms, axis=0) / d
    return slope


def _range(pair: DominatingPair, grid: LossGrid) -> tuple[int, int]:
    """Part of the grid that contains the loss; the rest has a mass below ``exp(LOG_LEFT_OUT)``."""
    ends = list(pair.atoms.finite().loss)
    if pair.smooth is not None:
        ends += list(pair.smooth.loss(np.array(pair.smooth.support(LOG_LEFT_OUT))))
    low, high = min(ends), max(ends)
    first = max(math.floor(max(low / grid.step, grid.lowest)) - 1, grid.lowest)
    last = min(math.ceil(min(high / grid.step, grid.highest)) + 1, grid.highest)
    return min(first, grid.highest), max(last, grid.lowest)


def _above(pair: DominatingPair, losses: Array, side: Side) -> tuple[Array, Array, float]:
    """``P(loss < L < inf)`` near each loss, its relative error, and the distance from the losses."""
    above, relative, shift = np.zeros_like(losses), np.zeros_like(losses), 0.0
    smooth = pair.smooth
    if smooth is not None:
        x = np.clip(smooth.outcome(losses), *smooth.support(END_OF_RANGE))
        masses = smooth.masses(x)
        above = masses.p_above
        relative = (64 + 4 * np.square(np.minimum(np.abs(x), 40.0))) * UNIT_ROUNDOFF
        error = (smooth.loss_error(x) + 4 * np.abs(losses)) * UNIT_ROUNDOFF
        # up: X <= x must have at most the loss of the grid point; down: X > x at least that
        missed = (
            np.where(masses.p_below > 0, smooth.loss(x) - losses, 0.0)
            if side is Side.ABOVE
            else (np.where(masses.p_above > 0, losses - smooth.loss(x), 0.0))
        )
        shift = float(np.maximum(missed + error, 0.0).max())
    atoms = pair.atoms.finite()
    seen = np.isfinite(atoms.log_p)
    for at, log_p in zip(atoms.loss[seen], atoms.log_p[seen], strict=True):
        above = above + (losses < at) * math.exp(log_p)
        relative = np.maximum(relative, (64 + 4 * abs(log_p)) * UNIT_ROUNDOFF)
        shift = max(shift, 32 * UNIT_ROUNDOFF * abs(at) + 4 * UNIT_ROUNDOFF * float(np.abs(losses).max()))
    return above, relative, shift
