"""Step functions above and below a density of the loss on a grid, for the Fourier accountant as published.

Koskela, Jalko, Prediger, Honkela 2021 [KJPH21], Section 6, for a sampled Gaussian round when a record is removed, at
rate q with noise sigma. Let omega be the density of its loss and h the step of the grid. The least step function above
omega, with the mass of each cell at the cell's upper end, raises every hockey-stick divergence; the largest step
function below omega, with masses at the lower ends, lowers every divergence. Over k rounds the masses are off by a
factor of about ``e^(k h sup omega)`` in either direction: the price of bounding the density instead of the mass of a
cell (:func:`~hockeystick.accountants.shared.loss_grid.rounded`).

**One peak.** With x the outcome and ``V = (1 - q) / q e^(-(x - 1/2) / sigma^2)``, ``(log omega)' = (1 - x) - (1 + x)
V`` (``density_errors.py``), which is positive for ``x <= -1`` and negative for ``x >= 1``. In between its sign is that
of ``log((1 - x) / (1 + x)) - log V``, whose derivative ``1 / sigma^2 - 2 / (1 - x^2)`` is not positive for ``sigma^2 >=
1/2``: omega then rises up to one place and falls from there, so that its extremes over a cell are at the cell's ends,
except in the cell of the peak. With less noise omega may have two peaks, and the method is refused.

**At the peak.** A loss s has the slope ``ds/dx = 1 / (sigma^2 (1 + V))``, so that ``|d log omega / dx| <= 2 / sigma^2``
for x in [-1, 1]: between outcomes a < b on either side of the peak ``sup omega <= omega(a) e^(2 (b - a) / sigma^2)``.
"""

from __future__ import annotations

import math

import numpy as np

from hockeystick.accountants.shared.density_errors import log_density
from hockeystick.accountants.shared.dots import LOOSE
from hockeystick.accountants.shared.lattice import LatticeLaw
from hockeystick.accountants.shared.loss_grid import LossGrid
from hockeystick.accountants.shared.privacy_curve import LARGEST, LOST, PrivacyCurve
from hockeystick.numerics.roots import root
from hockeystick.numerics.rounding import UNIT_ROUNDOFF
from hockeystick.pairs import DominatingPair, GaussianPair, PoissonRemovePair
from hockeystick.values.errors import NotApplicableError
from hockeystick.values.side import Side

LEAST_NOISE = math.sqrt(0.5) * (1 + 1e-12)  # smallest noise at which the density is known to have a single peak
APART = 1e-9  # distance from the peak to the outcome used on either side of it
UNKNOWN = 1e-3  # densities with a relative error of at least this are not used
ELSEWHERE = (
    "density bounds (rounding=2) require Poisson-sampled Gaussian rounds with a noise multiplier of at least 0.7072 "
    "and adjacency 'remove'; use these, or rounding=1"
)


def between(pair: DominatingPair, grid: LossGrid, side: Side) -> LatticeLaw:
    """Return the masses of the step function above the density of the loss, or of the step function below it.

    Raises:
        NotApplicableError: the analysis does not cover the round, or the window begins above its least loss.
    """
    if not isinstance(pair, PoissonRemovePair) or not isinstance(pair.base, GaussianPair):
        raise NotApplicableError(ELSEWHERE)
    noise, rate, step = 1 / pair.base.mu, pair.rate, grid.step
    if noise < LEAST_NOISE:
        raise NotApplicableError(ELSEWHERE)
    edge = math.log1p(-rate)
    first = math.floor(edge / step) + 1
    if first <= grid.lowest:
        raise NotApplicableError(f"the window begins above the least loss of a round; set length above {-edge:.4g}")
    loss = step * np.arange(first, grid.highest + 1, dtype=np.float64)
    log_omega, relative = log_density(noise, rate, loss)
    known = int(np.argmax(relative < UNKNOWN))  # close to the edge, loss - edge cancels
    loss, log_omega, relative = loss[known:], log_omega[known:], relative[known:]
    omega = np.exp(log_omega)
    low, high = omega * (1 - 2 * relative), omega * (1 + 2 * relative)
    at, slip = step * (first + known), 8 * UNIT_ROUNDOFF * grid.length  # covers sums of losses
    if side is Side.BELOW:
        return LatticeLaw(at, step, step * (1 - 4 * UNIT_ROUNDOFF) * np.minimum(low[:-1], low[1:]), 0.0, slip)
    before, after, peak = _peak(noise, rate)
    outcome = noise**2 * (np.log(np.expm1(loss - edge)) + edge - math.log(rate)) + 0.5
    rising, falling = outcome <= before, outcome >= after
    most = np.where(rising[1:], high[1:], np.where(falling[:-1], high[:-1], peak))
    mass = step * np.append(high[0] if rising[0] else peak, most)
    mass[0] *= (float(loss[0]) - edge) / step * (1 + 2 * float(relative[0]))  # from the edge to the first point
    beyond = float(PrivacyCurve(pair).above(loss[-1:])[0][0]) * (1 + LOOSE) + LOST
    return LatticeLaw(at, step, mass * (1 + 8 * UNIT_ROUNDOFF), beyond, slip)


def _peak(noise: float, rate: float) -> tuple[float, float, float]:
    """Return outcomes just below and above the peak, and an upper bound on the density there.

    Raises:
        NotApplicableError: rounding hides on which side of the peak they lie.
    """
    odds = math.log1p(-rate) - math.log(rate)

    def rival(x: float) -> float:  # V
        return math.exp(min(odds - (x - 0.5) / noise**2, LARGEST))

    def slope(x: float) -> float:
        return (1 - x) - (1 + x) * rival(x)

    place = root(slope, -1.0, 1.0, xtol=1e-14)
    before, after = place - APART, place + APART
    for x, sign in ((before, 1), (after, -1)):
        if not sign * slope(x) > 32 * UNIT_ROUNDOFF * (1 + abs(odds)) * (2 + 2 * rival(x)):
            raise NotApplicableError("the peak of the density is lost to rounding; use rounding=1")
    loss = math.log1p(rate * math.expm1((before - 0.5) / noise**2))
    log_omega, relative = log_density(noise, rate, np.array([loss]))
    slack = 2 * float(relative[0]) + 2 * (after - before + APART) / noise**2
    return before, after, math.exp(float(log_omega[0]) + slack)
