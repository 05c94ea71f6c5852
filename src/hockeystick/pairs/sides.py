"""Known pairs of one round in one direction: an exact pair, an upper bound, or an upper and lower bounds.

Let ``H_b`` be the hockey-stick divergence at ``b = e^eps``, and call *instance* a choice of neighbouring datasets and
of whatever else the mechanism leaves open (the other records, the query). The truth of a round is the largest
``H_b(M(D) || M(D'))`` over all instances.

- :class:`Tight`: the pair is attained. Its delta is the truth.
- :class:`Between`: ``above`` dominates every instance, and each pair in ``below`` is the law of an instance, or is
  dominated by one. A product of pairs that dominate dominates the composition (Zhu, Dong, Wang 2022 [ZDW22],
  Theorem 10): an upper end. A composition of instances, all rounds on one pair of neighbours, is an instance of the
  composition: what is dominated by it is a lower end. Nothing is known of the gap between them.
- :class:`Above`: the pair dominates. No lower bound is known.

**Alternatives.** Which instance is the worst may depend on delta and on the number of rounds, so that ``below`` may
hold several. They are chosen for the whole composition at once: the first of every kind together, the second of every
kind together, and so on; a kind with fewer repeats its last. So a scheme orders them consistently with the datasets
they come from.

**Orderings.** An instance is seen from either side: with P and Q exchanged it belongs to the other direction. Under
``remove`` and ``add`` the alternatives at one place are the two sides of one instance. Under ``replace-one`` both
sides are in one direction, and the alternatives read backwards are those with P and Q exchanged: a pair that is its own
mirror image stands alone or in the middle.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from hockeystick.pairs.base import DominatingPair, RenyiCurve
from hockeystick.values.errors import InvalidInputError

WIDTH = "the interval is as narrow as current theory allows"
"""Reason for an interval whose ends come from two pairs, before the sentence that explains why there are two."""


def width_of(why: str) -> str:
    """Return the reason for an interval between two pairs; one that already names the width is returned unchanged."""
    return why if why.startswith("the interval is ") else f"{WIDTH}: {why}"


@dataclass(frozen=True, slots=True)
class Tight:
    """A tight pair: some instance attains it.

    Attributes:
        above: the attained dominating pair.
    """

    above: DominatingPair

    @property
    def below(self) -> tuple[DominatingPair, ...]:
        """The attained pairs: just this pair."""
        return (self.above,)


@dataclass(frozen=True, slots=True)
class Between:
    """A pair that dominates, and pairs that are dominated: the truth lies in between.

    Args:
        above: dominates every instance.
        below: one or more pairs, each dominated by an instance; for their order, see the module.
        why: reason why they differ, a sentence stated with every answer.
        curve: a Renyi curve that holds for every instance, if one other than that of ``above`` is known; it may be
            lower.
        alone: True if, at each epsilon, some instance attains the delta of ``above``, possibly a different one per
            epsilon: exact for one round, but not for a composition.
        together: given a number of these rounds, pairs with counts that dominate them together, also with other rounds
            in between; none where they are no better than ``above`` composed with itself.

    Raises:
        InvalidInputError: ``below`` is empty.
    """

    above: DominatingPair
    below: tuple[DominatingPair, ...]
    why: str = "no pair is known that both dominates and is attained"
    curve: RenyiCurve | None = None
    alone: bool = False
    together: Callable[[int], Sequence[tuple[DominatingPair, int]]] | None = None

    def __post_init__(self) -> None:
        if not self.below:
            raise InvalidInputError(
                "Between needs at least one pair in below; use Above for a pair that only dominates", "below"
            )


@dataclass(frozen=True, slots=True)
class Above:
    """A pair that is known to dominate, without a lower bound.

    Attributes:
        above: dominates every instance.
    """

    above: DominatingPair

    @property
    def below(self) -> tuple[DominatingPair, ...]:
        """Empty: no attained pair is known."""
        return ()


Known = Tight | Between | Above
"""Known pairs of a round: exact, two-sided, or an upper bound only."""
