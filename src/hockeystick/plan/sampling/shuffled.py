"""Shuffled batches: each epoch puts the records in some order and cuts it into batches, so a record is in one step.

Most loaders do this, and no tight pair is known; upper and lower pairs are proved here. A round is one epoch of t
steps. Contributions and the noise s are in units of the norm bound C, and ``u`` is a unit vector.

**Replacing a record, above.** Fix the orders of all epochs, which are chosen independently of the data and of the
releases. In an epoch, one step contains the record. Given the past, that step is dominated by the mechanism's pair
under replacement, and every other step has the same law with either value of the record. By adaptive composition (Zhu,
Dong, Wang 2022 [ZDW22], Theorem 10) each epoch is dominated by one unsampled round, whatever the orders. If orders are
drawn at random, the laws of the two datasets are mixtures over the orders with the same weights, and the bound remains
valid because ``H_b`` is jointly convex. So orders may be drawn once, anew every epoch, from a small buffer, or not at
all.

**Replacing a record, below, for Gaussian noise.** All other records contribute ``-u``. The record contributes ``+u`` on
one dataset and ``-u`` on the other. With ``-u`` the sums of the batches are constants; with ``+u`` the sum of one batch
is larger by 2. After subtraction of the constants, an epoch is

    P_w = sum_j w_j N(2 e_j, s^2 I_t)   against   Q = N(0, s^2 I_t) ,    w_j = (size of batch j) / (number of records) ,

if the order is uniform; epochs are independent if it is drawn anew. With equal weights this is an epoch of random
allocation at half the noise. In both orders of the laws, the pair with equal weights is also dominated by every other
case. For Q is invariant under permutations of the steps in each epoch, and ``H_b(pi P || pi Q) = H_b(P || Q)`` for each
permutation pi. Let P be any law of E epochs in which the record is in exactly one step of each; the last batch may be
smaller, and the order may be kept or not random. Averaged over independent permutations of every epoch, P becomes the
product of E equal mixtures. Then joint convexity gives ``H_b(product || Q^E) <= H_b(P || Q^E)``, and likewise with the
laws exchanged.

So both pairs are valid for every loader that passes each record exactly once an epoch, in whatever order. If replacing
a record moves the sum by d C only (``replace_one_distance``), the others contribute ``-d u / 2`` and the record
``+- d u / 2``.

**Adding or removing a record, for Gaussian noise, with an unchanged number of batches.** The order is uniform, and the
last batch is kept, however small. Draw an order of all n records, with x at place i, and move the last record y into
the place of x. This gives an order of the other records, and each of their orders results equally often; so it couples
the epochs of the two datasets. The coupled epochs differ in two steps. The batch of x has y in place of x, a distance
of 2, and the last batch has lost y, a distance of 1. (If x was in the last batch, only this batch differs, by a
distance of 1.) Given the orders, an epoch is dominated by two unsampled Gaussian rounds, that is by one with
``mu = sqrt(2^2 + 1) / s``. Composition and averaging are as for a replaced record, for orders drawn once or anew.
*Below*, for orders drawn anew in each epoch: all other records contribute ``-u``, and x contributes u. The last step is
ignored, which is post-processing. Without x the sums of all steps before it are ``-b u``. With x at most one of these
sums is larger by 2: that of each step with probability b / n, and none with probability b' / n, where b' is the size of
the last batch, which then holds x. So these steps are an epoch at the distance 2 in which the record may be in no step,
``c = b' / n`` (``pairs/sampled/allocation.py``). The pair is not valid for an order drawn once: x would be in the last
batch of all epochs or of none, so that the product of mixtures is not a bound.

If adding or removing a record changes the number of batches, the number of releases reveals the record, and the round
is refused.

**A smaller last batch that is dropped** (``drop_last``) has d of the n records. The order is uniform and drawn anew in
each epoch. *Above*, for a replaced record, the proof above holds, as the record is in at most one step. *Above*, for an
added record x and d > 0: without x, its place is taken by the last record of the order, which would have been dropped.
So at most one step differs, by 2, which is one Gaussian round with ``mu = 2 / s`` (not ``sqrt(5) / s``). *Below*, for
both: all other records contribute ``-u``, and the record u. Without the record, or with ``-u`` as its contribution, the
sums of all steps are ``-b u``. So an epoch is that of a record at the distance 2 that is in each step with probability
b / n and in none with probability d / n. For d = 0, a whole batch is dropped if the record is absent, so adding or
removing a record is refused.

**Setting a record's contribution to zero.** The record keeps its place, and no other moves, for any number of batches.
*Above*: the proof for replacing a record holds with the mechanism's own pair of one record in place of its pair under
replacement; for noise on a sum, this halves the distance. A guarantee for zero-out applies as it is. *Below, for
Gaussian noise*, in either order of the laws: all other records contribute 0, and the record u. Without the contribution
all sums are 0; with it the sum of one step is u. By the averaging above, this gives random allocation at the noise s.
If a last batch is dropped, the epoch is one in which the record is in each step with probability b / n and in none with
probability d / n.

**Outside the range of the moments** of random allocation (:data:`LEAST_MU` and the constants beside it), the lower pair
is that of the sum of all steps of an epoch: ``N(mu, t)`` against ``N(0, t)``. If the record may be in no step,
``N(mu, t)`` is replaced by its mixture with ``N(0, t)``. The sum is a post-processing of the outcomes, so its pair is
dominated by that of the epoch.

**One step per epoch** samples nothing: the mechanism's own claim holds.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, Any, ClassVar

from hockeystick.numerics.rounding import ULPS, next_down, next_up
from hockeystick.pairs import DominatingPair, GaussianPair, PoissonAddPair, PoissonRemovePair, RenyiCurve
from hockeystick.pairs.exact import ExactRound
from hockeystick.pairs.sampled.allocation import epoch
from hockeystick.pairs.sides import Between, Known
from hockeystick.plan.mechanisms.base import Claim, Mechanism, Property, Status, refused
from hockeystick.plan.sampling.base import Sampling, Zeroed, checked_sizes, mu_of, own_pair
from hockeystick.plan.sampling.none import NO_SAMPLING
from hockeystick.values import domains
from hockeystick.values.adjacency import Direction
from hockeystick.values.errors import InvalidInputError

_PROOF = "above: no amplification; below: an instance, random allocation; proofs in plan/sampling/shuffled.py"
"""Source of every bracket."""

_REPLACED = Claim(Status.BRACKET, f"{_PROOF}; cf. Chua et al. 2024 [CGK+24a]")

_CHANGED = Claim(Status.BRACKET, f"{_PROOF}; where the number of batches does not depend on the record")

_ZEROED = Claim(Status.BRACKET, f"{_PROOF}; a record with a zero contribution keeps its place")

_ABOVE = "one unsampled round an epoch; proof in plan/sampling/shuffled.py"
"""Source of the claim for a mechanism without a known lower pair."""

_NO_ROOM = refused(
    "removing a record moves others to different batches, which is supported with Gaussian noise only; use adjacency "
    "'replace-one'"
)
"""Claim for adding and removing a record, with mechanisms other than Gaussian noise."""

_SIZES_WANTED = refused(
    "removing a record moves others to different batches; give batch_size and dataset_size (of the larger dataset), or "
    "use adjacency 'replace-one'"
)
"""Claim for adding and removing a record if only the number of steps is known."""

_ANOTHER_DROPPED = refused(
    "removing a record leaves the last batch incomplete, so it is dropped and the number of steps reveals the removal; "
    "use adjacency 'replace-one', or a batch_size that does not divide dataset_size"
)
"""Claim for adding and removing a record if the record fills the last batch and others are dropped."""

_ANOTHER_NUMBER = refused(
    "removing a record leaves one batch fewer, so the number of steps reveals the removal; use adjacency "
    "'replace-one', or a batch_size that does not divide dataset_size - 1"
)
"""Claim for adding and removing a record if it is alone in the last batch."""

WHY = "no tight bound is known for shuffled batches"

CAUTION = (
    "shuffled batches have no proven amplification; quote the upper end only, or, for a smaller epsilon, use poisson "
    "or without-replacement sampling (hockeystick.integrations.batches); `hockeystick sampling` compares schemes"
)
"""Caveat of every answer about shuffled batches."""

BOTH = math.sqrt(5.0)
"""Distance of the Gaussian pair that is the product of two, at the distances 2 and 1."""

LEAST_MU, MOST_MU, MOST_STEPS = 0.1, 4.0, 20_000
"""Least and largest mu, and largest number of steps, with which a lower pair is that of random allocation.

Outside this range, it is the pair of the sum of all steps.
"""


@dataclass(frozen=True)
class Shuffled(Sampling):
    """Shuffled batches: in each epoch the records are put in some order and cut into batches. A round is one epoch.

    Args:
        steps_per_epoch: number of batches of an epoch; or give ``batch_size`` and ``dataset_size``.
        batch_size: number of records in a batch; the last one may have fewer, and is kept.
        dataset_size: number of records, of the larger dataset if one is added or removed.
        drop_last: True if a last batch with fewer records is dropped; it needs both sizes.

    Raises:
        InvalidInputError: a value is outside its domain or missing, or steps and sizes contradict each other.

    >>> Shuffled(batch_size=256, dataset_size=60_000).steps_per_epoch
    235
    >>> Shuffled(batch_size=256, dataset_size=60_000, drop_last=True).steps_per_epoch
    234
    """

    steps_per_epoch: Annotated[int | None, domains.EPOCH] = None
    batch_size: Annotated[int | None, domains.RECORDS.of("number of records in a batch")] = None
    dataset_size: Annotated[int | None, domains.RECORDS] = None
    drop_last: Annotated[bool, domains.Switch("whether an incomplete last batch is dropped")] = False

    name = "shuffled"
    zeroed = Zeroed.OWN
    assumption = (
        "each record is in exactly one step of each epoch (or in none, if it is dropped with the last batch), in an "
        "order that does not depend on the data (shuffled batches); if records are added, removed or dropped, the "
        "order is uniformly random and redrawn every epoch; a partial epoch counts in full"
    )
    distance_suffices = True

    key_rules: ClassVar[Mapping[str, Any]] = {
        "anyOf": [{"required": ["steps_per_epoch"]}, {"required": ["batch_size", "dataset_size"]}],
        "dependentRequired": {"batch_size": ["dataset_size"]},
    }
    follow_from_sizes = ("steps_per_epoch",)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.batch_size is not None or (self.steps_per_epoch is None and self.dataset_size is not None):
            self._check_sizes()
        elif self.steps_per_epoch is None:
            raise InvalidInputError(
                "shuffled batches need steps_per_epoch, or batch_size and dataset_size; received none of them",
                "steps_per_epoch",
            )
        elif self.drop_last:
            raise InvalidInputError("drop_last requires batch_size and dataset_size", "drop_last")

    def _check_sizes(self) -> None:
        batch, records = checked_sizes(self.batch_size, self.dataset_size)
        steps = records // batch if self.drop_last else -(-records // batch)
        if self.steps_per_epoch not in (None, steps):
            raise InvalidInputError(
                f"steps_per_epoch {self.steps_per_epoch} contradicts dataset_size and batch_size, which make {steps} "
                "batches; leave out steps_per_epoch",
                "steps_per_epoch",
            )
        object.__setattr__(self, "steps_per_epoch", steps)

    @property
    def steps(self) -> int:
        """Number of batches of an epoch."""
        assert self.steps_per_epoch is not None
        return self.steps_per_epoch

    @property
    def dropped(self) -> int:
        """Number of records in the last batch of an epoch if that batch is dropped, else 0."""
        return self.dataset_size % self.batch_size if self.drop_last and self.dataset_size and self.batch_size else 0

    def effective(self, direction: Direction) -> Sampling:
        """Return no sampling if an epoch has a single step and every record is in it."""
        return NO_SAMPLING if self.steps == 1 and not self.dropped else self

    @classmethod
    def claim(cls, mechanism: type[Mechanism], direction: Direction) -> Claim:
        """Return a bracket for Gaussian noise, and an upper bound for other mechanisms.

        Other mechanisms are refused if a record is added or removed.
        """
        base = mechanism.claims[direction.order]
        gaussian = Property.GAUSSIAN in mechanism.properties
        if not direction.keeps_places:
            if base.status is Status.REFUSED:
                return base
            return _CHANGED if gaussian and base.status is Status.TIGHT else _NO_ROOM
        if base.status is Status.TIGHT:
            if direction.zeroes and gaussian:
                return _ZEROED
            return _REPLACED if gaussian else Claim(Status.UPPER, _ABOVE)
        if base.status in (Status.UPPER, Status.BRACKET):
            return Claim(Status.UPPER, f"{_ABOVE}; for the pair: {base.cited}")
        return base

    def claim_of(self, mechanism: Mechanism, direction: Direction) -> Claim:
        """Return the claim for this scheme's own sizes: a refusal if the number of batches depends on the record."""
        found = self.claim(type(mechanism), direction)
        if direction.keeps_places or found.status is Status.REFUSED:
            return found
        if self.batch_size is None or self.dataset_size is None:
            return _SIZES_WANTED
        if self.drop_last:
            return found if self.dropped else _ANOTHER_DROPPED
        return _ANOTHER_NUMBER if (self.dataset_size - 1) % self.batch_size == 0 else found

    def pair(self, mechanism: Mechanism, direction: Direction) -> DominatingPair:
        """Return the upper pair: one unsampled round per epoch, for the batches that change.

        These are the record's batch and, if a record is added or removed and the last batch is kept, the last batch.
        """
        if direction.keeps_places:
            return own_pair(mechanism, direction)
        mu = mu_of(mechanism.with_against_without())
        return GaussianPair(2 * mu if self.dropped else next_up(BOTH * mu, ULPS))

    def known(self, mechanism: Mechanism, direction: Direction) -> Known:
        """Return the upper pair, one unsampled round per epoch, and lower pairs, epochs of random allocation."""
        if self.claim_of(mechanism, direction).status is not Status.BRACKET:
            return super().known(mechanism, direction)
        above = self.pair(mechanism, direction)
        if direction is Direction.REPLACE_ONE:
            ends = [self._instance(mu_of(above), add) for add in (False, True)]
        elif direction.zeroes:
            ends = [self._instance(mu_of(above), direction is Direction.RESTORE)]
        else:
            mu, add = mu_of(mechanism.with_against_without()), direction is Direction.ADD
            steps = self.steps if self.dropped else self.steps - 1  # the last batch, if kept, is ignored
            ends = [_allocated(2 * mu, self._share, steps, add)]
        return Between(above, tuple(dict.fromkeys(ends)), WHY)

    def _instance(self, mu: float, add: bool) -> DominatingPair:
        """Lower pair: that of an epoch in which the record is in each step with the probability of its batch.

        The other records contribute the opposite of the record's vector, or zero; ``mu`` is the resulting distance.
        """
        weight = self._share if self.dropped else Fraction(1, self.steps)
        return _allocated(mu, weight, self.steps, add)

    @property
    def _share(self) -> Fraction:
        """Share of the records in a whole batch."""
        return Fraction(*checked_sizes(self.batch_size, self.dataset_size))

    def curve(self, mechanism: Mechanism, direction: Direction) -> RenyiCurve:
        """Return the curve of one unsampled round per epoch, even if the mechanism has a curve and no pair.

        It is an upper bound for random orders: above order 1, the Renyi divergence of a mixture is at most the largest
        divergence of its components.
        """
        if self.claim_of(mechanism, direction).status is Status.RENYI:
            return mechanism.curve(direction.order)
        return self.pair(mechanism, direction)

    def exact(self, mechanism: Mechanism, direction: Direction) -> ExactRound | None:
        """Return the unsampled round of an epoch in exact numbers; ``None`` if a record is added or removed."""
        return mechanism.exact(direction.order) if direction.keeps_places else None

    @property
    def caution(self) -> str | None:
        """Caveat that only the upper bound may be quoted, with advice; ``None`` if nothing is sampled."""
        return CAUTION if self.effective(Direction.REPLACE_ONE) is self else None

    @property
    def steps_per_round(self) -> int:
        """Number of steps in one round, which is an epoch."""
        return self.steps


def _allocated(mu: float, weight: Fraction, steps: int, add: bool) -> DominatingPair:
    """Return a lower pair of an epoch in which the record is in each step with probability ``weight``.

    It is the pair of the epoch or, where parameters are outside its range, that of the sum of all steps.

    Args:
        mu: distance of the two laws of a step.
        weight: probability of each step.
        steps: number of steps.
        add: True if the law with the record is the second.
    """
    present = weight * steps
    if LEAST_MU <= mu <= MOST_MU and steps <= MOST_STEPS:
        return epoch(mu, ((weight, steps),), 1 - present, add)
    summed = GaussianPair(next_down(mu / math.sqrt(steps), ULPS))
    if present == 1:
        return summed
    return (PoissonAddPair if add else PoissonRemovePair)(summed, next_down(float(present)))
