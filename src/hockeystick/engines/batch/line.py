"""m on the line Re z = t of each row, by the trapezoid rule on a parallel of the real axis, as products of matrices.

For ``H(x) = phi(x) g(x)^(1+t+is)`` and ``0 <= Y``, ``mu (Y + a) < pi``, ``a <= Y``, Cauchy's theorem gives
``m(t + is) = int H(x + iY) dx``, as g has no zero in between. In the strip ``|Im x - Y| <= a`` the argument of g is in
[0, pi), so that for every s >= 0

    |H(x + iv)| = phi(x) e^(v^2/2) |g|^(1+t) e^(-s arg g) <= e^((Y+a)^2/2) phi(x) g(x)^(1+t) ,

and the rule errs by at most ``2 e^((Y+a)^2/2) m(t) / (e^(2 pi a / dx) - 1)`` (Trefethen, Weideman 2014 [TW14], Theorem
5.1): the step need not follow the oscillation, as it has to on the real axis, and what is taken far up the line
decays by itself. Here a = Y. What lies beyond the nodes is at most ``e^(Y^2/2)`` times what does on the real axis. The
price is rounding, which ``e^(Y^2/2)`` multiplies. The value at s = 0, from which all others are scaled, is that on the
real axis.

**Differences.** What is summed is ``m(t + is) - m(t) = int phi g^(1+t) (e^(isl) - 1)``, ``l = log g(x + iY)``, so that
all errors are relative to about ``s |l|`` and not to 1: the k-th power of ``1 + D``, ``D = m(t + is) / m(t) - 1``, errs
by k times the error of D. That of m(t), had on the real axis, is one factor of all terms of the sum alike.

**Products.** ``s_j = j ds``, ``j = a B + b``, and ``e^(i s_j l) - 1 = E_a + E_b + E_a E_b`` with
``E_b = e^(i b ds l) - 1`` and ``E_a = e^(i a B ds l) - 1``, each by leaps ``1 + E_(m + n) = (1 + E_m) (1 + E_n)`` that
double what is known. Let ``e_n`` be the error of E_n in units, E_1 being off by at most f ``|E_1|``. As
``|1 + E| <= 1``, ``|E| <= 2`` and ``|E_n| <= n |E_1|``, a leap hands on ``e_m + e_n`` and rounds by at most LEAP
``(|E_m| + |E_n|)``: the product by ``sqrt(8) |E_m| |E_n|`` (Higham 2002 [Hig02], Lemma 3.5) or, with ``1 + E_m``
rounded before, by ``(sqrt(8) + 1) |E_n|``, the sums by ``|E_m|`` and ``|E_(m + n)|``. So
``e_n <= (f + LEAP d) n |E_1|`` with d the largest number of leaps from 1 to n: those to ``2^i`` are ``2 i - 1``, as
``2^i`` is had from ``2^i - 1`` and that from ``2^(i - 1)``, and those to numbers between no more than ``2 i``.

``w E_a`` is added up in blocks of BLOCK, in at most BLOCK + n / BLOCK roundings and once more with each panel that is
added, and ``(w E_a + w) E_b``, whose first factor is off by ``2 sqrt(8) + 1`` units more, is a product of matrices over
panels of PANEL nodes, or a quarter of that, added up one by one: an inner product of m complex terms errs by at most
``sqrt(2) (m + 2) u`` of the sum of the sizes in any order ([Hig02], Section 3.6). As ``|(1 + E_a) E_b| <= |E_b| <= b ds
|l|`` and ``|E_a| <= a B ds |l|``, whose sum is ``s |l|``, the larger number of roundings of the two is charged, and not
both.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hockeystick.engines.batch.nodes import LARGEST, SPARE, Nodes, log_beyond, log_dip
from hockeystick.engines.batch.rows import Array, up
from hockeystick.numerics.rounding import ULPS, UNIT_ROUNDOFF

ComplexArray = npt.NDArray[np.complex128]

PANEL = 32  # nodes of one product of matrices: few enough for one thread
MANY = 8192  # points up to which panels are that; up to twice as many half of it, beyond a quarter
NUMBERS = 1 << 15  # complex numbers of the factors at once
BLOCK = 32  # terms that are summed first: n terms then meet at most BLOCK + n / BLOCK roundings
FACTOR = 4.0 * ULPS + 8.0  # units that ``e^(i ds l) - 1`` is off by: expm1, sin and cos, and their products
LEAP = 5.0  # units of a leap, more than ``sqrt(8) + 2``
OWN = 64.0  # units: D from its sum, ``log (1 + D)`` and its angle


@dataclass(frozen=True, slots=True)
class Line:
    """Values on the lines of some rows, of one number of points.

    Attributes:
        s: shape (rows, points), their heights.
        values: shape (rows, points), ``m(t + is) / m(t) - 1``.
        errors: shape (rows, points), bounds on their errors.
        common: bound on the relative error of ``e^top total`` of the nodes as m(t).
    """

    s: Array
    values: ComplexArray
    errors: Array
    common: Array


def line_of(nodes: Nodes, step: Array, outer: int, inner: int) -> Line:
    """The values at ``outer * inner`` points of the line of each row, ``step`` apart."""
    rows, layout, t = nodes.rows, nodes.layout, nodes.place.t
    x, u, total = nodes.x, nodes.u, nodes.total
    share = nodes.shares()
    angle = rows.mu * layout.shift
    sine, height = np.sin(angle), np.square(np.sin(0.5 * angle))
    twice = share * up(2 * height)
    lost = (1.0 - share) * twice
    lost *= 2.0
    moved = np.log1p(-lost)
    moved *= 0.5
    size = u + moved  # log |g(x + iY)|
    turn = np.arctan2(share * up(sine), 1.0 - twice)  # arg g(x + iY)
    # weights e^-top phi(x + iY) g(x + iY)^(1+t); where a record is added e^-top phi(x - iY) g(x - iY)^-t
    exponent = up(rows.power(t)) * size
    exponent += nodes.log_density
    exponent += up(0.5 * np.square(layout.shift) - nodes.top)
    modulus = np.exp(exponent, out=exponent)
    phase = up(np.abs(rows.power(t))) * turn
    phase += x * up(layout.shift if rows.adding else -layout.shift)
    weight = np.empty(x.shape, dtype=np.complex128)
    np.multiply(modulus, np.cos(phase), out=weight.real)
    np.multiply(modulus, np.sin(phase), out=weight.imag)
    # what rounding does: to the weights, and to l = log g(x + iY), in units of round-off
    units = nodes.share_units()
    slack = up(2 * np.sqrt(height)) * share / np.sqrt(1.0 - lost)  # by how much a relative error of r moves l
    slip = slack * (units + 8.0)
    slip += 16 * (np.abs(u) + np.abs(moved)) + 8 * np.abs(turn)
    first = np.abs(layout.low)
    slip += share * (up(5 * rows.mu) * np.abs(x) + up(rows.mu * (3 * rows.mu + first)))
    slip += 4 * np.abs(np.expm1(-u))
    far = np.abs(x) * (4 * np.abs(x) + up(first + 8 * layout.shift))
    far += up(128 + 16 * np.square(layout.shift) + 8 * np.abs(nodes.top))
    own = slip * up(np.abs(rows.power(t)))
    own += far
    own *= modulus
    length = np.hypot(size, turn)
    slip += 4 * length  # of the products with s
    many = x.shape[1]
    factor = FACTOR + LEAP * leaps(outer, inner) + 2 * (PANEL + 2) + 4 * many / PANEL + many / BLOCK + 16
    own *= length
    own += modulus * (slip + factor * length)
    moving = own.sum(axis=1) * UNIT_ROUNDOFF / total
    points = outer * inner
    s: Array = up(step) * np.arange(points, dtype=np.float64)
    values = _sums(weight, -size if rows.adding else size, turn, step, outer, inner)
    values /= up(total)
    arc = 2 * math.pi * layout.shift / nodes.dx
    widest = 2 * np.square(layout.shift) + log_dip(rows, t, 2 * layout.shift)
    missed = 2 * np.exp(np.minimum(widest - arc, LARGEST)) / -np.expm1(-arc)
    depth = 2.0 - np.log(layout.inner) + 1.0 + 0.5 * np.square(layout.shift)
    beyond = log_beyond(rows, t, layout.low, layout.high, depth) - nodes.log_total
    off = log_beyond(rows, t, layout.low, layout.high, depth, layout.shift) - nodes.log_total
    missed = missed + np.exp(np.minimum(off + 0.5 * np.square(layout.shift), LARGEST))
    real = nodes.doubt + nodes.real_step(nodes.place.t) + np.exp(np.minimum(beyond, LARGEST))
    errors = s * up(moving)
    errors += up(2 * missed)  # of the integrals at s and at 0
    errors += np.hypot(values.real, values.imag) * up(real + OWN * UNIT_ROUNDOFF)
    errors *= (1 + SPARE) * (1 + 2 * up(real))  # some are relative to m(t), which is known to that share alone
    errors[:, 0] = 0.0
    return Line(s, values, errors, real * (1 + SPARE))


def leaps(outer: int, inner: int) -> int:
    """The largest number of leaps from the first power to that of any point.

    >>> leaps(2, 2), leaps(16, 20)
    (1, 15)
    """
    return 2 * ((inner - 1).bit_length() - 1) + 1 + 2 * ((outer - 1).bit_length() - 1)


def _turned(size: Array, turn: Array, step: Array) -> ComplexArray:
    """``e^(i s l) - 1`` for ``l = size + i turn`` and a step s for each row."""
    out = np.empty(size.shape, dtype=np.complex128)
    half = up(0.5 * step) * size
    sine, cosine = np.sin(half), np.cos(half)
    less = np.expm1(up(-step) * turn)  # e^-(s turn) - 1
    cosine *= sine
    sine *= sine
    sine *= 2.0  # 1 - cos
    cosine *= 2.0  # sin
    # (1 + less) (1 - sine + i cosine) - 1
    np.multiply(1.0 + less, cosine, out=out.imag)
    np.subtract(less * (1.0 - sine), sine, out=out.real)
    return out


def _powers(first: ComplexArray, many: int) -> ComplexArray:
    """``(1 + E)^j - 1`` for ``j < many``, along a new second axis."""
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
    """Sums along the last axis, in blocks."""
    blocks = x.reshape(*x.shape[:-1], -1, BLOCK)
    out: ComplexArray = blocks.sum(axis=-1).sum(axis=-1)
    return out


def _sums(weight: ComplexArray, size: Array, turn: Array, step: Array, outer: int, inner: int) -> ComplexArray:
    """``sum_x w (e^(i j step l) - 1)`` for each ``j < outer * inner``."""
    rows, count = weight.shape
    out = np.empty((rows, outer * inner), dtype=np.complex128)
    many = max(1, NUMBERS // (count * (outer + inner)))
    for start in range(0, rows, many):
        part = slice(start, start + many)
        out[part] = _sums_of(weight[part], _turned(size[part], turn[part], step[part]), outer, inner)
    return out


def _sums_of(weight: ComplexArray, first: ComplexArray, outer: int, inner: int) -> ComplexArray:
    rows, count = weight.shape
    panel = PANEL if outer * inner <= MANY else PANEL // 2 if outer * inner <= 2 * MANY else PANEL // 4
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
