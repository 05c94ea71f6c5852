"""L2 sensitivity of a strategy C: the largest change of ``C x`` by one record that takes part in several steps.

C is the matrix of n steps and x their clipped gradients. A record takes part at most k times, at places (steps) ``p_1 <
p_2 < ..`` that are at least b apart, each time with a vector u_i of norm at most 1. With ``G = C^T C``,

    sensitivity^2 = max over places and u of |sum_i c_{p_i} u_i|^2 <= max over places of sum_ij |G[p_i, p_j]|.

**Above.** Two bounds, of which the smaller one counts:

- *Any C.* Counted from 0, place p_i is at least ``i b``, and places p_i and p_j with i < j are at least ``(j - i) b``
  apart. So ``|G[p_i, p_j]| <= max {|G[p, p + d]|: p >= i b, d >= (j - i) b}``, and the bound is the sum of these
  maxima.
- *At most 2 b bands*, that is ``G[p, p + d] = 0`` for d >= 2 b. Only neighbouring places have a nonzero product, so the
  maximum is found by dynamic programming over the last place and the number of places, as for a longest path. It is
  attained: signs s_i can be chosen one by one so that every ``s_i s_{i+1} G[p_i, p_{i+1}]`` is positive.

**Below.** For any places and signs, the norm of the signed sum of the columns is attained by gradients that are all
parallel. The places 0, b, 2 b, .. and the places of the longest path are tried. If ``C >= 0`` and its coefficients do
not increase, the lower end equals the upper end.

**Rounding.** The error of an inner product is relative to the norms of both computed columns (Cauchy, Schwarz):
``|dG[p, q]| <= e |c_p| |c_q|``. The sum over the places then errs by at most ``e (sum_i |c_{p_i}|)^2 <= e k sum_i
|c_{p_i}|^2``, which is at most ``e k`` times the first of the two bounds above.

**Adaptive gradients.** C is lower triangular. Given the past, the means of the outputs with and without the record
differ by ``(C u)_t`` in row t. The sum of the squares of these differences is at most sensitivity^2, however the u are
chosen. The loss is a martingale with normal increments, plus a drift of half their variance, and this sum bounds its
total variance: it is dominated by one Gaussian release (Denisov, McMahan, Rush, Smith, Thakurta 2022 [DMR+22]).
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
        lower: value attained by a record that takes part at ``places``, in units of the norm bound of one gradient.
        upper: certified bound, in the same units.
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
    """A matrix C, given by the inner products ``G = C^T C`` of its columns.

    Attributes:
        steps: number n of steps.
        bands: number of diagonals of C with nonzero entries; columns at that distance or more have product 0.
        products: function of a distance d < bands that returns ``G[p, p + d]`` for all p < n - d.
        error: bound e on the error of each product, relative to the product of the computed norms of both columns.
        nonnegative: True if no entry of C is negative, so that no product is negative.
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
        """Return the strategy for a matrix given in full."""
        gram, n = matrix.T @ matrix, len(matrix)
        bands = 1 + max((d for d in range(n) if np.diagonal(matrix, -d).any()), default=0)
        error, nonnegative = (n + 4) * UNIT_ROUNDOFF, bool((matrix >= 0).all())
        return cls(n, bands, lambda d: np.diagonal(gram, d).astype(np.float64), error, nonnegative)

    @classmethod
    def tree(cls, depth: int, steps: int) -> Strategy:
        """Return the strategy of a binary tree with ``depth`` levels: rows are nodes, and columns are steps.

        The inner product of two columns is the number of nodes that contain both steps.
        """
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
        """Return the inner products of sums of columns, and bounds on their errors.

        There is one sum for each i < bins, of the columns i, i + bins, i + 2 bins, and so on.

        The error of an inner product is at most ``e |c_p| |c_q|`` for each pair of columns in the two sums, plus one
        rounding for each distance and each place p that it adds up.
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
        """Return the upper bound on the squared sensitivity for any C: the sum of maxima in the module docstring."""
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
        """Return the largest squared sensitivity if C has at most 2 b bands, and the places that attain it."""
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
        """Return the squared norm of the sum of the columns at these places, and the places.

        Each column gets a sign, chosen one by one so that the norm grows as much as possible.
        """
        rows = {d: self.products(d) for d in {q - p for p in places for q in places if 0 <= q - p < self.bands}}
        signs: list[float] = []
        total = 0.0
        for j, q in enumerate(places):
            met = sum(s * float(rows[q - p][p]) for s, p in zip(signs, places[:j], strict=True) if q - p < self.bands)
            signs.append(1.0 if met >= 0 else -1.0)
            total += float(rows[0][q]) + 2 * abs(met)
        return total, places
