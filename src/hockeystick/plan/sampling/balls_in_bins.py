"""Balls in bins with correlated noise: a record is in one of b bins, drawn secretly and kept in all epochs of a run.

A run releases ``C x + s Z`` in n steps, with the strategy C, normal Z and noise s. The steps visit the bins in turn, so
that a record in bin i takes part in steps i, i + b, i + 2b, and so on. Each record draws its bin uniformly,
independently of data, noise and all other records, anew in each run. Let ``m_i`` be the sum of the columns of C at the
steps of bin i (of the columns of |C| where entries are negative), and ``G_ij = <m_i, m_j>``.

**Theorem.** The run is dominated by ``(1/b) sum_i N(m_i, s^2)`` against ``N(0, s^2)``, whose likelihood ratio

    Lambda = (1/b) sum_i exp(Y_i - Var Y_i / 2) ,    Y normal with Cov(Y_i, Y_j) = G_ij / s^2 ,

depends on G alone. (With independent noise it is that of Chua et al. 2025 [CGH+25].) The *proof* uses Kahane's
inequality: for convex f, ``p_i >= 0`` and centred normal X, Y with ``E X_i X_j <= E Y_i Y_j`` for all i and j,

    E f(sum p_i e^(X_i - Var X_i / 2)) <= E f(sum p_i e^(Y_i - Var Y_i / 2))

(the proof in ``pairs/mixture.py`` holds for any two covariances in this order). Let the bins of the other records be
given. Subtract the contributions of these records, which the past determines. Under Q, row t changes the log-likelihood
of bin i by a normal number. Its covariance with the change for bin j is
``<sum_(r in i) C_tr x_r, sum_(q in j) C_tq x_q> / s^2``, at most ``(sum_(r in i) |C_tr|) (sum_(q in j) |C_tq|) / s^2``,
for gradients x of norm at most 1 that the past determines. Let ``V_t(L)`` be the mean of
``f(sum_i e^(L_i + the rest from row t on) / b)`` for these larger covariances, where ``L_i`` is the log-likelihood
before row t. Kahane's inequality with weights ``e^(L_i) / b`` shows that the mean of ``V_t`` does not rise from row to
row, so that the mean of f after all rows is at most ``V_0(0)``. The functions ``f = (y - a)_+`` and ``(1 - a y)_+``
give both orders of the laws. For ``C >= 0`` the pair is attained by equal gradients along one direction.

**Above.** By the same inequality, a G with larger entries gives a pair that dominates. Let d be the largest entry on
the diagonal, and c the largest off the diagonal. Then ``G' = c + (d - c) [i = j]`` is larger. Its pair is the product
of a Gaussian round of distance ``sqrt(c) / s`` and an epoch of random allocation of distance ``sqrt(d - c) / s``. A
smaller c suffices if i modulo L is revealed, which makes the pair no smaller (joint convexity). Then only bins with the
same remainder must be told apart, ``floor(b / L)`` or more, and c is the largest product of bins at distances L, 2L, ..
. (Fewer bins cost more, as a mean of k + 1 equal terms is the mean of its means of k terms.) L is chosen such that
``log E Lambda^2`` is least, which is

    c / s^2 + log(1 + (e^((d - c) / s^2) - 1) / floor(b / L)) .

Another larger G is ``c + (d - c) lambda^|i - j|``, for a Gaussian round and a Markov chain (``markov_law.py``), with
the least lambda possible for each c. It is formed for all bins, and for half of the bins if it is revealed which half
holds the record. Of all these upper pairs, the one with the least second moment is taken.

**Below** there are two pairs, both from C and not from |C|. First, the outcome along ``sum_i m_i`` is a mixture of
``N((G 1)_i / sqrt(1 G 1), s^2)``. It is used if none of these means is negative; they are rounded down to at most
MOST_SHIFTS different ones, which makes the pair smaller. Second, a G with smaller entries is made from the least entry
on the diagonal and the least off it, as ``G'`` was made from the largest.

**Exact.** For lambda-CGD, ``C_ij = c lambda^(i-j)`` and ``0 < lambda < 1``, the law is computed for whole epochs
(``markov_law.py``).

If C is diagonal, with equal norms and equally many steps in each bin, the upper and the lower pair are the same: this
is random allocation. Two cases are not covered: bins of equal sizes, where a record's bin changes the bins of others,
and records that are replaced.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Annotated, NamedTuple

import numpy as np
import numpy.typing as npt

from hockeystick.numerics.rounding import UNIT_ROUNDOFF
from hockeystick.pairs import AllocationPair, DominatingPair, GaussianPair
from hockeystick.pairs.joint import JointPair
from hockeystick.pairs.mixture import MixturePair
from hockeystick.pairs.sampled.allocation import epoch
from hockeystick.pairs.sampled.markov_law import MarkovLaw, told_apart
from hockeystick.pairs.sides import Above, Between, Known
from hockeystick.plan.mechanisms.base import Claim, Mechanism, Property, Status, refused
from hockeystick.plan.sampling import grouped
from hockeystick.plan.sampling.base import Sampling, Zeroed
from hockeystick.values import domains
from hockeystick.values.adjacency import Direction

if TYPE_CHECKING:
    from hockeystick.plan.mechanisms.matrix_gaussian import MatrixGaussian
    from hockeystick.plan.mechanisms.strategy import Strategy

Array = npt.NDArray[np.float64]

MOST_BINS = 2000  # largest number of bins: the matrix of their products fits in memory
MOST_RATE, MOST_EPOCHS, MOST_ONCE, MOST_KEPT = 0.99, 16, 1024, 256
"""Limits of the exact law for lambda-CGD, at which an answer takes about a minute.

They are the largest lambda, number of epochs, number of bins in a run of one epoch, and of bins in a run of several.
"""

SHARES = np.linspace(0.0, 0.98, 50)  # values of c that are tried, as shares of d
LEAST_RATE = 1e-6  # least lambda of a chain
SLIP = 1e-12  # relative margin for the roundings of a quotient, a root or a power

MOST_SHIFTS = 32  # largest number of different shifts in the lower mixture

_PROVED = Claim(Status.BRACKET, "proof in plan/sampling/balls_in_bins.py, by Kahane's inequality")

_REPLACED = refused(
    "no pair is known for replacing a record that is in one bin; use adjacency 'add-or-remove' or 'zero-out'"
)

_INDEPENDENT = refused(
    "balls in bins is supported with correlated noise only; with independent noise, use sampling 'random-allocation' "
    "with epochs_per_assignment"
)

WHY_EXACT = "lambda-CGD is exact for whole epochs, and bounded at deltas below 1e-9 and for long runs"

WHY = (
    "noise correlated between bins is bounded from above by simpler correlations and from below by the sum of all steps"
)


@dataclass(frozen=True)
class BallsInBins(Sampling):
    """Balls in bins: every record keeps one of ``bins`` bins in all epochs, and the steps visit the bins in turn.

    Args:
        bins: number of bins, the ``min_separation`` of the run.

    Raises:
        InvalidInputError: the number of bins is outside its domain.

    >>> from hockeystick import MatrixGaussian, Plan, Round
    >>> run = MatrixGaussian(4.0, steps=64, min_separation=32, norm="none", inverse_coefficients=[1.0, -0.3])
    >>> print(Plan([Round(run, BallsInBins(32))]).epsilon(1e-5))
    0.307246 to 0.307247 (certified)
    """

    bins: Annotated[int, domains.whole_numbers(1, MOST_BINS).of("number of bins that the steps visit in turn")]

    name = "balls-in-bins"
    zeroed = Zeroed.AS_ABSENT
    samples_runs = True
    assumption = (
        "each record draws one bin, secretly and independently of all other records, and takes part in the steps of "
        "that bin in every epoch of the run (balls in bins); each run, including each repetition by count, draws anew; "
        "the number is not valid for bins of equal sizes, bins redrawn within a run, or bins kept from run to run"
    )

    @classmethod
    def claim(cls, mechanism: type[Mechanism], direction: Direction) -> Claim:
        """Return a bracket for correlated noise; everything else is refused."""
        if Property.RUN not in mechanism.properties:
            return _INDEPENDENT
        return _REPLACED if direction is Direction.REPLACE_ONE else _PROVED

    def claim_of(self, mechanism: Mechanism, direction: Direction) -> Claim:
        """Return the claim for a run: refused if its separation is not ``bins``, upper if no lower pair is known."""
        found = self.claim(type(mechanism), direction)
        if found is not _PROVED:
            return found
        refusal = grouped.refusal(grouped.run_of(mechanism), self.bins, "bins")
        known = refusal is not None or self._products(mechanism).known_below
        return refusal or (found if known else replace(found, status=Status.UPPER))

    def _products(self, mechanism: Mechanism) -> _Products:
        run = grouped.run_of(mechanism)
        return _products(run.strategy, run.magnitudes, self.bins)

    def known(self, mechanism: Mechanism, direction: Direction) -> Known:
        """Return an upper pair of a run, and the lower pairs that are known."""
        noise, add = grouped.run_of(mechanism).noise_multiplier, direction is Direction.ADD
        found = self._products(mechanism)
        own, between = found.most / noise**2, found.most_between / noise**2
        second, many, shared = told_apart(own, between)
        above = [(second, _equal(many, found.most, shared * noise**2, noise, 1, add))]
        chain = chained(own, between)
        if chain is not None:
            second, shared, law = chain
            above.append((second, JointPair(((GaussianPair(math.sqrt(shared)), 1), (AllocationPair(law, add), 1)))))
        below: list[DominatingPair] = []
        if found.along is not None:
            below.append(_mixture(found.along / noise * (1 - SLIP), add))
        if found.evenly:
            below.append(_equal(self.bins, found.least, found.least_between, noise, -1, add))
        laws = [_markov(grouped.run_of(mechanism), self.bins, side) for side in (-1, 1)]
        if laws[0] is not None:
            below.insert(0, AllocationPair(laws[0], add))
        if laws[1] is not None:
            above.append((math.log1p(laws[1].variance), AllocationPair(laws[1], add)))
        least = min(above, key=lambda each: each[0])[1]
        why = WHY_EXACT if laws[1] is not None else WHY
        return Between(least, tuple(below), why) if below else Above(least)


def _markov(run: MatrixGaussian, bins: int, side: int) -> MarkovLaw | None:
    """Return the exact law of a run of lambda-CGD; ``None`` for other strategies or parameters out of range.

    The number of steps is rounded to whole epochs, up (side 1) for an upper law or down (-1) for a lower one. Rounding
    down gives a lower law because, with fewer rows and columns of ``C >= 0``, no product of two bins is larger.
    """
    known, epochs = run.markov, -(-run.steps // bins) if side > 0 else run.steps // bins
    if known is None or bins < 2 or not 1 <= epochs <= MOST_EPOCHS or bins > (MOST_KEPT if epochs > 1 else MOST_ONCE):
        return None
    rate, scale = known
    if rate > MOST_RATE:
        return None
    return MarkovLaw(math.sqrt(epochs) * scale / run.noise_multiplier, rate, bins, epochs)


class _Products(NamedTuple):
    """Products of bins: ``<m_i, m_j>``, where ``m_i`` is the sum of the columns of C at the steps of bin i.

    Attributes:
        most: the largest product of a bin with itself, for |C|, rounded up.
        most_between: at index d, the largest product of two bins at distance d, for |C|, rounded up; at least 0.
        least: the least product of a bin with itself, for C, rounded down.
        least_between: the least product of two different bins, for C, rounded down; 0 if there is one bin.
        along: length of each ``m_i`` along the sum of all ``m_i``, rounded down; None if one of them is not positive.
    """

    most: float
    most_between: Array
    least: float
    least_between: float
    along: Array | None

    @property
    def known_below(self) -> bool:
        """True if at least one lower pair is known."""
        return self.along is not None or self.evenly

    @property
    def evenly(self) -> bool:
        """True if there is a law in which all bins have the least products."""
        return self.least > 0 and self.least_between >= 0


@lru_cache(maxsize=4)
def _products(strategy: Strategy, magnitudes: Strategy, bins: int) -> _Products:
    """Return the products of bins for a strategy and for its absolute values; cached for repeated calibration."""
    beside = ~np.eye(bins, dtype=bool)
    gram, doubt = magnitudes.of_bins(bins)
    high = gram + doubt
    gram, doubt = strategy.of_bins(bins)
    low = np.maximum(gram - doubt, 0.0) if strategy.nonnegative else gram - doubt
    # a sum of b numbers errs by b roundings of the sum of their sizes
    care = 4 * (bins + 4) * UNIT_ROUNDOFF * (np.abs(gram) + doubt).sum(axis=1)
    along = (low.sum(axis=1) - care) / math.sqrt(float((gram + doubt).sum() + care.sum())) * (1 - SLIP)
    return _Products(
        float(high.max()),
        np.array([max(float(high.diagonal(distance).max()), 0.0) for distance in range(bins)]),
        max(float(low.diagonal().min()), 0.0),
        float(low.min(where=beside, initial=math.inf)) if bins > 1 else 0.0,
        along if along.min() > 0 else None,
    )


def chained(own: float, between: Array) -> tuple[float, float, MarkovLaw] | None:
    """Return the best upper pair made of a Gaussian round and a Markov chain; ``None`` if parameters are out of range.

    The three results are ``log E Lambda^2``, which is the least of all candidates; the squared distance c of the
    Gaussian round; and the law of the chain. Products at distance d are at most ``c + (own - c) lambda^d``. The chain
    has all bins, or half of them, where it is revealed which half holds the record.

    Args:
        own: the largest product of a bin with itself, over the variance of the noise.
        between: at index d, the largest product of two bins at distance d, over the variance of the noise.
    """
    found = []
    for bins in {len(between), len(between) // 2} - {0, 1}:
        distance = np.arange(1, bins, dtype=np.float64)
        for shared in own * SHARES:
            rest = own - shared
            excess = np.maximum(between[1:bins] - shared, 0.0) / rest
            rate = max(float((excess ** (1 / distance)).max()) * (1 + SLIP), LEAST_RATE)
            if rate <= MOST_RATE and bins <= MOST_ONCE:
                terms = np.log(2 * (bins - distance)) + rest * rate**distance
                second = shared + np.logaddexp(math.log(bins) + rest, np.logaddexp.reduce(terms)) - 2 * math.log(bins)
                found.append((float(second), float(shared) * (1 + SLIP), rate, float(rest), bins))
    if not found:
        return None
    second, shared, rate, rest, bins = min(found)
    mu = math.sqrt(rest * (1 - rate) * (1 + rate)) * (1 + SLIP)
    return second, shared, MarkovLaw(mu, rate, bins, 1, stationary=True)


def _mixture(shifts: Array, add: bool) -> DominatingPair:
    """Return the pair of a mixture with these shifts; more than MOST_SHIFTS of them are rounded down to fewer."""
    low, high = float(shifts.min()), float(shifts.max())
    if len(set(shifts.tolist())) > MOST_SHIFTS:
        step = (high - low) / MOST_SHIFTS
        shifts = np.minimum(shifts, (low + step * np.floor((shifts - low) / step)) * (1 - SLIP))
    counts = Counter(shifts.tolist())
    if len(counts) == 1:
        return GaussianPair(low)
    places = sorted(counts)
    return MixturePair(tuple(places), tuple(counts[each] / len(shifts) for each in places), add)


def _equal(bins: int, own: float, shared: float, noise: float, side: int, add: bool) -> DominatingPair:
    """Return the pair of a run where all products ``<m_i, m_i>`` are ``own`` and all other products are ``shared``.

    Distances are rounded up (side 1) or down (-1).
    """
    spare, shared = 1 + side * 8 * UNIT_ROUNDOFF, min(shared, own)
    parts: list[tuple[DominatingPair, int]] = []
    if shared > 0:
        parts.append((GaussianPair(math.sqrt(shared) / noise * spare), 1))
    if own > shared or not parts:
        mu = math.sqrt(own - shared) / noise * spare
        parts.append((epoch(mu, ((Fraction(1, bins), bins),), Fraction(0), add), 1))
    return JointPair(tuple(parts))
