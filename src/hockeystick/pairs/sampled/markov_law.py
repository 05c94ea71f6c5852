"""Moments of the likelihood ratio of balls in bins: a record keeps one of b bins, and the strategy is Markov.

The strategy is the matrix ``C_ij = lambda^(i-j)`` for ``i >= j``, with ``0 < lambda < 1`` and n = b E steps. The record
is in the same bin i in each of E epochs. Let Z be standard normal, s the standard deviation of the noise, ``m_i`` the
sum of the columns of C at the steps of bin i, ``y_i = <m_i, Z>`` and ``mu = sqrt(E) / s``. Then the likelihood ratio
(``balls_in_bins.py``) is a mean of lognormal variables,

    Lambda = (1/b) sum_i Y_i ,     Y_i = exp(mu x_i - mu^2 g_i / 2) ,     x_i = y_i / sqrt(E) ,   g_i = Var x_i .

**Chain.** With ``z = C^T Z``, ``y_i = z_i + z_(i+b) + ..``. As ``z_t = Z_t + lambda z_(t+1)``, with 0 after the last
step,

    x_i = w_i + lambda x_(i+1) ,   i = b-1, ..., 0 ,     sqrt(E) x_b = z_b + z_2b + .. ,

with independent standard normal w. As ``E[x_b w_j] = lambda^j k`` with ``E k = sum_(f=0)^(E-2) (E-1-f) lambda^(bf)``,
and ``sum_j lambda^j w_j = x_0 - lambda^b x_b``, the last variable, given w, is

    x_b = k (x_0 - lambda^b x_b) + t N(0, 1) ,    t^2 = Var x_b - k^2 sum_(j<b) lambda^(2j) .

(With one epoch, ``x_b`` is 0.) So ``(x_0, ..., x_b)`` is normal with density ``exp(-x Q x / 2)``, up to its constant,
where ``x Q x`` is the sum of the squares of the independent standard normal variables above. The variables form a ring,
in which each depends on its neighbour; with one epoch the ring is cut. A *stationary* chain begins with the variance to
which it converges; its pair dominates those of other strategies (``balls_in_bins.py``).

**Transform.** ``F(r) = E e^(-r Lambda)`` is the integral over all ``x_i`` of that density times
``prod_i e^(-r Y_i / b)``. The integrand is entire in all ``x_i``. The integral is taken by the trapezoid rule in all
``x_i`` at once, on the path ``x_i - i theta``, on which ``r Y_i`` has the argument ``beta = phi - theta mu``. The sum
is a product of b matrices for each node of ``x_b``. The transform gives moments with negative exponents alpha. Positive
exponents would need powers of Lambda, at ten times the cost or more. Therefore engines answer the direction remove from
the direction add (``engines/mirrored.py``).

**Errors** are all relative. If a sum is off by ``e F(|r| cos beta')``, then its integral with ``r^(w-1)`` over a ray, W
= Re w = -alpha, is off by at most

    e int |r|^(W-1) F(|r| cos beta') d|r| = e Gamma(W) cos(beta')^-W A(alpha) .

- *Path.* On the path, the modulus of the density is larger by a factor of ``e^(theta^2 1Q1 / 2)``, where 1Q1 is the sum
  of all entries of Q.
- *Trapezoid rule.* By Poisson's formula the sum is the integral plus Fourier coefficients at ``2 pi k / h``, for all
  vectors k of whole numbers except 0. To bound a coefficient, let those ``x_i`` with ``k_i != 0`` move on by a, against
  the sign of k. Arguments stay below ``beta' = beta + a mu < pi/2``. Each ``x_i`` that moves multiplies the bound by at
  most ``e^q``, ``q = a theta max |Q 1| + a^2 max_i sum_j |Q_ij| / 2``, and by ``e^(-2 pi a |k_i| / h)``. So for m
  variables ``e = (1 + 2 e^q / (e^(2 pi a / h) - 1))^m - 1``. A sum of moduli equals the integral of the modulus up to
  the same relative error e.
- *Range.* By ``1(x > X) <= e^(p (x - X))``, the part of one ``x_i`` beyond X that is left out is at most the tail of a
  shifted normal law (:meth:`MarkovLaw.reach`).
- *Rounding* of matrices, weights and sums is relative to each term, except where a term underflows. The rounding of the
  exponent ``r Y_i`` adds an error proportional to ``|r Y_i|``. With ``|r| Lambda`` as a factor, the integral is
  ``int |r| E Lambda e^(-|r| cos(beta) Lambda) |r|^(W-1) d|r|``, which is ``W / cos beta`` times the integral without
  this factor.

**Moments.** For p >= 0, an arithmetic mean is at least the geometric mean, and ``Lambda^-p <= (1/b) sum_i Y_i^-p``.
Hence, with g the largest variance,

    E Lambda^-p <= exp(p mu^2 g / 2 + p^2 mu^2 Var((1/b) sum_i x_i) / 2) ,     <= exp(p (1 + p) mu^2 g / 2) .

For alpha >= 1 the moments are at most those of equal correlations (:func:`told_apart`). Along a vertical line
``|A(alpha + is)| <= A(alpha) e^(-(mu s)^2 / (2 1Q1))``, by moving all ``x_i`` by ``i mu s / 1Q1``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from hockeystick.numerics.arrays import CHUNK
from hockeystick.numerics.rounding import UNIT_ROUNDOFF
from hockeystick.pairs.moment import MOST_EXPONENT
from hockeystick.pairs.sampled.allocation_columns import short
from hockeystick.pairs.sampled.allocation_law import AllocationLaw
from hockeystick.pairs.sampled.allocation_series import Ray, Rows

Array = npt.NDArray[np.float64]
ComplexArray = npt.NDArray[np.complex128]

SPARE = 1e-6  # relative amount that covers the roundings of bounds on remainders
DEPTH = 36.0  # minus the log of the allowed remainders of the trapezoid rule and of the range
LIFTS = (0.0, 0.5, 1.0, 2.0, 3.0, 4.0, 6.0, 8.0)  # values of ``theta^2 1Q1 / 2`` that are tried
PRICE, PRICE_OF_RING = 0.15, 0.03  # least gain in log(step) per unit of lift, without a ring and with one
STRIP = 0.8  # half-width a of the strip, relative to the widest strip
PRECISION = 60  # number of decimal digits of the variances
KEPT = 32  # number of cached rays
OF_PRODUCT, OF_ENTRY = 0.006, 2.0  # cost of a product in a matrix, and of an entry, in elementary functions
FINER = float(np.finfo(np.longdouble).eps)  # rounding unit of a matrix before it is rounded to doubles
LARGEST = MOST_EXPONENT / 2  # largest exponent: a double holds the product of two such exponentials
GONE, LEAST_COSINE = 1e9, 1e-6  # cap on ``|r Y|``, and least ``cos(beta)``: at the cap ``e^(-r Y)`` is negligible
NIL = 1e-300  # bound on the absolute error of a number that underflows
MOST_PLACES = 4000  # largest number of nodes of an x_i, for which a matrix fits in memory
NOTHING = 30.0  # exponent x above which 1 is negligible relative to e^x


class Ring(NamedTuple):
    """Coefficients of ``x_b = k (x_0 - lambda^b x_b) + t N(0, 1)``, by which the last variable depends on the first.

    Attributes:
        share: k.
        variance: variance of ``x_b``.
        spread: t.
        left: ``lambda^b``.
    """

    share: float
    variance: float
    spread: float
    left: float


class Mesh(NamedTuple):
    """Integration nodes for all ``x_i`` on a ray, and the errors of the sums over them.

    Attributes:
        theta: distance of the path below the real axis.
        beta: argument of ``r Y_i`` on the path.
        step: h, the step of the nodes.
        places: nodes of each ``x_i``, i < b.
        ends: nodes of ``x_b``; the single node 0 if there is one epoch.
        rule: remainder of the trapezoid rule, relative to the integral.
        most: bound on the sum of the moduli of all terms, relative to the integral.
    """

    theta: float
    beta: float
    step: float
    places: Array
    ends: Array
    rule: float
    most: float


@dataclass(frozen=True)
class MarkovLaw:
    """The likelihood ratio of one run in which each record keeps its bin, for a Markov strategy.

    Args:
        mu: ``sqrt(E)`` divided by the standard deviation of the noise; all bounds cover an error of a few roundings.
        rate: lambda, 0 < lambda < 1.
        bins: b, the number of bins.
        epochs: E, the number of epochs.
        stationary: True if ``x_(b-1)`` has variance ``1 / (1 - lambda^2)``, the limit of a long chain; then E is 1.

    Attributes:
        constant: probability of being in no bin, which is 0.
        highest: order of the highest integer moment used for moments along a vertical line.
        patience: additional units of work that an engine may spend on a question about the run.
    """

    mu: float
    rate: float
    bins: int
    epochs: int
    stationary: bool = False

    constant: ClassVar[Fraction] = Fraction(0)
    highest: ClassVar[int] = 0
    patience: ClassVar[float] = 100e9

    @cached_property
    def _exact(self) -> tuple[Ring, Array]:
        """The coefficients of the ring, and the variances ``g_0, ..., g_(b-1)``; each number is rounded once."""
        b, epochs = self.bins, self.epochs
        with localcontext() as context:
            context.prec = PRECISION
            rate = Decimal(self.rate)
            rest, left = 1 - rate * rate, rate**b
            share = sum(((epochs - 1 - f) * left**f for f in range(epochs - 1)), Decimal(0)) / epochs
            # Var x_b = (1/E) sum of Cov(z_eb, z_fb) = lambda^(b |e - f|) (1 - lambda^(2 b (E - max))) / (1 - lambda^2)
            variance = sum(
                (left ** abs(e - f) * (1 - left ** (2 * (epochs - max(e, f)))) / rest
                 for e in range(1, epochs) for f in range(1, epochs)), Decimal(0),
            ) / epochs  # fmt: skip
            spread = (variance - share**2 * (1 - left**2) / rest).sqrt()
            own, after = [], Decimal(not self.stationary)  # lambda^(2 (b - i)), from i = b - 1 on
            for _ in range(b):
                after *= rate * rate
                own.append(float((1 + 2 * share * left) * (1 - after) / rest + after * variance))
            return Ring(float(share), float(variance), float(spread), float(left)), np.array(own[::-1])

    @property
    def _last(self) -> Any:
        """The factor that gives ``x_(b-1)`` the variance 1, if there is one epoch and the chain starts there."""
        rate = np.longdouble(self.rate)
        return np.sqrt((1 - rate) * (1 + rate)) if self.stationary else np.longdouble(1)

    @cached_property
    def _form(self) -> tuple[Array, Array]:
        """The matrix Q of the normal density and its inverse, the covariances, to a relative error of SPARE."""
        b, (ring, _) = self.bins, self._exact
        factor = np.eye(b + 1) - self.rate * np.eye(b + 1, k=1)
        if self.epochs == 1:
            factor = factor[:b, :b]
            factor[-1, -1] = self._last
        else:
            factor[b] = 0.0
            factor[b, [0, b]] = -ring.share / ring.spread, (1 + ring.share * ring.left) / ring.spread
        root = np.linalg.inv(factor)
        return factor.T @ factor, root @ root.T

    @cached_property
    def _bounds(self) -> tuple[float, float, float]:
        """Upper bounds on ``1Q1`` (the sum of all entries of Q), ``max |Q 1|``, and the largest row sum of ``|Q|``."""
        form, sums = self._form[0], self._form[0].sum(axis=1)
        found = float(sums.sum()), float(np.abs(sums).max()), float(np.abs(form).sum(axis=1).max())
        return found[0] * (1 + SPARE), found[1] * (1 + SPARE) + SPARE, found[2] * (1 + SPARE)

    @cached_property
    def _spreads(self) -> tuple[float, float, float]:
        """Upper bounds on three numbers that describe the covariances.

        They are the largest variance of an ``x_i``, the variance of the mean of all ``x_i`` with i < b, and the largest
        covariance of an ``x_i`` with that mean.
        """
        covariance, b = self._form[1], self.bins
        beside = covariance[:, :b].sum(axis=1) / b
        found = float(covariance.diagonal().max()), float(beside[:b].mean()), float(beside.max())
        return found[0] * (1 + SPARE), found[1] * (1 + SPARE), found[2] * (1 + SPARE)

    @cached_property
    def wider(self) -> tuple[float, AllocationLaw]:
        """The distance of a Gaussian round and the law of an epoch; the product of their pairs dominates this pair."""
        covariance = self.mu**2 * self._form[1][: self.bins, : self.bins] * (1 + SPARE)
        own = 2 * self.rho
        _, many, shared = told_apart(own, np.array([covariance.diagonal(d).max() for d in range(self.bins)]))
        epoch = AllocationLaw(math.sqrt(own - shared) + SPARE, Fraction(0), ((Fraction(1, many), many),))
        return math.sqrt(shared * (1 + SPARE)), epoch

    @property
    def log_unit(self) -> Decimal:
        """Logarithm of ``1 / w``, where ``w = 1 / b`` is the probability of a bin."""
        return Decimal(self.bins).ln()

    @property
    def decay(self) -> float:
        """The rate ``mu^2 / 1Q1``: the moments decay along a vertical line like ``e^(-decay s^2 / 2)``."""
        return self.mu**2 / self._bounds[0]

    @property
    def rho(self) -> float:
        """A rho of zero-concentrated privacy: the rho for the bin with the largest variance."""
        return 0.5 * self.mu**2 * float(self._exact[1].max()) * (1 + SPARE)

    @property
    def variance(self) -> float:
        """The variance of Lambda under Q, the mean of ``e^(mu^2 Cov(x_i, x_j)) - 1`` over all i and j."""
        b = self.bins
        return float(np.expm1(np.minimum(self.mu**2 * self._form[1][:b, :b], LARGEST)).mean())

    @property
    def like(self) -> AllocationLaw:
        """An epoch of random allocation with about the same variance of Lambda, which guides searches.

        In each step of the epoch, P and Q are as far apart as in the bin with the largest variance.
        """
        mu = math.sqrt(2 * self.rho)
        steps = max(round(math.expm1(min(mu * mu, LARGEST)) / self.variance), 1)
        return AllocationLaw(mu, Fraction(0), ((Fraction(1, steps), steps),))

    def has_lines(self, add: bool) -> bool:
        """Return ``add``: lines exist for negative exponents only, which belong to adding a record."""
        return add

    def log_power_above(self, alpha: float) -> float:
        """Upper bound on ``log A(alpha)`` from one bin or, if it is less and alpha < 0, from the geometric mean."""
        if 0 <= alpha <= 1:
            return 0.0
        found = alpha * (alpha - 1) * self.rho
        return (min(found, self._log_geometric(-alpha)) if alpha < 0 else found) * (1 + SPARE)

    def _log_geometric(self, p: float) -> float:
        """Upper bound on ``log A(-p)`` by the geometric mean of the Y_i: ``p mu^2 g / 2 + p^2 mu^2 Var(mean) / 2``."""
        return p * self.rho + 0.5 * (p * self.mu) ** 2 * self._spreads[1]

    def log_whole(self, n: int) -> float:
        """Return 0, the logarithm of ``A(0)``; lines of this law use no other integer moment."""
        assert n == 0
        return 0.0

    def log_moment_above(self, alpha: float) -> tuple[float, float]:
        """Upper bound on ``log A(alpha)`` for alpha >= 1, and infinity.

        The bound is that of equal correlations. Its excess over ``log A(alpha)`` is unknown and returned as infinity.
        """
        mu, epoch = self.wider
        return 0.5 * mu * mu * alpha * (alpha - 1) * (1 + SPARE) + epoch.log_moment_above(alpha)[0], math.inf

    def log_above(self, alpha: float) -> float:
        """Return an upper bound on ``log A(alpha)`` for any real alpha."""
        return self.log_moment_above(alpha)[0] if alpha >= 1 else self.log_power_above(alpha)

    def reach(self, alpha: float) -> tuple[float, float]:
        """Return X_1 and X_2 such that values of an ``x_k`` below ``-X_1`` or above ``X_2`` are negligible.

        These values contribute less than ``e^-DEPTH`` to ``A(alpha) >= 1``. With p = -alpha > 0, c the largest
        covariance of an ``x_k`` with the mean of all, and g the largest variance,

            E Lambda^-p 1(x_k < -X) <= exp(p mu^2 g / 2 + p^2 mu^2 Var(mean) / 2 - (X - p mu c)^2 / (2 g)) ,

        as ``1(x < -X) <= e^(-q (x + X))`` with ``q = (X - p mu c) / g``. The bound for ``x_k > X`` is the same without
        ``p mu c``.
        """
        widest, _, beside = self._spreads
        tail = math.sqrt(2 * widest * (DEPTH + self._log_geometric(-alpha)))
        return tail - alpha * self.mu * beside, tail

    def mesh(self, alpha: float, angle: float) -> Mesh:
        """Return the integration nodes for a ray, on the best of several paths.

        A path farther below the real axis allows a longer step, but multiplies the rounding error.
        """
        total, tilt, row = self._bounds
        ring, found = self.epochs > 1, []
        count, price = self.bins + ring, PRICE_OF_RING if ring else PRICE
        for lift in LIFTS:
            theta = min(math.sqrt(2 * lift / total), angle / self.mu)
            beta = angle - theta * self.mu
            log_lift = 0.5 * theta * theta * total
            a = min(STRIP * (0.5 * math.pi - beta) / self.mu, math.sqrt(2 * (DEPTH + log_lift) / row))
            log_cost = log_lift + alpha * math.log(math.cos(beta + a * self.mu))
            each = a * theta * tilt + 0.5 * a * a * row
            step = 2 * math.pi * a / (DEPTH + log_cost + each + math.log(2 * count))
            found.append((math.log(step) - price * log_lift, step, a, theta, beta, log_lift, log_cost, each))
        _, step, a, theta, beta, log_lift, log_cost, each = max(found)
        step = short(step)
        low, high = self.reach(alpha)
        places = step * np.arange(-math.ceil(low / step), math.ceil(high / step) + 1, dtype=np.float64)
        missed = 2 * math.exp(each) / math.expm1(2 * math.pi * a / step)
        rule = math.exp(log_cost) * math.expm1(count * math.log1p(missed))
        ends = np.zeros(1) if self.epochs == 1 else places
        return Mesh(theta, beta, step, places, ends, rule, math.exp(log_lift) * math.cos(beta) ** alpha + rule)

    def matched(self, angle: float, step: float) -> float:
        """Return ``step`` cut to its first binary digits, so that its multiples are exact, whatever the angle."""
        return short(step)

    def of_band(self, alpha: float, n: int, angle: float, nodes: int) -> float:
        """Return the cost of all matrix products of a band, in evaluations of elementary functions.

        The cost is infinite if the matrix would be too large.
        """
        mesh = self.mesh(alpha, angle)
        if len(mesh.places) > MOST_PLACES or math.cos(mesh.beta) < LEAST_COSINE:
            return math.inf
        each = OF_PRODUCT * (1.0 if mesh.theta else 0.5 if mesh.beta else 0.25)  # complex numbers, or real ones
        return nodes * self.bins * len(mesh.places) * (len(mesh.places) * len(mesh.ends) * each + OF_ENTRY)

    def on_rays(self, alpha: float, rays: Sequence[Ray]) -> list[Rows]:
        """Return ``F(r)`` at ``r = b e^(v + i phi)`` on rays, with errors relative to ``A(alpha)``."""
        return [_kept(self, alpha, angle, v.tobytes()) for angle, _, v in rays]

    def _on_ray(self, alpha: float, angle: float, v: Array) -> Rows:
        """Return F at increasing nodes v on one ray; see :meth:`on_rays`."""
        mesh, ring, rate = self.mesh(alpha, angle), self._exact[0], np.longdouble(self.rate)
        x, ends = (np.asarray(each, dtype=np.longdouble) for each in (mesh.places, mesh.ends))
        # w_i = x_i - lambda x_(i+1), a row for each x_(i+1)
        chain, chain_care = _normal(np.subtract.outer(-rate * x, -x), (1 - rate) * mesh.theta, mesh.step)
        if self.epochs == 1:  # w_(b-1) = x_(b-1) or a multiple of it, and no ring
            last, care = _normal(self._last * x[None, :], self._last * mesh.theta, self._last * mesh.step)
            closed = np.ones((len(x), 1), dtype=np.complex128)
        else:
            last = _normal(np.subtract.outer(-rate * ends, -x), (1 - rate) * mesh.theta, mesh.step)[0]
            # x_b given x_0: (x_b (1 + k lambda^b) - k x_0) / t
            other = np.longdouble(ring.share) / ring.spread
            own = (1 + np.longdouble(ring.share) * ring.left) / ring.spread
            away = np.subtract.outer(-other * x, -own * ends)
            closed, care = _normal(away, (own - other) * mesh.theta, mesh.step / ring.spread)
        values = np.empty(len(v), dtype=np.complex128)
        many = max(CHUNK // (len(x) * len(ends)), 1)
        for at in range(0, len(v), many):
            part = slice(at, min(at + many, len(v)))
            values[part] = self._chained(mesh, v[part], chain, closed, last)
        # errors of r Y: its exponent, to ULPS, with the variance and mu itself; of each of b products; of the ends
        of_exponent = 12 * (self.mu * float(np.abs(mesh.places).max()) + 6 * self.rho) + 24
        of_sums = self.bins * (3 * (len(x) + 8) + chain_care + 12) + 3 * (len(ends) + len(x)) + chain_care + care
        units = of_sums - of_exponent * alpha / math.cos(mesh.beta)
        beyond = 4 * (self.bins + 1) * math.exp(-DEPTH)
        share = mesh.rule + mesh.most * (beyond + 2 * UNIT_ROUNDOFF * units) if v[-1] <= LARGEST else math.inf
        size = np.maximum(np.abs(values), NIL)
        lost = (self.bins + 1) * len(x) * NIL / size  # underflow in each of b products
        return Rows(values / size, np.log(size), lost, 0.0, share * (1 + SPARE))

    def _chained(self, mesh: Mesh, v: Array, chain: Any, closed: Any, last: Any) -> ComplexArray:
        """Return F at some nodes v, by integrating over one ``x_i`` after the other, beginning with ``x_0``."""
        x, before = mesh.places, math.nan
        size = np.exp(np.minimum(v, LARGEST))
        turned: Any = np.exp(1j * mesh.beta) if mesh.beta else 1.0
        if not mesh.theta:  # all densities are real
            chain, closed, last = chain.real, closed.real, last.real
        f = np.multiply.outer(closed, np.ones(len(v), dtype=np.asarray(turned).dtype))
        shape = f.shape
        for i, variance in enumerate(self._exact[1].tolist()):
            if variance != before:
                with np.errstate(over="ignore"):  # values beyond the range are GONE as well
                    y = np.exp(self.mu * x - 0.5 * self.mu**2 * variance)
                    weight, before = np.exp(-turned * np.minimum(np.multiply.outer(y, size), GONE)), variance
            f *= weight[:, None, :]
            if i < self.bins - 1:
                columns = f.reshape(len(x), -1).view(chain.dtype)  # real ones, where the matrix is real
                f = (chain @ columns).view(f.dtype if not mesh.theta else chain.dtype).reshape(shape)
        out: ComplexArray = np.einsum("bx,xbv->v", last, f)
        return out


RatioLaw = AllocationLaw | MarkovLaw
"""A likelihood ratio that is a mean of lognormal numbers, with moments known along vertical lines."""


@lru_cache(maxsize=KEPT)
def _kept(law: MarkovLaw, alpha: float, angle: float, v: bytes) -> Rows:
    """Return the values of F on a ray; they are cached, because both ends of a certified interval need them."""
    return law._on_ray(alpha, angle, np.frombuffer(v))


def told_apart(own: float, between: Array) -> tuple[float, int, float]:
    """Return a dominating law with equal covariances: ``log E Lambda^2``, the number of its bins, and their covariance.

    The number of bins is the one with the least ``log E Lambda^2``. The proof of the bound is in
    ``plan/sampling/balls_in_bins.py``.

    Args:
        own: the largest squared norm of the vector m_i of a bin, divided by the variance of the noise.
        between: at index d, the largest scalar product of the vectors of two bins at distance d, divided by the
            variance of the noise.
    """
    bins, found = len(between), []
    for step in range(1, bins + 1):
        shared, many = min(max(float(between[step::step].max(initial=0.0)), 0.0), own), bins // step
        rest = own - shared - math.log(many)
        second = shared + (math.log1p(math.expm1(own - shared) / many) if rest < NOTHING else rest)
        found.append((second, many, shared))
    return min(found)


def _normal(w: Any, shift: Any, step: Any) -> tuple[ComplexArray, float]:
    """Return normal densities at ``w - i shift``, times ``step``, and their relative error in units of round-off."""
    size = np.exp(0.5 * (shift * shift - w * w)) * (np.longdouble(step) / np.sqrt(2 * np.longdouble(math.pi)))
    out = (size * np.cos(shift * w)).astype(np.float64) + 1j * (size * np.sin(shift * w)).astype(np.float64)
    return out, 3 + 16 * float(1 + np.abs(w).max() + shift) ** 2 * FINER / UNIT_ROUNDOFF
