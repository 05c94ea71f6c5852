"""Circular convolution powers of non-negative vectors, with a bound on the rounding error of every entry.

Error law. Every output of an n-point fast Fourier transform is a sum over the inputs in which each input meets at most
``c log2 n`` roundings (a complex product by a twiddle that is itself rounded, and an addition, for each level), so

    |fl(X_j) - X_j| <= e ||x||_1,       e = (1 + c u)^(log2 n) - 1

entry by entry (Higham 2002, Accuracy and Stability of Numerical Algorithms, Section 24.1, kept entrywise instead of in
norm). c = 8 covers a complex product (2 sqrt 2 u), a twiddle in error by u per part, and the addition, for radix 2; for larger radices a
level counts for log2(radix) levels. Bluestein's algorithm is avoided: lengths are 5-smooth.

A product of powers ``Y = prod X_i^k_i`` then errs by at most ``sum_i k_i e ||x_i||_1 |Y / X_i|`` plus the rounding of the power itself,
and the inverse transform turns a bound on every ``|dY_j|`` into one on every entry: the mean of ``|dY_j|`` over j, plus e times the
mean of ``|Y_j|``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hockeystick.numerics.rounding import UNIT_ROUNDOFF

Array = npt.NDArray[np.float64]
ComplexArray = npt.NDArray[np.complex128]

ROUNDINGS_PER_LEVEL = 8


def transform_error(n: int) -> float:
    """``e`` of the module docstring for an n-point transform."""
    return math.expm1(math.log2(max(n, 2)) * math.log1p(ROUNDINGS_PER_LEVEL * UNIT_ROUNDOFF))


def fast_length(n: int) -> int:
    """The next 5-smooth length."""
    from scipy.fft import next_fast_len

    return int(next_fast_len(n, real=True))


@dataclass(frozen=True, slots=True)
class ConvolutionPower:
    """A circular convolution of powers.

    Attributes:
        values: shape (n,), ``exp(-log_scale)`` times the convolution; entries may be negative by ``error``.
        error: bound on the absolute error of every entry of ``values``.
        log_scale: log of the factor taken out.
    """

    values: Array
    error: float
    log_scale: float


def convolution_power(vectors: Sequence[tuple[Array, int]], n: int) -> ConvolutionPower:
    """The n-periodic convolution of non-negative vectors, each to a power.

    Args:
        vectors: ``(x, k)``: x sits at positions 0, 1, ... (modulo n) and is convolved k times.
        n: period.

    Returns:
        The convolution divided by the product of ``||x||_1^k``.
    """
    from scipy.fft import irfft, rfft

    e = transform_error(n)
    bins = n // 2 + 1
    log_abs, phase = np.zeros(bins), np.zeros(bins)
    relative = np.zeros(bins)  # r below, summed over the vectors
    log_scale = 0.0
    for x, k in vectors:
        total = float(x.sum())
        log_scale += k * math.log(total)
        transformed = rfft(_folded(x / total, n))
        size = np.abs(transformed)
        # |X^k - P| <= |P| (exp(r) - 1) with P = floor^k e^(i k angle): r = k e / (floor - e) while size >= 2e; below that
        # |X| <= 3e and |P| = (2e)^k, for which r = 2k is enough.
        floor = np.maximum(size, 2 * e)
        log_floor = np.log(floor)
        log_abs += k * log_floor
        phase += np.remainder(k * (np.angle(transformed) / (2 * math.pi)), 1.0)
        relative += k * (np.where(size > 2 * e, e / (floor - e), 2.0) + 16 * UNIT_ROUNDOFF * (1 + np.abs(log_floor)))
    size = np.exp(np.maximum(log_abs, -745.0))
    relative += 8 * UNIT_ROUNDOFF * np.abs(log_abs)
    bound = size * np.expm1(np.minimum(relative, 700.0))
    product = size * np.exp(2j * math.pi * np.remainder(phase, 1.0))
    weights = np.full(bins, 2.0)
    weights[0] = 1.0
    if n % 2 == 0:
        weights[-1] = 1.0
    error = float((weights * (bound + 2 * e * size)).sum()) / n * (1 + 1e-6)
    return ConvolutionPower(irfft(product, n), error, log_scale)


def _folded(x: Array, n: int) -> Array:
    """x wrapped around a circle of n places."""
    if len(x) <= n:
        return x if len(x) == n else np.concatenate([x, np.zeros(n - len(x))])
    padded = np.concatenate([x, np.zeros(-len(x) % n)])
    folded: Array = padded.reshape(-1, n).sum(axis=0)
    return folded
