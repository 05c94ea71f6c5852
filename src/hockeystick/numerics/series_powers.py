"""Powers and products of power series, from coefficients or their logarithms, with bounds on the rounding."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from hockeystick.numerics.logarithm import log_sum

Array = npt.NDArray[np.float64]
Series = TypeVar("Series", npt.NDArray[np.float64], npt.NDArray[np.complex128])  # coefficients, in columns


def log_power(c: Array, t: int) -> Array:
    """Return the log coefficients of the t-th power of a series with constant term 1.

    ``c`` holds the log coefficients of this series, so ``c[0] = 0``.
    """
    return _log_recurrence(c, t) if len(c) <= t + 2 else _powered(c, t, log_product)


def log_roundings(n: int, t: int) -> float:
    """Return the error of coefficient n in :func:`log_power`, in units of round-off (see :func:`roundings`).

    It may be larger than for :func:`power`, because sums are not added in groups.
    """
    return max(roundings(n, t), float(n * (n + 16)))


def _log_recurrence(c: Array, t: int) -> Array:
    g = np.zeros(len(c))
    for m in range(1, len(c)):
        k = np.arange(1, m + 1, dtype=np.float64)
        with np.errstate(divide="ignore"):
            terms = np.log(np.maximum((k * (t + 1) - m) / m, 0.0)) + c[1 : m + 1] + g[:m][::-1]
        g[m] = log_sum(terms)
    return g


def log_product(a: Array, b: Array) -> Array:
    """Return the log coefficients of the product of two series, from their log coefficients."""
    out = np.empty_like(a)
    for m in range(len(a)):
        out[m] = log_sum(a[: m + 1] + b[: m + 1][::-1])
    return out


def _powered(base: Series, t: int, product: Callable[[Series, Series], Series]) -> Series:
    """Return the t-th power of a series for t >= 1, by repeated squaring with the given product of two series."""
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
    """Return coefficients 0 to n of ``(1 + sum_(k=1)^n c_k h^k)^t``, for each column.

    For n <= t + 1, the method is J. C. P. Miller's recurrence ``g_m = (1/m) sum_(k=1)^m (k (t + 1) - m) c_k g_(m-k)``,
    all of whose weights are then non-negative. For larger n, the method is repeated squaring, which has no weights. In
    each case a coefficient is a sum of products, each formed with fewer than :func:`roundings` roundings. So the error
    of the coefficient is at most that many units of round-off, relative to the coefficient that the same steps give for
    ``|c|``.

    Args:
        c: shape (n, columns), ``c_1, ..., c_n``.
        t: a whole number >= 1.
    """
    n = len(c)
    g: Series = np.zeros((n + 1, c.shape[1]), dtype=c.dtype)
    g[0] = 1.0
    if n > t + 1:
        g[1:] = c
        return _powered(g, t, product)
    for m in range(1, n + 1):
        k = np.arange(1, m + 1, dtype=np.float64)
        weights = (k * (t + 1) - m) / m
        low = 1 << (m.bit_length() - 1)
        while low:  # add the groups k = low, ..., 2 low - 1 from the last to the first: small k undergo few additions
            part = slice(low - 1, min(2 * low - 1, m))
            g[m] += np.einsum("k,kv,kv->v", weights[part], c[part], g[m - part.stop : m - low + 1][::-1])
            low >>= 1
    return g


def product(a: Series, b: Series) -> Series:
    """Return coefficients 0 to n of the product of two series, for each column."""
    out = np.empty_like(a)
    for m in range(len(a)):
        out[m] = np.einsum("kv,kv->v", a[: m + 1], b[: m + 1][::-1])
    return out


def roundings(n: int, t: int) -> float:
    """Return the error of coefficient n in :func:`power`, in units of round-off, relative to its result for ``|c|``.

    In the recurrence, term k of a sum undergoes 2 roundings of its weight, 4 of two products, fewer than k of additions
    in its group, and ``1 + log_2 k <= k`` of additions of groups. These are at most 8 k in all, and are added to the
    roundings of coefficient n - k. Repeated squaring has at most twice as many products as t has binary digits. Each
    product adds n + 16 roundings and doubles the error so far.
    """
    if n > t + 1:
        return float((n + 16) * 2 * t)
    return float(8 * n)
