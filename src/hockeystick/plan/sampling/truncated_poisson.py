"""Truncated Poisson sampling: batches larger than a limit are cut to it at random.

Each record enters the batch independently with probability q; a batch of more than B records is cut to B of them,
chosen uniformly at random. n is the size of the larger dataset, x the record that is added or removed, C = 1 the norm
bound.

**Theorem.** Let J be the number of the other n - 1 records that are sampled, ``w = P[J >= B]``, and

    q' = q E[B / (J + 1) | J >= B] = B P[Bin(n, q) > B] / (n w) .

A round is dominated, in either direction, by the pair whose loss has the law of

    with probability 1 - w:  Poisson-sampled Gaussian noise of multiplier s, at the rate q;
    with probability w:      Poisson-sampled Gaussian noise of multiplier s / 2, at the rate q' .

*Proof.* J has the same law on both datasets, so the event ``J >= B`` may be revealed (H is jointly convex). Given J <
B, the batch R of the other records is not cut. Without x the sum is that of R; with x it is that of R, plus x with
probability q. Given ``J >= B``, let T be a uniformly random set of B of the other records, and y a uniformly random
member of T. Without x, the kept records are T, for every J. If x is sampled, B of J + 1 records are kept. Then x is
kept with probability ``B / (J + 1)``, and the records kept beside it are ``T - y``. T and y do not depend on J. So,
given T and y, the sum is that of T without x; with x it is that of T or, with probability q', that of ``T - y + x``, at
a distance of at most 2. The two cases are dominated by the scalar pairs at distances 1 and 2 (Zhu, Dong, Wang 2022
[ZDW22], Theorem 11). Finally, with ``C(n - 1, j) / (j + 1) = C(n, j + 1) / n``,

    q E[B / (J + 1); J >= B] = (B / n) sum_(j >= B) C(n, j + 1) q^(j + 1) (1 - q)^(n - 1 - j)
                             = (B / n) P[Bin(n, q) > B].

*Below.* All others contribute 0, and x contributes a vector of norm 1. As x is in the batch, and thus in the sum, with
probability ``q (1 - w) + q' w``, this is a Poisson-sampled round at that rate and with noise s.

**Setting a record's contribution to zero.** The record is sampled, and counted when a batch is cut, as before. Given
``J < B`` nothing is cut. The sum is that of R; with probability q, x is added to it on one dataset and zero on the
other. This is the first of the two laws again. Given ``J >= B``, T and y, the sum is that of T or, with probability q',
that of ``T - y + x`` on one dataset and that of ``T - y`` on the other. Measured from the sum of T, these are two
contributions, ``x - y`` and ``-y``, of norms at most 2, sampled at the rate q'. So they are dominated by the pair of a
*replaced* record under Poisson sampling at noise s / 2 (Lebeda, Regehr, Kamath, Steinke 2024 [LRKS24], Proposition 13),
in both orders of the laws. This is the published mixture (Ganesh 2025, in dp_accounting). *Below*: the same instance.

**Numbers.** Binomial probabilities are computed in Decimal, to 60 digits, relative to one of them, from the ratios of
neighbours. A tail is the sum of its probabilities over the sum of all. In both directions, the ratios fall beyond the
mode, and a geometric series bounds the rest of each sum. If w or 1 - w is less than LEAST, its law is replaced by
infinite loss with the same mass.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import lru_cache
from math import ceil
from typing import Annotated

from hockeystick.pairs import (
    DominatingPair,
    GaussianPair,
    PoissonAddPair,
    PoissonRemovePair,
    PoissonSubstitutionPair,
)
from hockeystick.pairs.either import EitherPair
from hockeystick.pairs.sides import Between, Known, Tight
from hockeystick.plan.mechanisms.base import Claim, Mechanism, Property, Status, refused
from hockeystick.plan.sampling.base import Sampling, Zeroed, mu_of
from hockeystick.values import domains
from hockeystick.values.adjacency import Direction
from hockeystick.values.exact import PRECISE, decimal

RELATIVE_REST = Decimal("1e-40")
"""Relative size of the neglected rest of a sum of binomial probabilities."""

LEAST = 1e-250
"""Smallest probability that is distinguished from 0, of a cut batch and of a batch that is not cut."""

_ONE_OR_THE_OTHER = Claim(
    Status.BRACKET,
    "proof in plan/sampling/truncated_poisson.py; below a Poisson-sampled round at the rate that is kept",
)
"""Claim for adding and removing a record, and for setting its contribution to zero."""

_REPLACED = refused("no pair is proven for replacing a record in truncated batches; use adjacency 'add-or-remove'")

_NOT_GAUSSIAN = refused("truncated Poisson sampling is supported for Gaussian noise on a sum only")

_WHY = "in a truncated batch a record displaces another, and no tight pair is known for that"


@dataclass(frozen=True)
class TruncatedPoisson(Sampling):
    """Poisson sampling, with batches of more than ``max_batch_size`` records cut to that many at random.

    With a limit some standard deviations above the mean, a cut is rare and costs little.

    Args:
        sample_rate: probability with which a record is sampled, in (0, 1].
        dataset_size: number of records of the larger dataset.
        max_batch_size: largest batch that is not cut.

    Raises:
        InvalidInputError: a value is outside its domain.

    >>> TruncatedPoisson(sample_rate=0.02, dataset_size=10_000, max_batch_size=200).kept
    0.0194...
    """

    sample_rate: Annotated[float, domains.RATE.of("probability that a record is sampled")]
    dataset_size: Annotated[int, domains.RECORDS.of("number of records in the larger dataset")]
    max_batch_size: Annotated[int, domains.RECORDS.of("batch size limit")]

    name = "truncated-poisson"
    zeroed = Zeroed.OWN
    assumption = (
        "each record is sampled independently with the sample rate, and a batch larger than max_batch_size is "
        "reduced to a uniformly random subset of that size (truncated Poisson sampling); the number is not valid if "
        "the first records are kept, or for shuffled batches"
    )

    @classmethod
    def claim(cls, mechanism: type[Mechanism], direction: Direction) -> Claim:
        """Return a bracket for Gaussian noise on a sum if a record is added, removed or set to zero."""
        if Property.GAUSSIAN not in mechanism.properties or Property.SUM not in mechanism.properties:
            return _NOT_GAUSSIAN
        return _REPLACED if direction is Direction.REPLACE_ONE else _ONE_OR_THE_OTHER

    @property
    def cut(self) -> tuple[float, float, float]:
        """Probability that fewer than B other records are sampled, probability that B or more are, and the rate q'.

        In the second case the record in question enters the sum at the rate q'.
        """
        return truncation(self.dataset_size, decimal(self.sample_rate), self.max_batch_size)

    @property
    def kept(self) -> float:
        """Probability that the record is in the batch."""
        whole, w, rate = self.cut
        return self.sample_rate * whole + rate * w

    def known(self, mechanism: Mechanism, direction: Direction) -> Known:
        """Return the upper law, a mixture of two sampled rounds, and the lower law, one round at the kept rate.

        If no batch can be cut, both are plain Poisson sampling.
        """
        mu = mu_of(mechanism.with_against_without())

        def sampled(distance: float, rate: float) -> DominatingPair:
            pair = GaussianPair(distance * mu)
            if rate == 1:
                return pair
            return (PoissonAddPair if direction.order is Direction.ADD else PoissonRemovePair)(pair, rate)

        plain = sampled(1, self.sample_rate)
        if self.max_batch_size >= self.dataset_size:
            return Tight(plain)
        whole, w, rate = self.cut
        cut = PoissonSubstitutionPair(2 * mu, rate) if direction.zeroes and rate < 1 else sampled(2, rate)
        rounds = [(plain, whole), (cut, w)]
        likely = [(pair, weight) for pair, weight in rounds if weight >= LEAST]
        parts, weights = tuple(pair for pair, _ in likely), tuple(weight for _, weight in likely)
        above = EitherPair(parts, weights, 0.0 if len(likely) == len(rounds) else LEAST)
        return Between(above, (sampled(1, self.kept),), _WHY)

    @property
    def steps_per_epoch(self) -> int:
        """``ceil(1 / sample_rate)``, as for Poisson sampling."""
        return ceil(1 / decimal(self.sample_rate))


@lru_cache(maxsize=256)
def truncation(records: int, rate: Fraction, most: int) -> tuple[float, float, float]:
    """Return 1 - w, w and q' of the module docstring, for n records and limit B.

    If w is less than LEAST, q takes the place of q'.
    """
    if rate == 1:  # all others are sampled
        return 0.0, 1.0, most / records
    with localcontext(PRECISE):
        whole, w = tails(records - 1, rate, most)
        if w < Decimal(LEAST):
            return 1.0, 0.0, float(rate)
        among = Decimal(most) * tails(records, rate, most + 1)[1] / (Decimal(records) * w)
        return float(whole), float(w), float(among)


def tails(n: int, rate: Fraction, least: int) -> tuple[Decimal, Decimal]:
    """Return ``P[Bin(n, q) < least]`` and ``P[Bin(n, q) >= least]``, for ``0 < q < 1``, in the current decimal context.

    A probability far below :data:`LEAST` is only known to be below it.
    """
    if not 0 < least <= n:
        return (Decimal(1), Decimal(0)) if least > n else (Decimal(0), Decimal(1))
    odds = Decimal(rate.numerator) / Decimal(rate.denominator - rate.numerator)
    below, above = _beyond(n, 1 / odds, n - least), 1 + _beyond(n, odds, least)
    return below / (below + above), above / (below + above)


def _beyond(n: int, odds: Decimal, start: int) -> Decimal:
    """Return ``P[X > start] / P[X = start]``, where X counts the successes among n trials with these odds.

    The sum ends where the terms fall and the rest is negligible, or where it exceeds the square of 1 / LEAST.
    """
    term, total, most = Decimal(1), Decimal(0), Decimal(LEAST) ** -2
    for k in range(start, n):
        ratio = Decimal(n - k) / Decimal(k + 1) * odds
        term *= ratio
        total += term
        if total > most or (ratio < 1 and term * ratio <= RELATIVE_REST * total * (1 - ratio)):  # bound on the rest
            break
    return total
