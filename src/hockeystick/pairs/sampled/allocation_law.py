"""The likelihood ratio of one epoch of random allocation, an average of lognormal variables, and its moments.

A record is in step j with probability ``w_j``, in no step with probability c, and ``c + w_1 + ... + w_T = 1``. Let mu
be the distance of the two laws of a step, divided by the standard deviation. Let ``X_1, ..., X_T`` be independent and
standard normal under Q, the law without the record. Then

    Lambda = dP/dQ = c + S ,     S = w_1 Y_1 + ... + w_T Y_T ,     Y = e^(mu X - mu^2/2) ,     E Y = 1 .

Steps of equal probability form a *group*; probabilities are exact fractions. All bounds on an epoch use the moments
``A(zeta) = E_Q Lambda^zeta``, an entire function of zeta. The characteristic function of the loss is

- remove: ``m(z) = E_P e^(zL) = A(1 + z)``;
- add: ``m(z) = A(-z)``, as the loss is ``-log Lambda`` under Q.

**Real moments.** For a whole number n, with ``T_g`` steps of probability ``w_g`` in group g,

    A(n) = n! [h^n] e^(ch) prod_g (sum_k e^(k(k-1) mu^2/2) (w_g h)^k / k!)^(T_g) ,

whose terms are all positive. ``log A`` is convex (Hoelder's inequality), and it is 0 at 0 and at 1.

Lambda is the mean of 1 and all ``Y_j``, with weights c and ``w_j``. The function ``x^alpha`` is convex for alpha >= 1
and for alpha <= 0, so that ``A(alpha) <= c + (1 - c) E Y^alpha`` there, with
``E Y^alpha = e^(alpha (alpha - 1) mu^2/2)``. An arithmetic mean is at least the geometric mean: for ``p >= 0``

    A(-p) <= E prod_j Y_j^(-p w_j) = e^(p mu^2/2 (1 - c + p sum_j w_j^2)) .

Finally ``Lambda >= c``, hence ``A(-p) <= c^-p``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from hockeystick.numerics.rounding import LARGEST, UNIT_ROUNDOFF
from hockeystick.numerics.series_powers import log_power, log_product, log_roundings
from hockeystick.pairs.moment import MOST_EXPONENT
from hockeystick.pairs.sampled.allocation_columns import columns, matched

Array = npt.NDArray[np.float64]
Groups = tuple[tuple[Fraction, int], ...]  # probability of each step of a group, and the number of its steps

SPARE = 1e-12  # relative amount that covers the roundings of a closed form
FARTHEST = 27.0  # largest n mu: normal densities up to 10 beyond it are in the range of a double
MOST_ORDER = 56  # highest order of the integer moments that a line uses
LEAST_HIGHEST = 3  # least ``highest`` order of integer moments with which a line can be computed
TABLES = (32, 64, 128, 512, 2048)  # sizes of the tables of integer moments, which hold logarithms

OF_BAND, OF_NODE, OF_POWER, OF_SQUARE, OF_COLUMN = 20e3, 20.0, 3.0, 0.2, 0.012
"""Costs, in evaluations of an elementary function, fitted to measured times.

They are the costs of a band; of a node; and, at each node, of a power of Lambda, of a pair of such a power with a lower
power, and of a node in x for each power.
"""


@dataclass(frozen=True)
class AllocationLaw:
    """The likelihood ratio of one epoch, given by its moments.

    Args:
        mu: distance of the two laws of one step, in standard deviations.
        constant: probability that the record is in no step, below 1.
        groups: for each group of equally likely steps, the probability of one step, above 0, and the number of steps,
            at least 1. The probabilities of all steps and the constant add up to 1.

    Attributes:
        patience: additional units of work that an engine may spend on a question about the epoch.
        wider: a Gaussian distance and a law of an epoch whose product dominates; here ``None``, as none is needed.
    """

    mu: float
    constant: Fraction
    groups: Groups

    patience: ClassVar[float] = 0.0
    wider: ClassVar[None] = None

    @cached_property
    def steps(self) -> int:
        """The number T of steps."""
        return sum(count for _, count in self.groups)

    @cached_property
    def log_unit(self) -> Decimal:
        """Logarithm of ``1 / w``, where w is the probability of a step of the first group."""
        first = self.groups[0][0]
        return Decimal(first.denominator).ln() - Decimal(first.numerator).ln()

    @cached_property
    def squares(self) -> float:
        """The sum of the squared probabilities of all steps, with an error of a few roundings."""
        return float(sum(weight * weight * count for weight, count in self.groups))

    @property
    def decay(self) -> float:
        """The rate ``mu^2 / T``: for c = 0, moments decay along a vertical line like ``e^(-decay s^2 / 2)``."""
        return self.mu * self.mu / self.steps

    @property
    def rho(self) -> float:
        """A rho of zero-concentrated privacy, ``mu^2 / 2``, as for one step that certainly has the record.

        This is a bound because ``(p, q) -> p^(1+t) q^(-t)`` is jointly convex.
        """
        return 0.5 * self.mu * self.mu * (1 + SPARE)

    @property
    def variance(self) -> float:
        """The variance of Lambda under Q, ``(e^(mu^2) - 1) sum_j w_j^2``."""
        return math.expm1(min(self.mu * self.mu, MOST_EXPONENT)) * self.squares

    @property
    def like(self) -> AllocationLaw:
        """An epoch with a similar law, which engines use to guide searches: here this epoch itself."""
        return self

    @property
    def highest(self) -> int:
        """The order of the highest integer moment used for moments along a vertical line."""
        return min(MOST_ORDER, math.floor(FARTHEST / self.mu))

    def has_lines(self, add: bool) -> bool:
        """Return True if moments along vertical lines can be computed, in either direction.

        They can if enough integer moments are in the range of a double.
        """
        return self.highest >= LEAST_HIGHEST

    def log_power_above(self, alpha: float) -> float:
        """Upper bound on ``log A(alpha)`` for any real alpha: the least of the closed forms in the module docstring."""
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
        """Upper bound on ``log A(n)`` for a whole number n between 0 and :attr:`highest`."""
        return _log_moment_table(self, _size(n))[n]

    def log_moment_above(self, alpha: float) -> tuple[float, float]:
        """Upper bound on ``log A(alpha)`` for alpha >= 1, and its approximate excess over ``log A(alpha)``.

        As log A is convex, its chord between the integers next to alpha is a bound. A closed form replaces the chord
        where the closed form is smaller. Beyond the tables of integer moments only the closed form is used, and the
        excess is returned as infinite.
        """
        rough = self.log_power_above(alpha)
        if not alpha < TABLES[-1]:
            return rough, math.inf
        found, bent = _between(_log_moment_table(self, _size(alpha)), alpha)
        return min(found, rough), bent

    def log_above(self, alpha: float) -> float:
        """Upper bound on ``log A(alpha)``, for any real alpha."""
        return self.log_moment_above(alpha)[0] if alpha >= 1 else self.log_power_above(alpha)

    def matched(self, angle: float, step: float) -> float:
        """Return a step of the nodes v, at most ``step``, that is a whole multiple of a permitted step of ``mu x``."""
        return matched(self.mu, angle, step)

    def of_band(self, alpha: float, n: int, angle: float, nodes: int) -> float:
        """Return the cost of one band of a line (``allocation_line.py``), in evaluations of elementary functions."""
        groups = len(self.groups)
        powers = 2 * (groups + bool(self.constant)) - 1  # and products
        wide = groups * columns(self.mu, n, angle)
        each = OF_NODE + powers * n * (OF_POWER + OF_SQUARE * n) + OF_COLUMN * (n + 1) * wide
        return OF_BAND * groups + nodes * each


def _size(alpha: float) -> int:
    """Return the size of the smallest table that holds the integer moments next to alpha."""
    return next(size for size in TABLES if size > alpha)


def _between(table: tuple[float, ...], alpha: float) -> tuple[float, float]:
    """Return the chord of a tabulated convex function at alpha >= 1, and its approximate excess over the function."""
    low = min(math.floor(alpha), len(table) - 2)
    share = alpha - low
    found = table[low] * (1 - share) + table[low + 1] * share + SPARE * (1 + table[low + 1])
    return found, 0.5 * share * (1 - share) * (table[low + 1] - 2 * table[low] + table[low - 1])


@lru_cache(maxsize=64)
def _log_moment_table(law: AllocationLaw, size: int) -> tuple[float, ...]:
    """Upper bounds on ``log A(n)``, n = 0, ..., size, computed in logarithms; the constant counts as one step."""
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
