"""Sampling with replacement: every round makes a number of independent draws from the records.

Let m draws be made, each of which is the record in question with probability w: 1/n where all n records are alike.
Given that a draw is not that record it is one of the others, by a law that does not know of the record. The sum that is
released has normal noise of s clipping norms; K, the number of draws that are the record, has the law Bin(m, w).

**Adding or removing the record** (n is the size of the larger dataset). Draw the others first: r_1, ..., r_m, of which
the smaller dataset releases ``S = sum_j r_j`` and noise. With the larger one, the draws in a random set J of size K,
independent of them, are x in place of r_j. Given r, and so by joint convexity without, the pair is that of shifts
``sum_(j in J) (x - r_j)``, of norm at most 2 |J|, hence (``pairs/mixture.py``) dominated by

    ( sum_k Bin(m, w)(k) N(2k, s^2),   N(0, s^2) ),

in both orderings. *Attained*: all others contribute -u, and x = u.

**Replacing the record**, x by x'. *Upper*: with ``q = 1 - (1 - w)^m`` both laws are mixtures, ``(1 - q) mu0 + q nu``
and ``(1 - q) mu0 + q nu'``, where mu0 is the law given K = 0. For ``b = e^eps >= 1`` advanced joint convexity (Balle,
Barthe, Gaboardi 2018 [BBG18], Theorem 2), with ``a = 1 + (b - 1) / q`` and ``beta = b / a``, makes the divergence ``q
H_a(nu || (1 - beta) mu0 + beta nu')``. Given r and J, x takes the place of at most |J| vectors of mu0, and of as many
x' of nu'; so joint convexity leaves (their Theorem 10)

    q sum_k w_k H_a(N(2k, s^2) || N(0, s^2)),      w_k = Bin(m, w)(k) / q for k >= 1,

which is q H_a of the pair in which k is told (``pairs/sampled/drawn.py``), its own mirror image; below b = 1 the
datasets are exchanged. That is the curve that ``pairs/sampled/fixed_size_pair.py`` makes a pair of, rate q. *Below*:
all others contribute -u, x = u and x' = -u: the pair of a removed record, and exchanged that of an added one.

**Setting a record's contribution to nothing.** The draws that are the record add k x, or nothing. *Upper*: as for
replacing it, since a contribution of 0 is one with which it may be replaced. *Below*: all others contribute 0, which
gives the mixture with shifts k against N(0); or all contribute -x, of which tests of the sum are composed
(``pairs/sampled/opposed_draws.py``).
``(sum_k Bin(m, w)(k) N(k), N(0))`` is no upper end: with all others opposed, the pair ``(sum p_k N(2k), sum p_k N(k))``
is worse by two orders of magnitude in places.

**Unequal weights.** w may be any number up to the largest probability of one draw, as both pairs get worse with w: K
grows with it in the usual order of random numbers. It must not be less than that of the record.

**Where the binomial law is cut.** Terms k > N, of mass T together, are put at infinite loss above (a kernel makes them
again), and to k = 0 below (K gets less). T is at most CUT of the probability that the record is not drawn at all; the
sum beyond N is at most its first term over ``1 - r``, r the ratio of the first two, as ratios fall. Weights are
computed in DIGITS decimal digits, and rounded to doubles, as ``pairs/mixture.py`` allows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Context, Decimal
from fractions import Fraction
from functools import lru_cache
from math import ceil
from typing import Annotated, Any, ClassVar, NamedTuple

from hockeystick.numerics.decimals import decimal
from hockeystick.numerics.rounding import TINY, next_down
from hockeystick.pairs import DominatingPair, GaussianPair, PoissonAddPair, PoissonRemovePair, WithoutReplacementPair
from hockeystick.pairs.mixture import MixturePair
from hockeystick.pairs.sampled.drawn import RevealedPair
from hockeystick.pairs.sampled.opposed_draws import LEAST, MOST, opposed_draws
from hockeystick.pairs.sides import Between, Known, Tight
from hockeystick.plan.mechanisms.base import Claim, Mechanism, Property, Status
from hockeystick.plan.sampling.base import Sampling, Zeroed
from hockeystick.values import domains
from hockeystick.values.adjacency import Direction
from hockeystick.values.errors import InvalidInputError

CUT = Decimal("1e-32")
"""What is left of the binomial law where it is cut, relative to the probability that the record is not drawn."""

DIGITS = Context(prec=60)
"""Decimal digits in which the binomial law is computed."""

MOST_DRAWN = 20
"""How often a record may be drawn on average: beyond, so many draws hide nothing, and the law has hundreds of terms."""

SAME = "proof in plan/sampling/with_replacement.py, by the lemma in pairs/mixture.py"
"""Where the theorem is proved."""

_ONE_OR_THE_OTHER = Claim(Status.BRACKET, f"{SAME}; the two pairs differ by less than 1e-30 of mass, or not at all")
"""The claim for adding and removing a record."""

_REPLACED = Claim(
    Status.BRACKET, f"{SAME}, and Balle, Barthe, Gaboardi 2018 [BBG18], Theorem 10; below the pair of a removed record"
)
"""The claim for replacing a record."""

_ZEROED = Claim(
    Status.BRACKET, f"{SAME}; above the pair of a replaced record, of which it is a case, below two instances"
)
"""The claim for setting a record's contribution to nothing."""

_NOT_GAUSSIAN = Claim(
    Status.REFUSED,
    "of draws with replacement the pair is proven for Gaussian noise on a sum: elsewhere a record that is drawn twice "
    "is a group of two",
)
"""The claim on any other mechanism."""

_CUT = "the binomial law of how often a record is drawn is cut where less than 1e-32 is left"
"""Why the pair above and that below differ when a record is added or removed."""

NEVER = 2.0**-50
"""Probability of not being drawn at all below which 1 less it is no other double than 1, or hardly."""

_NEVER = "the probability that a record is not drawn at all is below 1e-15: it is added to that of once, and that to it"
"""Why the pair above and that below differ where a record is next to always drawn."""

_WHY_ZEROED = (
    "of draws with replacement with a record set to nothing, no closer pair is known than that of a replaced one"
)
"""Why the pair above and those below differ when a record's contribution is set to nothing."""

_WHY = "of draws with replacement with a record replaced, a pair is known for one round that need not be attained"
"""Why the pair above and those below differ when a record is replaced."""


class Draws(NamedTuple):
    """How often the record is drawn.

    Attributes:
        weights: probabilities of once, twice and so on.
        none: probability of not at all, with what was cut off.
        cut: bound on the probability of what was cut off; 0 where nothing was.
    """

    weights: tuple[float, ...]
    none: float
    cut: float


@dataclass(frozen=True)
class WithReplacement(Sampling):
    """Every round makes ``draws`` independent draws from the records, all of which stay where they are.

    A record that is drawn k times counts k times. What a bootstrap sample is, or a ``WeightedRandomSampler``.

    Args:
        draws: number of draws in a round, the same for both datasets.
        dataset_size: number of records, of the larger dataset if one is added or removed; or give the following.
        weight: probability that a draw is the record in question; where they are unequal, that of the likeliest
            record.

    Raises:
        InvalidInputError: a value outside its domain, both ways of giving the weight or none, or a record that is drawn
            more than 20 times on average.

    >>> WithReplacement(draws=64, dataset_size=6400).weight_of_record
    Fraction(1, 6400)
    """

    draws: Annotated[int, domains.RECORDS.of("number of draws in a round")]
    dataset_size: Annotated[int | None, domains.whole_numbers(least=2, most=10**10).of("number of records")] = None
    weight: Annotated[float | None, domains.RATE.of("probability that a draw is the likeliest record, less than 1")] = (
        None
    )

    name: ClassVar[str] = "with-replacement"
    zeroed: ClassVar[Zeroed] = Zeroed.OWN
    assumption: ClassVar[str] = (
        "each round makes its draws independently from all records, which stay where they are, so that a record may be "
        "drawn several times; the number is not valid for shuffled or Poisson batches"
    )
    key_rules: ClassVar[Mapping[str, Any]] = {"oneOf": [{"required": ["dataset_size"]}, {"required": ["weight"]}]}

    def __post_init__(self) -> None:
        domains.check_fields(self)
        if (self.dataset_size is None) == (self.weight is None):
            given = "both" if self.weight is not None else "neither"
            raise InvalidInputError(
                f"draws needs dataset_size or, in a plan file, weight, and not both; received {given} (sampling "
                "'with-replacement')",
                "draws",
            )
        key = "weight" if self.dataset_size is None else "dataset_size"
        if self.weight_of_record == 1:
            raise InvalidInputError(
                f"{key} must leave a chance to other records: a number less than 1; received 1", key
            )
        if self.draws * self.weight_of_record > MOST_DRAWN:
            raise InvalidInputError(
                f"a record must be drawn at most {MOST_DRAWN} times a round on average; received draws {self.draws} "
                f"with {key} {domains.shown(self.weight if self.dataset_size is None else self.dataset_size)}",
                "draws",
            )

    @property
    def weight_of_record(self) -> Fraction:
        """The probability that one draw is the record."""
        if self.dataset_size is not None:
            return Fraction(1, self.dataset_size)
        assert self.weight is not None
        return decimal(self.weight)

    @classmethod
    def claim(cls, mechanism: type[Mechanism], direction: Direction) -> Claim:
        """Between two pairs, for Gaussian noise on a sum; adding and removing a record they are all but the same."""
        if Property.GAUSSIAN not in mechanism.properties or Property.SUM not in mechanism.properties:
            return _NOT_GAUSSIAN
        return _REPLACED if direction is Direction.REPLACE_ONE else _ONE_OR_THE_OTHER

    def pair(self, mechanism: Mechanism, direction: Direction) -> DominatingPair:
        """The pair that dominates: the mixture, or of a replaced record that in which the number of draws is told."""
        return self.known(mechanism, direction).above

    def known(self, mechanism: Mechanism, direction: Direction) -> Known:
        """The mixture, on either side of where the binomial law is cut; for a replaced record the two pairs."""
        base = mechanism.with_against_without()
        assert isinstance(base, GaussianPair)  # what the property says, by which the claim was made
        law = binomial(self.draws, self.weight_of_record)
        shifts = tuple(2 * k * base.mu for k in range(1, len(law.weights) + 1))
        if direction.keeps_places:
            share = 1 - law.none
            whole = share + law.cut
            weights = tuple(weight / whole for weight in law.weights)
            told = RevealedPair(shifts, weights, law.cut / whole)
            replaced = WithoutReplacementPair(told, whole)
            if direction.zeroes:
                moved = tuple(0.5 * shift for shift in shifts)
                return Between(replaced, _zeroed(moved, law, direction is Direction.RESTORE), _WHY_ZEROED)
            below = tuple(_mixture(shifts, law, 0.0, mirrored) for mirrored in (False, True))
            return Between(replaced, below, _WHY)
        return mixtures(2 * base.mu, self.draws, self.weight_of_record, direction is Direction.ADD)

    @property
    def steps_per_epoch(self) -> int | None:
        """Steps after which as many draws were made as there are records, where their number is known."""
        return None if self.dataset_size is None else ceil(Fraction(self.dataset_size, self.draws))


def mixtures(shift: float, draws: int, weight: Fraction, mirrored: bool) -> Tight | Between:
    """The pair of so many shifts as there are successes among so many draws, on either side of where the law is cut.

    Args:
        shift: what each success moves the sum by, in units of the noise.
        draws: how many there are, each a success by itself.
        weight: probability of a success, in (0, 1); at most 20 are expected.
        mirrored: whether the law without a shift is P.
    """
    law = binomial(draws, weight)
    shifts = tuple(k * shift for k in range(1, len(law.weights) + 1))
    if law.none < NEVER and len(shifts) > 1:
        return _next_to_always(shifts, law, mirrored)
    if not law.cut:
        return Tight(_mixture(shifts, law, 0.0, mirrored))
    above = _mixture(shifts, law, law.cut, mirrored)
    return Between(above, (_mixture(shifts, law, 0.0, mirrored),), _CUT)


def _next_to_always(shifts: tuple[float, ...], law: Draws, mirrored: bool) -> Between:
    """The pairs of a larger and of a smaller number of successes, by the usual order of random numbers.

    None becomes one success above; below, as few successes as it takes become none, for that to be no less than
    :data:`NEVER`: each number of them whole, but for the last one, of which a part stays. Nothing of such a law is cut:
    of at most 20 successes expected there are hardly more draws.
    """
    assert not law.cut
    once, *more = law.weights
    above = MixturePair(shifts, (once + law.none, *more), 0.0, mirrored)
    none, first = law.none, 0
    while none < NEVER and first < len(shifts) - 1:
        none, first = none + law.weights[first], first + 1
    weights = law.weights[first:]
    if none < NEVER:
        weights = (next_down(weights[0] - (NEVER - none)),)  # the rest is none, as of a sampled round
    below = _mixture(shifts[first:], Draws(weights, none, 0.0), 0.0, mirrored)
    return Between(above, (below,), _NEVER)


def _zeroed(shifts: tuple[float, ...], law: Draws, restored: bool) -> tuple[DominatingPair, ...]:
    """What two data sets attain where a contribution is set to nothing: nothing in all others, or the opposite."""
    silent = _mixture(shifts, law, 0.0, restored)
    if not LEAST <= shifts[0] <= MOST:
        return (silent,)
    opposed = opposed_draws(shifts, law.weights, law.none, law.cut)
    return silent, opposed.mirrored if restored else opposed


def _mixture(shifts: tuple[float, ...], law: Draws, missing: float, mirrored: bool) -> DominatingPair:
    if len(shifts) > 1 or missing:
        return MixturePair(shifts, law.weights, law.none, mirrored, missing)
    (weight,) = law.weights
    return (PoissonAddPair if mirrored else PoissonRemovePair)(GaussianPair(shifts[0]), weight)


@lru_cache(maxsize=256)
def binomial(draws: int, weight: Fraction) -> Draws:
    """The law of how often the record is drawn, cut where next to nothing is left."""
    c = DIGITS
    numerator, denominator = Decimal(weight.numerator), Decimal(weight.denominator)
    odds = c.divide(numerator, c.subtract(denominator, numerator))
    none = c.power(c.divide(c.subtract(denominator, numerator), denominator), draws)
    weights: list[Decimal] = []
    each, left = none, Decimal(0)
    for k in range(1, draws + 1):
        ratio = c.multiply(c.divide(Decimal(draws - k + 1), Decimal(k)), odds)
        each = c.multiply(each, ratio)
        if k > 1 and ratio < Decimal("0.5"):  # a single success stays, however rare it is
            left = c.multiply(each, Decimal("2.0001"))  # this term and all that follow, whose ratios are less
            if left <= c.multiply(CUT, none):
                break
            left = Decimal(0)
        weights.append(each)
    shifted = Decimal(0)
    for weight_of_k in weights:
        shifted = c.add(shifted, weight_of_k)
    cut = max(float(left), TINY) if left else 0.0  # what was cut is not nothing, however far below a double
    return Draws(tuple(map(float, weights)), float(c.subtract(Decimal(1), shifted)), cut)
