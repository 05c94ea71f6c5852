"""Knowledge of one round in one direction, with its side: a pair is the truth, bounds it, or is one of two bounds.

Let ``H_b`` be the hockey-stick divergence at ``b = e^eps``, and call *instance* a choice of neighbouring datasets and
of whatever else the mechanism leaves open (the other records, the query). The truth of a round is the largest
``H_b(M(D) || M(D'))`` over all instances.

- :class:`Tight`: the pair is attained. Its delta is the truth.
- :class:`Between`: ``above`` dominates every instance, and each pair in ``below`` is the law of an instance, or is
  dominated by one. A product of pairs that dominate dominates the composition (Zhu, Dong, Wang 2022 [ZDW22],
  Theorem 10): an upper end. A composition of instances, all rounds on one pair of neighbours, is an instance of the
  composition: what is dominated by it is a lower end. Between the two nothing is known.
- :class:`Above`: the pair dominates. From below nothing is known.

**Alternatives.** Which instance is the worst may depend on delta and on the number of rounds, so that ``below`` may
hold several. They are chosen for the whole composition at once: the first of every kind together, the second of every
kind together, and so on; a kind with fewer repeats its last. So a scheme orders them in the way in which datasets hang
together.

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
"""Reason of an interval whose ends are of two pairs, before the sentence that says why there are two."""


def width_of(why: str) -> str:
    """Return the reason of an interval whose ends are of two pairs; a reason that names the width stands for itself."""
    return why if why.startswith("the interval is ") else f"{WIDTH}: {why}"


@dataclass(frozen=True, slots=True)
class Tight:
    """A pair that some instance attains: the truth.

    Attributes:
        pair: what the strongest adversary sees.
    """

    pair: DominatingPair

    @property
    def above(self) -> DominatingPair:
        """The pair that dominates: the one there is."""
        return self.pair

    @property
    def below(self) -> tuple[DominatingPair, ...]:
        """The pairs that are attained: the one there is."""
        return (self.pair,)


@dataclass(frozen=True, slots=True)
class Between:
    """A pair that dominates, and pairs that are dominated: the truth is between.

    Args:
        above: dominates every instance.
        below: one or more pairs, each dominated by an instance; in which order, see the module.
        why: why they differ, in a sentence that is said with every answer.
        curve: a Renyi curve of every instance, where one is known that is not that of ``above``: it may be the lower.
        alone: True if some instance attains the delta of ``above`` at each epsilon, another one at another epsilon:
            the truth for one round, and not for a composition.
        together: pairs that dominate so many of these rounds together, however others come in between, and how often
            each; none where they are no better than ``above`` composed with itself.

    Raises:
        InvalidInputError: nothing below.
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
    """A pair of which no more is known than that it dominates.

    Attributes:
        pair: dominates every instance.
    """

    pair: DominatingPair

    @property
    def above(self) -> DominatingPair:
        """The pair that dominates: the one there is."""
        return self.pair

    @property
    def below(self) -> tuple[DominatingPair, ...]:
        """No pair is known that is attained."""
        return ()


Known = Tight | Between | Above
"""A pair and its side, or two."""
