"""A pair on a loss grid, made worse (an upper bound) or better (a lower bound).

One idea: write Lambda = dP/dQ for the likelihood ratio under Q. *Spreading* Lambda with its mean kept makes the adversary
stronger, *merging* outcomes into their conditional mean makes it weaker; both at every epsilon, in both directions, and
factor by factor under composition, because ``(prod Lambda_i - c)_+`` is convex in each factor.

:func:`spread` is connect-the-dots (Doroshenko et al. 2022, arXiv 2207.04380). :func:`merge` is its optimistic twin: the cell
around each grid point is merged into one outcome, of loss c_j near g_j; neighbours lend each other the mass that brings every
c_j onto g_j exactly. In terms of the curve ``delta(alpha)``: the polygon through ``g_j = min`` of the tangents taken at the
middles of the cells, then its lower convex hull, which lies below the curve and has all its kinks on the grid.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hockeystick.engines.grid.cells import Cells, Mesh
from hockeystick.numerics.rounding import UNIT_ROUNDOFF

Array = npt.NDArray[np.float64]

MAX_REPAIRS = 20_000  # knots that the hull may drop one by one before merging gives up for plain rounding


@dataclass(frozen=True, slots=True)
class GridLaw:
    """Finite losses on a grid: P-masses ``mass[i] e^(kappa - t g)`` at ``g = offset + (first + i) h``.

    For a bound, only P matters: ``delta(eps) = E_P (1 - e^(eps - L))_+`` is increasing in every mass and every loss, so
    masses may be scaled and moved to pay for rounding.
    """

    mesh: Mesh
    first: int
    mass: Array

    @property
    def losses(self) -> Array:
        """The grid points."""
        return self.mesh.offset + (self.first + np.arange(len(self.mass))) * self.mesh.h

    def log_moment(self, theta: float) -> float:
        """``log sum mass e^(theta g)``: the extra cumulant generating function of the tilted masses."""
        exponent = theta * self.losses
        top = float(exponent[self.mass > 0].max(initial=-math.inf))
        if top == -math.inf:
            return -math.inf
        return top + math.log(float((self.mass * np.exp(np.minimum(exponent - top, 0.0))).sum()))

    @property
    def mean(self) -> float:
        """Mean of the tilted law."""
        return float((self.mass * self.losses).sum() / self.mass.sum())


def spread(cells: Cells, mesh: Mesh) -> GridLaw:
    """Every outcome split between the ends of its cell with the mean of Lambda kept: an upper bound.

    Rounding: masses are scaled up by their relative error; the mass whose side is in doubt goes to the upper end. What was
    left out below is put on the lowest knot.
    """
    step = math.exp(min(mesh.t * mesh.h, 700.0))
    left, right = cells.left.sum(axis=0), cells.right.sum(axis=0)
    doubt = np.minimum(left, 2 * cells.shift)
    inflate = 1 + 2 * cells.mass_error
    mass = np.zeros(len(left) + 1)
    mass[:-1] += (left - doubt) * inflate
    mass[1:] += np.where(right + doubt > 0, (right + doubt) * inflate * step, 0.0)
    mass[1] += cells.below
    return _trimmed(GridLaw(mesh, cells.first, mass * (1 + 8 * UNIT_ROUNDOFF)))


def merge(cells: Cells, mesh: Mesh) -> GridLaw:
    """The outcomes around each grid point merged onto it: a lower bound.

    With p_j the mass around g_j and ``d_j = int p (1 - e^(g_j - L))`` its excess, the hull moves ``d_j^+ / expm1(h)`` of
    P-mass from g_j-1 up to g_j and ``d_j^- / -expm1(-h)`` from g_j+1 down to it. Rounding: d_j is lowered by its error,
    masses are scaled down by theirs. What was left out below stays out.
    """
    t, h = mesh.t, mesh.h
    down, up = -math.expm1(-h), math.expm1(min(h, 700.0))
    step = math.exp(min(t * h, 700.0))
    n = cells.left.shape[1] + 1
    above_l, above_r = cells.left[0], cells.right[0]
    below_l, below_r = cells.left[1], cells.right[1]
    p, d, doubt = np.zeros(n), np.zeros(n), np.zeros(n)
    p[:-1] += above_l + above_r
    p[1:] += _scaled(below_l + below_r, step)
    d[:-1] += above_r * down
    d[1:] -= np.where(below_l > 0, _scaled(below_l, step) * up, 0.0)
    doubt[:-1] += cells.shift
    doubt[1:] += _scaled(cells.shift, step)
    d -= 2 * h * np.minimum(doubt, p)
    rise, fall = np.maximum(d, 0.0) / up, np.maximum(-d, 0.0) / down
    # one empty knot on either side to lend from; the hull takes it back if nothing is there
    mass = np.zeros(n + 2)
    mass[1:-1] = p + rise + fall
    mass[:-2] -= rise / step
    mass[2:] -= _scaled(fall, step)
    mass = _convex(mass, mesh)
    error = np.zeros(n)
    error[:-1] = cells.mass_error
    error[1:] = np.maximum(error[1:], cells.mass_error)
    error = np.concatenate([error[:1], error, error[-1:]])
    error[1:-1] = np.maximum(error[2:], error[:-2])
    return _trimmed(GridLaw(mesh, cells.first - 1, mass * (1 - 2 * error - 16 * UNIT_ROUNDOFF)))


def excess_at_mode(cells: Cells, mesh: Mesh) -> float:
    """How far above its grid point the heaviest merged cell lies: the offset that would bring it onto the grid."""
    step = math.exp(min(mesh.t * mesh.h, 700.0))
    n = cells.left.shape[1] + 1
    p, d = np.zeros(n), np.zeros(n)
    p[:-1] += cells.left[0] + cells.right[0]
    p[1:] += _scaled(cells.left[1] + cells.right[1], step)
    d[:-1] += cells.right[0] * -math.expm1(-mesh.h)
    d[1:] -= _scaled(cells.left[1], step) * math.expm1(min(mesh.h, 700.0))
    mode = int(np.argmax(p))
    return -math.log1p(-d[mode] / p[mode])


def _scaled(mass: Array, factor: float) -> Array:
    """``mass * factor`` without 0 * inf."""
    return np.where(mass > 0, mass * factor, 0.0)


def _convex(mass: Array, mesh: Mesh) -> Array:
    """The lower convex hull of the polygon with these kinks: no negative mass is left.

    Inside, a knot of negative mass is dropped: its mass is spread over its neighbours, which lowers the curve. At an end,
    where there is no second neighbour, the polygon has dipped below the straight line beyond it (1 - alpha, or 0), which
    is itself a lower bound: the next knot is raised onto that line.
    """
    negative = list(np.flatnonzero(mass < 0))
    if not negative:
        return mass
    mass = mass.copy()
    n = len(mass)
    before, after = np.arange(-1, n - 1), np.arange(1, n + 1)
    alive = np.ones(n, dtype=bool)
    repairs = 0
    while negative:
        i = negative.pop()
        if not alive[i] or mass[i] >= 0:
            continue
        repairs += 1
        if repairs > MAX_REPAIRS:
            return np.zeros(n)
        low, high = int(before[i]), int(after[i])
        if low >= 0 and high < n:
            _share(mass, i, low, high, mesh)
        elif low < 0 and high < n:
            _raise(mass, i, high, int(after[high]), mesh, n)
        elif low >= 0:
            _raise(mass, i, low, int(before[low]), mesh, n)
        alive[i] = False
        mass[i] = 0.0
        if low >= 0:
            after[low] = high
        if high < n:
            before[high] = low
        touched = [low, high, int(after[high]) if high < n else n, int(before[low]) if low >= 0 else -1]
        negative += [j for j in touched if 0 <= j < n and mass[j] < 0]
    return mass


def _share(mass: Array, i: int, low: int, high: int, mesh: Mesh) -> None:
    """Spread the (negative) mass at knot i over knots low and high with Q-mass and P-mass kept."""
    h, t = mesh.h, mesh.t
    to_high = math.expm1((low - i) * h) / math.expm1((low - high) * h)
    to_low = math.exp((low - i) * h) * math.expm1((i - high) * h) / math.expm1((low - high) * h)
    mass[low] += mass[i] * to_low * math.exp((low - i) * h * t)
    mass[high] += mass[i] * to_high * math.exp((high - i) * h * t)


def _raise(mass: Array, i: int, knot: int, beyond: int, mesh: Mesh, n: int) -> None:
    """Drop the end knot i (negative mass) by adding a tent at its neighbour ``knot`` that cancels it.

    A tent of Q-weight: +a at i, +b at ``beyond``, -(a + b) at ``knot``, with mean kept: b (alpha_beyond - alpha_knot) =
    a (alpha_knot - alpha_i).
    """
    h, t = mesh.h, mesh.t
    a = -mass[i] * math.exp((knot - i) * h * (t + 1))  # Q-weight of the tent at i, in units of the knot's masses
    if not 0 <= beyond < n:
        mass[knot] = 0.0  # nothing is left to raise: no mass at all is a lower bound
        return
    b = a * math.expm1((i - knot) * h) / -math.expm1((beyond - knot) * h)
    mass[knot] -= a + b
    mass[beyond] += b * math.exp((beyond - knot) * h * (t + 1))


def _trimmed(law: GridLaw) -> GridLaw:
    """Without the empty knots at either end."""
    held = np.flatnonzero(law.mass)
    if len(held) == 0:
        return law
    a, b = int(held[0]), int(held[-1]) + 1
    return GridLaw(law.mesh, law.first + a, law.mass[a:b])
