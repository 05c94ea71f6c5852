"""The likelihood ratio of one step at equal distances: a law larger in convex order than the true one, and a smaller.

Let ``W = dP/dQ`` be the likelihood ratio of a step under Q, between a and b. A law is *larger in convex order* than
another one if no convex function has a smaller mean under it. For independent sums the order is kept term by term:
given the other terms, a convex function of the sum is a convex function of one term.

**Above.** An outcome of ratio r between the neighbouring points y and y' of the lattice ``a + j h`` is split between
them with its mean kept, with the shares ``(y' - r) / h`` at y and ``(r - y) / h`` at y'. By Jensen's inequality no
convex function has a smaller mean (Doroshenko et al. 2022 [DGK+22] spread privacy losses likewise).

**Below.** Outcomes that are merged into their mean make every such mean smaller, by the same inequality. The outcomes
inside each cell are merged first. Then, from the lowest cell up, each is brought to the upper end y of its cell by
merging it with as much of the outcomes above y as it takes, nearest first; the last one, if nothing is left above it,
to the lower end with what lies below. What cannot be brought to the lattice is left out: outcomes that are left out of
both laws make every hockey-stick divergence smaller, as it is an integral of a quantity that is not negative. The same
is done from the highest cell down, and that law is taken of the two whose second moment is the larger.

**Densities** are those of a Laplace law between two centres (``LaplaceMiddle``): under Q the density of the loss is ``c
e^(-l/2)``, under P ``c e^(l/2)``. On a cell of ratios from ``s^2`` to ``e^2`` the mass under Q is ``2c (e - s) / (e
s)``, the mean of the ratio ``e s``, and the masses of the split ``2c (e - s) / (s (e + s))`` at the lower and ``2c (e -
s) / (e (e + s))`` at the upper end: products and quotients, in which nothing cancels.

**Rounding.** Masses of the law above are raised, and those of the law below lowered, by their relative errors. Places
are off by roundings of the largest ratio, and by SNAP of the distance h where they count as points of the lattice: that
is what :func:`off` says, and what is charged of a weighted mean of ratios, which is off by no more than they are.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from hockeystick.numerics.rounding import UNIT_ROUNDOFF
from hockeystick.pairs.base import Array, DominatingPair
from hockeystick.pairs.laplace import LaplaceMiddle

HIGHEST_LOSS = 12.0
"""The largest loss of a step: with equal distances up to e^12 little is left to tell small ratios apart by."""

SNAP = 2.0**-36
"""Distance from a point of the lattice, in units of h, below which an outcome counts as on it: some roundings of j."""

CELLS = 2  # cells of densities to one of the lattice: what is merged in a cell is then merged once more
TRIED = 0.7  # share of the finest lattice down to which coarser ones are tried for one that holds the atoms
TWO = 2  # places that are a lattice of one cell
BLOCK = 1_000_000  # places that are tried at once
ROUNDINGS = 32  # of a mass that passes through a few sums and quotients


@dataclass(frozen=True, slots=True)
class StepLaw:
    """The likelihood ratio of one step under Q.

    Attributes:
        values: shape (n,), increasing ratios of outcomes with a mass of their own.
        masses: shape (n,), their masses under Q.
        middle: densities besides, if any.
        infinite: mass under P of infinite ratio, rounded up.
        value_units: roundings by which a ratio may be off, relative to itself.
        mass_units: roundings by which a mass may be off, relative to itself.
    """

    values: Array
    masses: Array
    middle: LaplaceMiddle | None
    infinite: float
    value_units: float
    mass_units: float

    @property
    def range(self) -> tuple[float, float]:
        """The least and the largest ratio."""
        ends = [float(self.values[0]), float(self.values[-1])] if len(self.values) else []
        if self.middle is not None:
            ends += [math.exp(-self.middle.theta), math.exp(self.middle.theta)]
        return min(ends), max(ends)

    @property
    def deviation(self) -> float:
        """The standard deviation of the ratio, about."""
        values, masses = self.parts(4096, False)
        mean = float((masses * values).sum())
        return math.sqrt(max(float((masses * np.square(values - mean)).sum()), 0.0))

    def parts(self, cells: int, above: bool) -> tuple[Array, Array]:
        """All ratios and masses, increasing: densities are spread to the ends of cells, or merged in them."""
        if self.middle is None:
            return self.values, self.masses
        low, high = math.exp(-self.middle.theta), math.exp(self.middle.theta)
        ends = low + (high - low) * (np.arange(cells + 1, dtype=np.float64) / cells)
        ends[0], ends[-1] = low, high
        root = np.sqrt(ends)
        s, e = root[:-1], root[1:]
        size = math.exp(self.middle.log_top - 0.5 * self.middle.theta) * (np.diff(ends) / (e + s))  # 2c (e - s)
        if above:
            values, masses = ends, np.zeros(cells + 1)
            masses[:-1] += size / (s * (e + s))
            masses[1:] += size / (e * (e + s))
        else:
            values, masses = s * e, size / (e * s)
        values, masses = np.concatenate([values, self.values]), np.concatenate([masses, self.masses])
        order = np.argsort(values, kind="stable")
        return values[order], masses[order]


def step_law(pair: DominatingPair) -> StepLaw | None:
    """The likelihood ratio of a pair; ``None`` where it is not bounded, or where its densities are of another kind."""
    if pair.smooth is not None and not isinstance(pair.smooth, LaplaceMiddle):
        return None
    atoms = pair.atoms
    with np.errstate(over="ignore"):
        values = np.exp(atoms.loss)
    held = (atoms.log_q > -math.inf) & np.isfinite(values)
    finite = atoms.loss[held & np.isfinite(atoms.loss)]
    if not pair.loss_range[1] <= HIGHEST_LOSS or (len(finite) and finite.max() > HIGHEST_LOSS):
        return None
    infinite = float(np.exp(atoms.log_p[np.isposinf(atoms.loss)]).sum()) * (1 + 1e-12)
    order = np.argsort(values[held], kind="stable")
    slip, log_slip = float(np.max(atoms.slip, initial=0.0)), float(np.max(atoms.log_slip, initial=0.0))
    largest = float(np.abs(finite).max(initial=0.0))
    middle = pair.smooth.theta if pair.smooth is not None else 0.0
    return StepLaw(
        values[held][order],
        np.exp(atoms.log_q[held][order]),
        pair.smooth,
        infinite,
        16 + (16 + atoms.units) * max(largest, middle) + slip / UNIT_ROUNDOFF,
        32 + 16 * (float(np.abs(atoms.log_q[held]).max(initial=0.0)) + middle) + log_slip / UNIT_ROUNDOFF,
    )


@dataclass(frozen=True, slots=True)
class Lattice:
    """Points ``start + j step`` for ``j = 0, ..., last``, which hold all ratios of a law between them."""

    start: float
    step: float
    last: int

    def places(self, values: Array) -> Array:
        """Ratios in units of the step from the start; on the lattice where they are within SNAP of it."""
        at = (values - self.start) / self.step
        near = np.round(at)
        return np.clip(np.where(np.abs(at - near) <= SNAP, near, at), 0.0, self.last)


def off(law: StepLaw, lattice: Lattice) -> tuple[float, float]:
    """By how much a ratio on the lattice may be off: relative to itself, and absolutely."""
    return (law.value_units + 16) * UNIT_ROUNDOFF, 32 * UNIT_ROUNDOFF * law.range[1] + SNAP * lattice.step


def lattice_for(law: StepLaw, finest: int, scales: tuple[float, ...] = (1.0,)) -> Lattice:
    """A lattice from the least ratio to the largest, with at most that many cells.

    Of somewhat coarser ones that is taken whose points lie nearest above the atoms: they are then moved least.

    Args:
        law: of the ratio.
        finest: the most cells.
        scales: what ratios are multiplied by, each on a lattice of the same step from its own least value.
    """
    low, high = law.range
    if not high > low:
        return Lattice(low, 1.0, 1)
    if law.middle is not None:
        return Lattice(low, (high - low) / finest, finest)
    inner = (law.values - low) / (high - low)
    places, masses = np.outer(scales, inner).ravel(), np.tile(law.masses, len(scales))
    least, best = math.inf, 1
    if len(places) > TWO:
        for block in np.array_split(
            np.arange(max(int(TRIED * finest), 1), finest + 1), max(finest * len(places) // BLOCK, 1)
        ):
            at = np.multiply.outer(block, places)
            near = np.abs(at - np.round(at)) <= SNAP
            missed = np.where(near, 0.0, np.ceil(at) - at) @ masses / block
            index = int(np.argmin(missed))
            if missed[index] < least:
                least, best = float(missed[index]), int(block[index])
    return Lattice(low, (high - low) / best, best)


def spread(law: StepLaw, lattice: Lattice, scale: float = 1.0) -> Array:
    """Masses at the points of the lattice of a law that is larger in convex order, each rounded up.

    Args:
        law: of the ratio.
        lattice: between the least ratio and the largest, times ``scale``.
        scale: what ratios are multiplied by.

    Returns:
        Shape ``(last + 1,)``.
    """
    values, masses = law.parts(CELLS * lattice.last, True)
    at = lattice.places(scale * values)
    below = np.minimum(at.astype(np.int64), lattice.last - 1)
    share = at - below
    low = np.bincount(below, masses * (1 - share), lattice.last + 1)
    high = np.bincount(below + 1, masses * share, lattice.last + 1)
    return np.asarray(low + high, dtype=np.float64) * (1 + (law.mass_units + ROUNDINGS) * UNIT_ROUNDOFF)


def merged(law: StepLaw, lattice: Lattice, scale: float = 1.0) -> Array:
    """Masses at the points of the lattice of a law that is smaller in convex order, each rounded down.

    Args:
        law: of the ratio.
        lattice: between the least ratio and the largest, times ``scale``.
        scale: what ratios are multiplied by.

    Returns:
        Shape ``(last + 1,)``.
    """
    values, masses = law.parts(CELLS * lattice.last, False)
    at = lattice.places(scale * values)
    points = np.arange(lattice.last + 1, dtype=np.float64)
    upwards = _brought(at, masses, lattice.last)
    downwards = _brought(lattice.last - at[::-1], masses[::-1], lattice.last)[::-1]
    wider = max(upwards, downwards, key=lambda out: float((out * np.square(points)).sum()))
    return wider * (1 - (law.mass_units + ROUNDINGS) * UNIT_ROUNDOFF)


def _brought(at: Array, masses: Array, last: int) -> Array:
    """Increasing places with masses, brought to whole numbers from below upwards; see the module."""
    out = [0.0] * (last + 1)
    places, held = _inside(at, masses)
    for i, place in enumerate(places):
        rest, up = held[i], math.ceil(place)
        if up == place or not rest:
            out[up] += rest
            continue
        gap = up - place
        for j in range(i + 1, len(places)):
            reach = places[j] - up
            if not held[j] or reach <= 0:
                continue
            wanted = rest * gap / reach
            if wanted <= held[j]:
                out[up] += rest + wanted
                held[j] = max(held[j] - wanted * (1 + 4 * UNIT_ROUNDOFF) - 4 * UNIT_ROUNDOFF * held[j], 0.0)
                rest = 0.0
                break
            used = held[j] * reach / gap
            out[up] += used + held[j]
            rest, held[j] = max(rest - used * (1 + 4 * UNIT_ROUNDOFF) - 4 * UNIT_ROUNDOFF * rest, 0.0), 0.0
        if rest:
            _lowered(out, place, rest)
    return np.array(out)


def _inside(at: Array, masses: Array) -> tuple[list[float], list[float]]:
    """Places and masses, those inside one cell merged into their mean."""
    cell = np.where(at == np.floor(at), 2 * at, 2 * np.floor(at) + 1).astype(np.int64)
    starts = np.flatnonzero(np.diff(cell, prepend=-1))
    total = np.add.reduceat(masses, starts)
    low = np.floor(at[starts])
    offset = np.add.reduceat(masses * (at - np.repeat(low, np.diff(starts, append=len(at)))), starts)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = np.where(total > 0, low + offset / total, at[starts])
    return mean.tolist(), total.tolist()


def _lowered(out: list[float], place: float, rest: float) -> None:
    """Bring what has nothing above it to the lower end of its cell, with what lies below; what is left is left out."""
    down = math.floor(place)
    for k in range(down - 1, -1, -1):
        wanted = rest * (place - down) / (down - k)
        if wanted <= out[k]:
            out[k] = max(out[k] - wanted * (1 + 4 * UNIT_ROUNDOFF) - 4 * UNIT_ROUNDOFF * out[k], 0.0)
            out[down] += rest + wanted
            return
        used = out[k] * (down - k) / (place - down)
        out[down] += used + out[k]
        rest, out[k] = max(rest - used * (1 + 4 * UNIT_ROUNDOFF) - 4 * UNIT_ROUNDOFF * rest, 0.0), 0.0
