"""Integrals of one pair over the cells of a loss grid, computed without cancellation for the two laws of ``laws.py``.

Grid points are ``offset + j h``. A *knot* is a grid point at which cells meet: every grid point in the bulk of the law,
and only some of them where outcomes are rare (see :func:`_knots`). A cell [l, r] lies between two neighbouring knots,
and is cut into a lower and an upper part (see :func:`_cuts`). Over each part, the integrals

    left  = int p(x) w(L(x)) dx,   right = int p(x) (1 - w(L(x))) dx,   w(L) = (e^-L - e^-r) / (e^-l - e^-r)

are computed by Gauss-Legendre rules whose error is below the rounding of the densities (``numerics/legendre.py``). An
outcome of loss L is split between l and r so that the mean of the likelihood ratio is kept, and ``w`` is the share of
its mass that goes to l. This is the connect-the-dots split (Doroshenko et al. 2022 [DGK+22]), cell by cell. Written as

    1 - w = expm1(l - L) / expm1(l - r),      w = e^(l - L) expm1(L - r) / expm1(l - r)

both shares are computed without cancellation. All masses are tilted: they are multiplied by ``e^(t l - kappa)``, and
this product is formed in log space.

Rounding. The relative error of a mass is at most ``mass_error``, which is the absolute error of its exponent. If the
loss L has an absolute error of ``loss_error``, a share of at most ``loss_error / (r - l)`` of the cell's mass is given
to the wrong end of the cell. Bounds on both errors are returned, so that each law can be rounded to its safe side.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hockeystick.engines.grid.work import PLACE, begin, check_range
from hockeystick.numerics import arrays
from hockeystick.numerics.lattice import Mesh
from hockeystick.numerics.legendre import HALF_WIDTH, rule
from hockeystick.numerics.rounding import LARGEST, SPARE, UNIT_ROUNDOFF
from hockeystick.pairs import Atoms, DominatingPair, SmoothPart
from hockeystick.pairs.base import kink_of, terms_of
from hockeystick.values.errors import NotApplicableError

Array = npt.NDArray[np.float64]
Index = npt.NDArray[np.intp]

BLOCK = 64  # largest number of grid gaps that one cell may span in a tail
PIECES = 8  # number of pieces of a block; on each piece, the density is evaluated at three places
OUTCOMES = (200, 20_000)  # least and largest number of outcomes at which the tilted density is evaluated
TAIL_SHARE = 0.15  # share used of the width that the error law allows for a cell in a tail
MAX_LIFT = 30.0  # largest exponent t * width of a cell, the log of the ratio of the tilt factors at its two ends
MAX_WIDTH = 2.0  # largest width of a widened cell, and of a cell whose outcomes are merged, in units of the loss
MAX_NODES = 2 * arrays.BLOCK  # number of nodes evaluated together; a single half-cell may have more
UNDERFLOW = 1e-300  # tilted mass of a cell, and share of omitted mass, that may be lost below the range of a double
ON_GRID = 8  # an atom within 8 roundings of a grid point counts as on the grid; the slip of the sum covers this


@dataclass(frozen=True, slots=True)
class Points:
    """Atoms whose losses are grid points.

    Attributes:
        knot: shape (m,), grid indices.
        mass: shape (m,), P-masses times ``e^(t g - kappa)``, where g is the loss at the grid point.
        mass_error: shape (m,), bounds on the relative errors of the masses.
    """

    knot: Index
    mass: Array
    mass_error: Array

    @classmethod
    def none(cls) -> Points:
        """Return an empty list of atoms."""
        return cls(np.empty(0, dtype=np.intp), np.empty(0), np.empty(0))


@dataclass(slots=True)
class Cells:
    """Tilted integrals over n cells; cell i lies between the grid indices ``knots[i]`` and ``knots[i + 1]``.

    The masses of a cell are P-masses times ``e^(t g - kappa)``, where g is the loss at the lower end of the cell.

    Attributes:
        knots: shape (n + 1,), grid indices in increasing order.
        left, right: shape (2, n), the masses that go to the lower and to the upper end of each cell; the first index is
            0 for the lower part of the cell and 1 for its upper part.
        shift: shape (n,), bound on the mass that may be given to the wrong end of the cell, since L is rounded.
        mass_error: shape (n,), bound on the relative error of the cell's masses. It includes the error of the factor
            ``e^(t width)`` that scales them to the upper end of the cell.
        points: atoms on grid points, which need neither spreading nor merging.
        below: bound on the P-mass below the third knot that is not in the cells, times ``e^(t g - kappa)``, where g is
            the loss at the third knot.
        underflow: bound on the mass that each cell may have lost because it was too small for a double.
        worst_slip: largest rounding error of a loss, in units of the grid gap h; it must be well below 1.
    """

    knots: Index
    left: Array
    right: Array
    shift: Array
    mass_error: Array
    points: Points
    below: float
    underflow: float
    worst_slip: float


@dataclass(frozen=True, slots=True)
class Reach:
    """Limits on the tails of a pair that the cells leave out.

    Attributes:
        log_floor: log of the largest P-mass left out above the highest cell; the caller charges this mass.
        log_low: log of the largest tilted mass left out below the lowest cell; :attr:`Cells.below` covers this mass.
        count: number of rounds of the pair in the composition.
    """

    log_floor: float
    log_low: float
    count: int = 1

    def least_loss(self, mesh: Mesh) -> float:
        """Return the loss at which ``e^(t loss - kappa) = e^log_low``.

        The tilted mass below this loss is at most ``e^log_low``.
        """
        return (mesh.kappa + self.log_low) / mesh.t


def reached(pair: DominatingPair, reach: Reach) -> Atoms:
    """Return the atoms of finite loss that the cells must include.

    If the pair has densities, all atoms are included. If it has only atoms, the atoms of largest loss are left out as
    long as their total P-mass, rounded up, is at most ``exp(reach.log_floor)``. The caller charges this mass in any
    case. Sums of many rounds have atoms of negligible mass far in the upper tail, which would need wide cells.
    """
    atoms = pair.atoms.finite()
    atoms = atoms.kept(np.isfinite(atoms.log_p))
    if pair.smooth is not None or len(atoms.loss) == 0:
        return atoms
    downwards = np.argsort(-atoms.loss, kind="stable")
    share = np.exp(np.minimum(atoms.log_p + atoms.log_slip - reach.log_floor, 1.0))[downwards]
    small = np.cumsum(share) * (1 + SPARE) + UNDERFLOW <= 1.0
    small[-1] = False  # at least one atom is kept, even if its mass is small
    held = np.ones(len(share), dtype=np.bool_)
    held[downwards[small]] = False
    return atoms.kept(held)


def ends(smooth: SmoothPart, mesh: Mesh, reach: Reach) -> tuple[Array, Array, bool]:
    """Return the least and the largest outcome that the cells include, the losses of these two outcomes, and a flag.

    The flag is true if the lower end was raised to ``reach.least_loss``, below which the tilted mass is negligible.
    """
    x = np.array(smooth.support(reach.log_floor))
    losses = smooth.loss(x)
    least = reach.least_loss(mesh)
    cut = bool(losses[0] < least < losses[1])
    if cut:
        x[0] = max(x[0], smooth.outcome(np.array([least]))[0])
        losses = smooth.loss(x)
    return x, losses, cut


def integrate(pair: DominatingPair, mesh: Mesh, reach: Reach) -> Cells:
    """Return the cells of a pair, except for the tails that ``reach`` allows to leave out.

    Raises:
        OverflowError: the tilted weights at the two ends of a cell differ by more than a double can hold.
        NotApplicableError: too many cells or evaluations are needed, or doubles cannot distinguish grid points.
    """
    if mesh.t * mesh.h > LARGEST:
        raise OverflowError(f"a tilt of {mesh.t:.3g} over a step of {mesh.h:.3g} exceeds the range of a double")
    atoms, cut = reached(pair, reach), False
    if pair.smooth is not None:
        keep = atoms.loss >= reach.least_loss(mesh)
        cut = not keep.all()
        atoms = atoms.kept(keep)
    loss = atoms.loss
    lows, highs = ([float(loss.min())], [float(loss.max())]) if len(loss) else ([], [])
    if pair.smooth is not None:
        (x_low, x_high), losses, smooth_cut = ends(pair.smooth, mesh, reach)
        cut = cut or smooth_cut
        lows.append(float(losses[0]))
        highs.append(float(losses[1]))
    first = math.floor((min(lows) - mesh.offset) / mesh.h - 0.25)
    last = math.ceil((max(highs) - mesh.offset) / mesh.h + 0.25) + 1
    if last - first < 2:
        raise NotApplicableError("the losses of one round are so large that doubles cannot distinguish grid points")
    check_range(last - first, "one round")
    begin(PLACE * (last - first), "the losses of one round span too wide a range")
    # an atom on a grid point belongs to no cell, so cells beside it may be wide; tried only if halves meet at loss 0
    free = len(loss) == 0 or (kink_of(pair.smooth) is not None and bool(_on_grid(loss, mesh)[1].all()))
    if pair.smooth is not None and free and last - first > 4 * BLOCK:
        knots = _knots(pair.smooth, mesh, x_low, x_high, first, last, reach)
    else:
        knots = np.arange(first, last + 1)
    n = len(knots) - 1
    begin((1 if pair.smooth is None else terms_of(pair.smooth)) * PLACE * n, "one round has too many cells")
    # the part left out below has P-mass at most 1 (cut by its tilt) or exp(log_floor), and loss below the third knot
    log_mass = 0.0 if cut else reach.log_floor
    third = mesh.offset + float(knots[2]) * mesh.h
    below = math.exp(min(log_mass + mesh.t * third - mesh.kappa, LARGEST)) * (1 + SPARE)
    left, right, shift, error = np.zeros((2, n)), np.zeros((2, n)), np.zeros(n), np.zeros(n)
    cells = Cells(knots, left, right, shift, error, Points.none(), below, underflow=0.0, worst_slip=0.0)
    if pair.smooth is not None:
        cells.underflow = UNDERFLOW
        _add_smooth(cells, pair.smooth, mesh, (x_low, x_high))
    if len(loss):
        _add_atoms(cells, atoms, mesh)
    return cells


def _knots(smooth: SmoothPart, mesh: Mesh, x_low: float, x_high: float, first: int, last: int, reach: Reach) -> Index:
    """Return the grid indices that separate the cells: neighbours in the bulk, up to BLOCK apart in the tails.

    The error law (``run.py``) limits ``k h^2`` for a law composed k times. If outcomes in a tail occur only lambda
    times in k rounds, counted by the tilted masses, cells there may be ``sqrt(k / max(lambda, 1))`` times as wide. Only
    a share TAIL_SHARE of that width is used, rounded down to a power of two. A stretch of the tail in which the mass
    falls by a factor e then adds a few hundredths of the bulk's error.
    """
    blocks = -(-(last - first) // BLOCK)
    starts = first + BLOCK * np.arange(blocks + 1)

    def tilted(x: Array) -> Array:
        density: Array = np.exp(np.minimum(smooth.log_p(x) + mesh.t * smooth.loss(x) - mesh.kappa, 0.0))
        return density

    # steps of x resolve losses crowded into one block, steps of the loss resolve crowded outcomes: take the larger mass
    piece = BLOCK // PIECES
    losses: Array = mesh.offset + (first + 0.5 * piece * np.arange(2 * blocks * PIECES + 1, dtype=np.float64)) * mesh.h
    edges = np.minimum(np.maximum(smooth.outcome(losses), x_low), x_high)
    density = tilted(edges)
    highest = np.maximum.reduce([density[:-2:2], density[1:-1:2], density[2::2]])
    mass = (highest * (edges[2::2] - edges[:-2:2])).reshape(blocks, PIECES).sum(axis=1)
    x = np.linspace(x_low, x_high, int(min(max(8 * (x_high - x_low), OUTCOMES[0]), OUTCOMES[1])))
    total = np.cumsum(tilted(x)) * (x[1] - x[0])
    mass = np.maximum(mass, np.diff(np.interp(edges[:: 2 * PIECES], x, total)))
    above, below = np.cumsum(mass[::-1])[::-1], np.cumsum(mass)
    met = reach.count * np.minimum(above, below)
    allowed = TAIL_SHARE * np.sqrt(reach.count / np.maximum(met, 1.0))
    allowed = np.minimum(allowed, min(MAX_LIFT / mesh.t, MAX_WIDTH) / mesh.h)
    step = np.exp2(np.floor(np.log2(np.minimum(np.maximum(allowed, 1.0), BLOCK)))).astype(np.intp)
    cells = BLOCK // step
    block = np.repeat(np.arange(blocks), cells)
    rank = np.arange(len(block)) - np.repeat(np.cumsum(cells) - cells, cells)
    knots: Index = np.append(starts[block] + rank * step[block], starts[-1])
    return knots


def shares(down: Array, width: Array) -> tuple[Array, Array]:
    """Return the shares ``(w, 1 - w)`` of outcomes that go to the lower and to the upper end of their cell.

    Args:
        down: distances ``L - l`` of losses from the lower end of their cell.
        width: widths of the cells.

    If rounding has put a loss outside its cell, the nearer end of the cell is used instead. ``Cells.shift`` covers this
    error.
    """
    down = np.minimum(np.maximum(down, 0.0), width)
    whole = np.expm1(-width)
    return np.exp(-down) * np.expm1(down - width) / whole, np.expm1(-down) / whole


def _add_atoms(cells: Cells, atoms: Atoms, mesh: Mesh) -> None:
    """Add atoms to the cells: atoms on grid points to ``cells.points``, all others to the cells that contain them.

    If some atoms are off the grid, every grid point is a knot. A sum of n masses may err by n roundings. This error is
    charged as a relative error of the masses. It is also charged as mass that may belong to the other end of the cell,
    since the masses for the two ends are summed separately.
    """
    h, loss, log_p = mesh.h, atoms.loss, atoms.log_p
    nearest, on_grid = _on_grid(loss, mesh)
    at = np.where(on_grid, nearest, np.floor((loss - mesh.offset) / h)).astype(np.intp)
    low = mesh.offset + at * h
    exponent = log_p + mesh.t * low - mesh.kappa
    mass = np.exp(np.minimum(exponent, LARGEST))
    slip = (4 + atoms.units) * UNIT_ROUNDOFF * (np.abs(loss) + np.abs(low) + abs(mesh.offset)) + atoms.slip
    error = 4 * UNIT_ROUNDOFF * (4 + np.abs(log_p) + np.abs(mesh.t * low) + abs(mesh.kappa) + mesh.t * h)
    error = error + atoms.log_slip
    cells.worst_slip = max(cells.worst_slip, float(slip.max()) / h)
    cells.points = Points(at[on_grid], mass[on_grid], error[on_grid])
    off = ~on_grid
    if not off.any():
        return
    cells.underflow = UNDERFLOW
    n, cell, down, mass = len(cells.knots) - 1, at[off] - cells.knots[0], (loss - low)[off], mass[off]
    w, rest = shares(down, np.full(len(down), h))
    place = cell + n * (down > 0.5 * h)
    many = np.bincount(cell, minlength=n)
    cells.left += np.bincount(place, mass * w, 2 * n).reshape(2, n)
    cells.right += np.bincount(place, mass * rest, 2 * n).reshape(2, n)
    summed = UNIT_ROUNDOFF * many
    cells.shift += np.bincount(cell, mass * slip[off] / -math.expm1(-h), n)
    cells.shift += summed * np.bincount(cell, mass, n) * (1 + 1e-9) * (many > 1)
    worst = np.zeros(n)
    np.maximum.at(worst, cell, error[off])
    np.maximum(cells.mass_error, worst + summed, out=cells.mass_error)


def _on_grid(loss: Array, mesh: Mesh) -> tuple[Array, npt.NDArray[np.bool_]]:
    """Return the index of the grid point nearest to each loss, and a mask of the losses equal to it up to rounding."""
    nearest = np.rint((loss - mesh.offset) / mesh.h)
    missed = np.abs(loss - mesh.offset - nearest * mesh.h)
    on_grid: npt.NDArray[np.bool_] = missed <= ON_GRID * UNIT_ROUNDOFF * (np.abs(loss) + abs(mesh.offset))
    return nearest, on_grid


def _add_smooth(cells: Cells, smooth: SmoothPart, mesh: Mesh, between: tuple[float, float]) -> None:
    grid: Array = mesh.offset + cells.knots.astype(np.float64) * mesh.h
    halves = np.empty(2 * len(grid) - 1)
    halves[::2] = grid
    halves[1::2] = 0.5 * (grid[1:] + grid[:-1])

    def outcomes(losses: Array) -> Array:
        return np.minimum(np.maximum(smooth.outcome(losses), between[0]), between[1])

    edges = outcomes(halves)
    halves[1::2] = _cuts(smooth, edges, grid)
    edges[1::2] = outcomes(halves[1::2])
    _cut_at_kink(smooth, halves, edges)
    edges = np.maximum.accumulate(edges)  # rounding may have put two edges out of order
    half_width = 0.5 * np.diff(edges)
    reach = 4 + smooth.growth(0.5 * (edges[1:] + edges[:-1])) + half_width
    narrow = half_width * reach
    used = half_width > 0
    for nodes, chosen in (
        (4, used & (narrow <= HALF_WIDTH[4])),
        (8, used & (narrow > HALF_WIDTH[4]) & (narrow <= HALF_WIDTH[8])),
        (16, used & (narrow > HALF_WIDTH[8])),
    ):
        where = np.flatnonzero(chosen)
        needed = np.maximum(1.0, np.ceil(narrow[where] / HALF_WIDTH[16]))
        if not float(needed.max(initial=0.0)) * nodes <= arrays.MOST_POINTS:
            raise NotApplicableError(
                f"the grid engine would need {float(needed.sum()):.0e} panels because the answer is deep in the "
                "tail; ask for a smaller epsilon or a larger delta"
            )
        begin(terms_of(smooth) * PLACE * nodes * float(needed.sum()), "one round needs too many panels")
        panels = needed.astype(np.intp)
        for part in _batches(panels * nodes):
            _add_panels(cells, smooth, mesh, edges, where[part], panels[part], nodes)


def _cut_at_kink(smooth: SmoothPart, halves: Array, edges: Array) -> None:
    """If two halves of a density meet at loss 0, cut the cell that contains 0 exactly at 0; any cut is valid."""
    kink = kink_of(smooth)
    cell = int(np.searchsorted(halves[::2], 0.0, side="right")) - 1
    if kink is None or not 0 <= cell < len(halves) // 2:
        return
    halves[2 * cell + 1] = 0.0
    edges[2 * cell + 1] = kink


def _cuts(smooth: SmoothPart, edges: Array, grid: Array) -> Array:
    """Return the losses at which to cut the cells so that merged outcomes have means near the grid points.

    Any cut is valid. The outcomes between two neighbouring cuts are merged onto the grid point between them. Where the
    density of the loss behaves like ``e^(sL)`` and cuts are h apart, these outcomes have their mean on the grid point
    if each cut is at ``g + (h/2) (1 - coth(sh/2) + 2/(sh))``, with g the grid point below the cut. The exponent s
    follows from the masses of the two half-cells between ``edges``. It is reduced by 1/2, since the mean is taken of
    ``1 - e^(g - L)``, which is about ``(L - g) e^(-(L - g)/2)``.
    """
    middle = 0.5 * (edges[1:] + edges[:-1])
    with np.errstate(divide="ignore", invalid="ignore"):
        log_mass = smooth.log_p(middle) + np.log(np.diff(edges))
        cuts: Array = grid[:-1] + langevin_cuts(log_mass[1::2] - log_mass[::2], np.diff(grid))
    return cuts


def langevin_cuts(log_ratio: Array, width: Array) -> Array:
    """Return the distance of the cut of :func:`_cuts` from the lower end of each cell.

    Args:
        log_ratio: log of the P-mass of the upper half of each cell, divided by the P-mass of the lower half.
        width: width of each cell.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        half = log_ratio - 0.25 * width  # s h / 2
        half = np.where(np.isnan(half), 0.0, np.minimum(np.maximum(half, -300.0), 300.0))
        langevin = np.where(np.abs(half) < 1e-3, half / 3, 1 / np.tanh(half) - 1 / half)
    cuts: Array = 0.5 * width * (1 - langevin)
    return cuts


def _batches(sizes: Index) -> list[slice]:
    """Return consecutive slices of half-cells that need about MAX_NODES evaluations each."""
    if len(sizes) == 0:
        return []
    batch = np.cumsum(sizes) // MAX_NODES
    starts = np.flatnonzero(np.diff(batch, prepend=-1))
    return [slice(a, b) for a, b in zip(starts, [*starts[1:], len(sizes)], strict=True)]


def _add_panels(
    cells: Cells, smooth: SmoothPart, mesh: Mesh, edges: Array, where: Index, panels: Index, nodes: int
) -> None:
    """Add the integrals over the half-cells ``where``, each cut into ``panels`` panels with ``nodes`` nodes."""
    owner = np.repeat(np.arange(len(where)), panels)
    rank = np.arange(len(owner)) - np.repeat(np.cumsum(panels) - panels, panels)
    low, high = edges[where], edges[where + 1]
    half = (0.5 * (high - low) / panels)[owner]
    centre = low[owner] + half * (2 * rank + 1)
    xi, weight = rule(nodes)
    x = (centre[:, None] + half[:, None] * xi).ravel()
    cell = where // 2
    expand = np.repeat(owner, nodes)
    width = (np.diff(cells.knots)[cell] * mesh.h)[expand]
    loss, log_p, at = smooth.loss(x), smooth.log_p(x), (mesh.offset + cells.knots[cell] * mesh.h)[expand]
    w, rest = shares(loss - at, width)
    exponent = log_p + mesh.t * at - mesh.kappa
    mass = np.exp(np.minimum(exponent, LARGEST)) * (half[:, None] * weight).ravel()
    starts = (np.cumsum(panels) - panels) * nodes
    side = where % 2
    cells.left[side, cell] += np.add.reduceat(mass * w, starts)
    cells.right[side, cell] += np.add.reduceat(mass * rest, starts)
    slip = UNIT_ROUNDOFF * (smooth.loss_error(x) + 4 * (np.abs(loss) + np.abs(at) + abs(mesh.offset)) + 16 * width)
    np.add.at(cells.shift, cell, np.add.reduceat(mass * slip / -np.expm1(-width), starts))
    cells.worst_slip = max(cells.worst_slip, float((slip / width).max()))
    error = smooth.log_p_error(x) + 4 * (8 + np.abs(log_p) + np.abs(mesh.t * at) + abs(mesh.kappa) + mesh.t * width)
    np.maximum.at(cells.mass_error, cell, UNIT_ROUNDOFF * np.maximum.reduceat(error, starts))
