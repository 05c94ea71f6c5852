"""Sampling without replacement: each round uses a batch of fixed size, drawn anew from all batches of that size.

Let b be the batch size, n the number of records and q = b / n. Let the pair (B, A) dominate the mechanism when one
record of a batch is *replaced*: under every adjacency, a record in a batch of fixed size takes the place of another
one. For a sum of vectors of norm at most C this is a distance of 2C, not C.

**Adding or removing a record** (n is the size of the larger dataset, and b is the same for both). *Upper*: let x be the
record. Given that x is not in the batch, the batch is a uniform one of the other records, so the output has the law mu0
of the dataset without x. Given that x is in the batch, let T be the rest of the batch, and y a record drawn from those
that are neither x nor in T. The output has the law mu1 on T with x. On T with y, which is a uniform batch without x, it
has the law mu0. So the laws with and without x are mixtures, over the same (T, y), of ``(1 - q) M(T + y) + q M(T + x)``
and ``M(T + y)``, whose batches differ in one record. ``H_b((1 - q) O + q W || O)`` is ``q H_a(W || O)`` with
``a = (b - 1 + q) / q`` (and ``1 - b`` where that is negative). So by joint convexity

    H_b(with || without) <= H_b((1 - q) A + q B || A)      for all b >= 0,

and the other order of the laws follows from ``H_b(Q || P) = 1 - b + b H_(1/b)(P || Q)``. These are the pairs of Poisson
sampling at rate q, made of the pair under replacement (as in Zhu, Dong, Wang 2022 [ZDW22], Theorem 11). *Tight* for
noise on a sum: all other records add -u, and x adds u. The sum is ``-b u + 2u [x in the batch]`` against ``-b u``, in
every round, independently. This is the pair itself.

**Replacing a record**. *Upper*: the pair of ``pairs/sampled/fixed_size_pair.py``, with the proof there. It is tight for
one round; whether its composition is tight is open. *Lower*: the record that replaces x adds -u, as all others do. This
gives the pair of the removed record and, with the datasets exchanged, that of the added one. For a mechanism known by a
guarantee, the worst one with that guarantee reports the presence of x in the batch by randomised response, which gives
the same pairs.

**Setting a record's contribution to zero**: the record keeps its place in the batch, which another record would have if
it were not drawn. *Gaussian noise, upper*: the pair of ``pairs/sampled/zeroed_pair.py``, with the proof there. One
round attains it at every b: one instance above ``b = 1``, another one below. *Lower*: the instance above ``b = 1``,
where all other records add -u and the record u (``pairs/sampled/opposed_draws.py``). Where mu is outside the range of
its tests, all other records add 0 instead, which is Poisson sampling at the rate q. *Any other noise on a sum, upper*:
the pair of a replaced record, since the replacement may contribute 0. If the batch is the whole dataset, nothing is
sampled, and the mechanism's own pair applies.

The gap between upper and lower pairs is one of theory: the worst datasets of one round need not be the worst of many
(Lebeda, Regehr, Kamath, Steinke 2024 [LRKS24]), and no tighter bound is known.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated

import numpy as np

from hockeystick.numerics.rounding import SPARE
from hockeystick.pairs import (
    DominatingPair,
    PoissonAddPair,
    PoissonRemovePair,
    RenyiCurve,
    WithoutReplacementCurve,
    WithoutReplacementPair,
)
from hockeystick.pairs.exact import ExactRound, sampled
from hockeystick.pairs.sampled.zeroed_pair import ZeroedPair
from hockeystick.pairs.sides import Above, Between, Known
from hockeystick.plan.mechanisms.base import AS_ABSENT, Claim, Mechanism, Property, Status, refused
from hockeystick.plan.sampling.base import (
    GIVEN_SAMPLED,
    Sampling,
    Zeroed,
    checked_sizes,
    inherited,
    mu_of,
    own_pair,
    sampled_base,
)
from hockeystick.plan.sampling.none import NO_SAMPLING
from hockeystick.plan.sampling.with_replacement import Draws, zeroed
from hockeystick.values import domains
from hockeystick.values.adjacency import Direction
from hockeystick.values.errors import UnsupportedError

_ONE_OR_THE_OTHER = Claim(
    Status.TIGHT,
    "proof in plan/sampling/without_replacement.py: Poisson sampling [ZDW22] of the pair under replacement",
)
"""Claim for adding and removing a record, with noise on a sum."""

_REPLACED = Claim(
    Status.BRACKET,
    "proof in pairs/sampled/fixed_size_pair.py, by Balle, Barthe, Gaboardi 2018 [BBG18], Theorem 2; below the pair of "
    "a removed record",
)

_OTHER_GUARANTEE = refused(
    "fixed-size batches replace a record, and a guarantee for adding or removing one says nothing about that; give the "
    "guarantee for replacement and use adjacency 'replace-one'"
)
"""Claim for adding and removing a record, with a mechanism known by its guarantee alone."""

_NOT_FILLED = refused(
    "batch_size must be smaller than dataset_size, because the smaller of the two datasets could not fill a batch"
)
"""Claim for adding and removing a record if every batch is the whole dataset."""

_ZEROED = Claim(
    Status.BRACKET,
    "proof in pairs/sampled/zeroed_pair.py, by Balle, Barthe, Gaboardi 2018 [BBG18], Theorem 2; below an instance in "
    "pairs/sampled/opposed_draws.py",
)

_AS_REPLACED = "a zero contribution is one possible replacement of a record"
"""Reason for the pair of a replaced record above, with other noise on a sum."""

_WHY_ZEROED = (
    "for fixed-size batches and a zero contribution, a tight pair is known for a single round but not for a composition"
)

_WHY = (
    "for fixed-size batches and a replaced record, a tight pair is known for a single round but not for a composition"
)

_LOPSIDED = "the theorem on fixed-size batches requires a pair under replacement that equals its mirror image"
"""Refusal of a base pair that is not its own mirror image."""


@dataclass(frozen=True)
class WithoutReplacement(Sampling):
    """Sampling without replacement: every round draws a uniformly random batch of ``batch_size`` distinct records.

    The batch size is public and the same for both datasets. Under ``add``, ``remove`` and ``add-or-remove`` the larger
    dataset has ``dataset_size`` records, and the pair is tight. Under ``replace-one`` and ``zero-out`` both datasets
    have ``dataset_size`` records, and answers are between two pairs (see the module docstring).

    Args:
        batch_size: number of records in a round, at most ``dataset_size``.
        dataset_size: number of records.

    Raises:
        InvalidInputError: a value is outside its domain.

    >>> WithoutReplacement(batch_size=600, dataset_size=60_000).rate
    0.01
    """

    batch_size: Annotated[int, domains.RECORDS.of("number of records in a batch")]
    dataset_size: Annotated[int, domains.RECORDS]

    name = "without-replacement"
    zeroed = Zeroed.OWN
    assumption = (
        "each round draws a new batch of exactly batch_size distinct records, all batches equally likely; the number "
        "is not valid for shuffled or Poisson batches"
    )
    distance_suffices = True

    def __post_init__(self) -> None:
        super().__post_init__()
        checked_sizes(self.batch_size, self.dataset_size)
        domains.quotient(self.batch_size, self.dataset_size)

    @property
    def rate(self) -> float:
        """Share of the records in a batch."""
        return self.batch_size / self.dataset_size

    @classmethod
    def claim(cls, mechanism: type[Mechanism], direction: Direction) -> Claim:
        """Return the claim derived from the pair under replacement.

        Adding or removing a record has a tight pair for noise on a sum. Replacing a record has a bracket for noise on a
        sum and for guarantees, and setting its contribution to zero has one for Gaussian noise. All other cases have an
        upper bound or are refused.
        """
        base = sampled_base(mechanism, Direction.REPLACE_ONE)
        if direction.zeroes:
            if Property.GAUSSIAN in mechanism.properties:
                return _ZEROED
            if mechanism.zeroed is not AS_ABSENT:
                return GIVEN_SAMPLED
            found = _as_known(inherited(base, _REPLACED), False)
            return Claim(found.status, f"{found.cited}; {_AS_REPLACED}") if found.status is Status.UPPER else found
        if direction is not Direction.REPLACE_ONE:
            if base.status is not Status.REFUSED and Property.GUARANTEE in mechanism.properties:
                return _OTHER_GUARANTEE
            known = Property.SUM in mechanism.properties
            return _as_known(inherited(base, _ONE_OR_THE_OTHER), known)
        return _as_known(inherited(base, _REPLACED), bool({Property.SUM, Property.GUARANTEE} & mechanism.properties))

    def effective(self, direction: Direction) -> Sampling:
        """Return no sampling if every batch is the whole dataset, unless a record is added or removed."""
        return NO_SAMPLING if self.rate == 1 and direction.keeps_places else self

    def claim_of(self, mechanism: Mechanism, direction: Direction) -> Claim:
        """Return the claim for this scheme's own sizes; a refusal if every batch is the whole dataset."""
        return self.claim(type(mechanism), direction) if self.rate < 1 else _NOT_FILLED

    def pair(self, mechanism: Mechanism, direction: Direction) -> DominatingPair:
        """Return the dominating pair.

        Raises:
            UnsupportedError: the pair under replacement is not its own mirror image.
        """
        if not direction.keeps_places:
            made = PoissonRemovePair if direction is Direction.REMOVE else PoissonAddPair
            return made(_base(mechanism), self.rate)
        if direction.zeroes and Property.GAUSSIAN in mechanism.properties:
            return ZeroedPair(mu_of(mechanism.with_against_without()), self.rate, direction is Direction.RESTORE)
        return WithoutReplacementPair(_mirrored(_base(mechanism)), self.rate)

    def known(self, mechanism: Mechanism, direction: Direction) -> Known:
        """Return the pair; for replacing a record or setting it to zero, an upper pair and any lower pairs."""
        if not direction.keeps_places:
            return super().known(mechanism, direction)
        above = self.pair(mechanism, direction)
        if self.claim_of(mechanism, direction).status is not Status.BRACKET:
            return Above(above)
        if direction.zeroes:
            mu, law = mu_of(mechanism.with_against_without()), Draws((self.rate,), 1 - self.rate, self.rate, 0.0)
            return Between(above, zeroed((mu,), law, direction is Direction.RESTORE)[-1:], _WHY_ZEROED)
        base = _base(mechanism)
        return Between(above, (PoissonRemovePair(base, self.rate), PoissonAddPair(base, self.rate)), _WHY)

    def curve(self, mechanism: Mechanism, direction: Direction) -> RenyiCurve:
        """Return the Renyi curve of the pair; if a record is replaced and moments are finite, a published bound on it.

        The bound is that of Wang, Balle, Kasiviswanathan 2019 [WBK19], Theorem 27. It needs the moments of all losses,
        so it does not apply to a pair from which outcomes are cut off.
        """
        if direction is Direction.REPLACE_ONE and Property.INFINITE_LOSS not in mechanism.properties:
            base = own_pair(mechanism, direction)
            if not base.stands_in:
                return WithoutReplacementCurve(base, self.rate)
        return self.pair(mechanism, direction)

    def exact(self, mechanism: Mechanism, direction: Direction) -> ExactRound | None:
        """Return the mechanism's round under replacement, sampled at rate b / n, in exact numbers.

        ``None`` unless a record is added or removed.
        """
        if direction.keeps_places:
            return None
        return sampled(mechanism.exact(Direction.REPLACE_ONE), self.exact_rate)

    @property
    def exact_rate(self) -> Fraction:
        """Share of the records in a batch, as a fraction."""
        return Fraction(self.batch_size, self.dataset_size)

    @property
    def steps_per_epoch(self) -> int:
        """Number of steps of one pass over the data: ``ceil(dataset_size / batch_size)``."""
        return math.ceil(Fraction(self.dataset_size, self.batch_size))


def _as_known(claim: Claim, attained: bool) -> Claim:
    """Return the claim; an upper bound alone if no batch attains the mechanism's pair for a replaced record."""
    if attained or claim.status not in (Status.TIGHT, Status.BRACKET):
        return claim
    return Claim(Status.UPPER, claim.cited)


def _base(mechanism: Mechanism) -> DominatingPair:
    """Return the mechanism's pair under replacement, to which the sampling theorems apply."""
    return own_pair(mechanism, Direction.REPLACE_ONE)


def _mirrored(base: DominatingPair) -> DominatingPair:
    """Return the pair, if it is its own mirror image.

    Raises:
        UnsupportedError: it is not.
    """
    above = below = 0.0
    if base.smooth is not None:
        masses = base.smooth.masses(base.smooth.outcome(np.zeros(1)))
        above, below = float(masses.q_above[0]), float(masses.p_below[0])
    atoms = base.atoms
    above += float(np.exp(atoms.log_q[atoms.loss > 0]).sum())
    below += float(np.exp(atoms.log_p[atoms.loss < 0]).sum())
    low, high = base.loss_range
    if abs(above - below) > SPARE or low != -high:
        raise UnsupportedError(_LOPSIDED)
    return base
