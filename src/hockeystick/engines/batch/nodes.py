"""Nodes on which everything about a row is computed, and what lies beyond them; an overview is in ``docs/many.md``.

**Range.** For ``0 < w < 1`` and t >= 0, by convexity, ``(a + b)^(1+t) <= w^-t a^(1+t) + (1-w)^-t b^(1+t)``; so

    g^(1+t) <= w^-t + (1-w)^-t (q e^(mu x - mu^2/2))^(1+t) ,

and what lies above the nodes is at most ``w^-t`` times a normal tail, and ``(1-w)^-t q^(1+t) e^(t (1+t) mu^2 / 2)``
times the mass of the hump, a normal density about ``(1+t) mu``: its tail where the nodes reach beyond its middle, else
all of it. With w = 1/2 that is the bound of ``pairs/sampled/gaussian_law.py``; where the hump is light enough w is as
large as its lightness allows, and the nodes need not go there. A sum over nodes of step dx of a density with one mode
is at most its integral and dx times its largest value, a sum beyond the last node of a decreasing one at most its
integral.

**Care.** As in that module: bounds on the relative rounding error of ``phi g^(1+t)``, with ``|1 - 1/g| <= C |u|``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from hockeystick.engines.batch.guess import Place, lifted
from hockeystick.engines.batch.rows import Array, Columns, Places, Rows, each, together, up
from hockeystick.numerics.normal import HALF_LOG_TWO_PI
from hockeystick.numerics.rounding import UNIT_ROUNDOFF

CLASSES = np.array(
    [32, 64, 96, 128, 160, 192, 256, 320, 384, 512, 640, 768, 1024, 1536, 2048, 3072, 4096], dtype=np.float64
)  # numbers of nodes
WIDEST_STRIP = 0.97 * math.pi  # of 1 / mu, where g may vanish
SHIFT, LARGEST_SHIFT = 0.48 * math.pi, 2.0  # of the line: of 1 / mu, and at most, as rounding grows by e^(Y^2/2)
CALM_SHIFT = 0.7  # likewise, where rounding would be as much as a remainder may be
ROUNDING = 500.0
"""Units of rounding, about, of the values of a line by t, the rate, the number of rounds and ``e^(Y^2/2)``; up to three
times as much is charged (``line.py``). It goes with ``s |l|``, s being some times t, which is large beside K where rare
losses decide."""

SHIFT_ADDING = 0.245 * math.pi  # of the line where a record is added: ``|g| >= 1 - q`` up to twice that
STRIP, WIDEST_ETA = 0.6, 4.0  # eta of the envelope, of 1 / mu, and at most
LARGEST_LIFT = 2.5  # Y of the envelope
FAR_LIFT, FAR_STRIP = 2.0, 1.0  # of the constant shift of the envelope, of 1 / mu
REST = 0.02  # of 1 / count: what the remainders of the envelope may be
LITTLE = 7.0  # log of how little of the bound on the right alias may lie beyond the nodes
UNIMODAL = math.log(1.5)  # more than ``1 + dx / sqrt(2 pi)``
SPARE = 1e-9  # relative: pays for the roundings of the remainders themselves
LARGEST = 650.0  # exponent that a double can hold
ALL = slice(None)  # the rows


@dataclass(frozen=True, slots=True)
class Layout(Columns):
    """Where the nodes of a row lie.

    Attributes:
        low, high: the first and the last.
        needed: how many there have to be for an envelope.
        few: how many there have to be for a line, which is content with fewer.
        inner: what the remainders of m may be, relative to m(t).
        shift: Y of the line.
        eta: half-width of the strip of the envelope.
        widest: largest Y of its curved shift.
        tallest: largest shift of both of its kinds.
        far: its constant shift.
        far_eta: half-width of the strip of that.
    """

    low: Array
    high: Array
    needed: Array
    few: Array
    inner: Array
    shift: Array
    eta: Array
    widest: Array
    tallest: Array
    far: Array
    far_eta: Array


def log_tail(x: Array) -> Array:
    """An upper bound on ``log Phi(x)`` by Mills' ratio, 0 from -1/2 on."""
    below = np.minimum(x, -0.5)
    bound = (-0.5 * below * below - HALF_LOG_TWO_PI - np.log(-below)) * (1 - 1e-14)
    return np.where(x < -0.5, bound, 0.0)


def _share(rows: Rows, t: Array, depth: Array) -> Array:
    """``log(1 - w)`` for which the whole hump is at most ``e^-depth``; no more than ``-log 2``."""
    out: Array = np.minimum((lifted(rows, t) + depth) / t, -math.log(2.0))
    return out


def _far(depth: Array) -> Array:
    out: Array = np.sqrt(2 * np.maximum(depth, 1.0))
    return out


def _highest(rows: Rows, t: Array, depth: Array) -> Array:
    """Where the nodes have to end for the bound of :func:`log_beyond` to be about ``e^-depth``."""
    share = _share(rows, t, depth)
    alone = _far(depth - t * np.log1p(-np.exp(share)))
    halves = depth + t * math.log(2.0)
    whole = np.maximum(_far(halves), (1 + t) * rows.mu + _far(halves + lifted(rows, t)))
    return np.where(lifted(rows, t) + depth <= -t * math.log(2.0), np.minimum(alone, whole), whole)


def log_dip(rows: Rows, t: Array, a: Array) -> Array:
    """The log of how much ``|g(x + ia)|^-t`` may exceed ``g^-t``, as a factor of m(t) >= 1, for ``mu a <= pi / 2``.

    ``|g(x + ia)| >= g(x) cos(mu a / 2)``, and its real part is at least 1 - q. Where a record is removed, |g| is raised
    to a positive power and does not grow.
    """
    if not rows.adding:
        return np.zeros(len(t))
    return t * np.minimum(-np.log(np.cos(0.5 * rows.mu * a)), -np.log1p(-rows.rate))


def log_beyond(rows: Rows, t: Array, low: Array, high: Array, depth: Array, shift: Array | None = None) -> Array:
    """log of a bound on ``int phi |g|^a``, or a sum over nodes, below ``low < 0`` and above ``high > 0`` together.

    Args:
        rows, t: the rounds, and a tilt for each.
        low, high: the ends of the nodes.
        depth: that for which they were laid.
        shift: by how much x may be moved off the real line, ``mu shift <= pi / 2`` where a record is added; phi is left
            where it is.
    """
    if rows.adding:
        below = -t * np.log1p(-rows.rate) + log_tail(low)
        above = log_tail(-high)
        if shift is not None:  # |g|^2 >= (1-q)^2 + 2 q (1-q) e^l cos(mu y) + q^2 e^(2l), increasing in x
            lift = rows.rate * np.exp(np.minimum(rows.mu * (high - 0.5 * rows.mu), 300.0))
            rest, cosine = 1 - rows.rate, np.maximum(np.cos(rows.mu * shift) - SPARE, 0.0)
            least = 0.5 * np.log(rest * rest + 2 * rest * lift * cosine + lift * lift) - SPARE
            above = above + t * np.maximum(-least, 0.0)
        return np.logaddexp(below, above)
    hump, middle = lifted(rows, t), (1 + t) * rows.mu
    share = _share(rows, t, depth)
    whole = np.logaddexp(-t * np.log1p(-np.exp(share)) + log_tail(-high), hump - t * share + UNIMODAL)
    rest = t * math.log(2.0) + np.logaddexp(log_tail(-high), hump + log_tail(middle - high))
    above = np.minimum(whole, np.where(high > middle, rest, np.inf))
    return np.logaddexp(log_tail(low), above)


def laid(rows: Rows, place: Place, little: float = LITTLE, calm: bool = False, kinds: int = 1) -> Layout:
    """Nodes for a line, an envelope and a bound on the right alias.

    Args:
        rows: the rounds.
        place: where each is asked.
        little: log of how little of the bound on the right alias may lie beyond the nodes.
        calm: whether lines are moved less far off the real axis, on more nodes, where rounding would count.
        kinds: rows that share the remainders of a plan.
    """
    mu, t = rows.mu, place.t
    weighs = np.clip(place.depth - place.top + np.log1p(t), -600.0, 0.0)
    inner = np.maximum(0.05 * place.tolerance * np.exp(weighs), 1e-25) / (rows.count * kinds)
    shift = np.minimum((SHIFT_ADDING if rows.adding else SHIFT) / mu, LARGEST_SHIFT)
    if calm:
        units = ROUNDING * t * rows.rate * rows.count * np.exp(0.5 * np.square(shift))
        much = UNIT_ROUNDOFF * each(together(units, kinds), kinds) > place.tolerance * np.exp(weighs)
        shift = np.where(much, np.minimum(shift, CALM_SHIFT), shift)
    depth = 2.0 - np.log(inner)
    line = 2 * math.pi * shift / (depth + 2 * np.square(shift) + log_dip(rows, t, 2 * shift))
    eta = np.minimum(STRIP / mu, WIDEST_ETA)
    nu = mu * eta
    spread = 1 / np.cos(0.5 * nu)
    largest = (0.5 * math.pi - 1.5 * nu) / mu * (1 - 1e-9)
    steep = 1.8 / mu * np.cos(0.5 * nu) * np.cos(nu)
    tall = np.minimum(np.minimum(largest, steep), LARGEST_LIFT)
    far = np.minimum(((0.5 * math.pi - nu) * (1 - 1e-9) if rows.adding else FAR_LIFT) / mu, LARGEST_LIFT)
    tallest = np.maximum(tall, far)
    rest = np.log(rows.count / REST)
    dip = log_dip(rows, t, eta + tallest)
    growth = dip + 0.5 * (np.square(eta) + np.square(tall)) + (1 + t) * np.square(mu * tall * np.sin(0.5 * nu)) / 8
    curved = 2 * math.pi * eta / (rest + 2.0 + growth)
    far_eta = eta if rows.adding else np.minimum(FAR_STRIP / mu, far)
    constant = 2 * math.pi * far_eta / (rest + 2.0 + dip + 0.5 * (np.square(far_eta) + np.square(far)))
    line = np.minimum(line, 1.0)
    dx = np.minimum(line, np.minimum(curved, constant))
    outside = np.maximum(depth + 1.0 + 0.5 * np.square(shift), rest + 3.0 + 0.5 * np.square(tallest))
    if rows.adding:
        low, high = -_far(outside - t * np.log1p(-rows.rate)), _far(outside)
        low = np.minimum(low, -_far(little - place.right * np.log1p(-rows.rate)))
    else:
        low = -_far(outside)
        high = np.maximum(_highest(rows, t, outside), _highest(rows, place.right, np.full(len(t), little)))
    within = mu * high < LARGEST  # else g leaves the range of a double
    needed = np.where(within, (high - low) / dx + 1, np.inf)
    few = np.where(within, (high - low) / line + 1, np.inf)
    return Layout(low, high, needed, few, inner, shift, eta, tall / np.sqrt(spread), tallest, far, far_eta)


class Nodes:
    """Values at the nodes, one row each.

    Args:
        rows, place, layout: of one class of nodes.
        count: how many nodes there are.
    """

    def __init__(self, rows: Rows, place: Place, layout: Layout, count: int) -> None:
        self.rows, self.place, self.layout, self.count = rows, place, layout, count
        mu = rows.mu
        self.dx = (layout.high - layout.low) / (count - 1)
        x = up(self.dx) * np.arange(count, dtype=np.float64)
        x += up(layout.low)
        self.x = x
        towards = x - up(0.5 * mu)
        towards *= up(mu)
        self.towards = towards
        excess = np.expm1(towards)
        excess *= up(rows.rate)
        self.u = np.log1p(excess)
        self.log_density = np.square(x)
        self.log_density *= -0.5
        self.log_density += up(np.log(self.dx) - HALF_LOG_TWO_PI)
        size = np.abs(x)
        first = np.abs(layout.low)
        # roundings of x = x_0 + j dx (3, one of them of x_0), of mu, of the difference and the product
        self._phi_care = size * (4 * size + up(first)) + 64
        each = 16 + 4 * chord(rows.rate)
        self._inner_care = up(5 * mu) * size + up(mu * (3 * mu + first)) + up(each) * np.abs(self.u)
        self._tilted, self.top, self.total, self.doubt = self._tilt(place.t)
        self.log_total = self.top + np.log(self.total)

    @property
    def weight(self) -> Array:
        """``e^-top phi g^(1+t)`` at the nodes."""
        return self._tilted

    def care(self, t: Array) -> Array:
        """Bound on the relative rounding error of ``phi g^(1+t)``."""
        return UNIT_ROUNDOFF * (self._phi_care + up(np.abs(self.rows.power(t))) * self._inner_care)

    def care_of(self, which: Places, y: Array) -> Array:
        """Bound on the relative rounding error of ``phi g^-y`` at some of the rows."""
        return UNIT_ROUNDOFF * (self._phi_care[which] + up(y) * self._inner_care[which])

    def _tilt(self, t: Array) -> tuple[Array, Array, Array, Array]:
        """``e^-top phi g^(1+t)``, top, the sum, and a bound on the relative rounding error of the sum."""
        weight = up(self.rows.power(t)) * self.u
        weight += self.log_density
        top = weight.max(axis=1)
        weight -= up(top)
        np.exp(weight, out=weight)
        total = weight.sum(axis=1)
        care = self.care(t)
        care *= weight
        doubt = care.sum(axis=1) / total
        doubt += UNIT_ROUNDOFF * (16 * (np.abs(top) + np.abs(np.log(total))) + self.count + 16)
        return weight, top, total, doubt

    def real_step(self, t: Array) -> Array:
        """Bound on the step remainder of m at a real tilt, relative to it: ``Im x`` is below where g vanishes."""
        widest = 0.5 * math.pi if self.rows.adding else WIDEST_STRIP
        strip = np.minimum(widest / self.rows.mu, 2 * math.pi / self.dx)
        arc = 2 * math.pi * strip / self.dx
        return (
            2
            * np.exp(np.minimum(0.5 * np.square(strip) + log_dip(self.rows, t, strip) - arc, LARGEST))
            / -np.expm1(-arc)
            * (1 + SPARE)
        )

    def upper(self, t: Array, depth: Array | None = None) -> Array:
        """An upper bound on K(t) of one round; infinite where there is none.

        Args:
            t: tilts.
            depth: that for which the ends of the nodes were laid, at these tilts; by default the one of a right alias.
        """
        _, top, total, doubt = (self._tilted, self.top, self.total, self.doubt) if t is self.place.t else self._tilt(t)
        log_total = top + np.log(total)
        depth = np.full(len(t), LITTLE) if depth is None else depth
        beyond = log_beyond(self.rows, t, self.layout.low, self.layout.high, depth) - log_total
        step = self.real_step(t)
        bound = (
            log_total + np.log1p(doubt + np.exp(np.minimum(beyond + SPARE, LARGEST))) - np.log1p(-np.minimum(step, 0.5))
        )
        return np.where((step < 0.5) & (beyond < LARGEST), bound, np.inf)

    def upper_adding(self, which: Places, y: Array) -> Array:
        """Upper bounds on ``K(y) = log int phi g^-y``, with a record added where these rows remove one; or infinite.

        Args:
            which: some of the rows, which remove a record.
            y: a tilt for each.
        """
        rows, dx, low, high = self.rows.at(which), self.dx[which], self.layout.low[which], self.layout.high[which]
        strip = np.minimum(0.5 * math.pi / rows.mu, 2 * math.pi / dx)
        arc = 2 * math.pi * strip / dx
        weight = up(-y) * self.u[which]
        weight += self.log_density[which]
        top = weight.max(axis=1)
        weight -= up(top)
        np.exp(weight, out=weight)
        total = weight.sum(axis=1)
        care = (self.care_of(which, y) * weight).sum(axis=1) / total
        care += UNIT_ROUNDOFF * (16 * (np.abs(top) + np.abs(np.log(total))) + self.count + 16)
        seen = top + np.log(total)
        ratio = -y * np.log1p(-rows.rate)
        dip = np.minimum(-y * np.log(np.cos(0.5 * rows.mu * strip)), ratio)
        missed = 2 * np.exp(np.minimum(0.5 * np.square(strip) + dip - arc, LARGEST)) / -np.expm1(-arc)
        beyond = np.logaddexp(ratio + log_tail(low), log_tail(-high)) - seen
        bound = seen + np.log1p(care + np.exp(np.minimum(beyond + SPARE, LARGEST))) - np.log1p(-np.minimum(missed, 0.5))
        # above mu / 2 g is at least 1, and what lies beyond ``high`` at most the normal tail
        return np.where((missed < 0.5) & (high >= 0.5 * rows.mu), bound, np.inf)

    def shares(self, which: Places | slice = ALL) -> Array:
        """The slope ``r = q e^l / g`` of u by ``mu x - mu^2/2``, in (0, 1)."""
        share = self.towards[which] - self.u[which]
        share += up(self.rows.log_rate[which])
        np.minimum(share, 0.0, out=share)
        return np.exp(share, out=share)

    def share_units(self, which: Places | slice = ALL) -> Array:
        """Bound on the relative rounding errors of the shares, in units."""
        units = 16 * np.abs(self.towards[which])
        units += up(64 + 16 * (np.square(self.rows.mu[which]) + np.abs(self.rows.log_rate[which])))
        return units


def chord(rate: Array) -> Array:
    """``max(1, q / (1 - q) / log 1/(1-q))``: what ``|1 - e^-u| / |u|`` is at most, u being log(1 - q) or more."""
    return np.maximum(rate / (1 - rate) / -np.log1p(-rate), 1.0)
