"""Lattice laws above and below the privacy curve of one round, accurate to second order in the gap.

The privacy curve is ``delta = E_P (1 - alpha e^-L)_+`` as a function of ``alpha = e^eps``; it is convex. Conversely,
every convex function that falls from 1 at 0 is the privacy curve of some law of L. At a kink alpha of the function,
this law has a mass of alpha times the jump of the slope. If M is an independent loss, ``delta(eps)`` of L + M is the
mean over M of the curve of L at ``eps - M``. Hence, if one curve is above another everywhere, composition with M keeps
it above. The lattice has the knots ``g_i = first + i gap``, and the cells between them. Let p and q be the masses of a
cell under P and under Q. The mass at infinite loss is left out of both laws: :mod:`hockeystick.directions.finite` adds
it to delta.

- **Above** (Doroshenko et al. 2022 [DGK+22], Section 4: connect the dots). The chords between the points of the curve
  at the knots are the privacy curve of the following law. The mass of each cell (l, r] is moved to the losses l and r
  so that its P-mass and its Q-mass are kept: r gets the P-mass ``(p - q e^l) / (1 - e^(l - r))``, and l the rest.
  Losses below the lattice are raised to its first knot; losses above the lattice count as infinite.
- **Below.** In the middle of each cell the curve has a tangent. The maximum of all tangents is the privacy curve of the
  law in which the outcomes around each knot, from the middle of one cell to the middle of the next, are merged into
  one. The loss of a merged outcome may differ from its knot. Therefore the law below takes, at each knot, the smaller
  of the values of the two adjacent cells' tangents. The polygon through these values is below the tangents, and so is
  its lower convex hull, which has all its masses on knots. The hull is computed by lending mass between neighbouring
  knots (``numerics/hull.py``). Atoms on knots stay there. Losses below the lattice are left out; losses above it are
  lowered to its last knot.

**Rounding.** :func:`cell_masses` bounds the errors of the masses. In the upper law, the uncertain part of a cell's mass
goes to the cell's upper end. In the lower law it is subtracted from ``p - q e^g``, which determines by how much the
merged outcome exceeds its knot g. If a loss is wrong by a fraction of the cell's width, the same fraction of the cell's
mass is moved across the cell. The ``slip`` of a law bounds the rounding errors of its knots.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from hockeystick.accountants.shared.lattice import CARE, RELATIVE, LatticeLaw
from hockeystick.accountants.shared.privacy_curve import END_OF_RANGE, LOST, PrivacyCurve, outcome_roundings, times_exp
from hockeystick.numerics.arrays import Array
from hockeystick.numerics.hull import lent
from hockeystick.numerics.rounding import UNIT_ROUNDOFF
from hockeystick.pairs import DominatingPair
from hockeystick.values.side import Side

Index = npt.NDArray[np.intp]

SHIFTS = (0.0, 0.5)  # shifts tried for the lattice of the law below, as fractions of the gap; the best one is used


class Knots(NamedTuple):
    """Lattice of the losses ``first + j gap``, 0 <= j < n, on which a round is discretised."""

    first: float
    gap: float
    n: int

    @property
    def losses(self) -> Array:
        """Losses at the knots, shape (n,)."""
        losses: Array = self.first + self.gap * np.arange(self.n, dtype=np.float64)
        return losses


def loss_range(pair: DominatingPair, log_floor: float) -> tuple[float, float]:
    """Return a lower and an upper loss, beyond each of which P has mass at most ``e^log_floor``."""
    atoms = pair.atoms.finite()
    found: list[float] = atoms.loss[np.isfinite(atoms.log_p)].tolist()
    if pair.smooth is not None:
        found += pair.smooth.loss(np.array(pair.smooth.support(log_floor))).tolist()
    low, high = pair.loss_range
    return max(float(min(found)), low), min(float(max(found)), high)


def commensurable_gap(pairs: list[DominatingPair], gap: float) -> float:
    """Return a gap, from half the given gap up to it, chosen so that atoms of a pair lie on the lattice.

    The pair is the first one with several atoms whose spacing is at least the given gap. If the spacing is unknown, the
    range of the atoms replaces it, and only the outermost two atoms are sure to be on the lattice. If no pair has such
    atoms, the given gap is returned. The bounds are valid even if atoms are off the lattice.
    """
    for pair in pairs:
        loss = pair.atoms.finite().loss
        apart = float(pair.spacing or np.ptp(loss)) if len(loss) >= 2 else 0.0
        if apart >= gap:
            return apart / math.ceil(apart / gap)
    return gap


def knots_of(pair: DominatingPair, gap: float, log_floor: float) -> Knots:
    """Return knots over the range of a pair's losses, and one more above the range.

    One knot lies on the highest atom, or on 0 if there are no atoms.
    """
    low, high = loss_range(pair, log_floor)
    atoms = pair.atoms.finite().loss
    on = float(atoms.max()) if len(atoms) else 0.0
    below = max(math.ceil((on - low) / gap * (1 - 1e-12)), 1)
    above = max(math.ceil((high - on) / gap * (1 - 1e-12)), 0)
    return Knots(on - below * gap, gap, below + above + 2)


def law_above(pair: DominatingPair, knots: Knots) -> LatticeLaw:
    """Return the law of the chords (connect-the-dots), which dominates the pair."""
    curve, placed, low = PrivacyCurve(pair), _Placed.on(pair, knots), knots.losses[:-1]  # a curve may refuse
    if placed.alone:
        return placed.law(knots, Side.ABOVE)
    p, p_error, q, q_error = cell_masses(curve, knots.losses)
    lifted, wide = times_exp(q, low), -math.expm1(-knots.gap)
    doubt = p_error + times_exp(q_error, low) + loss_slips(curve, knots.losses)[1:] * (p + lifted)
    most = p + p_error
    right = np.clip((p - lifted + doubt) / wide, 0.0, most)
    mass = np.zeros(knots.n)
    mass[:-1] += most - right
    mass[1:] += right
    mass[0] += curve.below(knots.losses[:1])[0][0] * (1 + RELATIVE)
    beyond = curve.above(knots.losses[-1:])[0][0] * (1 + RELATIVE) + LOST
    return LatticeLaw(knots.first, knots.gap, mass, float(beyond), max(placed.slip, _slip(knots)))


def law_below(pair: DominatingPair, knots: Knots) -> LatticeLaw:
    """Return the law of the tangents (see the module docstring), which the pair dominates."""
    curve, placed = PrivacyCurve(pair), _Placed.on(pair, knots)  # a curve may refuse
    if placed.alone:
        return placed.law(knots, Side.BELOW)
    moves = SHIFTS if len(placed.at) == 0 else SHIFTS[:1]
    laws = [_merged(curve, knots._replace(first=knots.first + move * knots.gap), placed) for move in moves]
    return max(laws, key=lambda law: law.log_moment(1.0))


def _merged(curve: PrivacyCurve, knots: Knots, placed: _Placed) -> LatticeLaw:
    """Return the law of the tangents on a lattice; the pair dominates it, whichever lattice is chosen."""
    at = knots.losses
    edges = np.append(at - 0.5 * knots.gap, at[-1] + 0.5 * knots.gap)
    p, p_error, q, q_error = cell_masses(curve, edges)
    # atoms on knots are not merged
    p = np.maximum(p - placed.masses(placed.log_p, knots.n, Side.ABOVE) - p_error, 0.0)
    q = np.maximum(q - placed.masses(placed.log_q, knots.n, Side.BELOW), 0.0)
    excess = p - times_exp(q + q_error + LOST, at) * (1 + loss_slips(curve, at))
    seen = excess > -np.expm1(knots.gap) * p  # otherwise only rounding puts its loss below the previous knot
    p, excess = np.where(seen, p, 0.0), np.where(seen, excess, 0.0)
    around = np.concatenate([at[:1] - knots.gap, at, at[-1:] + knots.gap])
    hull = lent(p, excess, around, 0.0)
    mass = np.append(p[1:], 0.0) if hull is None else hull[1:-1]  # without a hull, outcomes are lowered by one knot
    mass += placed.masses(placed.log_p, knots.n, Side.BELOW)
    mass[-1] += curve.above(edges[-1:])[0][0] * (1 - RELATIVE)
    return LatticeLaw(knots.first, knots.gap, mass, 0.0, max(placed.slip, _slip(knots)))


def cell_masses(curve: PrivacyCurve, edges: Array) -> tuple[Array, Array, Array, Array]:
    """Return the P-masses of all cells, bounds on their errors, and the same two arrays for Q.

    Each mass is a difference of two tail probabilities: of upper tails, or of lower tails if these are smaller.
    """
    (p_above, q_above), (p_below, q_below) = curve.above(edges), curve.below(edges)
    care = CARE + outcome_roundings(curve.outcome(edges)) * UNIT_ROUNDOFF
    care = np.maximum(care[1:], care[:-1])
    out: list[Array] = []
    for above, below in ((p_above, p_below), (q_above, q_below)):
        right = above[:-1] < below[1:]
        out.append(np.maximum(np.where(right, above[:-1] - above[1:], below[1:] - below[:-1]), 0.0))
        out.append(care * np.where(right, above[:-1], below[1:]))
    return out[0], out[1], out[2], out[3]


class _Placed(NamedTuple):
    """Finite atoms that lie on knots up to rounding.

    Attributes:
        at: indices of the atoms' knots.
        log_p: log-masses under P.
        log_q: log-masses under Q.
        slip: bound on the rounding errors of the atoms' losses.
        alone: True if the pair has no other finite losses.
    """

    at: Index
    log_p: Array
    log_q: Array
    slip: float
    alone: bool

    @classmethod
    def on(cls, pair: DominatingPair, knots: Knots) -> _Placed:
        """Return the atoms of a pair that differ from a knot by rounding only."""
        atoms = pair.atoms.finite()
        atoms = atoms.kept(np.isfinite(atoms.log_p))
        at = np.rint((atoms.loss - knots.first) / knots.gap).astype(np.intp)
        slip = CARE * (np.abs(atoms.loss) + _reach(knots)) + atoms.units * UNIT_ROUNDOFF * np.abs(atoms.loss)
        on = np.abs(atoms.loss - knots.first - at * knots.gap) <= slip
        alone = pair.smooth is None and bool(on.all())
        return cls(at[on], atoms.log_p[on], atoms.log_q[on], 2 * float(slip[on].max(initial=0.0)), alone)

    def masses(self, log_mass: Array, n: int, side: Side) -> Array:
        """Return the masses of the atoms at n knots; ``side`` says whether they are rounded up or down."""
        mass = np.exp(log_mass) * (1 + side * 8 * UNIT_ROUNDOFF * (4 + np.abs(log_mass)))
        return np.bincount(self.at, mass, n).astype(np.float64)

    def law(self, knots: Knots, side: Side) -> LatticeLaw:
        """Return the law of a pair that has no finite losses except these atoms."""
        return LatticeLaw(knots.first, knots.gap, self.masses(self.log_p, knots.n, side), 0.0, self.slip)


def _slip(knots: Knots) -> float:
    """Bound on the rounding error of any knot."""
    return 4 * UNIT_ROUNDOFF * _reach(knots)


def loss_slips(curve: PrivacyCurve, losses: Array) -> Array:
    """Return, for each edge of a cell, a bound on its distance from the loss of the outcome computed for it."""
    smooth = curve.pair.smooth
    own = np.zeros_like(losses)
    if smooth is not None:
        own = smooth.loss_error(np.clip(smooth.outcome(losses), *smooth.support(END_OF_RANGE)))
    slips: Array = UNIT_ROUNDOFF * (16 + own + 8 * np.abs(losses))
    return slips


def _reach(knots: Knots) -> float:
    """Upper bound on the absolute value of every number computed in forming the knots."""
    return abs(knots.first) + knots.gap * knots.n
