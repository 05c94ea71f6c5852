"""m of many kinds of one sampling rate from a few of them: the knots of a cell of kinds, whose variances are near.

Seen without the record, the loss l of a round that is not sampled is normal, of mean -v/2 and variance ``v = mu^2``.
With ``g = 1 - q + q e^l``, raised to 1 + z where a record is removed and to -z where one is added,

    m(z; v) = e^(-v/8) (2 pi v)^(-1/2) int e^(-l^2/(2v)) e^(-l/2) g^(1+z) dl ,

which is analytic in v for Re v > 0. There ``|e^(-l^2/(2v))| = e^(-l^2/(2w))`` with ``w = |v|^2 / Re v``, and
``|g^(1+z)| = g^(1+t)`` on Re z = t, as g is positive. So

    |m(t + is; v)| <= e^((w - Re v)/8) (|v| / Re v)^(1/2) m(t; w) ,

and m(t; w) grows with w (``engines/contour/bundle.py`` on upper bounds).

**A cell** is ``v0 (1 - r) <= v <= v0 (1 + r)``. Around it lies the ellipse of foci ``v0 (1 -+ r)`` and semi-axes
``a v0`` and ``b v0``, ``a < 1``, ``b^2 = a^2 - r^2``. On it, with ``v = v0 (1 + u + iy)`` and ``y^2 = (b^2/a^2) (a^2 -
u^2)``, the derivative of ``w / v0 = 1 + u + y^2 / (1 + u)`` by u is ``1 - b^2/a^2 + (b^2/a^2) (1 - a^2) / (1 + u)^2 >
0``: w is at most ``v0 (1 + a)``, ``w - Re v <= v0 b^2 / (1 - a)`` and ``|v| / Re v <= (1 + b^2 / (1 - a)^2)^(1/2)``,
which make a bound M on m.

**Between knots.** The polynomial p through the values of f at n knots errs, with ``omega(v) = prod (v - v_k)``, by

    f(v) - p(v) = (1 / 2 pi i) int omega(v) f(x) / (omega(x) (x - v)) dx

over the ellipse (Hermite; Trefethen 2019 [Tre19], Theorem 11.1), whose length is at most ``2 pi a v0`` and whose
distance from v is at least ``(a - r) v0``. The knots are Chebyshev's but for a few roundings, so that ``|omega| >= h^n
2^(1-n) sinh(n log rho) (1 - SPARE)`` on the ellipse, ``h = r v0``, ``rho = (a + b) / r``, and

    |f(v) - p(v)| <= a / (a - r) max |f| |omega(v)| / (h^n 2^(1-n) sinh(n log rho)) .

It is used of ``m(t; v)``, at most M, and of ``m(t + is; v) - m(t; v)``, at most 2 M.

**Rounding.** With ``p(v) = sum l_k(v) f(v_k)`` and ``l_k(v) = prod (v - v_j) / (v_k - v_j)``, all differences are had
as ``(mu - mu_j) (mu + mu_j)`` to three roundings, whatever the knots are, and l_k to ``10 n + 8`` of itself; the sum
adds n. As the l_k add up to 1, so do their products with ``m(t; v_k) - 1`` to ``m(t; v) - 1``.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from hockeystick.engines.core.rows import Array, Places, Rows, up
from hockeystick.numerics.rounding import UNIT_ROUNDOFF
from hockeystick.pairs.transform import ComplexArray

REACH = 0.25  # r: of a cell, whose largest variance is 5/3 of the least
WIDTH = math.log((1 + REACH) / (1 - REACH))  # of a cell in log v
ELLIPSES = (0.6, 0.4)  # a: the first takes fewer knots unless rare losses decide what m is at the larger variance
MOST_KNOTS = 64  # of a cell
LARGEST_MOMENT, LARGEST_VARIANCE = 1.0, 4.0
"""Of K(t) on an ellipse, and of v0: what is summed is known to its largest value, and must not vary by much."""

FEWEST, EACH = 32, 1.5  # kinds of a cell that has knots, and kinds for each of them: a knot is one more line
ALL = slice(None)  # points
SPARE = 1e-9  # relative: pays for the roundings of the bounds themselves, and for those of the knots


class Cell(NamedTuple):
    """Kinds of one rate whose variances are near.

    Attributes:
        which: their places.
        centre: v0.
        mu: of the knots.
        remainder: bound on what a polynomial through the knots errs by where ``2^(n-1) |omega| = h^n``.
    """

    which: Places
    centre: float
    mu: Array
    remainder: float


class AtKnots(NamedTuple):
    """What is known at the knots of a cell.

    Attributes:
        log_total: logarithms of m(t), as computed.
        common: bounds on the relative errors of m(t).
        values: shape (knots, points), ``m(t + is) / m(t) - 1``.
        errors: shape (knots, points), bounds on their errors.
    """

    log_total: Array
    common: Array
    values: ComplexArray
    errors: Array

    def at(self, part: slice) -> AtKnots:
        """What is known at some of the knots."""
        return AtKnots(self.log_total[part], self.common[part], self.values[part], self.errors[part])


def cells_of(rows: Rows, t: float, wanted: float, upper: Callable[[Rows], Array]) -> list[Cell]:
    """The cells whose kinds are many for the knots that they take; the kinds of all others are in none.

    Args:
        rows: the kinds.
        t: tilt.
        wanted: what a remainder may be.
        upper: gives upper bounds on K(t).
    """
    number = np.floor(2 * np.log(rows.mu) / WIDTH)
    order = np.lexsort((number, rows.rate))
    rate, number = rows.rate[order], number[order]
    first = np.flatnonzero(np.append(True, (rate[1:] != rate[:-1]) | (number[1:] != number[:-1])))
    size = np.diff(np.append(first, len(rows)))
    first, size = first[size >= FEWEST], size[size >= FEWEST]
    if not len(first):
        return []
    centre, rate = np.exp(WIDTH * number[first]) / (1 - REACH), rate[first]
    best = np.full(len(first), math.inf), np.full(len(first), math.inf)
    for a in ELLIPSES:
        ends = np.sqrt(centre * (1 + a)) * (1 + SPARE)
        ones, add = np.ones(len(ends)), np.full(len(ends), bool(rows.add[0]))
        moment = upper(Rows(ends, rate, ones, np.log(rate), add))
        log_bound = np.where(
            (moment <= LARGEST_MOMENT) & (centre <= LARGEST_VARIANCE), _log_bound(centre, a, moment), np.inf
        )
        knots = np.maximum(np.ceil((log_bound + math.log(2 / wanted)) / _log_rho(a)), 1.0)
        better = knots < best[0]
        best[0][better], best[1][better] = knots[better], log_bound[better] - _log_sinh(knots[better] * _log_rho(a))
    out = []
    for start, many, v, n, log_remainder in zip(first, size, centre.tolist(), *best, strict=True):
        if n <= MOST_KNOTS and EACH * n <= many:
            angles = (np.arange(n) + 0.5) * (math.pi / n)
            mu = np.sqrt(v * (1 + REACH * np.cos(angles)))
            out.append(Cell(order[start : start + many], v, mu, math.exp(log_remainder) * (1 + SPARE)))
    return out


def _log_rho(a: float) -> float:
    return math.log((a + math.sqrt(a * a - REACH * REACH)) / REACH)


def _log_sinh(x: Array) -> Array:
    out: Array = x + np.log(-np.expm1(-2 * x)) - math.log(2.0)
    return out


def _log_bound(centre: Array, a: float, log_m: Array) -> Array:
    """``log (2 M a / (a - r))``."""
    b2 = a * a - REACH * REACH
    grown = 0.25 * math.log1p(b2 / (1 - a) ** 2) + centre * (b2 / (8 * (1 - a)))
    out: Array = log_m + grown + math.log(2 * a / (a - REACH)) + SPARE
    return out


def basis(cell: Cell, mu: Array) -> tuple[Array, Array]:
    """The l_k at each mu, and ``2^(n-1) |omega| / h^n`` there."""
    scale = 2 / (REACH * cell.centre)  # cancels in l_k but for its rounding
    apart = (up(mu) - cell.mu) * (up(mu) + cell.mu) * scale
    own = (up(cell.mu) - cell.mu) * (up(cell.mu) + cell.mu) * scale
    np.fill_diagonal(own, 1.0)
    omega = apart.prod(axis=1)
    with np.errstate(all="ignore"):
        found = up(omega) / (apart * own.prod(axis=1))
    met = apart == 0.0
    hit = met.any(axis=1)
    found[hit] = met[hit]
    return found, 0.5 * np.abs(omega)


class Interpolant:
    """The polynomials through what is known at the knots of a cell, for other kinds of it."""

    @np.errstate(all="ignore")
    def __init__(self, cell: Cell, knots: AtKnots) -> None:
        self._cell = cell
        self._units = units = UNIT_ROUNDOFF * (11 * len(cell.mu) + 32)
        self._excess = np.expm1(knots.log_total)
        total = 1.0 + self._excess
        doubt = knots.common / (1.0 - np.minimum(knots.common, 1.0)) * total  # infinite where nothing is known
        self._lost = doubt + units * np.abs(self._excess)
        moved = knots.values * up(total)
        self._off = knots.errors * up(total) + (np.abs(knots.values) + knots.errors) * up(doubt)
        self._off += units * (np.abs(moved.real) + np.abs(moved.imag))
        self._moved = moved.view(np.float64)

    @np.errstate(all="ignore")
    def at(self, mu: Array, points: slice = ALL) -> AtKnots:
        """What follows for kinds of the cell at some of the points; not finite where that is nothing."""
        weights, omega = basis(self._cell, mu)
        sizes, remainder = np.abs(weights), self._cell.remainder * omega
        lost = (sizes @ self._lost + remainder) * (1 + SPARE)
        errors = sizes @ self._off[:, points] + up(remainder)
        excess = weights @ self._excess
        total = 1.0 + excess
        first, last, _ = points.indices(self._off.shape[1])
        values = (weights @ self._moved[:, 2 * first : 2 * last]).view(np.complex128) / up(total)
        least = np.maximum(total - lost, 0.0) * (1 - SPARE)
        errors = (errors + np.abs(values) * up(lost)) / up(least) * (1 + SPARE) + 8 * UNIT_ROUNDOFF * np.abs(values)
        if first == 0:
            errors[:, 0] = 0.0  # where the values are 0
        log_total = np.log1p(excess)
        common = lost / total * (1 + SPARE) + 8 * UNIT_ROUNDOFF * np.abs(log_total)
        return AtKnots(log_total, common, values, errors)
