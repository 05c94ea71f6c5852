"""Sums ``sum_k c_k e^(i s_j v_k)`` for equidistant ``s_j`` and ``v_k``, and the errors of their phase factors.

A product ``s_j v_k`` is exact if the digits of four numbers (the two steps and the largest indices j and k) together
are no more than the binary digits of a double.
"""

from __future__ import annotations

import math
import sys

import numpy as np
import numpy.typing as npt

from hockeystick.numerics.rounding import UNIT_ROUNDOFF

Array = npt.NDArray[np.float64]
ComplexArray = npt.NDArray[np.complex128]

SUMMED = 128  # nodes in one matrix product
EXACT = sys.float_info.mant_dig  # binary digits of a double


def phased_sum(
    terms: ComplexArray, v: Array, dv: float, step: float, start: int, stop: int
) -> tuple[ComplexArray, Array]:
    """Return ``sum_k terms_k e^(i s_j v_k)`` for start <= j < stop, and bounds on the errors of the phase factors.

    A phase factor is ``e^(i s_j v_k)``. If the products ``s_j v_k`` are exact, its error comes from sine and cosine and
    one product alone. The sums are computed as matrix products over blocks of nodes.

    Args:
        terms: shape (nodes,).
        v: shape (nodes,), multiples of dv.
        dv: step of v.
        step: step of s.
        start: the first j.
        stop: one more than the last j.
    """
    count = stop - start
    inner = 1 << (math.isqrt(count - 1).bit_length() if count > 1 else 0)
    first = start // inner
    outer = -(-stop // inner) - first
    out = np.zeros((outer, inner), dtype=np.complex128)
    a = step * inner * np.arange(first, first + outer, dtype=np.float64)
    b = step * np.arange(inner, dtype=np.float64)
    for at in range(0, len(v), SUMMED):
        part = slice(at, at + SUMMED)
        left = np.exp(1j * np.multiply.outer(a, v[part])) * terms[part]
        out += left @ np.exp(1j * np.multiply.outer(v[part], b))
    far = float(np.abs(v).max(initial=0.0))
    digits = _digits(step) + _digits(dv) + math.ceil(far / dv).bit_length() + max(first + outer, inner).bit_length()
    s = step * np.arange(start, stop, dtype=np.float64)
    care = np.full(count, 24 * UNIT_ROUNDOFF) if digits <= EXACT else UNIT_ROUNDOFF * (24 + 3 * s * far)
    return out.ravel()[start - first * inner :][:count], care


def _digits(x: float) -> int:
    """Return the number of significant binary digits of a number."""
    numerator = x.as_integer_ratio()[0]
    return (numerator & -numerator).bit_length() and (numerator // (numerator & -numerator)).bit_length()
