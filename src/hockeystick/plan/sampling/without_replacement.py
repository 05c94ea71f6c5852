"""Sampling without replacement: each round sees a batch of fixed size, drawn anew from all batches of that size."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, ClassVar

from hockeystick.pairs import DominatingPair, RenyiCurve, WithoutReplacementCurve
from hockeystick.pairs.exact import ExactRound
from hockeystick.pairs.sides import Known
from hockeystick.plan.mechanisms.base import Claim, Mechanism, Property, Status
from hockeystick.plan.sampling.base import Sampling, inherited, own_known, own_pair
from hockeystick.values import domains
from hockeystick.values.adjacency import Direction
from hockeystick.values.citations import readable
from hockeystick.values.errors import InvalidInputError, UnsupportedError

_ONE_SIZE = Claim(Status.REFUSED, "batches of a fixed size go with datasets of one size; use adjacency 'replace-one'")
"""The claim for adding and removing a record."""

_THEOREM = Claim(Status.RENYI, "Wang, Balle, Kasiviswanathan 2019 [WBK19], Theorem 27: a bound on its Renyi divergence")
"""The claim for replacing a record, where the pair under replacement is known."""

_INFINITE = Claim(
    Status.REFUSED, "with mass at infinite loss no Renyi divergence is finite, and no other bound is implemented"
)
"""The claim for replacing a record, on a mechanism with mass at infinite loss."""

_NO_PAIR = (
    "no tight answer for its composition is proven: the worst datasets for one round need not be the worst for many "
    '(Lebeda, Regehr, Kamath, Steinke 2024 [LRKS24]); its Renyi divergence is bounded: use accountant="rdp" or "auto"'
)
"""Why a round has no pair, and what there is in place of it."""


@dataclass(frozen=True)
class WithoutReplacement(Sampling):
    """Every round draws a batch of ``batch_size`` distinct records, all such batches being equally likely.

    There is an upper bound on the Renyi divergence of a round and no dominating pair whose composition is known to be
    tight: ``auto``, ``grid``, ``contour`` and ``rdp`` answer with an upper bound, the others refuse. Only under
    ``replace-one``.

    Args:
        batch_size: number of records in a round, at most ``dataset_size``.
        dataset_size: number of records.

    Raises:
        InvalidInputError: a value outside its domain.

    >>> WithoutReplacement(batch_size=600, dataset_size=60_000).rate
    0.01
    """

    batch_size: Annotated[int, domains.RECORDS.of("number of records in a batch")]
    dataset_size: Annotated[int, domains.RECORDS]

    name: ClassVar[str] = "without-replacement"
    assumption: ClassVar[str] = (
        "each round draws a batch of exactly batch_size distinct records, anew and all batches equally likely; "
        "the number is not valid for shuffled or Poisson batches"
    )
    distance_suffices: ClassVar[bool] = True

    def __post_init__(self) -> None:
        domains.check_fields(self)
        if self.batch_size > self.dataset_size:
            raise InvalidInputError(
                f"batch_size must be at most dataset_size; received {self.batch_size} and {self.dataset_size}",
                "batch_size",
            )

    @property
    def rate(self) -> float:
        """The share of the records that a round sees."""
        return self.batch_size / self.dataset_size

    @classmethod
    def claim(cls, mechanism: type[Mechanism], direction: Direction) -> Claim:
        """A bound under ``replace-one``, from the pair under replacement; refused where there is none."""
        if direction is not Direction.REPLACE_ONE:
            return _ONE_SIZE
        base = inherited(mechanism.claims[direction], _THEOREM)
        if base.status is not Status.REFUSED and Property.INFINITE_LOSS in mechanism.properties:
            return _INFINITE
        return base if base.status is Status.REFUSED else _THEOREM

    def claim_of(self, mechanism: Mechanism, direction: Direction) -> Claim:
        """The mechanism's own where every batch is the whole dataset, else that of the scheme."""
        own = mechanism.claims[direction]
        return own if self.rate == 1 else self.claim(type(mechanism), direction)

    def pair(self, mechanism: Mechanism, direction: Direction) -> DominatingPair:
        """The mechanism's own pair if every batch is the whole dataset; there is none else."""
        if self.rate == 1:
            return own_pair(mechanism, direction)
        raise UnsupportedError(
            f"mechanism {mechanism.name!r} with sampling {self.name!r} under {direction.value!r}: {readable(_NO_PAIR)}"
        )

    def known(self, mechanism: Mechanism, direction: Direction) -> Known:
        """What the mechanism's own pair is, if every batch is the whole dataset; there is no pair else."""
        return own_known(mechanism, direction) if self.rate == 1 else super().known(mechanism, direction)

    def curve(self, mechanism: Mechanism, direction: Direction) -> RenyiCurve:
        """The Renyi curve after sampling, from the mechanism's own pair under replacement."""
        if self.rate == 1:
            return mechanism.curve(direction)
        return WithoutReplacementCurve(own_pair(mechanism, direction), self.rate)

    def exact(self, mechanism: Mechanism, direction: Direction) -> ExactRound | None:
        """The mechanism's own round where every batch is the whole dataset; else there is no pair to prove of."""
        return mechanism.exact(direction) if self.rate == 1 else None

    @property
    def dataset_records(self) -> int:
        """The number of records as given: ``dataset_size``."""
        return self.dataset_size

    @property
    def steps_per_epoch(self) -> int:
        """Steps of one pass over the data: ``ceil(dataset_size / batch_size)``."""
        return math.ceil(Fraction(self.dataset_size, self.batch_size))
