"""Cyclic participation: the records are dealt into parts, and the steps take the parts in turn.

Each record belongs to one of b parts, whichever the other records are, and keeps its part throughout; where a record is
replaced, the new one takes its place. The n-th step of a kind of rounds sees part ``(n + s) mod b`` and no other, for
some s that depends on nothing but the kind.

Theorem. If a pair dominates the mechanism on neighbouring datasets, then its ``ceil(T / b)``-fold product dominates T
steps in the same direction, whatever later steps make of earlier results.

Proof. Neighbouring datasets differ in one record x, of part g say; all other records are in the same parts of both. A
step that does not see part g has the same law on both, given the results before it: the likelihood ratio of its result
is 1. Among T consecutive numbers ``n + s`` there are at most ``ceil(T / b)`` with the remainder g, so that x is seen
that often at most. Given the results before it, each of these steps is dominated by the pair, and so the product of all
steps is dominated by that of ``ceil(T / b)`` pairs and of steps that tell nothing (Zhu, Dong, Wang 2022 [ZDW22],
Theorem 10).

Is it tight? Of one kind of rounds, yes: a record of the first part is seen ``ceil(T / b)`` times. Of two kinds, one
step of each with b = 2, a record may be sure to be seen in one of them only. Where each kind begins is not said in a
plan, so that the claim is ``upper`` unless there is only one part.

The part has to be a record's own. Dealing a shuffled dataset out evenly moves other records when one is added.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from hockeystick.pairs import DominatingPair, RenyiCurve
from hockeystick.plan.mechanisms.base import Claim, Mechanism, Status
from hockeystick.plan.sampling.base import Sampling, own_pair
from hockeystick.values import domains
from hockeystick.values.adjacency import Direction


@dataclass(frozen=True)
class Cyclic(Sampling):
    """Every record is in one of ``parts``, and the steps take the parts in turn.

    Args:
        parts: how many there are: each record is in every ``parts``-th step.

    Raises:
        InvalidInputError: a value outside its domain.

    >>> Cyclic(parts=4).participations(10)
    3
    """

    parts: Annotated[int, domains.RECORDS.of("number of parts that take turns")]

    name = "cyclic"
    assumption = (
        "each record has a part of its own, whichever the others are, and the steps of each kind of rounds take the "
        "parts in turn; the number is not valid for parts that are dealt anew or move when a record comes or goes"
    )
    distance_suffices = True

    @classmethod
    def claim(cls, mechanism: type[Mechanism], direction: Direction) -> Claim:
        """What the mechanism claims of a round that sees the record; a pair that is tight is not claimed to stay so."""
        base = mechanism.claims[direction]
        if base.status is not Status.TIGHT:
            return base
        return Claim(Status.UPPER, f"proof in cyclic.py; for the pair: {base.cited}")

    def claim_of(self, mechanism: Mechanism, direction: Direction) -> Claim:
        """With one part every step sees every record, and the mechanism's own claim holds."""
        return mechanism.claims[direction] if self.parts == 1 else self.claim(type(mechanism), direction)

    def pair(self, mechanism: Mechanism, direction: Direction) -> DominatingPair:
        """The mechanism's own pair: a step that sees the record tells no less for it."""
        return own_pair(mechanism, direction)

    def curve(self, mechanism: Mechanism, direction: Direction) -> RenyiCurve:
        """The mechanism's own Renyi curve, which it may have where it has no pair."""
        return mechanism.curve(direction)

    def participations(self, steps: int) -> int:
        """``ceil(steps / parts)``."""
        return -(-steps // self.parts)
