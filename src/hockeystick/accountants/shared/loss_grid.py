"""The privacy loss of one round on an equidistant grid, for the Fourier accountant.

The grid points are ``s_j = j h`` for ``-n/2 <= j < n/2``, with ``h = 2 length / n``. The loss is placed on the grid in
one of three ways:

- :func:`rounded` up: the mass of ``(s_(j-1), s_j]`` is placed at ``s_j``, mass above the grid at plus infinity, and
  mass below the grid on the lowest point. This loss is stochastically larger, so every hockey-stick divergence goes up.
- :func:`rounded` down: the mass of ``(s_j, s_(j+1)]`` is placed at ``s_j``, mass above the grid on the highest point,
  and mass below the grid is dropped. Every divergence goes down.
- :func:`sampled`: the density at ``s_j`` times h is placed at ``s_j``. This gives no bound.

``cell_masses`` bounds the errors of the masses (``accountants/shared/dots.py``). The ``slip`` of the law bounds the
error from computing the outcomes that lie at the grid points.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from hockeystick.accountants.shared.dots import cell_masses, loss_range, loss_slips
from hockeystick.accountants.shared.lattice import RELATIVE, LatticeLaw
from hockeystick.accountants.shared.privacy_curve import END_OF_RANGE, LIGHT, LOST, PrivacyCurve
from hockeystick.numerics.arrays import Array
from hockeystick.pairs import DominatingPair
from hockeystick.pairs.base import SmoothPart
from hockeystick.values.side import Side

STENCIL = (3 / 4, -3 / 20, 1 / 60)  # coefficients of a first derivative of sixth order
STRIDE = 0.02  # step of the stencil, in units of the scale of the outcome


@dataclass(frozen=True, slots=True)
class LossGrid:
    """Grid of ``points`` losses, ``step`` apart; the first is about ``-length``, the last below ``length``."""

    length: float
    points: int

    @property
    def step(self) -> float:
        """Distance h of neighbouring points."""
        return 2 * self.length / self.points

    @property
    def lowest(self) -> int:
        """Index j of the first point; its loss is ``j * step``."""
        return -(self.points // 2)

    @property
    def highest(self) -> int:
        """Index j of the last point; its loss is ``j * step``."""
        return self.lowest + self.points - 1


def rounded(pair: DominatingPair, grid: LossGrid, side: Side) -> LatticeLaw:
    """Return the law of the loss rounded up or down to the grid.

    Rounded up, it gives upper bounds on every hockey-stick divergence; rounded down, lower bounds.
    """
    first, last = _range(pair, grid)
    losses = grid.step * np.arange(first, last + 1, dtype=np.float64)
    curve = PrivacyCurve(pair)
    p, error = cell_masses(curve, losses)[:2]
    above, below = float(curve.above(losses[-1:])[0][0]), float(curve.below(losses[:1])[0][0])
    slip = float(loss_slips(curve, losses).max())
    if side is Side.ABOVE:
        mass = np.append(below * (1 + RELATIVE) + LOST, p + error)
        return LatticeLaw(grid.step * first, grid.step, mass, above * (1 + RELATIVE) + LOST, slip)
    mass = np.append(np.maximum(p - error, 0.0), above * (1 - RELATIVE))
    return LatticeLaw(grid.step * first, grid.step, mass, 0.0, slip)


def sampled(pair: DominatingPair, grid: LossGrid) -> LatticeLaw:
    """Return an estimated law: its masses are h times the density of the loss; atoms are moved to the nearest point."""
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
    return LatticeLaw(grid.step * first, grid.step, np.where(np.isfinite(mass), mass, 0.0), 0.0, 0.0)


def _slope(smooth: SmoothPart, x: Array) -> Array:
    """Derivative of the loss at the outcomes x, by central differences of sixth order."""
    wide = (smooth.loss(x + STRIDE) - smooth.loss(x - STRIDE)) / (2 * STRIDE)
    d = STRIDE / (1 + float(np.nanmax(np.abs(wide), initial=0.0)))
    terms = [c * (smooth.loss(x + i * d) - smooth.loss(x - i * d)) for i, c in enumerate(STENCIL, start=1)]
    slope: Array = np.sum(terms, axis=0) / d
    return slope


def _range(pair: DominatingPair, grid: LossGrid) -> tuple[int, int]:
    """First and last index of the grid points that cover the losses, except for tails of mass ``exp(LIGHT)``."""
    low, high = loss_range(pair, LIGHT)
    first = max(math.floor(max(low / grid.step, grid.lowest)) - 1, grid.lowest)
    last = min(math.ceil(min(high / grid.step, grid.highest)) + 1, grid.highest)
    return min(first, grid.highest), max(last, grid.lowest)
