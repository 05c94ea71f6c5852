"""Circular convolution powers of non-negative vectors, with a bound on the rounding error of every entry.

Error law. Every output of an n-point fast Fourier transform is a sum over the inputs. On each of log2 n levels an input
undergoes at most c roundings: those of an addition, and of a complex product with a twiddle factor, which is itself
rounded. So, with the unit round-off u,

    |fl(X_j) - X_j| <= e ||x||_1,       e = (1 + c u)^(log2 n) - 1

for every entry j (Higham 2002 [Hig02], Section 24.1, whose bound is in norm). A complex product errs by sqrt(5) u, a
twiddle factor by u / sqrt(2), an addition by u: below 4 u in all for radix 2. The choice c = 6 also covers larger
radices, one level of which counts as log2(radix) levels. Lengths are 5-smooth (without prime factors above 5), so that
Bluestein's algorithm is not used.

The heaviest entry x_m of a vector with sum 1 is treated separately. Rotate the vector so that m = 0; then ``X_j = 1 +
w_j`` with ``w_j = sum_{i != 0} x_i (e^(-2 pi i ij/n) - 1)``, and log X_j errs by about ``2 e (1 - x_m) / |X_j|``. So a
law that is nearly concentrated on its mode (a small sampling rate on a coarse grid) loses no accuracy in a billion
compositions.

A product of powers ``Y = prod X_i^k_i`` has relative error ``expm1(sum k_i |d log X_i|)``. After the inverse transform,
every entry errs by at most the mean of ``|dY_j|`` over j, plus e times the mean of ``|Y_j|``. If ``|Y_j|`` is below
``e^LEAST_LOG``, Y_j is replaced by 0, and a bound on its size is added to the error. Real and imaginary parts below
that size are also replaced by 0, and charged.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hockeystick.numerics.logarithm import log_one_plus
from hockeystick.numerics.rounding import UNIT_ROUNDOFF
from hockeystick.numerics.summation import accurate_sum

Array = npt.NDArray[np.float64]
ComplexArray = npt.NDArray[np.complex128]

ROUNDINGS_PER_LEVEL = 6
"""``c`` of the error law: roundings that an input undergoes in one of the log2 n levels of a transform."""

LEAST_LOG = -600.0
"""Logarithm of the least ``|Y_j|`` that is not replaced by 0. Products of smaller values and twiddle factors may be
subnormal numbers, and processors take up to a hundred times as long for these."""


def transform_error(n: int) -> float:
    """Return the error bound ``e`` of the module docstring for an n-point transform."""
    return math.expm1(math.log2(max(n, 2)) * math.log1p(ROUNDINGS_PER_LEVEL * UNIT_ROUNDOFF))


def fast_length(n: int) -> int:
    """Return the least length >= n that has no prime factor above 5."""
    from scipy.fft import next_fast_len

    return int(next_fast_len(n, real=True))


@dataclass(frozen=True, slots=True)
class ConvolutionPower:
    """The computed circular convolution of powers of vectors.

    Attributes:
        values: shape (n,), the convolution divided by ``exp(log_scale)``. Because of rounding, an entry may be
            negative.
        origin: entry p of ``values`` belongs to the position ``origin + p`` of the convolution, modulo n.
        error: bound on the absolute error of every entry of ``values``.
        log_scale: log of the product of ``||x||_1^k`` over all vectors x and their exponents k.
        scale_error: bound on the absolute error of ``log_scale``.
    """

    values: Array
    origin: int
    error: float
    log_scale: float
    scale_error: float


def convolution_power(vectors: Sequence[tuple[Array, int]], n: int) -> ConvolutionPower:
    """Return the n-periodic convolution of non-negative vectors, each to a power.

    Args:
        vectors: pairs ``(x, k)`` of a vector and its exponent; the entries of x are at positions 0, 1, ... (modulo n).
        n: period, 5-smooth.
    """
    from scipy.fft import irfft

    e = transform_error(n)
    bins = n // 2 + 1
    log_abs, turns, relative = np.zeros(bins), np.zeros(bins), np.zeros(bins)
    log_scale = scale_error = 0.0
    origin = 0
    for x, k in vectors:
        total = accurate_sum(x)
        log_scale += k * math.log(total)
        scale_error += k * UNIT_ROUNDOFF * (4 + 2 * abs(math.log(total)))
        mode = int(np.argmax(x))
        origin += k * mode
        w, moved = _minus_one(x / total, mode, n)
        log_size, angle, size = log_one_plus(w)
        folds = len(x) // n + 1
        absolute = 2 * (e + (4 + folds) * UNIT_ROUNDOFF) * moved + 4 * UNIT_ROUNDOFF * np.abs(w)
        # With the computed |X| >= 2 absolute, |X^k - P| <= |P| (exp(k r) - 1) for r = absolute / (|X| - absolute).
        # If the computed |X| is smaller, |P| is set to (2 absolute)^k; as the true |X| < 3 absolute, r = 2 suffices.
        small = size < 2 * absolute
        log_abs += k * np.where(small, np.log(np.maximum(2 * absolute, 1e-300)), log_size)
        turns += np.remainder(k * (angle / (2 * math.pi)), 1.0)
        relative += k * np.where(small, 2.0, absolute / np.maximum(size - absolute, 1e-300))
        relative += 8 * UNIT_ROUNDOFF * (k * np.abs(angle) + 1)
    relative += 4 * UNIT_ROUNDOFF * np.abs(log_abs)
    kept = log_abs > LEAST_LOG
    size = np.exp(np.where(kept, log_abs, -np.inf))
    most = np.exp(np.clip(log_abs + relative, LEAST_LOG, 700.0))  # largest |P| where it is replaced by 0
    least = math.exp(LEAST_LOG)
    bound = np.where(kept, size * np.expm1(np.minimum(relative, 700.0)), most) + 2 * least
    product = size * np.exp(2j * math.pi * np.remainder(turns, 1.0))
    for part in (product.real, product.imag):
        part[np.abs(part) < least] = 0.0
    weights = np.full(bins, 2.0)
    weights[0] = 1.0
    if n % 2 == 0:
        weights[-1] = 1.0
    error = float((weights * (bound + 2 * e * size)).sum()) / n * (1 + 1e-6)
    return ConvolutionPower(irfft(product, n), origin, error, log_scale, scale_error)


def _minus_one(x: Array, mode: int, n: int) -> tuple[ComplexArray, float]:
    """Return the transform of x minus 1, ``X_j - 1`` for each j, and the mass of x outside its mode.

    The vector x has sum 1, and is first rotated so that its mode is at index 0. The entry at this index is not used,
    because it is 1 minus the sum of the others.
    """
    from scipy.fft import rfft

    turned = np.roll(_folded(x, n), -(mode % n))
    turned[0] = 0.0
    moved = float(turned.sum())
    transformed: ComplexArray = rfft(turned)
    transformed -= moved
    return transformed, moved


def _folded(x: Array, n: int) -> Array:
    """Return x wrapped around a circle of n places: entry i is the sum of all x_k with k = i modulo n."""
    padded = np.concatenate([x, np.zeros(-len(x) % n)])
    folded: Array = padded.reshape(-1, n).sum(axis=0)
    return folded
