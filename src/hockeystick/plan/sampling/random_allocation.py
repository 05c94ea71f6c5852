"""Random allocation: in each epoch a record takes part in exactly one step, or exactly k of them, drawn uniformly.

Also known as balls-in-bins sampling. An epoch has t steps. The draw of a record is secret, and independent of the draws
of all other records, so that the others take part in the same way with and without the record. A round is one epoch.

**One participation per epoch**, Gaussian noise. *Upper*: the pair of ``pairs/sampled/allocation.py``, with the proof.
*Tight*: where all other contributions are 0 and the record's is u in every step, the outcomes along u have the laws of
that pair.

**Setting a record's contribution to zero.** The others draw their steps as before, independently of the record. With a
zero contribution, the sum of every step, including the record's own, is that of the others. So for every draw the
outcomes have the law of the data without the record, and both orders of the laws have the pairs of ``remove`` and
``add``. This holds for all the draws below, and if the record is in no step: the sizes of batches are parameters, and
do not change.

**An assignment that is kept** over m epochs is one draw: the record is in the same step j of each of them. Given j,
step i has m outcomes with the law ``N(mu [i = j], 1)`` each, of which the average is a sufficient statistic. So the
pair is that of one epoch with ``mu sqrt(m)``. Keeping an assignment costs more than m draws, and must be declared by
``epochs_per_assignment``.

**Steps that are not equally likely, and no step at all.** The theorem holds for any law of a record's step
(``pairs/sampled/allocation.py``), so the pair is also tight for

- a smaller last batch: each of n records draws one of the places of an epoch. The first ``t - 1`` steps have b places
  each, and the last has ``b' = n - (t - 1) b``; so a step is drawn with probability b/n, and the last with probability
  b'/n;
- an epoch interrupted after r of its t steps, in which the record drew one of all t;
- random check-in (after Balle, Kairouz, McMahan, Thakkar, Thakurta 2020 [BKM+20]): the record is present with
  probability p, in secret, and then draws a step.

A later interruption, a larger p and larger batches all cost more. An epoch interrupted later reveals more. For
``p < p'``, P at p is the mixture of P at p' and Q with weights p/p' and 1 - p/p'. So ``H_a(P || Q)`` and
``H_a(Q || P)`` are at most those at p', by joint convexity and as ``H_a(Q || Q) = 0`` for a >= 1. For batches, the sum
of the j largest probabilities, ``min(jb/n, 1)``, rises with b for every j. So the probabilities for smaller batches are
an average of permutations of the probabilities for larger batches (Hardy, Littlewood, Polya). Permuting the steps does
not change H, which is jointly convex.

**k steps per epoch**, k <= t. *Upper*: a uniformly random set of k steps can be drawn in two stages. First, the steps
are dealt at random into k blocks, of which r = t - k floor(t / k) have ``ceil(t / k)`` steps and the others
``floor(t / k)``. Then one step of each block is drawn. The set is uniformly random, as its law is the same under all
permutations of the steps. Given the blocks, each block is an epoch with one participation, and the blocks are
independent. The mixture over the blocks is bounded by joint convexity (Feldman, Shenfeld 2025 [FS25] decompose
likewise). *Lower*: the sum of all outcomes of an epoch is ``N(k mu, t)`` against ``N(0, t)``. No closer pair is known.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from hockeystick.pairs import DominatingPair, GaussianPair
from hockeystick.pairs.joint import JointPair
from hockeystick.pairs.sampled.allocation import epoch
from hockeystick.pairs.sides import Between, Known
from hockeystick.plan.mechanisms.base import Claim, Mechanism, Property, Status, refused
from hockeystick.plan.sampling import grouped
from hockeystick.plan.sampling.base import Sampling, Zeroed, inherited, mu_of, sampled_base
from hockeystick.plan.sampling.none import NO_SAMPLING
from hockeystick.values import domains
from hockeystick.values.adjacency import Direction
from hockeystick.values.errors import InvalidInputError

if TYPE_CHECKING:
    from hockeystick.plan.mechanisms.matrix_gaussian import MatrixGaussian

_ONCE = Claim(Status.TIGHT, "Chua et al. 2025 [CGH+25], Theorem 3.1; proof in pairs/sampled/allocation.py")
"""Claim for adding and removing a record that takes part once per epoch, with Gaussian noise."""

_OFTEN = Claim(Status.BRACKET, "proof in plan/sampling/random_allocation.py: blocks above, the sum of all steps below")
"""Claim for adding and removing a record that takes part several times per epoch, with Gaussian noise."""

_NOT_GAUSSIAN = refused(
    "random allocation is supported with Gaussian noise only; use sampling 'poisson' or 'none', or, if the mechanism "
    "adds Gaussian noise, mechanism 'gaussian' with its noise_multiplier"
)
"""Claim for other mechanisms than Gaussian noise."""

_REPLACED = refused(
    "no pair is known for replacing a record under random allocation; use adjacency 'add-or-remove' and its epsilon "
    "for groups of 2, which covers replacement"
)

WHY = (
    "no tight pair is known for records that take part several times per epoch, so the upper end divides the steps "
    "into blocks and the lower end adds up all steps of an epoch"
)


@dataclass(frozen=True)
class RandomAllocation(Sampling):
    """Random allocation: in each epoch every record takes part in one or several steps, drawn uniformly and secretly.

    A round is one epoch, or all epochs of one assignment; ``count`` counts rounds.

    Args:
        steps_per_epoch: number of steps of an epoch; or give ``batch_size`` and ``dataset_size``.
        participations_per_epoch: steps of an epoch in which a record takes part; 1 by default. With more, answers are
            between two pairs.
        epochs_per_assignment: epochs for which an assignment is kept before a new one is drawn; 1 by default. Keeping
            it costs more.
        dataset_size: number of records, for a warning about delta, and for the probabilities of a smaller last batch.
        batch_size: expected number of records of a step. Each record draws a place, and so falls into a given step with
            probability batch_size / dataset_size; the last step has fewer places if the sizes do not divide evenly.
        last_batch_size: expected number of records of the last step, at most ``batch_size``; it is derived from
            ``dataset_size``, or is given with ``steps_per_epoch`` in place of it.
        steps_taken: number of steps of an epoch that are taken; all by default. With fewer, each round is an
            interrupted epoch, of which all steps could be drawn.
        check_in: probability with which a record takes part in an epoch at all, in secret; 1 by default.

    Raises:
        InvalidInputError: a value is outside its domain, the number of steps is missing, sizes and steps contradict
            each other, there are more participations than steps, or there are several participations and an option that
            is proved for one only.

    >>> RandomAllocation(steps_per_epoch=1000).steps_per_round
    1000
    >>> RandomAllocation(steps_per_epoch=1000, epochs_per_assignment=3).steps_per_round
    3000
    >>> RandomAllocation(steps_per_epoch=1000, steps_taken=300).steps_per_round
    300
    >>> RandomAllocation(batch_size=256, dataset_size=60_000).last_batch_size
    96
    """

    steps_per_epoch: Annotated[int | None, domains.EPOCH] = None
    participations_per_epoch: Annotated[
        int, domains.RECORDS.of("number of steps per epoch in which a record takes part")
    ] = 1
    epochs_per_assignment: Annotated[int, domains.RECORDS.of("number of epochs that reuse an assignment")] = 1
    dataset_size: Annotated[int | None, domains.RECORDS] = None
    batch_size: Annotated[int | None, domains.RECORDS.of("expected number of records in a step")] = None
    last_batch_size: Annotated[int | None, domains.RECORDS.of("expected number of records in the last step")] = None
    steps_taken: Annotated[int | None, domains.RECORDS.of("number of steps of an epoch that are run")] = None
    check_in: Annotated[
        Fraction | None, domains.EXACT_PROBABILITY.of("probability that a record takes part in an epoch")
    ] = None

    name = "random-allocation"
    zeroed = Zeroed.AS_ABSENT
    samples_runs = True
    assumption = (
        "each record takes part in exactly one step of each epoch (or in the given number of steps, or, with check_in, "
        "possibly in none), drawn uniformly or in proportion to the batch sizes, secretly and independently of all "
        "other records, and redrawn as declared; the number is not valid for shuffled or fixed-size batches"
    )
    key_rules: ClassVar[Mapping[str, Any]] = {
        "anyOf": [{"required": ["steps_per_epoch"]}, {"required": ["batch_size", "dataset_size"]}],
        "dependentRequired": {"last_batch_size": ["batch_size"]},
    }
    follow_from_sizes = ("steps_per_epoch", "last_batch_size")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.batch_size is not None or self.last_batch_size is not None:
            self._check_sizes()
        elif self.steps_per_epoch is None:
            raise InvalidInputError(
                "random allocation needs steps_per_epoch, or batch_size and dataset_size", "steps_per_epoch"
            )
        domains.check_at_most("participations_per_epoch", self.participations_per_epoch, "steps_per_epoch", self.steps)
        domains.check_at_most("steps_taken", self.steps_taken, "steps_per_epoch", self.steps)
        if self.check_in == 0:
            raise InvalidInputError("check_in must be greater than 0; received 0, under which no record takes part",
                                    "check_in")  # fmt: skip
        self._check_proven()

    def _check_sizes(self) -> None:
        """Check the sizes against each other, and derive the missing ones: the dataset, the steps or the last batch."""
        batch, records, steps, last = self.batch_size, self.dataset_size, self.steps_per_epoch, self.last_batch_size
        if batch is None:
            raise InvalidInputError("last_batch_size requires batch_size, which is missing", "last_batch_size")
        if records is None:
            if steps is None or last is None:
                raise InvalidInputError(
                    "batch_size requires dataset_size, or steps_per_epoch and last_batch_size", "batch_size"
                )
            records = domains.whole((steps - 1) * batch + last, "dataset_size", "(steps_per_epoch - 1) * batch_size + "
                                    "last_batch_size", least=1)  # fmt: skip
        domains.check_at_most("batch_size", batch, "dataset_size", records)
        domains.check_at_most("last_batch_size", last, "batch_size", batch)
        follow = int(domains.EPOCH.check(-(-records // batch), "dataset_size / batch_size"))
        for key, value, implied in (
            ("steps_per_epoch", steps, follow),
            ("last_batch_size", last, records - (follow - 1) * batch),
        ):
            if value not in (None, implied):
                raise InvalidInputError(
                    f"{key} {value} contradicts batch_size {batch} and dataset_size {records}, which imply {implied}; "
                    "leave one out",
                    key,
                )
            object.__setattr__(self, key, implied)
        object.__setattr__(self, "dataset_size", records)

    def _check_proven(self) -> None:
        """Refuse combinations without a theorem.

        There are two: several participations per epoch, if the last batch is smaller, an epoch is interrupted or
        records check in; and one assignment for several epochs, if an epoch is interrupted.
        """
        if self.participations_per_epoch > 1:
            for key, plain in (
                ("last_batch_size", self.last_batch_size in (None, self.batch_size)),
                ("steps_taken", self.steps_taken in (None, self.steps)),
                ("check_in", self.check_in in (None, 1)),
            ):
                if not plain:
                    raise InvalidInputError(
                        f"{key} requires one participation per epoch; received participations_per_epoch "
                        f"{self.participations_per_epoch}; leave out one of the two",
                        key,
                    )
        if self.epochs_per_assignment > 1 and self.steps_taken not in (None, self.steps):
            raise InvalidInputError(
                "steps_taken requires a new assignment in every epoch; received epochs_per_assignment "
                f"{self.epochs_per_assignment}; count the epoch in full instead",
                "steps_taken",
            )

    @property
    def steps(self) -> int:
        """Number of steps of an epoch."""
        assert self.steps_per_epoch is not None
        return self.steps_per_epoch

    @classmethod
    def claim(cls, mechanism: type[Mechanism], direction: Direction) -> Claim:
        """Return a tight claim for Gaussian noise, and a bracket for correlated noise; the rest is refused.

        The rest is other noise, and replacing a record.
        """
        if direction is Direction.REPLACE_ONE:
            return _REPLACED
        if Property.RUN in mechanism.properties:
            return grouped.GROUPED
        if Property.GAUSSIAN not in mechanism.properties:
            return _NOT_GAUSSIAN
        return inherited(sampled_base(mechanism, direction), _ONCE)

    def effective(self, direction: Direction) -> Sampling:
        """Return no sampling if an epoch has a single step and every record is in it."""
        unsampled = self.steps == self.epochs_per_assignment == 1 and self.check_in in (None, 1)
        return NO_SAMPLING if unsampled else self

    def claim_of(self, mechanism: Mechanism, direction: Direction) -> Claim:
        """Return the scheme's claim, a bracket if a record takes part several times."""
        found = self.claim(type(mechanism), direction)
        if found is grouped.GROUPED:
            return self._claim_of_run(grouped.run_of(mechanism))
        often = 1 < self.participations_per_epoch < self.steps
        return _OFTEN if found.status is Status.TIGHT and often else found

    def _claim_of_run(self, run: MatrixGaussian) -> Claim:
        """Return the claim of a run of whole epochs, in each of which a record draws one of its group's steps.

        If the numbers of steps of the groups differ by one, the run must be one epoch. A record of a group with more
        steps then draws from all of them.
        """
        places = run.steps // run.min_separation
        plain = RandomAllocation(self.steps, dataset_size=self.dataset_size)
        whole = places == self.steps or run.steps % run.min_separation == 0
        if self != plain or not places or places % self.steps or not whole:
            return refused(
                "with correlated noise, random allocation accepts only steps_per_epoch, which must divide the "
                f"{places} steps of the smallest group, or equal them if groups differ in size (steps {run.steps}, "
                f"min_separation {run.min_separation}); received {self}"
            )
        return grouped.banded(run, run.min_separation)

    @property
    def _probabilities(self) -> tuple[tuple[tuple[Fraction, int], ...], Fraction]:
        """The steps that are run, grouped by the probability of each, and the probability that the record is in none.

        Each group is given as (probability of each step, number of steps). The last step of a full epoch is a group of
        its own.
        """
        present = Fraction(1) if self.check_in is None else self.check_in
        first = last = present / self.steps
        if self.batch_size is not None:
            assert self.dataset_size is not None
            assert self.last_batch_size is not None
            first = present * Fraction(self.batch_size, self.dataset_size)
            last = present * Fraction(self.last_batch_size, self.dataset_size)
        taken = self.steps if self.steps_taken is None else self.steps_taken
        groups = ((first, self.steps - 1), (last, 1)) if taken == self.steps else ((first, taken),)
        return groups, 1 - sum((weight * count for weight, count in groups), Fraction(0))

    def _mu(self, mechanism: Mechanism) -> float:
        """mu of a step, taken together over all epochs that use the same assignment, up to a few roundings."""
        return mu_of(mechanism.with_against_without()) * math.sqrt(self.epochs_per_assignment)

    def pair(self, mechanism: Mechanism, direction: Direction) -> DominatingPair:
        """Return the pair of all epochs that use one assignment; for correlated noise, an upper pair."""
        if Property.RUN in mechanism.properties:
            return self.known(mechanism, direction).above
        mu = self._mu(mechanism)
        if 1 < self.participations_per_epoch == self.steps:  # a record takes part in every step: nothing is sampled
            return GaussianPair(mu * math.sqrt(self.steps))
        if self.participations_per_epoch > 1:
            return JointPair(tuple(self._blocks(mu, direction is Direction.ADD)))
        return epoch(mu, *self._probabilities, direction is Direction.ADD)

    def _blocks(self, mu: float, add: bool) -> Iterator[tuple[DominatingPair, int]]:
        """Yield, for each size of block, the pair of a block with one participation, and the number of such blocks."""
        short, longer = divmod(self.steps, self.participations_per_epoch)
        for steps, blocks in ((short, self.participations_per_epoch - longer), (short + 1, longer)):
            if blocks:
                yield epoch(mu, ((Fraction(1, steps), steps),), Fraction(0), add), blocks

    def known(self, mechanism: Mechanism, direction: Direction) -> Known:
        """Return the tight pair if a record takes part once per epoch; otherwise an upper and a lower pair.

        The upper pair is the product over the blocks of the module docstring, and the lower pair that of the sum of all
        steps. For correlated noise, both are pairs of the run.
        """
        if Property.RUN in mechanism.properties:
            add = direction is Direction.ADD
            return grouped.allocated(
                grouped.run_of(mechanism), self.steps, lambda base: epoch(base.mu, *self._probabilities, add)
            )
        if self.claim_of(mechanism, direction).status is not Status.BRACKET:
            return super().known(mechanism, direction)
        summed = self._mu(mechanism) * self.participations_per_epoch / math.sqrt(self.steps)
        return Between(self.pair(mechanism, direction), (GaussianPair(summed),), WHY)

    def broken_off(self, steps: int) -> RandomAllocation | None:
        """Return an epoch interrupted after ``steps`` steps; ``None`` if nothing is proved for it."""
        if self.participations_per_epoch > 1 or self.epochs_per_assignment > 1:
            return None
        return replace(self, steps_taken=steps)

    @property
    def steps_of_pass(self) -> int:
        """Number of steps of one epoch that are taken."""
        return self.steps if self.steps_taken is None else self.steps_taken

    @property
    def steps_per_round(self) -> int:
        """Number of steps taken in all epochs of one assignment together."""
        return self.steps_of_pass * self.epochs_per_assignment
