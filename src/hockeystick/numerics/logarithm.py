"""Complex logarithm near 1, logarithm of a sum, and the exponential without its first two terms."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
ComplexArray = npt.NDArray[np.complex128]

COEFFICIENTS = tuple(1 / math.factorial(n) for n in range(16, 1, -1))  # for |x| < 1/2, later terms are below 2^-59


def log_one_plus(w: ComplexArray) -> tuple[Array, Array, Array]:
    """Return ``log |1 + w|``, ``arg(1 + w)`` and ``|1 + w|``, accurate for small w (unlike NumPy's complex log1p)."""
    real, imaginary = w.real, w.imag
    size = np.hypot(1 + real, imaginary)
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        excess = 2 * real + np.square(real) + np.square(imaginary)
        log_size = np.where(excess > -0.75, 0.5 * np.log1p(np.maximum(excess, -0.75)), np.log(size))
    return log_size, np.arctan2(imaginary, 1 + real), size


def log_sum(exponent: Array) -> float:
    """Return the logarithm of the sum of ``e^exponent``, computed relative to the largest term."""
    top = float(exponent.max())
    return top + math.log(float(np.exp(exponent - top).sum()))


def exp_beyond_first(x: Array) -> Array:
    """Return ``e^x - 1 - x`` with a relative error of a few roundings, also near 0, where the terms cancel.

    Near 0 the power series is summed. Values beyond the range of a double are infinite.
    """
    near = np.minimum(np.maximum(x, -0.5), 0.5)
    series = np.full_like(near, COEFFICIENTS[0])
    for coefficient in COEFFICIENTS[1:]:
        series *= near
        series += coefficient
    series *= np.square(near)
    with np.errstate(over="ignore"):
        direct = np.expm1(x) - x
    return np.where(np.abs(x) < 0.5, series, direct)


def weighted_beyond_first(log_weight: Array, x: Array) -> tuple[Array, Array]:
    """Return ``w (e^x - 1 - x)``, given log w, and bounds on the sensitivity of this value to an error of log w.

    An error e of log w moves the value by about e times the second result. The value is correct even if w underflows or
    e^x overflows.
    """
    weight = np.exp(log_weight)
    out = weight * exp_beyond_first(np.minimum(x, 1.0))
    if not len(x) or float(x.max()) <= 1:
        return out, np.abs(out)
    above, rest = np.exp(log_weight + np.maximum(x, 1.0)), weight * (1 + x)
    return np.where(x > 1, above - rest, out), np.where(x > 1, above + rest, np.abs(out))


def log_peak(t: float) -> float:
    """Return ``log sup_{x >= 0} e^(-tx) (1 - e^-x) = t log t - (1+t) log(1+t)``, reached at ``x = log(1 + 1/t)``.

    ``1/t`` must not overflow.
    """
    return -math.log1p(t) - t * math.log1p(1 / t)


def log_peaks(t: Array) -> Array:
    """Return :func:`log_peak` of each number of an array."""
    out: Array = -np.log1p(t) - t * np.log1p(1 / t)
    return out
