"""``sum_x w_x (e^(i s_j L_x) - 1)`` on equidistant s_j = j ds, for weights w >= 0, with a bound on its rounding error.

Two ways, the cheaper one that is exact enough:

- term by term, as ``-2 sin^2(sL/2) + i sin sL``;
- by Taylor series around the points of a grid of L, and Fourier transforms. With ``D = 2 pi / (n ds)``, b the integer
  nearest ``L / D``, ``d = L - b D`` and ``a_j = s_j D / 2 = pi j / n``,

      e^(i s_j L) = e^(2 pi i j b / n) sum_r (i a_j)^r / r! (2 d / D)^r ,

  so that the sum is one n-point transform for each r of the moments ``mu_r(b) = sum w (2d/D)^r``. With j <= n/2, hence
  ``a <= pi/2``, and ``|2d/D| <= 1`` what the series leaves out is at most ``a^R / R! sum w |2d/D|^R`` for R terms (the
  remainder of ``e^(i y)`` is at most ``|y|^R / R!``). The cell b = 0 needs no transform, and its term r = 0 is taken
  off by the -1: what hardly moves costs no accuracy.

Rounding of the second way: every entry of a transform errs by at most e times the 1-norm of its input
(``numerics/fourier.py``); the coefficients err by 4r units, a moment by BLOCK, the number of blocks in its cell and
4r units more (the 1-norm after r products is that of the moments or more). ``s |L|`` times a few units is added for
the phases, which the rounding of D moves too.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from hockeystick.numerics.fourier import fast_length, transform_error
from hockeystick.numerics.rounding import UNIT_ROUNDOFF

Array = npt.NDArray[np.float64]
ComplexArray = npt.NDArray[np.complex128]

TERMS = 22  # of the series: (pi/2)^22 / 22! < 2e-17
CHUNK = 1 << 18  # evaluations at once, term by term
BLOCK = 32  # terms that are summed first: n terms then meet at most BLOCK + n / BLOCK roundings
FEW = 20_000  # evaluations up to which term by term is quicker
MANY = 1_000_000  # evaluations from which term by term takes tens of milliseconds,
PATIENCE = 200.0  # and a tolerance, which is a small share of what is asked, is stretched by this rather
MOST = 10_000_000  # evaluations term by term: beyond, they take seconds
LONGEST = 1 << 21  # transform


def cost(terms: int, count: int) -> float:
    """About how many elementary evaluations the cheaper way takes."""
    return min(float(terms) * count, TERMS * (4.0 * count + terms))


def moved_sum(
    loss: Array, weight: Array, step: float, count: int, tolerance: float
) -> tuple[ComplexArray, Array] | None:
    """The sum at ``s_j = j step`` for j < count, and a bound on the absolute error that this adds.

    Errors of the given weights and losses are the caller's. ``None`` where the sum cannot be had to about the tolerance
    at a reasonable price.
    """
    evaluations = float(len(loss)) * count
    if evaluations > FEW and 2 * count <= LONGEST:
        values, error = by_transforms(loss, weight, step, count)
        if float(error.max()) <= tolerance * (PATIENCE if evaluations > MANY else 1.0) or evaluations > MOST:
            return values, error
    if evaluations > MOST:
        return None
    return term_by_term(loss, weight, step, count)


def term_by_term(loss: Array, weight: Array, step: float, count: int) -> tuple[ComplexArray, Array]:
    """The first way."""
    pad = -len(loss) % BLOCK
    loss, weight = np.append(loss, np.zeros(pad)), np.append(weight, np.zeros(pad))
    blocks = len(loss) // BLOCK
    shares = weight.reshape(blocks, 1, BLOCK)
    s: Array = step * np.arange(count, dtype=np.float64)
    values = np.empty(count, dtype=np.complex128)
    moved = np.empty(count)
    batch = max(1, CHUNK // len(loss))
    for start in range(0, count, batch):
        part = s[start : start + batch]
        half = np.multiply.outer(loss, 0.5 * part)
        sine = np.sin(half)
        cosine = np.cos(half)
        cosine *= sine  # sin(sL) / 2
        sine *= sine
        real = (shares @ sine.reshape(blocks, BLOCK, -1)).sum(axis=0)[0]
        values[start : start + batch] = -2 * real
        values[start : start + batch] += 2j * (shares @ cosine.reshape(blocks, BLOCK, -1)).sum(axis=0)[0]
        moved[start : start + batch] = real
    # |sin(sL)| <= s |L|, and 2 sin^2(sL/2) <= s |L|: with the phase, 8 + BLOCK + blocks roundings of the larger
    drift = float((weight * np.abs(loss)).sum())
    return values, UNIT_ROUNDOFF * (32 + BLOCK + blocks) * (2 * moved + np.minimum(s * drift, 2 * weight.sum())) + (
        8 * UNIT_ROUNDOFF * s * drift
    )


def by_transforms(loss: Array, weight: Array, step: float, count: int) -> tuple[ComplexArray, Array]:
    """The second way."""
    from scipy.fft import rfft

    n = fast_length(2 * max(count - 1, 16))
    spacing = 2 * math.pi / (n * step)
    cell = np.rint(loss / spacing)
    offset = (loss - cell * spacing) * (2 / spacing)
    at_zero = cell == 0
    index = np.mod(cell, n).astype(np.int64)[~at_zero]
    outer, inner = weight[~at_zero], weight[at_zero]
    outer_offset, inner_offset = offset[~at_zero], offset[at_zero]
    arc = math.pi / n * np.arange(count, dtype=np.float64)
    size = np.ones(count)  # arc^r / r!
    values = np.full(count, -math.fsum(outer.tolist()), dtype=np.complex128)
    # what falls into a cell is summed by blocks of neighbours, and those then
    fresh = (
        np.append(True, index[1:] != index[:-1]) | (np.arange(len(index)) % BLOCK == 0) if len(index) else at_zero[:0]
    )
    block = np.cumsum(fresh) - 1
    blocks_cell = index[fresh]
    deepest = BLOCK + int(np.bincount(blocks_cell).max()) if len(index) else 0
    level = transform_error(n)
    error = np.zeros(count)
    for r in range(TERMS):
        norm = float(np.abs(outer).sum())
        unit = level + UNIT_ROUNDOFF * (8 * r + deepest + 8)
        if norm:
            moments = np.bincount(blocks_cell, weights=np.bincount(block, weights=outer), minlength=n)
            values += (1j**r) * size * np.conj(rfft(moments)[:count])
        error += size * (unit * norm)
        if r:
            values += (1j**r) * size * blocked_sum(inner)
            error += size * (UNIT_ROUNDOFF * (8 * r + BLOCK + 8) * float(np.abs(inner).sum()))
        error += 2 * UNIT_ROUNDOFF * np.abs(values)
        outer, inner = outer * outer_offset, inner * inner_offset
        size = size * arc / (r + 1)
    error += size * (1.01 * (float(np.abs(outer).sum()) + float(np.abs(inner).sum())))
    drift = float((weight * np.abs(loss)).sum())
    return values, error + 16 * UNIT_ROUNDOFF * step * np.arange(count) * drift


def blocked_sum(x: Array) -> float:
    """The sum, to ``BLOCK`` roundings of the sum of the sizes: blocks are added up by NumPy, their sums exactly."""
    whole = len(x) // BLOCK * BLOCK
    return math.fsum([*x[:whole].reshape(-1, BLOCK).sum(axis=1).tolist(), *x[whole:].tolist()])
