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
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from hockeystick.engines.grid.cells import Cells, Mesh
from hockeystick.numerics.rounding import UNIT_ROUNDOFF

Array = npt.NDArray[np.float64]

MAX_REACH = 300.0  # exponent by which a repair may scale a mass
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
        return self.mesh.offset + (self.first + np.arange(len(self.mass), dtype=np.float64)) * self.mesh.h

    def log_moment(self, theta: float) -> float:
        """``log sum mass e^(theta g)``: the extra cumulant generating function of the tilted masses."""
        exponent = theta * self.losses
        top = float(exponent[self.mass > 0].max(initial=-math.inf))
        if top == -math.inf:
            return -math.inf
        return top + math.log(float((self.mass * np.exp(np.minimum(exponent - top, 0.0))).sum()))

    @property
    def log_mass(self) -> float:
        """``log E e^(t L)``, L the loss on the grid."""
        return self.log_moment(0.0) + self.mesh.kappa


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
    points = cells.points
    doubt = 2 * np.minimum(points.shift, points.mass)
    np.add.at(mass, points.knot, np.maximum(points.mass - doubt, 0.0) * (1 + 2 * points.mass_error))
    np.add.at(mass, points.knot + 1, _scaled(doubt, step) * (1 + 2 * points.mass_error))
    return _trimmed(GridLaw(mesh, cells.first, mass * (1 + 8 * UNIT_ROUNDOFF)))


def merge(cells: Cells, mesh: Mesh) -> GridLaw:
    """The outcomes around each grid point merged onto it: a lower bound.

    With p_j the mass around g_j and ``d_j = int p (1 - e^(g_j - L))`` its excess, the hull moves ``d_j^+ / expm1(h)`` of
    P-mass from g_j-1 up to g_j and ``d_j^- / -expm1(-h)`` from g_j+1 down to it. Where no atom lies on the grid, the grid is first
    moved by the o that brings the heaviest merged outcome onto it (the cells stay: ``d_j`` becomes ``e^o d_j - expm1(o) p_j``). That is what a
    law wants whose bulk fits into one cell, with nobody to borrow from. Rounding: d_j is lowered by its error, masses are scaled down by theirs. What was left out below stays out. Where the hull fails (a coarse grid with empty
    stretches), every outcome is rounded down instead.
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
    mode = int(np.argmax(p))
    if len(cells.points.knot) == 0 and 0 < p[mode] > d[mode]:
        move = -math.log1p(-d[mode] / p[mode])
        d = math.exp(move) * d - (math.expm1(move) + 8 * UNIT_ROUNDOFF * (abs(move) + abs(mesh.offset))) * p
        mesh = replace(mesh, offset=mesh.offset + move, kappa=mesh.kappa + t * move)
    rise, fall = np.maximum(d, 0.0) / up, np.maximum(-d, 0.0) / down
    # one empty knot on either side to lend from; the hull takes it back if nothing is there
    mass = np.zeros(n + 2)
    mass[1:-1] = p + rise + fall
    mass[:-2] -= rise / step
    mass[2:] -= _scaled(fall, step)
    hull = _convex(mass, mesh)
    if hull is None:
        held = cells.left.sum(axis=0) + cells.right.sum(axis=0)
        doubtful = np.minimum(cells.shift, held)
        hull = np.zeros(n + 2)
        hull[1:-2] = held - doubtful
        hull[:-3] += doubtful / step
    error = np.zeros(n)
    error[:-1] = cells.mass_error
    error[1:] = np.maximum(error[1:], cells.mass_error)
    error = np.concatenate([error[:1], error, error[-1:]])
    error[1:-1] = np.maximum(error[2:], error[:-2])
    hull = np.maximum(hull * (1 - 2 * error - 16 * UNIT_ROUNDOFF), 0.0)
    points = cells.points
    doubt = np.minimum(2 * points.shift, points.mass)
    np.add.at(hull, points.knot + 1, (points.mass - doubt) * (1 - 2 * points.mass_error))
    np.add.at(hull, points.knot, doubt * (1 - 2 * points.mass_error) / step)
    return _trimmed(GridLaw(mesh, cells.first - 1, hull))


def _scaled(mass: Array, factor: float) -> Array:
    """``mass * factor`` without 0 * inf."""
    return np.where(mass > 0, mass * factor, 0.0)


def _convex(mass: Array, mesh: Mesh) -> Array | None:
    """The lower convex hull of the polygon with these kinks: no negative mass is left; ``None`` if that takes too long.

    Inside, a knot of negative mass is dropped: its mass is spread over its neighbours, which lowers the curve. At either end
    it is merged with as many as it takes, and the one outcome that results is brought onto the grid.
    """
    held = np.flatnonzero(mass)
    negative = [int(i) for i in np.flatnonzero(mass < 0)]
    if not negative:
        return mass
    mass = mass.copy()
    lowest, highest = int(held[0]), int(held[-1])
    before, after = np.arange(-1, len(mass) - 1), np.arange(1, len(mass) + 1)
    for _ in range(MAX_REPAIRS):
        if mass[highest] < 0:
            highest = _settle_top(mass, highest, lowest, mesh)
        elif mass[lowest] < 0:
            lowest = _settle_bottom(mass, lowest, highest, mesh)
        elif negative:
            i = negative.pop()
            if mass[i] >= 0 or not lowest < i < highest:
                continue
            low, high = int(before[i]), int(after[i])
            if (high - low) * mesh.h * (mesh.t + 1) > MAX_REACH:
                return None
            _share(mass, i, low, high, mesh)
            mass[i] = 0.0
            after[low], before[high] = high, low
            negative += [j for j in (low, high) if mass[j] < 0]
        elif (mass >= 0).all():
            return mass
        else:
            negative = [int(i) for i in np.flatnonzero(mass < 0)]
        if lowest < 0 or highest < 0:
            return None
    return None


def _share(mass: Array, i: int, low: int, high: int, mesh: Mesh) -> None:
    """Spread the (negative) mass at knot i over knots low and high with Q-mass and P-mass kept."""
    h, t = mesh.h, mesh.t
    to_high = math.expm1((low - i) * h) / math.expm1((low - high) * h)
    to_low = math.exp((low - i) * h) * math.expm1((i - high) * h) / math.expm1((low - high) * h)
    mass[low] += mass[i] * to_low * math.exp((low - i) * h * t)
    mass[high] += mass[i] * to_high * math.exp((high - i) * h * t)


def _settle_top(mass: Array, top: int, bottom: int, mesh: Mesh) -> int:
    """Merge the knots above some m into one outcome of loss c, g_m <= c, and bring that onto the grid.

    The polygon has dipped below 0 at its upper end. m is the highest knot at which it is not negative: what lies above is a
    line down to its crossing of 0, that is one outcome. It is merged with enough of knot m - 1 to have loss g_m, or rounded
    down to g_m if there is not enough.

    Returns:
        The new highest knot, -1 if there is none.
    """
    h, t = mesh.h, mesh.t
    p = q = 0.0  # masses above m, in units of knot m
    for m in range(top - 1, bottom - 1, -1):
        p = (p + mass[m + 1]) * math.exp(-h * t)
        q = (q + mass[m + 1]) * math.exp(-h * (t + 1))
        if p > 0 and p >= q:
            mass[m + 1 : top + 1] = 0.0
            rise = (p - q) / math.expm1(min(h, 700.0))
            if m > bottom and mass[m - 1] >= rise * math.exp(-h * t):
                mass[m - 1] -= rise * math.exp(-h * t)
                p += rise
            mass[m] += p * (1 - 1e-12)
            return m
    return -1


def _settle_bottom(mass: Array, bottom: int, top: int, mesh: Mesh) -> int:
    """Merge the knots up to some m into one outcome of loss c, g_m <= c < g_m+1, and bring that onto the grid.

    It is merged with enough of knot m + 2 to have loss g_m+1, or rounded down to g_m if there is not enough.

    Returns:
        The new lowest knot, -1 if there is none.
    """
    h, t = mesh.h, mesh.t
    p = q = 0.0  # masses up to m, in units of knot m
    for m in range(bottom, top + 1):
        p = p * math.exp(min(h * t, 700.0)) + mass[m]
        q = q * math.exp(min(h * (t + 1), 700.0)) + mass[m]
        if p > 0 and p >= q and (p < q * math.exp(min(h, 700.0)) or m == top):
            mass[bottom : m + 1] = 0.0
            step = math.exp(min(h * t, 700.0))
            fall = (q * math.exp(min(h, 700.0)) - p) * step / -math.expm1(-h)  # in units of knot m + 1
            if m + 2 <= top and 0 <= fall * step <= mass[m + 2]:
                mass[m + 2] -= fall * step
                mass[m + 1] += (p * step + fall) * (1 - 1e-12)
                return m + 1
            mass[m] = p * (1 - 1e-12)
            return m
    return -1


def _trimmed(law: GridLaw) -> GridLaw:
    """Without the empty knots at either end."""
    held = np.flatnonzero(law.mass)
    if len(held) == 0:
        return law
    a, b = int(held[0]), int(held[-1]) + 1
    return GridLaw(law.mesh, law.first + a, law.mass[a:b])
