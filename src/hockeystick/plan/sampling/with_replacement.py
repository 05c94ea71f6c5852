"""Sampling with replacement: every round makes independent draws from the records.

A round makes m draws. Each is the record in question with probability w, which is 1/n for equal weights. A draw that is
not that record is one of the others, by a law independent of the record. The released sum has normal noise of s
clipping norms. The number K of draws that are the record has the law Bin(m, w).

**Adding or removing the record** (n is the size of the larger dataset). First draw r_1, ..., r_m from the others. The
smaller dataset releases ``S = sum_j r_j`` plus noise. The larger dataset has x in place of r_j for all j in a random
set J of size K, independent of the r_j. Given all r_j, the pair is that of random shifts ``sum_(j in J) (x - r_j)``, of
norm at most 2 |J|. Hence it is dominated (``pairs/mixture.py``), and by joint convexity also without the r_j given, by

    ( sum_k Bin(m, w)(k) N(2k, s^2),   N(0, s^2) ),

in both orderings. *Attained*: all others contribute -u, and x = u.

**Replacing the record**, x by x'. *Upper*: with ``q = 1 - (1 - w)^m`` both laws are mixtures, ``(1 - q) mu0 + q nu``
and ``(1 - q) mu0 + q nu'``, where mu0 is the law given K = 0, and nu and nu' are the laws given K >= 1. For
``b = e^eps >= 1`` advanced joint convexity (Balle, Barthe, Gaboardi 2018 [BBG18], Theorem 2), with
``a = 1 + (b - 1) / q`` and ``beta = b / a``, makes the divergence ``q H_a(nu || (1 - beta) mu0 + beta nu')``. Given r
and J, the batches of nu and mu0 differ in at most |J| vectors, and so do those of nu and nu'. So joint convexity gives
the bound (their Theorem 10)

    q sum_k w_k H_a(N(2k, s^2) || N(0, s^2)),      w_k = Bin(m, w)(k) / q for k >= 1,

which is q H_a of the pair that reveals k (``pairs/sampled/drawn.py``) and is its own mirror image. Below b = 1 the
datasets are exchanged. ``pairs/sampled/fixed_size_pair.py`` turns this curve, with rate q, into a pair. *Below*: all
others contribute -u, x = u and x' = -u. This gives the pair of a removed record and, with the datasets exchanged, that
of an added one.

**Setting a record's contribution to zero.** If k draws are the record, they add k x on one dataset and zero on the
other. *Upper*: the pair of a replaced record, since the replacement may contribute 0. *Below*: all others contribute 0,
which gives the mixture with shifts k against N(0); or all others contribute -x, and the pair is made of tests of the
sum (``pairs/sampled/opposed_draws.py``). ``(sum_k Bin(m, w)(k) N(k), N(0))`` is not an upper bound: if all others
contribute -x, the pair ``(sum p_k N(2k), sum p_k N(k))`` is worse by two orders of magnitude in places.

**Unequal weights.** w is the probability of the likeliest record. Upper and lower pairs get worse as w grows, since K
gets stochastically larger, so the upper pair covers every record.

**Cut of the binomial law.** The terms k > N have the total mass T. In the upper pair they are put at infinite loss,
from which a random map restores them. In the lower pair they are put at k = 0, which makes K smaller. T is at most CUT
times the probability that the record is not drawn at all. The sum beyond N is at most its first term over ``1 - r``,
where r is the ratio of its first two terms, as the ratios fall. Weights are computed in 60 decimal digits, and
rounded to doubles, as ``pairs/mixture.py`` allows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import lru_cache
from math import ceil
from typing import Annotated, Any, ClassVar, NamedTuple

from hockeystick.numerics.rounding import TINY
from hockeystick.pairs import DominatingPair, GaussianPair, PoissonAddPair, PoissonRemovePair, WithoutReplacementPair
from hockeystick.pairs.mixture import MixturePair
from hockeystick.pairs.sampled.drawn import RevealedPair
from hockeystick.pairs.sampled.opposed_draws import LEAST, MOST, opposed_draws
from hockeystick.pairs.sides import Between, Known, Tight
from hockeystick.plan.mechanisms.base import Claim, Mechanism, Property, Status, refused
from hockeystick.plan.sampling.base import Sampling, Zeroed, mu_of
from hockeystick.values import domains
from hockeystick.values.adjacency import Direction
from hockeystick.values.errors import InvalidInputError
from hockeystick.values.exact import PRECISE, decimal

CUT = Decimal("1e-32")
"""Neglected rest of the binomial law, relative to the probability that the record is not drawn."""

MOST_DRAWN = 20
"""Largest average number of draws of a record: beyond it sampling hides nothing, and the law has hundreds of terms."""

SAME = "proof in plan/sampling/with_replacement.py, by the lemma in pairs/mixture.py"
"""Source of the claims: the place of the proof."""

_ONE_OR_THE_OTHER = Claim(Status.BRACKET, f"{SAME}; the two pairs differ by less than 1e-30 of mass, or not at all")
"""Claim for adding and removing a record."""

_REPLACED = Claim(
    Status.BRACKET, f"{SAME}, and Balle, Barthe, Gaboardi 2018 [BBG18], Theorem 10; below the pair of a removed record"
)

_ZEROED = Claim(
    Status.BRACKET, f"{SAME}; above the pair of a replaced record, which covers this case, below two instances"
)

_NOT_GAUSSIAN = refused("sampling with replacement is supported for Gaussian noise on a sum only")

_CUT = "the interval is not a point because the binomial distribution of the draws is cut where less than 1e-32 remains"
"""Reason for different pairs above and below if a record is added or removed."""

MIN_NONE = 2.0**-50
"""Probability of no draw below which its complement nearly rounds to 1."""

_NEVER = "the probability that a record is never drawn is below 1e-15, so each end rounds it in the safe direction"
"""Reason for different pairs above and below if a record is almost always drawn."""

_WHY_ZEROED = (
    "for sampling with replacement and a zero contribution, no closer pair is known than that of a replaced record"
)

_WHY = "for sampling with replacement and a replaced record, the known pair of a round may not be tight"


class Draws(NamedTuple):
    """Law of the number of draws of the record.

    Attributes:
        weights: probabilities of one draw, two draws and so on.
        none: probability of no draw, including the cut tail.
        some: the sum of ``weights``, rounded once.
        cut: bound on the probability of the cut tail; 0 without a cut.
    """

    weights: tuple[float, ...]
    none: float
    some: float
    cut: float


@dataclass(frozen=True)
class WithReplacement(Sampling):
    """Sampling with replacement: every round makes ``draws`` independent draws from all records.

    A record drawn k times counts k times, as in a bootstrap sample or a ``WeightedRandomSampler``.

    Args:
        draws: number of draws in a round, the same for both datasets.
        dataset_size: number of records, of the larger dataset if one is added or removed; or give ``weight``.
        weight: probability that a draw is the record in question; if records differ in it, that of the likeliest one.

    Raises:
        InvalidInputError: a value is outside its domain, the weight is missing or given twice, or a record is drawn
            more than 20 times on average.

    >>> WithReplacement(draws=64, dataset_size=6400).weight_of_record
    Fraction(1, 6400)
    """

    draws: Annotated[int, domains.RECORDS.of("number of draws per round")]
    dataset_size: Annotated[int | None, domains.whole_numbers(least=2, most=10**10).of("number of records")] = None
    weight: Annotated[
        float | None, domains.RATE.of("probability that a draw selects the likeliest record, less than 1")
    ] = None

    name = "with-replacement"
    zeroed = Zeroed.OWN
    assumption = (
        "each round makes its draws independently and with replacement, so a record may be drawn several times; the "
        "number is not valid for shuffled or Poisson batches"
    )
    key_rules: ClassVar[Mapping[str, Any]] = {"oneOf": [{"required": ["dataset_size"]}, {"required": ["weight"]}]}

    def __post_init__(self) -> None:
        super().__post_init__()
        if (self.dataset_size is None) == (self.weight is None):
            given = "both" if self.weight is not None else "neither"
            raise InvalidInputError(
                "sampling 'with-replacement' needs exactly one of dataset_size and (in a plan file) weight; "
                f"received {given}",
                "draws",
            )
        key = "weight" if self.dataset_size is None else "dataset_size"
        if self.weight_of_record == 1:
            raise InvalidInputError(f"{key} must leave some probability to other records; received 1", key)
        if self.draws * self.weight_of_record > MOST_DRAWN:
            raise InvalidInputError(
                f"a record must be drawn at most {MOST_DRAWN} times per round on average; received draws {self.draws} "
                f"with {key} {domains.shown(self.weight if self.dataset_size is None else self.dataset_size)}",
                "draws",
            )

    @property
    def weight_of_record(self) -> Fraction:
        """Probability that one draw is the record."""
        if self.dataset_size is not None:
            return Fraction(1, self.dataset_size)
        assert self.weight is not None
        return decimal(self.weight)

    @classmethod
    def claim(cls, mechanism: type[Mechanism], direction: Direction) -> Claim:
        """Return a bracket for Gaussian noise on a sum; it is nearly tight for adding and removing a record."""
        if Property.GAUSSIAN not in mechanism.properties or Property.SUM not in mechanism.properties:
            return _NOT_GAUSSIAN
        return _REPLACED if direction is Direction.REPLACE_ONE else _ONE_OR_THE_OTHER

    def known(self, mechanism: Mechanism, direction: Direction) -> Known:
        """Return the pair for adding or removing a record, a mixture over the number of draws of the record.

        If the tail of the binomial law is cut off, there are two pairs. The upper pair moves the mass of the tail to
        infinite loss, and the lower pair moves it to the event of no draw. For a record that is replaced or set to
        zero, return the upper and lower pairs of the module docstring.
        """
        mu = mu_of(mechanism.with_against_without())
        law = binomial(self.draws, self.weight_of_record)
        shifts = tuple(2 * k * mu for k in range(1, len(law.weights) + 1))
        if direction.keeps_places:
            whole = law.some + law.cut
            weights = tuple(weight / whole for weight in law.weights)
            told = RevealedPair(shifts, weights, law.cut / whole)
            replaced = WithoutReplacementPair(told, whole)
            if direction.zeroes:
                moved = tuple(0.5 * shift for shift in shifts)
                return Between(replaced, zeroed(moved, law, direction is Direction.RESTORE), _WHY_ZEROED)
            below = tuple(_mixture(shifts, law, mirrored) for mirrored in (False, True))
            return Between(replaced, below, _WHY)
        return mixtures(2 * mu, self.draws, self.weight_of_record, direction is Direction.ADD)

    @property
    def steps_per_epoch(self) -> int | None:
        """Least number of steps with as many draws in all as there are records; ``None`` if that is not known."""
        return None if self.dataset_size is None else ceil(Fraction(self.dataset_size, self.draws))


def mixtures(shift: float, draws: int, weight: Fraction, mirrored: bool) -> Tight | Between:
    """Return the pair of a sum that each success shifts, or two pairs if improbable numbers of successes are cut off.

    Args:
        shift: shift of the sum by each success, in units of the noise.
        draws: number of draws, which succeed independently.
        weight: probability of a success, in (0, 1); the expected number of successes is at most 20.
        mirrored: True if the law without a shift is P.
    """
    law = binomial(draws, weight)
    shifts = tuple(k * shift for k in range(1, len(law.weights) + 1))
    if law.none < MIN_NONE and len(shifts) > 1:
        return _next_to_always(shifts, law, mirrored)
    below = _mixture(shifts, law, mirrored)
    if not law.cut:
        return Tight(below)
    return Between(_mixture(shifts, law, mirrored, law.cut), (below,), _CUT)


def _next_to_always(shifts: tuple[float, ...], law: Draws, mirrored: bool) -> Between:
    """Return an upper and a lower pair where at least one success is almost certain.

    The upper pair moves the probability of 0 successes to 1 success. In the lower pair, the number of successes of the
    upper pair becomes 0 with probability :data:`MIN_NONE`, which is more than the probability moved; so no number is
    exceeded with a larger probability than in the law. The law here is never cut: with at most 20 expected successes
    there are hardly more draws.
    """
    weights = (law.weights[0] + law.none, *law.weights[1:])
    below = (PoissonAddPair if mirrored else PoissonRemovePair)(MixturePair(shifts, weights), 1 - MIN_NONE)
    return Between(MixturePair(shifts, weights, mirrored), (below,), _NEVER)


def zeroed(shifts: tuple[float, ...], law: Draws, restored: bool) -> tuple[DominatingPair, ...]:
    """Return lower pairs from one or two instances, for a contribution set to zero.

    All other contributions are 0 in the first instance, and the opposite of the record's in the second. There is no
    second instance if the shift by one draw is outside the range of its tests.
    """
    silent = _mixture(shifts, law, restored)
    if not LEAST <= shifts[0] <= MOST:
        return (silent,)
    opposed = opposed_draws(shifts, law.weights, law.none, law.cut)
    return silent, opposed.mirror if restored else opposed


def _mixture(shifts: tuple[float, ...], law: Draws, mirrored: bool, missing: float = 0.0) -> DominatingPair:
    """Return the pair of a mixture in which ``missing`` is taken from the term without a shift, to infinite loss."""
    some = law.some + missing
    weights = tuple(weight / some for weight in law.weights)
    several = len(shifts) > 1 or missing
    base = MixturePair(shifts, weights, missing=missing / some) if several else GaussianPair(shifts[0])
    return (PoissonAddPair if mirrored else PoissonRemovePair)(base, some)


@lru_cache(maxsize=256)
def binomial(draws: int, weight: Fraction) -> Draws:
    """Return the law of the number of draws of the record, with its tail cut.

    The probability of the tail is at most CUT times that of no draw.
    """
    numerator, denominator = Decimal(weight.numerator), Decimal(weight.denominator)
    with localcontext(PRECISE):
        odds = numerator / (denominator - numerator)
        none = ((denominator - numerator) / denominator) ** draws
        weights: list[Decimal] = []
        each, left = none, Decimal(0)
        for k in range(1, draws + 1):
            ratio = Decimal(draws - k + 1) / Decimal(k) * odds
            each *= ratio
            if k > 1 and ratio < Decimal("0.5"):  # a single success is kept, however rare
                left = each * Decimal("2.0001")  # this term and all that follow, with smaller ratios
                if left <= CUT * none:
                    break
                left = Decimal(0)
            weights.append(each)
        some = sum(weights, Decimal(0))
    cut = max(float(left), TINY) if left else 0.0  # the cut tail is positive even if it underflows
    return Draws(tuple(map(float, weights)), float(PRECISE.subtract(Decimal(1), some)), float(some), cut)
