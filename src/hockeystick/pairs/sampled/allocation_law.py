"""The likelihood ratio of one epoch of random allocation: an average of lognormals, and its moments.

A record takes part in step j with probability ``w_j``, in no step with probability c, and ``c + w_1 + ... + w_T = 1``.
With mu = distance / standard deviation and independent standard normal ``X_1, ..., X_T`` under the law without the
record,

    Lambda = dP/dQ = c + S ,     S = w_1 Y_1 + ... + w_T Y_T ,     Y = e^(mu X - mu^2/2) ,     E Y = 1 .

Steps of equal probability form a *group*; probabilities are exact fractions. Everything about an epoch is a moment
``A(zeta) = E_Q Lambda^zeta``, entire in zeta:

- remove: ``m(z) = E_P e^(zL) = A(1 + z)``;
- add: the loss is ``-log Lambda`` under Q, ``m(z) = A(-z)``.

**Real moments.** For a whole number n, with ``T_g`` steps of probability ``w_g`` in group g,

    A(n) = n! [h^n] e^(ch) prod_g (sum_k e^(k(k-1) mu^2/2) (w_g h)^k / k!)^(T_g) ,

whose terms are all positive. ``log A`` is convex (Hoelder's inequality), 0 at 0 and at 1. Lambda is the mean of 1 and
the ``Y_j`` with weights c and ``w_j``. Powers are convex, so that ``A(alpha) <= c + (1 - c) E Y^alpha`` for alpha >= 1
and for alpha <= 0, with ``E Y^alpha = e^(alpha (alpha - 1) mu^2/2)``. A mean is at least the geometric one: for
``p >= 0``

    A(-p) <= E prod_j Y_j^(-p w_j) = e^(p mu^2/2 (1 - c + p sum_j w_j^2)) ,

and ``Lambda >= c``, hence ``A(-p) <= c^-p``.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from hockeystick.numerics.rounding import UNIT_ROUNDOFF

Array = npt.NDArray[np.float64]
Series = TypeVar("Series", npt.NDArray[np.float64], npt.NDArray[np.complex128])  # coefficients, in columns
Groups = tuple[tuple[Fraction, int], ...]  # probability of each step of a group, and how many there are

SPARE = 1e-12  # relative: pays for the roundings of a closed form
FARTHEST = 27.0  # n mu: normal densities around it, and 10 beyond it, are in the range of a double
MOST_ORDER = 56  # of whole moments that a line takes
TABLES = (32, 64, 128, 512, 2048)  # orders up to which whole moments are computed in logarithms, together
LARGEST = 700.0  # exponent up to which a power is formed


@dataclass(frozen=True)
class AllocationLaw:
    """The likelihood ratio of one epoch, by its moments.

    Args:
        mu: distance of the two laws of one step, in standard deviations.
        constant: probability that the record is in no step, below 1.
        groups: probability of each step of a group, above 0, and the number of its steps, at least 1. With the constant
            they add up to 1.
    """

    mu: float
    constant: Fraction
    groups: Groups

    @cached_property
    def steps(self) -> int:
        """The number of steps."""
        return sum(count for _, count in self.groups)

    @cached_property
    def log_unit(self) -> Decimal:
        """Logarithm of ``1 / w``, w being the probability of a step of the first group."""
        first = self.groups[0][0]
        return Decimal(first.denominator).ln() - Decimal(first.numerator).ln()

    @cached_property
    def squares(self) -> float:
        """The sum of the squares of all probabilities of steps, to a few roundings."""
        return float(sum(weight * weight * count for weight, count in self.groups))

    @property
    def highest(self) -> int:
        """The highest whole moment that a line takes."""
        return min(MOST_ORDER, math.floor(FARTHEST / self.mu))

    def log_power_above(self, alpha: float) -> float:
        """An upper bound on ``log A(alpha)`` in closed form, any real alpha: the best of two or three."""
        half, share = 0.5 * self.mu * self.mu, float(1 - self.constant)
        if 0 <= alpha <= 1:
            return 0.0
        whole = alpha * (alpha - 1) * half
        found = math.log1p(share * math.expm1(whole)) if whole < LARGEST else whole
        if alpha < 0:
            found = min(found, -alpha * half * (share - alpha * self.squares))
            if self.constant:
                found = min(found, alpha * math.log(self.constant) + SPARE)
        return found * (1 + SPARE)

    def log_whole(self, n: int) -> float:
        """An upper bound on ``log A(n)`` of a whole n that a line takes."""
        return _log_moment_table(self, _size(n))[n]

    def log_moment_above(self, alpha: float) -> tuple[float, float]:
        """An upper bound on ``log A(alpha)`` for alpha >= 1: the line between whole moments, log A being convex.

        And by how much it lies above it, about.
        """
        rough = self.log_power_above(alpha)
        if not alpha < TABLES[-1]:
            return rough, math.inf
        found, bent = _between(_log_moment_table(self, _size(alpha)), alpha)
        return min(found, rough), bent

    def log_above(self, alpha: float) -> float:
        """An upper bound on ``log A(alpha)``, any real alpha."""
        return self.log_moment_above(alpha)[0] if alpha >= 1 else self.log_power_above(alpha)


def _size(alpha: float) -> int:
    """The order of the table that has the whole moments next to alpha."""
    return next(size for size in TABLES if size > alpha)


def _between(table: tuple[float, ...], alpha: float) -> tuple[float, float]:
    """On the line between the two values of a convex table next to alpha >= 1, and how far above the curve, about."""
    low = min(math.floor(alpha), len(table) - 2)
    share = alpha - low
    found = table[low] * (1 - share) + table[low + 1] * share + SPARE * (1 + table[low + 1])
    return found, 0.5 * share * (1 - share) * (table[low + 1] - 2 * table[low] + table[low - 1])


@lru_cache(maxsize=64)
def _log_moment_table(law: AllocationLaw, size: int) -> tuple[float, ...]:
    """Upper bounds on ``log A(n)``, n = 0, ..., size, in logarithms: of any size. The constant is a group of one."""
    n = np.arange(size + 1, dtype=np.float64)
    log_factorial = np.concatenate([[0.0], np.cumsum(np.log(n[1:]))])
    spread = 0.5 * n * (n - 1) * law.mu * law.mu - log_factorial
    terms = [(spread + n * math.log(weight), count) for weight, count in law.groups]
    if law.constant:
        terms.append((n * math.log(law.constant) - log_factorial, 1))
    found, largest, care = None, float(np.abs(log_factorial).max()), 64.0 + 16 * size
    for log_terms, count in terms:
        each = log_power(log_terms, count)
        found = each if found is None else log_product(found, each)
        largest += float(np.abs(log_terms).max() + np.abs(found).max())
        care += log_roundings(size, count) + 16 * size
    assert found is not None
    out: list[float] = (found + log_factorial + UNIT_ROUNDOFF * (care + 8 * largest * (1 + size))).tolist()
    return tuple(out)


def log_power(c: Array, t: int) -> Array:
    """Logarithms of the coefficients of the t-th power of a series with ``c_0 = 0``, from those of its own."""
    return _log_recurrence(c, t) if len(c) <= t + 2 else _powered(c, t, log_product)


def log_roundings(n: int, t: int) -> float:
    """Roundings of :func:`log_power` as by :func:`roundings`, where the sum of a level is not in groups."""
    return max(roundings(n, t), float(n * (n + 16)))


def _log_recurrence(c: Array, t: int) -> Array:
    g = np.zeros(len(c))
    for m in range(1, len(c)):
        k = np.arange(1, m + 1, dtype=np.float64)
        with np.errstate(divide="ignore"):
            terms = np.log(np.maximum((k * (t + 1) - m) / m, 0.0)) + c[1 : m + 1] + g[:m][::-1]
        top = float(terms.max())
        g[m] = top + math.log(float(np.exp(terms - top).sum()))
    return g


def log_product(a: Array, b: Array) -> Array:
    """Logarithms of the coefficients of a product of two series, from those of both."""
    out = np.empty_like(a)
    for m in range(len(a)):
        terms = a[: m + 1] + b[: m + 1][::-1]
        top = float(terms.max())
        out[m] = top + math.log(float(np.exp(terms - top).sum()))
    return out


def _powered(base: Series, t: int, product: Callable[[Series, Series], Series]) -> Series:
    """The t-th power, t >= 1, by squaring."""
    out: Series | None = None
    while t:
        if t & 1:
            out = base if out is None else product(out, base)
        t >>= 1
        if t:
            base = product(base, base)
    assert out is not None
    return out


def power(c: Series, t: int) -> Series:
    """Coefficients 0 to n of ``(1 + sum_(k=1)^n c_k h^k)^t``, for each column.

    By J. C. P. Miller's recurrence ``g_m = (1/m) sum_(k=1)^m (k (t + 1) - m) c_k g_(m-k)``, all of whose weights are
    non-negative for n <= t + 1; else by squaring, which has no weights at all. Either way a coefficient is a sum of
    products, each formed with fewer than :func:`roundings` of them, so that its error is at most so many units of
    what the same steps make of ``|c|``.

    Args:
        c: shape (n, columns), ``c_1, ..., c_n``.
        t: a whole number >= 1.
    """
    n = len(c)
    if n > t + 1:
        return _by_squaring(c, t)
    g: Series = np.zeros((n + 1, c.shape[1]), dtype=c.dtype)
    g[0] = 1.0
    for m in range(1, n + 1):
        k = np.arange(1, m + 1, dtype=np.float64)
        weights = (k * (t + 1) - m) / m
        low = 1 << (m.bit_length() - 1)
        while low:  # the group k = low, ..., 2 low - 1, from the last one on: small k meet few additions
            part = slice(low - 1, min(2 * low - 1, m))
            g[m] += np.einsum("k,kv,kv->v", weights[part], c[part], g[m - part.stop : m - low + 1][::-1])
            low >>= 1
    return g


def _by_squaring(c: Series, t: int) -> Series:
    base: Series = np.zeros((len(c) + 1, c.shape[1]), dtype=c.dtype)
    base[0], base[1:] = 1.0, c
    return _powered(base, t, product)


def product(a: Series, b: Series) -> Series:
    """Coefficients 0 to n of the product of two series, for each column."""
    out = np.empty_like(a)
    for m in range(len(a)):
        out[m] = np.einsum("kv,kv->v", a[: m + 1], b[: m + 1][::-1])
    return out


def roundings(n: int, t: int) -> float:
    """Error that :func:`power` makes of the coefficient n, in units of round-off, relative to what it makes of ``|c|``.

    The recurrence: a term k of a sum meets 2 of its weight, 4 of two products, fewer than k additions of its group and
    ``1 + log_2 k <= k`` of groups, at most 8 k in all, and stands on the coefficient n - k. Squaring: n + 16 for each
    of at most twice the digits of t, each of which doubles what was there.
    """
    if n > t + 1:
        return float((n + 16) * 2 * t)
    return float(8 * n)
