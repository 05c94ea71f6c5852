"""``sum_x w_x (e^(i s_j L_x) - 1)`` on equidistant s_j = j ds, for weights w >= 0, with a bound on its rounding error.

The sum is computed by one of two methods. A short sum is computed term by term. A longer one is computed by transforms,
but again term by term if transforms are not accurate enough.

- Term by term: each term is ``-2 sin^2(sL/2) + i sin sL``.
- By Taylor series around the points of a grid of L, and Fourier transforms. With ``D = 2 pi / (n ds)``, b the integer
  nearest ``L / D``, ``d = L - b D`` and ``a_j = s_j D / 2 = pi j / n``,

      e^(i s_j L) = e^(2 pi i j b / n) sum_r (i a_j)^r / r! (2 d / D)^r .

  All losses with the same b form a cell. For each r, the sum needs one n-point transform of the moments ``mu_r(b) =
  sum w (2d/D)^r``, which are sums over a cell. As j <= n/2, ``a <= pi/2``, and ``|2d/D| <= 1``. After R terms, the
  remainder of the series is at most ``a^R / R! sum w |2d/D|^R``, as the remainder of ``e^(i y)`` is at most ``|y|^R /
  R!``. The cell b = 0 needs no transform. Its term r = 0 is cancelled by the -1, so losses near 0 cost no accuracy.

The series ends when its remainder is at most a hundredth of the tolerance, or after TERMS terms.

Rounding errors of the second method, in units of round-off relative to the 1-norm of the terms ``w (2d/D)^r``, which is
at least the 1-norm of their moments:

- The error of an entry of a transform is at most the 1-norm of its input times ``transform_error(n)``.
- The power ``(2d/D)^r`` errs by 4r units, and so does the coefficient ``(i a_j)^r / r!``.
- A moment has the errors of BLOCK additions, and of one more addition for each block of terms in its cell. In the cell
  b = 0, where terms are summed in layers, a moment has the errors of FOLD additions for each layer.
- Terms of the series are summed from the last to the first, a few at a time. So term r undergoes at most r + 8
  roundings in its group. Each later addition of a group to the running sum costs two units more, because that sum is
  at most twice the 1-norm.
- The phases, which also depend on the rounding of D, are covered by ``s |L|`` times a few units.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from hockeystick.numerics import arrays
from hockeystick.numerics.rounding import UNIT_ROUNDOFF

Array = npt.NDArray[np.float64]
ComplexArray = npt.NDArray[np.complex128]

TERMS = 22  # largest number of terms of the Taylor series: (pi/2)^22 / 22! < 2e-17
ROWS = 8  # largest number of terms of the Taylor series that are computed together
BLOCK = 32  # numbers added first: a term of n then undergoes at most BLOCK + n / BLOCK roundings
FOLD = 8  # numbers added into one in each layer of a sum
FEW = 40_000  # largest number of evaluations in a short sum, which takes about a millisecond term by term
STRETCH = 50.0  # accepted error of transforms, in tolerances; a tolerance is a small share of the requested width
MOST = 10_000_000  # largest number of evaluations term by term; more would take seconds


def cost(terms: int, count: int) -> float:
    """Estimate the cost of the sum by the cheaper of the two methods, in evaluations of elementary functions."""
    return min(float(terms) * count, TERMS * (4.0 * count + terms))


def moved_sum(
    loss: Array, weight: Array, step: float, count: int, tolerance: float
) -> tuple[ComplexArray, Array] | None:
    """Return the sum of the module docstring at ``s_j = j step`` for j < count, and bounds on its absolute errors.

    The bounds cover only the errors of this computation. The caller charges errors of the given weights and losses. The
    bounds may exceed the tolerance. The result is ``None`` if the sum is too long for either method.
    """
    if count == 1:  # s = 0 only, as for bounds on the real line: every term is e^0 - 1
        return np.zeros(1, dtype=np.complex128), np.zeros(1)
    evaluations = float(len(loss)) * count
    if evaluations <= FEW:
        return term_by_term(loss, weight, step, count)
    enough = STRETCH * tolerance
    if 2 * count <= arrays.MOST_POINTS:
        values, error = by_transforms(loss, weight, step, count, tolerance)
        if float(error.max()) <= enough or evaluations > MOST:
            return values, error
    if evaluations > MOST:
        return None
    return term_by_term(loss, weight, step, count)


def term_by_term(loss: Array, weight: Array, step: float, count: int) -> tuple[ComplexArray, Array]:
    """Return the sum at ``s_j = j step``, shape (count,), and bounds on its errors, by sines and cosines."""
    loss, weight = _padded(loss), _padded(weight)
    blocks = len(loss) // BLOCK
    shares = weight.reshape(blocks, 1, BLOCK)
    s: Array = step * np.arange(count, dtype=np.float64)
    values = np.empty(count, dtype=np.complex128)
    moved = np.empty(count)
    batch = max(1, arrays.BLOCK // len(loss))
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
    # |sin(sL)| and 2 sin^2(sL/2) are at most s |L|; with the phase, the larger undergoes 8 + BLOCK + blocks roundings
    drift = float((weight * np.abs(loss)).sum())
    return values, UNIT_ROUNDOFF * (32 + BLOCK + blocks) * (2 * moved + np.minimum(s * drift, 2 * weight.sum())) + (
        8 * UNIT_ROUNDOFF * s * drift
    )


def _padded(x: Array) -> Array:
    """Return the numbers, followed by zeros up to a multiple of :data:`BLOCK`."""
    out: Array = np.concatenate((x, np.zeros(-len(x) % BLOCK)))
    return out


def by_transforms(
    loss: Array, weight: Array, step: float, count: int, tolerance: float = 0.0
) -> tuple[ComplexArray, Array]:
    """Return the sum at ``s_j = j step``, shape (count,), and bounds on its errors, by Fourier transforms."""
    from scipy.fft import rfft

    from hockeystick.numerics.fourier import fast_length, transform_error

    n = fast_length(2 * max(count - 1, 16))
    spacing = 2 * math.pi / (n * step)
    cell = np.rint(loss / spacing)
    offset = (loss - cell * spacing) * (2 / spacing)
    outside = cell != 0
    moments = _CellMoments(np.mod(cell[outside], n).astype(np.int64), n)
    outer, outer_offset = weight[outside], offset[outside]
    inner, inner_offset = weight[~outside], offset[~outside]
    rows = min(ROWS, max(1, arrays.CHUNK // max(n, len(loss))))
    chunks = -(-TERMS // rows)
    arc = math.pi / n * np.arange(count, dtype=np.float64)
    size = np.ones((1, count))  # arc^r / r!
    values = np.full(count, -math.fsum(outer.tolist()), dtype=np.complex128)
    error = np.zeros(count)
    level, done = transform_error(n) + UNIT_ROUNDOFF * moments.deepest, 0
    while done < TERMS:
        r = np.arange(done, min(done + rows, TERMS), dtype=np.float64)
        size = np.multiply.accumulate(np.vstack([size[-1:], *(arc / k for k in r[1:].tolist())]))
        outer_powers, outer = _powers(outer, outer_offset, len(r))
        inner_powers, inner = _powers(inner, inner_offset, len(r))
        inner_sums, layers = layered_sum(inner_powers)
        if not done:
            inner_sums[0] = 0.0  # the term r = 0 and the -1 cancel
        units = UNIT_ROUNDOFF * (9 * r + 12 + 2 * chunks)
        outer_error = (level + units) * np.abs(outer_powers).sum(axis=1)
        inner_error = (FOLD * layers * UNIT_ROUNDOFF + units) * np.abs(inner_powers).sum(axis=1) * (r > 0)
        terms = inner_sums[:, None] + np.conj(rfft(moments(outer_powers))[:, :count])
        terms = terms * ((1j**r)[:, None] * size)
        for term in terms[-2::-1]:
            terms[-1] += term
        values += terms[-1]
        error += (outer_error + inner_error) @ size
        done += len(r)
        size = size[-1:] * (arc / done)
        left_out = 1.01 * (float(np.abs(outer).sum()) + float(np.abs(inner).sum()))
        if float(size.max()) * left_out <= 0.01 * tolerance:
            break
    error += size[0] * left_out
    drift = float((weight * np.abs(loss)).sum())
    return values, error * (1 + 1e-9) + 16 * UNIT_ROUNDOFF * step * np.arange(count) * drift


class _CellMoments:
    """For each row of an array, sums of the numbers that belong to the same cell of a grid.

    Consecutive numbers of the same cell are first added in blocks. Then the blocks of each cell are added.
    """

    def __init__(self, index: npt.NDArray[np.int64], cells: int) -> None:
        fresh = np.arange(len(index)) % BLOCK == 0
        fresh[1:] = fresh[1:] | (index[1:] != index[:-1])
        self._starts = np.flatnonzero(fresh)
        self._cell, self._cells = index[fresh], cells
        self.deepest: int = BLOCK + int(np.bincount(self._cell).max()) if len(index) else 0

    def __call__(self, numbers: Array) -> Array:
        rows = len(numbers)
        if not len(self._starts):
            return np.zeros((rows, self._cells))
        blocks = np.add.reduceat(numbers, self._starts, axis=1)
        places = (self._cell + self._cells * np.arange(rows)[:, None]).ravel()
        moments = np.bincount(places, weights=blocks.ravel(), minlength=rows * self._cells).astype(
            np.float64, copy=False
        )
        return moments.reshape(rows, self._cells)


def _powers(weight: Array, factor: Array, rows: int) -> tuple[Array, Array]:
    """Return the rows ``weight * factor^r`` for r < rows as one array, and the row for r = rows as another."""
    out = np.empty((rows, len(weight)))
    out[0] = weight
    for r in range(1, rows):
        np.multiply(out[r - 1], factor, out=out[r])
    return out, out[-1] * factor


def layered_sum(x: Array) -> tuple[Array, int]:
    """Return the sums along the last axis, and the number of layers in which they are computed.

    Each layer adds groups of up to FOLD numbers, and the next layer adds the sums of these groups. In each layer a term
    undergoes at most FOLD additions, whatever the order of additions within its group.
    """
    layers = 1
    while x.shape[-1] > FOLD:
        whole = x.shape[-1] // FOLD * FOLD
        folded = x[..., :whole].reshape(*x.shape[:-1], FOLD, -1).sum(axis=-2)
        x = np.concatenate([folded, x[..., whole:].sum(axis=-1, keepdims=True)], axis=-1)
        layers += 1
    return x.sum(axis=-1), layers


def blocked_sum(x: Array) -> float:
    """Return the sum of an array; its error is at most ``BLOCK`` units of round-off, relative to the sum of sizes.

    NumPy adds the numbers of each block, and ``math.fsum`` adds the sums of the blocks.
    """
    whole = len(x) // BLOCK * BLOCK
    return math.fsum([*np.add.reduce(x[:whole].reshape(-1, BLOCK), axis=1).tolist(), *x[whole:].tolist()])
