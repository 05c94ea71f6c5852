"""Values of the characteristic function m on the line Re z = t of each row, with bounds on their errors.

The symbols phi, g, L, q and mu, and the exponent p, are those of ``law.py``.

**Nodes.** All integrals are computed as sums over nodes ``x_j = j dx``. m(t) and m(y) are computed on the real axis.
``m(t + is) = int H(x + iY) dx``, with ``H = phi e^((p + is) L)``, is computed on a parallel to the real axis at the
distance Y, on the side where Im L is in [0, pi). By Cauchy's theorem the integral is the same there, since g has no
zero in between, as ``mu Y < pi/2``. On the parallel the integrand is small at large s, so dx need not resolve its
oscillation. As dx and Y have few binary digits, the nodes are exact.

**Step.** For ``|Im x - Y| <= Y``, ``|H| <= phi e^(2 Y^2 + dip) e^(p L)`` for every s >= 0, with dip as in
:meth:`Law.log_dip`. So the trapezoid rule of step dx errs by at most ``2 e^(2 Y^2 + dip) m(t) / (e^(2 pi Y / dx) - 1)``
(Trefethen, Weideman 2014 [TW14], Theorem 5.1). On the real axis this holds with a in place of Y and ``a^2/2`` in place
of ``2 Y^2``, for any strip ``|Im x| <= a`` in which g does not vanish.

**Range.** On the real axis, the part of the integral beyond the nodes is bounded by :meth:`Law.beyond`. On the parallel
it is bounded by ``e^(Y^2/2)`` times the same number.

**Rounding.** ``D = m(t + is) / m(t) - 1`` is the sum over the nodes of ``w (e^(isL) - 1)``, where w is the weight of a
node. As ``|e^(isL) - 1| <= s |L|``, all errors together are at most s times the sum of ``|w| (units |L| + slack)``.
Here slack is the error of L, and units are the errors of w and of the summation. L is computed as ``L = log(1 +
gain)``, ``gain = q (e^a - 1)``, ``a = mu (x + iY - mu/2)``:

- Three roundings of a, and the rounding of mu, move a by ``3 mu (|x| + Y + mu)`` units. This moves L by ``|r|`` times
  as much, with ``r = q e^a / (1 + gain)``.
- A relative error of gain moves L by ``|gain / (1 + gain)|`` times this error, where ``|gain / (1 + gain)| <= |L| /
  (1-q)``, as ``|1 + gain| >= 1 - q``.
- The rounding of the logarithm itself moves L by as much again, divided by ``1 - q``.

On the parallel, let ``a = r + iv`` with ``0 <= v < pi/2``. The real part of ``e^a - 1`` is computed as ``(e^r - 1) cos
v - 2 sin^2(v/2)``. The first term is at most ``|e^a - 1|`` and the second at most ``tan(v/2) < 1`` times as much, since
``|e^a - 1| >= max(|e^r - 1|, 2 e^(r/2) |sin(v/2)|)``. All these errors of L add up to at most 64 units of ``|L| /
(1-q)^2``, besides those of a.

**Products.** The points are ``s = j ds`` with ``j = a B + b``, and ``e^(isL) - 1 = E_a + E_b + E_a E_b`` with ``E_b =
e^(i b ds L) - 1`` and ``E_a = e^(i a B ds L) - 1``. Both are computed by leaps ``1 + E_(m + n) = (1 + E_m) (1 + E_n)``,
each of which doubles the range of known n. Let ``e_n`` be the error of E_n in units, with E_1 in error by at most f
``|E_1|``. We have ``|1 + E| <= 1``, ``|E| <= 2`` and ``|E_n| <= n |E_1|``. So the errors of the factors contribute
``e_m + e_n`` to the error after a leap, and the leap itself rounds by at most LEAP ``(|E_m| + |E_n|)``. In detail, the
product rounds by ``sqrt(8) |E_m| |E_n|`` (Higham 2002 [Hig02], Lemma 3.5) or, if ``1 + E_m`` is rounded first, by
``(sqrt(8) + 1) |E_n|``; the sums round by ``|E_m|`` and ``|E_(m + n)|``. Hence ``e_n <= (f + LEAP d) n |E_1|``, where d
is the largest number of leaps from 1 to n. For ``n = 2^i`` this number is ``2 i - 1``, as ``2^i`` is computed from
``2^i - 1``, and ``2^i - 1`` from ``2^(i - 1)``. For n between ``2^i`` and ``2^(i + 1)`` it is at most ``2 i``.

``w E_a`` is summed in blocks of BLOCK nodes, with at most BLOCK + n / BLOCK roundings and one more for each panel
added. ``(w E_a + w) E_b`` is summed by matrix products over panels of PANEL nodes, which are added one by one; its
first factor errs by another ``2 sqrt(8) + 1`` units. An inner product of m complex terms errs by at most ``2 sqrt(2) (m
+ 2) u`` times the sum of the moduli, in any order, even if the products of real and imaginary parts are summed
separately ([Hig02], Section 3.6); 3 (m + 2) units are charged for it. As ``|(1 + E_a) E_b| <= |E_b| <= b ds |L|`` and
``|E_a| <= a B ds |L|``, the bounds on the two sums add up to ``s |L|``. So it is enough to charge the larger of the two
numbers of roundings to all of ``s |L|``.

**Boxes** (``numerics/boxes.py``) below the density f of L under the tilted law bound the decay of m. They need a lower
bound on f between nodes. If ``(log f)'' <= C`` there, as a function of x, then f is at least ``e^(-C dx^2 / 8)`` times
the lesser of its values at the two nodes. Let R be the slope of log g as a function of ``mu x``, a number in (0, 1).
Then ``log f = p L - x^2/2 - log R`` up to constants, where ``L'' = sign mu^2 R (1 - R)`` and ``-(log R)'' = mu^2 R (1 -
R)``; so ``C <= (2 + t) mu^2 / 4 - 1`` where a record is removed and ``mu^2 / 4 - 1`` where one is added.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from hockeystick.engines.core.law import Law
from hockeystick.engines.core.rows import Array, Columns, ComplexArray
from hockeystick.numerics.arrays import CHUNK
from hockeystick.numerics.charged import charged
from hockeystick.numerics.exponential_sum import BLOCK
from hockeystick.numerics.rounding import LARGEST, SPARE, ULPS, UNIT_ROUNDOFF

CLASSES = np.array([64, 96, 128, 192, 256, 384, 512, 768, 1024, 1536, 2048, 3072, 4096])  # numbers of nodes
GRAIN = 4096.0  # dx and Y are multiples of 1 / GRAIN
STRIP, STRIP_ADDED = 0.97 * math.pi, 0.499 * math.pi  # half-width of the strip about the real axis, times mu
LIFT, LIFT_ADDED, HIGHEST = 0.48 * math.pi, 0.245 * math.pi, 2.0  # Y times mu, and largest Y: rounding is e^(Y^2/2)
DEPTH = 4.3  # log of the factor by which remainders are smaller than requested, at t and at y
LEAST = 1e-40  # smallest remainder requested
PANEL, MANY = 32, 8192  # nodes of one matrix product for up to 8192 points; for more points, a half or a quarter
FACTOR = 4.0 * ULPS + 8.0  # error of ``e^(i ds L) - 1`` in units: expm1, sin and cos, and their products
LEAP = 5.0  # rounding of a leap in units, more than ``sqrt(8) + 2``
PARTS = 2  # number of pieces between neighbouring nodes, for boxes
SMALLER = 1 - 1e-6  # factor on the heights and lengths of boxes, which covers their roundings


@dataclass(frozen=True, slots=True)
class Grid(Columns):
    """Nodes of each row. All attributes are chosen: any values are sound.

    Attributes:
        dx: distance between neighbouring nodes.
        first: index j of the first node.
        needed: number of nodes required; infinite where g exceeds the range of a double.
        lift: distance Y between the real axis and the parallel on which m(t + is) is computed.
        shares: shape (rows, 2), the argument ``share`` of :meth:`Law.beyond` at t and at y.
    """

    dx: Array
    first: Array
    needed: Array
    lift: Array
    shares: Array

    @classmethod
    def of(cls, law: Law, t: Array, y: Array, inner: Array, right: Array | float, highest: float = HIGHEST) -> Grid:
        """Return the nodes for the line Re z = t of each row.

        Args:
            law: law of one round of each row.
            t: tilt of the line.
            y: tilt for the bound on the aliases to the right.
            inner: desired size of the remainders of one round's m(t), relative to m(t).
            right: desired size of the remainders of one round's m(y), relative to m(y).
            highest: largest Y allowed; a lower Y needs more nodes and has smaller rounding errors.
        """
        lift = np.minimum(np.where(law.add, LIFT_ADDED, LIFT) / law.mu, highest)
        lift = np.maximum(np.floor(GRAIN * lift), 1.0) / GRAIN
        depth = DEPTH - np.log(np.maximum(inner, LEAST))
        dx = 2 * math.pi * lift / (depth + 2 * lift**2 + law.log_dip(t, 2 * lift))
        dx = np.floor(GRAIN * np.minimum(dx, 1.0)) / GRAIN
        low, high, share = law.reach(t, depth + 1 + 0.5 * lift**2)
        low_y, high_y, share_y = law.reach(y, DEPTH - np.log(right))
        first = -np.ceil(np.maximum(low, low_y) / dx)
        needed = np.ceil(np.maximum(high, high_y) / dx) - first + 1
        inside = law.mu * (first + 1.5 * needed) * dx < LARGEST
        return cls(
            dx, first, np.where(inside & (dx > 0), needed, np.inf), lift, np.concatenate([share, share_y], axis=1)
        )


@dataclass(frozen=True, slots=True)
class Line(Columns):
    """Values at the nodes of each row, from which m is computed on the line Re z = t, with bounds on their errors.

    Attributes:
        law, grid: law and grid of the row.
        t: tilt of the row.
        x: nodes on the real axis.
        loss: L at these nodes.
        share: slope R of log g with respect to ``mu x`` at these nodes.
        weight: masses of the tilted law at these nodes.
        log_norm: log of the sum by which the weights were divided.
        log_total: log m(t), as computed.
        common: bound on the relative error of the computed m(t).
        doubt: bound on the relative rounding error of each weight.
        outside: bound on the part of m(t) from beyond the nodes, relative to m(t).
        upper: upper bound on log m(y).
        variance: approximate variance of L under the tilted law, for choices only.
    """

    law: Law
    grid: Grid
    t: Array
    x: Array
    loss: Array
    share: Array
    weight: Array
    log_norm: Array
    log_total: Array
    common: Array
    doubt: Array
    outside: Array
    upper: Array
    variance: Array

    @classmethod
    def of(cls, law: Law, grid: Grid, t: Array, y: Array, nodes: int) -> Line:
        """Return the lines of rows that all use the same number of nodes."""
        spare = np.floor((nodes - grid.needed) / 2)
        x = grid.dx * (grid.first - spare + np.arange(nodes, dtype=np.float64))
        gain = law.gain(x)
        log_g = np.log1p(gain)
        loss = log_g * law.sign
        share = law.rate * np.exp(law.mu * (x - law.mu / 2)) / (1 + gain)
        tilts = np.concatenate([t, y], axis=1)  # both at once: arrays of shape (rows, 2, nodes)
        p = law.power(tilts)[:, :, None]
        exponent = p * loss[:, None, :]
        exponent -= (0.5 * x * x)[:, None, :]
        top = exponent.max(axis=2)
        exponent -= top[:, :, None]
        weight = np.exp(exponent, out=exponent)
        total = weight.sum(axis=2)
        log_m = np.log(total * (grid.dx / math.sqrt(2 * math.pi))) + top
        outside = law.beyond(tilts, x[:, :1], x[:, -1:], grid.shares) * np.exp(-log_m)
        # step on the real axis: a strip in which g does not vanish
        a = np.minimum(np.where(law.add, STRIP_ADDED, STRIP) / law.mu, 2 * math.pi / grid.dx)
        step = 2 * np.exp(a * a / 2 + law.log_dip(tilts, a)) / np.expm1(2 * math.pi * a / grid.dx)
        # rounding of phi e^(pL): that of L times p, and of x^2 / 2, and of the sum
        slack = 3 * law.mu * (np.abs(x) + (law.mu + HIGHEST)) * share + _digits(law) * np.abs(loss)
        units = p * (slack + 4 * np.abs(loss))[:, None, :] + (4 * x * x)[:, None, :]
        constant = 16 * (np.abs(top) + np.log(total)) + (nodes + 96)
        rounding = UNIT_ROUNDOFF * ((weight * units).sum(axis=2) / total + constant)
        off = charged("range", outside) + charged("step on the axis", step) + charged("rounding of m(t)", rounding)
        off = off * (1 + SPARE)
        doubt = UNIT_ROUNDOFF * units[:, 0].max(axis=1, keepdims=True)
        weight = weight[:, 0] / total[:, :1]
        mean = (weight * loss).sum(axis=1, keepdims=True)
        return cls(
            law, grid, t, x, loss, share, weight, top[:, :1] + np.log(total[:, :1]), log_m[:, :1], off[:, :1], doubt,
            outside[:, :1],
            log_m[:, 1:] - np.log1p(-np.minimum(off[:, 1:], 1.0)),
            (weight * np.square(loss - mean)).sum(axis=1, keepdims=True),
        )  # fmt: skip

    def ratios(self, step: Array, outer: int, inner: int) -> tuple[ComplexArray, Array]:
        """Return ``D = m(t+is) / m(t) - 1`` at the heights ``s = j step``, ``j < outer inner``, with error bounds."""
        law, x, t, lift, nodes = self.law, self.x, self.t, self.grid.lift, self.x.shape[1]
        # on the side where Im L >= 0: e^a - 1 = (e^Re(a) - 1) cos + (cos - 1) + i e^Re(a) sin of the angle mu Y
        angle, y = law.mu * lift, law.sign * lift
        lifted = law.rate * np.exp(law.mu * (x - law.mu / 2))  # q e^Re(a)
        gain = np.empty(x.shape, dtype=np.complex128)
        gain.real = law.gain(x) * np.cos(angle) - 2 * law.rate * np.square(np.sin(0.5 * angle))
        np.multiply(lifted, np.sin(law.sign * angle), out=gain.imag)
        loss = _log1p(gain) * law.sign
        p = law.power(t)
        # weights e^(p L) phi(x + iy), divided by the sum of the weights on the real axis
        modulus = np.exp(p * loss.real - 0.5 * x * x + (0.5 * lift * lift - self.log_norm))
        phase = p * loss.imag - x * y
        weight = np.empty(x.shape, dtype=np.complex128)
        np.multiply(modulus, np.cos(phase), out=weight.real)
        np.multiply(modulus, np.sin(phase), out=weight.imag)
        first = np.expm1(1j * step * loss)
        ratio = _sums(weight, first, outer, inner)
        missed = 2 * np.exp(2 * lift * lift + law.log_dip(t, 2 * lift)) / np.expm1(2 * math.pi * lift / self.grid.dx)
        missed = charged("step", missed) + charged("range off the axis", np.exp(lift * lift / 2) * self.outside)
        size = np.abs(loss)
        share = lifted / np.abs(1 + gain)
        slack = 3 * law.mu * (np.abs(x) + (law.mu + HIGHEST)) * share + _digits(law) * size
        panel = _panel(outer * inner)
        factor = FACTOR + LEAP * leaps(outer, inner) + 3 * (panel + 2) + 4 * nodes / panel + nodes / BLOCK + 16
        units = p * (slack + 4 * size) + 4 * x * x
        units += 4 * lift * lift + 4 * np.abs(self.log_norm) + (factor + 128)
        moving = (modulus * (units * size + slack)).sum(axis=1, keepdims=True)
        s = step * np.arange(outer * inner, dtype=np.float64)
        error = 2 * missed + charged("common", self.common) * np.abs(ratio)  # the errors of m(t+is) and of m(t)
        error += charged("rounding of the ratios", UNIT_ROUNDOFF * moving) * s
        # some errors are relative to m(t), which is known up to ``common``
        error *= (1 + SPARE) / (1 - np.minimum(self.common, 1.0))
        error[:, 0] = 0.0
        return ratio, error

    @property
    def highest(self) -> Array:
        """Upper bound on log m(t)."""
        out: Array = self.log_total - np.log1p(-np.minimum(self.common, 1.0))
        return out


def cells(line: Line, parts: int) -> tuple[Array, Array]:
    """Return lower bounds on the density of the tilted loss on each piece, and on the length of each piece.

    The interval of losses between neighbouring nodes is divided into ``parts`` pieces.
    """
    law, dx, x, loss, share = line.law, line.grid.dx / parts, line.x, line.loss, line.share
    weight = line.weight / line.grid.dx
    if parts > 1:
        x = x[:, :1] + dx * np.arange((x.shape[1] - 1) * parts + 1, dtype=np.float64)
        gain = law.gain(x)
        loss = np.log1p(gain) * law.sign
        share = law.rate * np.exp(law.mu * (x - law.mu / 2)) / (1 + gain)
        weight = np.exp(law.power(line.t) * loss - 0.5 * x * x - line.log_norm) / line.grid.dx
    density = weight / (law.mu * share) * (1 - np.minimum(line.common + 2 * line.doubt, 1.0))
    bend = charged("bend", np.maximum(law.mu**2 / 4 * np.where(law.add, 1.0, 2 + line.t) - 1, 0.0))
    height = np.minimum(density[:, 1:], density[:, :-1]) * np.exp(-bend * dx * dx / 8) * SMALLER
    size = np.abs(loss)
    slack = charged("rounding of losses", 2 * UNIT_ROUNDOFF * _digits(law) * (size[:, 1:] + size[:, :-1]))
    length = np.maximum(np.abs(np.diff(loss, axis=1)) * SMALLER - slack, 0.0)
    return np.where(np.isfinite(height), height, 0.0), length


def _digits(law: Law) -> Array:
    """Return a bound on the rounding error of the computed loss L, in units of ``|L|``.

    It does not include the error of ``a = mu (x + iY - mu/2)``, which is charged separately.
    """
    out: Array = 64 / np.square(1 - law.rate)
    return out


def _log1p(w: ComplexArray) -> ComplexArray:
    """Return ``log(1 + w)``, which is accurate even for small w, unlike NumPy's complex ``log1p``."""
    out = np.empty(w.shape, dtype=np.complex128)
    real, imaginary = w.real, w.imag
    np.multiply(0.5, np.log1p(real * (2 + real) + imaginary * imaginary), out=out.real)
    np.arctan2(imaginary, 1 + real, out=out.imag)
    return out


def leaps(outer: int, inner: int) -> int:
    """Return the largest number of leaps by which any of ``outer * inner`` powers is computed from the first power.

    A leap is a product of two powers (see the module docstring).

    >>> leaps(2, 2), leaps(16, 20)
    (1, 15)
    """
    return 2 * ((inner - 1).bit_length() - 1) + 1 + 2 * ((outer - 1).bit_length() - 1)


def _powers(first: ComplexArray, many: int) -> ComplexArray:
    """Return ``(1 + E)^j - 1`` for j < ``many``, along a new second axis, where E is ``first``."""
    rows, count = first.shape
    out = np.empty((rows, many, count), dtype=np.complex128)
    out[:, 0] = 0.0
    if many > 1:
        out[:, 1] = first
    known = 2
    while known < many:  # 1 + E_(known + j) = (1 + E_j) (1 + E_known)
        leap = out[:, known - 1] * first
        leap += out[:, known - 1]
        leap += first
        more = min(known, many - known)
        np.multiply(out[:, :more], (1.0 + leap)[:, None, :], out=out[:, known : known + more])
        out[:, known : known + more] += leap[:, None, :]
        known += more
    return out


def _summed(x: ComplexArray) -> ComplexArray:
    """Return sums along the last axis, computed in blocks of BLOCK numbers."""
    blocks = x.reshape(*x.shape[:-1], -1, BLOCK)
    out: ComplexArray = blocks.sum(axis=-1).sum(axis=-1)
    return out


def _panel(points: int) -> int:
    """Return the number of nodes in one matrix product, so few that the product runs in a single thread."""
    return PANEL if points <= MANY else PANEL // 2 if points <= 2 * MANY else PANEL // 4


def _sums(weight: ComplexArray, first: ComplexArray, outer: int, inner: int) -> ComplexArray:
    """Return the sums over nodes of ``w ((1 + E)^j - 1)`` for ``j < outer * inner``.

    Here w is ``weight`` and E is ``first``.
    """
    rows, count = weight.shape
    out = np.empty((rows, outer * inner), dtype=np.complex128)
    many = max(1, CHUNK // (2 * count * (outer + inner)))
    for start in range(0, rows, many):
        part = slice(start, start + many)
        out[part] = _sums_of(weight[part], first[part], outer, inner)
    return out


def _sums_of(weight: ComplexArray, first: ComplexArray, outer: int, inner: int) -> ComplexArray:
    rows, count = weight.shape
    panel = _panel(outer * inner)
    near = _powers(first, inner)
    leap = near[:, inner - 1] * first
    leap += near[:, inner - 1]
    leap += first
    far = _powers(leap, outer)
    far *= weight[:, None, :]
    out = np.repeat(_summed(far)[:, :, None], inner, axis=2)
    far += weight[:, None, :]
    panels = count // panel
    far = far.reshape(rows, outer, panels, panel).transpose(0, 2, 1, 3)
    near = near.reshape(rows, inner, panels, panel).transpose(0, 2, 3, 1)
    for at in range(panels):
        out += far[:, at] @ near[:, at]
    return out.reshape(rows, outer * inner)
