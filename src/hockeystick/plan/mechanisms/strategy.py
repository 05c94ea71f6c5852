"""L2 sensitivity of a strategy: largest change of ``C x`` by one record that takes part in several steps.

C is the matrix of n steps and x their clipped gradients. A record takes part at places ``p_1 < p_2 < ..``, at most k of
them and at least b apart, with vectors u of norm at most 1, so that with ``G = C^T C``

    sensitivity^2 = max over places and u of |sum_i c_{p_i} u_i|^2 <= max over places of sum_ij |G[p_i, p_j]|.

**Above.** Two bounds, of which the smaller one counts:

- *Any C.* The place number i, from 0, is at least ``i b``, and the places i < j are at least ``(j - i) b`` apart, so
  that ``|G[p_i, p_j]| <= max {|G[p, p + d]|: p >= i b, d >= (j - i) b}``; the sum of these maxima.
- *At most 2 b bands*, that is ``G[p, p + d] = 0`` for d >= 2 b. Only neighbouring places meet, and the maximum is that
  of a path, by dynamic programming over the last place and the number of places. It is attained: along a path signs
  can be chosen so that every ``s_i s_{i+1} G[p_i, p_{i+1}]`` is positive.

**Below.** The norm of the sum of the columns at any places, with any signs, is attained by gradients along one
direction. The places 0, b, 2 b, .. and those of the path are tried. If ``C >= 0`` and its coefficients do not increase,
both ends meet.

Sums of products err relative to the norms of both computed columns (Cauchy, Schwarz): ``|dG[p, q]| <= e |c_p| |c_q|``.
The sum over the places then errs by at most ``e (sum_i |c_{p_i}|)^2 <= e k sum_i |c_{p_i}|^2``, and that is at most
``e k`` times the first bound.

**Adaptive gradients.** C is lower triangular, so that given the past the outputs with and without the record differ at
row t by the mean ``(C u)_t``, and the sum of the squares of these is at most sensitivity^2 however the u are chosen.
The loss is a martingale with normal increments and a drift of half their variance, run for at most that time: it is
dominated by one Gaussian release (Denisov, McMahan, Rush, Smith, Thakurta 2022 [DMR+22]).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from hockeystick.numerics.rounding import UNIT_ROUNDOFF

Array = npt.NDArray[np.float64]

MOST_ERROR = 1e-3  # largest error of a strategy that is accepted
EXACT = 1e-9  # relative width below which both ends count as one number
ANY, PATH = "bound for any strategy", "dynamic program for at most twice as many bands as the separation"
MOST_WORK = 4e8  # operations of the path: a few seconds


class Sensitivity(NamedTuple):
    """Lower and upper end of a sensitivity.

    Attributes:
        lower: value attained by the places.
        upper: certified bound, in units of the norm bound of one gradient.
        places: steps, counted from 0, at which a record attains the lower end.
        exact: True if both ends are equal except for rounding.
        theorem: theorem for the upper end.
    """

    lower: float
    upper: float
    places: tuple[int, ...]
    exact: bool
    theorem: str


@dataclass(frozen=True)
class Strategy:
    """The products of the columns of C.

    Attributes:
        steps: number n of steps.
        bands: number of diagonals of C with nonzero entries; products of columns at that distance or more are 0.
        products: for each distance d < bands, ``G[p, p + d]`` for p < n - d.
        error: bound e on the error of each product, relative to the product of the computed norms of both columns.
        nonnegative: True if no entry of C is negative, so that no product is.
    """

    steps: int
    bands: int
    products: Callable[[int], Array]
    error: float
    nonnegative: bool

    @classmethod
    def toeplitz(cls, coefficients: Array, doubt: Array, steps: int) -> Strategy:
        """Return the strategy with the coefficients in its first column, each off by at most ``doubt``."""
        c, bands = coefficients[:steps], min(len(coefficients), steps)

        def products(d: int) -> Array:
            # G[p, p + d] = sum of c_s c_{s + d} over s < n - p - d
            sums = np.cumsum(c[: len(c) - d] * c[d:])
            return np.concatenate([np.full(steps - d - len(sums), sums[-1]), sums[::-1]])

        # errors of the coefficients of a column relative to its norm; each column is the first m coefficients
        sizes, doubts = (np.sqrt(np.cumsum(np.square(each))) for each in (c, doubt[:steps]))
        off = float((doubts / sizes).max()) * (1 + (bands + 4) * UNIT_ROUNDOFF)
        error = (bands + 4) * UNIT_ROUNDOFF + (2.1 + off) * off
        return cls(steps, bands, products, error, bool((coefficients >= doubt).all()))

    @classmethod
    def dense(cls, matrix: Array) -> Strategy:
        """Return the strategy with a matrix."""
        gram, n = matrix.T @ matrix, len(matrix)
        bands = 1 + max((d for d in range(n) if np.diagonal(matrix, -d).any()), default=0)
        error, nonnegative = (n + 4) * UNIT_ROUNDOFF, bool((matrix >= 0).all())
        return cls(n, bands, lambda d: np.diagonal(gram, d).astype(np.float64), error, nonnegative)

    @classmethod
    def tree(cls, depth: int, steps: int) -> Strategy:
        """Return the binary tree with ``depth`` levels, whose nodes are the rows: products count common nodes."""
        leaves = np.arange(steps)

        def products(d: int) -> Array:
            apart = np.frexp((leaves[: steps - d] ^ leaves[d:]).astype(np.float64))[1]  # levels below the meeting point
            common: Array = (depth - apart).astype(np.float64)
            return common

        return cls(steps, steps, products, 0.0, nonnegative=True)

    def of_unit_columns(self) -> Strategy:
        """Return the strategy with each column divided by its norm."""
        norm = np.sqrt(self.products(0))
        # a product errs by e / (1 - e), and both norms together by as much: at most 2.1 e, as e is below MOST_ERROR
        error = 2.1 * self.error + 8 * UNIT_ROUNDOFF
        return replace(self, products=lambda d: self.products(d) / (norm[: len(norm) - d] * norm[d:]), error=error)

    def of_bins(self, bins: int) -> tuple[Array, Array]:
        """Return the products of the sums of columns 0, b, .., of columns 1, b + 1, .. and so on, and their errors.

        A sum of products errs by ``e |c_p| |c_q|`` for each product, and by one rounding for each distance and each
        place p that it covers.
        """
        gram, places = np.zeros((bins, bins)), np.arange(self.steps) % bins
        for d in range(self.bands):
            i, j = np.arange(bins), (np.arange(bins) + d) % bins
            part = np.bincount(places[: self.steps - d], self.products(d), minlength=bins)
            gram[i, j] += part
            if d:
                gram[j, i] += part
        sizes = np.bincount(places, np.sqrt(self.products(0)), minlength=bins)
        doubt = self.error + (3 * -(-self.steps // bins) + 8) * UNIT_ROUNDOFF
        return gram, doubt * np.multiply.outer(sizes, sizes)

    def sensitivity(self, separation: int, participations: int) -> Sensitivity:
        """Return the sensitivity to a record in at most ``participations`` steps, ``separation`` or more apart."""
        b, k = separation, min(participations, -(-self.steps // separation))
        most, (lower, places) = self._bound(b, k), self._attained([i * b for i in range(k)])
        upper, theorem = most, ANY
        gap = max(self.bands - b, 0)
        if lower < upper * (1 - EXACT) and self.bands <= 2 * b and k * self.steps * (gap + 1) <= MOST_WORK:
            path, along = self._path(b, k)
            upper, (lower, places), theorem = min(upper, path), max((lower, places), self._attained(along)), PATH
        doubt = k * (self.error + 4 * UNIT_ROUNDOFF) * most
        low, high = math.sqrt(max(lower - doubt, 0.0)), math.sqrt(upper + doubt)
        low, high = low * (1 - 4 * UNIT_ROUNDOFF), high * (1 + 4 * UNIT_ROUNDOFF)
        return Sensitivity(low, high, tuple(places), low >= high * (1 - EXACT), theorem)

    def _bound(self, b: int, k: int) -> float:
        """Return the upper bound for any C, the sum of the maxima."""
        most = np.zeros(k)  # for each place number i: maximum over larger distances and p >= i b
        total = 0.0
        for d in range(self.bands - 1, -1, -1):
            beyond = np.maximum.accumulate(np.abs(self.products(d))[::-1])[::-1][::b][:k]  # max over p >= i b
            if d == 0:
                return total + float(beyond.sum())
            most[: len(beyond)] = np.maximum(most[: len(beyond)], beyond)
            if d % b == 0:
                total += 2 * float(most[: max(k - d // b, 0)].sum())
        raise AssertionError("a strategy has a diagonal")

    def _path(self, b: int, k: int) -> tuple[float, list[int]]:
        """Return the maximum over places if C has at most 2 b bands, with the places that attain it."""
        n, own = self.steps, self.products(0)
        meeting = [(d, 2 * np.abs(self.products(d))) for d in range(b, self.bands)]
        best, came = [own], []
        for _ in range(1, k):
            before, value, source = best[-1], np.full(n, -math.inf), np.full(n, -1)
            far = max(self.bands, b)  # places at this distance or more have product 0: take the best up to p - far
            if far < n:
                top = np.maximum.accumulate(before[: n - far])
                at = np.maximum.accumulate(np.where(before[: n - far] == top, np.arange(n - far), 0))
                value[far:], source[far:] = top, at
            for d, product in meeting:
                near = before[: n - d] + product
                better = near > value[d:]
                value[d:] = np.where(better, near, value[d:])
                source[d:] = np.where(better, np.arange(n - d), source[d:])
            best.append(value + own)
            came.append(source)
        number = max(range(len(best)), key=lambda j: best[j].max())
        place = int(best[number].argmax())
        places = [place]
        for source in came[:number][::-1]:
            place = int(source[place])
            places.append(place)
        return float(best[number].max()), places[::-1]

    def _attained(self, places: list[int]) -> tuple[float, list[int]]:
        """Return the squared norm of the sum of the columns at these places, with signs chosen one by one."""
        rows = {d: self.products(d) for d in {q - p for p in places for q in places if 0 <= q - p < self.bands}}
        signs: list[float] = []
        total = 0.0
        for j, q in enumerate(places):
            met = sum(s * float(rows[q - p][p]) for s, p in zip(signs, places[:j], strict=True) if q - p < self.bands)
            signs.append(1.0 if met >= 0 else -1.0)
            total += float(rows[0][q]) + 2 * abs(met)
        return total, places
