"""``basic``: simple composition. An upper bound: epsilons add up, and so do deltas.

Dwork, Kenthapadi, McSherry, Mironov, Naor 2006 [DKM+06], Theorem 1; Dwork, Roth 2014 [DR14], Theorem 3.16: if round i
is (epsilon_i, delta_i)-differentially private, all rounds together are ``(sum epsilon_i, sum delta_i)``-differentially
private. Every split of delta between the rounds gives a bound. The smaller one is taken of equal parts and of parts in
proportion to the epsilons at equal parts. Each round's epsilon is read from its own privacy curve, and rounded up. At
delta 0, epsilon is the sum of the rounds' largest losses.

Cost: two inversions of a privacy curve for each kind of round, whatever the number of rounds. Known failure: the
reported epsilon grows in proportion to the number of rounds, but the true epsilon grows as its square root; for DP-SGD,
the reported epsilon is hundreds of times too large. A delta below e^-650 is returned as e^-650 unless it is 0.
"""

from __future__ import annotations

import math

from hockeystick.accountants.published import UpperBoundAccountant
from hockeystick.accountants.shared.round_guarantee import Kinds, divided, guarantees
from hockeystick.directions.directions import Directions, compositions
from hockeystick.numerics.rounding import next_up
from hockeystick.pairs import Composition
from hockeystick.values.adjacency import Direction


class BasicAccountant(UpperBoundAccountant[tuple[Kinds, Composition]]):
    """Accountant that adds up per-round epsilons and deltas.

    Its methods take the rounds of one direction as a tuple: their guarantees with counts, and their composition.
    """

    name = "basic"
    summary = "upper bound: the sums of the rounds' epsilons and deltas (basic composition)"

    def subjects(self, directions: Directions) -> list[tuple[Direction, tuple[Kinds, Composition]]]:
        """Return the rounds of each direction.

        Gaussian rounds stay separate, since merging them would use another theorem.
        """
        return [
            (direction, (guarantees(directions.pairs(direction), mutual=False), composition))
            for direction, composition in compositions(directions)
        ]

    def epsilon_above(self, rounds: tuple[Kinds, Composition], delta: float) -> float:
        """Return the smaller of two sums: of per-round epsilons at a good split of delta, and of the largest losses.

        The second sum is used only if delta is at least the sum of the rounds' masses at infinite loss.
        """
        kinds, composition = rounds
        if not kinds:
            return 0.0
        pure = composition.largest_loss
        lost = math.fsum(count * kind.least_delta for kind, count in kinds)
        best = pure[1] if pure is not None and next_up(lost, 4 if lost else 0) <= delta else math.inf
        for each in divided(kinds, [kind.least_delta for kind, _ in kinds], delta, abs, float) if delta > 0 else ():
            total = math.fsum(epsilon * count for epsilon, (_, count) in zip(each, kinds, strict=True))
            best = min(best, next_up(total, 4) if total > 0 else 0.0)
        return best
