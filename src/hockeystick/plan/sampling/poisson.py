"""Poisson sampling: each round includes each record independently with the same probability.

**Setting a record's contribution to zero.** Let S be the batch of the other records, whose law does not depend on the
record. Given S, the round is ``M(S)`` with probability 1 - q. With probability q it is that of S and the record, or of
S and the record without its contribution; for noise on a sum, the latter has the law ``M(S)``, too. So the round with a
zero contribution has the law of the round without the record, for every S. Both orders of the laws therefore have the
pairs of ``remove`` and ``add``, and their instances. For a mechanism known only by a guarantee for zero-out, ``M(S)``
and the law of S with a zero contribution may differ, and nothing follows.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from hockeystick.numerics.rounding import UNIT_ROUNDOFF
from hockeystick.pairs import DominatingPair, GaussianPair, PoissonAddPair, PoissonRemovePair, RenyiCurve
from hockeystick.pairs.sides import Between, Known
from hockeystick.plan.mechanisms.base import Claim, Mechanism, Property, Status, refused
from hockeystick.plan.sampling.base import Sampling, Zeroed, checked_sizes, inherited, mu_of, sampled_base
from hockeystick.plan.sampling.none import NO_SAMPLING
from hockeystick.values import domains
from hockeystick.values.adjacency import Direction
from hockeystick.values.errors import InvalidInputError

if TYPE_CHECKING:
    from hockeystick.pairs.exact import ExactRound

_THEOREM = Claim(Status.TIGHT, "Zhu, Dong, Wang 2022 [ZDW22], Theorem 11")
"""Claim for adding and removing a record, if the mechanism's own pair is tight."""

_REPLACED_GAUSSIAN = Claim(Status.TIGHT, "Lebeda, Regehr, Kamath, Steinke 2024 [LRKS24], Proposition 13")
"""Claim for replacing a record, with Gaussian noise."""

_REPLACED_GUARANTEE = refused(
    "a guarantee for replacing a record says nothing about batches that contain neither value of the record"
)
"""Claim for replacing a record, with a mechanism known by its guarantee alone."""


_MANY = (
    "for users with more than 20 records per batch on average, the upper end assumes all their records in every batch "
    "and the lower end is for users with 20"
)
"""Reason why the upper and the lower pair differ for a user with many records in a batch."""


@dataclass(frozen=True)
class Poisson(Sampling):
    """Poisson sampling: each record is included independently of all others, anew in every round.

    Args:
        sample_rate: inclusion probability, from 1e-10 to 1 - 1e-6, or 1; or give ``batch_size`` and ``dataset_size``.
        batch_size: expected number of records in a round; ``sample_rate = batch_size / dataset_size``.
        dataset_size: number of records; it may be given with a sample rate and no batch size.

    Raises:
        InvalidInputError: a value is outside its domain, or rate and sizes contradict each other.

    >>> Poisson(batch_size=600, dataset_size=60_000).sample_rate
    0.01
    """

    sample_rate: Annotated[float | None, domains.RATE.of("probability that a batch contains a given record")] = None
    batch_size: Annotated[int | None, domains.RECORDS] = None
    dataset_size: Annotated[int | None, domains.RECORDS] = None

    name = "poisson"
    zeroed = Zeroed.AS_ABSENT
    assumption = (
        "each record enters each batch independently with the sample rate (Poisson sampling); "
        "the number is not valid for shuffled or fixed-size batches"
    )

    key_rules: ClassVar[Mapping[str, Any]] = {
        "anyOf": [{"required": ["sample_rate"]}, {"required": ["batch_size", "dataset_size"]}],
        "dependentRequired": {"batch_size": ["dataset_size"]},
    }
    follow_from_sizes = ("sample_rate",)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.batch_size is not None or (self.sample_rate is None and self.dataset_size is not None):
            self._check_sizes()
        elif self.sample_rate is None:
            raise InvalidInputError(
                "poisson sampling needs sample_rate, or batch_size and dataset_size; received none of them",
                "sample_rate",
            )

    def _check_sizes(self) -> None:
        batch, records = checked_sizes(self.batch_size, self.dataset_size)
        rate = domains.quotient(batch, records)
        if self.sample_rate is not None and not math.isclose(self.sample_rate, rate, rel_tol=1e-9):
            raise InvalidInputError(
                f"sample_rate {self.sample_rate!r} contradicts batch_size / dataset_size = {rate!r}; give one or the "
                "other",
                "sample_rate",
            )
        object.__setattr__(self, "sample_rate", rate)

    @classmethod
    @cache
    def claim(cls, mechanism: type[Mechanism], direction: Direction) -> Claim:
        """Return the mechanism's own claim for adding and removing, and a claim for replacing with Gaussian noise only.

        The theorem on replacing starts from the pair for removing a record.
        """
        base = sampled_base(mechanism, direction)
        if direction is not Direction.REPLACE_ONE:
            found = inherited(base, _THEOREM)
            return replace(found, status=Status.BRACKET) if Property.LAWS in mechanism.properties else found
        if base.status is Status.REFUSED:
            return base
        if Property.GAUSSIAN in mechanism.properties:
            return inherited(mechanism.claims[Direction.REMOVE], _REPLACED_GAUSSIAN)
        if Property.GUARANTEE in mechanism.properties:
            return _REPLACED_GUARANTEE
        what = f"a Poisson-sampled {mechanism.__name__} mechanism when a record is replaced"
        return refused(f"no dominating pair is proven for {what}")

    def effective(self, direction: Direction) -> Sampling:
        """Return the scheme without sampling if every batch is the whole dataset, else this scheme."""
        return NO_SAMPLING if self.sample_rate == 1 else self

    def pair(self, mechanism: Mechanism, direction: Direction) -> DominatingPair:
        """Return the pair of a sampled round, made from the laws with and without the record."""
        return self.mixed(mechanism.with_against_without(), direction)

    def mixed(self, base: DominatingPair, direction: Direction) -> DominatingPair:
        """Return the pair of a sampled round, from the pair of a batch with a record against the batch without it."""
        rate = self.sample_rate
        assert rate is not None  # derived from the sizes, if these are given
        if rate == 1 and isinstance(base, GaussianPair):  # a record is in every batch, or is replaced in every one
            return GaussianPair(2 * base.mu) if direction is Direction.REPLACE_ONE else base
        if direction is Direction.REMOVE:
            return PoissonRemovePair(base, rate)
        if direction is not Direction.REPLACE_ONE:
            return PoissonAddPair(base, rate)
        from hockeystick.pairs import PoissonSubstitutionPair  # two contributions in opposite directions

        return PoissonSubstitutionPair(mu_of(base), rate)

    def known(self, mechanism: Mechanism, direction: Direction) -> Known:
        """Return the pair of a sampled round; for two user-defined laws, both an upper and a lower pair."""
        rate = self.sample_rate
        if Property.LAWS not in mechanism.properties or direction is Direction.REPLACE_ONE or rate is None:
            return super().known(mechanism, direction)
        found = mechanism.known(direction)
        assert isinstance(found, Between)  # guaranteed by the property
        # domination is preserved by sampling
        sampled = PoissonAddPair if direction is Direction.ADD else PoissonRemovePair
        bases = (pair.mirror if direction is Direction.ADD else pair for pair in found.below)
        below = tuple(sampled(base, rate) for base in bases if base is not None)
        return Between(self.pair(mechanism, direction), below, found.why)

    def of_many(self, mechanism: Mechanism, direction: Direction, records: int) -> Known | RenyiCurve | None:
        """Return the mixture over the number of a user's records in a batch, for normal noise and add-or-remove.

        See ``plan/users.py``; the tail of the binomial law is cut as for draws with replacement. If a batch holds more
        than 20 of a user's records on average, the upper pair assumes the worst case, that every batch holds all of
        them. The lower pair is then that of a user with fewer records.
        """
        if self.sample_rate == 1:
            return mechanism.of_many(direction, records)
        claim = self.claim(type(mechanism), direction)
        if direction is Direction.REPLACE_ONE or claim != _THEOREM or Property.GAUSSIAN not in mechanism.properties:
            return None
        from hockeystick.plan.sampling.with_replacement import MOST_DRAWN, mixtures

        mu, rate = mu_of(mechanism.with_against_without()), self.exact_rate
        most = int(MOST_DRAWN / rate)
        found = mixtures(mu, min(records, most), rate, direction is Direction.ADD)
        if records <= most:
            return found
        return Between(GaussianPair(records * mu), found.below, _MANY)

    def exact(self, mechanism: Mechanism, direction: Direction) -> ExactRound | None:
        """Return the pair of removing a record in exact numbers, with the rate taken as the decimal that is written."""
        from hockeystick.pairs.exact import sampled

        return sampled(mechanism.exact(Direction.REMOVE), self.exact_rate)

    @property
    def exact_rate(self) -> Fraction:
        """Exact ``batch_size / dataset_size``, or the sample rate as it is written."""
        from hockeystick.values.exact import decimal  # late: most questions need only the double

        if self.batch_size is not None:
            return Fraction(self.batch_size, _given(self.dataset_size))
        return decimal(_given(self.sample_rate))

    @property
    def steps_per_epoch(self) -> int:
        """``ceil(dataset_size / batch_size)``, or ``ceil(1 / sample_rate)`` without a batch size.

        A rate that is 1/k rounded to a double takes k steps, and not k + 1.
        """
        if self.batch_size is not None:
            return math.ceil(Fraction(_given(self.dataset_size), self.batch_size))
        return math.ceil(Fraction(1 - 2 * UNIT_ROUNDOFF) / Fraction(_given(self.sample_rate)))


def _given(value: Any) -> Any:
    assert value is not None
    return value
