"""Lattice laws above and below the privacy curve of one round, accurate to second order in the gap.

As a function of ``alpha = e^eps`` delta, ``E_P (1 - alpha e^-L)_+``, is convex, 1 at 0 and non-increasing; every such
function belongs to a law of L, whose mass at a kink alpha is alpha times the jump of the slope there. With another loss
M, ``delta(eps)`` of L + M is the mean over M of the curve of L at ``eps - M``: a curve that lies above another
everywhere still does after composition. With knots ``alpha_i = e^(first + i gap)``:

- **Above** (Doroshenko et al. 2022 [DGK+22], Section 4: connect the dots). Let ``u_i >= delta(alpha_i)``,
  the computed delta plus its rounding error. The lower convex hull of (0, 1), the points (alpha_i, u_i) and a flat end
  is the largest convex function below these points; delta is one of those, so that the hull lies above it.
- **Below.** Any event E gives a line ``P(E) - alpha Q(E) <= delta(alpha)``; with E = {L > m}, m the middle of a cell,
  it is a tangent. Let ``g_i`` be the lesser of the lines of the two cells beside knot i. In each cell the chord between
  its two points lies below the cell's own line, hence below delta; so does the lower convex hull of all of them, which
  has its kinks on the lattice. Without atoms, 0 is on the lattice of every pair. With atoms the curve below may fall
  under ``1 - alpha``, as when losses are rounded down.

Left of ``eps = 0`` the curves are held as ``delta - (1 - alpha) = e^eps Q(L <= eps) - P(L <= eps)``, small where delta
is near 1; a linear function does not change the jumps of slopes.

Rounding. Errors of delta go into the points, up above and down below. Those of forming jumps from points go into the
masses, likewise: masses too large give a curve above, masses too small one below. The lattice is the one that has the
knot next above 0 exactly where it was computed; the others are off by roundings, which go into the points, and so is
``first``, by the ``slip`` of the law.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from hockeystick.accountants.shared.lattice import LatticeLaw
from hockeystick.accountants.shared.privacy_curve import PrivacyCurve
from hockeystick.numerics.rounding import UNIT_ROUNDOFF
from hockeystick.pairs import DominatingPair
from hockeystick.values.errors import NotApplicableError
from hockeystick.values.side import Side

Array = npt.NDArray[np.float64]
Index = npt.NDArray[np.intp]

JUMP = 16 * UNIT_ROUNDOFF  # relative rounding of the two terms of a jump, per unit of the distance between knots
ON_LATTICE = 16 * UNIT_ROUNDOFF  # distance of an atom from a knot that counts as 0, relative to the terms of knots
SMALLEST = 1e-290  # smallest value of a curve distinguished from 0, well above the subnormal doubles
LOST = 1e-300  # bound on a mass that underflows, subtracted from a lower bound
UNIT_LOSS = 1.0  # largest loss whose exponential less 1 is about as large as the term it is added to
PASSES = 4  # passes over all points together, before one by one
MAX_REMOVED = 200_000  # largest number of points removed one by one, in about two seconds
MAX_OUTCOME = 40.0  # outcome beyond which the error of a distribution function is constant


class Knots(NamedTuple):
    """Lattice ``first + j gap``, j < n, on which a round is discretised."""

    first: float
    gap: float
    n: int

    @property
    def losses(self) -> Array:
        """Losses at the knots, shape (n,)."""
        losses: Array = self.first + self.gap * np.arange(self.n, dtype=np.float64)
        return losses


def loss_range(pair: DominatingPair, log_floor: float) -> tuple[float, float]:
    """Return losses outside which P has at most ``e^log_floor`` on either side."""
    atoms = pair.atoms.finite()
    found: list[float] = atoms.loss[np.isfinite(atoms.log_p)].tolist()
    if pair.smooth is not None:
        found += pair.smooth.loss(np.array(pair.smooth.support(log_floor))).tolist()
    low, high = pair.loss_range
    return max(float(min(found)), low), min(float(max(found)), high)


def commensurable_gap(pairs: list[DominatingPair], gap: float) -> float:
    """Return a gap, between half the given one and it, whose lattice contains both atoms of the first pair with two.

    Atoms closer together than the gap stay between its points: the hulls are bounds for any place of the atoms.
    """
    for pair in pairs:
        loss = pair.atoms.finite().loss
        if len(loss) >= 2 and loss.max() - loss.min() >= gap:
            apart = float(loss.max() - loss.min())
            return apart / math.ceil(apart / gap)
    return gap


def knots_of(pair: DominatingPair, gap: float, log_floor: float) -> Knots:
    """Return knots over the range of a pair, one on its highest atom, or else on 0, and one more above it."""
    low, high = loss_range(pair, log_floor)
    atoms = pair.atoms.finite().loss
    on = float(atoms.max()) if len(atoms) else 0.0
    below = max(math.ceil((on - low) / gap * (1 - 1e-12)), 1)
    above = max(math.ceil((high - on) / gap * (1 - 1e-12)), 0)
    return Knots(on - below * gap, gap, below + above + 2)


def law_above(pair: DominatingPair, knots: Knots) -> LatticeLaw:
    """Return the connect-the-dots law, which dominates the pair."""
    curve = PrivacyCurve(pair)
    exact = _on_lattice(pair, knots, Side.ABOVE)
    if exact is not None:
        return exact
    losses = knots.losses
    left = losses < 0
    above, below = curve.above(losses), curve.below(losses)
    roundings, slip = _roundings(curve, losses), _knot_roundings(losses, knots)
    # rounding a knot moves a point by the slope in eps: -e^eps Q(L > eps), and e^eps Q(L <= eps) in the left form
    p, q = above[0] + pair.infinite_mass, _times_exp(above[1], losses)
    right_values = np.minimum.accumulate(np.maximum(p - q, 0.0) + roundings * (p + q) + slip * q)
    p, q = below[0], _times_exp(below[1], losses)
    left_values = np.minimum.accumulate((np.maximum(q - p, 0.0) + roundings * (p + q) + slip * q)[::-1])[::-1]
    values = np.where(left, left_values, right_values)
    # Removing a point leaves a chord above the curve. Among those left of 0 that are too small to be distinguished from
    # it the last one stays, lifted: a chord from the far left would carry all of a narrow bulk to the knot after it.
    used = (values >= SMALLEST) | (~left & (values == 0))
    small = np.flatnonzero(left & (values < SMALLEST))
    values[small[-1:]] = SMALLEST
    used[small[-1:]] = True
    return _law(_Points(values, left, knots), Side.ABOVE, used)


def law_below(pair: DominatingPair, knots: Knots) -> LatticeLaw:
    """Return the law of the tangents, which the pair dominates."""
    curve = PrivacyCurve(pair)
    exact = _on_lattice(pair, knots, Side.BELOW)
    if exact is not None:
        return exact
    losses = knots.losses
    left = losses < 0
    middles = 0.5 * (losses[1:] + losses[:-1])
    above, below = curve.above(middles), curve.below(middles)
    infinite = pair.infinite_mass
    size = _size(curve, middles, knots)

    def delta_line(at: Array) -> Array:
        """Return delta on each cell's tangent at its knot ``at``, rounded down; -inf if Q's part overflows."""
        p, q = above[0] + infinite, _times_exp(above[1] + LOST, at)
        line: Array = p - q - size * (p + q)
        return line

    def rest_line(at: Array) -> Array:
        """Return ``delta - (1 - alpha)`` on each cell's tangent at its knot ``at``, rounded down; for ``at < 0``."""
        p, q = below[0] + LOST, _times_exp(below[1], np.minimum(at, 0.0))
        line: Array = q - p - size * (p + q)
        return line

    # a tangent below 1 - alpha at its lower knot, or below the mass at infinity at its upper one, gives way to that
    floor = infinite * (1 - 4 * UNIT_ROUNDOFF)
    low, high = losses[:-1], losses[1:]
    flat = (high >= 0) & (delta_line(high) < floor)
    steep = (high <= 0) & (rest_line(low) < 0)
    ends = []
    for at, in_left in ((low, left[:-1]), (high, left[1:])):
        rest = np.where(steep, 0.0, np.where(flat, floor + np.expm1(np.minimum(at, 700.0)), rest_line(at)))
        delta = np.where(flat, floor, np.where(steep, -np.expm1(np.minimum(at, 0.0)), delta_line(at)))
        ends.append(np.where(in_left, rest, delta))
    values = np.empty(knots.n)
    values[1:-1] = np.minimum(ends[1][:-1], ends[0][1:])
    values[0] = min(ends[0][0], 0.0 if left[0] else -math.expm1(losses[0]))
    values[-1] = min(ends[1][-1], floor)
    values = np.where((values > 0) & (values < SMALLEST), 0.0, values)
    return _law(_Points(values, left, knots), Side.BELOW, np.ones(knots.n, dtype=np.bool_))


@dataclass(slots=True)
class _Points:
    """Points of a curve over the knots; left of 0, ``1 - alpha`` is subtracted."""

    values: Array
    left: npt.NDArray[np.bool_]
    knots: Knots


def _law(points: _Points, side: Side, used: npt.NDArray[np.bool_]) -> LatticeLaw:
    """Law of the lower convex hull, with masses rounded to a side."""
    knots = points.knots
    kept = _without_ends(points)
    kept = kept[used[kept]]
    for _ in range(PASSES):
        bad = _not_corners(points, kept)
        if not bad.any():
            break
        kept = kept[~bad]
    else:
        kept = _one_by_one(points, kept)
    mass, error = _jumps(points, kept)
    out = np.zeros(knots.n)
    out[kept] = np.maximum(mass + side * error, 0.0)  # the jumps themselves are not negative
    infinite = max(_flat(points, int(kept[-1]), side), 0.0)
    return LatticeLaw(knots.first, knots.gap, out, infinite, 4 * UNIT_ROUNDOFF * _reach(knots))


def _flat(points: _Points, last: int, side: Side) -> float:
    """Delta at the last kept knot, where the flat end begins, rounded to a side."""
    value = float(points.values[last])
    if not points.left[last]:
        return value
    rest = -math.expm1(points.knots.first + last * points.knots.gap)
    return value + rest + side * 8 * UNIT_ROUNDOFF * (abs(value) + rest)


def _not_corners(points: _Points, kept: Index) -> npt.NDArray[np.bool_]:
    """Mask of points on or above the chord of their neighbours; never all of them."""
    bad: npt.NDArray[np.bool_] = _jumps(points, kept)[0] <= 0
    if bad.all():
        bad[-1] = False
    return bad


def _one_by_one(points: _Points, kept: Index) -> Index:
    """Corners found by removing points one by one, in order, with updated neighbours."""
    before, after = list(range(-1, len(kept) - 1)), list(range(1, len(kept) + 1))
    gone = np.zeros(len(kept), dtype=np.bool_)

    def at(i: int) -> int | None:
        return int(kept[i]) if 0 <= i < len(kept) else None

    due = np.flatnonzero(_not_corners(points, kept)).tolist()
    removed = 0
    while due:
        i = due.pop()
        low, high = before[i], after[i]
        alone = low < 0 and high >= len(kept)
        if gone[i] or alone or _is_corner(points, at(low), int(kept[i]), at(high)):
            continue
        gone[i] = True
        removed += 1
        if removed > MAX_REMOVED:
            raise NotApplicableError(
                f"at a gap of {points.knots.gap:.1e} one round is mere rounding; set interval to a larger value"
            )
        if low >= 0:
            after[low] = high
            due.append(low)
        if high < len(kept):
            before[high] = low
            due.append(high)
    return kept[~gone]


def _is_corner(points: _Points, low: int | None, i: int, high: int | None) -> bool:
    """True if knot i has a mass with these neighbours: :func:`_jumps` for one point."""
    into = float(points.values[i]) - (0.0 if points.left[i] else 1.0)
    if high is not None:
        out = _slopes(points, i, high)[0]
    else:
        out = math.exp(points.knots.first + i * points.knots.gap) if points.left[i] else 0.0
    if low is not None:
        into = _slopes(points, low, i)[1]
    return out > into


def _slopes(points: _Points, low: int, high: int) -> tuple[float, float]:
    """Alpha times the slope of a chord, at its two ends."""
    knots, value = points.knots, points.values
    wide = math.expm1(min((high - low) * knots.gap, 700.0))
    if points.left[low] and not points.left[high]:
        at: Array = knots.first + np.array([low, high], dtype=np.float64) * knots.gap
        around = _Crossing.of(value[[low, high]], at, wide)
        return around.out, around.into
    out = float(value[high] - value[low]) / wide
    return out, out * (1 + wide)


def _without_ends(points: _Points) -> Index:
    """Knots without those that the hull skips next to its first and last points, found directly.

    Among all lines from the last point, the one to the next corner has the largest slope; from the first, the smallest.
    """
    n, gap = points.knots.n, points.knots.gap
    right = np.flatnonzero(~points.left)[:-1]
    left = np.flatnonzero(points.left)[1:]
    first, last = 0, n - 1
    if len(right):
        slopes = (points.values[-1] - points.values[right]) / -np.expm1((right - (n - 1)) * gap)
        last = int(right[np.argmax(slopes)])
    if len(left):
        slopes = (points.values[left] - points.values[0]) / np.expm1(np.minimum(left * gap, 700.0))
        first = int(left[-1 - np.argmin(slopes[::-1])])
    return np.concatenate([[0], np.arange(max(first, 1), min(last, n - 2) + 1), [n - 1]])


def _jumps(points: _Points, kept: Index) -> tuple[Array, Array]:
    """``alpha_i`` times the jump of the slope at each kept point, and a bound on its rounding error."""
    gap = points.knots.gap
    value, left = points.values[kept], points.left[kept]
    at = np.asarray(points.knots.first + kept * gap, dtype=np.float64)
    apart = np.diff(kept) * gap
    wide = np.expm1(np.minimum(apart, 700.0))
    grow = 1 + wide
    rise = np.diff(value)
    out: Array = np.append(rise / wide, 0.0)
    if left[-1]:  # all losses lie below 0, or are merged there: the flat end, less the slope of 1 - alpha
        out[-1] = math.exp(at[-1])
    out_error = JUMP * (1 + np.append(apart, 0.0)) * np.abs(out)
    first = value[0] if left[0] else value[0] - 1
    into = np.append(first, out[:-1] * grow)
    into_error = np.append(0.0 if left[0] else 4 * UNIT_ROUNDOFF, out_error[:-1] * grow)
    for i in np.flatnonzero(left[:-1] & ~left[1:]):  # the one segment whose ends have different forms
        around = _Crossing.of(value[i : i + 2], at[i : i + 2], float(wide[i]))
        out[i], into[i + 1] = around.out, around.into
        out_error[i] = around.out_error + JUMP * (1 + apart[i]) * abs(around.out)
        into_error[i + 1] = around.into_error + JUMP * (1 + apart[i]) * (abs(around.out) * grow[i])
    mass: Array = out - into
    error: Array = out_error + into_error + JUMP * (np.abs(out) + np.abs(into))
    return mass, error


class _Crossing(NamedTuple):
    """Segment from the last point left of 0 to the first right of it: alpha times its slope at either end.

    Left of 0 values are ``delta - (1 - alpha)``. If the right end is near 0, both use the left form, which adds little
    to a delta there. Far from 0 (in a law with large losses only) alpha overflows, and both use deltas.
    """

    out: float
    out_error: float
    into: float
    into_error: float

    @classmethod
    def of(cls, value: Array, at: Array, wide: float) -> _Crossing:
        """Return the segment between two points by values and losses; ``wide`` is the ratio of their alphas, less 1."""
        low, high = (float(end) for end in value)
        size = abs(low) + abs(high)
        if at[1] <= UNIT_LOSS:
            alpha = math.exp(at[1])
            error = 4 * UNIT_ROUNDOFF * (alpha + size)
            out = ((high + (alpha - 1)) - low) / wide
            into = out * (1 + wide) - alpha
            return cls(out, error / wide, into, error / wide * (1 + wide) + 8 * UNIT_ROUNDOFF * alpha)
        alpha = math.exp(at[0])
        drop = (high - low) + math.expm1(at[0])
        error = 4 * UNIT_ROUNDOFF * (1 + size)
        out_error = error / wide + 4 * UNIT_ROUNDOFF * alpha
        return cls(alpha + drop / wide, out_error, drop * (1 + 1 / wide), error * (1 + 1 / wide))


def _on_lattice(pair: DominatingPair, knots: Knots, side: Side) -> LatticeLaw | None:
    """The law itself, if all its atoms lie on the lattice."""
    if pair.smooth is not None:
        return None
    atoms = pair.atoms.finite()
    seen = np.isfinite(atoms.log_p)
    loss, log_p = atoms.loss[seen], atoms.log_p[seen]
    at = np.rint((loss - knots.first) / knots.gap).astype(np.intp)
    slip = ON_LATTICE * (np.abs(loss) + _reach(knots)) + atoms.units * UNIT_ROUNDOFF * np.abs(loss)
    if (np.abs(loss - knots.first - at * knots.gap) > slip).any():
        return None
    mass = np.zeros(knots.n)
    np.add.at(mass, at, np.exp(log_p) * (1 + side * 8 * UNIT_ROUNDOFF * (4 + np.abs(log_p))))
    infinite = pair.infinite_mass * (1 + side * 4 * UNIT_ROUNDOFF)
    return LatticeLaw(knots.first, knots.gap, mass, infinite, 2 * float(slip.max(initial=0.0)))


def _size(curve: PrivacyCurve, epsilon: Array, knots: Knots) -> Array:
    """Relative rounding error of the two masses at a threshold, moved to a knot beside it."""
    return _roundings(curve, epsilon) + _knot_roundings(epsilon, knots)


def _reach(knots: Knots) -> float:
    """Upper bound on all numbers from which knots are formed."""
    return abs(knots.first) + knots.gap * knots.n


def _knot_roundings(epsilon: Array, knots: Knots) -> Array:
    return 4 * UNIT_ROUNDOFF * (np.abs(epsilon) + _reach(knots))


def _roundings(curve: PrivacyCurve, epsilon: Array) -> Array:
    smooth = curve.pair.smooth
    x = np.zeros_like(epsilon) if smooth is None else smooth.outcome(epsilon)
    size: Array = (32 + np.square(np.minimum(np.abs(x), MAX_OUTCOME)) + np.abs(epsilon)) * UNIT_ROUNDOFF
    return size


def _times_exp(q: Array, epsilon: Array) -> Array:
    with np.errstate(divide="ignore", over="ignore"):
        product: Array = np.exp(np.log(q) + epsilon)
    return product
