"""Where the sum of each row is cut: the bound of ``pairs/sampled/gaussian_envelope.py`` for many rows.

All of it is proved there, for removing a record: ``|m(t + is)| / m(t) <= 1 - D`` for every s from an edge on, with

    D = int phi g^(1+t) (1 - e^psi) / m(t),   psi = y^2/2 + (1+t) log |g(x+iy) / g(x)| - s arg g(x+iy) + log(1 + y'^2/2)

and the shift ``y = Y R^(1/2)``, R the slope of the loss at odds ``max(1, mu s / 2)`` times as large, or a constant.
One edge a row is taken, so that the terms beyond it are at most ``e^(K(t) - t eps) rho(S) / pi (step / S^2 + 1/S)``
(``engines/contour/cut.py``).
"""

from __future__ import annotations

import math

import numpy as np

from hockeystick.engines.batch.nodes import LARGEST, SPARE, Nodes, log_beyond, log_dip
from hockeystick.engines.batch.rows import Array, Places, each, rows_of, together, up
from hockeystick.numerics.rounding import UNIT_ROUNDOFF

ODDS = 0.5  # of mu s: factor by which the odds grow
LOOKS = 12  # at edges
START = 1.05  # of where a normal law would end
LEAST_LEAP, MOST_LEAP = 1.02, 3.0  # of the edge
OVERSHOT, BACK = 1.6, 0.97  # of the depth, from which on a nearer edge is tried
LONG = 24.0  # points from which on that is worth it


class Envelope:
    """Bounds on ``|m(t + is)| / m(t)`` of one round, for rows of one class of nodes."""

    def __init__(self, nodes: Nodes) -> None:
        self._nodes = nodes
        rows, layout, t = nodes.rows, nodes.layout, nodes.place.t
        self._share = nodes.shares()
        self._weight = nodes.weight / up(nodes.total)
        care = nodes.care(t)
        self._slip = SPARE + 2 * (care * self._weight).sum(axis=1)
        care += nodes.count * UNIT_ROUNDOFF
        self._care = care
        self._units = nodes.share_units()
        self._units *= UNIT_ROUNDOFF
        mu, dx = rows.mu, nodes.dx
        depth = 2.0 - np.log(layout.inner) + 1.0 + 0.5 * np.square(layout.shift)
        outside = log_beyond(rows, t, layout.low, layout.high, depth, layout.tallest)
        beyond = np.exp(np.minimum(outside - nodes.log_total, 300.0) + 0.5 * np.square(layout.tallest) + 1)
        nu = mu * layout.eta
        tall = layout.widest / np.sqrt(np.cos(0.5 * nu))
        log_m = 0.5 * (np.square(layout.eta) + np.square(tall)) + math.log(1.5)
        log_m += (1 + t) * np.square(mu * tall * np.sin(0.5 * nu)) / 8
        dip = log_dip(rows, t, layout.eta + layout.tallest)
        self._curved = _step(log_m + dip, layout.eta, dx) + beyond
        self._far, eta = layout.far, layout.far_eta
        self._constant = _step(dip + 0.5 * (np.square(eta) + np.square(self._far)) + math.log(1.5), eta, dx) + beyond

    def log_bound(self, edges: Array, which: Places) -> Array:
        """Upper bounds, non-positive, on ``log |m(t + is)| / m(t)`` from an edge of each of some rows on."""
        rows, t = self._nodes.rows.at(which), self._nodes.place.t[which]
        share, weight = self._some(self._share, which), self._some(self._weight, which)
        odds = up(np.maximum(1.0, ODDS * rows.mu * edges) - 1.0)
        shape = share * (odds + 1.0)
        below = share * odds
        below += 1.0
        shape /= below
        steep = 1.0 - shape
        np.sqrt(shape, out=shape)
        steep *= shape
        steep *= up(0.5 * rows.mu)
        linear = (weight * shape * share).sum(axis=1) * rows.mu
        bend = (1.0 - share) * share
        bend *= up(-np.square(rows.mu) * rows.power(t))
        bend += 1.0
        bend *= np.square(shape)
        bend += np.square(steep)
        bend *= weight
        square = bend.sum(axis=1)
        wanted = np.where(square > 0, edges * linear / np.where(square > 0, square, 1.0), np.inf)
        lift = np.minimum(wanted, self._nodes.layout.widest[which])
        shape *= up(lift)
        steep *= up(lift)
        out = self._values(which, shape, steep, edges, self._curved[which])
        wide = np.flatnonzero(wanted > self._nodes.layout.widest[which])
        if len(wide):
            far = which[wide]
            found = self._values(far, up(self._far[far]), None, edges[wide], self._constant[far])
            out[wide] = np.minimum(out[wide], found)
        return out

    @staticmethod
    def _some(numbers: Array, which: Places) -> Array:
        return numbers if len(which) == len(numbers) else numbers[which]

    def _values(self, which: Places, y: Array, change: Array | None, edges: Array, remainder: Array) -> Array:
        """``log B(s) / m(t)`` with the shift y of derivative ``change``, rounded up."""
        ca = up(self._nodes.rows.power(self._nodes.place.t[which]))
        share = self._some(self._share, which)
        half = y * up(0.5 * self._nodes.rows.mu[which])
        sine = np.sin(half)
        twice = np.square(sine)
        cosine = np.sqrt(1.0 - twice)
        twice = twice * share
        twice *= 2.0
        lost = 1.0 - share
        lost *= twice
        lost *= 2.0
        sine *= cosine
        sine *= 2.0
        fall = np.arctan2(sine * share, 1.0 - twice)
        fall *= up(edges)
        size = twice / (1.0 - lost)
        size *= np.abs(ca)
        size += fall
        psi = np.log1p(-lost)
        psi *= 0.5 * ca
        square = np.square(y)
        square *= 0.5
        psi += square
        size += square
        if change is not None:
            psi += np.log1p(0.5 * np.square(change))
        psi -= fall
        np.minimum(psi, 300.0, out=psi)
        moved = np.expm1(psi)
        size *= self._some(self._units, which)
        size *= np.where(size.max(axis=1, keepdims=True) < 1.0, 2.0, np.inf)  # expm1(d) <= 2 d for d < 1
        error = (1.0 + moved) * size
        error += np.abs(moved) * self._some(self._care, which)
        error += moved
        error *= self._some(self._weight, which)
        remainder = remainder * (1 + SPARE)
        drop = (error.sum(axis=1) + remainder) * (1 - self._slip[which]) / (1 + remainder)
        usable = (drop < 0) & (self._slip[which] < 1)
        return np.where(usable, np.log1p(np.where(usable, np.maximum(drop, -1 + 1e-12), -0.5)), 0.0)

    def cut(self, period: Array, wanted: Array, kinds: int = 1) -> tuple[Array, Array]:
        """Heights from which on each plan's sum may be cut, and the logs of the bounds on what is left out.

        Args:
            period: P of each plan.
            wanted: log of what may be left out, relative to ``e^(K(t) - t eps)``.
            kinds: rows of each plan, the product of whose bounds is that of the plan.
        """
        count, variance = self._nodes.rows.count, self._nodes.place.variance[::kinds]
        step = 2 * math.pi / period
        edges = START * np.sqrt(2 * np.maximum(-wanted, 1.0) / variance)
        edges = np.maximum(edges, 0.5 * step)
        found, tails = np.full(len(edges), np.nan), np.full(len(edges), np.inf)
        before = np.full(len(edges), np.nan), np.full(len(edges), np.nan)
        which = np.arange(len(edges))
        for look in range(LOOKS):
            edge = edges[which]
            rows = rows_of(which, kinds)
            log_rho = together(count[rows] * self.log_bound(each(edge, kinds), rows), kinds)
            tail = log_rho + np.log((step[which] / np.square(edge) + 1 / edge) / math.pi) + SPARE
            enough = tail <= wanted[which]
            better = enough & ~(found[which] <= edge)
            found[which[better]], tails[which[better]] = edge[better], tail[better]
            needed = np.minimum(wanted[which] - (tail - log_rho), -0.5)
            with np.errstate(divide="ignore", invalid="ignore"):
                power = np.log(log_rho / before[1][which]) / np.log(edge / before[0][which])
                power = np.where((power > 0.3) & (power < 4.0), power, 2.0 if look == 0 else 1.0)
                leap = np.where(log_rho < 0, (needed / log_rho) ** (1 / power), MOST_LEAP)
            before[0][which], before[1][which] = edge, log_rho
            again = ~enough & ~(found[which] > 0)
            back = enough & (tail < OVERSHOT * wanted[which]) & (edge > LONG * step[which]) & (look == 0)
            leap = np.where(back, np.clip(1.03 * leap, 0.1, BACK), np.clip(1.02 * leap, LEAST_LEAP, MOST_LEAP))
            edges[which] = edge * leap
            which = which[again | back]
            if not len(which):
                break
        return found, tails


def _step(log_m: Array, eta: Array, dx: Array) -> Array:
    """Bound on the errors of both trapezoid sums, relative to m(t)."""
    arc = 2 * math.pi * eta / dx
    return 4 * np.exp(np.minimum(log_m - arc, LARGEST)) / -np.expm1(-arc)
