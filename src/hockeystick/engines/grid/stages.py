"""Composition in stages: a block of rounds is composed on a fine grid, then moved to a coarser one, and so on.

A block of rounds is one factor x of the likelihood ratio, and ``(x prod Lambda_j - alpha)_+`` is convex in x. Therefore
both operations of ``laws.py`` also apply to a composed law. Splitting the block's atoms between the points of a coarser
grid, with the mean of Lambda kept, raises delta at every epsilon; merging the atoms lowers delta. This is the certified
form of evolving discretisation (Ghazi, Kamath, Kumar, Manurangsi 2022 [GKKM22]).

If the composition contains a block only k' times, the grid of the block may have ``sqrt(k / k')`` times the gap that k
rounds require. Memory and time then grow with a root of the number of rounds; the order of the root is the number of
stages. Rounds whose atoms fit no common grid are first composed on their own lattices. Then only the block is moved,
and not each of its rounds.

The errors of a composed law are charged at once to its masses, so that later stages need not track them. Let S be the
sum of the losses, and E_t the mean under its tilted law. Let v be the true tilted masses, scaled by
``e^(t g - kappa)``, and V the computed masses, on a window [low, high) of n grid points.

- Every V errs by at most ``error`` (``numerics/fourier.py``), so ``V + error`` is above v, and ``V - error`` is below
  v. Moreover, v is at most Markov's bound on the tail that begins at its grid point. In the tails, Markov's bound is
  the smaller of the two upper bounds.
- The mass outside [low, high) has wrapped around into the window, which only adds to V. The lower side subtracts a
  bound on this mass from every V:

      out = E_t e^(theta (S - high)) + E_t e^(theta' (low - S))      (Markov).

- The upper side lacks the mass outside the window. The mass below the window is raised to ``low``, where it weighs at
  most ``sum_{g < low} v e^(t (low - g)) <= E_t e^(theta (low - S))`` for any ``theta >= t``. The mass above the window
  counts as infinite loss. Its P-mass ``sum_{g >= high} v e^(kappa - t g) <= e^(kappa - t high) E_t e^(theta (S -
  high))`` is charged to delta once for every time that the composition contains the block.

Delta increases in each mass. Hence masses may be raised for an upper bound, and lowered for a lower bound. Losses are
known up to a rounding error ``slip``. So an upper law is moved up by ``slip``, a lower law is moved down by ``slip``,
and ``kappa`` is moved by t times that. A tilted mass stands for a P-mass of ``e^(kappa - t g)`` times itself, so the
masses are also scaled by ``e^(t slip)`` to the safe side.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from hockeystick.engines.grid.cells import UNDERFLOW, Cells, Points, langevin_cuts, shares
from hockeystick.engines.grid.laws import merge, spread
from hockeystick.numerics.fourier import fast_length
from hockeystick.numerics.lattice import Counted, GridLaw, Mesh, Tail, Window, convolved
from hockeystick.numerics.rounding import LARGEST, UNIT_ROUNDOFF
from hockeystick.values.errors import NotApplicableError
from hockeystick.values.side import Side

Array = npt.NDArray[np.float64]

LEAST_PERIOD = 16  # places of a circular sum
WHOLE_PERIOD = 1024  # a law with at most this many places is kept whole


def compose(laws: Counted, window: Window, side: Side) -> tuple[GridLaw, float]:
    """Return the law of the sum of the losses of independent rounds, on a grid of the same gap.

    Args:
        laws: (law, count) for each kind of round, all with the same gap h and the same tilt.
        window: range of losses to keep.
        side: whether the result must be an upper or a lower bound.

    Returns:
        The law, and the log of the P-mass above the window, which an upper bound has to count as infinite loss.
    """
    mesh = laws[0][0].mesh
    t, h = mesh.t, mesh.h
    empty = GridLaw(mesh, 0, np.zeros(1))
    if not all(law.mass.any() for law, _ in laws):
        return empty, -math.inf
    if not math.isfinite(window.high - window.low):
        raise NotApplicableError("losses exceed the range of a double")
    origin = math.fsum(count * law.mesh.offset for law, count in laws)
    first = sum(count * law.first for law, count in laws)
    length = sum(count * (len(law.mass) - 1) for law, count in laws) + 1
    start = math.floor((window.low - origin) / h)
    places = max(math.ceil((window.high - window.low) / h), LEAST_PERIOD)
    whole = length <= max(places, WHOLE_PERIOD)
    n = fast_length(max(length, LEAST_PERIOD) if whole else places)
    start = first if whole else start
    power = convolved(laws, start, n)
    values = power.values[:length] if whole else power.values
    kappa = power.log_scale + math.fsum(count * law.mesh.kappa for law, count in laws)
    sizes = math.fsum(count * abs(law.mesh.kappa) for law, count in laws) + abs(power.log_scale) + abs(kappa)
    slip = (
        16
        * UNIT_ROUNDOFF
        * (math.fsum(count * (abs(law.mesh.offset) + abs(law.first) * h) for law, count in laws) + (abs(start) + n) * h)
    )
    relative = math.expm1(2 * t * slip + 2 * power.scale_error + 16 * UNIT_ROUNDOFF * (1 + sizes))
    out_low = out_high = lost = -math.inf
    if not whole:
        low, high = origin + start * h, origin + (start + n) * h
        reach = 16 * UNIT_ROUNDOFF * (abs(origin) + (abs(start) + n) * h)
        out_low = Tail(laws, window.theta_low, -1, t if side is Side.ABOVE else 0.0).log_weight_beyond(low + reach)
        out_high = Tail(laws, window.theta_high, +1).log_beyond(high - reach)
        lost = kappa - t * high + out_high + 1e-9 * (1 + abs(kappa) + abs(t * high))
    if side is Side.ABOVE:
        places_at = origin + (start + np.arange(len(values), dtype=np.float64)) * h
        tails = Tail(laws, window.theta_low, -1), Tail(laws, window.theta_high, +1)
        reach = 16 * UNIT_ROUNDOFF * (abs(origin) + (abs(start) + n) * h)
        log_most = np.minimum(tails[0].log_beyond_each(places_at + reach), tails[1].log_beyond_each(places_at - reach))
        # the mass of one place is at most that of the tail that it begins, whatever the transform gives
        most = np.exp(np.maximum(log_most, -LARGEST)) * (1 + 1e-9)
        mass = np.minimum(np.maximum(values + power.error, 0.0), most) * (1 + relative)
        mass[0] += _exp(out_low) * (1 + relative) * (1 + 1e-9)
    else:
        outside = (_exp(out_low) + _exp(out_high)) * (1 + 1e-9)
        mass = np.maximum(values - power.error - outside, 0.0) * max(1 - relative, 0.0)
    moved = Mesh(origin + side * slip, h, t, kappa + side * t * slip)
    return (GridLaw(moved, start, mass) if mass.any() else empty), lost


def coarsen(law: GridLaw, h: float, side: Side) -> GridLaw:
    """Return a law moved to a grid of gap h that contains its heaviest atom.

    The law is spread for an upper bound, and merged for a lower one.
    """
    if not law.mass.any():
        return GridLaw(replace(law.mesh, h=h), 0, np.zeros(1))
    offset = float(law.losses[int(np.argmax(law.mass))])
    if side is Side.ABOVE:
        return _coarsened(law, replace(law.mesh, offset=offset, h=h), side)
    best = _coarsened(law, replace(law.mesh, offset=offset, h=h), side)
    if best.mesh.offset != offset:
        # the merged mode is not where the heaviest atom is: cut the cells around it
        again = _coarsened(law, replace(law.mesh, offset=best.mesh.offset, h=h), side)
        best = max(best, again, key=lambda one: one.log_mass)
    return best


def _coarsened(law: GridLaw, mesh: Mesh, side: Side) -> GridLaw:
    """Return a law moved to one mesh: spread for an upper bound, merged for a lower one.

    Losses are used as computed; the result is then moved to the safe side by ``slip``, a bound on their rounding
    errors. A tilted mass at such a loss stands for a P-mass that is off by a factor of at most ``e^(t slip)``, which is
    charged too. A loss is computed as the sum of the law's offset and a multiple of the gap. If the offset is far
    larger than the loss, the rounding of this sum is added to ``slip``.

    Raises:
        NotApplicableError: a mass or a loss left the range of a double.
    """
    held = np.flatnonzero(law.mass)
    loss, mass = law.losses[held], law.mass[held]
    if not np.isfinite(mass).all():
        raise NotApplicableError("tilted masses exceed the range of a double")
    slip = 16 * UNIT_ROUNDOFF * (float(np.abs(loss).max()) + abs(mesh.offset) + mesh.h)
    if not (slip < math.inf and mesh.h > 0):
        raise NotApplicableError("losses exceed the range of a double")
    place = (loss - mesh.offset) / mesh.h
    at = np.floor(place + slip / mesh.h)
    down = loss - (mesh.offset + at * mesh.h)
    down = np.where(down < slip, 0.0, np.minimum(down, mesh.h))
    lowest = int(at.min()) - 1
    n = int(at.max()) - lowest + 2
    cell = at.astype(np.intp) - lowest
    mass = mass * np.exp(-mesh.t * down)
    upper = _sides(cell, down, mass * np.exp(-mesh.t * down), mesh.h, n)
    w, rest = shares(down, np.full(len(down), mesh.h))
    atoms = np.bincount(cell, minlength=n)
    left: Array = np.bincount(2 * cell + upper, mass * w, 2 * n).reshape(n, 2).T.astype(np.float64)
    right: Array = np.bincount(2 * cell + upper, mass * rest, 2 * n).reshape(n, 2).T.astype(np.float64)
    error = UNIT_ROUNDOFF * (32 + 8 * mesh.t * mesh.h + int(atoms.max()))  # of every sum of masses
    doubt = np.zeros(n) if side is Side.ABOVE else error * (right[0] + left[1])  # the terms of a knot's excess
    cells = Cells(np.arange(lowest, lowest + n + 1), left, right, doubt, np.full(n, error), Points.none())
    if side is Side.ABOVE:
        right[1] += atoms * UNDERFLOW
        out = spread(cells, mesh)
    else:
        out = merge(cells, mesh)
        rounded_down: Array = np.bincount(cell, mass, n).astype(np.float64) * (1 - 4 * error)
        out = max(out, GridLaw(mesh, lowest, rounded_down), key=lambda one: one.log_mass)
    slip += 4 * UNIT_ROUNDOFF * abs(law.mesh.offset)
    moved = replace(out.mesh, offset=out.mesh.offset + side * slip, kappa=out.mesh.kappa + side * mesh.t * slip)
    inflate = 1 + side * (8 * UNIT_ROUNDOFF * (1 + abs(moved.kappa)) + 4 * mesh.t * slip)
    return GridLaw(moved, out.first, out.mass * max(inflate, 0.0))


def _sides(cell: npt.NDArray[np.intp], down: Array, p: Array, h: float, n: int) -> npt.NDArray[np.intp]:
    """Return 0 for atoms in the lower part of their cell, 1 for atoms above; see ``cells.langevin_cuts``."""
    halves = np.bincount(2 * cell + (down > 0.5 * h), p, 2 * n).reshape(n, 2)
    with np.errstate(divide="ignore", invalid="ignore"):
        cuts = langevin_cuts(np.log(halves[:, 1]) - np.log(halves[:, 0]), np.full(n, h))
    return (down > cuts[cell]).astype(np.intp)


def _exp(x: float) -> float:
    return math.exp(min(x, LARGEST))
