"""Laws of a pair on a loss grid: one that is less private (an upper bound), one that is more private (a lower bound).

Let Lambda = dP/dQ be the likelihood ratio under Q. *Spreading* Lambda while keeping its mean makes the adversary
stronger; *merging* outcomes into their conditional mean makes the adversary weaker. Both statements hold at every
epsilon, in both directions, and for each factor of a composition, because ``(prod Lambda_i - c)_+`` is convex in each
factor.

:func:`spread` is connect-the-dots (Doroshenko et al. 2022 [DGK+22]). :func:`merge` is its optimistic counterpart. It
merges the outcomes around each grid point g_j into one outcome, whose loss c_j is near g_j. Neighbouring grid points
then exchange mass so that every c_j moves to g_j exactly.

In terms of the curve ``delta(alpha)``, merging takes at every grid point g_j the minimum of the tangents at the middles
of the cells, joins these values by a polygon, and takes the lower convex hull of the polygon. This hull lies below the
curve and has all its kinks on the grid.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from hockeystick.engines.grid.cells import MAX_WIDTH, UNDERFLOW, Cells
from hockeystick.numerics.hull import lent, scaled
from hockeystick.numerics.lattice import GridLaw, Mesh
from hockeystick.numerics.rounding import LARGEST, UNIT_ROUNDOFF
from hockeystick.values.errors import NotApplicableError

Array = npt.NDArray[np.float64]
Index = npt.NDArray[np.intp]

ALIGNMENTS = 3  # number of shifted grids tried for a lower bound, and of shifts of the grid of one round
HEAVIEST = 1e280  # largest mass at a grid point, so that sums over all points stay within the range of a double


def spread(cells: Cells, mesh: Mesh) -> GridLaw:
    """Return the upper law of a pair: each outcome is split between the ends of its cell, with the mean of dP/dQ kept.

    Rounding: masses are scaled up by their relative error. Mass that may belong to either end of a cell is assigned to
    the upper end. The mass that the cells leave out at the lower end is added to the third knot, where knots are the
    ends of the cells.
    """
    step = _steps(cells, mesh)
    left, right = cells.left.sum(axis=0), cells.right.sum(axis=0)
    doubt = np.minimum(left, 2 * cells.shift)
    inflate = 1 + 2 * cells.mass_error
    mass = np.zeros(len(cells.knots))
    mass[:-1] += (left - doubt) * inflate
    mass[1:] += scaled((right + doubt) * inflate, step)
    # if the lower end has less mass than may be misplaced, an outcome may be beyond the upper end: use the next knot
    beyond = np.minimum(2 * cells.shift - doubt, right)
    mass[1:] -= scaled(beyond, step)
    mass[2:] += scaled(scaled(beyond[:-1], step[:-1]), step[1:] * (1 + 1e-12))
    mass[2] += cells.below
    mass = np.maximum(mass, 0.0) * (1 + 16 * UNIT_ROUNDOFF)
    mass[-1] += len(mass) * cells.underflow
    points = cells.points
    over = math.exp(min(mesh.t * mesh.h, LARGEST)) * (1 + 1e-12)
    last = (cells.knots[-1:] + 1, scaled(scaled(beyond[-1:], step[-1]), over))
    if not (mass.max() <= HEAVIEST and last[1].max(initial=0.0) <= HEAVIEST):  # true also for NaN
        raise NotApplicableError("the losses of a round change too steeply for the grid")
    inflate = 1 + 2 * points.mass_error + 8 * UNIT_ROUNDOFF
    return _on_grid(mesh, (cells.knots, mass), last, (points.knot, points.mass * inflate + UNDERFLOW))


def merge(cells: Cells, mesh: Mesh) -> GridLaw:
    """Return the lower law of a pair: the outcomes around each knot are merged into one outcome at this knot.

    Knots are the grid points between the cells. Let p_j be the mass around the knot g_j, and let ``d_j = int p (1 -
    e^(g_j - L))`` be the excess of this mass. The function ``lent`` of ``numerics/hull.py`` moves a P-mass of ``d_j^+ /
    expm1(g_j - g_(j-1))`` from g_(j-1) up to g_j, and ``d_j^- / -expm1(g_j - g_(j+1))`` from g_(j+1) down to g_j.

    If no atom is at a grid point, a few shifted grids are tried, too. Each grid is shifted by an offset o at which one
    of the heaviest merged outcomes is at a grid point. The cells stay the same, and ``d_j`` becomes ``e^o d_j -
    expm1(o) p_j``. The grid with the best bound is used. A shifted grid improves the bound if the bulk of a law fits
    into one cell: the bulk then has no neighbours to exchange mass with.

    Rounding: d_j is lowered by its error, and masses are scaled down by their relative errors. The mass that the cells
    leave out at the lower end is not added.
    """
    knots = np.concatenate([cells.knots[:1] - 1, cells.knots, cells.knots[-1:] + 1])
    if float(np.diff(cells.knots).max()) * mesh.h > MAX_WIDTH:  # losses are rounded down instead of merged
        return _deflated(cells, mesh, knots, _rounded_down(cells, mesh))
    n = len(cells.knots)
    width, step = np.diff(cells.knots) * mesh.h, _steps(cells, mesh)
    down, up = -np.expm1(-width), np.expm1(np.minimum(width, LARGEST))
    p, d, doubt = np.zeros(n), np.zeros(n), np.zeros(n)
    p[:-1] += cells.left[0] + cells.right[0]
    p[1:] += scaled(cells.left[1] + cells.right[1], step)
    d[:-1] += cells.right[0] * down
    d[1:] -= scaled(cells.left[1], step * up)
    doubt[:-1] += cells.shift * up
    doubt[1:] += scaled(cells.shift, step * up)
    d -= 2 * doubt
    at = knots * mesh.h
    choices = [(0.0, lent(p, d, at, mesh.t))]
    for j in _heaviest(p) if len(cells.points.knot) == 0 else ():
        if 0 < p[j] > d[j] > -p[j]:
            move = -math.log1p(-d[j] / p[j])
            slip = 16 * UNIT_ROUNDOFF * (math.expm1(abs(move)) + abs(mesh.offset))
            choices.append((move, lent(p, math.exp(move) * d - (math.expm1(move) + slip) * p, at, mesh.t)))
    kept = [(move, hull) for move, hull in choices if hull is not None] or [(0.0, _rounded_down(cells, mesh))]
    move, hull = max(kept, key=lambda choice: choice[1].sum() * math.exp(mesh.t * choice[0]))
    if move:
        mesh = replace(mesh, offset=mesh.offset + move, kappa=mesh.kappa + mesh.t * move)
    return _deflated(cells, mesh, knots, hull)


def _heaviest(p: Array) -> Index:
    """Return the positions of the few largest masses, in increasing order of mass."""
    if len(p) <= ALIGNMENTS:
        return np.argsort(p)
    top = np.argpartition(p, -ALIGNMENTS)[-ALIGNMENTS:]
    return top[np.argsort(p[top])]


def _deflated(cells: Cells, mesh: Mesh, knots: Index, hull: Array) -> GridLaw:
    """Return the law of merged masses and of atoms on grid points, all scaled down to cover their relative errors."""
    error = np.concatenate([[0.0] * 3, cells.mass_error, [0.0] * 3])
    error = np.maximum.reduce([error[:-3], error[1:-2], error[2:-1], error[3:]])
    hull = np.maximum(hull * (1 - 2 * error - 16 * UNIT_ROUNDOFF), 0.0)
    points = cells.points
    deflate = 1 - 2 * points.mass_error - 16 * UNIT_ROUNDOFF
    return _on_grid(mesh, (knots, hull), (points.knot, points.mass * deflate))


def _rounded_down(cells: Cells, mesh: Mesh) -> Array:
    """Return masses at the knots without merging: each cell's mass is moved to the knot before its lower end."""
    held = cells.left.sum(axis=0) + cells.right.sum(axis=0)
    mass = np.zeros(len(cells.knots) + 2)
    gap = mesh.h * np.diff(np.concatenate([cells.knots[:1] - 1, cells.knots[:-1]]))
    mass[:-3] += held * np.exp(-mesh.t * gap)
    return mass


def _steps(cells: Cells, mesh: Mesh) -> Array:
    """Return ``e^(t width)`` for each cell, the factor that scales a tilted mass from its lower to its upper end.

    Raises:
        NotApplicableError: the factor exceeds the range of a double.
    """
    lift = mesh.t * mesh.h * np.diff(cells.knots)
    if not float(lift.max(initial=0.0)) <= LARGEST:
        raise NotApplicableError("the losses of a round change too steeply for the grid")
    step: Array = np.exp(lift)
    return step


def _on_grid(mesh: Mesh, *parts: tuple[Index, Array]) -> GridLaw:
    """Return the law with the given masses at the given grid indices, without empty grid points at either end."""
    index = np.concatenate([knots[mass > 0] for knots, mass in parts])
    if len(index) == 0:
        return GridLaw(mesh, 0, np.zeros(1))
    first = int(index.min())
    dense = np.zeros(int(index.max()) - first + 1)
    np.add.at(dense, index - first, np.concatenate([mass[mass > 0] for _, mass in parts]))
    return GridLaw(mesh, first, dense)
