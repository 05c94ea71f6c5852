"""The integrals ``e_k(kappa) = E Y^k e^(-kappa Y) / k!`` on a ray ``arg kappa = phi``, with every error bounded.

``Y = e^(mu X - mu^2/2)``, with a standard normal X, is the likelihood ratio of one step of random allocation. So
``e_k`` is an integral over x with a normal density, and the integrand is an entire function of x. The integral is taken
on the line ``x - ic`` (x real) by the trapezoid rule of step dx. On this line ``z = kappa Y`` has the argument ``beta =
phi - c mu >= 0``. In the strip of half-width a around the line, ``|e^-z| <= e^(-rho Y) <= 1`` with ``rho = |kappa|
cos(beta + a mu)``, as long as ``beta + a mu`` is at most pi/2. Hence the rule errs by at most (Trefethen, Weideman 2014
[TW14], Theorem 5.1)

    2 e^((c+a)^2/2) D_k / (e^(2 pi a/dx) - 1) ,    D_k = E Y^k e^(-rho Y) / k! .

From ``x^p e^-x <= (p/e)^p`` follows ``k! D_k <= min_p (p / (e rho))^p e^((k-p)(k-p-1) mu^2/2)``, the minimum over p >=
0.

**First terms.** Let t be the number of steps, and n the largest k. ``log e_0`` must be t times as accurate as the other
coefficients, and ``e_1`` must be n times as accurate. Where ``|kappa| <= 1/2``, ``e_0`` and ``e_1`` are computed from
small remainders, as ``E Y = 1``:

    e_0 = 1 + E (e^-z - 1) ,    e_1 = 1 + E Y (e^-z - 1) .

For ``Re z >= 0``, ``|e^-z - 1| <= min(2, |z|)``. The bounds on the trapezoid rule for the two remainders have 2 in
place of ``D_k``.

**Integrands.** If z has a relative error d, then ``e^-z`` is off by at most ``|z| d``, and ``e^-z - 1`` by at most
twice that. This follows from the derivatives, which are ``e^-z`` up to sign. Rounding within the two functions adds at
most 4 units of ``|e^-z|`` (besides the error of the sine's argument), and 8 units of ``|z|``.

**A lattice.** Nodes are values of ``v = log |kappa|``, and columns are values of x. If the nodes are equidistant, dx is
chosen so that ``mu dx`` is a multiple of their step or a whole fraction of it, both with few binary digits. Then
``u = v + mu x`` takes few values, all exact, and a function of z is computed once for each value. All sums are products
of matrices in blocks of BLOCK columns. If mu is very small, the step of v would be cut into more parts than there are
columns. The lattice would then have more places than there are pairs of a node and a column, so z is computed for each
pair.

**Roundings of z.** SLIP counts all roundings of z except the following. One is the rounding of ``mu^2/2`` in the
exponent. Where kappa has a factor, a quotient of whole numbers, there are two more: the quotient is rounded once, and
its product with the rest of kappa is rounded once. The error bounds of ``kappa`` and of all functions of z include
these three, too.

**Errors** are bounded for chunks of neighbouring nodes, whose kappa differ by a small factor. Each bound is evaluated
at the end of the chunk where it is larger: as ``|kappa|`` grows, sums of moduli (k >= 2) decrease, and terms of first
order in kappa increase.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from hockeystick.numerics.arrays import CHUNK
from hockeystick.numerics.exponential_sum import BLOCK
from hockeystick.numerics.logarithm import log_one_plus
from hockeystick.numerics.rounding import UNIT_ROUNDOFF, shortened
from hockeystick.pairs.moment import MOST_EXPONENT

Array = npt.NDArray[np.float64]
ComplexArray = npt.NDArray[np.complex128]
Function = Callable[[Array, float], ComplexArray]  # of |z| and its argument

WIDEST_SHIFT = 1.5  # largest shift c of the integration line
STRIP = 0.75  # half-width a of the strip, relative to the widest strip
DEPTH = 48.0  # minus the log of the allowed remainder of the trapezoid rule in x
DIGITS = 14  # binary digits of a step
REACH = 10.0  # distance from 0, in standard deviations of X, to which the nodes extend on either side
MILD = 0.5  # largest |kappa| for which e_0 and e_1 are computed from their remainders
SLIP = 8.0  # relative error of z in units: two exponentials, two factors, a cosine and its argument
OF_FACTOR = 4.0  # additional units where kappa has a factor: the factor and the product are rounded

GONE = 80.0  # exponent x above which e^-x is replaced by 0, with a charge


class Coefficients(NamedTuple):
    """Values of ``e_0, ..., e_n`` at V nodes, with bounds on their errors.

    Attributes:
        log_first: shape (V,), ``log e_0``.
        log_error: shape (V,), bounds on the errors of ``log_first``.
        rest: shape (n, V), ``e_1, ..., e_n``.
        error: shape (n, V), bounds on the errors of ``rest``.
    """

    log_first: ComplexArray
    log_error: Array
    rest: ComplexArray
    error: Array


def short(step: float) -> float:
    """Return ``step`` cut to its first DIGITS binary digits, so that its multiples are exact."""
    return shortened(step, DIGITS)


def _strip(mu: float, angle: float) -> tuple[float, float, float, float]:
    """Return the shift c of the integration line, the angle beta on it, the strip's half-width, and the widest dx."""
    c = min(angle / mu, WIDEST_SHIFT)
    beta = max(angle - c * mu, 0.0)
    a = min(STRIP * (0.5 * math.pi - beta) / mu, math.sqrt(2 * DEPTH))
    return c, beta, a, short(2 * math.pi * a / (DEPTH + 0.5 * (c + a) ** 2))


def columns(mu: float, n: int, angle: float) -> int:
    """Return the approximate number of nodes in x for the sums on one ray."""
    return math.ceil((2 * REACH + max(n, 1) * mu) / _strip(mu, angle)[3]) + 1


def matched(mu: float, angle: float, dv: float) -> float:
    """Return a step of v, at most ``dv``, that is a whole multiple of an allowed step of ``mu x``."""
    widest = mu * _strip(mu, angle)[3]
    parts = math.ceil(dv / widest)
    return parts * short(dv / parts)


def _parts(dv: float, widest: float) -> int:
    """Return the number of equal parts, of few binary digits and at most ``widest``, into which the step dv is cut."""
    parts = max(math.ceil(dv / widest), 1)
    while parts > 1 and parts * short(dv / parts) != dv:
        parts += 1
    return parts


class Columns:
    """The nodes in x, and their weights, for all integrals on one ray.

    Args:
        mu: distance of the two laws of a step, in standard deviations.
        n: highest power of Y.
        angle: phi, the argument of the ray, in [0, pi/2).
        dv: step of the nodes in v, made by :func:`matched`; ``None`` if the nodes in v are not equidistant.
    """

    def __init__(self, mu: float, n: int, angle: float, dv: float | None = None) -> None:
        self._mu, self._n, self._angle = mu, n, angle
        self._c, self._beta, self._a, widest = _strip(mu, angle)
        self._lift = 0.5 * (self._c + self._a) ** 2
        self._node, self._column = 0, 1  # steps of the lattice, of a node and of a column
        step = mu * widest
        if dv is not None and dv <= columns(mu, n, angle) * step:
            self._node, self._column = _parts(dv, step), max(math.floor(step / dv), 1)
            step = self._column * (dv / self._node)
        self._step = step
        dx = self._dx = step / mu
        first = math.floor(-REACH / dx)
        self._places = step * np.arange(first, first + columns(mu, n, angle) * widest / dx + 1, dtype=np.float64)
        self._weigh()

    def _weigh(self) -> None:
        """Compute the weight of each node in x, ``Y^k / k!`` times the density times dx, and its relative error."""
        mu, n, c = self._mu, self._n, self._c
        x = self._x = self._places / mu
        self._y = np.exp(self._places) * math.exp(-0.5 * mu * mu)
        k = np.arange(n + 1, dtype=np.float64)
        sizes = np.empty((n + 1, len(x)))
        sizes[0] = np.exp(-0.5 * np.square(x) + 0.5 * c * c) * (self._dx / math.sqrt(2 * math.pi))
        sizes[1:] = np.multiply.outer(1 / np.maximum(k[1:], 1.0), self._y)
        self._sizes = np.cumprod(sizes, axis=0)
        # six roundings of x, four of them of mu, in its square and in the phase; those of Y, with mu^2/2, k times
        self._care = UNIT_ROUNDOFF * (16 + 7 * np.square(x) + 8 * c * np.abs(x) + c * c)
        self._care_of_power = UNIT_ROUNDOFF * (6 + 8 * mu * mu + 8 * c * mu)
        blocks = -(-len(x) // BLOCK)
        turned = np.zeros((n + 1, blocks * BLOCK), dtype=np.complex128)
        turned[:, : len(x)] = self._sizes * np.exp(1j * (c * x)) * np.exp((-1j * c * mu) * k)[:, None]
        self._weights = np.ascontiguousarray(turned.reshape(n + 1, blocks, BLOCK).transpose(1, 0, 2))
        self._summing = UNIT_ROUNDOFF * (1.5 * (BLOCK + 2) + 12 + blocks)

    def at(self, v: Array, ratio: float, factor: float = 1.0) -> Coefficients:
        """Return the coefficients at ``kappa = factor e^(v + i phi)``.

        Args:
            v: the nodes, increasing and taken as exact; equidistant if the class was given their step.
            ratio: logarithm of the largest ratio of two kappa in a chunk of nodes that share an error bound.
            factor: 1, or a factor with an error of one rounding.
        """
        n = self._n
        mild = int(np.searchsorted(v, math.log(MILD / factor) - 1e-12))
        out = Coefficients(
            np.empty(len(v), dtype=np.complex128), np.empty(len(v)),
            np.empty((n, len(v)), dtype=np.complex128), np.empty((n, len(v))),
        )  # fmt: skip
        if mild:
            part = slice(0, mild)
            self._put_mild(out, part, v[part], ratio, factor)
        if mild < len(v):
            part = slice(mild, len(v))
            sums, errors = self._sums(v[part], factor, exponential, 0, n + 1), self._errors(v[part], ratio, factor)
            size = np.abs(sums[0])
            known = size > 2 * errors[0]
            with np.errstate(divide="ignore"):
                log = np.where(known, np.log(np.where(known, sums[0], 1.0)), np.log(2 * errors[0]) + 0j)
            error = np.where(known, errors[0] / np.maximum(size - errors[0], 1e-300), 2.0)
            out.log_first[part], out.log_error[part] = log, error + 8 * UNIT_ROUNDOFF * np.abs(log)
            out.rest[:, part], out.error[:, part] = sums[1:], errors[1:]
        return out

    def _put_mild(self, out: Coefficients, part: slice, v: Array, ratio: float, factor: float) -> None:
        kappa, first = factor * np.exp(v), min(self._n, 1) + 1
        moved, errors = self._sums(v, factor, beyond_one, 0, first), self._low_errors(v, ratio, factor)
        log_size, angle, size = log_one_plus(moved[0])
        more = 0.0 if factor == 1.0 else OF_FACTOR
        own = errors[0] + UNIT_ROUNDOFF * ((8 + more) * kappa + 3 * np.abs(moved[0]))
        out.log_first[part] = log_size + 1j * angle
        out.log_error[part] = own / np.maximum(size - own, 1e-300)
        out.log_error[part] += 5 * UNIT_ROUNDOFF * np.abs(moved[0]) / np.square(np.minimum(size, 1.0))
        if self._n:
            out.rest[0, part] = 1 + moved[1]
            out.error[0, part] = errors[1] + 2 * UNIT_ROUNDOFF * np.abs(out.rest[0, part])
        if self._n > 1:
            out.rest[1:, part] = self._sums(v, factor, exponential, 2, self._n + 1)
            out.error[1:, part] = self._errors(v, ratio, factor)[2:]

    def _sums(self, v: Array, factor: float, function: Function, low: int, high: int) -> ComplexArray:
        """Return ``sum_j w_jk f(z)`` for low <= k < high, shape (high - low, V).

        The sum is over the nodes j in x, with their weights ``w_jk``.
        """
        weights = self._weights[:, low:high]
        blocks, rows = len(weights), len(weights) * BLOCK
        scale = factor * math.exp(-0.5 * self._mu * self._mu)
        lattice = self._lattice(v, scale, function, rows)
        out = np.empty((high - low, len(v)), dtype=np.complex128)
        many = max(1, CHUNK // rows)
        for at in range(0, len(v), many):
            part = slice(at, min(at + many, len(v)))
            if lattice is None:
                padded = self._places[0] + self._step * np.arange(rows, dtype=np.float64)
                padded[: len(self._places)] = self._places
                z = np.exp(np.minimum(np.add.outer(padded, v[part]), MOST_EXPONENT)) * scale
                values = function(z.ravel(), self._beta)
            else:
                values = np.ascontiguousarray(lattice[:, part])
            out[:, part] = np.matmul(weights, values.reshape(blocks, BLOCK, -1)).sum(axis=0)
        return out

    def _lattice(self, v: Array, scale: float, function: Function, rows: int) -> ComplexArray | None:
        """Return the values of ``function`` with a row for each node in x and a column for each node in v.

        Equal values share their memory. The result is ``None`` if there is no lattice.
        """
        if not self._node:
            return None
        count = (len(v) - 1) * self._node + (rows - 1) * self._column + 1
        u = v[0] + self._places[0] + self._step / self._column * np.arange(count, dtype=np.float64)
        values = function(np.exp(np.minimum(u, MOST_EXPONENT)) * scale, self._beta)
        strides = (self._column * values.itemsize, self._node * values.itemsize)
        return np.lib.stride_tricks.as_strided(values, (rows, len(v)), strides, writeable=False)

    def _chunks(self, v: Array, ratio: float, factor: float) -> tuple[npt.NDArray[np.intp], Array, Array]:
        """Return the number of each node's chunk, and the least and the largest ``|kappa|`` of each chunk."""
        chunk = np.floor((v - v[0]) / ratio).astype(np.intp)
        present, chunk = np.unique(chunk, return_inverse=True)
        starts = np.searchsorted(chunk, np.arange(len(present)))
        ends = np.append(starts[1:], len(v)) - 1
        low, high = factor * np.exp(v[starts]) * (1 - 1e-12), factor * np.exp(v[ends]) * (1 + 1e-12)
        return chunk, low, high

    def _slip(self, factor: float) -> float:
        """Bound on the relative error of z."""
        more = 0.0 if factor == 1.0 else OF_FACTOR
        return UNIT_ROUNDOFF * (SLIP + 0.5 * self._mu * self._mu + more)

    def _errors(self, v: Array, ratio: float, factor: float) -> Array:
        """Bounds on the errors of coefficients ``e_k`` that are computed by direct sums, shape (n + 1, V)."""
        chunk, low, high = self._chunks(v, ratio, factor)
        k = np.arange(self._n + 1, dtype=np.float64)[:, None]
        q = np.multiply.outer(self._y, high)
        fall = np.multiply.outer(self._y, low * math.cos(self._beta))
        modulus = np.exp(-np.minimum(fall, MOST_EXPONENT))
        care = (self._care + self._summing + 4 * UNIT_ROUNDOFF)[:, None] + self._slip(factor) * q
        left_out = np.where(fall * (high / low) > GONE, np.minimum(modulus, 2 * math.exp(-GONE)), 0.0)
        rounding = self._sizes @ (modulus * care + left_out)
        rounding += self._care_of_power * k * (self._sizes @ modulus)
        errors: Array = rounding + self._trapezoid(low) + self._ends(low)
        return errors[:, chunk]

    def _trapezoid(self, low: Array) -> Array:
        """Bounds on the trapezoid rule's remainder, shape (n + 1, chunks); ``low`` is each chunk's least kappa."""
        n, half = self._n, 0.5 * self._mu * self._mu
        k = np.arange(n + 1, dtype=np.float64)
        p = np.arange(0, 2 * n + 6, dtype=np.float64)
        log_rho = np.log(low * max(math.cos(self._beta + self._a * self._mu), 1e-9))
        rest = k[:, None] - p
        powers = p * (np.log(np.maximum(p, 1.0)) - 1)
        least = powers[:, None] - p[:, None] * log_rho  # (p, chunks)
        log_d = ((rest * (rest - 1) * half)[:, :, None] + least).min(axis=1) - log_factorials(n)[:, None]
        arc = 2 * math.pi * self._a / self._dx
        step: Array = 2 * np.exp(np.minimum(log_d + self._lift - arc, MOST_EXPONENT)) / -math.expm1(-arc) * (1 + 1e-9)
        return step

    def _ends(self, low: Array) -> Array:
        """Bounds on the parts of the sums beyond the first and the last node in x, shape (n + 1, chunks).

        Each part is a normal tail, at most ``dx + 1/x`` times the density at the node x where it begins.
        """
        mu, x = self._mu, self._x
        k = np.arange(self._n + 1, dtype=np.float64)[:, None]
        first, last = float(x[0]), float(x[-1])
        scale = -log_factorials(self._n)[:, None] + 0.5 * self._c**2 - 0.9189
        below = scale + k * (mu * first - 0.5 * mu * mu) - 0.5 * first**2
        beyond = last - k * mu
        above = scale + 0.5 * k * (k - 1) * mu * mu - 0.5 * np.square(beyond)
        above = above - np.minimum(low * (float(self._y[-1]) * math.cos(self._beta)), 1e6)
        tails: Array = np.exp(np.minimum(below, MOST_EXPONENT)) * (self._dx - 1 / first)
        tails = tails + np.exp(np.minimum(above, MOST_EXPONENT)) * (self._dx + 1 / beyond)
        return tails * (1 + 1e-9)

    def _low_errors(self, v: Array, ratio: float, factor: float) -> Array:
        """Bounds on the errors of ``E (e^-z - 1)`` and, if n > 0, of ``E Y (e^-z - 1)``; one row for each."""
        chunk, _, high = self._chunks(v, ratio, factor)
        mu, dx, slip = self._mu, self._dx, self._slip(factor)
        q = np.multiply.outer(self._y, high)
        care = np.minimum(q, 2.0) * (self._care + self._summing)[:, None] + (8 * UNIT_ROUNDOFF + 2 * slip) * q
        arc = 2 * math.pi * self._a / dx
        step = 2 * math.exp(self._lift - arc) / -math.expm1(-arc)
        lift = 0.4 * math.exp(0.5 * self._c**2)
        out = []
        for k in range(min(self._n, 1) + 1):
            first, last = k * mu - float(self._x[0]), float(self._x[-1]) - k * mu
            below, beyond = (lift * math.exp(-0.5 * end**2) * (dx + 1 / end) for end in (first, last))
            rounding = self._sizes[k] @ (care + k * self._care_of_power * np.minimum(q, 2.0))
            out.append(rounding + 2 * (step + beyond) + below * np.minimum(2.0, float(self._y[0]) * high))
        return np.array(out)[:, chunk] * (1 + 1e-9)


def log_factorials(n: int) -> Array:
    """Return ``log k!`` for k = 0, ..., n."""
    return np.array([math.lgamma(i + 1) for i in range(n + 1)])


def exponential(q: Array, beta: float) -> ComplexArray:
    """Return ``e^-z`` at ``z = q e^(i beta)``, and 0 where its modulus is less than ``e^-GONE``."""
    fall = q * math.cos(beta)
    here = fall <= GONE
    turned = np.where(here, q * math.sin(beta), 0.0)
    out = np.empty(len(q), dtype=np.complex128)
    size = np.where(here, np.exp(-np.minimum(fall, GONE)), 0.0)
    out.real, out.imag = size * np.cos(turned), -size * np.sin(turned)
    return out


def beyond_one(q: Array, beta: float) -> ComplexArray:
    """Return ``e^-z - 1`` for ``z = a + ib``, computed as ``expm1(-a) cos b - 2 sin^2(b/2) - i e^-a sin b``."""
    fall, turned = np.minimum(q * math.cos(beta), GONE), q * math.sin(beta)
    turned = np.where(fall < GONE, turned, 0.0)
    out: ComplexArray = np.empty(len(q), dtype=np.complex128)
    out.real = np.expm1(-fall) * np.cos(turned) - 2 * np.square(np.sin(0.5 * turned))
    out.imag = -np.exp(-fall) * np.sin(turned)
    return out
