"""Cyclic Poisson sampling: records are divided into groups, and the steps sample from the groups in turn.

Each record belongs to one of b groups, independently of the other records, and keeps its group throughout; a record
that replaces another one is in the same group. The n-th step of a kind of rounds includes each record of group
``(n + c) mod b`` independently with the sample rate, and no other record. The number c depends only on the kind.

**Theorem.** T steps are dominated by ``ceil(T / b)`` Poisson-sampled rounds. *Proof*: neighbouring datasets differ in
one record, of group g say, and all other records are in the same groups of both. A step of another group has the same
law on both, given the results before it. A step of group g is a Poisson-sampled round, and is dominated by the pair of
such a round. Of T consecutive steps, at most ``ceil(T / b)`` belong to group g. So the product of all steps is
dominated by the product of as many pairs, and of steps that reveal nothing (Zhu, Dong, Wang 2022 [ZDW22], Theorem 10).

**Tight**: some record is in ``ceil(T / b)`` steps. With several kinds of rounds, possibly no record is in that many
steps of every kind, since a plan does not state the group with which each kind begins. There is an exception: if at
most one kind has a number of steps that is not a multiple of b, a record that is in the most steps of this kind is also
in the most of every other. In all other cases, answers for several kinds are upper bounds only
(``Sampling.same_for_all``).

**Setting a record's contribution to zero** leaves it and all others in their groups. So the steps are the same, and
each has the pair of Poisson sampling for zero-out, which for noise on a sum is that of ``remove`` or ``add``.

The group must depend on the record alone. Dividing a shuffled dataset evenly moves other records when one is added.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from hockeystick.pairs.sides import Known
from hockeystick.plan.mechanisms.base import Claim, Mechanism, Property, Status
from hockeystick.plan.sampling import grouped
from hockeystick.plan.sampling.base import Sampling, Zeroed, inherited
from hockeystick.plan.sampling.poisson import Poisson
from hockeystick.values import domains
from hockeystick.values.adjacency import Direction


@dataclass(frozen=True)
class CyclicPoisson(Sampling):
    """Cyclic Poisson sampling: every record is in one of ``groups`` groups, from which the steps sample in turn.

    Args:
        groups: number of groups; a record may be in every ``groups``-th step.
        sample_rate: probability with which a record enters each step of its group, in (0, 1].

    Raises:
        InvalidInputError: a value is outside its domain.

    >>> CyclicPoisson(groups=16, sample_rate=0.16).participations(2000)
    125
    """

    groups: Annotated[int, domains.RECORDS.of("number of groups that take turns")]
    sample_rate: Annotated[float, domains.RATE.of("probability that a batch contains a given record of its group")]

    name = "cyclic-poisson"
    zeroed = Zeroed.AS_ABSENT
    samples_runs = True
    assumption = (
        "each record belongs to a fixed group that does not depend on the other records; the steps of each kind of "
        "rounds take the groups in turn, and each record of the group enters the batch independently with the sample "
        "rate (cyclic Poisson sampling); the number is not valid if groups are reassigned or change when a record is "
        "added or removed"
    )

    @property
    def within(self) -> Poisson:
        """Poisson sampling within a group."""
        return Poisson(sample_rate=self.sample_rate)

    @classmethod
    def claim(cls, mechanism: type[Mechanism], direction: Direction) -> Claim:
        """Return the claim of Poisson sampling for the steps that sample from the record's group."""
        if Property.RUN in mechanism.properties:
            return grouped.GROUPED
        base = Poisson.claim(mechanism, direction)
        proof = "proof in plan/sampling/cyclic_poisson.py"  # starts from the pair of a step
        return inherited(base, Claim(base.status, f"{base.cited}; {proof}" if base.status is Status.TIGHT else proof))

    def effective(self, direction: Direction) -> Sampling:
        """Return the scheme by which the steps of the record's group are sampled."""
        return self.within.effective(direction)

    def claim_of(self, mechanism: Mechanism, direction: Direction) -> Claim:
        """Return the claim for this scheme's own parameters; for correlated noise it depends on the strategy."""
        found = self.claim(type(mechanism), direction)
        return grouped.banded(grouped.run_of(mechanism), self.groups) if found is grouped.GROUPED else found

    def known(self, mechanism: Mechanism, direction: Direction) -> Known:
        """Return the pair of one step of the record's group; for correlated noise, the pairs of a whole run."""
        if Property.RUN not in mechanism.properties:
            return self.within.known(mechanism, direction)
        return grouped.poisson(grouped.run_of(mechanism), self.groups, lambda base: self.within.mixed(base, direction))

    def participations(self, steps: int) -> int:
        """Return the number of steps of one group, ``ceil(steps / groups)``."""
        return -(-steps // self.groups)

    def same_for_all(self, steps: int) -> bool:
        """Return True if the steps are whole cycles, which visit every group equally often."""
        return steps % self.groups == 0

    @property
    def steps_per_epoch(self) -> int:
        """Number of steps of one pass over every group."""
        return self.groups * self.within.steps_per_epoch
