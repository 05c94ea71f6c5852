"""The pairs known for one round in one direction: an exact pair, an upper bound, or bounds from both sides.

Let ``H_b`` be the hockey-stick divergence at ``b = e^eps``. An *instance* is a choice of neighbouring datasets D, D'
and of whatever else the mechanism M leaves open, such as the query. The true curve of a round is the largest ``H_b(M(D)
|| M(D'))`` over all instances.

- :class:`Tight`: the pair dominates every instance, and some instance attains it, so that its delta is exact.
- :class:`Between`: ``above`` dominates every instance, and each pair in ``below`` is the pair of laws of an instance,
  or is dominated by it. The product of pairs ``above`` dominates the composition (Zhu, Dong, Wang 2022 [ZDW22], Theorem
  10), and gives an upper bound. Instances of all rounds on one pair of neighbouring datasets form an instance of the
  composition, so that the product of pairs ``below`` gives a lower bound. The size of the gap between the bounds is not
  known in advance.
- :class:`Above`: the pair dominates every instance. No lower bound is known.

**Alternatives.** Which instance is the worst may depend on delta and on the number of rounds, so that ``below`` may
hold several pairs. They are combined by their position: the first pairs of all kinds of rounds give one lower bound,
the second pairs another, and so on. A kind with fewer pairs repeats its last pair. So pairs at the same position must
come from the same datasets.

**Orderings.** With P and Q exchanged, an instance becomes an instance of the opposite direction. The pairs at the same
position under ``remove`` and under ``add`` are those of one instance, in the two orders of P and Q. Under
``replace-one`` there is only one direction, which contains both orders. For it, ``below`` in reverse order is ``below``
with P and Q exchanged in every pair. So a pair that is its own mirror image is alone or in the middle.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from hockeystick.pairs.base import DominatingPair, RenyiCurve
from hockeystick.values.errors import InvalidInputError

WIDTH = "the interval is as narrow as current theory allows"
"""First words of the reason why an answer from two pairs is an interval; ``why`` of the pairs follows them."""


def width_of(why: str) -> str:
    """Return the sentence that tells the user why an answer is an interval: :data:`WIDTH` and ``why``.

    If ``why`` begins with these words already, it is returned unchanged.
    """
    return why if why.startswith("the interval is ") else f"{WIDTH}: {why}"


@dataclass(frozen=True, slots=True)
class Tight:
    """A tight pair: it dominates the mechanism, and some pair of neighbouring datasets attains it.

    Attributes:
        above: the attained dominating pair.
    """

    above: DominatingPair

    @property
    def below(self) -> tuple[DominatingPair, ...]:
        """The pairs for lower bounds: ``above`` alone, because it is attained."""
        return (self.above,)


@dataclass(frozen=True, slots=True)
class Between:
    """A pair that gives an upper bound on the curve of a round, and pairs that give lower bounds.

    An instance is a choice of neighbouring datasets and of all else that the mechanism leaves open.

    Args:
        above: a pair that dominates every instance.
        below: one or more pairs, each dominated by an instance; for their order, see the module.
        why: sentence, stated with every answer, that says why ``above`` and ``below`` differ.
        curve: a Renyi curve that bounds every instance, and may be lower than the Renyi curve of ``above``; ``None`` if
            no such curve is known.
        alone: True if ``above`` is exact for one round: at each epsilon some instance attains its delta. The instance
            may differ between epsilons, so that compositions are not exact.
        together: function that maps a number of these rounds to (pair, count) tuples whose product dominates the
            rounds, also with other rounds in between. It returns no tuples where they would be no better than ``above``
            composed with itself.

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
    """A pair that dominates the mechanism, without a known lower bound.

    Attributes:
        above: a pair that dominates the output laws on any two neighbouring datasets.
    """

    above: DominatingPair

    @property
    def below(self) -> tuple[DominatingPair, ...]:
        """An empty tuple, because no pair for a lower bound is known."""
        return ()


Known = Tight | Between | Above
"""The pairs known for a round: an exact pair, bounds from both sides, or an upper bound alone."""
