"""Cyclic participation: the records are divided into parts, and the steps take the parts in turn.

Each record belongs to one of b parts, independently of the other records, and keeps its part throughout. If a record is
replaced, the new record takes over its part. The n-th step of a kind of rounds sees part ``(n + s) mod b`` and no
other, for some s that depends only on the kind.

Theorem. If a pair dominates the mechanism on neighbouring datasets, then its ``ceil(T / b)``-fold product dominates T
steps in the same direction, even if later steps depend on earlier results.

Proof. Neighbouring datasets differ in one record x; let g be its part. Every other record is in the same part of both
datasets. A step that does not see part g has the same law on both, given the earlier results: the likelihood ratio of
its result is 1. Among T consecutive numbers ``n + s``, at most ``ceil(T / b)`` have remainder g, so at most that many
steps see x. Given the earlier results, the pair dominates each of these steps. So the product of ``ceil(T / b)`` pairs
and of steps that reveal nothing dominates the product of all steps (Zhu, Dong, Wang 2022 [ZDW22], Theorem 10).

Is it tight? For one kind of rounds, yes: ``ceil(T / b)`` steps see a record of the first part. For two kinds, no: with
one step of each and b = 2, it may be certain that only one of them sees a given record. A plan does not say where each
kind begins, so the claim is ``upper`` unless there is only one part.

The part of a record must not depend on other records. Dealing a shuffled dataset out evenly moves other records when
one is added. So the other records take part by the same law, whether this record contributes nothing or is absent.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from hockeystick.pairs import DominatingPair, RenyiCurve
from hockeystick.plan.mechanisms.base import Claim, Mechanism, Status
from hockeystick.plan.sampling.base import Sampling, Zeroed, own_pair
from hockeystick.values import domains
from hockeystick.values.adjacency import Direction


@dataclass(frozen=True)
class Cyclic(Sampling):
    """Every record belongs to one of ``parts`` parts, and the steps take the parts in turn.

    Args:
        parts: number of parts; each record takes part in every ``parts``-th step.

    Raises:
        InvalidInputError: a value outside its domain.

    >>> Cyclic(parts=4).participations(10)
    3
    """

    parts: Annotated[int, domains.RECORDS.of("number of parts that take turns")]

    name = "cyclic"
    zeroed = Zeroed.AS_ABSENT
    assumption = (
        "each record has a fixed part that does not depend on other records, and the steps of each kind of rounds "
        "take the parts in turn; the number is not valid if parts are reassigned when a record is added or removed"
    )
    distance_suffices = True

    @classmethod
    def claim(cls, mechanism: type[Mechanism], direction: Direction) -> Claim:
        """Return the mechanism's claim for a round that sees the record, with ``tight`` weakened to ``upper``."""
        base = mechanism.claims[direction]
        if base.status is not Status.TIGHT:
            return base
        return Claim(Status.UPPER, f"proof in cyclic.py; for the pair: {base.cited}")

    def claim_of(self, mechanism: Mechanism, direction: Direction) -> Claim:
        """Return the mechanism's own claim if there is one part, since every step then sees every record."""
        return mechanism.claims[direction] if self.parts == 1 else self.claim(type(mechanism), direction)

    def pair(self, mechanism: Mechanism, direction: Direction) -> DominatingPair:
        """Return the mechanism's own pair, because a step that sees the record is not sampled."""
        return own_pair(mechanism, direction)

    def curve(self, mechanism: Mechanism, direction: Direction) -> RenyiCurve:
        """Return the mechanism's own Renyi curve, which can exist without a pair."""
        return mechanism.curve(direction)

    def participations(self, steps: int) -> int:
        """Return ``ceil(steps / parts)``."""
        return -(-steps // self.parts)
